//! FESL: one feature space is replaced by another, and for a few rounds events carry both.
//!
//! A period's model is f2 = w·x with gradient steps of length `step`/√t, t counted from the start
//! of the period. When its names are replaced by others, a new period begins with w = 0 on the new
//! names. The old model is still used through the map of [`ridge_map`], f1 = w1·ψ(x), and
//! [`TwoExperts`] gives the weights of the two. Hou, Zhang and Zhou, *Learning with Feature
//! Evolvable Streams*, NIPS 2017.
//!
//! **Periods are found from the names.** The last B examples are stored. A name is *old* if the period saw it
//! before them. An example with features but without any old name begins the next period, once this
//! one has lasted for 2B examples (earlier, on sparse events, too few names are old for their
//! absence to mean anything). The old and the other names of the stored examples give the map. When
//! they were learned it was not known which names would vanish, so `weights` learned from all
//! names; but w1 must have learned from old names only. Therefore the weights of B examples ago are
//! kept too (`lagged`), and the B examples are learned again from there without the other names.
//! Their Gram matrix suffices for that: O(B²·n + B³) once per period, and for each prediction of an
//! event that would begin a period.

pub mod ridge_map;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::model::example::{Example, Outcome, PriorScores, Score, too_large};
use crate::model::fesl::ridge_map::{MapStep, RidgeMap, RidgeMapState, SparseColumns};
use crate::model::kind::ModelKind;
use crate::model::two_experts::{Loss, Sharing, TwoExperts, blend};
use crate::storage::rng::Generator;

/// What is predicted once there are two models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// FESL-c: the weighted mean.
    Weights,
    /// FESL-s: one of the two, drawn with their weights as probabilities.
    Draw,
    /// The one with the larger weight.
    Best,
    /// NOGD: the new one.
    New,
    /// ROGD-u: the old one, which continues to learn.
    Old,
    /// ROGD-f: the old one, which does not learn any more.
    Frozen,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeslConfig {
    pub combine: Combine,
    pub loss: Loss,
    /// 1/c
    pub step: f64,
    /// ε; without one, a small share of the mean square of the rows.
    pub ridge: Option<f64>,
    /// B
    pub overlap: usize,
    /// T2
    pub horizon: Option<u64>,
    pub clip_losses: bool,
    /// T1, if the schedule of the papers is given: the only switch is after this example.
    pub switch_after: Option<u64>,
}

impl FeslConfig {
    fn sharing(&self) -> Sharing {
        if self.combine == Combine::Weights { Sharing::Sums } else { Sharing::Fixed }
    }
}

/// An example that is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredRound {
    ids: Vec<FeatureId>,
    values: Vec<f64>,
    target: f64,
    /// The example moved the weights by this number times its values.
    step: f64,
}

impl StoredRound {
    fn features(&self) -> impl Iterator<Item = FeatureValue> {
        let pairs = self.ids.iter().zip(&self.values);
        pairs.map(|(&id, &value)| FeatureValue { id, value })
    }
}

#[derive(Clone, Debug)]
pub struct Fesl {
    config: FeslConfig,
    /// w of the current period, by id. Names that have vanished keep theirs, in case they return.
    weights: Vec<f64>,
    /// The same weights as they were before the stored examples.
    lagged: Vec<f64>,
    /// The example in which this period first saw the name; a number below `born` means not yet.
    first_seen: Vec<u64>,
    stored: VecDeque<StoredRound>,
    /// The first example whose new names belong to this period.
    born: u64,
    /// Examples before this period.
    begun: u64,
    /// Examples in all.
    rounds: u64,
    period: u64,
    map: Option<RidgeMap>,
    experts: TwoExperts,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct FeslState {
    weights: Vec<f64>,
    lagged: Vec<f64>,
    met: Vec<u64>,
    stored: VecDeque<StoredRound>,
    born: u64,
    begun: u64,
    rounds: u64,
    period: u64,
    map: Option<RidgeMapState>,
    experts: TwoExperts,
}

/// Both models' predictions for an event: in the current period, or in the one that the event
/// begins.
struct TwoForecasts<'a> {
    switch: bool,
    map: Option<std::borrow::Cow<'a, RidgeMap>>,
    experts: TwoExperts,
    /// t of the next step.
    t: u64,
    /// X2x
    z: Vec<f64>,
    f: [f64; 2],
}

