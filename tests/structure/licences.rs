//! Dependencies have allowed licences and come from maintained sources. deny.toml has the list;
//! cargo-deny, if installed, checks more.

use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::{cargo, root};

/// The licences that deny.toml allows.
fn allowed() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let deny: toml::Table = toml::from_str(&text).unwrap();
    deny["licenses"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap().to_owned())
        .collect()
}

/// True if a licence expression, as crates.io has them, can be met.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let Ok(expression) = Expression::parse_mode(expression, ParseMode::LAX) else { return false };
    expression.evaluate(|it| allowed.contains(&it.to_string()))
}

#[test]
fn what_we_depend_on_is_from_crates_io_and_under_a_licence_that_we_may_use() {
    let metadata: Value = serde_json::from_str(&cargo(&[
        "metadata",
        "--locked",
        "--all-features",
        "--format-version",
        "1",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ]))
    .unwrap();
    let allowed = allowed();
    assert!(
        is_met("MIT", &allowed)
            && !is_met("MIT AND GPL-3.0-only", &allowed)
            && !is_met("", &allowed)
    );
    for package in metadata["packages"].as_array().unwrap() {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or_default());
        assert!(
            is_met(licence, &allowed),
            "{name}: {licence:?} found, expected one of {allowed:?}"
        );
        let source = package["source"].as_str();
        let is_known =
            source.is_none_or(|it| it == "registry+https://github.com/rust-lang/crates.io-index");
        assert!(is_known, "{name}: {source:?} found, expected crates.io");
    }
}
