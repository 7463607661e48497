//! The page as text; tests/run-browser.sh looks at it in a browser.
#![allow(clippy::unwrap_used)]

mod common;

use evenkeel_report::html::{Described, Meta, page};
use evenkeel_report::{MOST_STRETCHES, Timeline};

#[test]
fn names_from_outside_stay_text() {
    const NAME: &str = "</script><b>&\"'<!--";
    let machine = common::machine(2);
    let log = common::log(&machine, 1, 6, 60, 5);
    let timeline = Timeline::new(0, &machine, &[NAME.into()], &log);
    let mut records = vec![common::record(NAME, &[NAME], 1.0, Some(2.0)), common::record("linux", &[NAME], 2.0, None)];
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
    let records =
        [record("linux", "a", 4.0), record("gts", "a", 1.0), record("linux", "b", 1.0), record("gts", "b", 1.0)];
    let glance = |baseline: &str| {
        let html = page(&records, &[], &Meta { baseline: Some(baseline.into()), ..Meta::default() });
        let glance = html.split("<h2>Speed").next().unwrap().to_owned();
        glance.split("At a glance").nth(1).unwrap().to_owned()
    };
    assert!(glance("linux").contains("gts</th><td class=\"best\">2.000"));
    assert!(glance("gts").contains("linux</th><td>0.500"));
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
        records.push(common::record(["linux", "gts"][number % 2], &[&format!("w{}", number / 2)], 3.0, Some(2.0)));
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
        let records = ["linux", "acfs"].map(|policy| common::record(policy, &["a", "b"], 2.0, Some(3.0)));
        page(&records, &[timeline], &Meta::default())
    };
    assert_eq!(draw(), draw());
}
