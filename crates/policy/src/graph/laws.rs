//! Laws that hold for all graph policies on any graph.

use evenkeel_machine::Nanos;
use evenkeel_model::TaskGraph;
use proptest::prelude::*;

use super::bound::Bound;
use super::problem::Problem;
use super::schedule::Duplicates;
use super::testing::{Bench, graph, problem, team};
use super::{ENTRIES, Family, Situation, make};

/// Any cost matrix, including tasks of no cost, with transfers from none to far longer than tasks.
fn problems() -> impl Strategy<Value = Problem> {
    let few = (1usize..5, 1usize..14);
    let many = (1usize..9, 60usize..150);
    (prop_oneof![9 => few, 1 => many], 0u64..60).prop_flat_map(|((workers, tasks), most)| {
        let costs = prop::collection::vec(prop::collection::vec(0u64..20, workers), tasks);
        let edges =
            prop::collection::vec((0..tasks as u32, 0..tasks as u32, 0..=most), 0..3 * tasks);
        (costs, edges).prop_map(|(costs, edges)| {
            let costs: Vec<&[u64]> = costs.iter().map(Vec::as_slice).collect();
            let edges: Vec<_> = edges.into_iter().filter(|(from, to, _)| from < to).collect();
            problem(&costs, &edges)
        })
    })
}

fn graphs() -> impl Strategy<Value = TaskGraph> {
    (1usize..25).prop_flat_map(|tasks| {
        let edges = prop::collection::vec((0..tasks as u32, 0..tasks as u32), 0..3 * tasks);
        (prop::collection::vec(0u64..50, tasks), edges).prop_map(|(work, edges)| {
            graph(&work, &edges.into_iter().filter(|(from, to)| from < to).collect::<Vec<_>>())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn static_schedules_are_schedules_and_never_beat_the_bound(problem in problems()) {
        let bound = Bound::of(&problem);
        for entry in ENTRIES {
            let Family::Static(scheduler) = entry.family else { continue };
            let schedule = scheduler(&problem);
            let duplicates = if entry.name == "hed" { Duplicates::Allowed } else { Duplicates::Forbidden };
            prop_assert_eq!(schedule.check(&problem, duplicates), Ok(()), "{}", entry.name);
            prop_assert!(schedule.makespan() >= bound.makespan(), "{}: {:?}", entry.name, bound);
        }
    }

    #[test]
    fn every_policy_runs_every_task_once_in_order_and_never_beats_the_bound(
        graph in graphs(), mut kinds in prop::collection::vec(0u8..3, 1..6), seed: u64,
    ) {
        kinds.sort_unstable();
        let team = team(&kinds);
        let bound = Bound::of(&Situation::at_start(&graph, &team).problem());
        for entry in ENTRIES {
            let mut policy = make(entry.name, seed).map_err(|error| TestCaseError::fail(error.to_string()))?;
            // Twice: nothing of the first run may influence the second.
            let run = Bench::run(policy.as_mut(), &graph, &team);
            prop_assert_eq!(&Bench::run(policy.as_mut(), &graph, &team).placed, &run.placed, "{}", entry.name);
            prop_assert!(run.makespan() >= bound.makespan(), "{}", entry.name);
            let finish = |task| run.placed.iter().find(|(it, ..)| *it == task).map(|&(_, _, _, finish)| finish);
            for &(task, _, start, _) in &run.placed {
                prop_assert_eq!(run.placed.iter().filter(|(it, ..)| *it == task).count(), 1);
                let mut before = run.placed.iter().filter(|(it, ..)| graph.successors(*it).contains(&task));
                prop_assert!(before.all(|(it, ..)| finish(*it).unwrap_or(Nanos::MAX) <= start), "{}", entry.name);
            }
        }
    }
}
