//! What the shipped rt-app files are read as, against tests/golden. `BLESS=1 cargo test` writes
//! these anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use evenkeel_files::rtapp;
use evenkeel_model::{Application, ReferenceCore, Step, ThreadSpec};

/// An application, a line for each thing.
fn dump(app: &Application) -> String {
    let mut out = format!("application {}, duration {:?}\n", app.name, app.duration);
    let objects = (app.locks, app.conditions, app.timers, app.private_timers, app.devices);
    let _ = writeln!(out, "locks, conditions, timers, private timers, devices {objects:?}");
    let _ = writeln!(out, "barriers {:?}, semaphores {:?}", app.barriers, app.semaphores);
    for (i, phase) in app.phases.iter().enumerate() {
        let bytes = phase.bytes_per_instruction;
        let core = match phase.reference {
            ReferenceCore::Numbered(core) => Some(core),
            ReferenceCore::Fastest | ReferenceCore::OfCapacity(_) => None,
        };
        let _ = write!(out, "phase {i} {}: {:?}, {bytes} bytes/ns, ", phase.name, phase.scaling);
        let _ = writeln!(
            out,
            "working set {}, time of {core:?} {}",
            phase.working_set, phase.reference_time
        );
    }
    app.threads.iter().for_each(|thread| dump_thread("thread", thread, &mut out));
    app.templates.iter().for_each(|thread| dump_thread("template", thread, &mut out));
    for (i, program) in app.programs.iter().enumerate() {
        let _ = writeln!(out, "program {i}");
        dump_steps(&program.steps, 1, &mut out);
    }
    for note in &app.notes {
        let _ = writeln!(out, "note {note}");
    }
    out
}

fn dump_thread(what: &str, thread: &ThreadSpec, out: &mut String) {
    let _ = write!(
        out,
        "{what} {}: program {}, group {}, ",
        thread.name, thread.program.0, thread.group
    );
    let _ = write!(
        out,
        "{:?}, nice {}, clamps {}-{}, ",
        thread.class, thread.nice, thread.util_min, thread.util_max
    );
    let _ = writeln!(out, "on {:?}, from {}", thread.affinity, thread.delay);
}

fn dump_steps(steps: &[Step], depth: usize, out: &mut String) {
    for step in steps {
        let indent = "  ".repeat(depth);
        match step {
            Step::Loop { times, body } => {
                let _ = writeln!(out, "{indent}Loop {times:?}");
                dump_steps(body, depth + 1, out);
            }
            step => {
                let _ = writeln!(out, "{indent}{step:?}");
            }
        }
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn check(name: &str) {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let text = read(&here.join("../../workloads").join(format!("{name}.json")));
    let app = rtapp::parse(text, &format!("{name}.json")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(app.validate(), Ok(()));
    let golden = here.join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, dump(&app))
            .unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
    }
    assert_eq!(
        dump(&app),
        read(&golden),
        "{name} is read otherwise than {} has it",
        golden.display()
    );
}

#[test]
fn the_mix_of_a_phone_is_read_as_stored() {
    check("rtapp-mixed");
}

#[test]
fn timers_are_read_as_stored() {
    check("rtapp-timers");
}

#[test]
fn synchronisation_is_read_as_stored() {
    check("rtapp-sync");
}

#[test]
fn memory_and_devices_are_read_as_stored() {
    check("rtapp-memory");
}

#[test]
fn scheduling_parameters_are_read_as_stored() {
    check("rtapp-policies");
}

#[test]
fn the_syntax_of_the_wild_is_read_as_stored() {
    check("rtapp-wild");
}
