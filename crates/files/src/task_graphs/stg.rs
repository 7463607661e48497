//! The Standard Task Graph Set (Kasahara Laboratory, Waseda University; Tobita and Kasahara,
//! Journal of Scheduling 5(5), 2002).
//!
//! ```text
//! 3                      tasks, the dummies at the beginning and at the end not counted; some
//!                        write the number of processors behind it
//! 0   0   0              task, processing time, number of predecessors, predecessors
//! 1   5   1   0
//! …
//! 4   0   2   2 3
//! # comments, also behind a #
//! ```
//!
//! One task a line, from 0 on; the two dummies may be left out. Times are whole numbers of no unit:
//! one is taken for a millisecond on the fastest core. There are no volumes; the sets with
//! communication costs have other lines and are not read.

use super::draft::{Draft, MOST_TASKS, nanos};
use super::fault::{Fault, Place};
use crate::text::cut;

/// What one unit of time is taken for, nanoseconds.
const UNIT_NS: f64 = 1e6;

/// A number and where it stands.
type Number = (u64, Place);

/// True if the first two lines that are not empty begin a graph: the first is one whole number and
/// the next begins with two, or the first is two numbers and the next is task 0's.
pub fn looks_like(text: &str) -> bool {
    let lines = text.lines().map(without_comment).filter(|line| !line.trim().is_empty());
    let mut lines = lines
        .map(|line| line.split_whitespace().map(|it| it.parse::<u64>().ok()).collect::<Vec<_>>());
    matches!(
        (lines.next().as_deref(), lines.next().as_deref()),
        (Some([Some(_)]), Some([Some(_), Some(_), ..]))
            | (Some([Some(_), Some(_)]), Some([Some(0), Some(_), Some(_), ..]))
    )
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or(line)
}

/// Reads a file.
///
/// # Errors
/// The first fault.
pub fn read(text: &str) -> Result<Draft, Fault> {
    let mut lines =
        text.lines().enumerate().filter(|(_, line)| !without_comment(line).trim().is_empty());
    let (number, line) = lines
        .next()
        .ok_or_else(|| Fault::of("nothing found, expected the number of tasks".to_owned()))?;
    let first = numbers(number, line)?;
    let (count, at, processors) = match *first.as_slice() {
        [(count, at)] => (count, at, None),
        [(count, at), (processors, _)] => (count, at, Some(processors)),
        _ => {
            let at = first.get(2).map_or(Place::new(number + 1, 1), |&(_, at)| at);
            let expected = "expected the number of tasks, and perhaps of processors";
            return Err(at.error(format!("{} numbers found, {expected}", first.len())));
        }
    };
    if count > MOST_TASKS as u64 {
        return Err(at.error(format!("{count} tasks found, expected at most {MOST_TASKS}")));
    }
    let mut draft = Draft::default();
    if let Some(processors) = processors {
        draft.notes.push(format!(
            "STG: the machine says how many cores there are, not the file ({processors})"
        ));
    }
    let mut waits_for: Vec<Vec<Number>> = Vec::new();
    for (number, line) in lines {
        waits_for.push(task(&mut draft, &numbers(number, line)?, Place::new(number + 1, 1))?);
    }
    let (found, count) = (draft.tasks.len(), count as usize);
    if found != count && found != count + 2 {
        return Err(Fault::of(format!(
            "{found} tasks found, expected {count} as the first line says, or {} with the two \
             dummies",
            count + 2
        )));
    }
    for (task, before) in waits_for.into_iter().enumerate() {
        for (from, at) in before {
            let known = usize::try_from(from).ok().filter(|&from| from < found);
            let from = known.ok_or_else(|| {
                at.error(format!(
                    "predecessor {from} found, expected a task from 0 to {}",
                    found - 1
                ))
            })?;
            draft.edges.push((from, task, 0));
        }
    }
    Ok(draft)
}

/// Reads the line of a task. Gives its predecessors.
fn task(draft: &mut Draft, numbers: &[Number], start: Place) -> Result<Vec<Number>, Fault> {
    let &[(id, id_at), (time, time_at), (count, count_at), ref before @ ..] = numbers else {
        let what = format!(
            "{} numbers found, expected task, processing time, number of predecessors, \
             predecessors",
            numbers.len()
        );
        return Err(start.error(what));
    };
    if id != draft.tasks.len() as u64 {
        return Err(id_at.error(format!(
            "task {id} found, expected {}: tasks are numbered from 0",
            draft.tasks.len()
        )));
    }
    if count != before.len() as u64 {
        return Err(
            count_at.error(format!("{count} predecessors announced and {} found", before.len()))
        );
    }
    let time = nanos(time as f64, UNIT_NS).ok_or_else(|| {
        time_at.error(format!("processing time {time} found, expected at most 1000000000000"))
    })?;
    draft.tasks.push((id.to_string(), time));
    Ok(before.to_vec())
}

/// The numbers of a line; `number` is how many lines come before it.
fn numbers(number: usize, line: &str) -> Result<Vec<Number>, Fault> {
    let line = without_comment(line);
    let mut numbers = Vec::new();
    let (mut column, mut rest) = (1, line);
    loop {
        let trimmed = rest.trim_start();
        column += rest[..rest.len() - trimmed.len()].chars().count();
        let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
        let (word, after) = trimmed.split_at(end);
        if word.is_empty() {
            return Ok(numbers);
        }
        let at = Place::new(number + 1, column);
        let value = word.parse().map_err(|_| {
            at.error(format!("'{}' found, expected a whole number of 0 or more", cut(word)))
        })?;
        numbers.push((value, at));
        column += word.chars().count();
        rest = after;
    }
}
