//! Checks the instructions and bytes of the hot paths, without a clock: `make hot-paths`, which is
//! part of `make lint`.
//!
//! A path runs twice under callgrind, which counts the second run. `counts.csv` has the last counts
//! that were committed. A path that takes 3 % more or less fails; `--update` writes the counts
//! anew, for the commit that changes them and says why. Counts are of one compiler and C library.
//! With others nothing is checked, and `EVENKEEL_VM=required` makes that an error.
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
            let path =
                paths::PATHS.iter().find(|path| path.name == name).context("no such path")?;
            println!("{}", (path.carry_out)()?);
            Ok(ExitCode::SUCCESS)
        }
        _ => bail!("expected nothing, --update, or --path NAME"),
    }
}

/// Counts all paths, and compares them with the file or writes it.
fn hold(update: bool) -> Result<ExitCode> {
    let (here, before) = (toolchain()?, if update { None } else { Some(Counts::read()?) });
    if let Some(before) = before.as_ref().filter(|before| before.toolchain != here) {
        println!("nothing is held: this is {here}, and the counts are of {}", before.toolchain);
        let required = std::env::var("EVENKEEL_VM").is_ok_and(|value| value == "required");
        return Ok(if required { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let rows = paths::PATHS.par_iter().map(|path| count(path.name)).collect::<Result<_>>()?;
    let now = Counts { toolchain: here, rows };
    let Some(before) = before else {
        now.write()?;
        return Ok(ExitCode::SUCCESS);
    };
    let moved = now.print_beside(&before);
    if moved.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "\n3 % more or less than tests/hot_paths/counts.csv says: {}; mend it, or `make \
         hot-paths-update` and say why in the commit",
        moved.join(", ")
    );
    Ok(ExitCode::FAILURE)
}

/// All that counts depend on: compiler, its target, its flags, and the C library.
fn toolchain() -> Result<String> {
    let of = |command: &str, argument: &str| -> Result<String> {
        let output = Command::new(command)
            .arg(argument)
            .output()
            .with_context(|| format!("{command} {argument}"))?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let compiler = of("rustc", "-vV")?;
    let line =
        |name: &str| compiler.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?");
    let flags =
        ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"].iter().filter_map(|name| std::env::var(name).ok());
    let flags: String =
        flags.filter(|flags| !flags.is_empty()).map(|flags| format!(" {flags:?}")).collect();
    let library = of("ldd", "--version")?;
    let library = library
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().next_back())
        .unwrap_or("?")
        .to_owned();
    Ok(format!(
        "rustc {} ({}){flags} for {}, C library {library}",
        line("release: "),
        line("commit-hash: "),
        line("host: ")
    ))
}

const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM:glibc.cpu.x86_non_temporal_threshold=0xc0000";

/// Runs a path under callgrind, in a process of its own without variables that change its pools.
fn count(name: &str) -> Result<Count> {
    let mut valgrind = Command::new("valgrind");
    std::env::vars_os()
        .filter(|(name, _)| name.to_string_lossy().starts_with("EVENKEEL_"))
        .for_each(|(name, _)| _ = valgrind.env_remove(name));
    let output = valgrind
        // VALGRIND_OPTS and .valgrindrc must not change the counts.
        .arg("--command-line-only=yes")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"])
        .arg("--toggle-collect=*measure::measured*")
        .arg(std::env::current_exe()?)
        .args(["--path", name])
        // Then glibc copies memory in the same way on every processor.
        .env("GLIBC_TUNABLES", TUNABLES)
        .output()
        .context("valgrind, which `apt install valgrind` brings")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name}: {said}");
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .with_context(|| format!("{name}: {said}"))?;
    let count = Count {
        path: name.to_owned(),
        instructions: collected.1.trim().parse()?,
        bytes: String::from_utf8(output.stdout)?.trim().parse()?,
    };
    ensure!(count.instructions > 0, "{name}: callgrind has not seen it");
    Ok(count)
}
