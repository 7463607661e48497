//! The checked-in header agrees with the code. `EVENKEEL_UPDATE=1` writes it anew.

use std::path::Path;

#[test]
fn the_header_checked_in_is_what_the_code_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).unwrap();
    let modules = [
        "version",
        "error",
        "closure",
        "pool",
        "loops",
        "resources",
        "scope",
        "task",
        "graph",
        "pipeline",
    ];
    let sources = modules.iter().map(|module| folder.join(format!("src/{module}.rs")));
    let builder =
        sources.fold(cbindgen::Builder::new().with_config(config), cbindgen::Builder::with_src);
    let mut header = Vec::new();
    builder.generate().unwrap().write(&mut header);

    let path = folder.join("include/evenkeel.h");
    if std::env::var_os("EVENKEEL_UPDATE").is_some() {
        std::fs::write(&path, &header).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap();
    assert!(
        checked_in == String::from_utf8(header).unwrap(),
        "EVENKEEL_UPDATE=1 writes {} anew",
        path.display()
    );
}
