//! What we depend on may be used, and comes from where it is looked after. deny.toml has the list; cargo-deny, where it is installed, sees more.

use serde_json::Value;

use crate::{cargo, root};

/// The licences that deny.toml allows.
fn allowed() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let list = text.split("allow = [").nth(1).unwrap().split(']').next().unwrap();
    list.lines().filter_map(|line| Some(line.trim().strip_prefix('"')?.strip_suffix("\",")?.to_owned())).collect()
}

/// Whether an expression (SPDX, as crates.io has them) has a way to be met. `/` is an old `OR`.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let meets = |licence: &str| allowed.iter().any(|it| it == licence.trim());
    // `A AND B` of which each may be a choice in parentheses: no other nesting is in use.
    let parts = expression.replace('/', " OR ");
    meets(&parts)
        || parts.split(" AND ").all(|part| {
            part.trim_matches(|it| it == '(' || it == ')')
                .split(" OR ")
                .any(|licence| meets(licence.trim_matches(['(', ')'])))
        })
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
    assert!(allowed.iter().any(|it| it == "MIT"), "{allowed:?}");
    for package in metadata["packages"].as_array().unwrap() {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or_default());
        assert!(is_met(licence, &allowed), "{name}: {licence:?} found, expected one of {allowed:?}");
        let source = package["source"].as_str();
        let is_known = source.is_none_or(|it| it == "registry+https://github.com/rust-lang/crates.io-index");
        assert!(is_known, "{name}: {source:?} found, expected crates.io");
    }
}

#[test]
fn an_expression_is_met_by_one_alternative_of_each_part() {
    let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned);
    let met = ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"];
    met.iter().for_each(|expression| assert!(is_met(expression, &allowed), "{expression}"));
    let unmet = ["", "GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR AGPL-3.0) AND MIT"];
    unmet.iter().for_each(|expression| assert!(!is_met(expression, &allowed), "{expression}"));
}
