//! Texts for rt-app, with what it says of each.
//!
//! A line has rt-app's verdict, `ours-takes` or `ours-refuses` where ours is another, a tab, and
//! the escaped text.
//! Refused here alone: values that rt-app reads as another (negative, over 31 bits, text for a
//! number or an object), `prio`, no task. Taken here alone: clamps, which that kernel lacked, and
//! CPU 99, which the simulator refuses when it has the machine.

use evenkeel_workload::rtapp::parse;

#[test]
fn rt_app_files_are_taken_and_refused_as_by_rt_app_but_where_the_table_says_otherwise() {
    let mut checked = 0;
    for line in include_str!("verdicts/rtapp.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some((verdict, text)) = line.split_once('\t') else { panic!("no tab in {line}") };
        let of_rt_app = verdict.starts_with("takes");
        let expected = if verdict.contains("ours-") { !of_rt_app } else { of_rt_app };
        let bare = text.replace("\\n", "\n");
        let ours = parse(&bare, "x.json");
        assert_eq!(ours.is_ok(), expected, "{text}: {:?}", ours.err());
        checked += 1;
    }
    assert_eq!(checked, 75);
}
