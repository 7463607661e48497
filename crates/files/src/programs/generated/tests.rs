use std::collections::BTreeMap;

use evenkeel_machine::Machine;
use proptest::prelude::*;

use super::lengths::relative_deviation;
use super::{Row, TABLE};
use crate::programs::{Context, list, load};
use evenkeel_model::{Application, Program, Step};

fn machine() -> Machine {
    crate::machines::preset("amp-1f7s").unwrap()
}

fn made_with(spec: &str, seed: u64) -> Application {
    let machine = machine();
    let mut apps = load(spec, &Context { seed: seed.into(), ..Context::new(&machine) }).unwrap();
    assert_eq!(apps.len(), 1, "{spec}");
    apps.remove(0)
}

fn made(spec: &str) -> Application {
    made_with(spec, 1)
}

fn refusal(spec: &str) -> String {
    load(spec, &Context::new(&machine())).unwrap_err().to_string()
}

/// What a run of steps comes to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sum {
    instructions: u64,
    held: u64,
    locks: u64,
    barriers: u64,
    forks: Vec<u32>,
}

impl Sum {
    fn of(program: &Program) -> Self {
        let mut sum = Self::default();
        let mut holds = None;
        sum.add(&program.steps, 1, &mut holds);
        assert_eq!(holds, None, "a lock that is not given up");
        sum
    }

    fn add(&mut self, steps: &[Step], times: u64, holds: &mut Option<u32>) {
        for step in steps {
            match step {
                Step::Compute { work, .. } => {
                    self.instructions += work.0 * times;
                    self.held += if holds.is_some() { work.0 * times } else { 0 };
                }
                Step::Lock(lock) => {
                    self.locks += times;
                    assert_eq!(holds.replace(lock.0), None, "one lock at a time");
                }
                Step::Unlock(lock) => assert_eq!(holds.take(), Some(lock.0)),
                Step::Barrier(_) => {
                    assert_eq!(*holds, None, "nobody waits for others with a lock");
                    self.barriers += times;
                }
                Step::Fork(template) => self.forks.push(*template),
                Step::Loop { times: inner, body } => self.add(body, times * inner.unwrap(), holds),
                _ => {}
            }
        }
    }
}

/// The row that a program amounts to, and the instructions of its forked threads by group.
fn counted(app: &Application) -> (Row, BTreeMap<u32, Vec<f64>>) {
    let [main] = &app.threads[..] else { panic!("one thread starts the others") };
    let of = |program: evenkeel_model::ProgramId| Sum::of(&app.programs[program.index()]);
    let mut total = of(main.program);
    assert_eq!(total.forks, (0..app.templates.len() as u32).collect::<Vec<_>>(), "each once");
    let mut groups: BTreeMap<u32, Vec<f64>> = BTreeMap::from([(main.group, Vec::new())]);
    for worker in &app.templates {
        let sum = of(worker.program);
        total.instructions += sum.instructions;
        total.locks += sum.locks;
        total.barriers += sum.barriers;
        groups.entry(worker.group).or_default().push(sum.instructions as f64);
    }
    let row = Row {
        instructions: total.instructions,
        locks: total.locks,
        barriers: total.barriers,
        threads: 1 + app.templates.len() as u32,
        groups: groups.len() as u32,
    };
    groups.retain(|_, lengths| !lengths.is_empty());
    (row, groups)
}

#[test]
fn every_program_of_the_table_comes_to_its_row_to_the_last_instruction() {
    let sum = |count: fn(&Row) -> u64| TABLE.iter().map(|listed| count(&listed.row)).sum::<u64>();
    let counts = [sum(|row| row.instructions), sum(|row| row.locks), sum(|row| row.barriers)];
    assert_eq!(
        counts,
        [69_639_166_917, 15_191_163, 137_934],
        "the columns of the table as printed"
    );
    assert_eq!([sum(|row| row.threads.into()), sum(|row| row.groups.into())], [320, 171]);
    for listed in &TABLE {
        for seed in 1..4 {
            let app = made_with(listed.name, seed);
            assert_eq!(app.validate(), Ok(()), "{}", listed.name);
            assert_eq!(counted(&app).0, listed.row, "{}", listed.name);
        }
    }
}

