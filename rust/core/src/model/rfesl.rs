//! RFESL: FESL for features that appear but never vanish, the FLLS paper's baseline.
//!
//! A period begins with an example that has new names. w1, on the names known before, is the
//! earlier combination of the two models, α1w1 + α2w2; w2, on all names, starts at 0; α starts at
//! (½, ½). In the first period there is only w2. The map of FESL is not needed, because the old
//! names are still there. Both take gradient steps of length `step`/√t on the logistic loss, t
//! counted from the start of the period. The start of a period costs O(names known), any other
//! example O(features).

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::model::example::{Example, Outcome, PriorScores, Score, too_large};
use crate::model::kind::ModelKind;
use crate::model::two_experts::{Loss, Sharing, TwoExperts, blend};
use crate::storage::rng::Generator;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RfeslConfig {
    /// 1/c
    pub step: f64,
    /// T: labels per period.
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
    /// Examples in this period.
    rounds: u64,
    experts: TwoExperts,
}

impl ModelKind for Rfesl {
    type Config = RfeslConfig;
    type State = RfeslState;

    fn new(config: RfeslConfig, _vectors: usize) -> Self {
        let experts = TwoExperts::second();
        let state = RfeslState { old: Vec::new(), new: Vec::new(), rounds: 0, experts };
        Self { config, state }
    }

    fn score(&self, features: &[FeatureValue], _draws: &Generator) -> Score {
        Score::by_sign(blend(self.state.experts.alpha, self.both_scores(features)))
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        let features = example.features;
        example.finite_norm()?;
        let y = example.target.sign();
        let margin = self.score(features, draws).margin;
        let (begins, first) = (example.grows(), self.state.new.is_empty());
        let (f, t, experts) = if begins {
            let experts =
                if first { TwoExperts::second() } else { TwoExperts::new(self.config.horizon) };
            ([margin, 0.0], 1, experts)
        } else {
            (self.both_scores(features), self.state.rounds + 1, self.state.experts)
        };
        let rate = self.config.step / (t as f64).sqrt();
        let [move1, move2] = f.map(|f| rate * Loss::Logistic.negative_gradient(f, y));
        let losses = f.map(|f| Loss::Logistic.of(f, y));
        let limit = f64::MAX / 4.0; // sums of two weights stay finite
        let safe = features.iter().all(|feature| {
            let at = feature.id as usize;
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
        let experts = experts.updated(losses, Sharing::Sums, self.config.horizon);

        // From here on nothing can fail.
        if begins {
            let old =
                (0..example.history.len()).map(|id| self.weight(id as FeatureId, 0)).collect();
            self.state.old = old;
            self.state.new = vec![0.0; example.rows];
        }
        for feature in features {
            let at = feature.id as usize;
            if let Some(weight) = self.state.old.get_mut(at) {
                *weight += move1 * feature.value;
            }
            self.state.new[at] += move2 * feature.value;
        }
        self.state.rounds = t;
        self.state.experts = experts;
        let mistake = Loss::Logistic.is_mistake(margin, y);
        Ok(Outcome { mistake, scores: PriorScores::Margin(margin) })
    }

    fn contributions(&self, features: &[FeatureValue], _draws: &Generator) -> Vec<f64> {
        features.iter().map(|feature| self.weight(feature.id, 0) * feature.value).collect()
    }

    fn weight(&self, id: FeatureId, _vector: usize) -> f64 {
        let at = id as usize;
        let of = |weights: &[f64]| weights.get(at).copied().unwrap_or(0.0);
        blend(self.state.experts.alpha, [of(&self.state.old), of(&self.state.new)])
    }

    fn state(&self) -> RfeslState {
        self.state.clone()
    }

    fn adopt(
        &mut self,
        state: &RfeslState,
        names: usize,
        _vectors: usize,
    ) -> Result<(), &'static str> {
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

impl Rfesl {
    /// The scores of both models.
    fn both_scores(&self, features: &[FeatureValue]) -> [f64; 2] {
        let mut f = [0.0; 2];
        for feature in features {
            let at = feature.id as usize;
            f[0] += self.state.old.get(at).copied().unwrap_or(0.0) * feature.value;
            f[1] += self.state.new.get(at).copied().unwrap_or(0.0) * feature.value;
        }
        f
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sum_of_squares;
    use crate::label::Target;
    use crate::model::example::testing::learned;

    fn learn(model: &mut Rfesl, ids: &[(FeatureId, f64)], class: usize) {
        let features: Vec<FeatureValue> =
            ids.iter().map(|&(id, value)| FeatureValue { id, value }).collect();
        let known = model.state.new.len();
        let names = ids.iter().map(|&(id, _)| id as usize + 1).fold(known, usize::max);
        let target = Target::Class(class);
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

    #[test]
    fn a_new_name_begins_a_period_with_the_combined_weights_as_the_old_model() {
        let mut model = Rfesl::new(RfeslConfig { step: 1.0, horizon: None }, 1);
        learn(&mut model, &[(0, 1.0)], 1);
        assert_eq!(model.state.experts.alpha, [0.0, 1.0]);
        let before = model.weight(0, 0);
        learn(&mut model, &[(1, 1.0)], 1);
        assert_eq!(model.state.old, [before]);
        assert_eq!(model.state.new[0], 0.0);
        assert!(model.state.new[1] > 0.0);
        learn(&mut model, &[(0, 1.0), (1, 1.0)], 1);
        assert_eq!(model.state.rounds, 2);
        assert!(model.state.old[0] > before);
    }
}
