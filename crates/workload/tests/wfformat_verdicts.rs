//! Instances of WfFormat, with what WfCommons' schema says of each; `verdicts/wfformat.txt` says why
//! ours is another where it is.

use evenkeel_workload::task_graphs::{Format, parse};

#[test]
fn instances_are_taken_and_refused_as_by_the_schema_but_where_the_table_says_why_not() {
    let mut checked = 0;
    for line in include_str!("verdicts/wfformat.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut parts = line.splitn(3, '\t');
        let (Some(verdict), Some(why), Some(text)) = (parts.next(), parts.next(), parts.next()) else {
            panic!("a line of three parts expected: {line}")
        };
        let expected = match why {
            "-" => verdict == "takes",
            "unread" => true,
            "graph" | "version" => false,
            _ => panic!("{why}: no reason"),
        };
        let bare = text.replace("\\n", "\n");
        let ours = parse(bare.as_bytes(), Format::WfCommons, "x.json", 1);
        assert_eq!(ours.is_ok(), expected, "{text}: {:?}", ours.err());
        checked += 1;
    }
    assert_eq!(checked, 136);
}
