//! Online feature selection with partial inputs (OFS_P): the model reads only a few features per
//! event.
//!
//! With probability ε it reads B of the d names at random, otherwise those with `w ≠ 0`; while all
//! weights are 0 always at random. With `x̃` the features that were read, the margin is `w·x̃`. If
//! `y w·x̃ ≤ 1`: `x̂_i = x̃_i/(ε·B/d + [w_i ≠ 0]·(1 − ε))`, `w += η y x̂`, `w *= min(1, R/‖w‖₂)`,
//! and the B largest |w| are kept. If B > d, B = d. Wang, Zhao, Hoi and Jin, *Online Feature
//! Selection and Its Applications*, TKDE 26 (2014).
//!
//! Random numbers: one number u decides; the features are read at random if `u < ε` or all weights
//! are 0. In that case and if B < d, B more numbers follow, one for each `j = d − B, ..., d − 1` in
//! turn: id `⌊u·(j + 1)⌋`, or j if that one is already in the sample (Floyd). d counts the known
//! names and the unknown names of the event; the new names of an example have the ids that they
//! will get. A prediction draws from a copy of the generator, so learning the same event next reads
//! the same features.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::model::example::{Example, Outcome, PriorScores, Score, squared_norm, too_large};
use crate::model::kind::ModelKind;
use crate::rules::sparsify::Sparsifier;
use crate::storage::rng::Generator;
use crate::storage::weights::{Step, Weights, WeightsState};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfsPartialConfig {
    /// B: how many features are read at random, and how many weights are kept.
    pub count: u32,
    /// ε
    pub exploration: f64,
    /// η
    pub step: f64,
    /// R
    pub l2_radius: f64,
}

#[derive(Clone, Debug)]
pub struct OfsPartial {
    config: OfsPartialConfig,
    sparsifier: Sparsifier,
    weights: Weights,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct OfsPartialState {
    weights: WeightsState,
}

/// B different ids of d, every set equally likely.
fn sample(count: usize, d: usize, draws: &mut Generator) -> BTreeSet<FeatureId> {
    let mut ids = BTreeSet::new();
    for j in d - count..d {
        let id = (draws.uniform() * (j + 1) as f64).floor() as FeatureId;
        if !ids.insert(id) {
            ids.insert(j as FeatureId);
        }
    }
    ids
}

impl ModelKind for OfsPartial {
    type Config = OfsPartialConfig;
    type State = OfsPartialState;

    fn new(config: OfsPartialConfig, _vectors: usize) -> Self {
        let OfsPartialConfig { count, l2_radius, .. } = config;
        let sparsifier = Sparsifier::KeepCount { count, l2_radius };
        Self { config, sparsifier, weights: Weights::new(sparsifier.upkeep(), false, 1) }
    }

    fn score(&self, features: &[FeatureValue], draws: &Generator) -> Score {
        Score::by_sign(self.weights.dot(0, &self.select(features, &mut draws.clone())))
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        example.finite_norm()?; // a refusal must not depend on which features are read
        let mut after = draws.clone();
        let mut selected = self.select(example.features, &mut after);
        let q = self.weights.dot(0, &selected);
        let margin = example.target.sign() * q;
        if !margin.is_finite() {
            return Err(too_large("its margin"));
        }
        let OfsPartialConfig { exploration, step, .. } = self.config;
        let (count, d) = (self.config.count as usize, example.rows);
        let by_chance = exploration * count.min(d) as f64 / d.max(1) as f64;
        for feature in &mut selected {
            let chosen = self.weight(feature.id, 0) != 0.0;
            feature.value /= by_chance + if chosen { 1.0 - exploration } else { 0.0 };
        }
        let norm = squared_norm(&selected)?.sqrt();
        let moves = margin <= 1.0 && norm > 0.0;
        let step = Step::of(step);
        if moves && !self.weights.can_take(0, &selected, step, norm) {
            return Err(too_large("a weight"));
        }

        // From here on nothing can fail.
        *draws = after;
        self.weights.set_rows(example.rows);
        if moves {
            let length = example.target.sign() * step.length;
            self.weights.shift(0, &selected, length, step, norm);
            self.sparsifier.apply(&mut self.weights, 0, count, draws);
        }
        Ok(Outcome { mistake: margin <= 0.0, scores: PriorScores::Margin(q) })
    }

