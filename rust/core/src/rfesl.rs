//! RFESL: FESL for features that only come, the FLLS paper's baseline.
//!
//! A period begins with a lesson that brings new names. w1, on the names known before, is what the
//! two models were together, α1w1 + α2w2; w2, on all names, starts at 0; α starts at (½, ½) (in the
//! first period there is only w2). The map of FESL is not needed: the old names are still there. Both
//! take gradient steps of length `step`/√t, t counted from the period's begin, on the logistic loss.
//! The begin of a period costs O(names known), any other lesson O(features).

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::experts::{Experts, Loss, Sharing};
use crate::fesl::blend;
use crate::model::{Learned, Lesson, Score, Scores, too_large};
use crate::vocabulary::Slot;
use crate::weights::Feature;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RfeslConfig {
    /// 1/c
    pub step: f64,
    /// Labels a period.
    pub horizon: Option<u64>,
}

#[derive(Clone, Debug)]
pub struct Rfesl {
    config: RfeslConfig,
    state: RfeslState,
}

/// The model, and what is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RfeslState {
    /// w1, on the names known before this period.
    old: Vec<f64>,
    /// w2
    new: Vec<f64>,
    /// Lessons of this period.
    rounds: u64,
    experts: Experts,
}

impl Rfesl {
    pub fn new(config: RfeslConfig) -> Self {
        let experts = Experts::second();
        let state = RfeslState { old: Vec::new(), new: Vec::new(), rounds: 0, experts };
        Self { config, state }
    }

    fn parts(&self, features: &[Feature]) -> [f64; 2] {
        let mut f = [0.0; 2];
        for feature in features {
            let at = feature.slot as usize;
            f[0] += self.state.old.get(at).copied().unwrap_or(0.0) * feature.value;
            f[1] += self.state.new.get(at).copied().unwrap_or(0.0) * feature.value;
        }
        f
    }

    pub fn score(&self, features: &[Feature]) -> Score {
        Score::by_sign(blend(self.state.experts.alpha, self.parts(features)))
    }

    pub fn contributions(&self, features: &[Feature]) -> Vec<f64> {
        features.iter().map(|feature| self.weight(feature.slot) * feature.value).collect()
    }

    /// α1w1 + α2w2
    pub fn weight(&self, slot: Slot) -> f64 {
        let at = slot as usize;
        let of = |weights: &[f64]| weights.get(at).copied().unwrap_or(0.0);
        blend(self.state.experts.alpha, [of(&self.state.old), of(&self.state.new)])
    }

    pub fn learn(&mut self, lesson: &Lesson<'_>) -> Result<Learned, Error> {
        let features = lesson.features;
        lesson.squared_norm()?;
        let y = lesson.target.sign();
        let margin = self.score(features).margin;
        let (begins, first) = (lesson.grows(), self.state.new.is_empty());
        let (f, t, experts) = if begins {
            let experts = if first { Experts::second() } else { Experts::new(self.config.horizon) };
            ([margin, 0.0], 1, experts)
        } else {
            (self.parts(features), self.state.rounds + 1, self.state.experts)
        };
        let rate = self.config.step / (t as f64).sqrt();
        let [move1, move2] = f.map(|f| rate * Loss::Logistic.pull(f, y));
        let losses = f.map(|f| Loss::Logistic.of(f, y));
        let limit = f64::MAX / 4.0; // sums of two weights stay finite
        let safe = features.iter().all(|feature| {
            let at = feature.slot as usize;
            let of = |weights: &[f64]| weights.get(at).copied().unwrap_or(0.0).abs();
            let largest = of(&self.state.old) + of(&self.state.new);
            let step = (move1.abs() + move2.abs()) * feature.value.abs();
            largest + step <= limit
        });
        if !margin.is_finite() || !losses.iter().all(|loss| loss.is_finite()) {
            return Err(too_large("its loss"));
        }
        if !safe {
            return Err(too_large("a weight"));
        }
        let experts = experts.after(losses, Sharing::Sums, self.config.horizon);

        // From here on nothing can fail.
        if begins {
            let old = (0..lesson.known).map(|slot| self.weight(slot as Slot)).collect();
            self.state.old = old;
            self.state.new = vec![0.0; lesson.names];
        }
        for feature in features {
            let at = feature.slot as usize;
            if let Some(weight) = self.state.old.get_mut(at) {
                *weight += move1 * feature.value;
            }
            self.state.new[at] += move2 * feature.value;
        }
        self.state.rounds = t;
        self.state.experts = experts;
        let mistake = Loss::Logistic.mistaken(margin, y);
        Ok(Learned { mistake, scores: Scores::by_margin(margin) })
    }

    pub fn state(&self) -> RfeslState {
        self.state.clone()
    }

    /// Put a saved state back, for so many names.
    pub fn adopt(&mut self, state: &RfeslState, names: usize) -> Result<(), &'static str> {
        if state.new.len() != names || state.old.len() > names {
            return Err("its weights are not as many as its names");
        }
        if !state.old.iter().chain(&state.new).all(|number| number.is_finite()) {
            return Err("a number is not finite");
        }
        if state.rounds >= u64::MAX / 2 {
            return Err("a counter is too large");
        }
        state.experts.check()?;
        self.state = state.clone();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Target;

    fn learn(model: &mut Rfesl, slots: &[(Slot, f64)], class: usize) {
        let features: Vec<Feature> =
            slots.iter().map(|&(slot, value)| Feature { slot, value }).collect();
        let known = model.state.new.len();
        let names = slots.iter().map(|&(slot, _)| slot as usize + 1).fold(known, usize::max);
        let target = Target::Class(class);
        let lesson = Lesson {
            features: &features,
            target,
            known,
            names,
            positives: 0,
            negatives: 0,
            products: None,
        };
        model.learn(&lesson).unwrap();
    }

    #[test]
    fn a_new_name_makes_what_was_learned_the_old_model() {
        let mut model = Rfesl::new(RfeslConfig { step: 1.0, horizon: None });
        learn(&mut model, &[(0, 1.0)], 1);
        assert_eq!(model.state.experts.alpha, [0.0, 1.0]);
        let before = model.weight(0);
        learn(&mut model, &[(1, 1.0)], 1);
        assert_eq!(model.state.old, [before]);
        assert_eq!(model.state.new[0], 0.0);
        assert!(model.state.new[1] > 0.0);
        learn(&mut model, &[(0, 1.0), (1, 1.0)], 1);
        assert_eq!(model.state.rounds, 2);
        assert!(model.state.old[0] > before);
    }
}
