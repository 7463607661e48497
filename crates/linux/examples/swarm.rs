//! A program whose threads can be counted, for tests of what watches threads.
//!
//! - `swarm threads N`: N threads one after another, up to eight at a time, each of which does
//!   nothing;
//! - `swarm late N`: the same, once it has printed an empty line and read one;
//! - `swarm crowd N`: N threads that wait for a line of input, then start one more each;
//! - `swarm forks DEPTH`: a process that forks one that forks one …, DEPTH deep; each prints its
//!   number, and the deepest lives until its input ends;
//! - `swarm orphans N`: N grandchildren whose parents end at once, each of which lives until its
//!   input ends; prints their numbers;
//! - `swarm exec PROGRAM ARGUMENT…`: another thread than the first begins the program;
//! - `swarm pingpong N`: two threads that wake each other N times, in turns; prints nanoseconds for
//!   each;
//! - `swarm turns N`: the same, but each wakes the other only when that sleeps; prints nothing;
//! - `swarm sleep MS`: sleeps.
//!
//! Those of one process print the number of threads that they started.

use std::{
    env,
    error::Error,
    fs,
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    process::Command,
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread::{self, Thread},
    time::{Duration, Instant},
};

use rustix::thread::{Pid, gettid};

const AT_A_TIME: usize = 8;

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
        let read = io::stdin().read_line(&mut String::new());
        ready.wait();
        read
    })?;
    Ok(())
}

/// Waits until there is no more input.
fn outlive_input() -> io::Result<()> {
    io::copy(&mut io::stdin(), &mut io::sink()).map(drop)
}

fn forks(depth: u32) -> Result<(), Box<dyn Error>> {
    println!("{}", std::process::id());
    if depth == 0 {
        return Ok(outlive_input()?);
    }
    Command::new(env::current_exe()?).args(["forks", &(depth - 1).to_string()]).status()?;
    Ok(())
}

fn orphans(number: u32) -> Result<(), Box<dyn Error>> {
    for _ in 0..number {
        // The shell ends at once; what it put into the background goes on. Its input would be empty
        // but for the 3.
        Command::new("sh").args(["-c", "exec 3<&0; cat <&3 >/dev/null & echo $!"]).status()?;
    }
    Ok(outlive_input()?)
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

/// Waits until a thread of this process sleeps.
fn wait_until_asleep(thread: Pid) -> io::Result<()> {
    let stat = format!("/proc/self/task/{thread}/stat");
    // The state comes after the name, which is in parentheses.
    while !fs::read_to_string(&stat)?
        .rsplit_once(')')
        .is_some_and(|(_, rest)| rest.starts_with(" S"))
    {
        thread::yield_now();
    }
    Ok(())
}

fn turns(number: usize) -> Result<(), Box<dyn Error>> {
    let turn = AtomicUsize::new(0);
    let play = |mine: usize, other: &Thread, number_of_other: Pid| -> io::Result<()> {
        for round in 0..number {
            while turn.load(Ordering::Acquire) != 2 * round + mine {
                thread::park();
            }
            wait_until_asleep(number_of_other)?;
            turn.fetch_add(1, Ordering::Release);
            other.unpark();
        }
        Ok(())
    };
    let (first, number_of_first) = (thread::current(), gettid());
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let second = scope.spawn(|| {
            // The receiver has ended only if it has failed, which is reported there.
            let _ = tell.send(gettid());
            play(1, &first, number_of_first)
        });
        play(0, second.thread(), told.recv()?)?;
        Ok(second.join().map_err(|_| "a thread has panicked")??)
    })
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
            println!();
            io::stdin().read_line(&mut String::new())?;
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
        ["turns", number] => turns(number.parse()?)?,
        ["sleep", ms] => thread::sleep(Duration::from_millis(ms.parse()?)),
        _ => {
            return Err(
                "usage: swarm threads|late|crowd|forks|orphans|exec|pingpong|turns|sleep …".into(),
            );
        }
    }
    io::stdout().flush()?;
    Ok(())
}
