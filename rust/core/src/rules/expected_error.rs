//! The error to expect for an event. In regression it takes the place of the margin in query rules.
//!
//! There is one running mean of |error| for all events and one per feature, updated by every event
//! learned: the n-th time `m += (|error| - m)·max(0.02, 1/n)`. The error expected for an event is
//! the mean over its features. A name never learned counts with twice the overall mean, because its
//! weight is not known yet. The confidence is the overall mean divided by the expected error.

use serde::{Deserialize, Serialize};

use crate::event::FeatureValue;
use crate::storage::index_remap::IndexRemap;

/// The smallest step of a mean: it covers about the last fifty events.
const SLOWEST: f64 = 0.02;
/// The error expected of a name never learned, in overall means.
const ERROR_OF_NEW_NAME: f64 = 2.0;
/// The least expected error, in overall means: no confidence is above 100.
const FLOOR: f64 = 0.01;

/// A running mean, and the number of values in it.
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
    /// The confidence in a prediction: the overall mean divided by the expected error, at most 100;
    /// 1 while no error was seen.
    pub fn confidence(&self, event: &[FeatureValue]) -> f64 {
        let overall = self.overall.value;
        if event.is_empty() || overall == 0.0 {
            return 1.0;
        }
        let mut sum = 0.0;
        for feature in event {
            sum += match self.features.get(feature.id as usize) {
                Some(mean) if mean.count > 0 => mean.value / overall,
                Some(_) | None => ERROR_OF_NEW_NAME,
            };
        }
        1.0 / (sum / event.len() as f64).max(FLOOR)
    }

    /// Extend to so many features.
    pub fn set_names(&mut self, names: usize) {
        self.features.resize(names, Mean::default());
    }

    /// Learn the error made on an event.
    pub fn learn(&mut self, event: &[FeatureValue], error: f64) {
        self.overall.add(error);
        for feature in event {
            self.features[feature.id as usize].add(error);
        }
    }

    /// Drop the means of evicted features.
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

    fn event(ids: &[FeatureId]) -> Vec<FeatureValue> {
        ids.iter().map(|&id| FeatureValue { id, value: 1.0 }).collect()
    }

    #[test]
    fn confidence_is_low_where_errors_were_large() {
        let mut errors = ExpectedError::default();
        assert_eq!(errors.confidence(&event(&[0])), 1.0);
        errors.set_names(2);
        for _ in 0..10 {
            errors.learn(&event(&[0]), 1.0);
            errors.learn(&event(&[1]), 3.0);
        }
        assert_eq!(errors.overall, Mean { value: 2.0, count: 20 });
        assert_eq!(errors.confidence(&event(&[0])), 2.0); // 1 where 2 is the mean
        assert_eq!(errors.confidence(&event(&[0, 1])), 1.0);
        assert_eq!(errors.confidence(&event(&[UNKNOWN])), 0.5);
    }

    #[test]
    fn a_state_that_does_not_fit_is_refused() {
        let mut errors = ExpectedError::default();
        errors.set_names(1);
        errors.learn(&event(&[0]), 1.0);
        assert!(errors.check(1).is_ok());
        assert!(errors.check(2).is_err());
        errors.overall.value = f64::NAN;
        assert!(errors.check(1).is_err());
    }
}
