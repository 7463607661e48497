//! Trees of small files from the tables in `tests/sysfs`, as stand-ins for `/sys`.
//!
//! A line is `path = text`. `{…}` in a path stands for each of the alternatives, separated by commas; `0-3` is four of them.
//! `{}` in the text is the last number that a path was made with, `\0` a zero byte. A path that ends in `/` is a folder.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The table of this name, as a tree in a folder that goes when it is dropped.
pub fn tree(name: &str) -> TempDir {
    let root = empty();
    plant(root.path(), &std::fs::read_to_string(tables().join(format!("{name}.tree"))).expect("the table"));
    root
}

/// An empty folder, in memory where there is such a place: a tree is hundreds of files, and tests plant hundreds of trees.
pub fn empty() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

/// Adds what a table says to a tree; what is there is overwritten.
pub fn plant(root: &Path, table: &str) {
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (path, text) = line.split_once('=').unwrap_or((line, ""));
        for (path, number) in expanded(path.trim()) {
            let file = root.join(&path);
            if path.ends_with('/') {
                std::fs::create_dir_all(&file).expect(line);
                continue;
            }
            std::fs::create_dir_all(file.parent().expect(line)).expect(line);
            let text = text.trim().replace("{}", &number).replace("\\0", "\0");
            std::fs::write(file, text + "\n").expect(line);
        }
    }
}

/// Each path, and the last alternative in it.
fn expanded(path: &str) -> Vec<(String, String)> {
    let Some((before, rest)) = path.rsplit_once('{') else { return vec![(path.to_owned(), String::new())] };
    let (list, after) = rest.split_once('}').expect(path);
    let mut paths = Vec::new();
    for item in list.split(',') {
        let items = match item.split_once('-').map(|(first, last)| (first.parse::<u32>(), last.parse::<u32>())) {
            Some((Ok(first), Ok(last))) => (first..=last).map(|number| number.to_string()).collect(),
            _ => vec![item.to_owned()],
        };
        for item in items {
            for (path, earlier) in expanded(&format!("{before}{item}{after}")) {
                // The number is that of the CPU, which comes before alternatives of files.
                paths.push((path, if earlier.is_empty() { item.clone() } else { earlier }));
            }
        }
    }
    paths
}

fn tables() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../machine/tests/sysfs")
}
