//! Graphs of the Standard Task Graph Set, with what the page on its format makes of each.

use evenkeel_workload::task_graphs::{Format, parse};

#[test]
fn stg_is_taken_and_refused_as_its_page_has_it() {
    let mut checked = 0;
    for line in include_str!("verdicts/stg.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some((verdict, text)) = line.split_once('\t') else { panic!("no tab in {line}") };
        let bare = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r");
        let ours = parse(bare.as_bytes(), Format::Stg, "x.stg", 1);
        assert_eq!(ours.is_ok(), verdict == "takes", "{text}: {:?}", ours.err());
        checked += 1;
    }
    assert_eq!(checked, 34);
}
