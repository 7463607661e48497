//! Where threads met at barriers.
//!
//! What is seen of a barrier is that its last arriver wakes all others at one instant. Taken for one are
//!
//! - **three threads or more** of a process, of which one wakes all others, none of which was anywhere else since, at least
//!   [`EPISODES`] times with the same threads, if in one of ten cases it is another that wakes, or if they are equals. One thread that always
//!   is the last is else a stage that others wait for, as in a pipeline. Where all but one were woken, and four or more is a known
//!   barrier's number, the one is taken to have come so late that it did not fall asleep: it meets the others, too;
//! - **two threads** of a process, of which one wakes the other at least [`EPISODES_OF_TWO`] times, if they are equals and do not
//!   strictly take turns in waking each other: who does passes something to and fro.
//!
//! Equals are threads that in four of five cases did the same work since they last dealt with anybody, within a tenth. A producer
//! and a consumer of equal work are equals and are taken for a barrier.
//!
//! What makes a run with barriers end: an episode's threads had all done what they did before it when the first of them was
//! woken, and each did what it did after it later. So the order of the recording is one in which all of it can be done.

use std::collections::BTreeMap;

use evenkeel_machine::Nanos;

use super::timeline::{Act, Moment, Timeline};

/// The fewest times that three or more threads must have met.
const EPISODES: usize = 3;

/// The fewest times that two threads must have met.
const EPISODES_OF_TWO: usize = 8;

/// Longer between two wake-ups by one thread, on its core, and they are not of one instant: some ten times what the kernel takes for
/// each of the threads that it wakes by one futex call.
const INSTANT: Nanos = Nanos(50_000);

/// Two amounts of work are alike within this part of the larger.
const ALIKE: f64 = 0.1;

/// One thread woke others at one instant.
struct Meeting {
    waker: usize,
    /// Places among the waker's moments.
    posts: Vec<usize>,
    sleepers: Vec<usize>,
    /// Who met, in order.
    parties: Vec<usize>,
    /// In the order of all moments, where the first was woken.
    order: u64,
    at: Nanos,
}

/// Barriers that were found: how many threads meet at each, and how often they did in all.
#[derive(Default)]
pub struct Barriers {
    pub parties: Vec<u32>,
    pub episodes: u64,
}

/// Finds barriers, and says [`Act::Barrier`] for the waits and wake-ups that they were.
pub fn find(timeline: &mut Timeline) -> Barriers {
    let waits = places_of_waits(timeline);
    let meetings: Vec<_> = (0..timeline.threads.len()).flat_map(|waker| meetings(timeline, &waits, waker)).collect();
    let mut by_parties: BTreeMap<&[usize], Vec<&Meeting>> = BTreeMap::new();
    meetings.iter().for_each(|it| by_parties.entry(&it.parties).or_default().push(it));

    let is_barrier = |parties: &[usize], met: &[&Meeting]| match parties.len() {
        2 => met.len() >= EPISODES_OF_TWO && are_equals(timeline, &waits, met) && !take_turns(met),
        _ => met.len() >= EPISODES && (are_led_by_many(met) || are_equals(timeline, &waits, met)),
    };
    let known: Vec<&[usize]> =
        by_parties.iter().filter(|(parties, met)| is_barrier(parties, met)).map(|(parties, _)| *parties).collect();
    let numbers = known.iter().map(|parties| parties.len() as u32).collect();
    let mut plan = Vec::new();
    for meeting in &meetings {
        if let Some(barrier) = known.iter().position(|parties| *parties == meeting.parties) {
            plan.push((meeting, barrier, None));
        } else if let Some((barrier, late)) = late_at(&known, &meeting.parties)
            && is_about(timeline, late, meeting)
        {
            plan.push((meeting, barrier, Some(late)));
        }
    }
    let found = Barriers { parties: numbers, episodes: plan.len() as u64 };
    let mut late_ones = Vec::new();
    let mut said = Vec::new();
    for (meeting, barrier, late) in plan {
        for (nth, &place) in meeting.posts.iter().enumerate() {
            said.push((meeting.waker, place, if nth == 0 { Some(Act::Barrier(barrier)) } else { None }));
            if let Act::Post(wake) = timeline.threads[meeting.waker].moments[place].act {
                said.push((timeline.wakes[wake].sleeper, waits[wake], Some(Act::Barrier(barrier))));
            }
        }
        if let Some(late) = late {
            late_ones.push((late, meeting.order, meeting.at, barrier));
        }
    }
    for (thread, place, act) in said {
        // What is said already by the first wake-up is no work.
        timeline.threads[thread].moments[place].act = act.unwrap_or(Act::Compute(0));
    }
    for (thread, order, at, barrier) in late_ones {
        insert(&mut timeline.threads[thread].moments, order, at, Act::Barrier(barrier));
    }
    found
}

/// Per wake-up, where among its thread's moments the wait is.
fn places_of_waits(timeline: &Timeline) -> Vec<usize> {
    let mut waits = vec![0; timeline.wakes.len()];
    for thread in &timeline.threads {
        for (place, moment) in thread.moments.iter().enumerate() {
            if let Act::Wait(wake) = moment.act {
                waits[wake] = place;
            }
        }
    }
    waits
}

