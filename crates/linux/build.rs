//! Compiles src/bpf for the feature `sched_ext`; without it there is nothing to do.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is tried where `BPF_CLANG` does not say: the first that is there.
const CLANGS: [&str; 5] = ["clang", "clang-21", "clang-20", "clang-19", "clang-18"];
/// The oldest with what is used here: 64-bit enumerations, open-coded iterators without spilling.
const OLDEST: u32 = 18;

const BPF: &str = "src/bpf";
const MAIN: &str = "main.bpf.c";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed=BPF_CLANG");
    println!("cargo:rerun-if-changed={BPF}");
    if env::var_os("CARGO_FEATURE_SCHED_EXT").is_none() {
        return Ok(());
    }
    let clang = clang()?;
    let source = Path::new(BPF).join(MAIN);
    let object = PathBuf::from(env::var("OUT_DIR")?).join("main.bpf.o");
    // Names of architectures as libbpf's headers have them.
    let architecture = match env::var("CARGO_CFG_TARGET_ARCH")?.as_str() {
        "x86_64" => "x86",
        "aarch64" => "arm64",
        "powerpc64" => "powerpc",
        "riscv64" => "riscv",
        "loongarch64" => "loongarch",
        "s390x" => "s390",
        other => return Err(format!("sched_ext: no BPF for {other} here").into()),
    };
    let endian = if env::var("CARGO_CFG_TARGET_ENDIAN")? == "big" { "bpfeb" } else { "bpfel" };
    let headers = env::var("DEP_BPF_INCLUDE")?;
    let status = Command::new(&clang)
        .args(["-g", "-O2", "-mcpu=v3", "-Wall", "-Werror", "-target", endian])
        .arg(format!("-D__TARGET_ARCH_{architecture}"))
        .args(["-I", &headers, "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("{clang} could not compile {}", source.display()).into()) }
}

/// A clang that is new enough.
fn clang() -> Result<String, String> {
    let named = env::var("BPF_CLANG").ok();
    let candidates: Vec<&str> = named.as_deref().map_or_else(|| CLANGS.to_vec(), |named| vec![named]);
    let found = candidates.iter().find(|clang| version(clang).is_some_and(|version| version >= OLDEST));
    found.map(|clang| (*clang).to_owned()).ok_or_else(|| {
        format!(
            "the feature sched_ext takes clang {OLDEST} or later, and none of {} is: install one, or name it in BPF_CLANG",
            candidates.join(", ")
        )
    })
}

fn version(clang: &str) -> Option<u32> {
    let output = Command::new(clang).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let after = text.split("clang version ").nth(1)?;
    after.split('.').next()?.parse().ok()
}
