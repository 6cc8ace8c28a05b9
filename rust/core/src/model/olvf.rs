//! OLVF: a classifier of events together with a classifier of the feature sets that they carry.
//!
//! `w` classifies an event by its values. `u` (the paper's w̄) predicts from the set of its
//! features whether `w` is right. With S the known and N the new features of an event, W all
//! features known before, σ the logistic function:
//!
//! 1. `q = Σ_S w_i x_i`; c = 1 if `y q > 0`, else −1.
//! 2. `s = Σ_{S∪N} u_i`, `l̄ = ln(1 + e^{−cs})`, `g = σ(−cs)`; `u_i += c g min(C̄, l̄/(g²|S∪N|))`.
//! 3. `p^w = σ(Σ_W u_i)` and `p^x = σ(Σ_{S∪N} u_i)`, both after that step.
//! 4. `τ = min(C, max(0, 1 − y q)/‖x‖²)`; `w_i += τ p^w y x_i` on S, `w_i = τ p^x y x_i` on N.
//! 5. If not all weights are kept: `w *= min(1, λ/(w·u))`, if `w·u > 0`.
//! 6. The k features with the largest |w_i| keep both weights, the older among equals.
//!
//! Beyazit, Alagurajah and Wu, *Online learning from data streams with varying feature spaces*,
//! AAAI 2019. `docs/papers/olvf.md` explains how misprints of the paper are read here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::model::example::{Example, Outcome, PriorScores, Score, too_large};
use crate::model::kind::ModelKind;
use crate::rules::sparsify::Sparsifier;
use crate::storage::compensated::CompensatedSum;
use crate::storage::fenwick::FenwickCounter;
use crate::storage::heap::Heap;
use crate::storage::index_remap::IndexRemap;
use crate::storage::math::{logistic, softplus};
use crate::storage::rng::Generator;
use crate::storage::weights::{RESUM_AFTER, SMALLEST_SCALE, TINY};

/// How the confidences p^w and p^x change a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// A step is multiplied by its confidence: as the paper prints it.
    Multiply,
    /// The exact solution of the paper's problem (12), which divides:
    /// `τ = min(C, loss/(‖x^S‖²/p^w + ‖x^N‖²/p^x))`.
    Divide,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OlvfConfig {
    pub c: f64,
    pub c_space: f64,
    pub l1_radius: f64,
    pub kept_share: f64,
    pub confidence: Confidence,
}

/// The least confidence that a step is divided by.
const LEAST_CONFIDENCE: f64 = 1e-12;
/// The limits of |v| and |u|: within them no product and no sum over 2³² features overflows. |u|
/// changes by at most (|s| + 1)/|S∪N| per round, so it stays far below its limit.
const LARGEST_VALUE: f64 = 1e280;
const LARGEST_SPACE: f64 = 1e16;

/// The two weights of a feature; `w = scale·v`.
#[derive(Clone, Copy, Debug, Default)]
struct WeightPair {
    v: f64,
    u: f64,
}

impl WeightPair {
    fn product(self) -> f64 {
        self.v * self.u
    }
}

/// The order of the features, which truncation needs.
///
/// Of the k places, m = k − (number of non-zero w) are left for features with w = 0. So a feature
/// with w_j = 0 keeps its `u_j` iff at most m of the features up to j have w = 0. The rank grows
/// with the id, so only the newest of `only_u` has to be tested.
#[derive(Clone, Debug, Default)]
struct Ranks {
    /// Non-zero |v|.
    heap: Heap,
    /// The same ids, to count them.
    nonzero: FenwickCounter,
    /// Ids with w = 0 and u ≠ 0.
    only_u: BTreeSet<FeatureId>,
}

