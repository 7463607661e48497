//! What the VM lab is told in words: any bytes give cores and kernels within bounds or an error of
//! one line, and what is read survives being written.
#![no_main]

use evenkeel_vm::kernel::{Release, Wanted};
use evenkeel_vm::{Cores, MAX_CORES};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<Cores>() {
        Err(error) => assert!(error.to_string().len() < 400),
        Ok(cores) => {
            assert!((1..=MAX_CORES).contains(&cores.percents().len()));
            assert!(
                cores
                    .quotas()
                    .iter()
                    .all(|quota| quota.quota_us >= 1000 && quota.period_us <= 1_000_000)
            );
            assert_eq!(
                cores.to_string().parse::<Cores>().expect("what is written can be read"),
                cores
            );
        }
    }
    if let Ok(wanted) = text.parse::<Wanted>() {
        assert_eq!(
            wanted.to_string().parse::<Wanted>().expect("what is written can be read"),
            wanted
        );
    }
    if let Some(release) = Release::parse(text) {
        assert_eq!(Release::parse(&release.to_string()), Some(release));
    }
});
