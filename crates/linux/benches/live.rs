//! Policies on real threads: what they come to in the slow-core lab, what the mechanism costs, how
//! soon it reacts.
//!
//! Runs the `evenkeel` binary as a user does (path in `EVENKEEL`), on programs of
//! `examples/worker.rs`. Everything that is compared runs in turns, in the same lab; figures are
//! medians of the rounds. What is printed also goes to the file in `EVENKEEL_BENCH_OUT`, complete
//! or not at all.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[path = "../tests/support/programs.rs"]
mod programs;
mod support;

use std::collections::BTreeMap;
use std::env;
use std::process::Command;

use support::median;

const ROUNDS: usize = 3;

fn example(name: &str) -> String {
    programs::example(name).to_str().unwrap().to_owned()
}

fn evenkeel() -> String {
    env::var("EVENKEEL").unwrap_or_else(|_| "evenkeel".into())
}

/// Standard output of a command, which must succeed.
fn output(words: &[&str]) -> String {
    let (program, args) = words.split_first().unwrap();
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Runs under the kernel alone, bound by taskset, or under a policy.
fn under<'a>(how: &'a str, evenkeel: &'a str) -> Vec<&'a str> {
    match how {
        "kernel" => vec![],
        policy => vec![evenkeel, "run", "-q", "-p", policy, "--"],
    }
}

/// Two equal CPU-bound threads: how far the one gets relative to the other, and what both get done
/// relative to the kernel alone.
fn equal_threads() {
    let (evenkeel, worker) = (evenkeel(), example("worker"));
    let hows = ["kernel", "pinned", "rr", "age", "acfs:swap=200", "acfs"];
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut totals: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for how in hows {
            let words = [under(how, &evenkeel), vec![&worker, "spin", "2", "15000"]].concat();
            let done = numbers(&output(&words));
            let (least, greatest) = (done[0].min(done[1]), done[0].max(done[1]));
            ratios.entry(how).or_default().push(greatest / least);
            totals.entry(how).or_default().push(done[0] + done[1]);
        }
    }
    let kernel = median(&totals["kernel"]);
    println!("\nTwo equal CPU-bound threads for 15 s.\n");
    println!(
        "| under | progress, greater / less | work of both, kernel = 1 |\n| --- | --- | --- |"
    );
    for how in hows {
        let (ratio, total) = (median(&ratios[how]), median(&totals[how]));
        println!("| {how} | {ratio:.3} | {:.3} |", total / kernel);
    }
}

/// Blocks between barriers, equal and a hundred milliseconds long on the slow core.
fn barriers() {
    let (evenkeel, worker) = (evenkeel(), example("worker"));
    let hows = ["pinned", "kernel", "cfs-unaware", "rr", "age", "acfs"];
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for how in hows {
            let words =
                [under(how, &evenkeel), vec![&worker, "barrier", "2", "50", "1500"]].concat();
            times.entry(how).or_default().push(numbers(&output(&words))[0]);
        }
    }
    let pinned = median(&times["pinned"]);
    println!("\nTwo threads, 50 rounds of equal work and a barrier.\n");
    println!("| under | time, ms | as fast as pinned |\n| --- | --- | --- |");
    for how in hows {
        let time = median(&times[how]);
        println!("| {how} | {time:.0} | {:.2} |", pinned / time);
    }
}