impl Ranks {
    fn set(&mut self, id: FeatureId, row: WeightPair) {
        self.heap.set(id, row.v.abs());
        self.nonzero.set(id as usize, row.v != 0.0);
        if row.v == 0.0 && row.u != 0.0 {
            self.only_u.insert(id);
        } else {
            self.only_u.remove(&id);
        }
    }
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct OlvfState {
    weights: Vec<f64>,
    scale: f64,
    space: Vec<f64>,
    space_sum: (f64, f64),
    agreement: (f64, f64),
    rounds: u64,
}

/// Everything that an example will change.
struct PlannedRound {
    /// The new weights of its features, in their order.
    rows: Vec<WeightPair>,
    mistake: bool,
    /// q before the step.
    margin: f64,
}

#[derive(Clone, Debug)]
pub struct Olvf {
    config: OlvfConfig,
    rows: Vec<WeightPair>,
    scale: f64,
    /// Σu over all features. A round subtracts the old term of a feature and adds the new one, by
    /// compensated summation: the error after n additions is one rounding of the sum plus at most
    /// n·2⁻¹⁰⁴ of the sum of all |terms| (Neumaier 1974). The sum is computed again from the
    /// weights after max(4096, d) rounds, so n stays bounded at a cost of O(1) per round.
    space: CompensatedSum,
    /// Σvu over all features, in the same way; only if weights are truncated.
    agreement: CompensatedSum,
    /// Rounds since the sums were last computed from the weights.
    rounds: u64,
    ranks: Option<Ranks>,
}

impl ModelKind for Olvf {
    type Config = OlvfConfig;
    type State = OlvfState;

    fn new(config: OlvfConfig, _vectors: usize) -> Self {
        Self {
            config,
            rows: Vec::new(),
            scale: 1.0,
            space: CompensatedSum::default(),
            agreement: CompensatedSum::default(),
            rounds: 0,
            ranks: (config.kept_share < 1.0).then(Ranks::default),
        }
    }

    fn score(&self, features: &[FeatureValue], _draws: &Generator) -> Score {
        Score::by_sign(self.dot(features))
    }

    fn check_example(&self, example: &Example<'_>) -> Result<(), Error> {
        self.plan(example).map(|_| ())
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        _draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        let plan = self.plan(example)?;
        if !example.features.is_empty() {
            self.take(&plan, example);
        }
        let scores = PriorScores::Margin(plan.margin);
        Ok(Outcome { mistake: plan.mistake, scores })
    }

    fn contributions(&self, features: &[FeatureValue], _draws: &Generator) -> Vec<f64> {
        features.iter().map(|feature| self.weight(feature.id, 0) * feature.value).collect()
    }

    /// p^w and p^x of an event by the current weights.
    fn details(&self, features: &[FeatureValue]) -> Vec<(&'static str, f64)> {
        vec![
            ("space_confidence", logistic(self.space.value())),
            ("event_confidence", logistic(self.space_of(features))),
        ]
    }

    fn weight(&self, id: FeatureId, _vector: usize) -> f64 {
        self.scale * self.row(id).v
    }

    fn can_evict(&self) -> bool {
        true
    }

    fn retain(&mut self, remap: &IndexRemap) {
        remap.retain(&mut self.rows, 1);
        if let Some(ranks) = &mut self.ranks {
            *ranks = Ranks::default();
            ranks.nonzero.set_len(self.rows.len());
            for (id, &row) in self.rows.iter().enumerate() {
                ranks.set(id as FeatureId, row);
            }
        }
        self.recompute_sums();
    }

    fn state(&self) -> OlvfState {
        OlvfState {
            weights: self.rows.iter().map(|row| row.v).collect(),
            scale: self.scale,
            space: self.rows.iter().map(|row| row.u).collect(),
            space_sum: (self.space.sum, self.space.compensation),
            agreement: (self.agreement.sum, self.agreement.compensation),
            rounds: self.rounds,
        }
    }

    fn adopt(
        &mut self,
        state: &OlvfState,
        names: usize,
        _vectors: usize,
    ) -> Result<(), &'static str> {
        state.check(names)?;
        self.set_rows(names);
        for (id, (&v, &u)) in state.weights.iter().zip(&state.space).enumerate() {
            self.put(id as FeatureId, WeightPair { v, u });
        }
        self.scale = state.scale;
        let sum = |(sum, compensation)| CompensatedSum { sum, compensation };
        (self.space, self.agreement) = (sum(state.space_sum), sum(state.agreement));
        self.rounds = state.rounds;
        Ok(())
    }
}

impl Olvf {
    fn row(&self, id: FeatureId) -> WeightPair {
        self.rows.get(id as usize).copied().unwrap_or_default()
    }

    fn dot(&self, features: &[FeatureValue]) -> f64 {
        let mut sum = 0.0;
        for feature in features {
            sum += self.row(feature.id).v * feature.value;
        }
        self.scale * sum
    }

    /// Σu over the event's features.
    fn space_of(&self, features: &[FeatureValue]) -> f64 {
        let mut sum = 0.0;
        for feature in features {
            sum += self.row(feature.id).u;
        }
        sum
    }

