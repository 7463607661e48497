//! The archive that a kernel unpacks into its first file system: cpio, "newc"
//! (Documentation/driver-api/early-userspace/ buffer-format.rst). Owners are root and times 0, so
//! that equal trees give equal bytes.

use std::fs::File;
use std::io::{self, Write};

use super::tree::{Node, Tree};

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const DEVICE: u32 = 0o020_000;

/// Writes a tree in the order of names, every folder before its content.
///
/// # Errors
/// A file of the host cannot be read, or is no longer as long as it was; the archive cannot be
/// written.
pub fn write(tree: &Tree, mut to: impl Write) -> io::Result<()> {
    for (number, (path, node)) in (1_u32..).zip(tree.nodes()) {
        let name = path.to_str().ok_or_else(|| io::Error::other("names in the guest are UTF-8"))?;
        let name = name.trim_start_matches('/');
        match node {
            Node::Folder { mode } => header(&mut to, number, FOLDER | mode, 0, (0, 0), name)?,
            Node::Device { mode, major, minor } => {
                header(&mut to, number, DEVICE | mode, 0, (*major, *minor), name)?
            }
            Node::Link { target } => {
                content(&mut to, number, LINK | 0o777, target.as_encoded_bytes(), name)?
            }
            Node::Text { mode, bytes } => content(&mut to, number, FILE | mode, bytes, name)?,
            Node::Copy { mode, of } => {
                let mut file = File::open(of)?;
                let length = file.metadata()?.len();
                let size = u32::try_from(length)
                    .map_err(|_| io::Error::other("a file of 4 GiB or more"))?;
                header(&mut to, number, FILE | mode, size, (0, 0), name)?;
                if io::copy(&mut io::Read::take(&mut file, length), &mut to)? != length {
                    return Err(io::Error::other("it became shorter while it was read"));
                }
                pad(&mut to, length as usize)?;
            }
        }
    }
    header(&mut to, 0, 0, 0, (0, 0), "TRAILER!!!")?;
    to.flush()
}

fn content(
    to: &mut impl Write,
    number: u32,
    mode: u32,
    bytes: &[u8],
    name: &str,
) -> io::Result<()> {
    let size =
        u32::try_from(bytes.len()).map_err(|_| io::Error::other("a file of 4 GiB or more"))?;
    header(to, number, mode, size, (0, 0), name)?;
    to.write_all(bytes)?;
    pad(to, bytes.len())
}

fn header(
    to: &mut impl Write,
    number: u32,
    mode: u32,
    size: u32,
    device: (u32, u32),
    name: &str,
) -> io::Result<()> {
    /// Length of the fixed part: a magic number of 6 digits and 13 fields of 8.
    const FIXED: usize = 110;
    let links = if mode & FOLDER == FOLDER { 2 } else { 1 };
    let name_size = name.len() as u32 + 1;
    let fields = [number, mode, 0, 0, links, 0, size, 0, 0, device.0, device.1, name_size, 0];
    to.write_all(b"070701")?;
    for field in fields {
        write!(to, "{field:08X}")?;
    }
    to.write_all(name.as_bytes())?;
    to.write_all(&[0])?;
    pad(to, FIXED + name.len() + 1)
}

/// To the next multiple of four.
fn pad(to: &mut impl Write, written: usize) -> io::Result<()> {
    to.write_all(&[0; 3][..written.next_multiple_of(4) - written])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.text("/etc/name", 0o644, "lab\n");
        tree.copy("/bin/tool", Path::new("/proc/self/exe")).unwrap();
        tree.link("/bin/sh", "tool").unwrap();
        tree
    }

    #[test]
    fn the_same_tree_is_the_same_bytes() {
        let bytes = |tree: &Tree| {
            let mut bytes = Vec::new();
            write(tree, &mut bytes).unwrap();
            bytes
        };
        let one = bytes(&tree());
        assert!(one == bytes(&tree()), "differs");
        assert_eq!(one.len() % 4, 0);
        assert!(one.starts_with(b"070701"));
    }

    #[test]
    fn cpio_reads_it() {
        let mut archive = tempfile::NamedTempFile::new().unwrap();
        write(&tree(), &mut archive).unwrap();
        let mut list = std::process::Command::new("cpio");
        list.args(["--list", "--verbose", "--quiet", "-F"]).arg(archive.path());
        let Ok(output) = list.output() else {
            println!("skipped: there is no cpio to read it with");
            return;
        };
        let text = String::from_utf8(output.stdout).unwrap();
        let names: Vec<&str> =
            text.lines().map(|line| line.split_whitespace().nth(8).unwrap()).collect();
        assert_eq!(names, ["bin", "bin/sh", "bin/tool", "etc", "etc/name"], "{text}");
        assert!(text.contains("bin/sh -> tool") && text.contains("-rwxr-xr-x"), "{text}");
    }
}
