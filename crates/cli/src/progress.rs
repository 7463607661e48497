//! Progress of long work: a bar on stderr if that is a terminal, else nothing.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::thread;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// How often a bar is drawn while nothing happens, to show that time passes.
const TICK: Duration = Duration::from_millis(250);
/// Work that takes less than this shows nothing.
const SHOWN_AFTER: Duration = Duration::from_millis(700);

/// A bar of `length` steps, after the text of its prefix.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    styled(
        ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden()),
        &format!("{{prefix}}{{wide_bar}} {{pos}}/{{len}} {what}, {{elapsed}} so far"),
    )
}

/// A bar of `length` steps that also says how long is left.
pub fn long_bar(length: u64, what: &str) -> ProgressBar {
    styled(
        ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden()),
        &format!(
            "{{prefix}}{{wide_bar}} {{human_pos}}/{{human_len}} {what}, {{elapsed}} so far, \
             {{left}} left"
        ),
    )
}

/// A line with what is done, and for how long.
pub fn line(what: &str) -> ProgressBar {
    styled(
        ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
        "{prefix}{spinner} {msg}, {elapsed} so far",
    )
    .with_message(what.to_owned())
}

/// How long is left, which is not known before anything is done.
fn left(state: &ProgressState, to: &mut dyn fmt::Write) {
    let left = state.eta();
    let is_known = !left.is_zero() || state.len() == Some(state.pos());
    // A line that cannot be drawn is not drawn.
    let _ = match is_known {
        true => write!(to, "{:#}", HumanDuration(left)),
        false => write!(to, "?"),
    };
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    // Without a valid template the work goes on with a plain bar.
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.with_key("left", left)),
        Err(_) => bar,
    };
    if io::stderr().is_terminal() {
        let shown = bar.clone();
        thread::spawn(move || {
            thread::sleep(SHOWN_AFTER);
            if !shown.is_finished() {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
    }
    bar
}