#[test]
fn every_program_of_the_table_has_the_degree_of_symmetry_that_is_stated() {
    for listed in &TABLE {
        let (_, groups) = counted(&made(listed.name));
        for (group, lengths) in groups.iter().filter(|(_, lengths)| lengths.len() > 1) {
            // lu's threads are short enough for single instructions to show.
            let (found, asked) = (relative_deviation(lengths), listed.manner.symmetry);
            assert!((found - asked).abs() < 1e-4, "{} group {group}: {found}", listed.name);
        }
    }
}

#[test]
fn the_degree_of_symmetry_is_what_was_asked_for() {
    for asked in [0.0, 0.1, 0.5, 1.5] {
        let (_, groups) =
            counted(&made(&format!("generated:threads=19,groups=2,symmetry={asked},serial=0")));
        let found = relative_deviation(&groups[&1]);
        assert!((found - asked).abs() < 1e-6, "{found} for {asked}");
    }
}

#[test]
fn equal_groups_are_told_from_unequal_ones_by_their_means_too() {
    let means = |symmetry: &str| -> Vec<f64> {
        let (_, groups) =
            counted(&made(&format!("generated:threads=25,groups=4,symmetry={symmetry}")));
        groups.values().map(|lengths| lengths.iter().sum::<f64>() / lengths.len() as f64).collect()
    };
    assert!(relative_deviation(&means("0")) < 1e-6);
    assert!((relative_deviation(&means("0.4")) - 0.4).abs() < 1e-6);
}

#[test]
fn the_same_seed_makes_the_same_program_and_another_seed_another() {
    assert_eq!(made_with("sc09-ferret", 7), made_with("sc09-ferret", 7));
    assert_ne!(made_with("sc09-ferret", 7), made_with("sc09-ferret", 8));
    let of = |app: &Application| counted(app).1[&1].clone();
    assert_ne!(
        of(&made("sc09-barnes")),
        of(&made("sc09-radiosity")),
        "programs do not share their draws"
    );
}

#[test]
fn locks_are_held_for_a_fiftieth_of_the_way_between_two() {
    let app = made("sc09-fluidanimate");
    for worker in &app.templates {
        let sum = Sum::of(&app.programs[worker.program.index()]);
        let share = sum.held as f64 / sum.instructions as f64;
        assert!((0.01..=0.02).contains(&share), "{share}");
    }
}

#[test]
fn barrier_entries_that_do_not_come_out_even_are_entered_by_some_at_the_end() {
    // 31,998 = 3,999 times all eight, and six once more.
    let app = made("sc09-fluidanimate");
    assert_eq!(app.barriers, [8, 6]);
    let entries =
        |place: usize| Sum::of(&app.programs[app.templates[place].program.index()]).barriers;
    assert_eq!([entries(0), entries(5), entries(6), entries(7)], [4_000, 4_000, 3_999, 3_999]);
}

#[test]
fn the_eighth_worker_is_the_main_thread_where_eight_threads_are_counted() {
    assert_eq!(made("sc09-barnes").barriers, [8]);
    assert_eq!(made("sc09-bodytrack").barriers, [8]);
    assert_eq!(made("sc09-barnes").templates.len(), 7);
    assert_eq!(made("sc09-bodytrack").templates.len(), 8);
}

#[test]
fn a_pass_of_streamcluster_is_a_group_that_meets_among_itself_when_the_one_before_makes_room() {
    let app = made("sc09-streamcluster");
    assert_eq!((&app.barriers[..], &app.semaphores[..]), (&[8, 8][..], &[8][..]));
}

#[test]
fn the_parallel_section_of_canneal_is_short() {
    let app = made("sc09-canneal");
    let main = Sum::of(&app.programs[app.threads[0].program.index()]);
    assert_eq!(main.instructions, (292_696_036.0_f64 * 0.9).round() as u64);
}

