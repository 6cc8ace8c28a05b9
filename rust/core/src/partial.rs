//! Online feature selection that may look at a few features of an event only (OFS_P).
//!
//! With probability ε it looks at B of the d names at random, otherwise at those with `w ≠ 0`; while
//! all weights are 0 always at random. With `x̃` what it sees of the event, the margin is `w·x̃`. If
//! `y w·x̃ ≤ 1`: `x̂_i = x̃_i/(ε·B/d + [w_i ≠ 0]·(1 − ε))`, `w += η y x̂`, `w *= min(1, R/‖w‖₂)`, and
//! the B largest |w| are kept. If B > d, B = d.
//! Wang, Zhao, Hoi and Jin, *Online Feature Selection and Its Applications*, TKDE 26 (2014).
//!
//! What is drawn: one number u, and chance has it if `u < ε`. At random and if B < d, B more, one
//! for each `j = d − B, ..., d − 1` in turn: slot `⌊u·(j + 1)⌋`, or j if that one is taken already
//! (Floyd). d counts the names known and those of the event that are not; the new names of a
//! lesson have the slots that they will get. A prediction draws from a copy of the generator, so
//! learning the same event next looks at the same features.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::Error;
use crate::model::{Learned, Lesson, Score, Scores, squared_norm, too_large};
use crate::random::Generator;
use crate::sparsify::Sparsifier;
use crate::update::{Narrowing, Step};
use crate::vocabulary::Slot;
use crate::weights::{Feature, Sum, Weights};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartialConfig {
    /// B: how many features may be looked at, and how many weights are kept.
    pub count: u32,
    /// ε
    pub exploration: f64,
    /// η
    pub step: f64,
    /// R
    pub l2_radius: f64,
}

#[derive(Clone, Debug)]
pub struct Partial {
    config: PartialConfig,
    weights: Weights,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct PartialState {
    weights: Vec<f64>,
    scale: f64,
    norm: (f64, f64),
    steps: u64,
}

/// B different slots of d, every set equally likely.
fn sample(count: usize, d: usize, draws: &mut Generator) -> BTreeSet<Slot> {
    let mut slots = BTreeSet::new();
    for j in d - count..d {
        let slot = (draws.uniform() * (j + 1) as f64).floor() as Slot;
        if !slots.insert(slot) {
            slots.insert(j as Slot);
        }
    }
    slots
}

impl Partial {
    pub fn new(config: PartialConfig) -> Self {
        let PartialConfig { count, l2_radius, .. } = config;
        let sparsifier = Sparsifier::KeepCount { count, l2_radius };
        Self { config, weights: Weights::new(sparsifier, false, 1) }
    }

    /// The weight of a feature; 0 if its name is not known.
    pub fn weight(&self, slot: Slot) -> f64 {
        if self.weights.knows(slot) { self.weights.weight(slot, 0) } else { 0.0 }
    }

    /// d: the names known, and those of the event that are not.
    fn names(&self, features: &[Feature]) -> usize {
        let new = features.iter().filter(|feature| !self.weights.knows(feature.slot)).count();
        self.weights.rows() + new
    }

    /// What is seen of an event.
    fn look(&self, features: &[Feature], draws: &mut Generator) -> Vec<Feature> {
        let (count, d) = (self.config.count as usize, self.names(features));
        let by_chance = draws.uniform() < self.config.exploration;
        let seen = |sees: &dyn Fn(Slot) -> bool| {
            features.iter().copied().filter(|feature| sees(feature.slot)).collect()
        };
        if !by_chance && !self.weights.is_zero(0) {
            return seen(&|slot| self.weight(slot) != 0.0);
        }
        if count >= d {
            return features.to_vec();
        }
        let slots = sample(count, d, draws);
        seen(&|slot| slots.contains(&slot))
    }

    pub fn score(&self, features: &[Feature], draws: &Generator) -> Score {
        Score::by_sign(self.weights.dot(0, &self.look(features, &mut draws.clone())))
    }

    /// What each feature adds to the margin; 0 if it is not looked at.
    pub fn contributions(&self, features: &[Feature], draws: &Generator) -> Vec<f64> {
        let seen: BTreeSet<Slot> =
            self.look(features, &mut draws.clone()).iter().map(|feature| feature.slot).collect();
        let part = |feature: &Feature| {
            let weight = if seen.contains(&feature.slot) { self.weight(feature.slot) } else { 0.0 };
            weight * feature.value
        };
        features.iter().map(part).collect()
    }

