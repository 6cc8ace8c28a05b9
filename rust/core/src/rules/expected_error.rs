//! How large an error to expect of an event: what stands for a small margin in regression.
//!
//! A running mean of |error| is kept overall and a feature, learned from every event learned: n-th
//! time `m += (|error| - m)·max(0.02, 1/n)`. The error expected of an event is the mean over its
//! features; a name never learned counts twice the overall mean, for its weight is still to be
//! found. A prediction counts as the surer the smaller that is beside the overall mean.

use serde::{Deserialize, Serialize};

use crate::event::Feature;
use crate::storage::index_remap::IndexRemap;

/// A mean forgets after some fifty events.
const SLOWEST: f64 = 0.02;
/// What a name never learned counts, in overall means.
const OF_A_NEW_NAME: f64 = 2.0;
/// No event is a hundred times surer than the mean one.
const FLOOR: f64 = 0.01;

/// A running mean, and how often it was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Mean {
    value: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, error: f64) {
        self.count += 1;
        self.value += (error - self.value) * SLOWEST.max(1.0 / self.count as f64);
    }

    fn is_sound(self) -> bool {
        self.value.is_finite() && self.value >= 0.0 && self.count <= u64::MAX / 2
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExpectedError {
    overall: Mean,
    features: Vec<Mean>,
}

impl ExpectedError {
    /// How sure a prediction is: the overall mean over the error expected, from 0.5 to 100 or so;
    /// 1 while no error has been seen.
    pub fn confidence(&self, event: &[Feature]) -> f64 {
        let overall = self.overall.value;
        if event.is_empty() || overall == 0.0 {
            return 1.0;
        }
        let mut sum = 0.0;
        for feature in event {
            sum += match self.features.get(feature.id as usize) {
                Some(mean) => mean.value / overall,
                None => OF_A_NEW_NAME,
            };
        }
        1.0 / (sum / event.len() as f64).max(FLOOR)
    }

    /// Learn the error made on an event; names from the known ones on up to `names` are new.
    pub fn learn(&mut self, event: &[Feature], names: usize, error: f64) {
        self.features.resize(names, Mean::default());
        self.overall.add(error);
        for feature in event {
            self.features[feature.id as usize].add(error);
        }
    }

    /// Let features go.
    pub fn retain(&mut self, remap: &IndexRemap) {
        remap.retain(&mut self.features, 1);
    }

    /// Whether a saved estimate fits so many names.
    pub fn check(&self, names: usize) -> Result<(), &'static str> {
        if self.features.len() != names {
            return Err("its errors are not as many as its names");
        }
        if self.overall.is_sound() && self.features.iter().all(|mean| mean.is_sound()) {
            Ok(())
        } else {
            Err("a mean error is not a finite number of 0 or more")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{FeatureId, UNKNOWN};

    fn event(ids: &[FeatureId]) -> Vec<Feature> {
        ids.iter().map(|&id| Feature { id, value: 1.0 }).collect()
    }

    #[test]
    fn where_errors_were_large_it_is_less_sure() {
        let mut errors = ExpectedError::default();
        assert_eq!(errors.confidence(&event(&[0])), 1.0);
        for _ in 0..10 {
            errors.learn(&event(&[0]), 2, 1.0);
            errors.learn(&event(&[1]), 2, 3.0);
        }
        assert_eq!(errors.overall, Mean { value: 2.0, count: 20 });
        assert_eq!(errors.confidence(&event(&[0])), 2.0); // 1 where 2 is the mean
        assert_eq!(errors.confidence(&event(&[0, 1])), 1.0);
        assert_eq!(errors.confidence(&event(&[UNKNOWN])), 0.5);
    }

    #[test]
    fn a_state_that_does_not_fit_is_refused() {
        let mut errors = ExpectedError::default();
        errors.learn(&event(&[0]), 1, 1.0);
        assert!(errors.check(1).is_ok());
        assert!(errors.check(2).is_err());
        errors.overall.value = f64::NAN;
        assert!(errors.check(1).is_err());
    }
}
