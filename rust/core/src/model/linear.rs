//! The linear model: an update rule and a sparsifier on one weight vector, or on one per class.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{Feature, FeatureId};
use crate::label::Target;
use crate::model::example::{Example, Outcome, Score, Scores, too_large};
use crate::model::kind::ModelKind;
use crate::model::scores;
use crate::rules::expected_error::ExpectedError;
use crate::rules::sparsify::Sparsifier;
use crate::rules::update::{PositiveMargin, StepInput, UpdateRule};
use crate::scaling::RunningScaler;
use crate::storage::index_remap::IndexRemap;
use crate::storage::rng::Generator;
use crate::storage::weights::{Step, Weights, WeightsState};

/// What a model predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// One of two classes, by the sign of `w·x`.
    Binary,
    /// One of several, by the largest of `w_r·x`.
    Multiclass,
    /// A number, `w·x`; errors up to `epsilon` cost nothing.
    Regression { epsilon: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearConfig {
    pub update: UpdateRule,
    pub positive_margin: PositiveMargin,
    pub sparsifier: Sparsifier,
    /// An example with new names first sets all weights to 0.
    pub restarts: bool,
    /// Compute as the OLSF authors' code does, for replication.
    pub legacy: bool,
    pub task: Task,
}

impl LinearConfig {
    fn check(&self) -> Result<(), Error> {
        let refuse = |text: &str| Err(Error::Parameter(text.to_owned()));
        if self.task == Task::Multiclass {
            if !self.update.is_multiclass() {
                return refuse(
                    "update: this rule is defined for two classes only; with multiclass=True use \
                     perceptron, margin_perceptron, pa, pa1, pa2, arow or dual_logistic.",
                );
            }
            if self.positive_margin != PositiveMargin::Fixed(1.0) {
                return refuse("positive_margin: there is no positive class with multiclass=True.");
            }
        }
        if let Task::Regression { .. } = self.task
            && !matches!(
                self.update,
                UpdateRule::Pa | UpdateRule::Pa1 { .. } | UpdateRule::Pa2 { .. }
            )
        {
            return refuse("update: for numbers use pa, pa1 or pa2; the others are for classes.");
        }
        if let UpdateRule::Gradient { step, decay } = self.update
            && step * decay >= 1.0
        {
            return refuse("update.Gradient: step times decay must be below 1.");
        }
        Ok(())
    }
}

/// Everything that an example will change, computed before anything is changed.
struct PlannedStep {
    step: Step,
    /// ‖x‖
    norm: f64,
    /// The weight vectors that move, and the sign of the step.
    moves: [Option<(usize, f64)>; 2],
    mistake: bool,
    restart: bool,
    /// |y − w·x| in regression, else 0.
    error: f64,
    /// The scores before the step.
    scores: Scores,
}

#[derive(Clone, Debug)]
pub struct Linear {
    config: LinearConfig,
    weights: Weights,
    /// In regression: the error to expect, for query rules.
    errors: Option<ExpectedError>,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct LinearState {
    weights: WeightsState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors: Option<ExpectedError>,
}

impl ModelKind for Linear {
    type Config = LinearConfig;
    type State = LinearState;

    fn validate(config: &LinearConfig) -> Result<(), Error> {
        config.check()
    }

    fn new(config: LinearConfig, vectors: usize) -> Self {
        let has_variances = config.update.uses_variance();
        let regresses = matches!(config.task, Task::Regression { .. });
        Self {
            config,
            weights: Weights::new(config.sparsifier.upkeep(), has_variances, vectors),
            errors: regresses.then(ExpectedError::default),
        }
    }

    fn score(&self, features: &[Feature], _draws: &Generator) -> Score {
        match self.config.task {
            Task::Binary => scores::score_binary(&self.weights, features),
            Task::Multiclass => scores::score_multiclass(&self.weights, features),
            Task::Regression { .. } => {
                let (margin, squared_norm) = self.weights.dot_and_norm(0, features);
                let expected = self.errors.as_ref();
                let confidence = expected.map_or(1.0, |errors| errors.confidence(features));
                Score { class: None, margin, confidence, squared_norm: Some(squared_norm) }
            }
        }
    }

    fn class_scores(&self, features: &[Feature]) -> Option<Vec<f64>> {
        self.is_multiclass().then(|| self.weights.dots(features))
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        _scaler: Option<&RunningScaler>,
        draws: &mut Generator,
    ) -> Result<Outcome, Error> {
        let plan = self.plan(example)?;
        self.take(&plan, example, draws);
        Ok(Outcome { mistake: plan.mistake, scores: plan.scores })
    }

    fn contributions(&self, features: &[Feature], _draws: &Generator) -> Vec<f64> {
        scores::contributions(&self.weights, features, self.is_multiclass())
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
        if let Some(errors) = &mut self.errors {
            errors.retain(remap);
        }
    }

    fn state(&self) -> LinearState {
        LinearState { weights: self.weights.state(), errors: self.errors.clone() }
    }

    fn adopt(
        &mut self,
        state: &LinearState,
        names: usize,
        vectors: usize,
    ) -> Result<(), &'static str> {
        if self.errors.is_some() != state.errors.is_some() {
            return Err("it expects errors and should not, or the other way round");
        }
        if let Some(errors) = &state.errors {
            errors.check(names)?;
            self.errors = Some(errors.clone());
        }
        self.weights.adopt(&state.weights, names, vectors)
    }
}

impl Linear {
    pub fn is_multiclass(&self) -> bool {
        self.config.task == Task::Multiclass
    }

    /// `w·x` where there is one weight vector.
    fn margin(&self, example: &Example<'_>) -> f64 {
        let known = example.products.map(|products| products.margin);
        known.unwrap_or_else(|| self.weights.dot(0, example.features))
    }

    /// Compute the step; refuse it if a number would not be finite.
    fn plan(&self, example: &Example<'_>) -> Result<PlannedStep, Error> {
        let features = example.features;
        let squared_norm = example.squared_norm()?;
        let restart = self.config.restarts && example.grows();
        let positive_margin =
            self.config.positive_margin.value(example.positives, example.negatives);
        let (mut target, mut error) = (1.0, 0.0);
        let mut predicted = Scores::None;
        let (margin, mistake, moves) = match (example.target, self.config.task) {
            (Target::Class(class), Task::Multiclass) => {
                let scores = self.weights.dots(features);
                let case = if restart {
                    multiclass_case(&vec![0.0; scores.len()], class)
                } else {
                    multiclass_case(&scores, class)
                };
                predicted = Scores::Several(scores);
                case
            }
            (Target::Value(value), Task::Regression { epsilon }) => {
                let q = if restart { 0.0 } else { self.margin(example) };
                error = (value - q).abs();
                target = error - epsilon; // with a margin of 0 this is the loss
                let sign = if value > q { 1.0 } else { -1.0 };
                (0.0, target > 0.0, [Some((0, sign)), None])
            }
            (label, _) => {
                let q = self.margin(example);
                predicted = Scores::by_margin(q);
                let q = if restart { 0.0 } else { q };
                let sign = label.sign();
                if sign > 0.0 {
                    target = positive_margin;
                }
                (sign * q, sign * q <= 0.0, [Some((0, sign)), None])
            }
        };
        if !margin.is_finite() || !target.is_finite() {
            return Err(too_large("its margin"));
        }
        let moving = moves.iter().flatten();
        let input = StepInput {
            margin,
            target,
            mistake,
            squared_norm: squared_norm * moving.clone().count() as f64,
            variance: if self.weights.has_variances() {
                moving.clone().map(|&(vector, _)| self.weights.variance(vector, features)).sum()
            } else {
                0.0
            },
            positive_margin,
        };
        let step = if self.config.legacy {
            self.config.update.legacy_step(&input)
        } else {
            self.config.update.step(&input)
        };
        let norm = squared_norm.sqrt();
        let safe = step.length.is_finite()
            && moving.clone().all(|&(v, _)| self.weights.can_take(v, features, step, norm));
        if safe {
            Ok(PlannedStep { step, norm, moves, mistake, restart, error, scores: predicted })
        } else {
            Err(too_large("a weight"))
        }
    }

    /// Add weights for new names and for a new class.
    fn make_room(&mut self, example: &Example<'_>) {
        self.weights.set_rows(example.names);
        if let (Target::Class(class), Task::Multiclass) = (example.target, self.config.task)
            && class == self.weights.vectors.len()
        {
            self.weights.add_vector();
        }
    }

    /// Take the planned step: grow, shrink, move, sparsify. Cannot fail.
    fn take(&mut self, plan: &PlannedStep, example: &Example<'_>, draws: &mut Generator) {
        let PlannedStep { step, norm, moves, restart, error, .. } = *plan;
        self.make_room(example);
        if let Some(errors) = &mut self.errors {
            errors.learn(example.features, example.names, error);
        }
        if restart {
            self.weights.clear();
        }
        if step.shrink != 1.0 {
            self.weights.shrink(0, step.shrink);
        }
        if step.length == 0.0 {
            return;
        }
        let kept = self.config.sparsifier.kept(example.names, self.config.legacy);
        for (vector, sign) in moves.into_iter().flatten() {
            self.weights.shift(vector, example.features, sign * step.length, step, norm);
            self.config.sparsifier.apply(&mut self.weights, vector, kept, draws);
        }
    }
}

/// With several classes: the lead of `class` over the best other class, whether another class was
/// predicted, and the two weight vectors that move.
fn multiclass_case(scores: &[f64], class: usize) -> (f64, bool, [Option<(usize, f64)>; 2]) {
    let mistake = scores::largest(scores, None) != Some(class);
    let Some(rival) = scores::largest(scores, Some(class)) else {
        return (0.0, mistake, [None, None]); // no other class is known
    };
    let own = scores.get(class).copied().unwrap_or(0.0);
    (own - scores[rival], mistake, [Some((class, 1.0)), Some((rival, -1.0))])
}
