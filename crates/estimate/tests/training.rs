//! Training with traces of three kinds of core: what is chosen, and what is left out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use evenkeel_estimate::training::{Method, Plan, train};
use evenkeel_estimate::{EventSets, Settings, Trace, TracedKind, modelled};
use evenkeel_machine::{DataCache, Microarchitecture, Nanos};
use evenkeel_model::character::GeneratedProgram;

fn core(width: u32, window: Option<u32>, last_kib: u64) -> Microarchitecture {
    let cache = |kib: u64, latency| DataCache { bytes: kib << 10, latency };
    Microarchitecture {
        width,
        window,
        mispredict_penalty: 12,
        code_cache_bytes: 32 << 10,
        data_caches: vec![cache(32, 3), cache(last_kib, 15)],
        memory_latency: Nanos(90),
        most_misses: 8,
        tlb_bytes: 1 << 20,
        tlb_penalty: 20,
        counters: 2,
        counts_instructions: true,
        counts_cycles: true,
        source: String::new(),
    }
}

/// Programs of one window a kind.
fn traces(programs: u64) -> Vec<Trace> {
    let kinds = [
        ("prime", core(6, Some(256), 8192)),
        ("big", core(3, Some(96), 2048)),
        ("little", core(2, None, 512)),
    ];
    let trace = |number| {
        let phase = GeneratedProgram::new(1, number).phases.swap_remove(0);
        let traced = kinds.iter().map(|(name, core)| TracedKind {
            name: (*name).to_owned(),
            counters: modelled::counters(core),
            windows: vec![modelled::window(&phase, core, 2.0, 1_000_000)],
        });
        Trace::new(format!("p{number}"), "a test".to_owned(), traced.collect()).unwrap()
    };
    (0..programs).map(trace).collect()
}

fn plan(most_sets: usize) -> Plan {
    Plan {
        method: Method::Overall,
        most_sets,
        most_metrics: usize::MAX,
        settings: Settings::default(),
    }
}

#[test]
fn all_that_a_thread_on_a_kind_is_watched_for_can_be_counted_in_the_sets_that_were_asked_for() {
    let traces = traces(20);
    for most_sets in [1, 2, 3] {
        let model = train(&traces, &plan(most_sets)).unwrap().model;
        for (k, kind) in traces[0].kinds().iter().enumerate() {
            let of_kind: Vec<_> = model.seen_on(k).map(|it| it.of).collect();
            assert_eq!(of_kind, [0, 1]);
            let sets = EventSets::new(&model.metrics(k), &kind.counters).unwrap();
            assert!(sets.len() <= most_sets, "{most_sets}: {:?}", model.metrics(k));
        }
    }
}

#[test]
fn a_program_that_is_left_out_is_predicted_by_the_others_alone() {
    let mut traces = traces(12);
    let training = train(&traces, &plan(1)).unwrap();
    assert_eq!(training.held_out.len(), 12 * 3 * 2);
    // Without the first program the model of all is the one that predicted it.
    let first = traces.remove(0);
    let others = train(&traces, &plan(1)).unwrap().model;
    for it in training.held_out.iter().filter(|it| it.program == "p0") {
        let by_others = others.seen_on(it.seen_on).find(|other| other.of == it.of).unwrap();
        assert_eq!(it.predicted, by_others.factor(&first.overall_metrics(it.seen_on)));
        assert_eq!(it.observed, first.overall_factor(it.of));
    }
}

#[test]
fn a_model_knows_the_programs_that_it_was_trained_with() {
    let all = train(&traces(4), &plan(1)).unwrap();
    assert!(all.model.predictors.iter().all(|it| it.accuracy.is_some()));
    // The mean error of a model on its own programs is below that on those left out.
    let own: f64 = traces(4)
        .iter()
        .flat_map(|trace| {
            all.model.predictors.iter().map(|it| {
                (it.factor(&trace.overall_metrics(it.seen_on)) - trace.overall_factor(it.of)).abs()
            })
        })
        .sum();
    let left_out: f64 = all.held_out.iter().map(|it| (it.predicted - it.observed).abs()).sum();
    assert!(own < left_out, "{own} {left_out}");
}
