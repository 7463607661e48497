//! The comments that name the command of a block.

/// A comment that names the command of the block after it.
#[derive(Debug, PartialEq, Eq)]
pub struct Mark {
    /// The command, its words separated by one space each.
    pub command: String,
    /// How the first line of the excerpt begins.
    pub from: Option<String>,
    /// How the line after the excerpt begins.
    pub to: Option<String>,
    /// Line of the page, from 1.
    pub line: usize,
    /// Offset of the comment's end in the page.
    pub end: usize,
}

const OPEN: &str = "<!-- made by:";
const CLOSE: &str = "-->";

/// All marks of a page, in order.
///
/// # Errors
/// A comment does not end; its line.
pub fn marks(page: &str) -> Result<Vec<Mark>, String> {
    let mut marks = Vec::new();
    let mut at = 0;
    while let Some(found) = page[at..].find(OPEN) {
        let begin = at + found;
        let line = page[..begin].matches('\n').count() + 1;
        let inside = begin + OPEN.len();
        let Some(length) = page[inside..].find(CLOSE) else {
            return Err(format!("{line}: no {CLOSE}"));
        };
        at = inside + length + CLOSE.len();
        let mut mark = Mark { command: String::new(), from: None, to: None, line, end: at };
        for text in page[inside..inside + length].lines().map(str::trim) {
            match text.split_once(": ") {
                Some(("from", what)) => mark.from = Some(what.to_owned()),
                Some(("to", what)) => mark.to = Some(what.to_owned()),
                _ => mark.command = format!("{} {text}", mark.command),
            }
        }
        mark.command = plain(&mark.command);
        marks.push(mark);
    }
    Ok(marks)
}

/// True if a page shows the command outside its comments, however its words are broken into lines.
pub fn is_named(page: &str, command: &str) -> bool {
    let mut seen = String::new();
    let mut rest = page;
    while let Some((before, comment)) = rest.split_once("<!--") {
        seen.push_str(before);
        rest = comment.split_once(CLOSE).map_or("", |(_, after)| after);
    }
    seen.push_str(rest);
    plain(&seen.replace("\\\n", "\n")).contains(command)
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn tests() {
    let page = "# A\n\n<!-- made by: evenkeel compare\n     -p linux\n     from: Geometric \
                means\n     to: Plots -->\n\n    x\n";
    let found = marks(page).unwrap();
    let [mark] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((mark.command.as_str(), mark.line), ("evenkeel compare -p linux", 3));
    assert_eq!(
        (mark.from.as_deref(), mark.to.as_deref()),
        (Some("Geometric means"), Some("Plots"))
    );
    assert!(page[mark.end..].starts_with("\n\n    x"));
    assert!(marks("\n<!-- made by: evenkeel").unwrap_err().starts_with("2: "));

    assert!(!is_named(page, "evenkeel compare -p linux"), "a comment is not seen");
    assert!(is_named(
        &format!("{page}\n    evenkeel compare \\\n      -p linux\n"),
        "evenkeel compare -p linux"
    ));
}
