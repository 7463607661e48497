//! Flags of `vm`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use evenkeel_machine::Nanos;
use evenkeel_vm::Cores;

use crate::parse::{self, GuestCopy};

/// Of `vm`.
#[derive(Clone, Debug, Args)]
pub struct VmArgs {
    /// Cores of the lab, as 2@60+2@20: two with 60 % of a core of this host each, two with 20 %
    #[arg(long, value_name = "CORES", default_value = "2@60+2@20", value_parser = parse::vm_cores)]
    pub cores: Cores,
    /// The cores are pairs of SMT siblings, 0 and 1, 2 and 3 and so on; each keeps its share
    #[arg(long)]
    pub smt: bool,
    /// Kernel: a series (6.18), a release (6.18.15+deb13), or the path of a vmlinuz
    #[arg(long, value_name = "VERSION", default_value = "6.18")]
    pub kernel: String,
    /// Configuration of the kernel, where it is not beside its vmlinuz
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Program or shared library to have in the guest, with the shared libraries that it needs; may
    /// be repeated
    #[arg(long, value_name = "BINARY[=GUEST-PATH]", value_parser = parse::guest_program)]
    pub with: Vec<GuestCopy>,
    /// File or folder to have in the guest; may be repeated
    #[arg(long, value_name = "HOST=GUEST-PATH", value_parser = parse::guest_file)]
    pub file: Vec<GuestCopy>,
    /// File or folder to bring back; may be repeated
    #[arg(long, value_name = "GUEST-PATH=HOST", value_parser = parse::fetch)]
    pub fetch: Vec<evenkeel_vm::fetch::Fetch>,
    /// Where in the guest the command leaves a record, which --json prints
    #[arg(long, value_name = "GUEST-PATH", default_value = evenkeel_vm::guest::RESULT_FILE, value_parser = parse::guest_path)]
    pub result: PathBuf,
    /// Write what the kernel says while the command runs, and its warnings before, to a file
    #[arg(long, value_name = "FILE")]
    pub kernel_log: Option<PathBuf>,
    /// End the command after this, with exit code 124
    #[arg(long, value_name = "TIME", value_parser = parse::positive_time, allow_hyphen_values = true)]
    pub timeout: Option<Nanos>,
    /// Memory of the guest
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse::mebibytes)]
    pub memory: u64,
    /// Go on where the cores together are more than this host has
    #[arg(long)]
    pub force: bool,
    /// Print one JSON object: kernel, cores, exit code, seconds, output, the record that the
    /// command left
    #[arg(long)]
    pub json: bool,
    /// List the kernels that can be had
    #[arg(long, conflicts_with = "command")]
    pub list_kernels: bool,
    /// Command to run in the guest, after --
    #[arg(last = true, value_name = "CMD", required_unless_present = "list_kernels")]
    pub command: Vec<OsString>,
}
