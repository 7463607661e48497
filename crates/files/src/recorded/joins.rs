//! Finds where threads waited for the threads that they had forked.
//!
//! A thread waited for all that it forked ([`Act::JoinAll`]) if one of its children woke it, that
//! was the child's last event, and all its children have ended. This holds even if other children
//! had ended before and no wait for them was seen: on another machine they may be the last. If a
//! thread waits for its children one by one, each wakes it like any other thread, and only the last
//! wait is a join.

use super::timeline::{Act, Timeline};

/// Finds joins, and puts [`Act::JoinAll`] in their place.
pub fn find(timeline: &mut Timeline) {
    let mut found = Vec::new();
    for (parent, thread) in timeline.threads.iter().enumerate() {
        let mut forked: Vec<usize> = Vec::new();
        for (place, moment) in thread.moments.iter().enumerate() {
            match moment.act {
                Act::Fork(child) => forked.push(child),
                Act::Wait(wake) => {
                    let waker = timeline.wakes[wake].waker;
                    let over = |child: usize| {
                        let child = &timeline.threads[child];
                        let last = child.moments.iter().rev().find(|moment| moment.act.is_event());
                        child.ended.is_some_and(|ended| ended < moment.order)
                            && last.is_none_or(|last| last.order < moment.order)
                    };
                    let deeds = &timeline.threads[waker].moments;
                    let last = deeds.iter().rposition(|moment| moment.act.is_event());
                    let Some(post) = last.filter(|&last| deeds[last].act == Act::Post(wake)) else {
                        continue;
                    };
                    if forked.contains(&waker)
                        && timeline.threads[waker].ended.is_some()
                        && forked.iter().all(|&child| child == waker || over(child))
                    {
                        found.push((parent, place, waker, post));
                    }
                }
                _ => {}
            }
        }
    }
    for (parent, place, child, post) in found {
        timeline.threads[parent].moments[place].act = Act::JoinAll;
        timeline.threads[child].moments[post].act = Act::Compute(0);
    }
}
