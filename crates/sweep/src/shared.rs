//! What cases share, each made once, in bounded memory.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// What has been made, by what it was made of. A failure is kept as well. What was used least
/// lately is forgotten, half of all at a time.
pub(crate) struct Shared<K, V> {
    made: Mutex<Generations<K, V>>,
    /// The most that one generation weighs.
    most: usize,
    weigh: fn(&V) -> usize,
}

type Made<V> = Result<Arc<V>, String>;

/// What was used lately, and what was used before that.
struct Generations<K, V> {
    new: HashMap<K, Made<V>>,
    /// What the new ones weigh.
    weight: usize,
    old: HashMap<K, Made<V>>,
}

impl<K: Eq + Hash, V> Generations<K, V> {
    fn get(&mut self, key: &K, most: usize, weigh: fn(&V) -> usize) -> Option<Made<V>> {
        if let Some(known) = self.new.get(key) {
            return Some(known.clone());
        }
        let (key, known) = self.old.remove_entry(key)?;
        self.put(key, known.clone(), most, weigh);
        Some(known)
    }

    fn put(&mut self, key: K, made: Made<V>, most: usize, weigh: fn(&V) -> usize) {
        if self.weight >= most {
            self.old = std::mem::take(&mut self.new);
            self.weight = 0;
        }
        self.weight += made.as_ref().map_or(1, |made| weigh(made));
        self.new.insert(key, made);
    }
}

impl<K: Eq + Hash, V> Shared<K, V> {
    /// Room for so many that weigh one each.
    pub fn with_room(most: usize, weigh: fn(&V) -> usize) -> Self {
        let made = Generations { new: HashMap::new(), weight: 0, old: HashMap::new() };
        Self { made: Mutex::new(made), most: most.div_ceil(2), weigh }
    }

    /// True if it has been made, or failed.
    pub fn has(&self, key: &K) -> bool {
        let known = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        known.new.contains_key(key) || known.old.contains_key(key)
    }

    /// What is known, or what is made now.
    ///
    /// # Errors
    /// Those of making it.
    pub fn get(&self, key: K, make: impl FnOnce() -> Result<V, String>) -> Result<Arc<V>, String> {
        let known = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(&key, self.most, self.weigh) {
            return known;
        }
        // Made without the lock: two that begin at once make it twice, and no other waits.
        let made = make().map(Arc::new);
        known().put(key, made.clone(), self.most, self.weigh);
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_made_once_while_it_is_used_and_a_failure_stays_one() {
        let shared = Shared::with_room(4, |_| 1);
        let mut made = Vec::new();
        let mut get = |key: u32| {
            let made = shared.get(key, || {
                made.push(key);
                if key == 0 { Err("none".to_owned()) } else { Ok(key) }
            });
            made.map(|it| *it)
        };
        for key in [0, 1, 0, 1, 2, 3] {
            assert_eq!(get(key), if key == 0 { Err("none".to_owned()) } else { Ok(key) });
        }
        // 1 is used again, 0 is not; 4 and 5 take the place of what was used least lately.
        for key in [1, 4, 5, 1, 0] {
            let _ = get(key);
        }
        assert_eq!(made, [0, 1, 2, 3, 4, 5, 0]);
    }
}
