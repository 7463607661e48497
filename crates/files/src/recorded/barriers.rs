//! Finds where threads met at barriers.
//!
//! A recording shows of a barrier only that its last arriver wakes all others at one instant. These
//! are taken for a barrier:
//!
//! - **three threads or more** of a process, of which one wakes all others, and none of which was
//!   anywhere else since. This must have happened [`EPISODES`] times or more with the same threads.
//!   And either the waker differs in at least one of ten cases, or the threads are equals:
//!   otherwise a thread that always comes last is a stage that others wait for, as in a pipeline.
//!   If all but one of a known barrier of four or more were woken, the missing thread is taken to
//!   have come so late that it did not fall asleep. It meets the others, too, unless it was yet to
//!   be woken from a meeting that had ended;
//! - **two threads** of a process, of which one wakes the other at least [`EPISODES_OF_TWO`] times,
//!   if they are equals and do not strictly take turns in waking each other: threads that take
//!   turns pass something to and fro.
//!
//! Equals are threads that in four of five cases did the same work, within a tenth, since their
//! last event with another thread. A producer and a consumer of equal work are equals and are taken
//! for a barrier.
//!
//! A run with barriers ends for this reason. When the first thread of an episode was woken, all its
//! threads had done what they did before it, and each did later what it did after it. So the order
//! of the recording, with an episode where its first thread was woken, is one in which all of it
//! can be done. A thread that is woken from an episode after others met elsewhere was in it before
//! they met. If it were late at theirs, it would wait for them there, and they for it where it was
//! woken.

use std::collections::BTreeMap;

use evenkeel_machine::Nanos;

use super::timeline::{Act, Moment, Timeline};

/// The fewest times that three or more threads must have met.
const EPISODES: usize = 3;

/// The fewest times that two threads must have met.
const EPISODES_OF_TWO: usize = 8;

/// The longest time, with the waker on its core, between two wake-ups of one instant. It is some
/// ten times what the kernel takes for each of the threads that it wakes by one futex call.
const INSTANT: Nanos = Nanos(50_000);

/// Two amounts of work are alike within this part of the larger.
const ALIKE: f64 = 0.1;

/// One thread woke others at one instant.
struct Meeting {
    waker: usize,
    /// Places among the waker's moments.
    posts: Vec<usize>,
    sleepers: Vec<usize>,
    /// The threads that met, in ascending order.
    parties: Vec<usize>,
    /// The place in the order of all moments at which the first thread was woken.
    order: u64,
    at: Nanos,
}

/// The barriers found: how many threads meet at each, and how often threads met in all.
#[derive(Default)]
pub struct Barriers {
    pub parties: Vec<u32>,
    pub episodes: u64,
}

/// Finds barriers, and puts [`Act::Barrier`] in place of their waits and wake-ups.
pub fn find(timeline: &mut Timeline) -> Barriers {
    let waits = places_of_waits(timeline);
    let meetings: Vec<_> =
        (0..timeline.threads.len()).flat_map(|waker| meetings(timeline, &waits, waker)).collect();
    let mut by_parties: BTreeMap<&[usize], Vec<&Meeting>> = BTreeMap::new();
    meetings.iter().for_each(|it| by_parties.entry(&it.parties).or_default().push(it));

    let ends = ends_of_waits(timeline, &meetings);

    let is_barrier = |parties: &[usize], met: &[&Meeting]| match parties.len() {
        2 => met.len() >= EPISODES_OF_TWO && are_equals(timeline, &waits, met) && !take_turns(met),
        _ => met.len() >= EPISODES && (are_led_by_many(met) || are_equals(timeline, &waits, met)),
    };
    let known: Vec<&[usize]> = by_parties
        .iter()
        .filter(|(parties, met)| is_barrier(parties, met))
        .map(|(parties, _)| *parties)
        .collect();
    let numbers = known.iter().map(|parties| parties.len() as u32).collect();
    let mut plan = Vec::new();
    for meeting in &meetings {
        if let Some(barrier) = known.iter().position(|parties| *parties == meeting.parties) {
            plan.push((meeting, barrier, None));
        } else if let Some((barrier, late)) = late_at(&known, &meeting.parties)
            && is_about(timeline, &ends, late, meeting)
        {
            plan.push((meeting, barrier, Some(late)));
        }
    }
    let found = Barriers { parties: numbers, episodes: plan.len() as u64 };
    let mut late_ones = Vec::new();
    let mut said = Vec::new();
    for (meeting, barrier, late) in plan {
        for (nth, &place) in meeting.posts.iter().enumerate() {
            said.push((
                meeting.waker,
                place,
                if nth == 0 { Some(Act::Barrier(barrier)) } else { None },
            ));
            if let Act::Post(wake) = timeline.threads[meeting.waker].moments[place].act {
                said.push((timeline.wakes[wake].sleeper, waits[wake], Some(Act::Barrier(barrier))));
            }
        }
        if let Some(late) = late {
            late_ones.push((late, meeting.order, meeting.at, barrier));
        }
    }
    for (thread, place, act) in said {
        // The meeting's first wake-up has become the barrier; the others become no work.
        timeline.threads[thread].moments[place].act = act.unwrap_or(Act::Compute(0));
    }
    for (thread, order, at, barrier) in late_ones {
        insert(&mut timeline.threads[thread].moments, order, at, Act::Barrier(barrier));
    }
    found
}

