//! Folds long programs into loops.
//!
//! A body of up to [`LONGEST_BODY`] steps that comes [`FEWEST`] times or more in a row becomes a
//! [`Step::Loop`]. Bodies are the same if their steps are, one by one, where work and sleep may
//! differ from those of the first body by [`TOLERANCE`] of the larger or [`SLACK_NS`]. The loop has
//! the mean of each; what the division leaves over of the work stands behind the loop, so that the
//! program's work is kept to the nanosecond. Folding goes on with loops as steps, [`PASSES`] times.

use evenkeel_machine::{Nanos, Work};

use evenkeel_model::{PhaseId, Step};

/// Work and sleep of two bodies may differ by this part of the larger.
pub const TOLERANCE: f64 = 0.05;

/// They may differ by so many nanoseconds in any case.
pub const SLACK_NS: u64 = 5_000;

/// The most steps of a body.
const LONGEST_BODY: usize = 32;

/// The fewest bodies in a row that become a loop.
const FEWEST: usize = 3;

/// How often the program is passed over: loops nest as deep as this.
const PASSES: usize = 6;

/// The same program with loops. All its work must be in one phase.
pub fn fold(mut steps: Vec<Step>) -> Vec<Step> {
    for _ in 0..PASSES {
        let before = steps.len();
        steps = pass(steps);
        if steps.len() == before {
            break;
        }
    }
    steps
}

fn pass(steps: Vec<Step>) -> Vec<Step> {
    let mut folded: Vec<Step> = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let mut best = (1, 1);
        for length in 1..=LONGEST_BODY.min((steps.len() - at) / FEWEST) {
            let times = repeats(&steps[at..], length);
            if times >= FEWEST && times * length > best.0 * best.1 {
                best = (length, times);
            }
        }
        let (length, times) = best;
        if times < FEWEST {
            append(&mut folded, steps[at].clone());
            at += 1;
            continue;
        }
        let bodies: Vec<&[Step]> = steps[at..at + length * times].chunks(length).collect();
        let mut left = 0;
        let body = mean(&bodies, 1, &mut left);
        let phase = first_phase(&body).unwrap_or(PhaseId(0));
        folded.push(Step::Loop { times: Some(times as u64), body });
        if left > 0 {
            append(&mut folded, Step::Compute { work: Work(left), phase });
        }
        at += length * times;
    }
    folded
}

/// Adds a step; work right after work is one piece of it.
fn append(steps: &mut Vec<Step>, step: Step) {
    if let (Some(Step::Compute { work: before, phase }), Step::Compute { work, phase: of }) =
        (steps.last_mut(), &step)
        && phase == of
    {
        *before += *work;
        return;
    }
    steps.push(step);
}

/// How often the first `length` steps come in a row.
fn repeats(steps: &[Step], length: usize) -> usize {
    let (first, rest) = steps.split_at(length);
    1 + rest.chunks_exact(length).take_while(|body| alike(first, body)).count()
}

fn alike(a: &[Step], b: &[Step]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| match (a, b) {
            (Step::Compute { work: a, phase }, Step::Compute { work: b, phase: other }) => {
                phase == other && close(a.0, b.0)
            }
            (Step::Sleep(a), Step::Sleep(b)) => close(a.0, b.0),
            (Step::Loop { times: a, body }, Step::Loop { times: b, body: other }) => {
                a == b && alike(body, other)
            }
            (a, b) => a == b,
        })
}

fn close(a: u64, b: u64) -> bool {
    let apart = a.abs_diff(b);
    apart <= SLACK_NS || apart as f64 <= TOLERANCE * a.max(b) as f64
}

/// The mean of bodies that are alike, each done `times` times. Adds to `left` the work that is in
/// them and not in as many means.
fn mean(bodies: &[&[Step]], times: u64, left: &mut u64) -> Vec<Step> {
    let count = bodies.len() as u128;
    let average = |sum: u128| ((sum / count) as u64, (sum % count) as u64);
    let at = |place: usize| bodies.iter().map(move |body| &body[place]);
    let first = bodies.first().copied().unwrap_or_default();
    let step = |(place, step): (usize, &Step)| match step {
        Step::Compute { phase, .. } => {
            let sum = at(place).map(|step| {
                if let Step::Compute { work, .. } = step { work.0.into() } else { 0_u128 }
            });
            let (work, rest) = average(sum.sum());
            *left += rest * times;
            Step::Compute { work: Work(work), phase: *phase }
        }
        Step::Sleep(_) => {
            let sum = at(place)
                .map(|step| if let Step::Sleep(time) = step { time.0.into() } else { 0_u128 });
            Step::Sleep(Nanos(average(sum.sum()).0))
        }
        Step::Loop { times: inner, .. } => {
            let inside: Vec<&[Step]> = at(place)
                .map(|step| if let Step::Loop { body, .. } = step { &body[..] } else { &[] })
                .collect();
            Step::Loop { times: *inner, body: mean(&inside, times * inner.unwrap_or(1), left) }
        }
        other => other.clone(),
    };
    first.iter().enumerate().map(step).collect()
}

fn first_phase(steps: &[Step]) -> Option<PhaseId> {
    steps.iter().find_map(|step| match step {
        Step::Compute { phase, .. } => Some(*phase),
        Step::Loop { body, .. } => first_phase(body),
        _ => None,
    })
}
