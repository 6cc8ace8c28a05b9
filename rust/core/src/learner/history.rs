//! In which rounds each feature was learned.

/// Rounds count the events learned, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureHistory {
    pub first: u64,
    pub last: u64,
    pub times: u64,
}

impl FeatureHistory {
    /// The history of a feature that is first learned in this round; [`Self::note`] has yet to
    /// count it.
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
    fn the_first_round_is_kept_and_the_last_is_updated() {
        let mut history = FeatureHistory::new(3);
        for round in [3, 5, 9] {
            history.note(round);
        }
        assert_eq!(history, FeatureHistory { first: 3, last: 9, times: 3 });
    }
}
