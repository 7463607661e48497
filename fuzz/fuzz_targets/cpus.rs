//! The reader of CPU lists: any bytes give distinct CPUs within bounds or an error, and a list
//! survives being written.
#![no_main]

use evenkeel_machine::{MAX_CORES, parse_cpus, write_cpus};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match parse_cpus(text) {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok(cpus) => {
            assert!(cpus.iter().all(|&cpu| cpu < MAX_CORES));
            let written = write_cpus(cpus.iter().copied());
            assert_eq!(parse_cpus(&written).expect("what is written can be read"), cpus);
        }
    }
});
