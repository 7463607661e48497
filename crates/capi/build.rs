//! Sets the name by which programs ask for the shared library, which contains the number of its
//! binary interface.

fn main() {
    println!("cargo::rerun-if-changed=src/version.rs");
    let source = std::fs::read_to_string("src/version.rs").unwrap_or_default();
    let abi =
        source.split_once("EVENKEEL_ABI: c_uint = ").and_then(|(_, rest)| rest.split_once(';'));
    match abi {
        Some((abi, _)) => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libevenkeel.so.{abi}"),
        None => println!("cargo::error=src/version.rs: no EVENKEEL_ABI found"),
    }
}
