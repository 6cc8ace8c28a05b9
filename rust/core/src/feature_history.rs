//! In which rounds each feature was learned.

/// Rounds count the events learned, from 1; all is 0 until the feature is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeatureHistory {
    pub first: u64,
    pub last: u64,
    pub times: u64,
}

impl FeatureHistory {
    /// Whether the feature was learned.
    pub fn is_learned(&self) -> bool {
        self.times > 0
    }

    /// Note that an event of this round carried the feature.
    pub fn note(&mut self, round: u64) {
        if self.times == 0 {
            self.first = round;
        }
        self.last = round;
        self.times += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_round_is_kept_and_the_last_is_updated() {
        let mut history = FeatureHistory::default();
        for round in [3, 5, 9] {
            history.note(round);
        }
        assert_eq!(history, FeatureHistory { first: 3, last: 9, times: 3 });
    }
}
