//! Provides the object of src/bpf for the feature `sched_ext`; without it there is nothing to do.
//!
//! The object is checked in, since it is the same for all kernels and little-endian machines: clang
//! is only needed to change src/bpf. Where a source has changed it is compiled.
//! `EVENKEEL_BPF=write` compiles and checks in, `EVENKEEL_BPF=compare` fails where that would
//! differ.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is tried where `BPF_CLANG` does not say: the first that is there. The one that is checked
/// in is Debian's 19.
const CLANGS: [&str; 5] = ["clang-19", "clang", "clang-21", "clang-20", "clang-18"];
/// The oldest with what is used here: 64-bit enumerations, open-coded iterators without spilling.
const OLDEST: u32 = 18;

const BPF: &str = "src/bpf";
const MAIN: &str = "main.bpf.c";
/// What is checked in: the object, and of which sources it is made.
const OBJECT: &str = "src/bpf/main.bpf.o";
const SOURCES: &str = "src/bpf/main.bpf.o.sources";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-env-changed=BPF_CLANG");
    println!("cargo:rerun-if-env-changed=EVENKEEL_BPF");
    println!("cargo:rerun-if-changed={BPF}");
    if env::var_os("CARGO_FEATURE_SCHED_EXT").is_none() {
        return Ok(());
    }
    let object = PathBuf::from(env::var("OUT_DIR")?).join("main.bpf.o");
    let sources = fingerprint()?;
    let is_little = env::var("CARGO_CFG_TARGET_ENDIAN")? == "little";
    let is_current = fs::read_to_string(SOURCES).is_ok_and(|of| of.trim() == sources);
    match env::var("EVENKEEL_BPF").as_deref() {
        Ok("write") => {
            compile(&object)?;
            fs::copy(&object, OBJECT)?;
            fs::write(SOURCES, sources + "\n")?;
        }
        Ok("compare") => {
            compile(&object)?;
            if !is_current || fs::read(&object)? != fs::read(OBJECT)? {
                return Err(format!(
                    "{OBJECT} is not what {BPF} compiles to: EVENKEEL_BPF=write writes it anew"
                )
                .into());
            }
        }
        // A clang that is named is one to be used.
        _ if is_little && is_current && env::var_os("BPF_CLANG").is_none() => {
            _ = fs::copy(OBJECT, &object)?
        }
        _ => compile(&object)?,
    }
    Ok(())
}

/// What the sources are, in 16 digits (FNV-1a over names and texts, in order of names).
fn fingerprint() -> Result<String, Box<dyn Error>> {
    let mut paths = fs::read_dir(BPF)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>, std::io::Error>>()?;
    paths.retain(|path| path.extension().is_some_and(|it| it == "c" || it == "h"));
    paths.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for path in paths {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        for byte in name.into_iter().chain(fs::read(&path)?) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(format!("{hash:016x}"))
}

fn compile(object: &Path) -> Result<(), Box<dyn Error>> {
    let clang = clang()?;
    let source = Path::new(BPF).join(MAIN);
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
    // Where it is compiled must not show in it.
    let here = env::current_dir()?;
    let status = Command::new(&clang)
        .args(["-g", "-O2", "-mcpu=v3", "-Wall", "-Werror", "-target", endian])
        .arg(format!("-D__TARGET_ARCH_{architecture}"))
        .arg(format!("-ffile-prefix-map={headers}=libbpf"))
        .arg(format!("-ffile-prefix-map={}=.", here.display()))
        .args(["-fdebug-compilation-dir=.", "-I", &headers, "-c"])
        .arg(&source)
        .arg("-o")
        .arg(object)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{clang} could not compile {}", source.display()).into())
    }
}

/// A clang that is new enough.
fn clang() -> Result<String, String> {
    let named = env::var("BPF_CLANG").ok();
    let candidates: Vec<&str> =
        named.as_deref().map_or_else(|| CLANGS.to_vec(), |named| vec![named]);
    let found =
        candidates.iter().find(|clang| version(clang).is_some_and(|version| version >= OLDEST));
    found.map(|clang| (*clang).to_owned()).ok_or_else(|| {
        format!(
            "src/bpf has to be compiled, for it has changed or BPF_CLANG or EVENKEEL_BPF asks for \
             it; that takes \
             clang {OLDEST} or later, and none of {} is: install one, or name it in BPF_CLANG",
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