impl ModelKind for Fesl {
    type Config = FeslConfig;
    type State = FeslState;

    fn new(config: FeslConfig, _vectors: usize) -> Self {
        Self {
            config,
            weights: Vec::new(),
            lagged: Vec::new(),
            first_seen: Vec::new(),
            stored: VecDeque::new(),
            born: 1,
            begun: 0,
            rounds: 0,
            period: 1,
            map: None,
            experts: TwoExperts::second(),
        }
    }

    fn score(&self, features: &[FeatureValue], draws: &Generator) -> Score {
        let margin = self.margin(&self.forecasts(features), draws);
        match self.config.loss {
            Loss::Logistic => Score::by_sign(margin),
            Loss::Square => Score { class: None, margin, confidence: 0.0 },
        }
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        let config = self.config;
        let features = example.features;
        example.finite_norm()?; // stored examples are multiplied with each other
        let forecasts = self.forecasts(features);
        let margin = self.margin(&forecasts, draws);
        let y = config.loss.target(example.target);
        let rate = config.step / (forecasts.t as f64).sqrt();
        let [move1, move2] = forecasts.f.map(|f| rate * config.loss.negative_gradient(f, y));
        let losses = forecasts.f.map(|f| config.loss.of(f, y));
        if !margin.is_finite() || !losses.iter().all(|loss| loss.is_finite()) {
            return Err(too_large("its loss"));
        }
        let losses = if config.clip_losses { losses.map(|loss| loss.min(1.0)) } else { losses };
        let safe = features.iter().all(|feature| {
            let weight = self.own_weight(feature.id, forecasts.switch);
            (weight + move2 * feature.value).is_finite()
        });
        let shifted: Option<MapStep> = match &forecasts.map {
            Some(map) if config.combine != Combine::Frozen => Some(map.moved(&forecasts.z, move1)),
            _ => None,
        };
        if !safe || shifted.as_ref().is_some_and(|after| !after.is_finite()) {
            return Err(too_large("a weight"));
        }
        let experts = forecasts.experts.updated(losses, config.sharing(), config.horizon);
        let TwoForecasts { switch, map, .. } = forecasts;
        let begun_with = if switch { Some(map.map(std::borrow::Cow::into_owned)) } else { None };

        // From here on nothing can fail.
        if let Some(map) = begun_with {
            self.begin_period(map);
        }
        if let (Some(map), Some(after)) = (&mut self.map, shifted) {
            map.take(after);
        }
        self.experts = experts;
        self.store(example, y, move2);
        if config.combine == Combine::Draw {
            draws.uniform();
        }
        let scores = match config.loss {
            Loss::Logistic => PriorScores::Margin(margin),
            Loss::Square => PriorScores::None,
        };
        Ok(Outcome { mistake: config.loss.is_mistake(margin, y), scores })
    }

    fn contributions(&self, features: &[FeatureValue], draws: &Generator) -> Vec<f64> {
        let forecasts = self.forecasts(features);
        let map = forecasts.map.as_deref();
        let shares = self.shares(&forecasts.experts, map.is_some(), Some(draws));
        let weight = |id| {
            let old = map.map_or(0.0, |map| map.weight(id));
            blend(shares, [old, self.own_weight(id, forecasts.switch)])
        };
        features.iter().map(|feature| weight(feature.id) * feature.value).collect()
    }

    fn weight(&self, id: FeatureId, _vector: usize) -> f64 {
        let shares = self.shares(&self.experts, self.map.is_some(), None);
        let old = self.map.as_ref().map_or(0.0, |map| map.weight(id));
        blend(shares, [old, self.own_weight(id, false)])
    }

    fn note(&self) -> Option<String> {
        let from = self.begun + 1;
        Some(match (self.period, &self.map) {
            (1, _) => "period 1, since round 1".to_owned(),
            (period, _) if self.config.combine == Combine::New => {
                format!("period {period}, since round {from}: learned anew")
            }
            (period, None) => format!(
                "period {period}, since round {from}: learned anew, for no stored round showed old \
                 and new names together"
            ),
            (period, Some(map)) => format!(
                "period {period}, since round {from}: its map comes from {} stored round{}, its \
                 trust is {:.3} in the old model and {:.3} in the new",
                map.rows(),
                if map.rows() == 1 { "" } else { "s" },
                self.experts.alpha[0],
                self.experts.alpha[1],
            ),
        })
    }

