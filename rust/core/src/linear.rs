//! The linear model: an update rule and a sparsifier on one weight vector, or on one a class.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::dual::{Dual, DualState, LARGEST_NORM, LARGEST_WEIGHT};
use crate::expected_error::ExpectedError;
use crate::model::{Learned, Lesson, Score, Scores, Target, logistic, squared_norm, too_large};
use crate::random::Generator;
use crate::sparsify::Sparsifier;
use crate::update::{Case, PositiveMargin, Step, UpdateRule};
use crate::view::View;
use crate::vocabulary::{Slot, Survivors};
use crate::weights::{Feature, Sum, Weights};

/// What a model predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// One of two classes, by the sign of `w·x`.
    Binary,
    /// One of several, by the largest of `w_r·x`.
    Multiclass,
    /// A number, `w·x`; errors up to `epsilon` are none.
    Regression { epsilon: f64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearConfig {
    pub update: UpdateRule,
    pub positive_margin: PositiveMargin,
    pub sparsifier: Sparsifier,
    /// A lesson with new names sets the weights to 0 first.
    pub restarts: bool,
    /// The quirks of the OLSF authors' code, all together.
    pub legacy: bool,
    pub task: Task,
}

impl LinearConfig {
    pub fn check(&self) -> Result<(), Error> {
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

/// Everything that a lesson will do, worked out before anything is done.
struct Plan {
    step: Step,
    /// ‖x‖
    norm: f64,
    /// The weight vectors that move, and which way.
    moves: [Option<(usize, f64)>; 2],
    mistake: bool,
    restart: bool,
    /// |y − w·x| in regression, else 0.
    error: f64,
    /// What was predicted.
    scores: Scores,
}

#[derive(Clone, Debug)]
pub struct Linear {
    config: LinearConfig,
    weights: Weights,
    /// In regression, where large errors are to be expected.
    errors: Option<ExpectedError>,
    /// With the rule that takes dual steps: what they need.
    dual: Option<Dual>,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct LinearState {
    weights: Vec<Vec<f64>>,
    scales: Vec<f64>,
    variances: Vec<Vec<f64>>,
    norms: Vec<(f64, f64)>,
    steps: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors: Option<ExpectedError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dual: Option<DualState>,
}

impl Linear {
    pub fn new(config: LinearConfig, vectors: usize) -> Result<Self, Error> {
        config.check()?;
        let varies = config.update.uses_variance();
        let regresses = matches!(config.task, Task::Regression { .. });
        Ok(Self {
            config,
            weights: Weights::new(config.sparsifier, varies, vectors),
            errors: regresses.then(ExpectedError::default),
            dual: config
                .update
                .dual()
                .map(|dual| Dual::new(dual, config.task == Task::Multiclass, vectors)),
        })
    }

    pub fn uses_view(&self) -> bool {
        self.dual.is_some()
    }

    /// Whether dual steps on an event would be refused.
    pub fn check(&self, features: &[Feature]) -> Result<(), Error> {
        if self.dual.is_none() || squared_norm(features)? <= LARGEST_NORM {
            return Ok(());
        }
        Err(too_large("its part in later sums"))
    }

    pub fn is_multiclass(&self) -> bool {
        self.config.task == Task::Multiclass
    }

    pub fn weight(&self, slot: Slot, vector: usize) -> f64 {
        self.weights.weight(slot, vector)
    }

    /// The largest weight of a feature in any vector, whatever its sign.
    pub fn size(&self, slot: Slot) -> f64 {
        self.weights.size(slot)
    }

    /// Let features go.
    pub fn retain(&mut self, survivors: &Survivors) {
        self.weights.retain(survivors);
        if let Some(errors) = &mut self.errors {
            errors.retain(survivors);
        }
        if let Some(dual) = &mut self.dual {
            dual.retain(survivors);
        }
    }

    pub fn scores(&self, features: &[Feature]) -> Vec<f64> {
        self.weights.dots(features)
    }

    pub fn score(&self, features: &[Feature]) -> Score {
        match self.config.task {
            Task::Binary => {
                let (margin, squared_norm) = self.weights.dot_and_norm(0, features);
                Score { squared_norm: Some(squared_norm), ..Score::by_sign(margin) }
            }
            Task::Regression { .. } => {
                let (margin, squared_norm) = self.weights.dot_and_norm(0, features);
                let expected = self.errors.as_ref();
                let confidence = expected.map_or(1.0, |errors| errors.confidence(features));
                Score { class: None, margin, confidence, squared_norm: Some(squared_norm) }
            }
            Task::Multiclass => {
                let scores = self.weights.dots(features);
                let class = largest(&scores, None);
                let margin = match (class, largest(&scores, class)) {
                    (Some(first), Some(second)) => scores[first] - scores[second],
                    _ => 0.0,
                };
                Score { class, margin, confidence: margin, squared_norm: None }
            }
        }
    }

    pub fn contributions(&self, features: &[Feature]) -> Vec<f64> {
        let scores = self.weights.dots(features);
        let class = largest(&scores, None);
        let rival = largest(&scores, class);
        let weight = |slot| match (class, rival) {
            _ if !self.weights.knows(slot) => 0.0,
            _ if !self.is_multiclass() => self.weights.weight(slot, 0),
            (Some(class), Some(rival)) => {
                self.weights.weight(slot, class) - self.weights.weight(slot, rival)
            }
            _ => 0.0,
        };
        features.iter().map(|feature| weight(feature.slot) * feature.value).collect()
    }

    /// With dual steps: the logistic function of each score, the class weights taken back.
    pub fn probabilities(&self, features: &[Feature]) -> Option<Vec<f64>> {
        let dual = self.dual.as_ref()?;
        let scores = self.weights.dots(features);
        let log_odds: Vec<f64> =
            scores.iter().enumerate().map(|(vector, q)| q + dual.prior(vector)).collect();
        if !self.is_multiclass() {
            return Some(vec![logistic(-log_odds[0]), logistic(log_odds[0])]);
        }
        // ln σ(z), so that the largest of small ones still counts
        let logs = log_odds.iter().map(|z| z.min(0.0) - (-z.abs()).exp().ln_1p());
        let top = logs.clone().fold(f64::NEG_INFINITY, f64::max);
        let parts: Vec<f64> = logs.map(|log| (log - top).exp()).collect();
        let total: f64 = parts.iter().sum();
        Some(parts.iter().map(|part| part / total).collect())
    }

    pub fn learn(
        &mut self,
        lesson: &Lesson<'_>,
        view: Option<&View>,
        draws: &mut Generator,
    ) -> Result<Learned, Error> {
        if let (Some(_), Target::Class(class)) = (&self.dual, lesson.target) {
            return self.learn_dual(lesson, class, view, draws);
        }
        let plan = self.plan(lesson)?;
        self.take(&plan, lesson, draws);
        Ok(Learned { mistake: plan.mistake, scores: plan.scores })
    }

    fn learn_dual(
        &mut self,
        lesson: &Lesson<'_>,
        class: usize,
        view: Option<&View>,
        draws: &mut Generator,
    ) -> Result<Learned, Error> {
        self.check(lesson.features)?;
        let restart = self.config.restarts && lesson.grows();
        let mistake = match self.config.task {
            Task::Multiclass => {
                let mut scores = self.weights.dots(lesson.features);
                if restart {
                    scores.fill(0.0);
                }
                largest(&scores, None) != Some(class)
            }
            _ => restart || lesson.target.sign() * self.margin(lesson) <= 0.0,
        };

        // From here on nothing can fail.
        self.make_room(lesson);
        if restart {
            self.weights.clear();
        }
        let kept = self.config.sparsifier.kept(lesson.names, false);
        if let Some(dual) = &mut self.dual {
            if restart {
                dual.forget();
            }
            dual.learn(lesson.features, class, view, &mut self.weights, (kept, draws));
        }
        // Its probabilities are its own, so there are no scores to learn a slope from.
        Ok(Learned { mistake, scores: Scores::None })
    }

    /// `w·x` where there is one weight vector.
    fn margin(&self, lesson: &Lesson<'_>) -> f64 {
        let known = lesson.products.map(|products| products.margin);
        known.unwrap_or_else(|| self.weights.dot(0, lesson.features))
    }

    fn plan(&self, lesson: &Lesson<'_>) -> Result<Plan, Error> {
        let features = lesson.features;
        let squared_norm = lesson.squared_norm()?;
        let restart = self.config.restarts && lesson.grows();
        let positive_margin = self.config.positive_margin.now(lesson.positives, lesson.negatives);
        let (mut target, mut error) = (1.0, 0.0);
        let mut predicted = Scores::None;
        let (margin, mistake, moves) = match (lesson.target, self.config.task) {
            (Target::Class(class), Task::Multiclass) => {
                let scores = self.weights.dots(features);
                let found = if restart {
                    lead(&vec![0.0; scores.len()], class)
                } else {
                    lead(&scores, class)
                };
                predicted = Scores::Several(scores);
                found
            }
            (Target::Value(value), Task::Regression { epsilon }) => {
                let q = if restart { 0.0 } else { self.margin(lesson) };
                error = (value - q).abs();
                target = error - epsilon; // the loss, of a margin of 0
                let sign = if value > q { 1.0 } else { -1.0 };
                (0.0, target > 0.0, [Some((0, sign)), None])
            }
            (label, _) => {
                let q = self.margin(lesson);
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
        let case = Case {
            margin,
            target,
            mistake,
            squared_norm: squared_norm * moving.clone().count() as f64,
            variance: if self.weights.varies() {
                moving.clone().map(|&(vector, _)| self.weights.variance(vector, features)).sum()
            } else {
                0.0
            },
            positive_margin,
        };
        let step = if self.config.legacy {
            self.config.update.legacy_step(&case)
        } else {
            self.config.update.step(&case)
        };
        let norm = squared_norm.sqrt();
        let safe = step.length.is_finite()
            && moving.clone().all(|&(v, _)| self.weights.can_take(v, features, step, norm));
        if safe {
            Ok(Plan { step, norm, moves, mistake, restart, error, scores: predicted })
        } else {
            Err(too_large("a weight"))
        }
    }

    /// Make room for new names and a new class.
    fn make_room(&mut self, lesson: &Lesson<'_>) {
        self.weights.set_rows(lesson.names);
        if let (Target::Class(class), Task::Multiclass) = (lesson.target, self.config.task)
            && class == self.weights.vectors.len()
        {
            self.weights.add_vector();
        }
    }

    /// Make room, shrink, move, let go.
    fn take(&mut self, plan: &Plan, lesson: &Lesson<'_>, draws: &mut Generator) {
        let Plan { step, norm, moves, restart, error, .. } = *plan;
        self.make_room(lesson);
        if let Some(errors) = &mut self.errors {
            errors.learn(lesson.features, lesson.names, error);
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
        let kept = self.config.sparsifier.kept(lesson.names, self.config.legacy);
        for (vector, sign) in moves.into_iter().flatten() {
            self.weights.shift(vector, lesson.features, sign * step.length, step, norm);
            self.weights.sparsify(vector, kept, draws);
        }
    }

    pub fn state(&self) -> LinearState {
        let parts = &self.weights.vectors;
        let vectors = 0..parts.len();
        LinearState {
            weights: vectors.clone().map(|vector| self.weights.column(vector)).collect(),
            scales: parts.iter().map(|part| part.scale).collect(),
            variances: if self.weights.varies() {
                vectors.map(|vector| self.weights.variance_column(vector)).collect()
            } else {
                Vec::new()
            },
            norms: parts.iter().map(|part| (part.norm.sum, part.norm.compensation)).collect(),
            steps: parts.iter().map(|part| part.steps).collect(),
            errors: self.errors.clone(),
            dual: self.dual.as_ref().map(Dual::state),
        }
    }

    /// Put a saved state back, for so many names and weight vectors.
    pub fn adopt(
        &mut self,
        state: &LinearState,
        names: usize,
        vectors: usize,
    ) -> Result<(), &'static str> {
        state.check(names, vectors, self.weights.varies())?;
        if self.errors.is_some() != state.errors.is_some() {
            return Err("it expects errors and should not, or the other way round");
        }
        if let Some(errors) = &state.errors {
            errors.check(names)?;
            self.errors = Some(errors.clone());
        }
        match (&mut self.dual, &state.dual) {
            (None, None) => {}
            (Some(dual), Some(saved)) => {
                dual.adopt(saved, names, vectors)?;
                let mut weights = state.weights.iter().flatten();
                if weights.any(|weight| weight.abs() > LARGEST_WEIGHT) {
                    return Err("a weight is too large");
                }
            }
            _ => return Err("it stores events and should not, or the other way round"),
        }
        while self.weights.vectors.len() < vectors {
            self.weights.add_vector();
        }
        self.weights.set_rows(names);
        for (vector, values) in state.weights.iter().enumerate() {
            let part = &mut self.weights.vectors[vector];
            part.scale = state.scales[vector];
            let (sum, compensation) = state.norms[vector];
            part.norm = Sum { sum, compensation };
            part.steps = state.steps[vector];
            let variances = state.variances.get(vector).map(Vec::as_slice);
            self.weights.restore_column(vector, values, variances);
        }
        Ok(())
    }
}

impl LinearState {
    fn check(&self, names: usize, vectors: usize, varies: bool) -> Result<(), &'static str> {
        let counts = [self.weights.len(), self.scales.len(), self.norms.len(), self.steps.len()];
        if counts != [vectors; 4] || self.variances.len() != if varies { vectors } else { 0 } {
            return Err("it has another number of weight vectors");
        }
        let columns = || self.weights.iter().chain(&self.variances);
        if columns().any(|column| column.len() != names) {
            return Err("a weight vector is not as long as its names");
        }
        let norms = self.norms.iter().flat_map(|&(sum, compensation)| [sum, compensation]);
        let mut numbers = columns().flatten().chain(&self.scales).copied().chain(norms);
        if !numbers.all(f64::is_finite) {
            return Err("a number is not finite");
        }
        if self.steps.iter().any(|&steps| steps > u64::MAX / 2) {
            return Err("a counter is too large");
        }
        if self.scales.iter().any(|&scale| scale <= 0.0 || scale > 1.0) {
            return Err("a scale is not in (0, 1]");
        }
        if self.variances.iter().flatten().any(|&sigma| !(0.0..=1.0).contains(&sigma)) {
            return Err("a variance is not in [0, 1]");
        }
        Ok(())
    }
}

/// With several classes: the lead of `class` over its best rival, whether it was not the
/// prediction, and the two that move.
fn lead(scores: &[f64], class: usize) -> (f64, bool, [Option<(usize, f64)>; 2]) {
    let mistake = largest(scores, None) != Some(class);
    let Some(rival) = largest(scores, Some(class)) else {
        return (0.0, mistake, [None, None]); // one class known: nothing to tell it from
    };
    let own = scores.get(class).copied().unwrap_or(0.0);
    (own - scores[rival], mistake, [Some((class, 1.0)), Some((rival, -1.0))])
}

/// Index of the largest score, the first of equals, `except` left out.
fn largest(scores: &[f64], except: Option<usize>) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (index, score) in scores.iter().enumerate() {
        if Some(index) != except && best.is_none_or(|b| *score > scores[b]) {
            best = Some(index);
        }
    }
    best
}
