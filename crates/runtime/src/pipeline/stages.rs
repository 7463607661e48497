//! Stages that are known when the program runs, and not before: so many as there are, all from one
//! type of item to the same.

use super::chain::{Accept, End, ParallelStage, SerialStage, Shown};
use super::running::Flow;
use crate::Pool;

/// A stage for [`crate::Pipeline::run_through`].
pub struct Stage<'a, T> {
    work: Work<'a, T>,
    label: Option<&'static str>,
}

enum Work<'a, T> {
    Serial(Box<dyn FnMut(T) -> T + Send + 'a>),
    Parallel(Box<dyn Fn(T) -> T + Send + Sync + 'a>),
}

impl<'a, T> Stage<'a, T> {
    /// Takes one item at a time, in the order in which they came from the source.
    pub fn serial(f: impl FnMut(T) -> T + Send + 'a) -> Self {
        Self { work: Work::Serial(Box::new(f)), label: None }
    }

    /// Takes any number of items at a time, in any order.
    pub fn parallel(f: impl Fn(T) -> T + Send + Sync + 'a) -> Self {
        Self { work: Work::Parallel(Box::new(f)), label: None }
    }

    /// See [`crate::Pipeline::label`].
    #[must_use]
    pub const fn label(mut self, name: &'static str) -> Self {
        self.label = Some(name);
        self
    }
}

/// A stage, and all behind it.
type Linked<'a, T> = Box<dyn Accept<T> + 'a>;

impl<T: Send> Accept<T> for Linked<'_, T> {
    fn accept<'scope>(&'scope self, number: u64, item: T, flow: Flow<'scope>)
    where
        T: 'scope,
    {
        (**self).accept(number, item, flow);
    }
}

/// Puts each behind the one before it.
pub fn link<'a, T: Send + 'a>(stages: Vec<Stage<'a, T>>, pool: &Pool) -> Linked<'a, T> {
    let end: Linked<'a, T> = Box::new(End);
    let numbered = (1..).zip(stages).collect::<Vec<_>>().into_iter();
    numbered.rev().fold(end, |next, (number, stage)| {
        let shown =
            Shown { number, label: stage.label.map(|name| pool.label(name)).unwrap_or_default() };
        match stage.work {
            Work::Serial(mut f) => {
                Box::new(SerialStage::new(shown, move |item| Some(f(item)), next))
            }
            Work::Parallel(f) => {
                Box::new(ParallelStage::new(shown, move |item| Some(f(item)), next))
            }
        }
    })
}
