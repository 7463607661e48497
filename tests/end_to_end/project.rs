//! Commands for contributors, and the service.

use std::fs;
use std::path::Path;

use crate::{Ended, command};

/// Copies the two files in which a new policy is entered.
fn checkout(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in ["crates/policy/src/registry.rs", "crates/policy/src/os/mod.rs"] {
        let copy = folder.join(file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(root.join(file), copy).unwrap();
    }
}

fn new_policy(folder: &Path, name: &str) -> Ended {
    Ended::of(command(&["new", "policy", name]).current_dir(folder).output().unwrap())
}

#[test]
fn a_new_policy_is_a_file_a_line_in_the_registry_and_a_module_in_order() {
    let folder = tempfile::tempdir().unwrap();
    checkout(folder.path());
    let below = folder.path().join("crates/policy");
    let ended = new_policy(&below, "fast-first");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let read = |file: &str| fs::read_to_string(below.join("src").join(file)).unwrap();
    let policy = read("os/fast_first.rs");
    assert!(
        policy.starts_with("//! `fast-first`: ") && policy.contains("pub struct FastFirst"),
        "{policy}"
    );
    assert!(!policy.to_lowercase().contains("template"), "{policy}");
    assert!(
        read("registry.rs").contains("    os::combination::AGE,\n    os::fast_first::ENTRY,\n];")
    );
    assert!(read("os/mod.rs").contains("pub mod eqp;\npub mod fast_first;\npub mod gts;\n"));
    assert!(ended.stdout.contains("cargo test -p evenkeel-policy fast_first"), "{}", ended.stdout);

    let again = new_policy(&below, "fast-first");
    assert_eq!((again.code, again.stdout.as_str()), (2, ""));
    assert!(again.stderr.contains("os/fast_first.rs: there already"), "{}", again.stderr);
}

#[test]
fn a_name_that_is_no_policys_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    checkout(folder.path());
    let wrong = [
        ("acfs", "there is a policy 'acfs' already"),
        ("heft", "there is a policy 'heft' already"),
        ("Mine", "expected a name of lower-case letters, digits and single hyphens"),
        ("a--b", "expected a name of lower-case letters, digits and single hyphens"),
        ("../x", "expected a name of lower-case letters, digits and single hyphens"),
        ("loop", "'loop' is a word of Rust's"),
        ("combination", "there is a module 'combination' already"),
        ("kind-queues", "there is a module 'kind_queues' already"),
    ];
    for (name, why) in wrong {
        let ended = new_policy(folder.path(), name);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{name}");
        assert!(ended.stderr.contains(why), "{name}: {}", ended.stderr);
    }
    assert_eq!(fs::read_dir(folder.path().join("crates/policy/src/os")).unwrap().count(), 1);
    let elsewhere = new_policy(Path::new("/"), "mine");
    assert!(
        elsewhere.code == 2 && elsewhere.stderr.contains("no checkout of Evenkeel"),
        "{}",
        elsewhere.stderr
    );
}

fn service(args: &[&str]) -> Ended {
    Ended::of(command(&[&["service"], args].concat()).output().unwrap())
}

#[test]
fn a_service_is_a_unit_for_this_binary_with_its_policy_beside_it_and_goes_again() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let ended = service(&["install", "--root", root, "-p", "acfs:uf=1.1", "--backend", "affinity"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let unit =
        fs::read_to_string(folder.path().join("etc/systemd/system/evenkeel.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/evenkeel schedule $EVENKEEL_ARGS\n"), "{unit}");
    let defaults = fs::read_to_string(folder.path().join("etc/default/evenkeel")).unwrap();
    assert!(
        defaults.contains("EVENKEEL_ARGS=\"-p acfs --set uf=1.1 --backend affinity\"\n"),
        "{defaults}"
    );

    // A file of the user's own is kept, by installing and by removing.
    let own = "EVENKEEL_ARGS=\"-p age\"\n";
    fs::write(folder.path().join("etc/default/evenkeel"), own).unwrap();
    let kept = service(&["install", "--root", root, "-p", "gts"]);
    assert!(kept.code == 0 && kept.stderr.contains("stays as it is"), "{}", kept.stderr);
    assert_eq!(service(&["remove", "--root", root]).code, 0);
    assert_eq!(fs::read_to_string(folder.path().join("etc/default/evenkeel")).unwrap(), own);
    fs::remove_file(folder.path().join("etc/default/evenkeel")).unwrap();
    assert_eq!(service(&["install", "--root", root]).code, 0);

    let removed = service(&["remove", "--root", root]);
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    for file in ["etc/systemd/system/evenkeel.service", "etc/default/evenkeel"] {
        assert!(!folder.path().join(file).exists(), "{file}");
    }
    let again = service(&["remove", "--root", root]);
    assert_eq!((again.code, again.stdout.as_str()), (0, "there was no service of evenkeel's\n"));
}

#[test]
fn what_the_unit_runs_is_a_command_line_that_schedule_takes() {
    let printed = service(&["install", "--print", "-p", "age"]);
    // This binary is in no folder that the unit sees.
    assert!(
        printed.stdout.contains("ExecStart=/usr/local/bin/evenkeel schedule"),
        "{}",
        printed.stdout
    );
    let line = printed.stdout.lines().rfind(|line| line.starts_with("EVENKEEL_ARGS=")).unwrap();
    let args = line.trim_start_matches("EVENKEEL_ARGS=").trim_matches('"');
    let mut schedule = vec!["schedule"];
    schedule.extend(args.split(' '));
    schedule.extend(["--duration", "1s", "--pid", "4194305"]);
    let ended = Ended::of(command(&schedule).output().unwrap());
    // The command line is valid; the process does not exist.
    assert!(ended.stderr.contains("4194305"), "{}", ended.stderr);
}

#[test]
fn a_policy_that_cannot_schedule_is_no_service() {
    for (policy, why) in [
        ("opt-unfairness", "is a bound"),
        ("acsf", "did you mean"),
        ("acfs:uf=0", "uf"),
        ("heft", "heft"),
    ] {
        let ended = service(&["install", "--print", "-p", policy]);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{policy}");
        assert!(ended.stderr.contains(why), "{policy}: {}", ended.stderr);
    }
}
