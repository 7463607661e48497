//! Stages that are known when the program runs, and not before: so many as there are, all from one type of item to the same.

use super::chain::{Accept, End, ParallelStage, SerialStage, Shown};
use super::line::Flow;
use crate::costs::Label;

/// A stage for [`crate::Pipeline::run_through`].
pub enum Stage<'a, T> {
    /// Takes one item at a time, in the order in which they came from the source.
    Serial(Box<dyn FnMut(T) -> T + Send + 'a>),
    /// Takes any number of items at a time, in any order.
    Parallel(Box<dyn Fn(T) -> T + Send + Sync + 'a>),
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
pub fn link<'a, T: Send + 'a>(stages: Vec<Stage<'a, T>>) -> Linked<'a, T> {
    let end: Linked<'a, T> = Box::new(End);
    let numbered = (1..).zip(stages).collect::<Vec<_>>().into_iter();
    numbered.rev().fold(end, |next, (number, stage)| {
        let shown = Shown { number, label: Label::default() };
        match stage {
            Stage::Serial(mut f) => Box::new(SerialStage::new(shown, move |item| Some(f(item)), next)),
            Stage::Parallel(f) => Box::new(ParallelStage::new(shown, move |item| Some(f(item)), next)),
        }
    })
}
