//! Memory of pending tasks: each in a process of its own, where nothing is left over from earlier.

use std::process::Command;

use super::cases::TASKS;
use super::system::Answer;
use super::{ours, rayon};

/// Argument that asks this program for one case of one system: `--memory=SYSTEM:CASE`.
const ARGUMENT: &str = "--memory=";

/// Memory that this process has, bytes.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size() as f64
}

/// What `f` adds to that, for each of a million tasks.
pub fn growth(f: impl FnOnce()) -> f64 {
    let before = resident();
    f();
    (resident() - before) / TASKS as f64
}

pub fn in_a_fresh_process(system: &str, case: &str) -> Option<Answer> {
    let output = Command::new(std::env::current_exe().ok()?)
        .arg(format!("{ARGUMENT}{system}:{case}"))
        .output()
        .ok()?;
    let value = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
    Some(Answer { value, check: 0 })
}

/// Answers where this process is such a one.
pub fn is_asked_for() -> bool {
    let asked = std::env::args().find_map(|arg| arg.strip_prefix(ARGUMENT).map(str::to_owned));
    let Some((system, case)) = asked.as_deref().and_then(|asked| asked.split_once(':')) else {
        return false;
    };
    let bytes = if system == "rayon" { rayon::pending(case) } else { ours::pending(case) };
    println!("{}", bytes.map_or_else(|| "none".into(), |bytes| bytes.to_string()));
    true
}
