//! The page as text; tests/run-browser.sh opens it in a browser.
#![allow(clippy::unwrap_used)]

mod common;

use evenkeel_metrics::{LatencySummary, Record, WakeupLatency};
use evenkeel_report::html::{Described, Meta, page};
use evenkeel_report::{MOST_STRETCHES, Timeline, verdict};

#[test]
fn names_from_outside_stay_text() {
    const NAME: &str = "</script><b>&\"'<!--";
    let machine = common::machine(2);
    let log = common::log(&machine, 1, 6, 60, 5);
    let timeline = Timeline::new(0, &machine, &[NAME.into()], &log);
    let mut records = vec![
        common::record(NAME, &[NAME], 1.0, Some(2.0)),
        common::record("linux", &[NAME], 2.0, None),
    ];
    records[1].error = Some(NAME.into());
    let described = Described { name: NAME.into(), text: NAME.into(), source: NAME.into() };
    let meta = Meta {
        title: NAME.into(),
        baseline: Some(NAME.into()),
        machines: vec![described.clone()],
        workloads: vec![described.clone()],
        policies: vec![described],
        made_by: NAME.into(),
        command: NAME.into(),
        answer: NAME.into(),
    };
    let html = page(&records, &[timeline], &meta);
    assert_eq!(html.matches("</script").count(), 3, "only the page's own scripts end");
    assert!(!html.contains("<b>&\"") && !html.contains("<!--"));
    assert!(html.contains("&lt;/script&gt;&lt;b&gt;&amp;&quot;&#39;&lt;!--"));
}