    fn state(&self) -> FeslState {
        FeslState {
            weights: self.weights.clone(),
            lagged: self.lagged.clone(),
            met: self.first_seen.clone(),
            stored: self.stored.clone(),
            born: self.born,
            begun: self.begun,
            rounds: self.rounds,
            period: self.period,
            map: self.map.as_ref().map(RidgeMap::state),
            experts: self.experts,
        }
    }

    fn adopt(
        &mut self,
        state: &FeslState,
        names: usize,
        _vectors: usize,
    ) -> Result<(), &'static str> {
        state.check(names, self.config.overlap)?;
        let ridge = self.config.ridge;
        let map = state.map.as_ref();
        self.map = map.map(|o| RidgeMap::restored(o, names, ridge)).transpose()?;
        self.weights.clone_from(&state.weights);
        self.lagged.clone_from(&state.lagged);
        self.first_seen.clone_from(&state.met);
        self.stored.clone_from(&state.stored);
        self.born = state.born;
        self.begun = state.begun;
        self.rounds = state.rounds;
        self.period = state.period;
        self.experts = state.experts;
        Ok(())
    }
}

impl Fesl {
    /// Whether this period saw the name before the stored examples.
    fn is_old(&self, id: FeatureId) -> bool {
        let before_stored = |round: u64| round + self.config.overlap as u64 <= self.rounds;
        self.first_seen
            .get(id as usize)
            .is_some_and(|&round| round >= self.born && before_stored(round))
    }

    /// Whether this period first saw the name in the stored examples.
    fn is_new(&self, id: FeatureId) -> bool {
        self.first_seen.get(id as usize).is_some_and(|&round| round >= self.born)
            && !self.is_old(id)
    }

    /// Whether an event begins the next period.
    fn begins_period(&self, features: &[FeatureValue]) -> bool {
        match self.config.switch_after {
            Some(last) => self.period == 1 && self.rounds == last,
            None => {
                self.rounds - self.begun >= 2 * self.config.overlap as u64
                    && !features.is_empty()
                    && !features.iter().any(|feature| self.is_old(feature.id))
            }
        }
    }

