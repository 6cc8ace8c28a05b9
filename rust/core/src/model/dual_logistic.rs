//! Logistic regression by exact steps on its dual, repeated on a store of labelled events.
//!
//! The problem is `min ½‖w‖² + Σ_j C_j ln(1 + exp(−y_j w·x_j))`. Its solution is `w = Σα_j y_j x_j`
//! with `0 < α_j < C_j`. A step finds the best α of one event, the others as they are: with
//! `Q = ‖x‖²` and `β = y w·x − Qα` it solves `u + Q C_y σ(u) + β = 0` by Newton's method; then
//! `α = C_y σ(u)`. A label causes one step on its event and `replay` more on stored events in turn.
//! An event that is dropped from the store keeps its part in w. Classes weigh the same however rare
//! they are: `C_y = C·½(N + 2)/(N_y + 1)`, N labels learned, N_y of them y. Without balance all
//! labels weigh the same: `C_y = C`. With several classes each has one weight vector that separates
//! it from the rest. Hsieh et al., *A Dual Coordinate Descent Method for Large-scale Linear SVM*
//! (2008); Yu, Huang and Lin, *Dual coordinate descent methods for logistic regression*, MLJ 85
//! (2011).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, UNKNOWN};
use crate::model::example::{Example, Outcome, PriorScores, Score, squared_norm, too_large};
use crate::model::kind::ModelKind;
use crate::model::scores;
use crate::rules::sparsify::Sparsifier;
use crate::storage::index_remap::IndexRemap;
use crate::storage::math::{exp, ln, logistic, softplus};
use crate::storage::rng::Generator;
use crate::storage::weights::{Step, Weights, WeightsState};

/// Events with a larger ‖x‖² are refused; below it no sum of steps overflows.
pub const LARGEST_NORM: f64 = 1e100;
/// A weight in a file must not be larger.
const LARGEST_WEIGHT: f64 = 1e150;

const MOST_STEPS: u32 = 20; // of Newton's method
const HALLEY: f64 = 0.5; // shorter steps are improved to Halley's
const NEAR: f64 = 1e-4; // the search stops at a shorter step: the error left is about its cube

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualLogisticConfig {
    pub c: f64,
    /// Steps on stored events per label.
    pub replay: u32,
    /// The most events stored.
    pub memory: u32,
    /// Whether all classes weigh the same; otherwise all labels do.
    pub balance: bool,
    pub multiclass: bool,
    pub sparsifier: Sparsifier,
    /// An example with new names first sets all weights to 0.
    pub restarts: bool,
}

impl DualLogisticConfig {
    /// C_y of a class that has `same` of the `total` labels learned.
    fn class_weight(self, same: f64, total: f64) -> f64 {
        if self.balance { self.c * 0.5 * (total + 2.0) / (same + 1.0) } else { self.c }
    }
}

/// A labelled event in the store.
#[derive(Clone, Debug, Default)]
struct StoredExample {
    features: Vec<FeatureValue>,
    /// ‖x‖²
    squared_norm: f64,
    class: usize,
    /// α for each weight vector; 0 for vectors beyond the last.
    alphas: Vec<f64>,
}

