//! What programs are given: made from fixed seeds, the same on every machine.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// Something in the working folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Text of words that differ in how frequent they are.
    Text {
        /// File.
        name: &'static str,
        /// Size.
        kib: usize,
    },
    /// C files without headers, and a file of their names.
    Sources {
        /// Where.
        folder: &'static str,
        /// The file of names, one a line.
        names: &'static str,
        /// How many.
        files: usize,
    },
    /// A site for hugo.
    Site {
        /// Where.
        folder: &'static str,
        /// How many pages.
        pages: usize,
    },
    /// A script for sqlite3.
    Queries {
        /// File.
        name: &'static str,
        /// Rows of its table.
        rows: usize,
    },
    /// A folder that is empty before each turn.
    Folder(&'static str),
    /// A file that is not there before each turn.
    Fresh(&'static str),
}

const QUERIES: &str = include_str!("sources/queries.sql");
/// Scripts that every working folder has.
pub const SCRIPTS: [(&str, &str); 2] = [
    ("matmul.py", include_str!("sources/matmul.py")),
    ("pool.py", include_str!("sources/pool.py")),
];

/// Numbers that look random: xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Small numbers are frequent, as in texts.
    fn skewed(&mut self, end: u64) -> u64 {
        let (one, other, third) = (self.below(end), self.below(end), self.below(end));
        one * other / end * third / end
    }
}

impl Input {
    /// Makes it, once.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn make(&self, work: &Path) -> io::Result<()> {
        match *self {
            Self::Text { name, kib } => fs::write(work.join(name), prose(kib * 1024, 1)),
            Self::Sources { folder, names, files } => {
                fs::create_dir_all(work.join(folder))?;
                let mut list = String::new();
                for at in 0..files {
                    fs::write(work.join(folder).join(format!("f{at}.c")), source(at as u64))?;
                    let _ = writeln!(list, "f{at}");
                }
                fs::write(work.join(names), list)
            }
            Self::Site { folder, pages } => site(&work.join(folder), pages),
            Self::Queries { name, rows } => {
                fs::write(work.join(name), QUERIES.replace(":rows", &rows.to_string()))
            }
            Self::Folder(_) | Self::Fresh(_) => self.renew(work),
        }
    }

    /// Whatever a turn before has left is taken away.
    ///
    /// # Errors
    /// It cannot be.
    pub fn renew(&self, work: &Path) -> io::Result<()> {
        match *self {
            Self::Folder(name) => {
                remove(&work.join(name))?;
                fs::create_dir_all(work.join(name))
            }
            Self::Fresh(name) => remove(&work.join(name)),
            Self::Text { .. } | Self::Sources { .. } | Self::Site { .. } | Self::Queries { .. } => {
                Ok(())
            }
        }
    }
}

/// A file or a folder, if it is there.
pub fn remove(path: &Path) -> io::Result<()> {
    let done = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match done {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Sentences of invented words, so many bytes.
fn prose(bytes: usize, seed: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ka", "lo", "ri", "ten", "mu", "sa", "vel", "dor", "in", "ga", "pe", "ost", "ul", "shi",
        "bra", "ne",
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0xff51_afd7_ed55_8ccd));
    let mut words = Vec::new();
    for _ in 0..4096 {
        let syllables = 1 + random.below(4);
        let word: String = (0..syllables).map(|_| SYLLABLES[random.below(16) as usize]).collect();
        words.push(word);
    }
    let mut text = String::with_capacity(bytes + 16);
    let mut column = 0;
    while text.len() < bytes {
        // Now and then a number, which no dictionary has.
        let word = match random.below(12) {
            0 => random.below(100_000).to_string(),
            _ => words[random.skewed(4096) as usize].clone(),
        };
        column += word.len() + 1;
        text.push_str(&word);
        text.push(if column > 90 { '\n' } else { ' ' });
        column %= 91;
    }
    text.truncate(bytes);
    text
}

