//! `service` and `new`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::parse::{self, PolicySpec};

/// The commands of `service`.
#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Write a systemd unit for this binary, enable it and start it
    #[command(after_help = "\
Examples:
  sudo evenkeel service install
  sudo evenkeel service install -p age --backend affinity
  evenkeel service install --print
  evenkeel service install --root build/root

Needs root, and systemd. Where Evenkeel cannot be the kernel's scheduler (sched_ext), --backend auto places threads by \
affinity. The policy is in /etc/default/evenkeel: `systemctl restart evenkeel` after a change there. A binary below \
/usr or /opt is run where it is, any other is copied to /usr/local/bin, for the unit sees no home folders.

Exit codes: 0 done, 1 where it is not allowed, or systemd or the file system refused, 2 for wrong usage.")]
    Install(InstallArgs),
    /// Stop it, disable it and remove the unit
    #[command(after_help = "\
Examples:
  sudo evenkeel service remove

/etc/default/evenkeel goes, too, where `service install` has written it. The binary stays.

Exit codes: 0 done, also where there was none, 1 where it is not allowed, or systemd or the file system refused, \
2 for wrong usage.")]
    Remove(RemoveArgs),
}

/// Of `service install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Policy, with knobs after colons: acfs:uf=1.1
    #[arg(short, long, default_value = "acfs", value_name = "POLICY", value_parser = parse::policy)]
    pub policy: PolicySpec,
    /// How threads are placed
    #[arg(long, value_enum, default_value_t)]
    pub backend: ServiceBackend,
    /// Print the unit, and change nothing
    #[arg(long, conflicts_with = "root")]
    pub print: bool,
    /// Write below this folder, for a binary in /usr/bin, and leave systemd alone
    #[arg(long, value_name = "FOLDER")]
    pub root: Option<PathBuf>,
}

/// Of `service remove`.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// Remove below this folder, and leave systemd alone
    #[arg(long, value_name = "FOLDER")]
    pub root: Option<PathBuf>,
}

/// How threads are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ServiceBackend {
    /// As the kernel's scheduler where that can be had, else by affinity
    #[default]
    Auto,
    /// By CPU masks
    Affinity,
    /// As the kernel's scheduler
    #[value(name = "sched_ext", alias = "sched-ext")]
    SchedExt,
}

/// The commands of `new`.
#[derive(Debug, Subcommand)]
pub enum NewCommand {
    /// Write a policy to begin with: its file, with a test, and its line in the registry
    #[command(after_help = "\
Examples:
  evenkeel new policy my-policy
  cargo test -p evenkeel-policy my_policy
  cargo run --release -p evenkeel -- compare -m quickia -w 2STH-2STL \\
      -p linux,my-policy

Its lines go into registry.rs and os/mod.rs. It works as written: one queue for all cores, idle ones woken fastest \
first. Run it anywhere in a checkout of Evenkeel.

Exit codes: 0 done, 2 where the name is taken or no policy's, or there is no checkout.")]
    Policy(NewPolicyArgs),
}

/// Of `new policy`.
#[derive(Debug, Args)]
pub struct NewPolicyArgs {
    /// Its name, as in -p NAME: lower-case letters, digits and hyphens
    pub name: String,
    /// Print the policy's file, and write nothing
    #[arg(long, conflicts_with = "checkout")]
    pub print: bool,
    /// The checkout [default: the one that the working directory is in]
    #[arg(long, value_name = "FOLDER")]
    pub checkout: Option<PathBuf>,
}
