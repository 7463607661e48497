//! README and the book: what they show is what commands print, links lead somewhere, every page has
//! its place, and sentences can be read: `make docs-check`.
//!
//! | argument | |
//! | --- | --- |
//! | none | looks at all that |
//! | `pages` | leaves out what commands print, which takes longest |
//! | `--update` | writes blocks of text anew that a command makes |
//! | `--book FOLDER` | writes the source of the book: `make book` |
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod block;
mod blocks;
mod book;
mod generated;
mod links;
mod mark;
mod page;
mod prose;
mod summary;

use std::path::Path;
use std::process::ExitCode;

use page::Page;

fn main() -> ExitCode {
    mark::tests();
    block::tests();
    page::tests();
    links::tests();
    summary::tests();
    prose::tests();
    generated::tests();
    book::tests();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let by_hand = page::all(&root);
    let hold = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => pages_hold(&by_hand, &root) & blocks::hold(&by_hand, &root, false),
        ["pages"] => pages_hold(&by_hand, &root),
        ["--update"] => blocks::hold(&by_hand, &root, true),
        ["--book", folder] => {
            book::write(&with_generated(&by_hand, &root), &root, Path::new(folder))
        }
        _ => panic!("{arguments:?} found, expected nothing, pages, --update or --book FOLDER"),
    };
    if hold { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn with_generated(by_hand: &[Page], root: &Path) -> Vec<Page> {
    [by_hand, &generated::pages(root)].concat()
}

/// Whether links lead somewhere, the table of contents is whole, and prose is short.
fn pages_hold(by_hand: &[Page], root: &Path) -> bool {
    let all = with_generated(by_hand, root);
    let prose = prose::Counts::of(by_hand.iter().filter(|page| prose::is_counted(&page.path)));
    println!("{prose}");
    let problems = [
        links::problems(&all, root),
        links::stale_mentions(&all, root),
        summary::problems(&all),
        prose.problems(),
    ]
    .concat();
    problems.iter().for_each(|problem| println!("{problem}"));
    problems.is_empty()
}
