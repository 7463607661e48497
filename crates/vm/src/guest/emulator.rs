//! QEMU, without hardware virtualisation: each virtual core is a thread, which is what makes its
//! speed ours to set.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use evenkeel_linux::program::{Bond, Program, Signals};
use rustix::io::FdFlags;

use crate::error::VmError;
use crate::kernel::Kernel;

const QEMU: &str = "qemu-system-x86_64";
const PACKAGE: &str = "qemu-system-x86";
/// The kernel's own command line.
///
/// `panic=-1` ends the emulator at once, with `-no-reboot`. A core that is held back makes the
/// kernel's watchdogs of clocks believe that the clock is wrong, and it changes to one that is slow
/// to read: hence `tsc=reliable` and `no_timer_check`. Mitigations cost time and guard nobody here.
const KERNEL_ARGUMENTS: &str =
    "console=ttyS0 quiet panic=-1 rdinit=/init tsc=reliable no_timer_check nokaslr mitigations=off";

/// What is emulated.
pub struct Settings<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The first file system.
    pub image: &'a File,
    /// Virtual cores,
    pub cores: usize,
    /// of which two at a time are threads of one.
    pub in_pairs: bool,
    /// Memory, MiB.
    pub memory_mib: u64,
}

/// The host's ends.
pub struct Channels {
    /// What the kernel says.
    pub console: UnixStream,
    /// What the emulator says.
    pub complaints: UnixStream,
    /// To and from the guest's first process.
    pub control: UnixStream,
    /// Files brought back.
    pub files: UnixStream,
    /// The command's.
    pub stdout: UnixStream,
    /// The command's.
    pub stderr: UnixStream,
}

/// An emulator that runs. It ends when this goes, and when this process is killed.
pub struct Emulator<'a> {
    program: Program<'a>,
}

/// Whether there is one.
///
/// # Errors
/// There is none.
pub fn look() -> Result<(), VmError> {
    let missing = |_| VmError::NotInstalled { program: QEMU, package: PACKAGE };
    evenkeel_linux::program::find(QEMU.as_ref(), std::env::var_os("PATH"))
        .map(drop)
        .map_err(missing)
}

/// What is known to be wrong with the emulator that there is, where guests die of it.
///
/// Before 8.1 a virtual core could go on with code that another had replaced while it was
/// translated ("accel/tcg: Always lock pages before translation"). A kernel patches its own code
/// with breakpoints that are there for microseconds: a core that keeps one dies of `Oops: int3`.
/// Seen with 7.2.22 on a busy host: in 3 of 25 runs that loaded a sched_ext scheduler.
pub fn known_fault() -> Option<String> {
    let output = Command::new(QEMU).arg("--version").stdin(Stdio::null()).output().ok()?;
    let version = version_of(&String::from_utf8_lossy(&output.stdout))?;
    let (major, minor) = version;
    (version < MENDED).then(|| {
        format!(
            "QEMU {major}.{minor} loses what kernels patch in their own code now and then; 8.1 \
                 and later do not"
        )
    })
}

/// The first version in which code that is patched is translated anew.
const MENDED: (u32, u32) = (8, 1);

/// Of a line such as `QEMU emulator version 7.2.22 (Debian …)`.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_once("version ")?.1.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

impl<'a> Emulator<'a> {
    /// Starts it. As [`Program::start`], to be called by a thread that stays.
    ///
    /// # Errors
    /// It is not installed, or no more files may be open.
    pub fn start(
        settings: &Settings<'_>,
        signals: &'a Signals,
    ) -> Result<(Self, Channels), VmError> {
        let channel = || -> Result<(UnixStream, OwnedFd), VmError> {
            let (ours, theirs) = UnixStream::pair()
                .map_err(VmError::system("cannot make a channel to the guest"))?;
            Ok((ours, theirs.into()))
        };
        let (console, console_end) = channel()?;
        let (complaints, complaints_end) = channel()?;
        let (control, control_end) = channel()?;
        let (files, files_end) = channel()?;
        let (stdout, stdout_end) = channel()?;
        let (stderr, stderr_end) = channel()?;
        let ports = [
            ("control", &control_end),
            ("files", &files_end),
            ("stdout", &stdout_end),
            ("stderr", &stderr_end),
        ];

        let mut command = Command::new(QEMU);
        // A name for threads is what tells virtual cores from the others.
        command.args([
            "-name",
            "lab,debug-threads=on",
            "-accel",
            "tcg,thread=multi",
            "-cpu",
            "max",
        ]);
        command.arg("-smp").arg(topology(settings));
        command.arg("-m").arg(format!("{}M", settings.memory_mib));
        command.args([
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-nic",
            "none",
            "-no-reboot",
        ]);
        command.arg("-kernel").arg(&settings.kernel.vmlinuz);
        command.arg("-initrd").arg(format!("/proc/self/fd/{}", settings.image.as_raw_fd()));
        command.args(["-append", KERNEL_ARGUMENTS]);
        command.arg("-chardev").arg(format!("socket,id=console,fd={}", console_end.as_raw_fd()));
        command.args(["-serial", "chardev:console", "-device", "virtio-serial-pci"]);
        for (name, end) in ports {
            command.arg("-chardev").arg(format!("socket,id={name},fd={}", end.as_raw_fd()));
            command
                .arg("-device")
                .arg(format!("virtserialport,chardev={name},name=evenkeel.{name}"));
        }
        let complaints_too = complaints_end
            .try_clone()
            .map_err(VmError::system("cannot make a channel to the guest"))?;
        command.stdin(Stdio::null()).stdout(complaints_end).stderr(complaints_too);
        // What is typed is for us, and we end it.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);

        let inherited = [settings.image.as_fd(), console_end.as_fd()];
        for fd in inherited.into_iter().chain(ports.iter().map(|(_, end)| end.as_fd())) {
            keep_open(fd)?;
        }
        let program = Program::start(command, Bond::Tied, signals).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::NotFound => VmError::NotInstalled { program: QEMU, package: PACKAGE },
            _ => VmError::System { what: "cannot start qemu-system-x86_64", error },
        })?;
        // Its ends close here, so that ours see when it has gone.
        Ok((Self { program }, Channels { console, complaints, control, files, stdout, stderr }))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.program.id()
    }

    /// Ends it, if it has not ended by itself.
    pub fn end(&mut self) {
        self.program.kill();
    }
}

impl Drop for Emulator<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sockets are none of the caller's: all share a last-level cache.
fn topology(settings: &Settings<'_>) -> String {
    let threads = if settings.in_pairs { 2 } else { 1 };
    format!("{},sockets=1,cores={},threads={threads}", settings.cores, settings.cores / threads)
}

fn keep_open(fd: impl AsFd) -> Result<(), VmError> {
    rustix::io::fcntl_setfd(fd, FdFlags::empty()).map_err(|error| VmError::System {
        what: "cannot pass a file to the emulator",
        error: error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_from_what_it_says() {
        assert_eq!(
            version_of("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)\n"),
            Some((7, 2))
        );
        assert_eq!(version_of("QEMU emulator version 10.0.2\nCopyright"), Some((10, 0)));
        assert!((10, 0) > MENDED && (8, 0) < MENDED);
        assert_eq!(version_of("version x"), None);
    }
}
