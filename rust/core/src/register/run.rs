//! How often a feature repeats its value, and whether it is stuck at one.

use serde::{Deserialize, Serialize};

/// The fewest equal values in a row that are called stuck,
const SHORTEST: u32 = 8;
/// and as a multiple of the longest run so far.
const LONGER: f64 = 2.0;
/// The chance of such a run, over all features, is below this.
const CHANCE: f64 = 1e-8;
/// A chance below this is not made smaller.
const LEAST: f64 = 1e-30;
/// The value must have changed so often.
const CHANGES: u32 = 4;
/// The values from which the chance of a repeat is known; then both counts are halved.
const COUNTED: u32 = 1_024;

/// Equal values in a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    values: u32,
    repeats: u32,
    changes: u32,
    length: u32,
    longest: u32,
    /// The longest run that was reported.
    excused: u32,
    /// The chance of the current run.
    chance: f64,
    chance_of_a_repeat: f64,
    stuck: bool,
}

impl Default for Run {
    /// The run of a single value.
    fn default() -> Self {
        Self {
            values: 1,
            repeats: 0,
            changes: 0,
            length: 1,
            longest: 1,
            excused: 1,
            chance: 1.0,
            chance_of_a_repeat: 0.0,
            stuck: false,
        }
    }
}

impl Run {
    pub fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// The longest usual run.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// Whether saved numbers can be those of a run.
    pub fn is_sound(&self) -> bool {
        self.values < COUNTED
            && self.repeats <= self.values
            && (0.0..=1.0).contains(&self.chance)
            && (0.0..=1.0).contains(&self.chance_of_a_repeat)
    }

    /// Count a value; whether the feature is found stuck with it. `watched` features have the same chance.
    #[inline]
    pub fn add(&mut self, repeated: bool, watched: u64, established: bool) -> bool {
        if repeated {
            if self.length == 1 {
                self.chance_of_a_repeat = f64::from(self.repeats + 1) / f64::from(self.values + 2);
            }
            self.length = self.length.saturating_add(1);
            if self.chance > LEAST {
                self.chance *= self.chance_of_a_repeat;
            }
        } else {
            if self.stuck {
                self.longest = self.longest.max(self.length.min(self.excused));
                self.excused = self.excused.max(self.length);
            } else {
                self.longest = self.longest.max(self.length);
            }
            self.changes = self.changes.saturating_add(1);
            (self.length, self.chance, self.stuck) = (1, 1.0, false);
        }
        if !self.stuck {
            self.values += 1;
            self.repeats += u32::from(repeated);
            if self.values >= COUNTED {
                self.values /= 2;
                self.repeats /= 2;
            }
        }
        if self.length < SHORTEST || self.stuck {
            return false;
        }
        let long = f64::from(self.length) > LONGER * f64::from(self.longest);
        let known = established && self.changes >= CHANGES;
        if !known || !long || self.chance * watched as f64 >= CHANCE {
            return false;
        }
        self.stuck = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of the run with which it is found stuck.
    fn stuck_after(run: &mut Run, most: u32) -> Option<u32> {
        (1..=most).find(|_| run.add(true, 1, true)).map(|repeats| repeats + 1)
    }

    fn after(changes: u32, repeats_between: u32) -> Run {
        let mut run = Run::default();
        for _ in 0..changes {
            run.add(false, 1, true);
            for _ in 0..repeats_between {
                run.add(true, 1, true);
            }
        }
        run.add(false, 1, true);
        run
    }

    #[test]
    fn a_value_that_always_changed_is_stuck_after_a_few_repeats() {
        assert_eq!(stuck_after(&mut after(100, 0), 50), Some(8));
    }

    #[test]
    fn a_value_that_often_repeats_must_repeat_for_longer() {
        let run = &mut after(100, 9); // nine in ten are repeats, runs of 10
        let found = stuck_after(run, 1_000).unwrap();
        assert!((100..250).contains(&found), "{found}");
    }

    #[test]
    fn a_constant_is_not_stuck() {
        assert_eq!(stuck_after(&mut after(2, 0), 10_000), None);
    }

    #[test]
    fn it_is_found_once_until_the_value_changes() {
        let run = &mut after(100, 0);
        assert!(stuck_after(run, 50).is_some() && stuck_after(run, 50).is_none());
        assert!(run.is_stuck() && !run.add(false, 1, true) && !run.is_stuck());
    }
}