/// A program that scales with its core, and one that does not, under hsp: which has the fast core.
fn speedup_factors() {
    let (evenkeel, worker) = (evenkeel(), example("worker"));
    // Copies, because programs are known by their names.
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str| {
        let path = folder.path().join(name);
        std::fs::copy(&worker, &path).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (scales, waits) = (copy("scales"), copy("waits"));
    let alone = |program: &[&str], cpu: &str| {
        numbers(&output(&[&["taskset", "-c", cpu], program].concat()))[0]
    };
    let (spin, paced) = ([&scales[..], "spin", "1", "2000"], [&waits[..], "paced", "2000"]);
    let factor = |program: &[&str]| alone(program, "0") / alone(program, "1");
    let (of_scales, of_waits) = (factor(&spin).max(1.0), factor(&paced).max(1.0));
    println!(
        "\nA program that works (measured speedup factor {of_scales:.2}) and one that waits for \
         memory (a stand-in paced by the clock: {of_waits:.2}), together for 10 s; \
              factors as measured alone with taskset, handed over with --speedup.\n"
    );
    println!(
        "| under | work of the first, of the fast core's alone | of the second |\n| --- | --- | \
         --- |"
    );
    let (most, paced_most) = (alone(&spin, "0") * 5.0, alone(&paced, "0") * 5.0);
    let together = format!("{scales} spin 1 10000 & {waits} paced 10000; wait");
    for how in ["kernel", "hsp", "acfs"] {
        let (given_scales, given_waits) =
            (format!("scales={of_scales:.3}"), format!("waits={of_waits:.3}"));
        let words = match how {
            "kernel" => vec!["sh", "-c", &together],
            policy => vec![
                &evenkeel[..],
                "run",
                "-q",
                "-p",
                policy,
                "--speedup",
                &given_scales,
                "--speedup",
                &given_waits,
                "--",
                "sh",
                "-c",
                &together,
            ],
        };
        let mut done = numbers(&output(&words));
        // The paced program does a thousand units a second at most; the other, far more.
        done.sort_by(f64::total_cmp);
        println!("| {how} | {:.2} | {:.2} |", done[1] / most, done[0] / paced_most);
    }
}

/// A record of `evenkeel run --json`, which stands after what the program printed.
fn record(words: &[&str]) -> serde_json::Value {
    let text = output(words);
    serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap()
}

/// CPU time of the mechanism against the number of threads, each at work for 1 % of the time.
fn cost() {
    let (evenkeel, worker) = (evenkeel(), example("worker"));
    println!(
        "\nCost against threads: each works for 200 us of every 20 ms, under acfs, for 10 s.\n"
    );
    println!(
        "| threads | CPU time of the mechanism, % of one core | looks per second | changes of \
         masks per second |\n| --- | --- | --- | --- |"
    );
    for threads in ["10", "100", "500", "1000"] {
        let run = record(&[
            &evenkeel, "run", "--json", "-p", "acfs", "--", &worker, "crowd", threads, "10000",
        ]);
        let live = &run["live"];
        let wall = run["wall_s"].as_f64().unwrap();
        println!(
            "| {threads} | {:.2} | {:.0} | {:.0} |",
            100.0 * live["cost"].as_f64().unwrap(),
            live["looks"].as_f64().unwrap() / wall,
            live["changes"].as_f64().unwrap() / wall
        );
    }
    let run =
        record(&[&evenkeel, "run", "--json", "-p", "acfs", "--", &worker, "spin", "500", "10000"]);
    println!(
        "\n500 threads that all work all the time: {:.2} %.",
        100.0 * run["live"]["cost"].as_f64().unwrap()
    );
}

/// From a thread's start to its placement.
fn reaction() {
    let (evenkeel, worker) = (evenkeel(), example("worker"));
    println!(
        "\nFrom a thread's start to its placement: a thread that works for 30 ms is born every 7 \
         ms, 500 times.\n"
    );
    println!("| under | p50, us | p99, us | greatest, us |\n| --- | --- | --- | --- |");
    for policy in ["acfs", "age"] {
        let run = record(&[
            &evenkeel, "run", "--json", "-p", policy, "--", &worker, "births", "500", "7",
        ]);
        let us = &run["live"]["reaction_us"];
        println!(
            "| {policy} | {:.0} | {:.0} | {:.0} |",
            us["p50"].as_f64().unwrap(),
            us["p99"].as_f64().unwrap(),
            us["max"].as_f64().unwrap()
        );
    }
}

/// A bare sleep and waking up, in CPU time: what any process pays that looks around.
fn wake_up() -> f64 {
    let cpu = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    };
    let before = cpu();
    (0..250).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(4)));
    (cpu() - before) / 250.0
}

/// Runs this program again, with what it prints in a file, and puts a head before it.
fn write(file: &str) {
    let own = env::current_exe().unwrap();
    let output = Command::new(own).env_remove("EVENKEEL_BENCH_OUT").output().unwrap();
    let body = String::from_utf8(output.stdout).unwrap();
    print!("{body}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("an unnamed processor");
    let model = model.trim_start_matches(['\t', ' ', ':']);
    // The flag that x86 processors show to guests.
    let virtual_machine = if cpus.contains(" hypervisor") { " of a virtual machine" } else { "" };
    let date = output_line(&["date", "+%F"]);
    let text = format!(
        "# Benchmarks on real threads\n\nWritten by `make bench-live` on {date}, on {model} ({} \
         CPUs{virtual_machine}). Medians of {ROUNDS} rounds, the cases in \
         turn. A bare sleep of 4 ms and waking up costs {:.0} us of CPU time on this machine, and \
         so does each look around; the \
         budget of 1 % of a core spaces the looks.\n\n{body}",
        std::thread::available_parallelism().unwrap(),
        wake_up(),
    );
    let temporary = format!("{file}.new");
    std::fs::write(&temporary, text).unwrap();
    std::fs::rename(temporary, file).unwrap();
}

fn output_line(words: &[&str]) -> String {
    output(words).trim().to_owned()
}

fn main() {
    if let Ok(file) = env::var("EVENKEEL_BENCH_OUT") {
        return write(&file);
    }
    if let Ok(ratios) = env::var("EVENKEEL_LAB") {
        println!("Measured: {ratios}.");
        equal_threads();
        barriers();
        speedup_factors();
        return;
    }
    println!("### Without the lab");
    cost();
    reaction();
    println!("\n### In the lab: CPU 1 three times slower\n");
    let own = env::current_exe().unwrap();
    let lab = Command::new(evenkeel())
        .args(["lab", "--force", "--slow", "1=3", "--"])
        .arg(own)
        .status()
        .unwrap();
    if !lab.success() {
        println!("\nThe lab could not be had here.");
    }
}
