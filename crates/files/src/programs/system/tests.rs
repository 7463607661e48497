use evenkeel_machine::{CoreId, Nanos};

use crate::programs::{Context, WorkloadError, load};
use evenkeel_model::{Application, Class, Step};

fn made(spec: &str) -> Application {
    let machine = crate::machines::preset("odroid-xu3").unwrap();
    let mut apps = load(spec, &Context::new(&machine)).unwrap();
    assert_eq!(apps.len(), 1);
    apps.remove(0)
}

fn sent_and_received(app: &Application) -> (u64, u64) {
    fn count(steps: &[Step], times: u64, sum: &mut (u64, u64)) {
        for step in steps {
            match step {
                Step::Loop { times: Some(inner), body } => count(body, times * inner, sum),
                Step::Send(_) => sum.0 += times,
                Step::Receive(_) => sum.1 += times,
                _ => {}
            }
        }
    }
    let mut sum = (0, 0);
    for thread in &app.threads {
        count(&app.programs[thread.program.index()].steps, 1, &mut sum);
    }
    sum
}

#[test]
fn each_sender_of_hackbench_sends_to_each_receiver_of_its_group() {
    let app = made("hackbench:groups=3,loops=7");
    assert_eq!(app.threads.len(), 3 * 40);
    assert_eq!(app.channels.len(), 3 * 20);
    assert_eq!(sent_and_received(&app), (3 * 20 * 20 * 7, 3 * 20 * 20 * 7));
}

#[test]
fn the_main_thread_of_a_forked_hackbench_sets_everybody_up_receivers_of_a_group_first() {
    let app = made("hackbench:groups=2,loops=7,start=forked");
    let names: Vec<_> = app.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!((names, app.templates.len()), (vec!["main"], 80));
    assert_eq!(app.barriers, [81]);
    let main = &app.programs[app.threads[0].program.index()].steps;
    let forks: Vec<_> = main
        .iter()
        .filter_map(|step| if let Step::Fork(it) = step { Some(*it) } else { None })
        .collect();
    assert!(forks[0] == 20 && forks[20] == 0 && forks[40] == 60, "{forks:?}");
    let together = made("hackbench:groups=2,loops=7");
    assert_eq!(
        app.templates.iter().map(|it| &it.name).collect::<Vec<_>>(),
        together.threads.iter().map(|it| &it.name).collect::<Vec<_>>()
    );
}

#[test]
fn a_message_costs_more_between_processes_than_threads_and_over_a_socket_than_a_pipe() {
    let work = |arguments: &str| {
        made(&format!("hackbench:groups=1,loops=5,{arguments}")).total_work().unwrap()
    };
    assert!(work("mode=process,channel=pipe") > work("mode=thread,channel=pipe"));
    assert!(work("mode=thread,channel=socket") > work("mode=thread,channel=pipe"));
}

#[test]
fn the_token_of_a_ring_passes_each_process_once_a_round() {
    let app = made("context-ring:procs=5,kib=4,rounds=9");
    assert_eq!(app.threads.len(), 5);
    assert_eq!(sent_and_received(&app), (45, 45));
    assert_eq!(app.phases[0].working_set, 4096);
}

#[test]
fn interrupts_has_a_timer_thread_pinned_to_each_core_and_a_load_that_never_sleeps() {
    for (load, busy) in [("idle", 0), ("low", 4), ("high", 16)] {
        let app = made(&format!("interrupts:load={load},seconds=2"));
        let (timers, rest): (Vec<_>, Vec<_>) =
            app.threads.iter().partition(|thread| thread.affinity.is_some());
        let cores: Vec<_> =
            timers.iter().filter_map(|thread| thread.affinity.clone()).flatten().collect();
        assert_eq!(cores, (0..8).map(CoreId).collect::<Vec<_>>());
        assert_eq!(rest.len(), busy, "{load}");
        assert_eq!(app.duration, Some(Nanos::from_secs(2)));
        assert!(timers.iter().all(|thread| thread.class == Class::Normal));
    }
    let fifo = made("interrupts:class=fifo");
    assert!(
        fifo.threads
            .iter()
            .all(|thread| matches!(thread.class, Class::RealTime { priority: 80, .. }))
    );
}

#[test]
fn interrupts_on_slow_cores_only_leave_the_fast_ones_alone_under_the_same_load() {
    let machine = crate::machines::preset("odroid-xu3").unwrap();
    let [all, slow] = ["all", "slow"].map(|on| made(&format!("interrupts:load=high,on={on}")));
    let timers = |app: &Application| -> Vec<CoreId> {
        app.threads.iter().filter_map(|thread| Some(thread.affinity.as_ref()?[0])).collect()
    };
    assert_eq!(timers(&all).len(), machine.cores.len());
    assert_eq!(timers(&slow), machine.cores_of(machine.slowest()).collect::<Vec<_>>());
    let load =
        |app: &Application| app.threads.iter().filter(|thread| thread.affinity.is_none()).count();
    assert_eq!(load(&all), load(&slow));
}

#[test]
fn a_spinning_thread_takes_its_seconds_alone_on_the_slowest_kind() {
    let machine = crate::machines::preset("odroid-xu3").unwrap();
    let app = made("spin:threads=3,seconds=2.5");
    let speed = app.phases[0].speed(&machine, machine.reference.slowest_capacity);
    assert_eq!(app.threads.len(), 3);
    assert!((app.total_work().unwrap().0 as f64 / 3.0 / speed - 2.5e9).abs() < 1.0);
}

#[test]
fn too_many_messages_and_words_that_mean_nothing_are_refused() {
    let machine = crate::machines::preset("odroid-xu3").unwrap();
    let fails = |spec: &str| load(spec, &Context::new(&machine)).unwrap_err();
    assert!(matches!(fails("hackbench:groups=1000,loops=1000000"), WorkloadError::TooLarge { .. }));
    assert!(fails("interrupts:load=huge").to_string().contains("one of: idle, low, high"));
    assert!(matches!(fails("spin:seconds=-1"), WorkloadError::Knob { .. }));
}
