//! The reader of Evenkeel's own workload files on any bytes: no panic, what it makes is valid, and
//! survives being written.

#![no_main]

use evenkeel_files::native;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(apps) = native::parse(bytes, "fuzz.json") {
        assert!(apps.iter().all(|app| app.validate().is_ok()));
        let text = native::write(&apps).expect("what is valid can be said");
        assert_eq!(
            native::parse(text.as_bytes(), "again").expect("what is written can be read"),
            apps
        );
    }
});
