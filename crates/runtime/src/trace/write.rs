//! From what workers recorded to packets.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{Result, Write};

use evenkeel_machine::Nanos;
use evenkeel_perfetto::Sequence;
use evenkeel_perfetto::proto::{DebugAnnotation, EventType, TrackEvent};

use crate::costs::Label;
use crate::team::Team;

use super::What;
use super::flows::Flows;
use super::recorder::Event;

/// The part of a trace that is one pool's.
pub struct Recorded<'a> {
    /// The system's clock when the trace begins.
    pub boot: Nanos,
    /// The workers' cores.
    pub team: &'a Team,
    /// Names of tasks, by label less 1.
    pub labels: Vec<&'static str>,
    /// Indexed by worker.
    pub logs: Vec<Vec<Event>>,
}

/// One worker's events, on its track.
struct Lane {
    track: u64,
    events: Vec<Event>,
    /// The next event to begin.
    next: usize,
    /// Ends of those that have begun, each within the one before it.
    open: Vec<Nanos>,
}

impl Recorded<'_> {
    /// Writes it as that of pool `number` of the process, from 1.
    pub fn write(mut self, number: u32, out: &mut dyn Write) -> Result<()> {
        let mut sequence = Sequence::begin(out, number, self.boot)?;
        let group = sequence.group(&format!("evenkeel, pool {number}"))?;
        let mut edges = Vec::new();
        let mut in_order = |mut events: Vec<Event>| {
            edges.extend(events.extract_if(.., |event| matches!(event.what, What::Edge(..))));
            in_order(events)
        };
        let workers: Vec<_> =
            std::mem::take(&mut self.logs).into_iter().map(&mut in_order).collect();
        let flows = Flows::of(&workers, &edges);
        let arrows: Vec<_> = (0..flows.len()).map(|_| sequence.flow()).collect();
        let mut lanes = Vec::with_capacity(workers.len());
        for (worker, events) in workers.into_iter().enumerate() {
            let track = sequence.track(group, &self.track_name(worker), None)?;
            lanes.push(Lane { track, events, next: 0, open: Vec::new() });
        }

        let mut names = HashMap::new();
        let soonest = lanes
            .iter()
            .enumerate()
            .filter_map(|(worker, lane)| Some(Reverse((lane.next_at()?, worker))));
        let mut soonest: BinaryHeap<_> = soonest.collect();
        while let Some(Reverse((at, worker))) = soonest.pop() {
            let lane = &mut lanes[worker];
            let slot = (worker as u32, lane.next as u32);
            let mut event = TrackEvent { track_uuid: Some(lane.track), ..TrackEvent::default() };
            if let Some(begun) = lane.step() {
                let name = self.name(begun.what);
                let iid = *names.entry(name).or_insert_with_key(|name| sequence.name(name.clone()));
                let kind =
                    if is_instant(begun.what) { EventType::Instant } else { EventType::SliceBegin };
                let [from, to] =
                    flows.at(slot).map(|it| it.map(|arrow| arrows[arrow as usize]).collect());
                (event.r#type, event.name_iid) = (Some(kind.into()), Some(iid));
                (event.flow_ids, event.terminating_flow_ids) = (from, to);
                event.debug_annotations = annotations(begun.what);
            } else {
                event.r#type = Some(EventType::SliceEnd.into());
            }
            sequence.event(at, event)?;
            soonest.extend(lanes[worker].next_at().map(|at| Reverse((at, worker))));
        }
        sequence.finish()
    }

    fn track_name(&self, worker: usize) -> String {
        let place = self.team.place(worker);
        let kind =
            self.team.kinds.iter().find(|kind| kind.id == place.kind).map_or("", |kind| &kind.name);
        match place.cpu {
            _ if worker >= self.team.places.len() => format!("any core ({kind}), in reserve"),
            Some(cpu) => format!("core {cpu} ({kind}), worker {worker}"),
            None => format!("any core ({kind}), worker {worker}"),
        }
    }

    fn name(&self, what: What) -> Cow<'static, str> {
        let label = |label: Label| {
            (label.0 as usize).checked_sub(1).and_then(|at| self.labels.get(at)).copied()
        };
        match what {
            What::Task(name, _) => label(name).unwrap_or("task").into(),
            What::Chunk(name, ..) => label(name).unwrap_or("loop").into(),
            What::Stage(name, stage, _) => {
                label(name).map_or_else(|| format!("stage {stage}").into(), Cow::from)
            }
            What::Call => "call from outside".into(),
            What::Half => "join".into(),
            What::Looking => "looking".into(),
            What::Asleep => "asleep".into(),
            What::Awake => "awake".into(),
            What::Stole(_) => "steal".into(),
            What::Woke(_) => "wake".into(),
            What::Lent(_) => "core lent".into(),
            What::Edge(..) => "dependence".into(),
        }
    }
}

/// In order of their beginning, what is within something else after it; with an end to every sleep.
fn in_order(mut events: Vec<Event>) -> Vec<Event> {
    let sleeps: Vec<_> =
        events.iter().filter(|event| event.what == What::Asleep).map(|sleep| sleep.to).collect();
    events.extend(sleeps.into_iter().map(|at| Event { from: at, to: at, what: What::Awake }));
    // Inner events ended first, and so were recorded first.
    events.reverse();
    events.sort_by_key(|event| (event.from, Reverse(event.to)));
    events
}

const fn is_instant(what: What) -> bool {
    matches!(what, What::Awake | What::Stole(_) | What::Woke(_) | What::Lent(_))
}

fn annotations(what: What) -> Vec<DebugAnnotation> {
    let number = |name: &str, value: i64| DebugAnnotation {
        name: Some(name.into()),
        int_value: Some(value),
    };
    match what {
        What::Chunk(_, first, count) => {
            vec![number("first", first), number("end", first.wrapping_add(count as i64))]
        }
        What::Stage(.., item) => vec![number("item", item as i64)],
        What::Stole(worker) => vec![number("from worker", worker.into())],
        What::Woke(worker) | What::Lent(worker) => vec![number("worker", worker.into())],
        What::Task(..)
        | What::Call
        | What::Half
        | What::Looking
        | What::Asleep
        | What::Awake
        | What::Edge(..) => {
            vec![]
        }
    }
}

impl Lane {
    /// When the next thing begins or ends here.
    fn next_at(&self) -> Option<Nanos> {
        let begins = self.events.get(self.next).map(|event| event.from);
        let ends = self.open.last().copied();
        begins.into_iter().chain(ends).min()
    }

    /// Goes on to it: what begins; None: something ends.
    fn step(&mut self) -> Option<Event> {
        let begins = self.events.get(self.next).copied();
        let ends = self.open.last();
        let Some(event) = begins.filter(|event| ends.is_none_or(|&end| event.from < end)) else {
            self.open.pop();
            return None;
        };
        self.next += 1;
        if !is_instant(event.what) {
            let end = ends.map_or(event.to, |&end| event.to.min(end));
            self.open.push(end);
        }
        Some(event)
    }
}
