//! The mirror from which this host has its Debian packages.

use std::fs;
use std::path::Path;

/// Debian's mirror, for hosts without one.
const DEFAULT: &str = "http://deb.debian.org/debian";

/// The mirror of Debian that apt's sources under `etc` (`/etc/apt`) name first.
pub fn of_host(etc: &Path) -> String {
    let mut files = vec![etc.join("sources.list")];
    let mut parts: Vec<_> = fs::read_dir(etc.join("sources.list.d"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    parts.sort();
    files.extend(parts);
    let found = files.iter().find_map(|file| {
        let text = fs::read_to_string(file).ok()?;
        match file.extension()?.to_str()? {
            "sources" => in_deb822(&text),
            "list" => in_list(&text),
            _ => None,
        }
    });
    found.unwrap_or_else(|| DEFAULT.to_owned())
}

/// One line a source: `deb [options] URI SUITE COMPONENT…`.
fn in_list(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).filter_map(|line| line.strip_prefix("deb "));
    lines.flat_map(str::split_whitespace).find(|word| is_debian(word)).map(str::to_owned)
}

/// A paragraph a source, with a field `URIs:`.
fn in_deb822(text: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("URIs:"));
    lines.flat_map(str::split_whitespace).find(|word| is_debian(word)).map(str::to_owned)
}

/// Mirrors keep Debian in a folder of that name; `debian-security` is another archive, without the
/// suites that we need.
fn is_debian(uri: &str) -> bool {
    let is_remote =
        ["http://", "https://", "file:", "mirror+"].iter().any(|scheme| uri.starts_with(scheme));
    is_remote && uri.trim_end_matches('/').ends_with("/debian")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(files: &[(&str, &str)]) -> String {
        let etc = tempfile::tempdir().unwrap();
        fs::create_dir(etc.path().join("sources.list.d")).unwrap();
        for (name, text) in files {
            fs::write(etc.path().join(name), text).unwrap();
        }
        of_host(etc.path())
    }

    #[test]
    fn the_hosts_own_mirror_is_taken() {
        let list = "# deb http://old/debian x main\ndeb [arch=amd64 signed-by=/x] \
                    http://near.example/debian/ bookworm main\n";
        assert_eq!(host(&[("sources.list", list)]), "http://near.example/debian/");
        let sources = "Types: deb\nURIs: http://near.example/debian-security\nSuites: x\n\nTypes: \
                       deb\nURIs: https://m/debian\n";
        assert_eq!(host(&[("sources.list.d/debian.sources", sources)]), "https://m/debian");
        let other = "deb https://packages.example/apt x main\n";
        assert_eq!(
            host(&[("sources.list.d/a.list", other), ("sources.list.d/b.sources", sources)]),
            "https://m/debian"
        );
    }

    #[test]
    fn a_host_without_debian_takes_debians() {
        assert_eq!(
            host(&[("sources.list", "deb http://archive.ubuntu.com/ubuntu noble main\n")]),
            DEFAULT
        );
        assert_eq!(of_host(Path::new("/no such folder")), DEFAULT);
    }
}