/// For each wake-up, the index of its wait among the moments of the thread that waited.
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

/// For each wake-up that is part of a meeting, the place in the order at which the meeting's first
/// thread was woken.
fn ends_of_waits(timeline: &Timeline, meetings: &[Meeting]) -> Vec<Option<u64>> {
    let mut ends = vec![None; timeline.wakes.len()];
    for meeting in meetings {
        for &post in &meeting.posts {
            if let Act::Post(wake) = timeline.threads[meeting.waker].moments[post].act {
                ends[wake] = Some(meeting.order);
            }
        }
    }
    ends
}

/// The instants at which a thread woke others and that may be the end of a barrier.
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
                        && moment.to.saturating_sub(it.at)
                            <= Nanos(INSTANT.0 * (it.posts.len() as u64 + 1))
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
    meetings.retain(|it| {
        it.sleepers.iter().all(|&sleeper| timeline.threads[sleeper].process == process)
    });
    for meeting in &mut meetings {
        meeting.parties = meeting.sleepers.clone();
        meeting.parties.push(waker);
        meeting.parties.sort_unstable();
    }
    meetings
}

/// True if the thread's last event before this wait came before `order`.
fn came_before(timeline: &Timeline, thread: usize, wait: usize, order: u64) -> bool {
    let thread = &timeline.threads[thread];
    let before = thread.moments[..wait].iter().rev().find(|moment| moment.act.is_event());
    before.map_or(thread.began, |moment| moment.order) < order
}

/// True if another thread than the usual one comes last in at least one of ten meetings.
fn are_led_by_many(met: &[&Meeting]) -> bool {
    let mut times: BTreeMap<usize, usize> = BTreeMap::new();
    met.iter().for_each(|it| *times.entry(it.waker).or_default() += 1);
    let most = times.values().copied().max().unwrap_or(0);
    (met.len() - most) * 10 >= met.len()
}

/// True if the waker differs from the one before in at least nine of ten meetings.
fn take_turns(met: &[&Meeting]) -> bool {
    let mut in_order: Vec<_> = met.iter().collect();
    in_order.sort_unstable_by_key(|it| it.order);
    let turns = in_order.windows(2).filter(|pair| pair[0].waker != pair[1].waker).count();
    turns * 10 >= (met.len() - 1) * 9
}

