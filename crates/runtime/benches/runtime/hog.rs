//! Another program, which wants a core all the time.

use std::process::{Child, Command};

use super::system::pin_to;

/// Argument that makes this program one: `--hog=CPU,PARENT`.
const ARGUMENT: &str = "--hog=";

/// See the file's head. It ends when this is dropped.
pub struct Hog(Child);

impl Hog {
    /// One that keeps to this core.
    pub fn on(cpu: usize) -> Self {
        let argument = format!("{ARGUMENT}{cpu},{}", std::process::id());
        Self(Command::new(std::env::current_exe().unwrap()).arg(argument).spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// True if this process was started as one: then it works until its parent ends.
pub fn is_one() -> bool {
    let argument = std::env::args().find_map(|arg| arg.strip_prefix(ARGUMENT).map(str::to_owned));
    let Some((cpu, parent)) = argument.as_deref().and_then(|it| it.split_once(',')) else {
        return false;
    };
    pin_to(cpu.parse().unwrap());
    let parent = parent.parse().ok();
    while rustix::process::getppid().map(|it| it.as_raw_nonzero().get()) == parent {
        (0..1_000_000).for_each(|i| _ = std::hint::black_box(i));
    }
    true
}
