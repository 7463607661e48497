//! The accesses that the running task has declared, checked in debug builds. A task panics if it
//! touches data that neither it nor a task around it has declared.
//!
//! Stages of a pipeline, and parts of a loop or a join that another worker does, belong to no known
//! task. They are not checked, nor are the tasks of scopes that they open.

use super::{Accesses, Handle, Mode};

/// Which task a thread works for, and what that has declared.
#[derive(Clone, Default)]
pub struct Declared(#[cfg(debug_assertions)] checked::Context);

/// The declarations of one task.
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
    pub const fn allows(_handle: &Handle, _mode: Mode, _made: &Self) -> bool {
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

    thread_local!(static CURRENT: RefCell<Context> = const { RefCell::new(Context::NoTask) });

    #[derive(Clone, Default)]
    pub enum Context {
        /// Outside of tasks.
        #[default]
        NoTask,
        /// Perhaps within a task.
        Unknown,
        Task(Arc<Declarations>),
    }

    /// The declarations of a task, and the tasks around it.
    #[derive(Default)]
    pub struct Declarations {
        own: Vec<(usize, Mode)>,
        around: Option<Arc<Declarations>>,
    }

    impl Declarations {
        fn allows(&self, address: usize, mode: Mode) -> bool {
            let enough = |&(said, how): &(usize, Mode)| {
                said == address && (how == Mode::Writes || mode == Mode::Reads)
            };
            self.own.iter().any(enough)
                || self.around.as_ref().is_some_and(|around| around.allows(address, mode))
        }
    }

    impl Own {
        /// A copy that outlives the borrow.
        pub fn of(accesses: &Accesses<'_>) -> Self {
            Self(accesses.handles().map(|(handle, mode)| (from_ref(handle).addr(), mode)).collect())
        }
    }

    impl Declared {
        /// The context of this thread.
        pub fn here() -> Self {
            // A thread that is about to end has none any more.
            Self(CURRENT.try_with(|context| context.borrow().clone()).unwrap_or(Context::Unknown))
        }

        /// For work that may be part of a task, and does not know of which.
        pub const fn unknown() -> Self {
            Self(Context::Unknown)
        }

        /// For tasks of a scope that is opened now: they have declared nothing themselves.
        pub fn for_tasks(self) -> Self {
            let around = match self.0 {
                Context::NoTask => None,
                Context::Task(around) => Some(around),
                Context::Unknown => return self,
            };
            Self(Context::Task(Arc::new(Declarations { own: Vec::new(), around })))
        }

        /// For a task of that scope.
        pub fn and(&self, own: &Own) -> Self {
            match &self.0 {
                Context::Task(around) if !own.0.is_empty() => {
                    Self(Context::Task(Arc::new(Declarations {
                        own: own.0.clone(),
                        around: Some(Arc::clone(around)),
                    })))
                }
                context => Self(context.clone()),
            }
        }

        /// Calls `f` in this context, and restores the one before, also where `f` panics.
        pub fn during<R>(&self, f: impl FnOnce() -> R) -> R {
            struct Back(Option<Context>);
            impl Drop for Back {
                fn drop(&mut self) {
                    if let Some(context) = self.0.take() {
                        let _ = CURRENT.try_with(|current| current.replace(context));
                    }
                }
            }
            let _back = Back(CURRENT.try_with(|current| current.replace(self.0.clone())).ok());
            f()
        }

        /// True if the running task may touch the data, or has made them itself, or if no task is
        /// known.
        pub fn allows(handle: &Handle, mode: Mode, made: &Self) -> bool {
            match (&Self::here().0, &made.0) {
                (Context::Task(here), Context::Task(made)) if Arc::ptr_eq(here, made) => true,
                (Context::Task(_), Context::Unknown) => true,
                (Context::Task(here), _) => here.allows(from_ref(handle).addr(), mode),
                (Context::NoTask | Context::Unknown, _) => true,
            }
        }
    }
}
