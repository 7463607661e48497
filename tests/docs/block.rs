//! Blocks of preformatted text: fenced, or indented by four spaces.

use std::ops::Range;

const FENCE: &str = "```";
const INDENT: &str = "    ";

/// The block after this place, with only empty lines between: its text without fence or indent, and
/// its range.
pub fn after(page: &str, place: usize) -> Option<(String, Range<usize>)> {
    let begin = place + page[place..].find(|letter: char| letter != '\n')?;
    let begin = page[..begin].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &page[begin..];
    if rest.starts_with(FENCE) {
        let inside = begin + rest.find('\n')? + 1;
        let end = inside + page[inside..].find(&format!("\n{FENCE}"))?;
        return Some((page[inside..end].to_owned(), begin..end + 1 + FENCE.len()));
    }
    let (mut length, mut pending) = (0, 0);
    for line in rest.split_inclusive('\n') {
        pending += line.len();
        if line.starts_with(INDENT) {
            length = pending;
        } else if !line.trim().is_empty() {
            break;
        }
    }
    let text = rest[..length].trim_end_matches('\n');
    let lines: Vec<&str> =
        text.lines().map(|line| line.strip_prefix(INDENT).unwrap_or("")).collect();
    (length > 0).then(|| (lines.join("\n"), begin..begin + text.len()))
}

/// This text as a block of the same kind as the one after this place.
pub fn like(page: &str, place: usize, text: &str) -> String {
    let rest = page[place..].trim_start_matches('\n');
    if rest.starts_with(FENCE) {
        let opening = rest.lines().next().unwrap_or(FENCE);
        return format!("{opening}\n{text}\n{FENCE}");
    }
    let indented =
        |line: &str| if line.is_empty() { String::new() } else { format!("{INDENT}{line}") };
    text.lines().map(indented).collect::<Vec<_>>().join("\n")
}

pub fn tests() {
    let page = "x -->\n\n    a\n\n      b\n\nprose\n";
    let (text, range) = after(page, 5).unwrap();
    assert_eq!(text, "a\n\n  b");
    assert_eq!(&page[range], "    a\n\n      b");
    assert_eq!(like(page, 5, "c\n\nd"), "    c\n\n    d");

    let page = "x -->\n```text\na\n\nb\n```\nprose\n";
    let (text, range) = after(page, 5).unwrap();
    assert_eq!(text, "a\n\nb");
    assert_eq!(&page[range], "```text\na\n\nb\n```");
    assert_eq!(like(page, 5, "c"), "```text\nc\n```");

    assert_eq!(after("x -->\n\nprose\n\n    a\n", 5), None);
}
