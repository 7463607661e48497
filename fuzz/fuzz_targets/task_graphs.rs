//! The readers of task graphs on any bytes: no panic, no hang, and what they make is valid and survives being written in Evenkeel's own
//! format.

#![no_main]

use evenkeel_workload::{native, task_graphs};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(format) = task_graphs::looks_like(bytes) else { return };
    if let Ok(app) = task_graphs::parse(bytes, format, "fuzz", 2) {
        assert_eq!(app.validate(), Ok(()));
        let text = native::write(std::slice::from_ref(&app)).expect("what is valid can be said");
        assert_eq!(native::parse(text.as_bytes(), "again").expect("what is written can be read"), [app]);
    }
});
