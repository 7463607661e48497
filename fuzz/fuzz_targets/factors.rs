//! The readers of counters and of models on any bytes: no panic, and what they make survives being
//! written.

#![no_main]

use evenkeel_files::factors::{parse_model, parse_trace, write_model, write_trace};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(trace) = parse_trace(bytes, "fuzz.json") {
        let text = write_trace(&trace);
        assert_eq!(
            parse_trace(text.as_bytes(), "again").expect("what is written can be read"),
            trace
        );
    }
    if let Ok(model) = parse_model(bytes, "fuzz.json") {
        let text = write_model(&model);
        assert_eq!(
            parse_model(text.as_bytes(), "again").expect("what is written can be read"),
            model
        );
    }
});
