//! The source of the book: the pages of docs, those that are generated, and what they link to in
//! the repository.
//!
//! It is a folder of its own, so that nothing generated stands among the pages of docs, and so that
//! links out of docs can be bent: a file `crates/a.rs` is `repository/crates/a.rs` in the book, and
//! a folder is its README or a list of its files.

use std::path::Path;

use crate::page::{Page, files, has_extension};
use crate::{links, summary};

const DOCS: &str = "docs/";
const REPOSITORY: &str = "repository/";
/// What mdBook reads first.
const SETTINGS: &str = "book.toml";
const README: &str = "README.md";
/// The list of the files of a folder without README.
const LIST: &str = "index.html";

/// Writes it into a folder, whose book goes. Whether all its links lead somewhere.
pub fn write(pages: &[Page], root: &Path, folder: &Path) -> bool {
    if folder.exists() {
        assert!(folder.join(SETTINGS).exists(), "{}: there, and no book", folder.display());
        std::fs::remove_dir_all(folder).unwrap();
    }
    for file in files(&root.join(DOCS)).iter().filter(|path| !has_extension(path, "md")) {
        copy(file, &folder.join(file.strip_prefix(root.join(DOCS)).unwrap()));
    }
    let mut of_book = Vec::new();
    for page in pages {
        let (mut page, linked) = bent(page, pages, root);
        for path in linked {
            bring(root, &path, folder);
        }
        if page.path == in_book(summary::PATH) {
            page.text += &further(pages);
        }
        of_book.push(page);
    }
    for page in &of_book {
        let path = folder.join(&page.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &page.text).unwrap();
    }
    let problems = links::problems(&of_book, folder);
    problems.iter().for_each(|problem| println!("in the book: {problem}"));
    problems.is_empty()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(from, to).unwrap();
}

/// Where the book has a file of the repository.
fn in_book(path: &str) -> String {
    match path.strip_prefix(DOCS) {
        Some(path) => path.to_owned(),
        None => format!("{REPOSITORY}{path}"),
    }
}

/// A page as the book has it, with its links, and the files out of docs, pages excepted, that they
/// lead to.
fn bent(page: &Page, pages: &[Page], root: &Path) -> (Page, Vec<String>) {
    let path = in_book(&page.path);
    let up = "../".repeat(path.matches('/').count());
    let (mut text, mut linked) = (page.text.clone(), Vec::new());
    // From the last to the first, so that places before a link that is replaced stay where they
    // are.
    for link in page.links().into_iter().rev().filter(|link| !link.target.starts_with('#')) {
        let Some(place) = page.place(&link.target) else { continue };
        let to = file(root, &place.path);
        let anchor = place.anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
        let inside = &page.text[link.place.clone()];
        if let Some(at) = inside.rfind(&link.target) {
            let at = link.place.start + at;
            let target = format!("{up}{}{anchor}", in_book(&to));
            text.replace_range(at..at + link.target.len(), &target);
        }
        let is_page = pages.iter().any(|page| page.path == to);
        if !is_page && !to.starts_with(DOCS) && root.join(&place.path).exists() {
            linked.push(to);
        }
    }
    (Page { path, text }, linked)
}

/// The page of a folder that is linked to: its README, or a list of its files; any other path as it
/// is.
fn file(root: &Path, path: &str) -> String {
    match root.join(path).is_dir() {
        true if root.join(path).join(README).exists() => format!("{path}/{README}"),
        true => format!("{path}/{LIST}"),
        false => path.to_owned(),
    }
}

/// Copies a file that is linked to, or a folder with a list of its files.
fn bring(root: &Path, path: &str, folder: &Path) {
    let Some(listed) = path.strip_suffix(LIST) else {
        return copy(&root.join(path), &folder.join(in_book(path)));
    };
    let mut names = Vec::new();
    for file in files(&root.join(listed)) {
        copy(&file, &folder.join(in_book(&file.strip_prefix(root).unwrap().display().to_string())));
        names.push(file.strip_prefix(root.join(listed)).unwrap().display().to_string());
    }
    names.sort();
    let links = names.iter().map(|name| format!("<li><a href=\"{name}\">{name}</a></li>\n"));
    let list = format!(
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>{listed}</title>\n<h1>{listed}</h1>\n\
         <ul>\n{}</ul>\n",
        links.collect::<String>()
    );
    std::fs::write(folder.join(in_book(path)), list).unwrap();
}

/// What comes after the table of contents: decisions, and pages out of docs.
fn further(pages: &[Page]) -> String {
    let mut out = String::from("\n# Decisions\n\n");
    for page in pages.iter().filter(|page| page.path.starts_with(summary::DECISIONS)) {
        let title = page.title().unwrap_or_else(|| page.path.clone());
        out += &format!("- [{title}]({})\n", in_book(&page.path));
    }
    out += "\n# From the repository\n\n";
    for Page { path, .. } in pages.iter().filter(|page| !page.path.starts_with(DOCS)) {
        out += &format!("- [{path}]({})\n", in_book(path));
    }
    out
}

pub fn tests() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    for path in ["docs/book.toml", "docs/a/p.png", "crates/x/src/lib.rs", "Cargo.toml"] {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), path).unwrap();
    }
    let page =
        "![p](p.png) [b](../b.md#b) [x](../../crates/x) [c](../../C.md) [t](#t) [h](http://h)";
    let pages = [
        Page::new("C.md", "[a](docs/a/a.md) `Cargo.toml` [Cargo.toml](Cargo.toml)"),
        Page::new("docs/SUMMARY.md", "- [a](a/a.md)\n"),
        Page::new("docs/a/a.md", format!("# t\n\n{page}\n")),
        Page::new("docs/b.md", "# b\n"),
        Page::new("docs/decisions/1.md", "# One\n"),
    ];
    let folder = root.join("book");
    assert!(write(&pages, root, &folder) && write(&pages, root, &folder), "twice is as once");
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    assert_eq!(
        read("a/a.md"),
        "# t\n\n![p](../a/p.png) [b](../b.md#b) [x](../repository/crates/x/index.html) \
         [c](../repository/C.md) [t](#t) [h](http://h)\n"
    );
    assert_eq!(
        read("repository/C.md"),
        "[a](../a/a.md) `Cargo.toml` [Cargo.toml](../repository/Cargo.toml)"
    );
    assert_eq!(
        read("SUMMARY.md"),
        "- [a](a/a.md)\n\n# Decisions\n\n- [One](decisions/1.md)\n\n# From the repository\n\n\
         - [C.md](repository/C.md)\n"
    );
    assert_eq!(read("repository/crates/x/src/lib.rs"), "crates/x/src/lib.rs");
    assert!(read("repository/crates/x/index.html").contains("href=\"src/lib.rs\""));
    let broken = [Page::new("docs/b.md", "[no](../crates/y.rs)")];
    let links = bent(&broken[0], &broken, root);
    assert!(!links::problems(&[links.0], &folder).is_empty());
}
