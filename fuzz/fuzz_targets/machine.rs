//! The machine reader: any bytes give a machine or an error that names a place in the text, and a
//! machine survives being written, and taken in parts.
#![no_main]

use evenkeel_files::machines;
use evenkeel_machine::{MAX_CORES, Machine};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match machines::parse(text, "fuzz.toml") {
        Err(error) => {
            let place = error.place().expect("the text is short: the error is about a place in it");
            assert!(place.line >= 1 && place.line <= text.matches('\n').count() + 1);
            assert!(place.column >= 1 && error.to_string().starts_with("fuzz.toml:"));
        }
        Ok(machine) => {
            assert!(!machine.cores.is_empty() && machine.cores.len() <= MAX_CORES as usize);
            let written = machines::to_toml(&machine);
            let again = machines::parse(&written, "written").expect("what is written can be read");
            assert_eq!(again, machine);
            let whole =
                machine.subset(&machine.cores_label()).expect("a machine is a part of itself");
            assert_eq!(whole, machine);
            let one = machine.one_core(machine.slowest());
            assert_eq!(
                machines::parse(&machines::to_toml(&one), "part").expect("a part can be read"),
                one
            );
        }
    }
});