    fn plan(&self, example: &Example<'_>) -> Result<PlannedRound, Error> {
        let features = example.features;
        let y = example.target.sign();
        let q = self.dot(features);
        let margin = y * q;
        if !margin.is_finite() {
            return Err(too_large("its margin"));
        }
        let mistake = margin <= 0.0;
        let s = self.space_of(features);
        let change =
            space_step(s, if mistake { -1.0 } else { 1.0 }, self.config.c_space, features.len());
        let known = |feature: &FeatureValue| example.is_learned(feature.id);

        let mut space = self.space;
        let (mut event_space, mut old_norm, mut new_norm) = (0.0, 0.0, 0.0);
        for feature in features {
            let old = self.row(feature.id).u;
            let square = feature.value * feature.value;
            event_space += old + change;
            if known(feature) {
                space.add(-old);
                space.add(old + change);
                old_norm += square;
            } else {
                new_norm += square;
            }
        }
        let (p_space, p_event) = (logistic(space.value()), logistic(event_space));
        let loss = (1.0 - margin).max(0.0);
        let (on_known, on_new) =
            self.config.steps(loss, [old_norm, new_norm], [p_space, p_event])?;
        let mut rows = Vec::with_capacity(features.len());
        for feature in features {
            let old = self.row(feature.id);
            let step = if known(feature) { on_known } else { on_new };
            let v = old.v + y * step * feature.value / self.scale;
            let row = WeightPair { v: if v.abs() < TINY { 0.0 } else { v }, u: old.u + change };
            if !(row.v.abs() <= LARGEST_VALUE && row.u.abs() <= LARGEST_SPACE) {
                return Err(too_large("a weight"));
            }
            rows.push(row);
        }
        Ok(PlannedRound { rows, mistake, margin: q })
    }

    fn take(&mut self, plan: &PlannedRound, example: &Example<'_>) {
        self.set_rows(example.rows);
        for (feature, &row) in example.features.iter().zip(&plan.rows) {
            self.put(feature.id, row);
        }
        if self.ranks.is_some() {
            let agreement = self.scale * self.agreement.value();
            if agreement > self.config.l1_radius {
                self.scale *= self.config.l1_radius / agreement;
            }
            self.fold_if_small();
            self.truncate();
        }
        self.rounds += 1;
        if self.rounds >= RESUM_AFTER.max(self.rows.len() as u64) {
            self.recompute_sums();
        }
    }

    fn set_rows(&mut self, names: usize) {
        self.rows.resize(names, WeightPair::default());
        if let Some(ranks) = &mut self.ranks {
            ranks.nonzero.set_len(names);
        }
    }

    /// Set a feature's weights, and update the sums and the ranks.
    fn put(&mut self, id: FeatureId, row: WeightPair) {
        let old = std::mem::replace(&mut self.rows[id as usize], row);
        self.space.add(-old.u);
        self.space.add(row.u);
        if let Some(ranks) = &mut self.ranks {
            self.agreement.add(-old.product());
            self.agreement.add(row.product());
            ranks.set(id, row);
        }
    }

    /// Keep the k features with the largest |w|, the older among equals. Features with w = 0 count
    /// too.
    fn truncate(&mut self) {
        let sparsifier = Sparsifier::KeepLargest {
            share: self.config.kept_share,
            l1_radius: self.config.l1_radius,
        };
        let kept = sparsifier.kept(self.rows.len(), false);
        while let Some(id) = self.beyond(kept) {
            self.put(id, WeightPair::default());
        }
    }

    /// If the scale is small: `v *= scale, scale = 1`. This is monotone, so the order of |v| stays.
    fn fold_if_small(&mut self) {
        if self.scale >= SMALLEST_SCALE {
            return;
        }
        let scale = std::mem::replace(&mut self.scale, 1.0);
        for id in 0..self.rows.len() {
            let WeightPair { v, u } = self.rows[id];
            let v = if (v * scale).abs() < TINY { 0.0 } else { v * scale };
            self.put(id as FeatureId, WeightPair { v, u });
        }
        self.recompute_sums();
    }

    fn recompute_sums(&mut self) {
        (self.space, self.agreement, self.rounds) =
            (CompensatedSum::default(), CompensatedSum::default(), 0);
        for row in &self.rows {
            self.space.add(row.u);
            if self.ranks.is_some() {
                self.agreement.add(row.product());
            }
        }
    }
}

