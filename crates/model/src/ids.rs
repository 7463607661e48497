//! Numbers by which an application's steps name its objects.

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);
        impl $name {
            /// As an index.
            pub const fn index(self) -> usize { self.0 as usize }
        }
    };
}
index!(/// A phase of its application.
    PhaseId);
index!(/// A program of its application.
    ProgramId);
index!(/// A barrier of its application.
    BarrierId);
index!(/// A lock (mutex) of its application.
    LockId);
index!(/// A condition variable of its application.
    ConditionId);
index!(/// A counting semaphore of its application.
    SemaphoreId);
index!(/// A bounded queue of its application.
    ChannelId);
index!(/// A periodic timer of its application.
    TimerId);
index!(/// A device for I/O of its application.
    DeviceId);
index!(/// A parallel loop of its application.
    LoopId);
index!(/// A task graph of its application.
    GraphId);
