//! Watches a program and says what was seen: `watch auto|perf|connector|poll PROGRAM ARGUMENT…`
//!
//! Shows how little it takes; the tests run it without privileges.

use std::{
    env,
    error::Error,
    io::{Read as _, Write as _},
    process::{Command, Stdio},
    time::Duration,
};

use evenkeel_linux::watch::{Options, Seen, Source, Tid, Watcher};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [source, program @ ..] = &arguments[..] else {
        return Err("usage: watch auto|perf|connector|poll PROGRAM ARGUMENT…".into());
    };
    let source = match source.as_str() {
        "perf" => Source::Perf,
        "connector" => Source::Connector,
        "poll" => Source::Poll,
        _ => Source::Auto,
    };
    // A shell that says when it is there, waits for us, and then becomes the program.
    let mut child = Command::new("sh")
        .args(["-c", "echo; read _; exec \"$@\"", "sh"])
        .args(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(output) = child.stdout.as_mut() {
        output.read_exact(&mut [0])?;
    }
    let options = Options { source, ..Options::default() };
    let mut watcher = match Watcher::program(Tid(i32::try_from(child.id())?), &options) {
        Ok(watcher) => watcher,
        Err(error) => {
            child.kill()?;
            child.wait()?;
            return Err(error.into());
        }
    };
    if let Some(mut input) = child.stdin.take() {
        input.write_all(b"\n")?;
    }

    let mut seen = Vec::new();
    let (mut started, mut ended, mut switches) = (0, 0, 0);
    watcher.drain(&mut seen);
    while watcher.alive() > 0 || !seen.is_empty() {
        for one in seen.drain(..) {
            match one {
                Seen::Started { .. } | Seen::Found { .. } => started += 1,
                Seen::Exited { .. } => ended += 1,
                Seen::Took { .. } => switches += 1,
                Seen::Exec { .. } | Seen::Left { .. } | Seen::Woke { .. } => {}
            }
        }
        watcher.wait(Duration::from_millis(100))?;
        watcher.drain(&mut seen);
    }
    let status = child.wait()?;
    println!(
        "started {started} ended {ended} switches {switches} missed {} {status}",
        watcher.missed()
    );
    println!("source: {}", watcher.describe());
    for refused in watcher.refused() {
        println!("refused: {refused}");
    }
    Ok(())
}
