//! Runs a command in the lab, from the check of its cores to its results.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use evenkeel_linux::counters::ThreadTimes;
use evenkeel_linux::here::allowed_cpus;
use evenkeel_linux::program::Signals;
use evenkeel_linux::watch::Tid;
use evenkeel_machine::Nanos;

use crate::cores::Cores;
use crate::error::{Stage, VmError};
use crate::fetch::{Brought, Fetch};
use crate::guest::{Contents, Conversation, Emulator, Output, Settings, assemble, look};
use crate::image::{self, Busybox, Tree};
use crate::kernel::Kernel;
use crate::machine::machine;
use crate::relay::Relay;
use crate::throttle::{Host, Metronome, Rounds, Throttle, bind, places, vcpus};

/// The longest that a guest may take to be ready. It takes 4 s, and 16 s on a host that compiles on
/// all its cores.
const BOOT: Duration = Duration::from_secs(120);
/// The longest that a guest may take to sleep for a millisecond on each core. It takes some tenths
/// of a second. The emulator sometimes loses the clock of a core while it boots: whatever sleeps
/// there never wakes, and the kernel reports a stall of RCU only minutes later.
const CLOCKS: Duration = Duration::from_secs(30);
/// The most boots of a guest that dies while it boots: kernels patch most of their code then, which
/// not every emulator survives (see [`known_fault`](crate::guest::known_fault)). A command that has
/// begun is not run twice.
const BOOTS: u32 = 3;
/// How long a guest may take to send its files.
const FILES: Duration = Duration::from_secs(300);
/// The note where there is no [`Metronome`].
const COARSE: &str = "slow cores may stand still for several ticks of this host at a time: no \
                      real-time threads (run it as root, or with CAP_SYS_NICE)";
/// The shortest pause that is reported. No quota and no busy host keeps real-time threads off for
/// so long, and the guest's kernel notices.
const NOTABLE_PAUSE: Nanos = Nanos::from_secs(1);
/// How long the cores of a guest that has timed out are observed.
const LAST_LOOK: Duration = Duration::from_secs(1);
/// Memory that a guest needs besides its image, MiB. The image counts twice: packed and unpacked.
const LEAST_MEMORY_MIB: u64 = 192;

/// A command with its kernel, its cores and its files.
pub struct Lab {
    /// The kernel.
    pub kernel: Kernel,
    /// The cores.
    pub cores: Cores,
    /// Memory of the guest, MiB.
    pub memory_mib: u64,
    /// The content of the guest.
    pub contents: Contents,
    /// Files to bring back.
    pub fetches: Vec<Fetch>,
    /// Path in the guest at which the command may leave its result record.
    pub result: PathBuf,
    /// How long the command may take.
    pub timeout: Option<Duration>,
}

/// The receivers of the command's output.
pub struct Streams {
    /// Called once the guest has booted, before the command's first output.
    pub booted: Box<dyn Fn()>,
    /// Its standard output.
    pub stdout: Box<dyn Write + Send>,
    /// Its standard error.
    pub stderr: Box<dyn Write + Send>,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The command's exit code, or 128 and the signal that ended it.
    pub exit_code: u8,
    /// How long it took on this host's clock, seconds.
    pub seconds: f64,
    /// Longest time that a CPU of this host did not run while the command did. `None`: this host
    /// checks the cores' quotas only at its ticks, and no thread has measured it.
    pub longest_pause: Option<Nanos>,
    /// The file that it left as its result record.
    pub result: Option<Vec<u8>>,
    /// What the kernel said.
    pub kernel_log: String,
}

/// Checks, before long preparations, that this host can provide such cores.
///
/// # Errors
/// No emulator, more cores than the host has (unless it `may_overcommit`; then `say` is called), no
/// permission to make cgroups.
pub fn check_host(cores: &Cores, may_overcommit: bool, say: &dyn Fn(&str)) -> Result<(), VmError> {
    look()?;
    let (asked, available) = (cores.total_percent(), host_cpus()?.len() as u32 * 100);
    if asked > available {
        if !may_overcommit {
            return Err(VmError::DoesNotFit { cores: cores.to_string(), asked, available });
        }
        say(&format!(
            "the cores take {asked} % of a host core and there are {available} %: they are slower \
             than asked"
        ));
    }
    throttle(cores).map(drop)
}