#[derive(Clone, Debug)]
pub struct DualLogistic {
    config: DualLogisticConfig,
    weights: Weights,
    /// Labels learned per class.
    counts: Vec<u64>,
    /// The oldest first.
    store: VecDeque<StoredExample>,
    /// The stored event of the last replay step.
    cursor: usize,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct DualLogisticState {
    weights: WeightsState,
    counts: Vec<u64>,
    cursor: usize,
    store: Vec<StoredExampleState>,
}

#[derive(Serialize, Deserialize)]
struct StoredExampleState {
    ids: Vec<FeatureId>,
    values: Vec<f64>,
    class: usize,
    alphas: Vec<f64>,
}

impl StoredExample {
    fn sum_squares(&mut self) {
        self.squared_norm = self.features.iter().map(|feature| feature.value * feature.value).sum();
    }
}

/// The best α of an event whose α is `old` and whose `y w·x` is `margin`.
///
/// The root of `h(u) = u + Q C σ(u) + β` is minus the margin after the step. The α of an event that
/// was stepped on earlier hardly changes, so the search begins at minus the current margin; if that
/// is far from the root, at `−β/(1 + Q C/4)`. As |h''| ≤ h', steps below ½ converge, and Halley's
/// correction makes the convergence cubic.
pub fn best_alpha(old: f64, margin: f64, squared_norm: f64, c: f64) -> f64 {
    let beta = margin - squared_norm * old;
    let slope = squared_norm * c;
    // σ(u) and Newton's step
    let at = |u: f64| {
        let s = logistic(u);
        (s, (u + slope * s + beta) / (1.0 + slope * s * (1.0 - s)))
    };
    let mut u = -margin;
    let (mut s, mut step) = at(u);
    if step.abs() >= HALLEY {
        u = -beta / (1.0 + slope / 4.0);
        (s, step) = at(u);
    }
    for _ in 0..MOST_STEPS {
        if step.abs() < HALLEY {
            let fall = slope * s * (1.0 - s);
            step /= 1.0 - 0.5 * step * fall * (1.0 - 2.0 * s) / (1.0 + fall);
        }
        if step.abs() < NEAR {
            break;
        }
        u -= step;
        (s, step) = at(u);
    }
    // σ(u − step) by its series
    c * (s - s * (1.0 - s) * step * (1.0 - 0.5 * (1.0 - 2.0 * s) * step))
}

impl ModelKind for DualLogistic {
    type Config = DualLogisticConfig;
    type State = DualLogisticState;

    fn new(config: DualLogisticConfig, vectors: usize) -> Self {
        Self {
            config,
            weights: Weights::new(config.sparsifier.upkeep(), false, vectors),
            counts: vec![0; if config.multiclass { vectors } else { 2 }],
            store: VecDeque::new(),
            cursor: 0,
        }
    }

    fn score(&self, features: &[FeatureValue], _draws: &Generator) -> Score {
        if self.config.multiclass {
            scores::score_multiclass(&self.weights, features)
        } else {
            scores::score_binary(&self.weights, features)
        }
    }

    fn class_scores(&self, features: &[FeatureValue]) -> Option<Vec<f64>> {
        self.is_multiclass().then(|| self.weights.dots(features))
    }

    /// The logistic function of each score, corrected for the class weights.
    fn probabilities(&self, features: &[FeatureValue]) -> Option<Vec<f64>> {
        let scores = self.weights.dots(features);
        let log_odds: Vec<f64> =
            scores.iter().enumerate().map(|(vector, q)| q + self.prior(vector)).collect();
        if !self.config.multiclass {
            return Some(vec![logistic(-log_odds[0]), logistic(log_odds[0])]);
        }
        // ln σ(z): σ(z) itself may underflow for all classes
        let logs = log_odds.iter().map(|z| -softplus(-z));
        let top = logs.clone().fold(f64::NEG_INFINITY, f64::max);
        let parts: Vec<f64> = logs.map(|log| exp(log - top)).collect();
        let total: f64 = parts.iter().sum();
        Some(parts.iter().map(|part| part / total).collect())
    }

    /// Refuse an event whose values are too large for later steps.
    fn check(&self, features: &[FeatureValue]) -> Result<(), Error> {
        check_norm(squared_norm(features)?)
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        check_norm(example.finite_norm()?)?;
        let class = example.target.class();
        let restart = self.config.restarts && example.grows();
        let mistake = restart || self.predicts_another(example, class);

        // From here on nothing can fail.
        self.weights.set_rows(example.rows);
        if self.config.multiclass && class == self.weights.vectors.len() {
            self.weights.add_vector();
        }
        if restart {
            self.weights.clear();
            self.clear_store();
        }
        let kept = self.config.sparsifier.kept(example.rows, false);
        self.learn_class(example.features, class, (kept, draws));
        // The model has probabilities of its own: no scores for the calibration.
        Ok(Outcome { mistake, scores: PriorScores::None })
    }

