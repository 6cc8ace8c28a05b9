//! When each feature was learned from.

/// Rounds count the events learned, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureHistory {
    pub first: u64,
    pub last: u64,
    pub times: u64,
}

impl FeatureHistory {
    /// Of a feature that is learned from for the first time in this round, which still has to be noted.
    pub fn new(round: u64) -> Self {
        Self { first: round, last: 0, times: 0 }
    }

    /// Note that an event of this round carried the feature.
    pub fn note(&mut self, round: u64) {
        self.last = round;
        self.times += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_stays_and_the_last_moves() {
        let mut history = FeatureHistory::new(3);
        for round in [3, 5, 9] {
            history.note(round);
        }
        assert_eq!(history, FeatureHistory { first: 3, last: 9, times: 3 });
    }
}
