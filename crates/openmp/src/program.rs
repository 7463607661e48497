//! Whether a program can be preloaded.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use goblin::elf::header::{EM_AARCH64, EM_X86_64, ET_DYN, ET_EXEC};
use goblin::elf::{Elf, program_header};

/// Why the loader does not preload anything into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It has no loader.
    #[error("it is linked statically")]
    Static,
    /// It runs as another user, and the loader takes libraries from system folders alone.
    #[error("it is set-user-ID, set-group-ID or has capabilities")]
    Privileged,
    /// Our library needs glibc.
    #[error("it is linked with musl")]
    Musl,
    /// Of 32 bits, or for another processor.
    #[error("it is for another architecture than evenkeel")]
    Architecture,
}

/// Why this program cannot be preloaded; `None`: it can, or it is a script, whose interpreter
/// decides.
///
/// # Errors
/// The file cannot be read.
pub fn unfit(program: &Path) -> io::Result<Option<Unfit>> {
    let of = fs::metadata(program)?;
    let is_set_id = of.mode() & 0o6000 != 0;
    let has_capabilities =
        rustix::fs::getxattr(program, "security.capability", &mut [0_u8; 64][..]).is_ok();
    if is_set_id || has_capabilities {
        return Ok(Some(Unfit::Privileged));
    }
    let mut start = Vec::new();
    // Headers and the loader's name are at the beginning, whatever the size of the program.
    File::open(program)?.take(1 << 16).read_to_end(&mut start)?;
    Ok(unfit_file(&start))
}

fn unfit_file(start: &[u8]) -> Option<Unfit> {
    let header = Elf::parse_header(start).ok()?;
    let machine = if cfg!(target_arch = "aarch64") { EM_AARCH64 } else { EM_X86_64 };
    let is_64 = start.get(4) == Some(&2);
    if !is_64 || header.e_machine != machine {
        return Some(Unfit::Architecture);
    }
    if header.e_type != ET_EXEC && header.e_type != ET_DYN {
        return None;
    }
    let context = goblin::container::Ctx::new(
        goblin::container::Container::Big,
        goblin::container::Endian::Little,
    );
    let headers = program_header::ProgramHeader::parse(
        start,
        usize::try_from(header.e_phoff).ok()?,
        usize::from(header.e_phnum),
        context,
    )
    .ok()?;
    let Some(loader) = headers.iter().find(|header| header.p_type == program_header::PT_INTERP)
    else {
        return Some(Unfit::Static);
    };
    let name = start.get(loader.file_range()).unwrap_or_default();
    let is_musl = name.windows(7).any(|part| part == b"ld-musl");
    is_musl.then_some(Unfit::Musl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_fit() {
        assert_eq!(unfit(&std::env::current_exe().unwrap()).unwrap(), None);
    }

    #[test]
    fn scripts_are_left_to_their_interpreters() {
        assert_eq!(unfit_file(b"#!/bin/sh\n"), None);
        assert_eq!(unfit_file(b""), None);
    }

    #[test]
    fn cut_headers_are_no_reason_to_end() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        for length in 0..600 {
            let _ = unfit_file(&whole[..length]);
        }
    }
}
