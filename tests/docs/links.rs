//! Every relative link leads to a file that is there, every anchor to a heading, and code and
//! messages name no page that is gone.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::page::Page;

/// Links of these pages that lead nowhere, a line each. `root`: where files that are no pages are.
pub fn problems(pages: &[Page], root: &Path) -> Vec<String> {
    let anchors: BTreeMap<_, _> =
        pages.iter().map(|page| (page.path.as_str(), page.anchors())).collect();
    let mut problems = Vec::new();
    for page in pages {
        for link in page.links() {
            let Some(place) = page.place(&link.target) else { continue };
            let anchors = anchors.get(place.path.as_str());
            let is_there = match (&anchors, &place.anchor) {
                (Some(anchors), Some(anchor)) => anchors.contains(anchor),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => root.join(&place.path).exists(),
            };
            if !is_there {
                let (line, target) = (page.line(link.place.start), &link.target);
                let what = if anchors.is_some() { "heading" } else { "page" };
                problems.push(format!("{}:{line}: {target}: no such {what}", page.path));
            }
        }
    }
    problems
}

/// Files that name pages as they were, or as they never were.
const NOT_HELD: [&str; 2] = ["docs/decisions/", "tests/docs/"];

/// Pages of docs that a file of the repository names and that are not there, a line each.
pub fn stale_mentions(pages: &[Page], root: &Path) -> Vec<String> {
    let listed = Command::new("git").arg("ls-files").current_dir(root).output();
    let Ok(listed) = listed else { return Vec::new() };
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    let held = names.lines().filter(|name| !NOT_HELD.iter().any(|it| name.starts_with(it)));
    let mut problems = Vec::new();
    for name in held {
        let Ok(text) = std::fs::read_to_string(root.join(name)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let gone = mentions(line).filter(|path| pages.iter().all(|page| page.path != **path));
            problems
                .extend(gone.map(|path| format!("{name}:{}: {path}: no such page", number + 1)));
        }
    }
    problems
}

/// Paths `docs/….md` in a line.
fn mentions(line: &str) -> impl Iterator<Item = &str> {
    let is_of_path = |letter: char| letter.is_ascii_alphanumeric() || "/+_-.".contains(letter);
    let begins = line.match_indices("docs/").map(|(place, _)| place);
    let begins = begins.filter(move |&place| !line[..place].ends_with(is_of_path));
    let paths = begins.filter_map(move |place| line[place..].split(|it| !is_of_path(it)).next());
    paths.map(|path| path.trim_end_matches('.')).filter(|path| path.ends_with(".md"))
}

pub fn tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of =
        |text: &str| problems(&[Page::new("a/b.md", text), Page::new("a/c.md", "# Head\n")], root);
    assert_eq!(
        of("[x](c.md) [x](c.md#head) [x](../Cargo.toml) [x](https://x.org) [x](../src)"),
        [""; 0]
    );
    assert_eq!(of("# A\n\n[x](d.md)"), ["a/b.md:3: d.md: no such page"]);
    assert_eq!(of("[x](c.md#tail)"), ["a/b.md:1: c.md#tail: no such heading"]);
    assert_eq!(of("![x](#head)"), ["a/b.md:1: #head: no such heading"]);
    assert_eq!(of("[x](../Cargo.toml#L3)"), ["a/b.md:1: ../Cargo.toml#L3: no such page"]);

    let line = "see docs/a/c++.md. ([x](docs/b.md#d)) docs/ docs/c.png ../docs/d.md mydocs/e.md";
    assert_eq!(mentions(line).collect::<Vec<_>>(), ["docs/a/c++.md", "docs/b.md"]);
}
