//! What the running task has declared: debug builds find data that is touched without.
//!
//! In release builds nothing of it is left. A part of a loop, a join or a pipeline does not know whose it is, once
//! another worker does it: there nothing is checked.

use super::{Accesses, Handle, Mode};

/// Whose work a thread does, and what was declared for it.
#[derive(Clone, Default)]
pub struct Declared(#[cfg(debug_assertions)] checked::Whose);

/// What one task has declared.
pub struct Own(#[cfg(debug_assertions)] Vec<(usize, Mode)>);

#[cfg(not(debug_assertions))]
impl Declared {
    pub const fn here() -> Self {
        Self()
    }

    pub const fn unknown() -> Self {
        Self()
    }

    pub const fn for_tasks(self) -> Self {
        self
    }

    pub const fn and(&self, _own: &Own) -> Self {
        Self()
    }

    #[inline(always)]
    pub fn during<R>(&self, f: impl FnOnce() -> R) -> R {
        f()
    }

    #[inline(always)]
    pub const fn allows(_handle: &Handle, _mode: Mode) -> bool {
        true
    }
}

#[cfg(not(debug_assertions))]
impl Own {
    pub const fn of(_accesses: &Accesses<'_>) -> Self {
        Self()
    }
}

#[cfg(debug_assertions)]
mod checked {
    use std::cell::RefCell;
    use std::ptr::from_ref;
    use std::sync::Arc;

    use super::{Accesses, Declared, Handle, Mode, Own};

    thread_local!(static HERE: RefCell<Whose> = const { RefCell::new(Whose::NoTask) });

    #[derive(Clone, Default)]
    pub enum Whose {
        /// A program's, outside of tasks.
        #[default]
        NoTask,
        /// It may be a task's.
        Unknown,
        Task(Arc<Said>),
    }

    /// By a task, and by those around it.
    #[derive(Default)]
    pub struct Said {
        own: Vec<(usize, Mode)>,
        around: Option<Arc<Said>>,
    }

    impl Said {
        fn allows(&self, address: usize, mode: Mode) -> bool {
            let enough = |&(said, how): &(usize, Mode)| said == address && (how == Mode::Writes || mode == Mode::Reads);
            self.own.iter().any(enough) || self.around.as_ref().is_some_and(|around| around.allows(address, mode))
        }
    }

    impl Own {
        /// What these are.
        pub fn of(accesses: &Accesses<'_>) -> Self {
            Self(accesses.handles().map(|(handle, mode)| (from_ref(handle).addr(), mode)).collect())
        }
    }

    impl Declared {
        /// Of what this thread does now.
        pub fn here() -> Self {
            Self(HERE.with_borrow(Whose::clone))
        }

        /// Of what may be a task's, and does not know it.
        pub const fn unknown() -> Self {
            Self(Whose::Unknown)
        }

        /// Of the tasks of a scope that is opened here: they have said nothing yet.
        pub fn for_tasks(self) -> Self {
            match self.0 {
                Whose::NoTask => Self(Whose::Task(Arc::default())),
                whose => Self(whose),
            }
        }

        /// Of a task among them.
        pub fn and(&self, own: &Own) -> Self {
            match &self.0 {
                Whose::Task(around) if !own.0.is_empty() => {
                    Self(Whose::Task(Arc::new(Said { own: own.0.clone(), around: Some(Arc::clone(around)) })))
                }
                whose => Self(whose.clone()),
            }
        }

        /// Calls `f` as whose work it is.
        pub fn during<R>(&self, f: impl FnOnce() -> R) -> R {
            struct Back(Whose);
            impl Drop for Back {
                fn drop(&mut self) {
                    HERE.set(std::mem::take(&mut self.0));
                }
            }
            let _back = Back(HERE.replace(self.0.clone()));
            f()
        }

        /// Whether this thread may touch the data.
        pub fn allows(handle: &Handle, mode: Mode) -> bool {
            HERE.with_borrow(|whose| match whose {
                Whose::Task(said) => said.allows(from_ref(handle).addr(), mode),
                Whose::NoTask | Whose::Unknown => true,
            })
        }
    }
}
