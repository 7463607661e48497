//! Files of counters and of models: what is written reads as the same, any bytes give a value or an
//! error, and errors name their place.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use evenkeel_estimate::training::{Method, Plan, train};
use evenkeel_estimate::{
    Counters, Counts, Event, Metric, MetricValues, Settings, Trace, TracedKind, Window,
};
use evenkeel_files::factors::{parse_model, parse_trace, write_model, write_trace};
use evenkeel_machine::Nanos;
use proptest::prelude::*;

/// Windows of all events; those of the slow kind take longer where caches miss more.
fn any_trace() -> impl Strategy<Value = Trace> {
    (2_usize..8, prop::sample::subsequence(Event::ALL.to_vec(), 0..3), "\\PC{0,8}")
        .prop_flat_map(|(general, fixed, source)| trace_of(general, &fixed, &source))
}

/// Traces of one machine, which a model can be trained with.
fn any_traces() -> impl Strategy<Value = Vec<Trace>> {
    (2_usize..8).prop_flat_map(|general| prop::collection::vec(trace_of(general, &[], "x"), 1..6))
}

fn trace_of(general: usize, fixed: &[Event], source: &str) -> impl Strategy<Value = Trace> + use<> {
    let (fixed, source) = (fixed.to_vec(), source.to_owned());
    let counts = prop::array::uniform12(1_u64..1_000_000_000);
    let windows = prop::collection::vec((1_u64..1_000_000_000, counts), 1..8);
    ("\\PC{0,8}", windows.clone(), windows).prop_map(move |(program, fast, slow)| {
        let kinds = [("big", fast), ("little", slow)].map(|(name, windows)| {
            let window = |(time, all): (u64, [u64; 12])| {
                let mut counts = Counts::default();
                for (event, count) in Event::ALL.into_iter().zip(all) {
                    counts.set(event, count);
                }
                Window { time: Nanos(time), counts }
            };
            let windows = windows.into_iter().map(window).collect();
            let counters = Counters { general, fixed: fixed.clone() };
            TracedKind { name: name.to_owned(), counters, windows }
        });
        Trace::new(program, source.clone(), kinds.to_vec()).unwrap()
    })
}

proptest! {
    #[test]
    fn a_trace_reads_back(trace in any_trace()) {
        let text = write_trace(&trace);
        prop_assert_eq!(parse_trace(text.as_bytes(), "x.json").unwrap(), trace);
    }

    #[test]
    fn a_model_reads_back_and_predicts_the_same_bits(
        traces in any_traces(),
        values in prop::array::uniform11(0.0_f64..1e6),
        deviation in prop::option::of(0.01_f64..0.5),
    ) {
        let method = deviation.map_or(Method::Overall, |deviation| Method::Phases { deviation });
        let plan = Plan { method, most_sets: 2, most_metrics: 5, settings: Settings::default() };
        // Short traces may have no phase that is long enough.
        let Ok(training) = train(&traces, &plan) else {
            prop_assert!(deviation.is_some());
            return Ok(());
        };
        let text = write_model(&training.model);
        let model = parse_model(text.as_bytes(), "x.json").unwrap();
        prop_assert_eq!(&model, &training.model);
        for (read, written) in model.predictors.iter().zip(&training.model.predictors) {
            let [a, b] = [read, written].map(|it| it.factor(&MetricValues(values)).to_bits());
            prop_assert_eq!(a, b);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = (parse_trace(&bytes, "x"), parse_model(&bytes, "x"));
    }

    #[test]
    fn a_truncated_file_is_an_error_with_its_line(trace in any_trace(), part in 0.0_f64..1.0) {
        let text = write_trace(&trace);
        let mut cut = (text.trim_end().len() as f64 * part) as usize;
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let error = parse_trace(&text.as_bytes()[..cut], "x.json").unwrap_err().to_string();
        prop_assert!(error.starts_with("x.json:"), "{error}");
    }
}

const TRACE: &str = r#"{"format": "evenkeel.counters/1", "program": "p", "kinds": [
{"name": "big", "counters": 4, "windows": [{"time_ns": 10, "counts": {"instructions": 7}}]},
{"name": "little", "counters": 4, "windows": [{"time_ns": 20, "counts": {"instructions": 7}}]}]}"#;

const MODEL: &str = r#"{"format": "evenkeel.factors/1", "kinds": ["big", "little"], "source": "",
"programs": ["p"], "predictors": [{"seen_on": "big", "of": "big", "base": 2.0, "terms": [
{"metric": "ipc", "thresholds": [1.0], "values": [-0.5, 0.5]}]}]}"#;

#[test]
fn a_trace_that_cannot_be_is_an_error_that_names_the_place() {
    assert_eq!(parse_trace(TRACE.as_bytes(), "t.json").unwrap().factors(0), [2.0]);
    let error = |from: &str, to: &str| {
        assert!(TRACE.contains(from), "{from}");
        let text = TRACE.replacen(from, to, 1);
        parse_trace(text.as_bytes(), "t.json").unwrap_err().to_string()
    };
    assert!(error("\"instructions\"", "\"instrs\"").starts_with(
        "t.json: kinds[0].windows[0].counts: event 'instrs' found, expected one of \
             instructions, cycles, cache-references"
    ),);
    assert_eq!(error("\"little\"", "\"big\""), "t.json: two kinds of core are named big");
    assert_eq!(
        error("\"time_ns\": 10", "\"time_ns\": 0"),
        "t.json: window 0 on big has no instructions or no time"
    );
    assert_eq!(
        error("counters/1", "counters/2"),
        "t.json: format 'evenkeel.counters/2' found, expected 'evenkeel.counters/1'"
    );
    assert_eq!(
        error("\"counters\": 4", "\"counters\": -4"),
        "t.json:2:30: invalid value: integer `-4`, expected usize"
    );
}

#[test]
fn a_model_that_cannot_be_is_an_error_that_names_the_place() {
    let model = parse_model(MODEL.as_bytes(), "m.json").unwrap();
    let mut values = MetricValues::default();
    values[Metric::Ipc] = 1.5;
    assert_eq!(model.predictors[0].factor(&values), 2.5);
    let error = |from: &str, to: &str| {
        assert!(MODEL.contains(from), "{from}");
        let text = MODEL.replacen(from, to, 1);
        parse_model(text.as_bytes(), "m.json").unwrap_err().to_string()
    };
    assert_eq!(
        error("\"seen_on\": \"big\"", "\"seen_on\": \"P\""),
        "m.json: predictors[0].seen_on: kind 'P' found, expected one of big, little"
    );
    assert_eq!(
        error("[1.0]", "[]"),
        "m.json: predictors[0].terms[0]: 0 thresholds and 2 values found, expected ascending \
         thresholds and one value more"
    );
    assert!(error("\"ipc\"", "\"IPC\"").contains("terms[0].metric: 'IPC' found, expected one of"));
    assert_eq!(
        parse_model(TRACE.as_bytes(), "t.json").unwrap_err().to_string(),
        "t.json: format 'evenkeel.counters/1' found, expected 'evenkeel.factors/1'"
    );
}
