//! The accesses that one task declares.

use super::{Handle, Mode, Resource};

/// Accesses that need no memory of their own.
const INLINE: usize = 4;

type Access<'a> = (&'a [Handle], Mode);

/// What a task reads and writes, while it is being declared.
pub struct Accesses<'a> {
    first: [Option<Access<'a>>; INLINE],
    count: usize,
    more: Vec<Access<'a>>,
    /// True if there are data among them.
    #[cfg(debug_assertions)]
    of_data: bool,
}

impl<'a> Accesses<'a> {
    /// Nothing has been said.
    pub const NONE: Self = Self {
        first: [None; INLINE],
        count: 0,
        more: Vec::new(),
        #[cfg(debug_assertions)]
        of_data: false,
    };

    /// One more.
    #[inline]
    pub fn add(&mut self, resource: &'a (impl Resource + ?Sized), mode: Mode) {
        let access = (resource.handles(), mode);
        match self.first.get_mut(self.count) {
            Some(place) => *place = Some(access),
            None => self.more.push(access),
        }
        self.count += 1;
        #[cfg(debug_assertions)]
        {
            self.of_data |= resource.is_data();
        }
    }

    /// True if there are data among them, as far as the build wants to know.
    #[inline]
    pub const fn are_of_data(&self) -> bool {
        #[cfg(debug_assertions)]
        return self.of_data;
        #[cfg(not(debug_assertions))]
        return false;
    }

    /// True if none has been declared.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The handles that stand for what is read and written.
    #[inline]
    pub fn handles(&self) -> impl Iterator<Item = (&'a Handle, Mode)> + '_ {
        let accesses = self.first.iter().map_while(Option::as_ref).chain(&self.more);
        accesses.flat_map(|&(handles, mode)| handles.iter().map(move |handle| (handle, mode)))
    }
}
