//! The rt-app reader on any bytes: no panic, no hang, memory in proportion to the input, and what
//! it makes is valid.

#![no_main]

use evenkeel_files::rtapp;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let looks = rtapp::looks_like_rtapp(bytes);
    if let Ok(app) = rtapp::parse(bytes, "fuzz.json") {
        assert!(looks, "read, but not recognised");
        assert_eq!(app.validate(), Ok(()));
        assert!(app.threads.len() as u64 <= rtapp::MAX_THREADS);
    }
});
