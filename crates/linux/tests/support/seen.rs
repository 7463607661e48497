//! What must hold of everything that is seen of threads.

use std::collections::BTreeMap;

use evenkeel_linux::watch::{Seen, Tid};
use evenkeel_machine::Nanos;

fn at(seen: &Seen) -> Nanos {
    match *seen {
        Seen::Started { at, .. }
        | Seen::Found { at, .. }
        | Seen::Exec { at, .. }
        | Seen::Exited { at, .. }
        | Seen::Took { at, .. }
        | Seen::Left { at, .. }
        | Seen::Woke { at, .. } => at,
    }
}

/// What must hold of everything that is ever seen, whatever the source.
pub fn is_lawful(seen: &[Seen]) {
    let mut on = BTreeMap::new();
    let mut last = Nanos(0);
    for one in seen {
        assert!(at(one) >= last, "{one:?} after {last:?}");
        last = at(one);
        match *one {
            Seen::Started { tid, .. } | Seen::Found { tid, .. } => {
                assert!(on.insert(tid, None).is_none(), "{one:?} twice")
            }
            Seen::Exited { tid, .. } => assert!(on.remove(&tid).is_some(), "{one:?} never started"),
            Seen::Exec { tid, .. } | Seen::Woke { tid, .. } => {
                assert!(on.contains_key(&tid), "{one:?}: no such thread")
            }
            Seen::Took { tid, cpu, .. } => {
                let core = on.get_mut(&tid).expect("a thread takes a core while it lives");
                assert_eq!(*core, None, "{one:?}: it has one");
                *core = Some(cpu);
            }
            Seen::Left { tid, cpu, .. } => {
                let core = on.get_mut(&tid).expect("a thread leaves a core while it lives");
                assert!(core.is_none_or(|core| core == cpu), "{one:?}: it was on {core:?}");
                *core = None;
            }
        }
    }
    assert!(on.is_empty(), "never ended: {on:?}");
}

/// Threads that have started, in order.
pub fn started(seen: &[Seen]) -> Vec<Tid> {
    let started = |one: &Seen| match *one {
        Seen::Started { tid, .. } | Seen::Found { tid, .. } => Some(tid),
        _ => None,
    };
    seen.iter().filter_map(started).collect()
}
