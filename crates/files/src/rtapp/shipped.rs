//! The files in workloads/ use the whole grammar, so that a test of them tests all of it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::json::{self, Member, Value};
use super::keys::{self, Event};

fn project(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn shipped() -> Vec<(String, String)> {
    let folder = project("workloads");
    let entries =
        std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<(String, String)> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), read(path))
        })
        .filter(|(_, text)| super::looks_like_rtapp(text))
        .collect();
    files.sort();
    files
}

fn members(member: &Member) -> &[Member] {
    match member.value.as_ref().map(|node| &node.value) {
        Some(Value::Object(members)) => members,
        _ => &[],
    }
}

/// Every word that a file uses, after where it stands: `event run`, `global duration`,
/// `value SCHED_RR`, `syntax bare member`.
fn words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let (root, _) = json::read(text).unwrap_or_else(|fault| panic!("{fault:?}"));
    let root = Member { at: 0, key: "root".to_owned(), value: Some(root) };
    for section in members(&root) {
        words.insert(format!("section {}", section.key));
        for item in members(section) {
            match section.key.as_str() {
                "tasks" => words_of_task(item, &mut words),
                _ => drop(words.insert(format!("{} {}", section.key, item.key))),
            }
            for part in members(item) {
                words.insert(format!("{} part {}", section.key, part.key));
            }
        }
    }
    let marks = [
        ("//", "line comment"),
        ("/*", "block comment"),
        ("'", "single quotes"),
        ("False", "literal in any case"),
    ];
    words.extend(
        marks
            .iter()
            .filter(|(mark, _)| text.contains(mark))
            .map(|(_, name)| format!("syntax {name}")),
    );
    let squeezed: String = text.split_whitespace().collect();
    words.extend(squeezed.contains(",}").then(|| "syntax trailing comma".to_owned()));
    words
}

fn words_of_task(task: &Member, words: &mut BTreeSet<String>) {
    let mut seen = BTreeSet::new();
    for member in members(task) {
        let event = keys::EVENTS
            .iter()
            .find(|(name, _)| Event::of(&member.key).is_some() && member.key.starts_with(name));
        match event {
            Some((name, _)) => {
                words.insert(format!("event {name}"));
                words.extend((member.value.is_none()).then(|| "syntax bare member".to_owned()));
                words
                    .extend((!seen.insert(&member.key)).then(|| "syntax duplicate key".to_owned()));
                for part in members(member) {
                    words.insert(format!("{name} {}", part.key));
                    words.extend(text_of(part).map(|text| format!("{name} {} {text}", part.key)));
                }
            }
            None => {
                words.insert(format!("property {}", member.key));
                words.extend(text_of(member).map(|text| format!("value {text}")));
            }
        }
        if member.key == "phases" {
            members(member).iter().for_each(|phase| words_of_task(phase, words));
        }
    }
}

fn text_of(member: &Member) -> Option<&str> {
    match member.value.as_ref().map(|node| &node.value) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

#[test]
fn shipped_files_use_every_key_and_event_between_them() {
    let used: BTreeSet<String> = shipped().iter().flat_map(|(_, text)| words(text)).collect();
    let mut wanted: Vec<String> = Vec::new();
    let mut want = |place: &str, words: &[&str]| {
        wanted.extend(words.iter().map(|word| format!("{place} {word}")))
    };
    want("section", &keys::SECTIONS);
    want("global", &keys::of_global().collect::<Vec<_>>());
    want("property", &[&keys::SHARED[..], &keys::SHARED_NOTED, &keys::TASK].concat());
    want("event", &keys::EVENTS.map(|(name, _)| name));
    want("resources part", &["type", "target"]);
    want("timer", &["ref", "period", "mode", "mode relative", "mode absolute"]);
    want("wait", &["ref", "mutex"]);
    want("sync", &["ref", "mutex"]);
    want("memrun", &["type read", "type write", "type chase", "size", "stride", "count", "ref"]);
    want("memrun", &["pattern random", "pattern sequential"]);
    want("value", &["SCHED_OTHER", "SCHED_IDLE", "SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE"]);
    want("syntax", &["line comment", "block comment", "single quotes", "literal in any case"]);
    want("syntax", &["trailing comma", "bare member", "duplicate key"]);
    let missing: Vec<&String> = wanted.iter().filter(|word| !used.contains(*word)).collect();
    assert!(missing.is_empty(), "no file in workloads/ shows {missing:?}");
}

#[test]
fn every_shipped_file_begins_with_a_comment_that_says_what_it_shows() {
    let files = shipped();
    assert!(files.len() >= 6, "{files:?}");
    for (name, text) in files {
        assert!(text.starts_with("/*") || text.starts_with("//"), "{name}");
    }
}

#[test]
fn the_manual_names_every_key_and_event() {
    let manual = read(project("docs/simulate/rt-app.md"));
    for word in keys::SECTIONS.into_iter().chain(keys::of_global()).chain(keys::of_a_task()) {
        assert!(
            manual.contains(&format!("`{word}`")),
            "docs/simulate/rt-app.md does not say what becomes of {word}"
        );
    }
}