#[test]
fn a_tenth_of_the_size_is_a_tenth_of_the_counts_among_the_same_threads_in_the_same_ratios() {
    let machine = machine();
    let app =
        load("sc09-bodytrack", &Context { size: 0.1, ..Context::new(&machine) }).unwrap().remove(0);
    let (row, groups) = counted(&app);
    assert_eq!(
        (row.instructions, row.locks, row.barriers, row.threads),
        (67_041_506, 4_047, 120, 9)
    );
    let (_, whole) = counted(&made("sc09-bodytrack"));
    for (small, large) in groups[&1].iter().zip(&whole[&1]) {
        assert!((small / large - 0.1).abs() < 1e-6);
    }
}

#[test]
fn threads_and_workers_are_as_many_as_asked_for() {
    let machine = machine();
    let threads = |spec: &str, workers: Option<u32>| {
        let app =
            load(spec, &Context { threads: workers, ..Context::new(&machine) }).unwrap().remove(0);
        counted(&app).0.threads
    };
    assert_eq!(threads("sc09-ferret:threads=12", None), 12);
    assert_eq!(threads("sc09-ferret:5", Some(3)), 5);
    assert_eq!(threads("sc09-bodytrack", Some(4)), 5, "the main thread waits");
    assert_eq!(threads("sc09-barnes", Some(4)), 4, "the main thread works");
    assert_eq!(threads("generated", Some(4)), 5);
}

#[test]
fn what_cannot_be_made_is_refused_in_a_line_that_says_what_can() {
    for (spec, expected) in [
        ("generated:instructions=0", "instructions=0: expected a whole number from 1"),
        ("generated:threads=4,groups=5", "groups=5: expected a whole number from 1 to 4"),
        ("generated:symmetry=-0.1", "symmetry=-0.1: expected a number from 0 to"),
        ("generated:symmetry=nan", "symmetry=nan: expected a number from 0 to"),
        ("generated:threads=3,symmetry=1", "symmetry=1: expected a number from 0 to 0.95"),
        ("generated:serial=1.1", "serial=1.1: expected a number from 0 to 1"),
        ("generated:main=sleeps", "main=sleeps: expected one of: waits, works"),
        ("generated:barriers=8,at_once=4", "at_once=4: expected 8"),
        ("generated:main=works,at_once=4", "at_once=4: expected 8"),
        ("generated:locks=many", "locks=many: expected a whole number from 0"),
        ("sc09-ferret:locks=5", "no knob 'locks'; knobs: threads, symmetry"),
    ] {
        let said = refusal(spec);
        assert!(said.contains(expected) && !said.contains('\n'), "{spec}: {said}");
    }
    assert!(refusal("freqmine").contains("sc09-freqmine"), "{}", refusal("freqmine"));
}

#[test]
fn there_are_as_many_programs_as_rows_beside_the_one_to_be_given() {
    let count = |name: &str| list().iter().filter(|info| info.name.starts_with(name)).count();
    assert_eq!((count("sc09-"), count("generated")), (25, 1));
}

proptest! {
    #[test]
    fn any_row_is_a_valid_program_that_comes_to_it(
        instructions in 1u64..20_000_000, locks in 0u64..5_000, barriers in 0u64..500, threads in 1u32..40,
        groups in 0.0..1.0, symmetry in 0.0..0.9, serial in 0.0..=1.0, works: bool, seed: u64,
    ) {
        let groups = 1 + (groups * f64::from(threads)) as u32;
        let main = if works { "works" } else { "waits" };
        let alone = threads == 1 || threads == 2 && groups == 2;
        let symmetry = if alone { 0.0 } else { symmetry };
        let spec = format!(
            "generated:instructions={instructions},locks={locks},barriers={barriers},threads={threads},groups={groups},\
             symmetry={symmetry},serial={serial},main={main}"
        );
        let app = made_with(&spec, seed);
        prop_assert_eq!(app.validate(), Ok(()));
        prop_assert_eq!(counted(&app).0, Row { instructions, locks, barriers, threads, groups });
    }
}
