//! `evenkeel service`: a systemd unit that schedules the machine from its start on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use evenkeel_policy::registry;

use crate::args::project::{InstallArgs, RemoveArgs, ServiceBackend, ServiceCommand};
use crate::error::{Failure, Result, say};
use crate::output::{OutputFile, print};

/// The unit as packages ship it: for a binary in /usr/bin, with any backend that is available.
const UNIT: &str = include_str!("../../templates/evenkeel.service");
const UNIT_PATH: &str = "etc/systemd/system/evenkeel.service";
const DEFAULTS_PATH: &str = "etc/default/evenkeel";
const BINARY: &str = "/usr/bin/evenkeel";
/// The path at which packages install the unit.
const PACKAGED: &str = "/usr/lib/systemd/system/evenkeel.service";
/// How long a scheduler is given to load before its state is checked.
const SETTLING: Duration = Duration::from_secs(2);
/// The path of the copy of a binary that the unit could not run from its own place.
const IN_REACH: &str = "/usr/local/bin/evenkeel";

/// `evenkeel service`.
///
/// # Errors
/// Not root; no systemd; the file system or systemd refuses.
pub fn run(command: &ServiceCommand) -> Result {
    match command {
        ServiceCommand::Install(args) => install(args),
        ServiceCommand::Remove(args) => remove(args),
    }
}

fn install(args: &InstallArgs) -> Result {
    let this =
        std::env::current_exe().context("cannot find this binary").map_err(Failure::Failed)?;
    let binary = if args.root.is_some() { Path::new(BINARY) } else { within_reach(&this) };
    let unit = UNIT.replace(BINARY, word(binary)?);
    let defaults = defaults(args)?;
    if args.print {
        return print(&format!("# /{UNIT_PATH}\n{unit}\n# /{DEFAULTS_PATH}\n{defaults}"));
    }
    let root = root(args.root.as_deref())?;
    let (unit_file, defaults_file) = (root.join(UNIT_PATH), root.join(DEFAULTS_PATH));
    if args.root.is_none() && binary != this {
        copy(&this, binary)?;
    }
    write(&unit_file, &unit)?;
    if is_foreign(&defaults_file) {
        say(
            "note",
            &format!("{} is not of this command, and stays as it is", defaults_file.display()),
        );
    } else {
        write(&defaults_file, &defaults)?;
    }
    if args.root.is_some() {
        return print(&format!("{}\n{}\n", unit_file.display(), defaults_file.display()));
    }
    systemctl(&["daemon-reload"])?;
    systemctl(&["enable", "evenkeel.service"])?;
    systemctl(&["restart", "evenkeel.service"])?;
    insist_on_running()?;
    print(&format!(
        "evenkeel schedules this machine, now and from each start on.\n\
         what it does:  journalctl -u evenkeel -f\n\
         its policy:    /{DEFAULTS_PATH}, then systemctl restart evenkeel\n\
         to end it:     evenkeel service remove\n"
    ))
}

fn remove(args: &RemoveArgs) -> Result {
    let root = root(args.root.as_deref())?;
    let (unit, defaults) = (root.join(UNIT_PATH), root.join(DEFAULTS_PATH));
    let is_packaged = args.root.is_none() && Path::new(PACKAGED).exists();
    let was_there = unit.exists() || is_packaged;
    if was_there && args.root.is_none() {
        systemctl(&["disable", "--now", "evenkeel.service"])?;
    }
    remove_file(&unit)?;
    if !is_foreign(&defaults) {
        remove_file(&defaults)?;
    }
    if args.root.is_none() && was_there {
        systemctl(&["daemon-reload"])?;
    }
    print(if was_there {
        "evenkeel does not schedule this machine any more\n"
    } else {
        "there was no service of evenkeel's\n"
    })
}

const DEFAULTS_HEAD: &str =
    "# Written by `evenkeel service install`, and removed by `evenkeel service remove`.";

/// The path from which the unit runs this binary. The unit sees no home folders and a /tmp of its
/// own.
fn within_reach(this: &Path) -> &Path {
    if ["/usr", "/opt"].iter().any(|folder| this.starts_with(folder)) {
        this
    } else {
        Path::new(IN_REACH)
    }
}

