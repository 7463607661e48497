//! Why a scheduler cannot be had, and the way out.

/// Why the scheduler cannot be loaded or attached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// No CONFIG_SCHED_CLASS_EXT.
    #[error(
        "this kernel has no sched_ext: it takes Linux 6.16 or later with CONFIG_SCHED_CLASS_EXT=y, \
         or --backend affinity on any kernel"
    )]
    NoSchedExt,
    /// Capabilities.
    #[error("loading a scheduler takes {0}: run as root (sudo), or use --backend affinity")]
    NotAllowed(String),
    /// Another one is there.
    #[error("another sched_ext scheduler runs already ({name}): \
             {}", if *is_ours { "end that evenkeel first" } else { "stop it first (systemctl stop \
                                                                    scx.service, or end its \
                                                                    process)" })]
    Another {
        /// As the kernel lists it.
        name: String,
        /// One like us.
        is_ours: bool,
    },
    /// CPUs beyond those that there is room for.
    #[error(
        "CPU {0} is online, and the scheduler has room for CPUs 0 to {last}: take the others \
         offline, or use --backend affinity",
        last = super::shared::MAX_CPUS - 1
    )]
    TooManyCpus(u32),
    /// No CONFIG_DEBUG_INFO_BTF.
    #[error(
        "this kernel describes its types to nobody (/sys/kernel/btf/vmlinux is missing): it takes \
         CONFIG_DEBUG_INFO_BTF=y"
    )]
    NoBtf,
    /// The kernel's description of its types is wrong.
    #[error(
        "this kernel's BTF is malformed, as pahole before 1.26 made it, and no scheduler that asks \
         for {0} can be loaded: boot another build of the kernel, or use --backend affinity"
    )]
    BadBtf(String),
    /// Interfaces that are missing.
    #[error(
        "this kernel lacks what the scheduler asks for ({0}): it takes Linux 6.16 or later, or \
         --backend affinity"
    )]
    TooOld(String),
    /// Something else.
    #[error("the kernel refuses the scheduler: {0}")]
    Other(String),
}

impl LoadError {
    /// The cause alone, for callers that take another way by themselves.
    #[must_use]
    pub fn cause(&self) -> String {
        match self {
            Self::NoSchedExt => "this kernel has no sched_ext (it takes 6.16 or later)".into(),
            Self::NotAllowed(what) => format!("loading a scheduler takes {what}, as root has"),
            Self::Another { name, .. } => {
                format!("another sched_ext scheduler runs already ({name})")
            }
            Self::TooManyCpus(cpu) => {
                format!("CPU {cpu} is beyond those that the scheduler has room for")
            }
            Self::NoBtf => {
                "this kernel describes its types to nobody (CONFIG_DEBUG_INFO_BTF)".into()
            }
            Self::BadBtf(what) => {
                format!(
                    "this kernel's BTF is malformed: no scheduler that asks for {what} can be \
                     loaded"
                )
            }
            Self::TooOld(what) => format!("this kernel lacks {what} (it takes 6.16 or later)"),
            Self::Other(why) => {
                format!(
                    "the kernel refuses the scheduler: {}",
                    why.lines().next().unwrap_or_default()
                )
            }
        }
    }
}

/// Turns what the loader says into one of the causes that are known.
pub fn explain(error: &libbpf_rs::Error, said: &str) -> LoadError {
    let quoted = |line: &str| line.split('\'').nth(1).unwrap_or("a kernel function").to_owned();
    for line in said.lines() {
        // libbpf: extern (func ksym) 'NAME': func_proto [..] incompatible with vmlinux [..]; or:
        // not found in kernel or module BTFs.
        if line.contains("(func ksym)") && line.contains("incompatible") {
            return LoadError::BadBtf(quoted(line));
        }
        if line.contains("(func ksym)") && line.contains("not found") {
            return LoadError::TooOld(quoted(line));
        }
        if line.contains("Error loading vmlinux BTF: ") {
            return LoadError::BadBtf("the kernel's types".into());
        }
        if line.contains("kfunc") && line.contains("btf")
            || line.contains("kernel btf is malformed")
        {
            return LoadError::BadBtf("kernel functions".into());
        }
    }
    match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied if said.is_empty() => {
            LoadError::NotAllowed("more rights".into())
        }
        _ => LoadError::Other(format!(
            "{error:#}{}{}",
            if said.is_empty() { "" } else { "\n" },
            said.trim_end()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(said: &str) -> LoadError {
        explain(&libbpf_rs::Error::from_raw_os_error(libc::EINVAL), said)
    }

    #[test]
    fn functions_that_a_kernel_describes_wrongly_are_told_from_those_that_it_lacks() {
        let line = |why: &str| {
            format!(
                "libbpf: extern (func ksym) 'scx_bpf_dsq_insert': {why}\nlibbpf: failed to load \
                 object"
            )
        };
        let wrong = explained(&line("func_proto [117] incompatible with vmlinux [42]"));
        assert_eq!(wrong, LoadError::BadBtf("scx_bpf_dsq_insert".into()));
        let missing = explained(&line("not found in kernel or module BTFs"));
        assert_eq!(missing, LoadError::TooOld("scx_bpf_dsq_insert".into()));
        assert_eq!(
            explained("kernel btf is malformed"),
            LoadError::BadBtf("kernel functions".into())
        );
        assert_eq!(
            explained("libbpf: Error loading vmlinux BTF: -EINVAL"),
            LoadError::BadBtf("the kernel's types".into())
        );
    }

    #[test]
    fn what_is_not_known_is_said_as_the_kernel_says_it() {
        let other = explained("R1 invalid mem access 'scalar'\n").to_string();
        assert!(
            other.starts_with("the kernel refuses the scheduler: ")
                && other.ends_with("R1 invalid mem access 'scalar'"),
            "{other}"
        );
        let silent = explain(&libbpf_rs::Error::from_raw_os_error(libc::EPERM), "");
        assert_eq!(silent, LoadError::NotAllowed("more rights".into()));
    }
}
