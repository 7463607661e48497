//! docs/SUMMARY.md, the book's table of contents, has each page of docs once, and no other.

use std::collections::BTreeSet;

use crate::page::Page;

/// The table of contents.
pub const PATH: &str = "docs/SUMMARY.md";
/// Decisions come after all else: `make book` lists them.
pub const DECISIONS: &str = "docs/decisions/";

/// Pages that are not listed, and what is listed and not there, a line each.
pub fn problems(pages: &[Page]) -> Vec<String> {
    let Some(summary) = pages.iter().find(|page| page.path == PATH) else {
        return vec![format!("no {PATH}")];
    };
    let is_to_be_listed =
        |path: &&str| path.starts_with("docs/") && !path.starts_with(DECISIONS) && *path != PATH;
    let mut missing: BTreeSet<&str> =
        pages.iter().map(|page| page.path.as_str()).filter(is_to_be_listed).collect();
    let mut problems = Vec::new();
    for link in summary.links() {
        let place = summary.place(&link.target).map_or(link.target, |place| place.path);
        if !missing.remove(place.as_str()) {
            let line = summary.line(link.place.start);
            problems.push(format!("{PATH}:{line}: {place} is no page of docs, or listed twice"));
        }
    }
    problems.extend(missing.iter().map(|path| format!("{PATH}: {path} is not listed")));
    problems
}

pub fn tests() {
    let of = |summary: &str| {
        let others = ["docs/a.md", "docs/b/c.md", "docs/decisions/d.md", "README.md"];
        let others = others.map(|path| Page::new(path, ""));
        problems(&[&others[..], &[Page::new(PATH, summary)]].concat())
    };
    assert_eq!(of("[A](a.md)\n\n- [C](b/c.md)\n"), [""; 0]);
    assert_eq!(of("- [A](a.md)\n"), ["docs/SUMMARY.md: docs/b/c.md is not listed"]);
    let twice = of("- [A](a.md)\n- [C](b/c.md)\n- [A](a.md)\n- [E](e.md)\n");
    assert_eq!(
        twice,
        [
            "docs/SUMMARY.md:3: docs/a.md is no page of docs, or listed twice",
            "docs/SUMMARY.md:4: docs/e.md is no page of docs, or listed twice"
        ]
    );
}
