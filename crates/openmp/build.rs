//! Compiles the library that is preloaded, so that the command has it inside.
//!
//! It needs no crate, so that the compiler alone makes it: as a build script it works for
//! `cargo install`, too.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

const SOURCES: &str = "src/preload";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={SOURCES}");
    let library = PathBuf::from(env::var("OUT_DIR")?).join("evenkeel_omp.so");
    let target = env::var("TARGET")?;
    let is_covered = matches!(
        (&*env::var("CARGO_CFG_TARGET_ARCH")?, &*env::var("CARGO_CFG_TARGET_ENV")?),
        ("x86_64" | "aarch64", "gnu")
    );
    if !is_covered {
        return Ok(std::fs::write(library, [])?);
    }
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc
        .args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "evenkeel_omp"])
        .args(["--target", &target])
        .args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "lto=fat", "-C", "codegen-units=1"])
        // Exceptions of C++ and debuggers go through our frames.
        .args(["-C", "force-unwind-tables=yes", "-C", "strip=symbols"])
        .arg("-o")
        .arg(&library)
        .arg(format!("{SOURCES}/lib.rs"));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    let status = rustc.status()?;
    if !status.success() {
        return Err(format!("{SOURCES} does not compile: {status}").into());
    }
    Ok(())
}
