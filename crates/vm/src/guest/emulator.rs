//! QEMU without hardware virtualisation: each virtual core is a thread, and the lab sets the
//! thread's speed.

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
/// `panic=-1` ends the emulator at once, with `-no-reboot`. A throttled core makes the kernel's
/// clock watchdogs distrust the clock, and the kernel changes to one that is slow to read: hence
/// `tsc=reliable` and `no_timer_check`. Mitigations cost time and protect nothing here.
const KERNEL_ARGUMENTS: &str =
    "console=ttyS0 quiet panic=-1 rdinit=/init tsc=reliable no_timer_check nokaslr mitigations=off";

/// The emulated machine.
pub struct Settings<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The first file system.
    pub image: &'a File,
    /// Number of virtual cores.
    pub cores: usize,
    /// True if adjacent cores are SMT threads of one.
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

/// A running emulator. Dropping it ends it, and so does the death of this process.
pub struct Emulator<'a> {
    program: Program<'a>,
}

/// Checks that QEMU is installed.
///
/// # Errors
/// It is not.
pub fn look() -> Result<(), VmError> {
    let missing = |_| VmError::NotInstalled { program: QEMU, package: PACKAGE };
    evenkeel_linux::program::find(QEMU.as_ref(), std::env::var_os("PATH"))
        .map(drop)
        .map_err(missing)
}

/// A known fault of the installed emulator that kills guests; `None` if it has none.
///
/// Before 8.1 a virtual core could go on with code that another had replaced while it was
/// translated ("accel/tcg: Always lock pages before translation"). A kernel patches its own code
/// with breakpoints that exist for microseconds; a core that keeps one dies of `Oops: int3`.
/// docs/decisions/0020-vm-beat.md has how often.
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

/// The first version that translates patched code anew.
const MENDED: (u32, u32) = (8, 1);

/// The version in a line such as `QEMU emulator version 7.2.22 (Debian …)`.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split_once("version ")?.1.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

impl<'a> Emulator<'a> {
    /// Starts the emulator. The calling thread must outlive it, as for [`Program::start`].
    ///
    /// # Errors
    /// It is not installed, or no more files may be open.
    pub fn start(
        settings: &Settings<'_>,
        signals: &'a Signals,
    ) -> Result<(Self, Channels), VmError> {
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

        let mut command = command(settings, &console_end, &ports);
        let complaints_too = complaints_end
            .try_clone()
            .map_err(VmError::system("cannot make a channel to the guest"))?;
        command.stdin(Stdio::null()).stdout(complaints_end).stderr(complaints_too);
        // The terminal's signals are for this process, which ends the emulator.
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
        // The emulator's ends close here, so that this side sees when it has gone.
        Ok((Self { program }, Channels { console, complaints, control, files, stdout, stderr }))
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.program.id()
    }

    /// Ends the emulator, if it still runs.
    pub fn end(&mut self) {
        self.program.kill();
    }
}

impl Drop for Emulator<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

/// A channel: this side's end, and the emulator's.
fn channel() -> Result<(UnixStream, OwnedFd), VmError> {
    let (ours, theirs) =
        UnixStream::pair().map_err(VmError::system("cannot make a channel to the guest"))?;
    Ok((ours, theirs.into()))
}

/// The emulator's command line. `ports`: by name, its ends of the channels to the guest.
fn command(settings: &Settings<'_>, console: &OwnedFd, ports: &[(&str, &OwnedFd)]) -> Command {
    let mut command = Command::new(QEMU);
    // Named threads let the lab tell virtual cores from other threads.
    command.args(["-name", "lab,debug-threads=on", "-accel", "tcg,thread=multi", "-cpu", "max"]);
    command.arg("-smp").arg(topology(settings));
    command.arg("-m").arg(format!("{}M", settings.memory_mib));
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-nic", "none"]);
    command.arg("-no-reboot");
    command.arg("-kernel").arg(&settings.kernel.vmlinuz);
    command.arg("-initrd").arg(format!("/proc/self/fd/{}", settings.image.as_raw_fd()));
    command.args(["-append", KERNEL_ARGUMENTS]);
    command.arg("-chardev").arg(format!("socket,id=console,fd={}", console.as_raw_fd()));
    command.args(["-serial", "chardev:console", "-device", "virtio-serial-pci"]);
    for (name, end) in ports {
        command.arg("-chardev").arg(format!("socket,id={name},fd={}", end.as_raw_fd()));
        command.arg("-device").arg(format!("virtserialport,chardev={name},name=evenkeel.{name}"));
    }
    command
}

/// One socket for all cores, however many: all share a last-level cache.
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
