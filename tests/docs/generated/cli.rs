//! Every command with its help.

use std::fmt::Write as _;

use super::evenkeel;

/// Clap's own command, which prints what is here.
const HELP: &str = "help";

pub fn page() -> String {
    let mut page = String::from(
        "# Commands\n\nMade by `make book` from the `--help` of each command. \
         [The command line](command-line.md) has what all have in common.\n",
    );
    section(&mut page, &[]);
    page
}

/// A command, and then what is below it.
fn section(page: &mut String, command: &[&str]) {
    let help = evenkeel(&[command, &["--help"]].concat());
    let name = [&["evenkeel"], command].concat().join(" ");
    let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
    for below in commands(&help).filter(|below| *below != HELP) {
        section(page, &[command, &[below]].concat());
    }
}

/// The commands that a help lists.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // What a command is for may go on in further lines, which are indented by more.
    let names = lines.filter_map(|line| line.strip_prefix("  "));
    names.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next())
}

pub fn tests() {
    let help = "Does it\n\nUsage: it\n\nCommands:\n  one    First\n         and more\n  help   Prints\n\n\
                Options:\n  -h\n";
    assert_eq!(commands(help).collect::<Vec<_>>(), ["one", "help"]);
}
