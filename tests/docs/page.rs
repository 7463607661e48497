//! A page in Markdown: its title, its links, and the anchors that links may name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A page, by its path from the root of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// As `docs/live/affinity.md`.
    pub path: String,
    /// All of it.
    pub text: String,
}

/// A link or a picture.
#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    /// As it is written: path, `#` and anchor, or an address.
    pub target: String,
    /// Where it stands in the page, brackets and all.
    pub place: Range<usize>,
}

/// Where a relative link leads.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// From the root of the repository, or of the book.
    pub path: String,
    /// Without `#`.
    pub anchor: Option<String>,
}

impl Page {
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// What the page is made of.
    pub fn events(&self) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        Parser::new_ext(&self.text, options).into_offset_iter()
    }

    /// All links and pictures, in order.
    pub fn links(&self) -> Vec<Link> {
        let found = self.events().filter_map(|(event, place)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(Link { target: dest_url.into_string(), place })
            }
            _ => None,
        });
        found.collect()
    }

    /// The text of each heading, in order.
    fn headings(&self) -> Vec<String> {
        let (mut headings, mut open) = (Vec::new(), None);
        for (event, _) in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => open = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => headings.extend(open.take()),
                Event::Text(text) | Event::Code(text) => {
                    open.iter_mut().for_each(|heading| heading.push_str(&text));
                }
                _ => {}
            }
        }
        headings
    }

    /// The first heading.
    pub fn title(&self) -> Option<String> {
        self.headings().into_iter().next()
    }

    /// What GitHub and mdBook call the headings: of equal ones all but the first have a number.
    pub fn anchors(&self) -> BTreeSet<String> {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let anchor = |heading: String| {
            let plain = anchor(&heading);
            let count = seen.entry(plain.clone()).or_default();
            *count += 1;
            if *count == 1 { plain } else { format!("{plain}-{}", *count - 1) }
        };
        self.headings().into_iter().map(anchor).collect()
    }

    /// The line, from 1, of a place in the page.
    pub fn line(&self, place: usize) -> usize {
        self.text[..place].matches('\n').count() + 1
    }

    /// Where a link of this page leads; `None` for an address.
    pub fn place(&self, target: &str) -> Option<Place> {
        if target.contains("://") || target.starts_with("mailto:") {
            return None;
        }
        let (path, anchor) =
            target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        let anchor = anchor.map(str::to_owned);
        if path.is_empty() {
            return Some(Place { path: self.path.clone(), anchor });
        }
        let folder = Path::new(&self.path).parent().unwrap_or(Path::new(""));
        Some(Place { path: plain(&folder.join(path)), anchor })
    }
}

/// Pages at the root that the book has, too.
const AT_ROOT: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// All pages of the repository that people read: those at its root, of its crates, and of docs.
pub fn all(root: &Path) -> Vec<Page> {
    let mut paths: Vec<PathBuf> = AT_ROOT.map(|path| root.join(path)).into();
    let below = ["crates", "docs"].into_iter().flat_map(|folder| files(&root.join(folder)));
    paths.extend(below.filter(|path| has_extension(path, "md")));
    paths.sort();
    let page = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        Page::new(name, std::fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(page).collect()
}

/// All files below a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Whether a file has this extension.
pub fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|it| it == extension)
}

/// A path without `.` and `..`, those excepted that lead out.
fn plain(path: &Path) -> String {
    let mut parts: Vec<Component> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.iter().collect::<PathBuf>().display().to_string()
}

/// What a heading is called: lower case, hyphens for spaces, no punctuation.
pub fn anchor(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|letter| match letter {
        letter if letter.is_alphanumeric() || "_-".contains(letter) => Some(letter),
        letter if letter.is_whitespace() => Some('-'),
        _ => None,
    });
    letters.collect::<String>().to_lowercase()
}

pub fn tests() {
    let page = Page::new(
        "docs/a/b.md",
        "# `acfs`: it, again!\n\n[x](../c.md#d)\n\n    [no](link)\n\n## Two\n\n## Two\n",
    );
    assert_eq!(page.title().unwrap(), "acfs: it, again!");
    assert_eq!(Vec::from_iter(page.anchors()), ["acfs-it-again", "two", "two-1"]);
    let [link] = &page.links()[..] else { panic!("{:?}", page.links()) };
    assert_eq!((link.target.as_str(), page.line(link.place.start)), ("../c.md#d", 3));
    assert_eq!(&page.text[link.place.clone()], "[x](../c.md#d)");

    let place = |target: &str| page.place(target).map(|it| (it.path, it.anchor));
    assert_eq!(place("../c.md#d"), Some(("docs/c.md".into(), Some("d".into()))));
    assert_eq!(place("#two"), Some(("docs/a/b.md".into(), Some("two".into()))));
    assert_eq!(place("../../../out.md"), Some(("../out.md".into(), None)));
    assert_eq!(place("https://example.org/#x"), None);
}
