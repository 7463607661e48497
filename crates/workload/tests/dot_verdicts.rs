//! Texts in DOT, with what Graphviz says of each.
//!
//! A line has Graphviz's verdict, `ours-takes` or `ours-refuses` where ours is another, a tab, and
//! the escaped text.
//! Refused here alone: cycles, no or negative weights, undirected edges, no task, several graphs: they
//! are no task graphs. Taken here alone: `1a`, since `5ms` is a time, and a byte order mark, which
//! editors put there.

use evenkeel_workload::task_graphs::{Format, parse};

#[test]
fn dot_is_taken_and_refused_as_by_graphviz_but_where_the_table_says_otherwise() {
    let mut checked = 0;
    for line in include_str!("verdicts/dot.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some((verdict, text)) = line.split_once('\t') else { panic!("no tab in {line}") };
        let of_graphviz = verdict.starts_with("takes");
        let expected = if verdict.contains("ours-") { !of_graphviz } else { of_graphviz };
        let bare = text.replace("\\u{feff}", "\u{feff}").replace("\\n", "\n").replace("\\\\", "\\");
        let ours = parse(bare.as_bytes(), Format::Dot, "x.dot", 1);
        assert_eq!(ours.is_ok(), expected, "{text}: {:?}", ours.err());
        checked += 1;
    }
    assert_eq!(checked, 69);
}