impl Olvf {
    /// A feature with a non-zero w or u that is not among the first `kept`; none if all are.
    fn beyond(&mut self, kept: usize) -> Option<FeatureId> {
        let Self { rows, ranks, .. } = self;
        ranks.as_mut()?.beyond(kept, |id| rows[id as usize].v.abs())
    }
}

impl Ranks {
    /// As [`Olvf::beyond`]; `current` gives |v|.
    fn beyond(&mut self, kept: usize, current: impl Fn(FeatureId) -> f64) -> Option<FeatureId> {
        if self.heap.len() > kept {
            return self.heap.smallest(current);
        }
        let places = kept - self.heap.len();
        let &newest = self.only_u.last()?;
        let upto = newest as usize + 1;
        (upto - self.nonzero.count_first(upto) > places).then_some(newest)
    }
}

impl OlvfState {
    fn check(&self, names: usize) -> Result<(), &'static str> {
        if self.weights.len() != names || self.space.len() != names {
            return Err("a weight vector is not as long as its names");
        }
        let sums = [self.space_sum.0, self.space_sum.1, self.agreement.0, self.agreement.1];
        let within = |column: &[f64], most: f64| column.iter().all(|x| x.abs() <= most);
        if !within(&self.weights, LARGEST_VALUE)
            || !within(&self.space, LARGEST_SPACE)
            || !within(&sums, LARGEST_VALUE * LARGEST_SPACE)
        {
            return Err("a number is too large or not finite");
        }
        if !(self.scale > 0.0 && self.scale <= 1.0) {
            return Err("a scale is not in (0, 1]");
        }
        if self.rounds > u64::MAX / 2 {
            return Err("a counter is too large");
        }
        Ok(())
    }
}

impl OlvfConfig {
    /// Step 4: the lengths of the steps along y x, of known and of new features.
    fn steps(
        &self,
        loss: f64,
        [old_norm, new_norm]: [f64; 2],
        [p_space, p_event]: [f64; 2],
    ) -> Result<(f64, f64), Error> {
        let (squared_norm, on_known, on_new) = match self.confidence {
            Confidence::Multiply => (old_norm + new_norm, p_space, p_event),
            Confidence::Divide => {
                let (old, new) = (p_space.max(LEAST_CONFIDENCE), p_event.max(LEAST_CONFIDENCE));
                (old_norm / old + new_norm / new, old.recip(), new.recip())
            }
        };
        if !squared_norm.is_finite() {
            return Err(too_large("its squared length"));
        }
        let tau = if squared_norm == 0.0 { 0.0 } else { self.c.min(loss / squared_norm) };
        if tau.is_finite() {
            Ok((tau * on_known, tau * on_new))
        } else {
            Err(too_large("a weight"))
        }
    }
}

