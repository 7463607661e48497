//! The page and the tables of a study as text; tests/run-browser.sh opens the page in a browser.
#![allow(clippy::unwrap_used)]

mod common;

use common::study::study;
use evenkeel_report::html;
use evenkeel_report::table::Style;
use evenkeel_studies::Reproduction;

#[test]
fn names_from_outside_stay_text() {
    const NAME: &str = "</script><b>&\"'<!--\u{7}";
    let page = html::study(&study(NAME), NAME);
    assert_eq!(page.matches("</script").count(), 3, "only the page's own scripts end");
    assert!(!page.contains("<b>&\"") && !page.contains("<!--"));
    let text = evenkeel_report::study(&study("a\u{1b}[2Jb"), Style::default());
    assert!(!text.contains('\u{1b}'), "nothing moves the cursor");
}

#[test]
fn the_page_refers_to_nothing_outside_itself_and_has_all_tables_without_scripts() {
    let page = html::study(&study("acfs"), "");
    let own = page.split("<script>").next().unwrap();
    for reference in ["src=", "url(", "@import", "http://", "https://"] {
        assert!(!own.contains(reference), "{reference}");
    }
    assert_eq!(own.matches("<tr>").count(), 2 + 27 + 3);
    for part in [
        "Dice were thrown",
        "acfs was made up.",
        "Quick:",
        "<small>J</small>",
        "3. Speedups",
        "<td>-</td>",
    ] {
        assert!(own.contains(part), "{part}");
    }
}

#[test]
fn a_study_that_was_run_live_does_not_say_that_it_was_simulated() {
    let simulated = study("acfs");
    let live = Reproduction { live: true, ..study("acfs") };
    let pages = [&simulated, &live].map(|study| html::study(study, ""));
    assert_eq!(
        pages.each_ref().map(|page| page.contains("carried out again in the simulator")),
        [true, false]
    );
    assert_eq!(pages.map(|page| page.contains("run on this machine")), [false, true]);
    let texts = [&simulated, &live].map(|study| evenkeel_report::study(study, Style::default()));
    assert_eq!(texts.map(|text| text.contains("about a tenth of the runs")), [true, false]);
}

#[test]
fn there_is_a_place_for_each_panel_and_none_for_a_figure_that_cannot_be_drawn() {
    let page = html::study(&study("acfs"), "");
    assert_eq!(page.matches("data-plot=\"figure\"").count(), 3 + 3 + 1 + 1 + 1);
    assert!(!page.contains("no such column"));
}

#[test]
fn a_figure_called_as_its_table_has_no_heading_of_its_own_and_says_what_it_has_no_place_for() {
    let page = html::study(&study("acfs"), "");
    assert_eq!(page.matches("<h3>One program</h3>").count(), 1);
    assert_eq!(page.matches("<figcaption>").count(), 4);
    assert!(!page.contains("<figcaption>One program"));
    assert_eq!(page.matches("no place for 0").count(), 1, "of lines; bars have their 0 written");
}

#[test]
fn tables_of_a_terminal_are_headed_and_fit() {
    let text = evenkeel_report::study(&study("acfs"), Style { width: 60, ..Style::default() });
    for part in [
        "made-up: A study that nobody made",
        "3. Speedups\n═══",
        "Quick:",
        "* acfs was made up.",
        "One program",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
}

#[test]
fn same_input_same_bytes() {
    assert_eq!(html::study(&study("acfs"), "x"), html::study(&study("acfs"), "x"));
}