    fn set_rows(&mut self, names: usize) {
        self.weights.set_rows(names);
    }

    fn contributions(&self, features: &[FeatureValue], _draws: &Generator) -> Vec<f64> {
        scores::contributions(&self.weights, features, self.config.multiclass)
    }

    fn weight(&self, id: FeatureId, vector: usize) -> f64 {
        self.weights.weight(id, vector)
    }

    fn size(&self, id: FeatureId) -> f64 {
        self.weights.size(id)
    }

    fn can_evict(&self) -> bool {
        true
    }

    fn retain(&mut self, remap: &IndexRemap) {
        self.weights.retain(remap);
        for example in &mut self.store {
            for feature in &mut example.features {
                feature.id = remap.of(feature.id);
            }
            example.features.retain(|feature| feature.id != UNKNOWN);
            example.sum_squares();
        }
    }

    fn state(&self) -> DualLogisticState {
        let one = |example: &StoredExample| StoredExampleState {
            ids: example.features.iter().map(|feature| feature.id).collect(),
            values: example.features.iter().map(|feature| feature.value).collect(),
            class: example.class,
            alphas: example.alphas.clone(),
        };
        DualLogisticState {
            weights: self.weights.state(),
            counts: self.counts.clone(),
            cursor: self.cursor,
            store: self.store.iter().map(one).collect(),
        }
    }

    fn adopt(
        &mut self,
        state: &DualLogisticState,
        names: usize,
        vectors: usize,
    ) -> Result<(), &'static str> {
        let mut weights = state.weights.values.iter().flatten();
        if weights.any(|weight| weight.abs() > LARGEST_WEIGHT) {
            return Err("a weight is too large");
        }
        if state.counts.len() != if self.config.multiclass { vectors } else { 2 } {
            return Err("its counts are not as many as its classes");
        }
        let mut total = 0_u64;
        for &count in &state.counts {
            total = total.saturating_add(count);
        }
        if total > u64::MAX / 2 {
            return Err("a counter is too large");
        }
        if state.store.len() > self.config.memory as usize
            || state.cursor >= state.store.len().max(1)
        {
            return Err("it stores more events than it should");
        }
        self.clear_store();
        for one in &state.store {
            if one.ids.len() != one.values.len()
                || one.ids.iter().any(|&id| id as usize >= names)
                || one.class >= state.counts.len()
                || one.alphas.len() > vectors
            {
                return Err("a stored event has names or a class that there are not");
            }
            let squared_norm: f64 = one.values.iter().map(|value| value * value).sum();
            let sizes = one.alphas.iter().map(|alpha| alpha.abs());
            if !(squared_norm <= LARGEST_NORM && sizes.fold(0.0, f64::max) <= LARGEST_NORM) {
                return Err("a number of a stored event is too large or not finite");
            }
            let feature = |(&id, &value)| FeatureValue { id, value };
            let mut example = StoredExample {
                features: one.ids.iter().zip(&one.values).map(feature).collect(),
                squared_norm: 0.0,
                class: one.class,
                alphas: one.alphas.clone(),
            };
            example.sum_squares();
            self.store.push_back(example);
        }
        self.counts.clone_from(&state.counts);
        self.cursor = state.cursor;
        self.weights.adopt(&state.weights, names, vectors)
    }
}

impl DualLogistic {
    pub fn is_multiclass(&self) -> bool {
        self.config.multiclass
    }

    /// Whether the prediction was another class.
    fn predicts_another(&self, example: &Example<'_>, class: usize) -> bool {
        if self.config.multiclass {
            return scores::largest(&self.weights.dots(example.features), None) != Some(class);
        }
        let known = example.products.map(|products| products.margin);
        let margin = known.unwrap_or_else(|| self.weights.dot(0, example.features));
        example.target.sign() * margin <= 0.0
    }

