//! Pages of the reference, which are made from what commands print and from the heads of files.

mod cli;
mod machines;
mod policies;
mod schema;
mod workloads;

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::page::{Page, anchor};

/// How wide the program may print: as much as the book shows of a line.
const COLUMNS: &str = "84";

/// All, as pages of docs.
pub fn pages(root: &Path) -> Vec<Page> {
    let page = |name: &str, text: String| Page::new(format!("docs/reference/{name}.md"), text);
    vec![
        page("cli", cli::page()),
        page("policies", policies::page(root)),
        page("workloads", workloads::page()),
        page("machines", machines::page()),
        page("schema", schema::page(root)),
    ]
}

/// What the program prints.
fn evenkeel(args: &[&str]) -> String {
    let mut run = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    let done = run.args(args).env("COLUMNS", COLUMNS).env_remove("EVENKEEL_MACHINE");
    let done = done.output().unwrap();
    assert!(done.status.success(), "evenkeel {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// The array that the program prints with these arguments and `--json`.
fn listed(command: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(&evenkeel(&[command, "--json"])).unwrap();
    all.as_array().unwrap().clone()
}

/// A text of a JSON object, for Markdown; empty where it has none.
fn text(of: &Value, name: &str) -> String {
    escaped(of[name].as_str().unwrap_or_default())
}

/// A link to the heading of what has this name, on the same page.
fn link(of: &Value) -> String {
    let name = of["name"].as_str().unwrap();
    format!("[{name}](#{})", anchor(name))
}

/// Text as Markdown that is shown as it is, code excepted.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_code = false;
    for letter in text.chars() {
        is_code ^= letter == '`';
        match letter {
            '|' => out.push_str("\\|"),
            '\n' => out.push(' '),
            '<' | '*' | '\\' | '[' if !is_code => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out
}

/// A table in Markdown.
fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let head = line(&head.map(str::to_owned)) + &line(&head.map(|_| "---".to_owned()));
    rows.into_iter().fold(head, |table, row| table + &line(&row))
}

pub fn tests() {
    assert_eq!(escaped("a < b | `c < d | e`"), r"a \< b \| `c < d \| e`");
    assert_eq!(
        table(["a", "b"], [["1".into(), "2".into()]]),
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    );
    cli::tests();
    policies::tests();
    schema::tests();
}
