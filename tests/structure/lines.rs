//! Comments and prose are at most 100 columns wide. rustfmt and clang-format check code.

use std::path::Path;
use std::process::Command;

use crate::root;

/// Columns, counted in characters.
const WIDTH: usize = 100;
/// Files that were generated, or written by others.
const NOT_OURS: [&str; 4] = ["Cargo.lock", "LICENSE", "docs/benchmarks", "tests/golden"];

fn files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    let Ok(output) = output else { return Vec::new() };
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let ours = |name: &&str| !NOT_OURS.iter().any(|it| name.starts_with(it));
    names.lines().filter(ours).map(str::to_owned).collect()
}

/// True for a line that cannot be broken: a table's row, a link, a picture.
fn is_whole(text: &str) -> bool {
    let text = text.trim_start_matches(['/', '!', '#', '*', ' ']);
    text.starts_with('|') || text.contains("](") || text.contains("://")
}

/// Numbers of lines of comments that are too wide.
fn wide_comments(text: &str, begins: &[&str]) -> Vec<usize> {
    let is_comment = |line: &str| begins.iter().any(|it| line.trim_start().starts_with(it));
    let lines = text.lines().enumerate();
    let wide = lines
        .filter(|(_, line)| line.chars().count() > WIDTH && is_comment(line) && !is_whole(line));
    wide.map(|(number, _)| number + 1).collect()
}

/// Numbers of lines of prose in Markdown that are too wide: not code, headings, comments.
fn wide_prose(text: &str) -> Vec<usize> {
    let (mut is_code, mut found) = (false, Vec::new());
    for (number, line) in text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        let is_prose = !is_code && !line.starts_with("    ") && !line.starts_with(['#', '<']);
        let is_indented_code = line.starts_with("      ");
        if is_prose && !is_indented_code && line.chars().count() > WIDTH && !is_whole(line) {
            found.push(number + 1);
        }
    }
    found
}

fn wide_lines(name: &str, text: &str) -> Vec<usize> {
    let path = Path::new(name);
    match path.extension().and_then(|it| it.to_str()) {
        Some("rs") => wide_comments(text, &["//"]),
        Some("sh" | "toml" | "yml") => wide_comments(text, &["#"]),
        Some("md") => wide_prose(text),
        None if name == "Makefile" || name == ".ci/run" => wide_comments(text, &["#"]),
        _ => Vec::new(),
    }
}

#[test]
fn comments_and_prose_are_at_most_a_hundred_columns_wide() {
    let mut wide = Vec::new();
    for name in files() {
        let Ok(text) = std::fs::read_to_string(root().join(&name)) else { continue };
        wide.extend(wide_lines(&name, &text).into_iter().map(|line| format!("{name}:{line}")));
    }
    assert!(wide.is_empty(), "more than {WIDTH} columns:\n{}", wide.join("\n"));
}

#[test]
fn a_wide_line_is_found_where_it_can_be_broken() {
    let long = "word ".repeat(21);
    assert_eq!(wide_lines("a.rs", &format!("fn f() {{}}\n    /// {long}\n")), [2]);
    assert_eq!(wide_lines("a.rs", &format!("let text = \"{long}\";\n")), [0; 0]);
    assert_eq!(wide_lines("a.rs", &format!("//! | {long} |\n")), [0; 0]);
    assert_eq!(wide_lines("Makefile", &format!("# {long}\n\techo {long}\n")), [1]);
    assert_eq!(wide_lines("a.md", &format!("{long}\n\n    {long}\n```\n{long}\n```\n")), [1]);
    assert_eq!(wide_lines("a.md", &format!("# {long}\n[{long}](https://x)\n")), [0; 0]);
}