#[test]
fn the_page_refers_to_nothing_outside_itself() {
    let html = page(&[common::record("linux", &["ep"], 1.0, Some(2.0))], &[], &Meta::default());
    let own = html.split("<script>").next().unwrap();
    for reference in ["src=", "url(", "@import", "http://", "https://"] {
        assert!(!own.contains(reference), "{reference}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn what_cannot_be_drawn_is_said_and_has_no_empty_place() {
    let without_power = ["linux", "gts"].map(|policy| common::record(policy, &["ep"], 2.0, None));
    let html = page(&without_power, &[], &Meta::default());
    assert!(html.contains("This machine has no power model"));
    assert!(html.contains("data-plot=\"speedup\"") && html.contains("data-plot=\"kinds\""));
    for plot in ["energy", "edp", "fairness", "timeline"] {
        assert!(!html.contains(&format!("data-plot=\"{plot}\"")), "{plot}");
    }
    let alone = page(&without_power[..1], &[], &Meta::default());
    assert!(!alone.contains("data-plot=\"speedup\""), "nothing to compare with");
    assert!(!page(&[], &[], &Meta::default()).contains("data-plot=\""));
}

#[test]
fn a_policy_is_compared_by_the_geometric_mean_of_its_ratios() {
    let record = |policy, workload: &str, time| common::record(policy, &[workload], time, None);
    let records = [
        record("linux", "a", 4.0),
        record("gts", "a", 1.0),
        record("linux", "b", 1.0),
        record("gts", "b", 1.0),
    ];
    let glance = |baseline: &str| {
        let html =
            page(&records, &[], &Meta { baseline: Some(baseline.into()), ..Meta::default() });
        let glance = html.split("<h2>Speed").next().unwrap().to_owned();
        glance.split("At a glance").nth(1).unwrap().to_owned()
    };
    assert!(glance("linux").contains("gts</th><td class=\"best\">2.000"));
    assert!(glance("gts").contains("linux</th><td>0.500"));
}

/// A run that a duration of 5 s ended.
fn timed(policy: &str, p99: f64) -> Record {
    let mut record = common::record(policy, &["ui"], 5.0, Some(4.0));
    record.apps[0].cut_at_s = Some(5.0);
    let all = LatencySummary { p50: 1.0, p99, max: 2.0 * p99, least: 1.0, mean: 1.0 };
    record.wakeup_latency_us = Some(WakeupLatency { all, kinds: Default::default() });
    record
}

#[test]
fn runs_of_a_set_duration_lead_with_latency_and_have_no_speedup() {
    let html = page(&[timed("linux", 1376.0), timed("gts", 32.0)], &[], &Meta::default());
    let own = html.split("<script>").next().unwrap();
    assert!(
        own.contains("<h2>Latency and energy</h2>")
            && own.contains("<td class=\"best\">32.00</td>")
    );
    let places: Vec<usize> = ["wake-p99", "wake-max", "energy"]
        .map(|plot| own.find(&format!("data-plot=\"{plot}\"")).unwrap())
        .to_vec();
    assert!(places.is_sorted(), "latency comes first");
    for absent in
        ["data-plot=\"speedup\"", "data-plot=\"edp\"", "<th>speedup", "<th>EDP", "<th>time"]
    {
        assert!(!own.contains(absent), "{absent}");
    }
}

#[test]
fn each_column_says_of_how_many_workloads_it_is() {
    let records = [
        timed("linux", 1376.0),
        timed("gts", 32.0),
        common::record("linux", &["ep"], 2.0, Some(3.0)),
        common::record("gts", &["ep"], 1.0, Some(3.0)),
    ];
    let html = page(&records, &[], &Meta::default());
    assert!(html.contains("<th>speedup<small>more is better<br>of 1 workload</small>"));
    assert!(html.contains("<th>energy<small>less is better<br>of 2 workloads</small>"));
    assert!(html.contains("<h2>Speed, energy, EDP and latency</h2>"));
}

#[test]
fn the_page_answers_first_as_compare_does_last() {
    let records = ["gts", "linux"].map(|policy| {
        common::record(policy, &["ep"], policy.len() as f64, Some(policy.len() as f64))
    });
    let verdict = verdict(&records, None).unwrap();
    let answer = |meta: &Meta| {
        let html = page(&records, &[], meta);
        html.split("<p class=\"answer\">").nth(1).unwrap().split("</p>").next().unwrap().to_owned()
    };
    assert_eq!(answer(&Meta::default()), verdict);
    assert_eq!(answer(&Meta { answer: "Take gts.".into(), ..Meta::default() }), "Take gts.");
    assert!(
        page(&records[..1], &[], &Meta::default())
            .contains("ep took 3.000 s and 3.000 J under gts.")
    );
}

#[test]
fn a_page_stays_small_and_says_where_a_timeline_is_coarse() {
    let machine = common::machine(4);
    let log = common::log(&machine, 2, 40, 20_000, 5);
    let timeline = Timeline::new(0, &machine, &["a".into(), "b".into()], &log);
    assert!(timeline.stretches.len() <= MOST_STRETCHES && timeline.column.is_some());
    let mut records = vec![];
    let mut timelines = vec![];
    for number in 0..90 {
        records.push(common::record(
            ["linux", "gts"][number % 2],
            &[&format!("w{}", number / 2)],
            3.0,
            Some(2.0),
        ));
        timelines.push(Timeline { record: number, ..timeline.clone() });
    }
    let html = page(&records, &timelines, &Meta::default());
    assert!(html.len() < 3 << 20, "{} bytes", html.len());
    assert!(html.contains("cut into columns"));
    let short = Timeline::new(0, &machine, &[], &common::log(&machine, 1, 6, 30, 5));
    assert!(!page(&records[..1], &[short], &Meta::default()).contains("cut into columns"));
}

#[test]
fn same_input_same_bytes() {
    let draw = || {
        let machine = common::machine(2);
        let timeline = Timeline::new(1, &machine, &[], &common::log(&machine, 2, 6, 60, 5));
        let records =
            ["linux", "acfs"].map(|policy| common::record(policy, &["a", "b"], 2.0, Some(3.0)));
        page(&records, &[timeline], &Meta::default())
    };
    assert_eq!(draw(), draw());
}
