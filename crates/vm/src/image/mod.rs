//! The content of the guest's memory at its start: an initramfs with the tools of busybox, the
//! programs asked for with their shared libraries, and the files that were named.

mod busybox;
mod cpio;
mod elf;
mod programs;
mod tree;

pub use busybox::Busybox;
pub use cpio::write;
pub use programs::Programs;
pub use tree::{Node, Tree, guest_path};

use std::fmt::Write as _;

/// Quotes a word for the guest's shell.
///
/// Bytes that are not UTF-8 stay as they are.
pub fn quoted(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for &byte in word {
        match byte {
            b'\'' => quoted.extend(b"'\\''"),
            other => quoted.push(other),
        }
    }
    quoted.push(b'\'');
    quoted
}

/// A script that executes this command in its place.
pub fn command_script(command: &[std::ffi::OsString]) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut script = b"exec".to_vec();
    for word in command {
        script.push(b' ');
        script.extend(quoted(word.as_bytes()));
    }
    script.push(b'\n');
    script
}

/// A script that exports these variables.
pub fn environment_script(variables: &[(&str, &str)]) -> Vec<u8> {
    let mut script = String::new();
    for (name, value) in variables {
        // Writing to a string cannot fail.
        let _ = writeln!(
            script,
            "export {name}={}",
            String::from_utf8_lossy(&quoted(value.as_bytes()))
        );
    }
    script.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_gets_every_word_back(words in prop::collection::vec("[^\0]{0,20}", 1..5)) {
            let command: Vec<std::ffi::OsString> =
                ["printf".into(), "%s\\0".into()].into_iter().chain(words.iter().map(|word| word.into())).collect();
            let script = String::from_utf8(command_script(&command)).unwrap();
            let output = std::process::Command::new("/bin/sh").arg("-c").arg(script).output().unwrap();
            let back: Vec<String> =
                String::from_utf8(output.stdout).unwrap().split_terminator('\0').map(str::to_owned).collect();
            prop_assert_eq!(back, words);
        }
    }
}
