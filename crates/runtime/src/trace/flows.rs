//! Arrows: from a task to those that had to wait for it, from a wake-up to the end of a sleep.

use evenkeel_machine::Nanos;

use super::recorder::Event;
use super::{TaskId, What};

/// An event: its worker, and its place among the worker's events.
pub type Slot = (u32, u32);

/// Arrows by number, from 0.
#[derive(Debug, Default)]
pub struct Flows {
    /// In the order of their starts.
    from: Vec<(Slot, u32)>,
    /// In the order of their ends.
    to: Vec<(Slot, u32)>,
}

impl Flows {
    /// Arrows of workers' events, each worker's in order of their beginning, and of the recorded
    /// dependences.
    pub fn of(workers: &[Vec<Event>], edges: &[Event]) -> Self {
        let mut arrows = dependences(workers, edges);
        arrows.extend(wake_ups(workers));
        arrows.sort_unstable();
        // Two tasks that share several things depend on each other once.
        arrows.dedup();
        let numbered = || arrows.iter().zip(0..);
        let from = numbered().map(|(arrow, number)| (arrow.0, number)).collect();
        let mut to: Vec<_> = numbered().map(|(arrow, number)| (arrow.1, number)).collect();
        to.sort_unstable();
        Self { from, to }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.from.len()
    }

    /// Arrows that start at an event, and arrows that end there.
    pub fn at(&self, slot: Slot) -> [impl Iterator<Item = u32>; 2] {
        [&self.from, &self.to].map(|arrows| {
            let first = arrows.partition_point(|arrow| arrow.0 < slot);
            arrows[first..].iter().take_while(move |arrow| arrow.0 == slot).map(|arrow| arrow.1)
        })
    }
}

fn all(workers: &[Vec<Event>]) -> impl Iterator<Item = (Slot, &Event)> {
    let of = |(events, worker): (&'_ Vec<Event>, u32)| {
        (0..events.len() as u32).map(move |at| (worker, at))
    };
    let slots = workers.iter().zip(0..).flat_map(of);
    slots.zip(workers.iter().flatten())
}

/// Arrows of dependences. A task's number comes again after 65,536 tasks in one block, so the time
/// tells which task is meant.
fn dependences(workers: &[Vec<Event>], edges: &[Event]) -> Vec<(Slot, Slot)> {
    let ran = all(workers).filter_map(|(slot, event)| match event.what {
        What::Task(_, id) if id != TaskId::default() => Some((id, event.from, slot)),
        _ => None,
    });
    let mut ran: Vec<_> = ran.collect();
    ran.sort_unstable();
    let arrow = |at: Nanos, before: TaskId, after: TaskId| {
        let next = ran.partition_point(|&(id, from, _)| (id, from) < (after, at));
        let &(_, began, to) = ran.get(next).filter(|it| it.0 == after)?;
        let next = ran.partition_point(|&(id, from, _)| (id, from) <= (before, began));
        let &(_, _, from) =
            next.checked_sub(1).and_then(|last| ran.get(last)).filter(|it| it.0 == before)?;
        (from != to).then_some((from, to))
    };
    let arrows = edges.iter().filter_map(|event| match event.what {
        What::Edge(before, after) => arrow(event.from, before, after),
        _ => None,
    });
    arrows.collect()
}

/// A worker is woken once from each sleep, and the wake-up is recorded before it.
fn wake_ups(workers: &[Vec<Event>]) -> Vec<(Slot, Slot)> {
    let ends = |worker: u32| {
        let events = workers.get(worker as usize).map_or(&[][..], |events| events);
        events
            .iter()
            .zip(0..)
            .filter(|(event, _)| event.what == What::Awake)
            .map(move |(it, at)| (it.from, (worker, at)))
    };
    let ends: Vec<Vec<_>> =
        (0..workers.len() as u32).map(|worker| ends(worker).collect()).collect();
    let arrow = |(slot, event): (Slot, &Event)| {
        let What::Woke(woken) = event.what else { return None };
        let ends = ends.get(woken as usize)?;
        let &(_, end) = ends.get(ends.partition_point(|&(at, _)| at < event.from))?;
        Some((slot, end))
    };
    all(workers).filter_map(arrow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Label;

    fn event(from: u64, to: u64, what: What) -> Event {
        Event { from: Nanos(from), to: Nanos(to), what }
    }

    fn arrows(workers: &[Vec<Event>], edges: &[Event]) -> Vec<(Slot, Slot)> {
        let flows = Flows::of(workers, edges);
        let mut arrows = vec![((0, 0), (0, 0)); flows.len()];
        for (slot, _) in all(workers) {
            let [from, to] = flows.at(slot);
            from.for_each(|arrow| arrows[arrow as usize].0 = slot);
            to.for_each(|arrow| arrows[arrow as usize].1 = slot);
        }
        arrows
    }

    #[test]
    fn an_arrow_leads_to_the_task_that_was_created_last_where_several_had_the_same_place() {
        let task = |place| What::Task(Label(0), TaskId(place));
        let edge = event(10, 10, What::Edge(TaskId(7), TaskId(9)));
        let first = vec![event(0, 5, task(9)), event(6, 8, task(7)), event(30, 40, task(9))];
        let second = vec![event(12, 20, task(7)), event(50, 60, task(9))];
        let arrows = arrows(&[first, second], &[edge, edge]);
        assert_eq!(arrows, [((1, 0), (0, 2))], "7 ran at 12 last before 9 ran at 30");
    }

    #[test]
    fn a_dependence_on_a_task_that_was_not_recorded_has_no_arrow() {
        let edge = event(10, 10, What::Edge(TaskId(7), TaskId(9)));
        assert!(
            arrows(&[vec![event(12, 20, What::Task(Label(0), TaskId(9)))]], &[edge]).is_empty()
        );
    }

    #[test]
    fn a_wake_up_leads_to_the_end_of_the_sleep_that_it_ended() {
        let waker = vec![event(25, 25, What::Woke(1)), event(70, 70, What::Woke(1))];
        let sleep = |from, to| [event(from, to, What::Asleep), event(to, to, What::Awake)];
        let woken = [sleep(0, 10), sleep(20, 30), sleep(40, 80)].concat();
        assert_eq!(arrows(&[waker, woken], &[]), [((0, 0), (1, 3)), ((0, 1), (1, 5))]);
    }
}
