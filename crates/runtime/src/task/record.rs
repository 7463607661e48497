//! Which earlier tasks a task has to wait for: the rule of readers and writers, of one handle in
//! one scope.

/// The access of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Others may read at the same time.
    Reads,
    /// Exclusive access.
    Writes,
}

/// The last accesses.
pub struct Record<T> {
    last_writer: Option<T>,
    /// Since then.
    readers: Vec<T>,
}

impl<T> Default for Record<T> {
    fn default() -> Self {
        Self { last_writer: None, readers: Vec::new() }
    }
}

impl<T: Copy> Record<T> {
    /// The tasks that the next one has to wait for. A writer after readers waits for them, and by
    /// them for the writer before.
    #[inline]
    pub fn before(&self, mode: Mode) -> &[T] {
        match mode {
            Mode::Writes if !self.readers.is_empty() => &self.readers,
            Mode::Reads | Mode::Writes => self.last_writer.as_slice(),
        }
    }

    /// A task comes next. Readers that are done may be forgotten.
    #[inline]
    pub fn add(&mut self, task: T, mode: Mode, is_done: impl Fn(T) -> bool) {
        match mode {
            Mode::Reads => {
                if self.readers.len() == self.readers.capacity() {
                    self.readers.retain(|&reader| !is_done(reader));
                    // Twice as many as are left: so looking through them costs each reader the
                    // same.
                    self.readers.reserve(self.readers.len() + 1);
                }
                self.readers.push(task);
            }
            Mode::Writes => {
                self.readers.clear();
                self.last_writer = Some(task);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_wait_for_the_writer_before_and_a_writer_for_the_readers_since() {
        let mut record = Record::default();
        let mut add = |task, mode| {
            let before = record.before(mode).to_vec();
            record.add(task, mode, |_| false);
            before
        };
        assert!(add(1, Mode::Reads).is_empty());
        assert_eq!(add(2, Mode::Writes), [1]);
        assert_eq!(add(3, Mode::Reads), [2]);
        assert_eq!(add(4, Mode::Reads), [2]);
        assert_eq!(add(5, Mode::Writes), [3, 4]);
        assert_eq!(add(6, Mode::Writes), [5]);
    }

    #[test]
    fn readers_that_are_done_do_not_add_up() {
        let mut record = Record::default();
        for task in 0..100_000 {
            record.add(task, Mode::Reads, |earlier| earlier + 10 < task);
        }
        assert!(record.readers.capacity() < 100, "{}", record.readers.capacity());
    }
}