/// Step 2: the change of u for each feature of the event, `c·min(C̄ g, l̄/(g n))`.
fn space_step(s: f64, c: f64, c_space: f64, count: usize) -> f64 {
    let z = -c * s;
    let loss = softplus(z);
    let g = logistic(z);
    let ratio = if g == 0.0 { 1.0 } else { loss / g }; // l̄/g → 1 as g → 0
    let exact = ratio / count as f64;
    c * if c_space * g <= exact { c_space * g } else { exact } // if C̄ g is ∞·0, a NaN, the comparison is false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sum_of_squares;
    use crate::label::Target;
    use crate::model::example::testing::learned;
    use crate::storage::rng::Generator;

    const CONFIG: OlvfConfig = OlvfConfig {
        c: 0.5,
        c_space: 0.2,
        l1_radius: 0.4,
        kept_share: 0.5,
        confidence: Confidence::Multiply,
    };

    fn learn<'a>(
        model: &'a mut Olvf,
        features: &[FeatureValue],
        positive: bool,
    ) -> Result<Outcome<'a>, Error> {
        let known = model.rows.len();
        let names = features.iter().map(|f| f.id as usize + 1).max().unwrap_or(0).max(known);
        let target = Target::Class(usize::from(positive));
        let (positives, negatives, products) = (0, 0, None);
        let example = Example {
            features,
            squared_norm: sum_of_squares(features),
            target,
            number: 0,
            weight: 1.0,
            per_feature: 1,
            history: &learned(known),
            rows: names,
            positives,
            negatives,
            products,
        };
        model.learn(&example, &mut Generator::from_seed(0))
    }

    #[test]
    fn the_first_example_by_hand() {
        let mut model = Olvf::new(OlvfConfig { kept_share: 1.0, ..CONFIG }, 1);
        let features = [FeatureValue { id: 0, value: 2.0 }, FeatureValue { id: 1, value: 0.0 }];
        assert!(learn(&mut model, &features, true).unwrap().mistake);
        // q = 0: a mistake, c = −1, s = 0, g = 1/2, l̄ = ln 2, τ̄ = min(.2, ln 2/(¼·2)) = .2
        assert!((model.rows[0].u + 0.1).abs() < 1e-15);
        assert!((model.rows[1].u + 0.1).abs() < 1e-15); // a value of 0 is an observation
        let p_event = 1.0 / (1.0 + 0.2_f64.exp());
        assert!((model.weight(0, 0) - 0.25 * p_event * 2.0).abs() < 1e-15); // τ = min(.5, 1/4)
        assert_eq!(model.details(&features)[1], ("event_confidence", logistic(-0.2)));
    }

    #[test]
    fn the_feature_step_is_exact_far_from_zero() {
        assert_eq!(space_step(-800.0, -1.0, 1.0, 4), 0.0); // g underflows: no correction
        assert_eq!(space_step(-800.0, -1.0, f64::INFINITY, 4), -0.25); // l̄/g = 1
        assert_eq!(space_step(800.0, -1.0, 1.0, 4), -1.0); // g = 1, τ̄ = C̄
        assert_eq!(space_step(800.0, -1.0, 1e9, 4), -200.0); // τ̄ = l̄/(g²n)
    }

    #[test]
    fn truncation_gives_the_same_as_sorting_all_features() {
        let (mut model, mut draws) = (Olvf::new(CONFIG, 1), Generator::from_seed(9));
        let mut ids = 3.0;
        let mut cut = 0;
        for round in 0..4_000 {
            ids += f64::from(round % 150 == 0);
            let features: Vec<FeatureValue> = (0..ids as u32)
                .filter_map(|id| {
                    let value = (draws.uniform() * 5.0).floor() - 2.0; // ties and zeros
                    (draws.uniform() < 0.3).then_some(FeatureValue { id, value })
                })
                .collect();
            let mut plain = model.clone();
            let label = draws.uniform() < 0.5;
            plain.ranks = None; // without ranks all weights are kept
            learn(&mut plain, &features, label).unwrap();
            learn(&mut model, &features, label).unwrap();
            if features.is_empty() {
                continue;
            }
            let mut order: Vec<usize> = (0..plain.rows.len()).collect();
            order.sort_by(|&a, &b| {
                plain.rows[b].v.abs().total_cmp(&plain.rows[a].v.abs()).then(a.cmp(&b))
            });
            let kept = (plain.rows.len() / 2).max(1);
            for &id in &order[kept..] {
                cut += usize::from(plain.rows[id].v == 0.0 && plain.rows[id].u != 0.0);
                plain.rows[id] = WeightPair::default();
            }
            for (id, (fast, slow)) in model.rows.iter().zip(&plain.rows).enumerate() {
                assert_eq!(fast.u, slow.u, "{round} {id}");
                assert_eq!(fast.v == 0.0, slow.v == 0.0, "{round} {id}");
            }
        }
        assert!(cut > 100); // u was set to 0 also where w is 0
        let exact: f64 = model.rows.iter().map(|row| row.u).sum();
        assert!((model.space.value() - exact).abs() < 1e-14);
        let exact: f64 = model.rows.iter().map(|row| row.product()).sum();
        assert!((model.agreement.value() - exact).abs() < 1e-14 * exact.abs().max(1.0));
    }

    #[test]
    fn a_step_that_would_overflow_changes_nothing() {
        let mut model = Olvf::new(OlvfConfig { c: f64::INFINITY, ..CONFIG }, 1);
        assert!(learn(&mut model, &[FeatureValue { id: 0, value: 1e-160 }], true).is_err());
        assert!(learn(&mut model, &[FeatureValue { id: 0, value: 1e200 }], true).is_err());
        assert!(model.rows.is_empty());
        assert!(learn(&mut model, &[], true).unwrap().mistake);
        assert!(model.rows.is_empty());
    }
}