    fn forecasts(&self, features: &[FeatureValue]) -> TwoForecasts<'_> {
        let switch = self.begins_period(features);
        let map = if switch {
            self.build_map().map(std::borrow::Cow::Owned)
        } else {
            self.map.as_ref().map(std::borrow::Cow::Borrowed)
        };
        let experts = match (switch, &map) {
            (false, _) => self.experts,
            (true, Some(_)) => TwoExperts::new(self.config.horizon),
            (true, None) => TwoExperts::second(),
        };
        let mut f2 = 0.0;
        for feature in features {
            f2 += self.own_weight(feature.id, switch) * feature.value;
        }
        let (z, f1) = map.as_ref().map_or((Vec::new(), 0.0), |map| {
            let z = map.project(features);
            let f1 = map.score(&z);
            (z, f1)
        });
        let t = if switch { 1 } else { self.rounds - self.begun + 1 };
        TwoForecasts { switch, map, experts, t, z, f: [f1, f2] }
    }

    /// w of a name. With a switch, the names that are new in the stored examples start at 0.
    fn own_weight(&self, id: FeatureId, switch: bool) -> f64 {
        if switch && self.is_new(id) {
            return 0.0;
        }
        self.weights.get(id as usize).copied().unwrap_or(0.0)
    }

    /// The old model with the map that the stored examples give; none if they give no map.
    fn build_map(&self) -> Option<RidgeMap> {
        if self.config.combine == Combine::New {
            return None;
        }
        let size = self.stored.len();
        let rows: Vec<Vec<FeatureValue>> =
            self.stored.iter().map(|stored| stored.features().collect()).collect();
        let rows: Vec<&[FeatureValue]> = rows.iter().map(Vec::as_slice).collect();
        let old_gram = SparseColumns::of(&rows, |id| self.is_old(id)).gram(size);
        // the stored examples again, on old names only: w1·x_i = lagged·x_i + Σ_j s_j x_j·x_i
        let mut at_rows: Vec<f64> = rows
            .iter()
            .map(|row| {
                let old = row.iter().filter(|feature| self.is_old(feature.id));
                old.map(|feature| self.lagged[feature.id as usize] * feature.value).sum()
            })
            .collect();
        for (i, stored) in self.stored.iter().enumerate() {
            let t = self.rounds - self.begun - size as u64 + 1 + i as u64;
            let gradient = self.config.loss.negative_gradient(at_rows[i], stored.target);
            let step = self.config.step / (t as f64).sqrt() * gradient;
            for (j, at_row) in at_rows.iter_mut().enumerate() {
                *at_row += step * old_gram[i * size + j];
            }
        }
        // rows without old names or without new ones do not help to find the map
        let complete: Vec<usize> = (0..size)
            .filter(|&i| {
                let old = rows[i].iter().filter(|feature| self.is_old(feature.id)).count();
                old > 0 && old < rows[i].len()
            })
            .collect();
        let complete_rows: Vec<&[FeatureValue]> = complete.iter().map(|&i| rows[i]).collect();
        let new = SparseColumns::of(&complete_rows, |id| !self.is_old(id));
        let gram = complete.iter().flat_map(|&i| complete.iter().map(move |&j| i * size + j));
        let gram = gram.map(|at| old_gram[at]).collect();
        let at_rows = complete.iter().map(|&i| at_rows[i]).collect();
        RidgeMap::new(new, gram, at_rows, self.config.ridge)
    }

    /// The weights of the two models in the prediction.
    fn shares(&self, experts: &TwoExperts, mapped: bool, draws: Option<&Generator>) -> [f64; 2] {
        let alpha = experts.alpha;
        let first = match self.config.combine {
            _ if !mapped => false,
            Combine::Weights => return alpha,
            Combine::Draw => match draws {
                Some(draws) => draws.clone().uniform() < alpha[0] / (alpha[0] + alpha[1]),
                None => return alpha,
            },
            Combine::Best => alpha[0] >= alpha[1],
            Combine::New => false,
            Combine::Old | Combine::Frozen => true,
        };
        if first { [1.0, 0.0] } else { [0.0, 1.0] }
    }

    fn margin(&self, forecasts: &TwoForecasts<'_>, draws: &Generator) -> f64 {
        let shares = self.shares(&forecasts.experts, forecasts.map.is_some(), Some(draws));
        blend(shares, forecasts.f)
    }

    /// Begin a period with this map: drop the stored examples, and set new names to 0.
    fn begin_period(&mut self, map: Option<RidgeMap>) {
        let new: Vec<FeatureId> = self
            .stored
            .iter()
            .flat_map(|stored| stored.ids.iter().copied())
            .filter(|&id| self.is_new(id))
            .collect();
        for stored in std::mem::take(&mut self.stored) {
            self.move_lagged(&stored);
        }
        for id in new {
            self.weights[id as usize] = 0.0;
            self.lagged[id as usize] = 0.0;
        }
        self.map = map;
        self.born = (self.rounds + 1).saturating_sub(self.config.overlap as u64).max(1);
        self.begun = self.rounds;
        self.period += 1;
    }

    /// Apply the step of an example that is no longer stored to the lagged weights.
    fn move_lagged(&mut self, stored: &StoredRound) {
        for feature in stored.features() {
            self.lagged[feature.id as usize] += stored.step * feature.value;
        }
    }

    /// Move the weights by the example and store it.
    fn store(&mut self, example: &Example<'_>, target: f64, step: f64) {
        self.rounds += 1;
        self.weights.resize(example.rows, 0.0);
        self.lagged.resize(example.rows, 0.0);
        self.first_seen.resize(example.rows, 0);
        for feature in example.features {
            let at = feature.id as usize;
            self.weights[at] += step * feature.value;
            if self.first_seen[at] < self.born {
                self.first_seen[at] = self.rounds;
            }
        }
        self.stored.push_back(StoredRound {
            ids: example.features.iter().map(|feature| feature.id).collect(),
            values: example.features.iter().map(|feature| feature.value).collect(),
            target,
            step,
        });
        if self.stored.len() > self.config.overlap
            && let Some(oldest) = self.stored.pop_front()
        {
            self.move_lagged(&oldest);
        }
    }
}

