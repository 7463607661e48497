//! The readers of task graphs on any bytes: no panic, no hang, and what they make is valid and
//! survives being written in Evenkeel's own format. Each reader has all bytes, whatever they look
//! like.

#![no_main]

use evenkeel_files::native;
use evenkeel_files::task_graphs::{self, Format};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = task_graphs::looks_like(bytes);
    for format in [Format::WfCommons, Format::Stg, Format::Dot] {
        let Ok(app) = task_graphs::parse(bytes, format, "fuzz", 2) else { continue };
        assert_eq!(app.validate(), Ok(()));
        let text = native::write(std::slice::from_ref(&app)).expect("what is valid can be said");
        assert_eq!(
            native::parse(text.as_bytes(), "again").expect("what is written can be read"),
            [app]
        );
    }
});
