//! Kernels: lists them, and finds the two files that a lab needs of one, its image and its
//! configuration.
//!
//! Debian's are fetched through apt, from suites beside those of the host, with a private
//! configuration of apt: the host's sources, lists and packages are not touched, nothing is
//! installed, and no privilege is needed.

mod archive;
mod deb;
mod file;
mod mirror;
mod release;
mod store;

use std::path::PathBuf;

pub use file::from_file;
pub use release::{Release, Wanted};
pub use store::{Available, Store, default_cache};

use crate::error::VmError;

/// A kernel on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What `uname -r` prints in it.
    pub release: String,
    /// Its image.
    pub vmlinuz: PathBuf,
    /// Its configuration, or one that stands in for it.
    pub config: PathBuf,
    /// The release whose configuration it is, where that is another one.
    pub config_of: Option<String>,
}

/// Options that a lab needs built in, since it loads no modules.
const NEEDED: [&str; 4] =
    ["CONFIG_BLK_DEV_INITRD", "CONFIG_VIRTIO_PCI", "CONFIG_VIRTIO_CONSOLE", "CONFIG_DEVTMPFS"];

/// Series and builds of kernels whose BTF is malformed, so that they refuse every program that
/// calls certain kfuncs. Source: scx_bpfland 1.1.4 was loaded in 7.1.3, 7.1.7, 7.1.8, 7.2.6, 7.2.9,
/// 7.2.11 and 7.2.12 of Debian 13's backports, which all refused it, and in those before and after,
/// which did not refuse it.
const MALFORMED_BTF: [(&str, &str); 2] = [("7.1", "deb13"), ("7.2", "deb13")];

impl Kernel {
    /// Notes on what in this kernel hinders sched_ext schedulers.
    ///
    /// # Errors
    /// The configuration cannot be read, or lacks what the lab itself needs.
    pub fn look(&self) -> Result<Vec<String>, VmError> {
        let config = std::fs::read_to_string(&self.config).map_err(VmError::file(&self.config))?;
        let has = |option: &str| config.lines().any(|line| line.strip_prefix(option) == Some("=y"));
        if let Some(&missing) = NEEDED.iter().find(|option| !has(option)) {
            return Err(VmError::UnfitKernel { release: self.release.clone(), missing });
        }
        let mut notes = Vec::new();
        if !has("CONFIG_SCHED_CLASS_EXT") {
            notes
                .push(format!("kernel {} has no sched_ext (CONFIG_SCHED_CLASS_EXT)", self.release));
        }
        if Release::parse(&self.release).is_some_and(|release| has_malformed_btf(&release)) {
            notes.push(format!(
                "kernel {} has malformed BTF: sched_ext schedulers do not load in it",
                self.release
            ));
        }
        if let Some(other) = &self.config_of {
            notes.push(format!(
                "the configuration of {} is no longer in the archive: that of {other} stands in \
                 for it",
                self.release
            ));
        }
        Ok(notes)
    }
}

fn has_malformed_btf(release: &Release) -> bool {
    MALFORMED_BTF.contains(&(release.series().as_str(), release.build()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(release: &str, config: &str) -> Result<Vec<String>, VmError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        std::fs::write(&file, config).unwrap();
        Kernel { release: release.into(), vmlinuz: file.clone(), config: file, config_of: None }
            .look()
    }

    const FIT: &str = "CONFIG_BLK_DEV_INITRD=y\nCONFIG_VIRTIO_PCI=y\nCONFIG_VIRTIO_CONSOLE=y\nCONFIG_DEVTMPFS=y\n";

    #[test]
    fn what_a_scheduler_will_miss_is_told() {
        let ext = format!("{FIT}CONFIG_SCHED_CLASS_EXT=y\n");
        assert_eq!(look("6.18.15+deb13-amd64", &ext).unwrap(), Vec::<String>::new());
        assert!(look("6.12.1+deb13-amd64", FIT).unwrap()[0].contains("no sched_ext"));
        assert!(look("7.2.12+deb13-amd64", &ext).unwrap()[0].contains("malformed BTF"));
        assert!(look("7.2.12+deb13-rt-amd64", &ext).unwrap()[0].contains("malformed BTF"));
    }

    #[test]
    fn a_kernel_that_the_lab_cannot_talk_to_is_refused() {
        let error =
            look("6.18.1", &FIT.replace("VIRTIO_CONSOLE=y", "VIRTIO_CONSOLE=m")).unwrap_err();
        assert!(error.to_string().contains("without CONFIG_VIRTIO_CONSOLE=y"), "{error}");
    }
}
