//! The last values of a feature, with the events that carried them.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How many values are kept.
pub const MOST: usize = 64;

/// The last values, in a ring.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    ring: Vec<(u64, f64)>,
    /// The place of the oldest, once the ring is full.
    oldest: usize,
}

impl Kept {
    #[inline]
    pub fn push(&mut self, event: u64, value: f64) {
        if self.ring.len() < MOST {
            self.ring.push((event, value));
        } else {
            self.ring[self.oldest] = (event, value);
            self.oldest = (self.oldest + 1) % MOST;
        }
    }

    /// Count the events from another beginning.
    pub fn shift(&mut self, events: u64) {
        self.ring.iter_mut().for_each(|(event, _)| *event += events);
    }

    /// Event and value, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let (late, early) = self.ring.split_at(self.oldest);
        early.iter().chain(late).copied()
    }

    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Mean and spread of the values.
    pub fn moments(&self) -> (f64, f64) {
        let n = self.ring.len().max(1) as f64;
        let mean = self.iter().map(|(_, value)| value / n).sum::<f64>();
        let squares = self.iter().map(|(_, value)| (value - mean) * ((value - mean) / n));
        (mean, squares.sum::<f64>().sqrt())
    }
}

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { ring: Vec::deserialize(deserializer)?, oldest: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_64_are_kept_in_order() {
        let mut kept = Kept::default();
        (1..=100).for_each(|event| kept.push(event, event as f64 / 2.0));
        let events: Vec<u64> = kept.iter().map(|(event, _)| event).collect();
        assert_eq!(events, (37..=100).collect::<Vec<u64>>());
        assert_eq!(kept.len(), MOST);
    }

    #[test]
    fn mean_and_spread_are_those_of_what_is_kept() {
        let mut kept = Kept::default();
        kept.push(1, 1.0);
        kept.push(2, 3.0);
        assert_eq!(kept.moments(), (2.0, 1.0));
    }
}
