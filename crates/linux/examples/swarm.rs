//! A program whose threads can be counted, for the tests of whoever watches threads.
//!
//! - `swarm threads N`: N threads one after another, up to eight at a time, each of which does nothing;
//! - `swarm late N`: the same after 50 ms;
//! - `swarm crowd N`: N threads that wait for a line of input, then start one more each;
//! - `swarm forks DEPTH`: a process that forks one that forks one …, DEPTH deep; each prints its number, and the deepest
//!   sleeps for 50 ms;
//! - `swarm orphans N`: N grandchildren whose parents end at once, each of which sleeps for 50 ms;
//! - `swarm exec PROGRAM ARGUMENT…`: another thread than the first begins the program;
//! - `swarm pingpong N`: two threads that wake each other N times, in turns; prints nanoseconds for each;
//! - `swarm sleep MS`: sleeps.
//!
//! Those of one process print the number of threads that they started.

use std::{
    env,
    error::Error,
    io::Write as _,
    os::unix::process::CommandExt as _,
    process::Command,
    sync::{Barrier, mpsc},
    thread,
    time::{Duration, Instant},
};

const AT_A_TIME: usize = 8;
const REST: Duration = Duration::from_millis(50);

fn threads(number: usize) {
    let mut left = number;
    while left > 0 {
        let some = left.min(AT_A_TIME);
        thread::scope(|scope| (0..some).for_each(|_| drop(scope.spawn(|| {}))));
        left -= some;
    }
    println!("{number}");
}

fn crowd(number: usize) -> Result<(), Box<dyn Error>> {
    let ready = Barrier::new(number + 1);
    thread::scope(|scope| {
        for _ in 0..number {
            scope.spawn(|| {
                ready.wait();
                scope.spawn(|| {});
            });
        }
        let read = std::io::stdin().read_line(&mut String::new());
        ready.wait();
        read
    })?;
    Ok(())
}

fn forks(depth: u32) -> Result<(), Box<dyn Error>> {
    println!("{}", std::process::id());
    if depth == 0 {
        thread::sleep(REST);
        return Ok(());
    }
    Command::new(env::current_exe()?).args(["forks", &(depth - 1).to_string()]).status()?;
    Ok(())
}

fn orphans(number: u32) -> Result<(), Box<dyn Error>> {
    for _ in 0..number {
        // The shell ends at once; what it put into the background goes on.
        Command::new("sh").args(["-c", "sleep 0.05 & echo $!"]).status()?;
    }
    thread::sleep(REST * 2);
    Ok(())
}

fn pingpong(turns: u32) -> Result<(), Box<dyn Error>> {
    let (there, other) = mpsc::sync_channel::<()>(0);
    let (back, answer) = mpsc::sync_channel::<()>(0);
    thread::spawn(move || other.iter().try_for_each(|()| back.send(())));
    let start = Instant::now();
    for _ in 0..turns {
        there.send(())?;
        answer.recv()?;
    }
    println!("{}", start.elapsed().as_nanos() / u128::from(turns.max(1)));
    Ok(())
}

/// Does what the words say.
///
/// # Errors
/// If they say nothing, or it fails.
pub fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let what: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match what[..] {
        ["threads", number] => threads(number.parse()?),
        ["late", number] => {
            thread::sleep(REST);
            threads(number.parse()?);
        }
        ["crowd", number] => crowd(number.parse()?)?,
        ["forks", depth] => forks(depth.parse()?)?,
        ["orphans", number] => orphans(number.parse()?)?,
        ["exec", program, ..] => {
            let mut command = Command::new(program);
            command.args(&what[2..]);
            let failed = thread::spawn(move || command.exec()).join();
            return Err(format!("exec: {failed:?}").into());
        }
        ["pingpong", turns] => pingpong(turns.parse()?)?,
        ["sleep", ms] => thread::sleep(Duration::from_millis(ms.parse()?)),
        _ => return Err("usage: swarm threads|late|crowd|forks|orphans|exec|pingpong|sleep …".into()),
    }
    std::io::stdout().flush()?;
    Ok(())
}
