//! What cases share, each made once, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// What has been made, by what it was made of. A failure is kept as well. When it is full, all of
/// it is forgotten: the grid's order comes back to little that it has left.
pub(crate) struct Shared<K, V> {
    made: Mutex<HashMap<K, Result<Arc<V>, String>>>,
    most: usize,
}

impl<K: Clone + Eq + Hash, V> Shared<K, V> {
    /// Room for so many.
    pub fn with_room(most: usize) -> Self {
        Self { made: Mutex::default(), most }
    }

    /// What is known, or what is made now.
    ///
    /// # Errors
    /// Those of making it.
    pub fn get(&self, key: K, make: impl FnOnce() -> Result<V, String>) -> Result<Arc<V>, String> {
        let known = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&key) {
            return known.clone();
        }
        // Made without the lock: two that begin at once make it twice, and no other waits.
        let made = make().map(Arc::new);
        let mut known = known();
        if known.len() >= self.most {
            known.clear();
        }
        known.entry(key).or_insert(made).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_made_once_until_there_is_no_room_and_a_failure_stays_one() {
        let shared = Shared::with_room(2);
        let mut made = 0;
        let mut get = |key: u32| {
            shared.get(key, || {
                made += 1;
                if key == 0 { Err("none".to_owned()) } else { Ok(key) }
            })
        };
        assert_eq!((get(0), get(1).map(|it| *it)), (Err("none".to_owned()), Ok(1)));
        assert_eq!((get(0), get(1).map(|it| *it)), (Err("none".to_owned()), Ok(1)));
        assert_eq!(get(2).map(|it| *it), Ok(2));
        assert_eq!(get(1).map(|it| *it), Ok(1));
        assert_eq!(made, 4);
    }
}
