//! Instructions and bytes of the hot paths, held without a clock: `make hot-paths`, which is part of `make lint`.
//!
//! Each path is carried out once by itself and then once more under callgrind, which counts what the second time takes.
//! `counts.csv` has what it took when a commit last said so. A path that takes 3 % more fails; `--update` writes the counts
//! anew, for the commit that changes them and says why. A count is of one compiler: under another one nothing is held.
#![allow(clippy::print_stdout, reason = "a program of the developers'")]

mod counts;
mod measure;
mod paths;

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail, ensure};
use counts::{Count, Counts};
use rayon::prelude::*;

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => hold(false),
        ["--update"] => hold(true),
        ["--path", name] => {
            let path = paths::PATHS.iter().find(|path| path.name == name).context("no such path")?;
            println!("{}", (path.carry_out)()?);
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("expected nothing, --update, or --path NAME"),
    }
}

/// Counts all paths, and compares them with the file or writes it.
fn hold(update: bool) -> Result<ExitCode> {
    let compiler = compiler()?;
    let now = Counts { compiler, rows: paths::PATHS.par_iter().map(|path| count(path.name)).collect::<Result<_>>()? };
    if update {
        now.write()?;
        return Ok(ExitCode::SUCCESS);
    }
    let before = Counts::read()?;
    let risen = now.print_beside(&before);
    if now.compiler != before.compiler {
        println!("nothing is held: this is {}, and the counts are of {}", now.compiler, before.compiler);
        return Ok(ExitCode::SUCCESS);
    }
    if risen.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "\n{} take 3 % more than tests/hot_paths/counts.csv says; mend it, or `make hot-paths-update` and say why in the commit",
        risen.join(", ")
    );
    Ok(ExitCode::FAILURE)
}

fn compiler() -> Result<String> {
    let output = Command::new("rustc").arg("--version").output().context("rustc --version")?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Carries a path out under callgrind, in a process of its own.
fn count(name: &str) -> Result<Count> {
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--collect-atstart=no",
            "--toggle-collect=*measured*",
        ])
        .arg(std::env::current_exe()?)
        .args(["--path", name])
        // One way of copying memory on every processor: which one glibc takes depends on what it finds.
        .env(
            "GLIBC_TUNABLES",
            "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM:glibc.cpu.x86_non_temporal_threshold=0xc0000",
        )
        .output()
        .context("valgrind, which `apt install valgrind` brings")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name}: {said}");
    let collected =
        said.lines().find_map(|line| line.split_once("Collected :")).with_context(|| format!("{name}: {said}"))?;
    let count = Count {
        path: name.to_owned(),
        instructions: collected.1.trim().parse()?,
        bytes: String::from_utf8(output.stdout)?.trim().parse()?,
    };
    ensure!(count.instructions > 0, "{name}: callgrind has not seen it");
    Ok(count)
}