impl FeslState {
    fn check(&self, names: usize, overlap: usize) -> Result<(), &'static str> {
        if [self.weights.len(), self.lagged.len(), self.met.len()] != [names; 3] {
            return Err("its weights are not as many as its names");
        }
        let most = u64::MAX / 2;
        let counted = self.begun <= self.rounds
            && self.rounds < most
            && (1..most).contains(&self.period)
            && (1..=self.rounds + 1).contains(&self.born)
            && self.met.iter().all(|&met| met <= self.rounds)
            && self.stored.len() as u64 == (self.rounds - self.begun).min(overlap as u64);
        if !counted {
            return Err("its rounds do not add up");
        }
        let rows_fit = self.stored.iter().all(|stored| {
            stored.ids.len() == stored.values.len()
                && stored.ids.iter().all(|&id| (id as usize) < names)
        });
        if !rows_fit {
            return Err("a stored example is damaged");
        }
        let stored = self.stored.iter();
        let stored = stored.flat_map(|k| k.values.iter().chain([&k.target, &k.step]));
        let mut numbers = self.weights.iter().chain(&self.lagged).chain(stored);
        if !numbers.all(|number| number.is_finite()) {
            return Err("a number is not finite");
        }
        self.experts.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sum_of_squares;
    use crate::label::Target;
    use crate::model::example::testing::learned;

    const CONFIG: FeslConfig = FeslConfig {
        combine: Combine::Weights,
        loss: Loss::Square,
        step: 0.1,
        ridge: Some(1e-6),
        overlap: 2,
        horizon: Some(10),
        clip_losses: false,
        switch_after: None,
    };

    fn learn(model: &mut Fesl, ids: &[(FeatureId, f64)], target: f64) {
        let features: Vec<FeatureValue> =
            ids.iter().map(|&(id, value)| FeatureValue { id, value }).collect();
        let known = model.weights.len();
        let names = ids.iter().map(|&(id, _)| id as usize + 1).fold(known, usize::max);
        let target = Target::Value(target);
        let example = Example {
            features: &features,
            squared_norm: sum_of_squares(&features),
            target,
            number: 0,
            weight: 1.0,
            per_feature: 1,
            history: &learned(known),
            rows: names,
            positives: 0,
            negatives: 0,
            products: None,
        };
        model.learn(&example, &mut Generator::from_seed(0)).unwrap();
    }

    /// y = 2·old, new = 10·old, and then the old name is gone.
    fn replaced() -> Fesl {
        let mut model = Fesl::new(CONFIG, 1);
        for x in [1.0, -1.0, 0.5, 2.0] {
            learn(&mut model, &[(0, x)], 2.0 * x);
        }
        for x in [1.0, -2.0] {
            learn(&mut model, &[(0, x), (1, 10.0 * x)], 2.0 * x);
        }
        model
    }

    #[test]
    fn the_old_model_is_used_through_the_map() {
        let model = replaced();
        let old = {
            let mut alone = Fesl::new(CONFIG, 1);
            for x in [1.0, -1.0, 0.5, 2.0, 1.0, -2.0] {
                learn(&mut alone, &[(0, x)], 2.0 * x);
            }
            alone.weights[0]
        };
        let forecasts = model.forecasts(&[FeatureValue { id: 1, value: 5.0 }]);
        assert!(forecasts.switch);
        assert!((forecasts.f[0] - 0.5 * old).abs() < 1e-6);
        assert_eq!(forecasts.f[1], 0.0);
    }

    #[test]
    fn a_period_begins_with_the_first_example_without_any_old_name() {
        let mut model = replaced();
        learn(&mut model, &[(0, 1.0)], 2.0);
        learn(&mut model, &[], 0.0);
        assert_eq!(model.period, 1);
        let mut model = replaced();
        learn(&mut model, &[(1, 5.0)], 1.0);
        assert_eq!((model.period, model.begun, model.stored.len()), (2, 6, 1));
        assert!(model.map.is_some());
    }

    #[test]
    fn the_lagged_weights_are_those_before_the_stored_examples() {
        let mut model = Fesl::new(CONFIG, 1);
        let mut past = Vec::new();
        for x in [1.0, -1.0, 0.5, 2.0] {
            past.push(model.weights.first().copied().unwrap_or(0.0));
            learn(&mut model, &[(0, x)], 2.0 * x);
        }
        assert_eq!(model.lagged[0], past[2]);
    }
}