/// Copies under another name first: a running binary cannot be written to.
fn copy(from: &Path, to: &Path) -> Result {
    let unfinished = to.with_extension("new");
    let copied = fs::copy(from, &unfinished).and_then(|_| fs::rename(&unfinished, to));
    copied
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
        .map_err(Failure::Failed)?;
    print(&format!("{}: a copy of {}\n", to.display(), from.display()))
}

/// True if the file exists and was not written by this command.
fn is_foreign(defaults: &Path) -> bool {
    fs::read_to_string(defaults).is_ok_and(|text| !text.starts_with(DEFAULTS_HEAD))
}

/// The file that the unit reads its arguments from.
fn defaults(args: &InstallArgs) -> Result<String> {
    let policy = &args.policy;
    registry::knobs(&policy.name, &policy.set).map_err(Failure::input)?;
    if registry::ENTRIES
        .iter()
        .any(|entry| entry.name == policy.name && entry.has(registry::Trait::Bound))
    {
        return Err(Failure::usage(format!("{} is a bound and no scheduler", policy.name)));
    }
    #[cfg(not(feature = "sched_ext"))]
    if args.backend == ServiceBackend::SchedExt {
        return Err(Failure::usage(crate::commands::live::BUILT_WITHOUT));
    }
    let settings: String =
        policy.set.iter().map(|(knob, value)| format!(" --set {knob}={value}")).collect();
    let backend = match args.backend {
        ServiceBackend::Auto => "auto",
        ServiceBackend::Affinity => "affinity",
        ServiceBackend::SchedExt => "sched_ext",
    };
    Ok(format!(
        "{DEFAULTS_HEAD}\nEVENKEEL_ARGS=\"-p {}{settings} --backend {backend}\"\n",
        policy.name
    ))
}

/// A path as a word of a systemd unit.
fn word(path: &Path) -> Result<&str> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-+".contains(it);
    path.to_str().filter(|text| text.chars().all(is_plain)).ok_or_else(|| {
        Failure::usage(format!(
            "{}: expected a path of letters, digits and /._-+ for a unit: install evenkeel \
             elsewhere",
            path.display()
        ))
    })
}

/// The folder to write below. Without one it is for this machine, which requires root and systemd.
fn root(folder: Option<&Path>) -> Result<PathBuf> {
    if let Some(folder) = folder {
        return Ok(folder.to_owned());
    }
    if !rustix::process::geteuid().is_root() {
        let why = "only root may install or remove a service: sudo evenkeel service …";
        return Err(Failure::Failed(anyhow::anyhow!(why)));
    }
    if !Path::new("/run/systemd/system").is_dir() {
        let why = "systemd does not run here, expected it as the init system; --root FOLDER writes \
                   the unit alone";
        return Err(Failure::Failed(anyhow::anyhow!(why)));
    }
    Ok(PathBuf::from("/"))
}

fn write(path: &Path, text: &str) -> Result {
    if let Some(folder) = path.parent() {
        let made =
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()));
        made.map_err(Failure::Failed)?;
    }
    OutputFile::begin(path)?.finish_with(text.as_bytes())
}

/// Removes a file, if it exists.
fn remove_file(path: &Path) -> Result {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::Failed(
            anyhow::Error::from(error).context(format!("cannot remove {}", path.display())),
        )),
        _ => Ok(()),
    }
}

/// Fails unless the scheduler still runs once it has had time to load: a kernel may refuse it.
fn insist_on_running() -> Result {
    std::thread::sleep(SETTLING);
    systemctl(&["is-active", "--quiet", "evenkeel.service"])
}

fn systemctl(args: &[&str]) -> Result {
    let status = Command::new("systemctl")
        .args(args)
        .status()
        .context("cannot run systemctl")
        .map_err(Failure::Failed)?;
    if status.success() {
        return Ok(());
    }
    say("note", "`systemctl status evenkeel` and `journalctl -u evenkeel` say more");
    Err(Failure::Failed(anyhow::anyhow!("systemctl {} failed ({status})", args.join(" "))))
}