/// The throttle of these cores; `None` if none is slow.
fn throttle(cores: &Cores) -> Result<Option<Throttle>, VmError> {
    let quotas = cores.quotas();
    if quotas.iter().all(|quota| quota.is_all()) {
        return Ok(None);
    }
    Throttle::prepare(&Host::default(), &quotas).map(Some)
}

/// A guest that is ready.
struct Booted<'a> {
    guest: Conversation<'a>,
    output: Output,
    /// Moves its cores between CPUs while they are slow.
    rounds: Option<Rounds>,
    /// The host's CPUs on which they run.
    cpus: Vec<u32>,
}

impl Lab {
    /// Runs the command, on a host that passed [`check_host`]. The calling thread must outlive the
    /// guest, and no other may exist yet (see [`Signals`]). `say` is called with what takes long or
    /// goes wrong on the way.
    ///
    /// # Errors
    /// Something is missing on this host, the guest dies or takes too long, a signal asks to end, a
    /// file to bring back does not exist.
    pub fn run(
        &self,
        busybox: &Busybox,
        signals: &Signals,
        streams: Streams,
        say: &dyn Fn(&str),
    ) -> Result<Outcome, VmError> {
        let throttle = throttle(&self.cores)?;
        let image = self.image(busybox)?;
        let Booted { mut guest, output, rounds, cpus } =
            self.boot(&image, throttle.as_ref(), signals, say)?;

        let files =
            tempfile::tempfile().map_err(VmError::system("cannot make a temporary file"))?;
        let stdout = Relay::start(output.stdout, streams.stdout);
        let stderr = Relay::start(output.stderr, streams.stderr);
        let files = Relay::start(output.files, files);
        let metronome = match &throttle {
            Some(throttle) => {
                throttle.limit()?;
                Metronome::begin(&cpus).map_err(|error| say(&format!("{COARSE}: {error}"))).ok()
            }
            None => None,
        };
        (streams.booted)();
        guest.go_on()?;
        let began = Instant::now();
        let is_refused = || stdout.is_refused() || stderr.is_refused();
        let line = guest.line(Stage::Command, self.timeout, &is_refused);
        let seconds = began.elapsed().as_secs_f64();
        if let Err(VmError::TimedOut { .. }) = &line
            && let Some(look) = self.last_look(guest.process())
        {
            say(&look);
        }
        drop(rounds);
        let longest_pause = metronome.map(Metronome::end);
        if let Some(pause) = longest_pause.filter(|pause| *pause >= NOTABLE_PAUSE) {
            let seconds = pause.as_secs_f64();
            say(&format!(
                "this host did not run the lab for {seconds:.1} s: what was measured then is not \
                 the guest's doing"
            ));
        }
        let line = line?;
        let exit_code = line.strip_prefix("exit ").and_then(|code| code.parse().ok());
        let exit_code = exit_code.ok_or_else(|| guest.died(Stage::Command))?;
        if let Some(throttle) = &throttle {
            throttle.lift()?;
        }
        guest.go_on()?;
        guest.line(Stage::WayBack, Some(FILES), &is_refused)?;
        let kernel_log = guest.end();
        let (Some(_), Some(_), Some(files)) = (stdout.finish(), stderr.finish(), files.finish())
        else {
            return Err(VmError::OutputGone);
        };
        let mut brought = Brought::new(files);
        for fetch in &self.fetches {
            brought.put(fetch)?;
        }
        Ok(Outcome {
            exit_code,
            seconds,
            longest_pause,
            result: brought.read(&self.result)?,
            kernel_log,
        })
    }

    /// What the cores of a guest do that has timed out: it waits, works on, or does not run any
    /// more. `None`: it has ended, or this host keeps no accounts.
    fn last_look(&self, process: u32) -> Option<String> {
        let threads = vcpus(Path::new("/proc"), process, self.cores.percents().len()).ok()?;
        let number = |id: u32| i32::try_from(id).ok().map(Tid);
        let account = |thread: u32| ThreadTimes::open(number(process)?, number(thread)?).ok();
        let accounts = threads.into_iter().map(account).collect::<Option<Vec<_>>>()?;
        let ran = || {
            accounts
                .iter()
                .map(|account| Some(account.times().ok()?.run))
                .collect::<Option<Vec<_>>>()
        };
        let before = ran()?;
        std::thread::sleep(LAST_LOOK);
        let meanwhile = |(after, before): (Nanos, Nanos)| after.saturating_sub(before);
        Some(described(&ran()?.into_iter().zip(before).map(meanwhile).collect::<Vec<_>>()))
    }

