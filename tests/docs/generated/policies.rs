//! Every policy with its knobs, and the head of its file, which has its rule.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pulldown_cmark::{BrokenLink, Options, Parser};
use serde_json::Value;

use super::{escaped, link, listed, table, text};
use crate::page::{files, has_extension};

/// Where policies are, what they decide about, as `evenkeel policies --json` says it, and a
/// heading.
const FOLDERS: [(&str, &str, &str); 3] = [
    ("crates/policy/src/os", "threads", "Policies for threads"),
    ("crates/policy/src/graph", "tasks", "Policies for task graphs"),
    ("crates/policy/src/loops", "iterations", "Schedules of loops"),
];

pub fn page(root: &Path) -> String {
    let all = listed("policies");
    let mut page = String::from(
        "# All policies\n\nMade by `make book` from `evenkeel policies --json` and the head of each \
         policy's file. [Choose a policy](../policies/choose.md) says which is for what.\n\n\
         Knobs are set by `-p NAME:KNOB=VALUE` or `--set NAME.KNOB=VALUE`.\n",
    );
    for (folder, chooses, heading) in FOLDERS {
        let of_folder: Vec<&Value> = all.iter().filter(|it| it["chooses"] == chooses).collect();
        let row = |it: &&Value| [link(it), text(it, "summary")];
        let rows = table(["policy", "what it does"], of_folder.iter().map(row));
        let _ = write!(page, "\n## {heading}\n\n{rows}");
        // The policies that share a file share its head: it stands with the first.
        let mut shown: Vec<(PathBuf, &Value)> = Vec::new();
        for policy in of_folder {
            section(&mut page, policy);
            let name = name(policy);
            let file = file(&root.join(folder), name)
                .unwrap_or_else(|| panic!("no file in {folder} has the policy {name}"));
            match shown.iter().find(|(known, _)| *known == file) {
                Some((_, first)) => {
                    let _ = writeln!(page, "\nThe rule stands with {}.", link(first));
                }
                None => {
                    let head = head(&std::fs::read_to_string(&file).unwrap());
                    let _ = write!(page, "\n{}", without_references(&head));
                    shown.push((file, policy));
                }
            }
        }
    }
    page
}

fn name(policy: &Value) -> &str {
    policy["name"].as_str().unwrap()
}

/// Heading, summary, source, knobs.
fn section(page: &mut String, policy: &Value) {
    let (name, summary, source) = (name(policy), text(policy, "summary"), text(policy, "source"));
    let _ = write!(page, "\n### {name}\n\n- What it does: {summary}\n- From: {source}\n");
    let knobs = policy["knobs"].as_array().unwrap();
    if knobs.is_empty() {
        return;
    }
    let row = |knob: &Value| {
        let unit = knob["unit"].as_str().unwrap_or_default();
        let values = match knob["words"].as_array() {
            Some(words) => words.iter().map(shown).collect::<Vec<_>>().join(", "),
            None => format!("{} to {} {unit}", shown(&knob["least"]), shown(&knob["greatest"])),
        };
        let knob = [
            format!("`{}`", self::name(knob)),
            shown(&knob["default"]),
            values,
            text(knob, "about"),
        ];
        knob.map(|cell| cell.trim_end().to_owned())
    };
    let rows = table(["knob", "default", "values", "what it does"], knobs.iter().map(row));
    let _ = write!(page, "\n{rows}");
}

/// A number or a word.
fn shown(value: &Value) -> String {
    match value.as_f64() {
        Some(number) => number.to_string(),
        None => escaped(value.as_str().unwrap()),
    }
}

/// The file of a policy: its head begins with the name, or it has the entry of that name.
fn file(folder: &Path, name: &str) -> Option<PathBuf> {
    let sources = files(folder).into_iter().filter(|path| has_extension(path, "rs"));
    let mut files: Vec<(String, PathBuf)> =
        sources.map(|path| (std::fs::read_to_string(&path).unwrap(), path)).collect();
    files.sort();
    let begins = [format!("//! `{name}`"), format!("//! `{name},")];
    let by_head = files.iter().find(|(text, _)| begins.iter().any(|begin| text.starts_with(begin)));
    let has_entry = |text: &str| text.contains(&format!("    name: \"{name}\",\n"));
    let found = by_head.or_else(|| files.iter().find(|(text, _)| has_entry(text)));
    found.map(|(_, path)| path.clone())
}

/// What a file says of itself before all else, without the signs of a comment.
fn head(file: &str) -> String {
    let lines = file.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// Without the brackets by which rustdoc finds items: `[Policy::notes]` in code becomes plain code.
fn without_references(text: &str) -> String {
    let mut places = Vec::new();
    let mut unresolved = |link: BrokenLink<'_>| {
        places.push(link.span.clone());
        None
    };
    Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(&mut unresolved))
        .for_each(drop);
    places.sort_by_key(|place| place.start);
    places.dedup();
    let mut plain = text.to_owned();
    for place in places.into_iter().rev() {
        let inside = &text[place.start + 1..place.end - 1];
        if inside.starts_with('`') && inside.ends_with('`') {
            plain.replace_range(place, inside);
        }
    }
    plain
}

pub fn tests() {
    assert_eq!(
        head("//! `a`: it.\n//!\n//! ```text\n//!   x\n//! ```\n\nuse b;\n//! no\n"),
        "`a`: it.\n\n```text\n  x\n```\n"
    );
    let text = "[`a::b`] in [0, 1] and [x](y), [`c`]: d\n\n```text\n[`a`]\n```\n";
    assert_eq!(
        without_references(text),
        "`a::b` in [0, 1] and [x](y), `c`: d\n\n```text\n[`a`]\n```\n"
    );
}
