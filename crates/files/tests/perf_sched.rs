//! Data of `perf sched record`: a real file (perf 6.1, Linux 6.18, two CPUs) of `threads four 1 8`,
//! which is in crates/linux/tests/programs: four threads that meet at a barrier eight times.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_files::machines;
use evenkeel_files::perf_sched::{PerfDataError, looks_like_perf_data, program, read};
use evenkeel_files::programs::{self, Context};
use evenkeel_files::recorded::{Places, Recorded, Selection, Tid};
use proptest::prelude::*;

const FOUR: &[u8] = include_bytes!("perf/four.data");

fn of(selection: Selection) -> Result<Recorded, PerfDataError> {
    program(read(FOUR, "four.data").unwrap(), selection, &Places::default(), "four.data")
}

#[test]
fn the_command_that_perf_ran_is_found_with_its_barrier() {
    assert!(looks_like_perf_data(FOUR));
    assert_eq!(read(FOUR, "four.data").unwrap().lost, 0);
    let Recorded { application, summary } = of(Selection::Command).unwrap();
    assert_eq!((application.name.as_str(), application.barriers.as_slice()), ("threads", &[4][..]));
    assert_eq!((summary.threads, summary.forks, summary.meetings, summary.joins), (5, 4, 8, 1));
    assert_eq!(application.validate(), Ok(()));
    // getrusage said 44 ms.
    assert!((40_000_000..48_000_000).contains(&summary.work_ns), "{}", summary.work_ns);
}

#[test]
fn a_program_is_found_by_name_and_by_number_too() {
    let by_name = of(Selection::Name("threads".into())).unwrap();
    assert_eq!(by_name.summary, of(Selection::Command).unwrap().summary);
    let process: i32 =
        by_name.application.threads[0].name.strip_prefix("threads-").unwrap().parse().unwrap();
    assert_eq!(of(Selection::Process(Tid(process))).unwrap().summary.threads, 5);
    let missing = of(Selection::Name("nobody".into())).unwrap_err().to_string();
    assert_eq!(
        missing,
        "four.data: nothing of threads named nobody in it: --comm NAME or --pid PID says what to \
         take"
    );
}

#[test]
fn a_file_of_perf_is_a_workload_wherever_one_is_named() {
    let machine = machines::preset("odroid-xu3-paper").unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/perf/four.data");
    let apps = programs::load(file, &Context::new(&machine)).unwrap();
    assert_eq!(apps[0].barriers, [4]);
}

fn said(bytes: &[u8]) -> String {
    read(bytes, "p").unwrap_err().to_string()
}

#[test]
fn what_is_wrong_with_a_file_is_told_in_a_line() {
    assert_eq!(
        said(b""),
        "p: not perf data that can be read: it does not begin as a file of perf does"
    );
    assert_eq!(
        said(&FOUR[..50]),
        "p: not perf data that can be read: it ends within the header, after 50 bytes"
    );
    let pipe = said(&[b"PERFILE2".as_slice(), &16_u64.to_le_bytes()].concat());
    assert!(
        pipe.contains("what perf writes to a pipe") && pipe.contains("perf sched record -o FILE"),
        "{pipe}"
    );
    let short = said(&FOUR[..FOUR.len() / 2]);
    assert_eq!(
        short,
        "p: not perf data that can be read: the section that byte 40 tells of reaches beyond the \
         end"
    );
    let mut renamed = FOUR.to_vec();
    let places: Vec<_> = renamed
        .windows(20)
        .enumerate()
        .filter(|(_, it)| it == b"name: sched_waking\nI")
        .map(|it| it.0)
        .collect();
    assert!(!places.is_empty());
    places.into_iter().for_each(|at| renamed[at + 6] = b'x');
    assert_eq!(
        said(&renamed),
        "p: no events sched_waking: expected what `perf sched record` writes"
    );
}

/// Reads a file that may be broken, and works out a workload where it can be read.
fn survives(bytes: &[u8]) {
    match read(bytes, "p") {
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        Ok(data) => {
            if let Ok(recorded) = program(data, Selection::Command, &Places::default(), "p") {
                assert_eq!(recorded.application.validate(), Ok(()));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_file_that_was_cut_is_read_or_refused(at in any::<prop::sample::Index>()) {
        survives(&FOUR[..at.index(FOUR.len())]);
    }

    #[test]
    fn a_file_that_was_changed_is_read_or_refused(
        // The header, the attributes and the first records are damaged more often: all else depends
        // on them.
        early in prop::collection::vec((0..4_000_usize, any::<u8>()), 0..4),
        anywhere in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..30),
    ) {
        let mut bytes = FOUR.to_vec();
        early.into_iter().for_each(|(at, byte)| bytes[at] = byte);
        anywhere.into_iter().for_each(|(at, byte)| { let at = at.index(bytes.len()); bytes[at] = byte; });
        survives(&bytes);
    }
}
