//! The rt-app reader on any text: it never panics, what it makes is valid, and formatting does not
//! matter.

use std::fmt::Write as _;

use evenkeel_files::rtapp;
use proptest::collection::vec;
use proptest::prelude::*;

/// Pieces of which rt-app files are made, and of which wrong ones are.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"tasks\"",
    "\"global\"",
    "\"resources\"",
    "\"t\"",
    "\"phases\"",
    "\"p\"",
    "\"run\"",
    "\"sleep\"",
    "\"timer\"",
    "\"ref\"",
    "\"unique\"",
    "\"period\"",
    "\"mode\"",
    "\"barrier\"",
    "\"fork\"",
    "\"loop\"",
    "\"instance\"",
    "\"policy\"",
    "\"SCHED_FIFO\"",
    "\"suspend\"",
    "\"cpus\"",
    "\"wait\"",
    "\"mutex\"",
    "\"memrun\"",
    "0",
    "1",
    "-1",
    "4000000000",
    "1e9",
    "true",
    "null",
    "/* c */",
    "// c\n",
    "'",
];

fn check(text: &[u8]) {
    if let Ok(app) = rtapp::parse(text, "any.json") {
        assert_eq!(app.validate(), Ok(()));
        assert!(rtapp::looks_like_rtapp(text));
    }
}

/// An event of a task that shares its names with others.
fn event() -> impl Strategy<Value = (String, Option<String>)> {
    let name = "[ab]";
    prop_oneof![
        (
            prop_oneof![Just("run"), Just("runtime"), Just("sleep"), Just("mem"), Just("iorun")],
            0..100_000_u32
        )
            .prop_map(|(key, value)| (key.to_owned(), Some(value.to_string()))),
        (
            prop_oneof![
                Just("lock"),
                Just("unlock"),
                Just("signal"),
                Just("broad"),
                Just("barrier"),
                Just("resume")
            ],
            name
        )
            .prop_map(|(key, name)| (key.to_owned(), Some(format!("\"{name}\"")))),
        (
            prop_oneof![
                Just("sem_post"),
                Just("sem_wait"),
                Just("suspend"),
                Just("yield"),
                Just("fork")
            ],
            name
        )
            .prop_map(|(key, name)| (key.to_owned(), Some(format!("\"{name}\"")))),
        (prop_oneof![Just("wait"), Just("sync")], name, name).prop_map(
            |(key, condition, mutex)| {
                (
                    key.to_owned(),
                    Some(format!("{{\"ref\": \"{condition}\", \"mutex\": \"{mutex}\"}}")),
                )
            }
        ),
        ("(unique)?[ab]", 1..50_000_u32, prop_oneof![Just("relative"), Just("absolute")]).prop_map(
            |(name, period, mode)| {
                let value =
                    format!("{{\"ref\": \"{name}\", \"period\": {period}, \"mode\": \"{mode}\"}}");
                ("timer".to_owned(), Some(value))
            }
        ),
        prop_oneof![Just("suspend"), Just("yield")].prop_map(|key| (key.to_owned(), None)),
    ]
}

/// A task: instances, loops, and phases of loops and events.
type Task = (u32, u32, Vec<(u32, Vec<(String, Option<String>)>)>);

fn task() -> impl Strategy<Value = Task> {
    (1..4_u32, 1..5_u32, vec((1..4_u32, vec(event(), 1..6)), 1..4))
}

/// The same tasks as text: plainly, or with all that the dialect allows.
fn write(tasks: &[Task], wild: bool) -> String {
    let (comment, end) = if wild { ("/* , } */ ", ",") } else { ("", "") };
    let mut out = format!("{comment}{{\"tasks\": {{");
    for (i, (instances, loops, phases)) in tasks.iter().enumerate() {
        let name = ["a", "b", "c"][i];
        let _ = write!(
            out,
            "\"{name}\": {{\"instance\": {instances}, \"loop\": {loops}, \"phases\": {{"
        );
        for (j, (times, events)) in phases.iter().enumerate() {
            let _ = write!(out, "\"p{j}\": {{{comment}\"loop\": {times}");
            for (k, (key, value)) in events.iter().enumerate() {
                let number = if wild { String::new() } else { k.to_string() };
                match value {
                    Some(value) => drop(write!(out, ", \"{key}{number}\": {value}")),
                    None if wild => drop(write!(out, ", '{key}'")),
                    None => drop(write!(out, ", \"{key}{number}\": \"\"")),
                }
            }
            let _ = write!(out, "{end}}}{}", if j + 1 < phases.len() { "," } else { end });
        }
        let _ = write!(out, "}}{end}}}{}", if i + 1 < tasks.len() { "," } else { end });
    }
    out + "}" + end + "}" + if wild { "\n// end" } else { "" }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn any_pieces_of_rt_app_are_read_or_refused(pieces in vec(proptest::sample::select(&PIECES[..]), 0..60)) {
        check(pieces.concat().as_bytes());
    }

    #[test]
    fn a_damaged_file_is_read_or_refused(at in any::<prop::sample::Index>(), len in 0..40_usize, piece in proptest::sample::select(&PIECES[..])) {
        let text = include_bytes!("../../../workloads/rtapp-sync.json");
        let from = at.index(text.len());
        let to = (from + len).min(text.len());
        check(&[&text[..from], piece.as_bytes(), &text[to..]].concat());
    }

    #[test]
    fn a_valid_file_is_read_the_same_however_it_is_written(tasks in vec(task(), 2..4)) {
        let plain = rtapp::parse(write(&tasks, false), "x.json");
        let wild = rtapp::parse(write(&tasks, true), "x.json");
        prop_assert!(plain.is_ok(), "{:?}", plain);
        prop_assert_eq!(&plain, &wild);
        let app = plain.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(app.validate(), Ok(()));
        let instances: u32 = tasks.iter().map(|(instances, _, _)| instances).sum();
        prop_assert_eq!(app.threads.len() as u32, instances);
    }
}
