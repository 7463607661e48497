//! `evenkeel new`: a starting point for contributors.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use evenkeel_policy::{graph, loops, registry};

use crate::args::project::NewPolicyArgs;
use crate::error::{Failure, Result};
use crate::output::{OutputFile, print};

/// A working policy. It is compiled and tested with the others under the name that it has there.
const TEMPLATE: &str = include_str!("../../templates/policy.rs");

const REGISTRY: &str = "crates/policy/src/registry.rs";
const MODULES: &str = "crates/policy/src/os/mod.rs";

/// `evenkeel new policy`.
///
/// # Errors
/// A name that is taken, or no policy's; no checkout; files that are not as expected, or cannot be
/// written.
pub fn policy(args: &NewPolicyArgs) -> Result {
    let name = args.name.as_str();
    let module = module_of(name)?;
    // "Policy" follows in any case.
    let words = name.strip_suffix("-policy").unwrap_or(name);
    let type_name: String = words.split('-').map(capitalised).collect();
    let text = TEMPLATE.replace("Template", &type_name).replace("template", name);
    if args.print {
        return print(&text);
    }
    let root = match &args.checkout {
        Some(root) => root.clone(),
        None => checkout(
            &std::env::current_dir().context("no working directory").map_err(Failure::Failed)?,
        )?,
    };
    let file = root.join(format!("crates/policy/src/os/{module}.rs"));
    if file.exists() {
        return Err(Failure::usage(format!("{}: there already", file.display())));
    }
    let (registry, modules) =
        (Source::read(&root.join(REGISTRY))?, Source::read(&root.join(MODULES))?);
    if modules.text.contains(&format!("mod {module};\n")) {
        return Err(Failure::usage(format!(
            "there is a module '{module}' already, in {}",
            modules.path.display()
        )));
    }
    let registry = registry.with_entry(&module)?;
    let modules = modules.with_module(&module)?;
    OutputFile::begin(&file)?.finish_with(text.as_bytes())?;
    registry.write()?;
    modules.write()?;
    print(&format!(
        "{}: the policy, with a test\n{}: its line in the list\n{}: its module\n\n\
         Next: cargo test -p evenkeel-policy {module}\n\
         Then: cargo run --release -p evenkeel -- compare -m quickia -w 2STH-2STL -p \
         linux,{name}\n",
        file.display(),
        registry.path.display(),
        modules.path.display()
    ))
}

/// The module of a policy of this name.
fn module_of(name: &str) -> Result<String> {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
    };
    if !name.starts_with(|it: char| it.is_ascii_lowercase()) || !name.split('-').all(is_word) {
        return Err(Failure::usage(format!(
            "'{name}' found, expected a name of lower-case letters, digits and single hyphens, \
             that begins with a letter"
        )));
    }
    let taken = registry::make(name, &[]).is_ok()
        || graph::find(name).is_some()
        || loops::NAMES.contains(&name);
    if taken {
        return Err(Failure::usage(format!("there is a policy '{name}' already")));
    }
    let module = name.replace('-', "_");
    if KEYWORDS.contains(&module.as_str()) {
        return Err(Failure::usage(format!(
            "'{name}' is a word of Rust's, and so no module's name"
        )));
    }
    Ok(module)
}

/// Rust's keywords in lower case (The Rust Reference, "Keywords", edition 2024).
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// The checkout that a folder is in.
fn checkout(folder: &Path) -> Result<PathBuf> {
    let found = folder.ancestors().find(|it| it.join(REGISTRY).is_file());
    found.map(Path::to_owned).ok_or_else(|| {
        Failure::usage(format!(
            "{}: no checkout of Evenkeel here or above, expected {REGISTRY}",
            folder.display()
        ))
    })
}

/// A source file, and what it is to become.
struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!("{}: cannot be read: {error}", path.display()))
        })?;
        Ok(Self { path: path.to_owned(), text })
    }

    /// The registry, with one more at the end of its list.
    fn with_entry(mut self, module: &str) -> Result<Self> {
        let list = self.text.find("pub static ENTRIES");
        let end = list.and_then(|list| self.text[list..].find("\n];").map(|after| list + after));
        let Some(end) = end else {
            return Err(self.unexpected("pub static ENTRIES: &[Entry] = &[ … ];"));
        };
        self.text.insert_str(end, &format!("\n    os::{module}::ENTRY,"));
        Ok(self)
    }

    /// The modules, with one more among those that are public, in order of their names.
    fn with_module(mut self, module: &str) -> Result<Self> {
        let own = format!("pub mod {module};");
        let mut lines: Vec<&str> = self.text.lines().collect();
        let is_module = |line: &&str| line.starts_with("pub mod ");
        let after = lines.iter().position(|line| is_module(line) && *line > own.as_str());
        let last = lines.iter().rposition(is_module).map(|last| last + 1);
        let Some(place) = after.or(last) else { return Err(self.unexpected("pub mod …;")) };
        lines.insert(place, &own);
        self.text = lines.join("\n") + "\n";
        Ok(self)
    }

    fn unexpected(&self, expected: &str) -> Failure {
        Failure::usage(format!("{}: no such line found, expected {expected}", self.path.display()))
    }

    fn write(&self) -> Result {
        OutputFile::begin(&self.path)?.finish_with(self.text.as_bytes())
    }
}
