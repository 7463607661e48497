//! Another program, which wants a core all the time.

use std::process::{Child, Command};

use super::system::pin_to;

/// Argument that makes this program one: `--hog=CPU`.
const ARGUMENT: &str = "--hog=";

/// See the file's head. It ends when this is dropped.
pub struct Hog(Child);

impl Hog {
    /// One that keeps to this core.
    pub fn on(cpu: usize) -> Self {
        let hog = Command::new(std::env::current_exe().unwrap()).arg(format!("{ARGUMENT}{cpu}")).spawn();
        Self(hog.unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Is one, for as long as there is who started it, where this process was started to be.
pub fn is_one() -> bool {
    let Some(cpu) = std::env::args().find_map(|arg| arg.strip_prefix(ARGUMENT)?.parse().ok()) else { return false };
    pin_to(cpu);
    let parent = rustix::process::getppid();
    while rustix::process::getppid() == parent {
        (0..1_000_000).for_each(|i| _ = std::hint::black_box(i));
    }
    true
}
