//! Texts of each format, compared with the verdicts of its own tool. A line of a table in
//! `verdicts/` has the tool's verdict, the reason why ours differs or `-`, and the text, escaped.

use evenkeel_files::{rtapp, task_graphs};

/// Compares a reader with a table. Its verdicts may differ only for these reasons: some for texts
/// that it accepts, some for texts that it refuses. Gives the number of texts.
fn hold(
    table: &str,
    [takes, refuses]: [&[&str]; 2],
    read: impl Fn(&str) -> Result<(), String>,
) -> usize {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.fold(0, |checked, line| {
        let mut parts = line.splitn(3, '\t');
        let (Some(verdict), Some(why), Some(escaped)) = (parts.next(), parts.next(), parts.next())
        else {
            panic!("a verdict, a reason and a text expected: {line}")
        };
        let takes_it = match (verdict, why) {
            ("takes", "-") => true,
            ("refuses", "-") => false,
            ("refuses", why) if takes.contains(&why) => true,
            ("takes", why) if refuses.contains(&why) => false,
            _ => panic!("no verdict, or no reason for another: {line}"),
        };
        let ours = read(&unescape(escaped));
        assert_eq!(ours.is_ok(), takes_it, "{escaped}: {ours:?}");
        checked + 1
    })
}

fn unescape(text: &str) -> String {
    let escapes =
        [("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\u{feff}", "\u{feff}"), ("\\\\", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (escaped, bare)| text.replace(escaped, bare))
}

fn as_graph(format: task_graphs::Format) -> impl Fn(&str) -> Result<(), String> {
    move |text| {
        task_graphs::parse(text.as_bytes(), format, "x", 1)
            .map(drop)
            .map_err(|error| error.to_string())
    }
}

#[test]
fn dot_is_taken_and_refused_as_by_graphviz_but_for_a_reason() {
    let reasons: [&[&str]; 2] = [&["time", "mark"], &["graph"]];
    assert_eq!(
        hold(include_str!("verdicts/dot.txt"), reasons, as_graph(task_graphs::Format::Dot)),
        69
    );
}

#[test]
fn wfformat_is_taken_and_refused_as_by_its_schemas_but_for_a_reason() {
    let reasons: [&[&str]; 2] = [&["unread"], &["graph", "version"]];
    assert_eq!(
        hold(
            include_str!("verdicts/wfformat.txt"),
            reasons,
            as_graph(task_graphs::Format::WfCommons)
        ),
        136
    );
}

#[test]
fn stg_is_taken_and_refused_as_its_format_has_it() {
    assert_eq!(
        hold(include_str!("verdicts/stg.txt"), [&[], &[]], as_graph(task_graphs::Format::Stg)),
        34
    );
}

#[test]
fn rt_app_files_are_taken_and_refused_as_by_rt_app_but_for_a_reason() {
    let reasons: [&[&str]; 2] = [&["host", "machine"], &["value", "meant", "empty"]];
    let read = |text: &str| rtapp::parse(text, "x").map(drop).map_err(|error| error.to_string());
    assert_eq!(hold(include_str!("verdicts/rtapp.txt"), reasons, read), 75);
}