    /// What corrects the log-odds of a vector's class for the class weights: ln((N_y + 1)/(N − N_y
    /// + 1)); 0 without balance.
    fn prior(&self, vector: usize) -> f64 {
        if !self.config.balance {
            return 0.0;
        }
        let own = self.count_of(vector);
        ln((own + 1.0) / (self.total() - own + 1.0))
    }

    fn total(&self) -> f64 {
        self.counts.iter().sum::<u64>() as f64
    }

    /// Labels learned of the class that a vector separates from the rest.
    fn count_of(&self, vector: usize) -> f64 {
        let class = if self.config.multiclass { vector } else { 1 };
        self.counts.get(class).map_or(0.0, |&count| count as f64)
    }

    /// Drop all stored events, after the weights were set to 0.
    fn clear_store(&mut self) {
        self.store.clear();
        self.cursor = 0;
    }

    /// Learn an event. There are weights for its features and its class already. The sparsifier
    /// keeps `kept` weights of every vector.
    fn learn_class(
        &mut self,
        features: &[FeatureValue],
        class: usize,
        (kept, draws): (usize, &mut Generator),
    ) {
        if class >= self.counts.len() {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += 1;
        self.store_event(features, class);
        let newest = self.store.len() - 1;
        self.step(newest, kept, draws);
        for _ in 0..self.config.replay {
            self.cursor = if self.cursor < newest { self.cursor + 1 } else { 0 };
            self.step(self.cursor, kept, draws);
        }
    }

    /// Store an event; a full store drops the oldest.
    fn store_event(&mut self, features: &[FeatureValue], class: usize) {
        let mut example = StoredExample::default();
        if self.store.len() >= self.config.memory as usize {
            example = self.store.pop_front().unwrap_or_default();
            self.cursor = self.cursor.saturating_sub(1); // it stays at its event
        }
        example.features.clear();
        example.features.extend_from_slice(features);
        example.sum_squares();
        example.alphas.clear();
        example.class = class;
        self.store.push_back(example);
    }

    /// A step on the α of a stored event, in every weight vector.
    fn step(&mut self, place: usize, kept: usize, draws: &mut Generator) {
        let vectors = self.weights.vectors.len();
        let Some(example) = self.store.get(place) else { return };
        let squared_norm = example.squared_norm;
        if squared_norm == 0.0 || (self.config.multiclass && vectors < 2) {
            return; // every value is 0, or no other class is known
        }
        let total = self.total();
        for vector in 0..vectors {
            let own = self.count_of(vector);
            let StoredExample { features, class, alphas, .. } = &mut self.store[place];
            alphas.resize(vectors, 0.0);
            let y = sign(self.config.multiclass, vector, *class);
            let same = if y > 0.0 { own } else { total - own };
            let c = self.config.class_weight(same, total);
            let margin = y * self.weights.dot_unrolled(vector, features);
            let alpha = best_alpha(alphas[vector], margin, squared_norm, c);
            let length = (alpha - std::mem::replace(&mut alphas[vector], alpha)) * y;
            self.weights.shift(vector, features, length, Step::of(1.0), squared_norm.sqrt());
            self.config.sparsifier.apply(&mut self.weights, vector, kept, draws);
        }
    }
}

/// y for a weight vector: 1 if the class is the one that the vector separates from the rest, else
/// −1.
fn sign(multiclass: bool, vector: usize, class: usize) -> f64 {
    let class_of_vector = if multiclass { vector } else { 1 };
    if class == class_of_vector { 1.0 } else { -1.0 }
}

/// Refuse an event that is too long for sums of steps.
fn check_norm(squared_norm: f64) -> Result<(), Error> {
    if squared_norm <= LARGEST_NORM { Ok(()) } else { Err(too_large("its part in later sums")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::sparsify::Sparsifier;

    #[test]
    fn the_best_alpha_solves_its_equation() {
        for (old, margin, q, c) in [
            (0.0, 0.0, 1.0, 1.0),
            (0.3, -2.0, 1.5, 0.7),
            (0.9, 5.0, 3.0, 1.0),
            (0.0, -3.0, 50.0, 4.0), // far: from −β/(1 + Q C/4)
            (0.0, 9.0, 1e3, 8.0),
        ] {
            let alpha = best_alpha(old, margin, q, c);
            let new_margin = margin + q * (alpha - old);
            assert!((alpha - c * logistic(-new_margin)).abs() < 1e-9, "{alpha}");
        }
    }

    fn config(replay: u32, memory: u32) -> DualLogisticConfig {
        DualLogisticConfig {
            c: 1.0,
            replay,
            memory,
            balance: true,
            multiclass: false,
            sparsifier: Sparsifier::None,
            restarts: false,
        }
    }

    /// After steps on the events in turn, w = ΣC_y σ(−y w·x) y x, which holds only at the minimum.
    fn assert_minimum(
        config: DualLogisticConfig,
        events: [([f64; 2], usize); 4],
        class_weights: [f64; 2],
    ) {
        let mut dual = DualLogistic::new(config, 1);
        dual.weights.set_rows(2);
        let mut draws = Generator::from_seed(0);
        let features = |x: [f64; 2]| {
            [FeatureValue { id: 0, value: x[0] }, FeatureValue { id: 1, value: x[1] }]
        };
        for (x, class) in events {
            dual.learn_class(&features(x), class, (2, &mut draws));
        }
        let mut expected = [0.0; 2];
        for (x, class) in events {
            let y = sign(false, 0, class);
            let pull = class_weights[class] * logistic(-y * dual.weights.dot(0, &features(x))) * y;
            expected[0] += pull * x[0];
            expected[1] += pull * x[1];
        }
        for id in 0..2 {
            let weight = dual.weight(id, 0);
            assert!((weight - expected[id as usize]).abs() < 1e-6, "{weight} {expected:?}");
        }
    }

    #[test]
    fn steps_in_turn_find_the_minimum_and_a_rare_class_weighs_as_much_as_a_frequent_one() {
        let balanced = config(200, 10);
        let events = [([1.0, 0.5], 1), ([-0.4, 1.0], 0), ([0.3, -0.9], 1), ([-1.0, 0.2], 0)];
        assert_minimum(balanced, events, [1.0, 1.0]);
        let three_to_one = events.map(|(x, class)| (x, usize::from(class == 1 || x[1] == 1.0)));
        assert_minimum(balanced, three_to_one, [1.5, 0.75]); // ½(4 + 2)/(1 + 1), ½(4 + 2)/(3 + 1)
        assert_minimum(DualLogisticConfig { balance: false, ..balanced }, three_to_one, [1.0, 1.0]);
    }

    #[test]
    fn probabilities_are_corrected_for_class_weights_only_with_balance() {
        let counts = [4, 1];
        for (balance, expected) in [(true, (2.0_f64 / 5.0).ln()), (false, 0.0)] {
            let mut dual = DualLogistic::new(DualLogisticConfig { balance, ..config(0, 1) }, 1);
            dual.counts = counts.to_vec();
            assert_eq!(dual.prior(0).to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn a_full_store_drops_the_oldest_event_and_keeps_its_part_in_the_weights() {
        let mut dual = DualLogistic::new(config(1, 3), 1);
        dual.weights.set_rows(6);
        for id in 0..6 {
            let one = [FeatureValue { id, value: 1.0 }];
            let draws = &mut Generator::from_seed(0);
            dual.learn_class(&one, id as usize % 2, (6, draws));
        }
        let ids: Vec<FeatureId> = dual.store.iter().map(|one| one.features[0].id).collect();
        assert_eq!(ids, [3, 4, 5]);
        assert!((0..6).all(|id| dual.weight(id, 0) != 0.0)); // dropped events keep their part in w
        assert!(dual.cursor < 3);
    }
}