    pub fn learn(&mut self, lesson: &Lesson<'_>, draws: &mut Generator) -> Result<Learned, Error> {
        lesson.squared_norm()?; // a refusal does not hang on what was looked at
        let mut after = draws.clone();
        let mut seen = self.look(lesson.features, &mut after);
        let q = self.weights.dot(0, &seen);
        let margin = lesson.target.sign() * q;
        if !margin.is_finite() {
            return Err(too_large("its margin"));
        }
        let PartialConfig { exploration, step, .. } = self.config;
        let (count, d) = (self.config.count as usize, lesson.names);
        let by_chance = exploration * count.min(d) as f64 / d.max(1) as f64;
        for feature in &mut seen {
            let chosen = self.weight(feature.slot) != 0.0;
            feature.value /= by_chance + if chosen { 1.0 - exploration } else { 0.0 };
        }
        let norm = squared_norm(&seen)?.sqrt();
        let moves = margin <= 1.0 && norm > 0.0;
        let step = Step { shrink: 1.0, length: step, narrowing: Narrowing::None };
        if moves && !self.weights.can_take(0, &seen, step, norm) {
            return Err(too_large("a weight"));
        }

        // From here on nothing can fail.
        *draws = after;
        self.weights.set_rows(lesson.names);
        if moves {
            let length = lesson.target.sign() * step.length;
            self.weights.shift(0, &seen, length, step, norm);
            self.weights.sparsify(0, count, draws);
        }
        Ok(Learned { mistake: margin <= 0.0, scores: Scores::by_margin(q) })
    }

    pub fn state(&self) -> PartialState {
        let part = &self.weights.vectors[0];
        PartialState {
            weights: self.weights.column(0),
            scale: part.scale,
            norm: (part.norm.sum, part.norm.compensation),
            steps: part.steps,
        }
    }

    /// Put a saved state back, for so many names.
    pub fn adopt(&mut self, state: &PartialState, names: usize) -> Result<(), &'static str> {
        let (sum, compensation) = state.norm;
        if state.weights.len() != names {
            return Err("its weights are not as many as its names");
        }
        if !state.weights.iter().chain(&[sum, compensation]).all(|number| number.is_finite()) {
            return Err("a number is not finite");
        }
        if !(state.scale > 0.0 && state.scale <= 1.0) {
            return Err("a scale is not in (0, 1]");
        }
        if state.weights.iter().filter(|&&weight| weight != 0.0).count()
            > self.config.count as usize
        {
            return Err("it has more weights than it keeps");
        }
        self.weights.set_rows(names);
        let part = &mut self.weights.vectors[0];
        part.scale = state.scale;
        part.norm = Sum { sum, compensation };
        part.steps = state.steps;
        self.weights.restore_column(0, &state.weights, None);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Target;

    #[test]
    fn every_slot_is_sampled_equally_often() {
        let mut draws = Generator::from_seed(2);
        let mut times = [0; 10];
        for _ in 0..10_000 {
            let slots = sample(3, 10, &mut draws);
            assert_eq!(slots.len(), 3);
            for slot in slots {
                times[slot as usize] += 1;
            }
        }
        assert!(times.iter().all(|&times| (2_800..3_200).contains(&times)), "{times:?}");
    }

    #[test]
    fn a_lesson_looks_at_what_the_prediction_saw_and_weighs_it_by_its_chance() {
        let config = PartialConfig { count: 2, exploration: 0.2, step: 0.5, l2_radius: 1e9 };
        let (mut model, mut draws) = (Partial::new(config), Generator::from_seed(3));
        let features: Vec<Feature> =
            (0..8).map(|slot| Feature { slot, value: 1.0 + f64::from(slot) }).collect();
        let seen = model.look(&features, &mut draws.clone());
        assert_eq!(seen.len(), 2);
        let target = Target::Class(1);
        let lesson = Lesson {
            features: &features,
            target,
            known: 0,
            names: 8,
            positives: 1,
            negatives: 0,
            products: None,
        };
        let before = draws.clone();
        assert!(model.learn(&lesson, &mut draws).unwrap().mistake);
        assert_ne!(draws, before);
        for feature in &features {
            let looked_at = seen.iter().any(|other| other.slot == feature.slot);
            let expected = if looked_at { 0.5 * feature.value / (0.2 * 2.0 / 8.0) } else { 0.0 };
            assert_eq!(model.weight(feature.slot), expected);
        }
        let none = Generator::from_seed(0);
        let parts: f64 = model.contributions(&features, &none).iter().sum();
        assert!((parts - model.score(&features, &none).margin).abs() < 1e-9);
    }
}
