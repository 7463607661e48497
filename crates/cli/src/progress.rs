//! How far long work is: a bar on stderr where that is a terminal, nothing elsewhere.

use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a bar is drawn while nothing happens: it shows that time passes.
const TICK: Duration = Duration::from_millis(250);
/// What is done sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(700);

/// A bar of so many of something, behind what its prefix says.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    styled(
        ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden()),
        &format!("{{prefix}}{{wide_bar}} {{pos}}/{{len}} {what}, {{elapsed}} so far"),
    )
}

/// A line that says what is done, and for how long it has been.
pub fn line(what: &str) -> ProgressBar {
    styled(
        ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
        "{prefix}{spinner} {msg}, {elapsed} so far",
    )
    .with_message(what.to_owned())
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    // A template that does not parse is no reason to go without the work.
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    if io::stderr().is_terminal() {
        let shown = bar.clone();
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            if !shown.is_finished() {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
    }
    bar
}
