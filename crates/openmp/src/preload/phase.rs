//! What is done with a loop.

/// What is done with a loop: shares of its own runtime, or by speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Phase {
    /// Its own shares, until it is known how fast each kind of core is.
    Watched = 0,
    /// By speed, and still adjusted.
    Applied = 1,
    /// By speed.
    Frozen = 2,
    /// The loop is too short.
    Short = 3,
    /// Shares by speed promise nothing.
    Balanced = 4,
    /// They were tried and did not pay.
    Withdrawn = 5,
    /// It has fewer iterations than would do.
    Few = 6,
    /// It is not known which kinds of core its threads run on.
    Unplaced = 7,
    /// By capacities that were given: nothing is learned.
    Given = 8,
    /// The program divides it itself: it is measured alone.
    Own = 9,
}

impl Phase {
    /// Whether threads get shares by speed.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Applied | Self::Frozen | Self::Given)
    }

    /// Whether threads take their times.
    pub fn is_measured(self) -> bool {
        matches!(self, Self::Watched | Self::Applied | Self::Frozen | Self::Given | Self::Own)
    }
}
