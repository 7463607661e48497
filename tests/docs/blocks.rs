//! Blocks of text are what the commands print that make them.
//!
//! A page marks a block of text, fenced or indented, with what makes it:
//!
//! ```text
//! <!-- made by: evenkeel compare -m quickia -w gamess -p linux,acfs
//!      from: Geometric means
//!      to: Plots and timelines -->
//! ```
//!
//! `from` and `to` name the lines, by how they begin, at which an excerpt begins and before which
//! it ends; without them the block is all of the output. The command, which may go on over several
//! lines, is one of ours or `make demo`, and the page has to name it where a reader sees it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::block;
use crate::mark::{self, Mark, marks};
use crate::page::Page;

/// Whether all blocks of these pages are what their commands print, or have now been written anew.
pub fn hold(pages: &[Page], root: &Path, update: bool) -> bool {
    let mut outputs = BTreeMap::new();
    let (mut blocks, mut stale) = (0, 0);
    for Page { path: name, text } in pages {
        let found = marks(text).unwrap_or_else(|error| panic!("{name}:{error}"));
        let mut rewritten = text.clone();
        // From the last to the first, so that places before a block that is replaced stay where
        // they are.
        for mark in found.iter().rev() {
            blocks += 1;
            let output =
                outputs.entry(mark.command.clone()).or_insert_with(|| output(root, &mark.command));
            let wanted = mark
                .excerpt(output)
                .unwrap_or_else(|error| panic!("{name}:{}: {error}", mark.line));
            let (there, place) = block::after(text, mark.end).unwrap_or_else(|| {
                panic!("{name}:{}: no block, fenced or indented, follows", mark.line)
            });
            if there != wanted {
                stale += 1;
                if update {
                    rewritten.replace_range(place, &block::like(text, mark.end, &wanted));
                    println!("{name}:{}: written anew: {}", mark.line, mark.command);
                } else {
                    println!(
                        "{name}:{}: stale: {}\n{}",
                        mark.line,
                        mark.command,
                        difference(&there, &wanted)
                    );
                }
            }
            if !mark::is_named(text, &mark.command) {
                println!(
                    "{name}:{}: the page does not name `{}` where a reader sees it",
                    mark.line, mark.command
                );
                return false;
            }
        }
        if rewritten != *text {
            std::fs::write(root.join(name), rewritten).unwrap();
        }
    }
    println!("{blocks} blocks of text from {} commands, {stale} stale", outputs.len());
    if stale == 0 || update {
        return true;
    }
    println!("`make docs-update` writes them anew; then look at the prose around them");
    false
}

/// What a command prints on stdout. Notes and progress go to stderr.
fn output(root: &Path, command: &str) -> String {
    let evenkeel = env!("CARGO_BIN_EXE_evenkeel");
    let mut words = command.split_whitespace();
    let mut run = match words.next() {
        Some("evenkeel") => Command::new(evenkeel),
        Some("make") => {
            let mut make = Command::new("make");
            // The binary is built already.
            make.args(["--silent", "CARGO=true"]);
            make.args(["EVENKEEL", "DEMO_RUN"].map(|name| format!("{name}={evenkeel}")));
            make
        }
        other => panic!("{command}: {other:?} found, expected evenkeel or make"),
    };
    let done = run.args(words).current_dir(root).env_remove("EVENKEEL_MACHINE").output().unwrap();
    assert!(
        done.status.success(),
        "{command}: {}\n{}",
        done.status,
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout).unwrap()
}

/// The lines that only one of the two has.
fn difference(there: &str, wanted: &str) -> String {
    let only = |sign: &str, of: &str, other: &str| -> String {
        let lines = of.lines().filter(|line| !other.lines().any(|known| known == *line));
        lines.map(|line| format!("  {sign} {line}\n")).collect()
    };
    only("-", there, wanted) + &only("+", wanted, there)
}

impl Mark {
    /// The part of an output that the block is to have, without trailing space.
    fn excerpt(&self, output: &str) -> Result<String, String> {
        let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
        let place = |what: &str, from: usize| {
            let found = lines.iter().skip(from).position(|line| line.starts_with(what));
            found
                .map(|place| from + place)
                .ok_or_else(|| format!("no line of the output begins with '{what}'"))
        };
        let from = self.from.as_deref().map_or(Ok(0), |what| place(what, 0))?;
        let to = self.to.as_deref().map_or(Ok(lines.len()), |what| place(what, from))?;
        Ok(lines[from..to].join("\n").trim_matches('\n').to_owned())
    }
}