/// True if in four of five meetings the threads had done the same work since their last event.
fn are_equals(timeline: &Timeline, waits: &[usize], met: &[&Meeting]) -> bool {
    let alike = met.iter().filter(|it| {
        let own = work_before(&timeline.threads[it.waker].moments, it.posts[0]) as f64;
        it.posts.iter().zip(&it.sleepers).all(|(&post, &sleeper)| {
            let Act::Post(wake) = timeline.threads[it.waker].moments[post].act else {
                return false;
            };
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

/// The only barrier at which all of `parties` and one more thread meet, and that thread.
fn late_at(known: &[&[usize]], parties: &[usize]) -> Option<(usize, usize)> {
    let mut larger = known.iter().enumerate().filter(|(_, all)| {
        all.len() == parties.len() + 1
            && all.len() >= 4
            && parties.iter().all(|it| all.contains(it))
    });
    let (barrier, all) = larger.next()?;
    let late = all.iter().find(|it| !parties.contains(it))?;
    larger.next().is_none().then_some((barrier, *late))
}

/// True if a thread could have arrived at the time of a meeting, and was not yet to be woken from
/// an earlier one.
fn is_about(timeline: &Timeline, ends: &[Option<u64>], thread: usize, meeting: &Meeting) -> bool {
    let thread = &timeline.threads[thread];
    let rest =
        &thread.moments[thread.moments.partition_point(|moment| moment.order < meeting.order)..];
    let is_off = rest.first().is_some_and(|next| {
        matches!(next.act, Act::Wait(_) | Act::Sleep(_)) && next.from < meeting.at
    });
    let is_held = rest
        .iter()
        .find(|moment| moment.act.is_event())
        .is_some_and(|next| matches!(next.act, Act::Wait(wake) if ends[wake].is_some_and(|end| end < meeting.order)));
    !is_off
        && !is_held
        && thread.began < meeting.order
        && thread.ended.is_none_or(|ended| meeting.order < ended)
}

/// Inserts an event at this place in the order. Work that goes on at that time is split there.
fn insert(moments: &mut Vec<Moment>, order: u64, at: Nanos, act: Act) {
    let place = moments.partition_point(|moment| moment.order < order);
    if let Some(next) = moments.get_mut(place)
        && let Act::Compute(work) = next.act
        && next.from < at
    {
        let (before, all) = (
            at.saturating_sub(next.from).0.min(next.to.0 - next.from.0),
            (next.to.0 - next.from.0).max(1),
        );
        let done = (u128::from(work) * u128::from(before) / u128::from(all)) as u64;
        let from = std::mem::replace(&mut next.from, at);
        next.act = Act::Compute(work - done);
        moments.insert(place, Moment { order, from, to: at, act: Act::Compute(done) });
        return moments.insert(place + 1, Moment { order, from: at, to: at, act });
    }
    moments.insert(place, Moment { order, from: at, to: at, act });
}

#[cfg(test)]
mod tests {
    use super::super::facts::{Cpu, Fact, Places, Tid, What};
    use super::super::timeline::Builder;
    use super::*;

    /// Threads 0 to 4, each on a core of its own, meet three times at barrier 0 (threads 0, 1, 2)
    /// and at barrier 1 (threads 1 to 4), half a millisecond apart, another being the last each
    /// time. Then one wakes another, a microsecond apart, as `last` says.
    fn meet(last: [(i32, i32); 4]) -> Timeline {
        let places = Places::default();
        let mut builder = Builder::new(&places);
        let mut take = |at: u64, tid: i32, what: What| {
            builder.take(&Fact { at: Nanos(at), tid: Tid(tid), what })
        };
        (0..5).for_each(|tid| take(0, tid, What::Began { parent: None, process: Tid(0) }));
        (0..5).for_each(|tid| take(0, tid, What::Took(Cpu(tid as u32))));
        for round in 0..3 {
            for (at, first, parties) in [(500_000, 0, 0..3), (1_000_000, 1, 1..5)] {
                let (at, waker) = (round * 1_000_000 + at, round as i32 + first);
                parties
                    .filter(|&it| it != waker)
                    .for_each(|it| take(at, it, What::Woke(Some(Tid(waker)))));
            }
        }
        for (i, (waker, sleeper)) in (0..).zip(last) {
            take(3_500_000 + i * 1_000, sleeper, What::Woke(Some(Tid(waker))));
        }
        builder.finish()
    }

    /// The thread's acts other than work, after three meetings at each of its barriers.
    fn last_acts(timeline: &Timeline, thread: usize) -> Vec<Act> {
        let acts = timeline.threads[thread].moments.iter().map(|moment| moment.act.clone());
        acts.filter(|act| !matches!(act, Act::Compute(_))).skip(6).collect()
    }

    #[test]
    fn who_was_woken_before_the_others_met_comes_late_to_them() {
        let mut timeline = meet([(0, 1), (0, 2), (1, 3), (1, 4)]);
        let found = find(&mut timeline);
        assert_eq!((found.parties, found.episodes), (vec![3, 4], 8));
        assert_eq!(last_acts(&timeline, 1), [Act::Barrier(0), Act::Barrier(1)]);
        assert_eq!(last_acts(&timeline, 2), [Act::Barrier(0), Act::Barrier(1)]);
    }

    #[test]
    fn who_is_woken_from_one_barrier_after_the_others_met_at_the_next_does_not_come_late_to_them() {
        let mut timeline = meet([(0, 1), (1, 3), (1, 4), (0, 2)]);
        let (to_3, to_4) = (timeline.wakes.len() - 3, timeline.wakes.len() - 2);
        let found = find(&mut timeline);
        assert_eq!((found.parties, found.episodes), (vec![3, 4], 7));
        // At barrier 1 first, thread 2 would wait there for thread 1, and thread 1 at barrier 0 for
        // thread 2.
        assert_eq!(last_acts(&timeline, 2), [Act::Barrier(0)]);
        assert_eq!(last_acts(&timeline, 1), [Act::Barrier(0), Act::Post(to_3), Act::Post(to_4)]);
    }
}