    fn contributions(&self, features: &[FeatureValue], draws: &Generator) -> Vec<f64> {
        let selected: BTreeSet<FeatureId> =
            self.select(features, &mut draws.clone()).iter().map(|feature| feature.id).collect();
        let part = |feature: &FeatureValue| {
            let weight =
                if selected.contains(&feature.id) { self.weight(feature.id, 0) } else { 0.0 };
            weight * feature.value
        };
        features.iter().map(part).collect()
    }

    fn weight(&self, id: FeatureId, _vector: usize) -> f64 {
        if self.weights.has_row(id) { self.weights.weight(id, 0) } else { 0.0 }
    }

    fn state(&self) -> OfsPartialState {
        OfsPartialState { weights: self.weights.state() }
    }

    fn adopt(
        &mut self,
        state: &OfsPartialState,
        names: usize,
        _vectors: usize,
    ) -> Result<(), &'static str> {
        let nonzero =
            state.weights.values.iter().flatten().filter(|&&weight| weight != 0.0).count();
        if nonzero > self.config.count as usize {
            return Err("it has more weights than it keeps");
        }
        self.weights.adopt(&state.weights, names, 1)
    }
}

impl OfsPartial {
    /// d: the known names and the unknown names of the event.
    fn names(&self, features: &[FeatureValue]) -> usize {
        let new = features.iter().filter(|feature| !self.weights.has_row(feature.id)).count();
        self.weights.rows() + new
    }

    /// The features of an event that the model reads.
    fn select(&self, features: &[FeatureValue], draws: &mut Generator) -> Vec<FeatureValue> {
        let (count, d) = (self.config.count as usize, self.names(features));
        let by_chance = draws.uniform() < self.config.exploration;
        let those = |reads: &dyn Fn(FeatureId) -> bool| {
            features.iter().copied().filter(|feature| reads(feature.id)).collect()
        };
        if !by_chance && !self.weights.is_zero(0) {
            return those(&|id| self.weight(id, 0) != 0.0);
        }
        if count >= d {
            return features.to_vec();
        }
        let ids = sample(count, d, draws);
        those(&|id| ids.contains(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sum_of_squares;
    use crate::label::Target;
    use crate::model::example::testing::learned;

    #[test]
    fn every_id_is_sampled_equally_often() {
        let mut draws = Generator::from_seed(2);
        let mut times = [0; 10];
        for _ in 0..10_000 {
            let ids = sample(3, 10, &mut draws);
            assert_eq!(ids.len(), 3);
            for id in ids {
                times[id as usize] += 1;
            }
        }
        assert!(times.iter().all(|&times| (2_800..3_200).contains(&times)), "{times:?}");
    }

    #[test]
    fn learning_reads_the_features_that_the_prediction_read_and_divides_by_their_probability() {
        let config = OfsPartialConfig { count: 2, exploration: 0.2, step: 0.5, l2_radius: 1e9 };
        let (mut model, mut draws) = (OfsPartial::new(config, 1), Generator::from_seed(3));
        let features: Vec<FeatureValue> =
            (0..8).map(|id| FeatureValue { id, value: 1.0 + f64::from(id) }).collect();
        let selected = model.select(&features, &mut draws.clone());
        assert_eq!(selected.len(), 2);
        let target = Target::Class(1);
        let example = Example {
            features: &features,
            squared_norm: sum_of_squares(&features),
            target,
            number: 0,
            weight: 1.0,
            per_feature: 1,
            history: &learned(0),
            rows: 8,
            positives: 1,
            negatives: 0,
            products: None,
        };
        let before = draws.clone();
        assert!(model.learn(&example, &mut draws).unwrap().mistake);
        assert_ne!(draws, before);
        for feature in &features {
            let was_read = selected.iter().any(|other| other.id == feature.id);
            let expected = if was_read { 0.5 * feature.value / (0.2 * 2.0 / 8.0) } else { 0.0 };
            assert_eq!(model.weight(feature.id, 0), expected);
        }
        let none = Generator::from_seed(0);
        let parts: f64 = model.contributions(&features, &none).iter().sum();
        assert!((parts - model.score(&features, &none).margin).abs() < 1e-9);
    }
}