/// The instants at which a thread woke others that can have been the end of a barrier.
fn meetings(timeline: &Timeline, waits: &[usize], waker: usize) -> Vec<Meeting> {
    let process = timeline.threads[waker].process;
    let mut meetings: Vec<Meeting> = Vec::new();
    let mut open = false;
    for (place, moment) in timeline.threads[waker].moments.iter().enumerate() {
        match moment.act {
            Act::Compute(work) => open &= work <= INSTANT.0,
            Act::Post(wake) => {
                let sleeper = timeline.wakes[wake].sleeper;
                let continues = |it: &&mut Meeting| {
                    open && !it.sleepers.contains(&sleeper)
                        && came_before(timeline, sleeper, waits[wake], it.order)
                        && moment.to.saturating_sub(it.at) <= Nanos(INSTANT.0 * (it.posts.len() as u64 + 1))
                };
                match meetings.last_mut().filter(continues) {
                    Some(meeting) => {
                        meeting.posts.push(place);
                        meeting.sleepers.push(sleeper);
                    }
                    None => meetings.push(Meeting {
                        waker,
                        posts: vec![place],
                        sleepers: vec![sleeper],
                        parties: Vec::new(),
                        order: moment.order,
                        at: moment.to,
                    }),
                }
                open = true;
            }
            _ => open = false,
        }
    }
    meetings.retain(|it| it.sleepers.iter().all(|&sleeper| timeline.threads[sleeper].process == process));
    for meeting in &mut meetings {
        meeting.parties = meeting.sleepers.clone();
        meeting.parties.push(waker);
        meeting.parties.sort_unstable();
    }
    meetings
}

/// Whether all that a thread did between others before this wait was over at this place in the order.
fn came_before(timeline: &Timeline, thread: usize, wait: usize, order: u64) -> bool {
    let thread = &timeline.threads[thread];
    let before = thread.moments[..wait].iter().rev().find(|moment| moment.act.is_event());
    before.map_or(thread.began, |moment| moment.order) < order
}

/// Whether it often is another thread that comes last.
fn are_led_by_many(met: &[&Meeting]) -> bool {
    let mut times: BTreeMap<usize, usize> = BTreeMap::new();
    met.iter().for_each(|it| *times.entry(it.waker).or_default() += 1);
    let most = times.values().copied().max().unwrap_or(0);
    (met.len() - most) * 10 >= met.len()
}

/// Whether who wakes is, nearly always, who was woken the last time.
fn take_turns(met: &[&Meeting]) -> bool {
    let mut in_order: Vec<_> = met.iter().collect();
    in_order.sort_unstable_by_key(|it| it.order);
    let turns = in_order.windows(2).filter(|pair| pair[0].waker != pair[1].waker).count();
    turns * 10 >= (met.len() - 1) * 9
}

/// Whether threads that met mostly did the same work since they last dealt with anybody.
fn are_equals(timeline: &Timeline, waits: &[usize], met: &[&Meeting]) -> bool {
    let alike = met.iter().filter(|it| {
        let own = work_before(&timeline.threads[it.waker].moments, it.posts[0]) as f64;
        it.posts.iter().zip(&it.sleepers).all(|(&post, &sleeper)| {
            let Act::Post(wake) = timeline.threads[it.waker].moments[post].act else { return false };
            let others = work_before(&timeline.threads[sleeper].moments, waits[wake]) as f64;
            (own - others).abs() <= ALIKE * own.max(others)
        })
    });
    alike.count() * 5 >= met.len() * 4
}

/// Work since the last event before this moment.
fn work_before(moments: &[Moment], place: usize) -> u64 {
    let works = moments[..place].iter().rev().map_while(|moment| match moment.act {
        Act::Compute(work) => Some(work),
        _ => None,
    });
    works.sum()
}

/// The only barrier that all of these but one meet at, and that one.
fn late_at(known: &[&[usize]], parties: &[usize]) -> Option<(usize, usize)> {
    let mut larger = known.iter().enumerate().filter(|(_, all)| {
        all.len() == parties.len() + 1 && all.len() >= 4 && parties.iter().all(|it| all.contains(it))
    });
    let (barrier, all) = larger.next()?;
    let late = all.iter().find(|it| !parties.contains(it))?;
    larger.next().is_none().then_some((barrier, *late))
}

/// Whether a thread could go on at the time of a meeting.
fn is_about(timeline: &Timeline, thread: usize, meeting: &Meeting) -> bool {
    let thread = &timeline.threads[thread];
    let next = thread.moments.get(thread.moments.partition_point(|moment| moment.order < meeting.order));
    let is_off = next.is_some_and(|next| matches!(next.act, Act::Wait(_) | Act::Sleep(_)) && next.from < meeting.at);
    !is_off && thread.began < meeting.order && thread.ended.is_none_or(|ended| meeting.order < ended)
}

/// Puts an event in where the thread was at this place in the order. Work that goes on then is parted, by time.
fn insert(moments: &mut Vec<Moment>, order: u64, at: Nanos, act: Act) {
    let place = moments.partition_point(|moment| moment.order < order);
    if let Some(next) = moments.get_mut(place)
        && let Act::Compute(work) = next.act
        && next.from < at
    {
        let (before, all) =
            (at.saturating_sub(next.from).0.min(next.to.0 - next.from.0), (next.to.0 - next.from.0).max(1));
        let done = (u128::from(work) * u128::from(before) / u128::from(all)) as u64;
        let from = std::mem::replace(&mut next.from, at);
        next.act = Act::Compute(work - done);
        moments.insert(place, Moment { order, from, to: at, act: Act::Compute(done) });
        return moments.insert(place + 1, Moment { order, from: at, to: at, act });
    }
    moments.insert(place, Moment { order, from: at, to: at, act });
}
