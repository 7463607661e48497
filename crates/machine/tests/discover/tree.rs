//! Trees of small files from the tables in `tests/sysfs`: stand-ins for `/sys` and `/proc/cpuinfo`.
//!
//! A line is `path = text`. `{…}` in a path stands for each of the alternatives, separated by
//! commas; `0-3` is four of them. In the text, `{}` is the last number in the path, `\0` a zero
//! byte, `\n` the end of a line. A path that ends in `/` is a folder.
//!
//! `proc/cpuinfo/{0-3} = CPU implementer: 0x41; CPU part: 0xd03` adds these CPUs, each with these
//! fields, to the file `/proc/cpuinfo`; `../proc/cpuinfo` is the file itself, for formats that no
//! kernel writes any more.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder that stands for `/sys`, removed when this is dropped.
pub struct Root {
    sys: PathBuf,
    _folder: TempDir,
}

impl Root {
    /// The folder that stands for `/sys`. Its name is `sys`, so `../proc/cpuinfo` is read, too.
    pub fn path(&self) -> &Path {
        &self.sys
    }
}

/// The table of this name, as a tree.
pub fn tree(name: &str) -> Root {
    let root = empty();
    plant(
        root.path(),
        &std::fs::read_to_string(tables().join(format!("{name}.tree"))).expect("the table"),
    );
    root
}

/// An empty tree, in memory if possible: a tree is hundreds of files, and tests make hundreds of
/// trees.
pub fn empty() -> Root {
    let folder = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .expect("a temporary folder");
    let sys = folder.path().join("sys");
    std::fs::create_dir(&sys).expect("a folder");
    Root { sys, _folder: folder }
}

/// Adds a table to a tree: overwrites files, and appends to `/proc/cpuinfo`.
pub fn plant(root: &Path, table: &str) {
    for line in table.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (path, text) = line.split_once('=').unwrap_or((line, ""));
        for (path, number) in expanded(path.trim()) {
            if let Some(cpu) = path.strip_prefix("proc/cpuinfo/") {
                add_to_cpuinfo(root, cpu, text);
                continue;
            }
            let file = root.join(&path);
            if path.ends_with('/') {
                std::fs::create_dir_all(&file).expect(line);
                continue;
            }
            std::fs::create_dir_all(file.parent().expect(line)).expect(line);
            let text = text.trim().replace("{}", &number).replace("\\0", "\0").replace("\\n", "\n");
            std::fs::write(file, text + "\n").expect(line);
        }
    }
}

/// Adds a CPU to `/proc/cpuinfo` beside the root: its number, its fields by line, an empty line.
fn add_to_cpuinfo(root: &Path, cpu: &str, fields: &str) {
    let folder = root.with_file_name("proc");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = std::fs::File::options().create(true).append(true).open(folder.join("cpuinfo"));
    let fields: String = fields.split(';').map(|field| format!("{}\n", field.trim())).collect();
    write!(file.expect("the file"), "processor\t: {cpu}\n{fields}\n").expect("written");
}

/// Each path, and the last alternative in it.
fn expanded(path: &str) -> Vec<(String, String)> {
    let Some((before, rest)) = path.rsplit_once('{') else {
        return vec![(path.to_owned(), String::new())];
    };
    let (list, after) = rest.split_once('}').expect(path);
    let mut paths = Vec::new();
    for item in list.split(',') {
        let items = match item
            .split_once('-')
            .map(|(first, last)| (first.parse::<u32>(), last.parse::<u32>()))
        {
            Some((Ok(first), Ok(last))) => {
                (first..=last).map(|number| number.to_string()).collect()
            }
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
