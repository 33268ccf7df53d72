//! A bounded queue with fair scheduling: keys take turns, and a key cannot occupy all slots.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A fair queue. Keys take turns; the items of one key stay in order.
pub(crate) struct FairQueue<K, T> {
    by_key: HashMap<K, VecDeque<T>>,
    /// Keys with waiting items, the next one first.
    turns: VecDeque<K>,
    len: usize,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Maximum number of items of all keys.
    pub(crate) total: usize,
    /// Maximum number of items of one key.
    pub(crate) per_key: usize,
}

/// The outcome of pushing an item.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pushed<T> {
    Queued,
    /// Queued in the slot of another key's newest item, which is returned.
    Replaced(T),
    /// Rejected, because there is no slot for the key; the item is returned.
    Refused(T),
}

impl<K: Copy + Eq + Hash, T> FairQueue<K, T> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { by_key: HashMap::new(), turns: VecDeque::new(), len: 0, limits }
    }

    /// Adds an item. In a full queue, the key that holds most slots gives one up to a key that holds fewer.
    pub(crate) fn push(&mut self, key: K, item: T) -> Pushed<T> {
        let waiting = self.by_key.get(&key).map_or(0, VecDeque::len);
        if waiting >= self.limits.per_key {
            return Pushed::Refused(item);
        }
        let replaced = if self.len >= self.limits.total {
            match self.take_from_longest(waiting + 1) {
                Some(replaced) => Some(replaced),
                None => return Pushed::Refused(item),
            }
        } else {
            None
        };
        let items = self.by_key.entry(key).or_default();
        if items.is_empty() {
            self.turns.push_back(key);
        }
        items.push_back(item);
        self.len += 1;
        replaced.map_or(Pushed::Queued, Pushed::Replaced)
    }

    /// Takes the next item: the oldest one of the key whose turn it is.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let key = self.turns.pop_front()?;
        let items = self.by_key.get_mut(&key)?;
        let item = items.pop_front()?;
        if items.is_empty() {
            self.by_key.remove(&key);
        } else {
            self.turns.push_back(key);
        }
        self.len -= 1;
        Some(item)
    }

    /// Drops items that `is_wanted` does not select.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(&T) -> bool) {
        for items in self.by_key.values_mut() {
            items.retain(&is_wanted);
        }
        self.by_key.retain(|_, items| !items.is_empty());
        self.turns.retain(|key| self.by_key.contains_key(key));
        self.len = self.by_key.values().map(VecDeque::len).sum();
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.limits.total
    }

    /// Removes the newest item of the key with the most items, if it has more than `least`.
    fn take_from_longest(&mut self, least: usize) -> Option<T> {
        let (_, items) = self.by_key.iter_mut().max_by_key(|(_, items)| items.len())?;
        if items.len() <= least {
            return None;
        }
        self.len -= 1;
        items.pop_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> FairQueue<u8, String> {
        FairQueue::new(Limits { total: 8, per_key: 6 })
    }

    fn push(queue: &mut FairQueue<u8, String>, key: u8, number: usize) -> Pushed<String> {
        queue.push(key, format!("{key}.{number}"))
    }

    fn all(queue: &mut FairQueue<u8, String>) -> Vec<String> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn keys_take_turns_and_items_of_one_key_stay_in_order() {
        let mut queue = queue();
        for (key, number) in [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 2)] {
            assert_eq!(push(&mut queue, key, number), Pushed::Queued);
        }
        assert_eq!(all(&mut queue), ["1.1", "2.1", "3.1", "1.2", "3.2", "1.3"]);
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn one_key_cannot_take_all_slots() {
        let mut queue = queue();
        for number in 1..=6 {
            assert_eq!(push(&mut queue, 1, number), Pushed::Queued);
        }
        assert_eq!(push(&mut queue, 1, 7), Pushed::Refused("1.7".to_owned()));
        assert_eq!(push(&mut queue, 2, 1), Pushed::Queued);
    }

    #[test]
    fn in_a_full_queue_the_key_with_most_items_gives_up_its_newest() {
        let mut queue = queue();
        for (key, number) in [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2), (2, 3), (2, 4)] {
            assert_eq!(push(&mut queue, key, number), Pushed::Queued);
        }
        assert!(queue.is_full());
        let Pushed::Replaced(_) = push(&mut queue, 3, 1) else { panic!("a new key gets a slot") };
        let Pushed::Replaced(_) = push(&mut queue, 3, 2) else { panic!("and a fair share") };
        assert_eq!(push(&mut queue, 3, 3), Pushed::Refused("3.3".to_owned()), "3, 3 and 2 is fair");
        let left = all(&mut queue);
        for key in ["1.", "2."] {
            assert_eq!(left.iter().filter(|item| item.starts_with(key)).count(), 3, "{left:?}");
        }
        assert!(left.contains(&"1.1".to_owned()) && !left.contains(&"1.4".to_owned()), "{left:?}");
    }

    #[test]
    fn dropped_items_free_their_slots() {
        let mut queue = queue();
        for (key, number) in [(1, 1), (1, 2), (2, 1), (3, 1)] {
            assert_eq!(push(&mut queue, key, number), Pushed::Queued);
        }
        queue.retain(|item| !item.ends_with(".1"));
        assert_eq!(push(&mut queue, 2, 2), Pushed::Queued);
        assert_eq!(all(&mut queue), ["1.2", "2.2"]);
    }
}