/// A C file of a few functions of loops, switches and arrays.
fn source(seed: u64) -> String {
    let mut random = Random(0x2545_f491_4f6c_dd1d ^ (seed + 1).wrapping_mul(0xff51_afd7_ed55_8ccd));
    let mut text = String::from("static int table[256];\n");
    for function in 0..4 {
        let _ = writeln!(text, "int f{function}(int a, int b, int *p)\n{{\n\tint s = a;");
        for _ in 0..3 + random.below(5) {
            let (k, m, n) = (random.below(61) + 2, random.below(1000), random.below(200) + 3);
            let _ = match random.below(3) {
                0 => writeln!(
                    text,
                    "\tfor (int i = 0; i < b % {n} + {k}; i++)\n\t\ts += p[i] * {m} ^ table[(s + \
                     i) & 255];"
                ),
                1 => writeln!(
                    text,
                    "\tswitch (s & 7) {{\n\tcase 1: s += {m}; break;\n\tcase 3: s *= {k}; /* fall \
                     through */\n\tcase 5: p[{k}] = s; break;\n\tdefault: s ^= b / {n};\n\t}}"
                ),
                _ => writeln!(
                    text,
                    "\tif (s % {k} > b)\n\t\ttable[a & 255] = s / {n} + {m};\n\telse\n\t\ts -= \
                     table[b & 255];"
                ),
            };
        }
        let before =
            if function > 0 { format!(" + f{}(s, b - 1, p)", function - 1) } else { String::new() };
        let _ = writeln!(text, "\treturn b > {function} ? s{before} : s;\n}}");
    }
    text
}

fn site(folder: &Path, pages: usize) -> io::Result<()> {
    fs::create_dir_all(folder.join("content/posts"))?;
    fs::create_dir_all(folder.join("layouts/_default"))?;
    fs::write(
        folder.join("config.toml"),
        "baseURL = \"http://example.org/\"\ntitle = \"Pages\"\ndisableKinds = \
         [\"RSS\", \"sitemap\"]\n[taxonomies]\ntag = \"tags\"\n",
    )?;
    fs::write(
        folder.join("layouts/_default/single.html"),
        "<html><h1>{{ .Title }}</h1>{{ .TableOfContents }}{{ .Content }}<p>{{ .WordCount }}</p>\n\
         {{ range first 5 (where .Site.RegularPages \"Params.tags\" \"intersect\" .Params.tags) \
         }}<a href=\"{{ .RelPermalink }}\">{{ .Title }}</a>\n{{ end }}</html>\n",
    )?;
    fs::write(
        folder.join("layouts/_default/list.html"),
        "<html>{{ range .Pages }}<a href=\"{{ .RelPermalink }}\">{{ .Title }}</a>\n{{ end \
         }}</html>\n",
    )?;
    for page in 0..pages {
        let body = prose(6000, page as u64 + 2);
        let mut text = format!(
            "---\ntitle: \"Page {page}\"\ndate: 2020-01-01T00:00:00Z\ntags: \
             [\"t{}\", \"t{}\"]\n---\n\n",
            page % 17,
            page % 23
        );
        for (at, paragraph) in body.lines().collect::<Vec<_>>().chunks(6).enumerate() {
            let _ = write!(
                text,
                "## Part {at}\n\n{}\n\n- *one*\n- **two** `three`\n\n",
                paragraph.join("\n")
            );
        }
        fs::write(folder.join(format!("content/posts/p{page}.md")), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_the_same_each_time_and_differ_from_each_other() {
        assert_eq!(prose(5000, 1), prose(5000, 1));
        assert_ne!(prose(5000, 1), prose(5000, 2));
        assert_eq!(prose(5000, 1).len(), 5000);
        assert_eq!(source(3), source(3));
        assert_ne!(source(3), source(4));
    }

    #[test]
    fn a_folder_is_empty_before_each_turn() {
        let work = tempfile::tempdir().unwrap();
        let input = Input::Folder("objects");
        input.make(work.path()).unwrap();
        fs::write(work.path().join("objects/x"), "x").unwrap();
        input.renew(work.path()).unwrap();
        assert_eq!(fs::read_dir(work.path().join("objects")).unwrap().count(), 0);
        Input::Fresh("no such file").renew(work.path()).unwrap();
    }
}