    /// The initramfs, as a file without a name.
    fn image(&self, busybox: &Busybox) -> Result<File, VmError> {
        let brought: Vec<PathBuf> = self
            .fetches
            .iter()
            .map(|fetch| fetch.guest.clone())
            .chain([self.result.clone()])
            .collect();
        let tree =
            assemble(&self.contents, &self.kernel, &machine(&self.cores), busybox, &brought)?;
        let (image_mib, memory_mib) = (tree.bytes().div_ceil(1 << 20), self.memory_mib);
        let needed_mib = LEAST_MEMORY_MIB + 2 * image_mib;
        if memory_mib < needed_mib {
            return Err(VmError::Memory { image_mib, memory_mib, needed_mib });
        }
        written(&tree).map_err(VmError::system("cannot write the image"))
    }

    fn boot<'a>(
        &self,
        image: &File,
        throttle: Option<&Throttle>,
        signals: &'a Signals,
        say: &dyn Fn(&str),
    ) -> Result<Booted<'a>, VmError> {
        let mut tries = 1;
        loop {
            match self.boot_once(image, throttle, signals) {
                Err(error @ (VmError::Died { .. } | VmError::TimedOut { .. })) if tries < BOOTS => {
                    say(&format!("{error}; trying once more"));
                    tries += 1;
                }
                other => return other,
            }
        }
    }

    fn boot_once<'a>(
        &self,
        image: &File,
        throttle: Option<&Throttle>,
        signals: &'a Signals,
    ) -> Result<Booted<'a>, VmError> {
        let cores = self.cores.percents().len();
        let in_pairs = self.cores.are_in_pairs();
        let settings =
            Settings { kernel: &self.kernel, image, cores, in_pairs, memory_mib: self.memory_mib };
        let (emulator, channels) = Emulator::start(&settings, signals)?;
        let (mut guest, output) = Conversation::new(emulator, channels, signals)?;
        let mut rounds = None;
        let mut cpus = host_cpus()?;
        if let Some(throttle) = throttle {
            let process = guest.process();
            let threads =
                vcpus(Path::new("/proc"), process, cores).map_err(|_| guest.died(Stage::Boot))?;
            throttle.adopt(process, &threads)?;
            if let Some(places) = places(&self.cores.percents(), &cpus) {
                bind(&threads, &places)
                    .map_err(VmError::system("cannot bind the emulator's threads"))?;
                cpus.retain(|cpu| places.contains(cpu));
                rounds = Some(Rounds::begin(threads, places));
            }
        }
        guest.line(Stage::Boot, Some(BOOT), &|| false)?;
        guest.line(Stage::Clocks, Some(CLOCKS), &|| false)?;
        Ok(Booted { guest, output, rounds, cpus })
    }
}

/// The note on cores that ran for these times.
fn described(ran: &[Nanos]) -> String {
    if ran.iter().all(|&time| time == Nanos(0)) {
        // An idle kernel still serves its clock some times a second.
        return "the emulator stands still: none of its cores ran in the second after the time was \
                over".to_owned();
    }
    let each: Vec<String> = ran.iter().map(|time| (time.0 / 1_000_000).to_string()).collect();
    format!("in the second after the time was over the cores ran for {} ms", each.join(", "))
}

/// The CPUs of the host that this process may use.
fn host_cpus() -> Result<Vec<u32>, VmError> {
    allowed_cpus().map_err(VmError::system("cannot tell which CPUs there are"))
}

fn written(tree: &Tree) -> std::io::Result<File> {
    let image = tempfile::tempfile()?;
    let mut writer = BufWriter::with_capacity(1 << 20, image);
    image::write(tree, &mut writer)?;
    writer.into_inner().map_err(std::io::IntoInnerError::into_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_that_waits_is_told_from_an_emulator_that_stands_still() {
        let waits = described(&[12_345_678, 999, 0].map(Nanos));
        assert_eq!(waits, "in the second after the time was over the cores ran for 12, 0, 0 ms");
        assert!(described(&[Nanos(0); 2]).starts_with("the emulator stands still: "));
    }
}
