//! A kernel that the user has built: an image, and its configuration beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Kernel;
use crate::error::VmError;

/// Of the boot protocol's header (Documentation/arch/x86/boot.rst): "HdrS" at 0x202, and at 0x20E
/// where the text of the release begins, less 0x200.
const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
const VERSION_POINTER: usize = 0x20E;
const VERSION_BASE: usize = 0x200;

/// The kernel of this image. Its configuration is `config`, or else `config-X` beside `vmlinuz-X`,
/// or `config` or `.config` in the image's folder.
///
/// # Errors
/// Not an image for x86, no configuration.
pub fn from_file(vmlinuz: &Path, config: Option<&Path>) -> Result<Kernel, VmError> {
    let image = fs::read(vmlinuz).map_err(VmError::file(vmlinuz))?;
    let release =
        release_of(&image).ok_or_else(|| VmError::NotAKernel { vmlinuz: vmlinuz.to_owned() })?;
    let config = match config {
        Some(config) => config.to_owned(),
        None => config_beside(vmlinuz)?,
    };
    // It is read later; an error here can name it.
    fs::metadata(&config)
        .and_then(|it| if it.is_file() { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) })
        .map_err(VmError::file(&config))?;
    Ok(Kernel { release, vmlinuz: vmlinuz.to_owned(), config, config_of: None })
}

fn config_beside(vmlinuz: &Path) -> Result<PathBuf, VmError> {
    let name = vmlinuz.file_name().unwrap_or_default().to_string_lossy();
    let names = match name.split_once('-') {
        Some((_, version)) => vec![format!("config-{version}")],
        None => vec!["config".to_owned(), ".config".to_owned()],
    };
    let found = names.iter().map(|name| vmlinuz.with_file_name(name)).find(|file| file.is_file());
    found.ok_or_else(|| VmError::NoConfig {
        vmlinuz: vmlinuz.to_owned(),
        expected: names.join(" or "),
    })
}

fn release_of(image: &[u8]) -> Option<String> {
    let (at, magic) = MAGIC;
    if image.get(at..at + magic.len())? != magic {
        return None;
    }
    let pointer: [u8; 2] = image.get(VERSION_POINTER..VERSION_POINTER + 2)?.try_into().ok()?;
    let text = image.get(VERSION_BASE + usize::from(u16::from_le_bytes(pointer))..)?;
    let release: Vec<u8> =
        text.iter().copied().take(128).take_while(u8::is_ascii_graphic).collect();
    // It becomes part of a file's name.
    let is_plain = !release.is_empty() && !release.contains(&b'/');
    is_plain.then(|| String::from_utf8(release).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn image(release: &str) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20E..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        let text = format!("{release} (me@here) #1 SMP");
        image[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
        image
    }

    #[test]
    fn an_image_says_its_release_and_its_configuration_is_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("vmlinuz-mine"), image("7.9.0-mine")).unwrap();
        fs::write(file("bzImage"), image("7.9.0-other")).unwrap();
        let error = from_file(&file("vmlinuz-mine"), None).unwrap_err().to_string();
        assert!(error.contains("expected config-mine, or --config"), "{error}");
        assert!(
            from_file(&file("bzImage"), None)
                .unwrap_err()
                .to_string()
                .contains("expected config or .config")
        );
        fs::write(file("config-mine"), "").unwrap();
        fs::write(file(".config"), "").unwrap();
        let kernel = from_file(&file("vmlinuz-mine"), None).unwrap();
        assert_eq!((kernel.release.as_str(), kernel.config), ("7.9.0-mine", file("config-mine")));
        assert_eq!(from_file(&file("bzImage"), None).unwrap().config, file(".config"));
        assert_eq!(
            from_file(&file("bzImage"), Some(&file("config-mine"))).unwrap().config,
            file("config-mine")
        );
        assert!(from_file(&file("bzImage"), Some(&file("nothing"))).is_err());
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let error = from_file(Path::new("/proc/version"), None).unwrap_err();
        assert!(matches!(error, VmError::NotAKernel { .. }), "{error}");
        assert_eq!(release_of(&image("../../etc/passwd")), None);
        assert_eq!(release_of(&image("")), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_image_or_none(mut bytes in prop::collection::vec(any::<u8>(), 0..0x300)) {
            release_of(&bytes);
            if bytes.len() >= 0x206 {
                bytes[0x202..0x206].copy_from_slice(b"HdrS");
                release_of(&bytes);
            }
        }
    }
}
