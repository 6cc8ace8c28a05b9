//! The linear model: an update rule and a sparsifier on one weight vector, or on one per class.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::label::Target;
use crate::model::example::{Example, Outcome, PriorScores, Score, too_large};
use crate::model::kind::ModelKind;
use crate::model::scores;
use crate::rules::class_odds::{ClassOdds, ClassWeight};
use crate::rules::expected_error::ExpectedError;
use crate::rules::sparsify::Sparsifier;
use crate::rules::update::{PositiveMargin, StepInput, UpdateRule};
use crate::storage::index_remap::IndexRemap;
use crate::storage::rng::Generator;
use crate::storage::weights::{Step, Weights, WeightsState};

/// What a model predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// One of two classes, by the sign of the margin.
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
    /// For two classes: what makes a margin of `w·x`.
    pub class_weight: ClassWeight,
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
        if self.task != Task::Binary && self.class_weight != ClassWeight::None {
            return refuse("class_weight: it is for two classes.");
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

/// The weight vectors that a step moves, each with the sign of the step.
#[derive(Clone, Copy)]
struct Moves {
    vectors: [(usize, f64); 2],
    count: usize,
}

impl Moves {
    const NONE: Self = Self { vectors: [(0, 0.0); 2], count: 0 };

    /// The vector of two classes, or of a number.
    #[inline]
    fn one(sign: f64) -> Self {
        Self { vectors: [(0, sign); 2], count: 1 }
    }

    #[inline]
    fn as_slice(&self) -> &[(usize, f64)] {
        &self.vectors[..self.count]
    }
}

/// Everything that an example will change, computed before anything is changed.
struct PlannedStep {
    step: Step,
    /// ‖x‖
    norm: f64,
    moves: Moves,
    /// Whether the prediction was wrong.
    mistake: bool,
    restart: bool,
    /// `w·x` with two classes, else 0.
    product: f64,
    /// With two classes: `w·x` as it was predicted, also if the weights then begin anew.
    predicted: f64,
    /// |y − w·x| in regression, else 0.
    error: f64,
}

#[derive(Clone, Debug)]
pub struct Linear {
    config: LinearConfig,
    weights: Weights,
    /// With several classes: the scores of the event that was scored by [`ModelKind::score_next`] or learned last.
    latest: Vec<f64>,
    /// In regression: the error to expect, for query rules.
    errors: Option<ExpectedError>,
    /// With class weights: what turns `w·x` into log-odds.
    class_odds: Option<ClassOdds>,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct LinearState {
    weights: WeightsState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors: Option<ExpectedError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class_odds: Option<ClassOdds>,
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
            latest: Vec::new(),
            errors: regresses.then(ExpectedError::default),
            class_odds: (config.class_weight != ClassWeight::None).then(ClassOdds::default),
        }
    }

    #[inline(always)]
    fn score(&self, features: &[FeatureValue], _draws: &Generator) -> Score {
        match self.config.task {
            Task::Binary => {
                let Some(odds) = &self.class_odds else {
                    return scores::score_binary(&self.weights, features);
                };
                let log_odds = odds.slope * self.weights.dot(0, features);
                let prior = odds.prior();
                Score {
                    // Questions are about what is uncertain, whatever a mistake costs.
                    confidence: (log_odds - prior).abs(),
                    ..Score::by_sign(log_odds + self.config.class_weight.shift_at(|| prior))
                }
            }
            Task::Multiclass => scores::score_multiclass(&self.weights, features),
            Task::Regression { .. } => {
                let margin = self.weights.dot(0, features);
                let expected = self.errors.as_ref();
                let confidence = expected.map_or(1.0, |errors| errors.confidence(features));
                Score { class: None, margin, confidence }
            }
        }
    }

    #[inline(always)]
    fn score_next(&mut self, features: &[FeatureValue], draws: &Generator) -> Score {
        if self.is_multiclass() {
            self.weights.dots_into(features, &mut self.latest);
            return scores::by_lead(&self.latest);
        }
        self.score(features, draws)
    }

    fn class_scores(&self, features: &[FeatureValue]) -> Option<Vec<f64>> {
        self.is_multiclass().then(|| self.weights.dots(features))
    }

    /// With class weights: those of the stream as it comes, `σ(κ w·x)`. Otherwise the learner calibrates margins.
    fn probabilities(&self, features: &[FeatureValue]) -> Option<Vec<f64>> {
        let odds = self.class_odds?; // only with two classes
        Some(odds.probabilities(self.weights.dot(0, features)).to_vec())
    }

    fn check_example(&self, example: &Example<'_>) -> Result<(), Error> {
        let scores =
            if self.is_multiclass() { self.weights.dots(example.features) } else { Vec::new() };
        self.plan(example, &scores).map(|_| ())
    }

    #[inline(always)]
    fn learn(
        &mut self,
        example: &Example<'_>,
        draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        if self.is_multiclass() && !example.products.is_some_and(|products| products.is_latest) {
            self.weights.dots_into(example.features, &mut self.latest);
        }
        let plan = self.plan(example, &self.latest)?;
        self.take(&plan, example, draws);
        let scores = match self.config.task {
            Task::Binary if self.class_odds.is_none() => PriorScores::Margin(plan.predicted),
            Task::Multiclass => PriorScores::Several(&self.latest),
            Task::Binary | Task::Regression { .. } => PriorScores::None,
        };
        Ok(Outcome { mistake: plan.mistake, scores })
    }

    #[inline]
    fn set_rows(&mut self, names: usize) {
        self.weights.set_rows(names);
        if let Some(errors) = &mut self.errors {
            errors.set_names(names);
        }
    }

    /// What class weights add is part of the last feature's contribution, the intercept's.
    fn contributions(&self, features: &[FeatureValue], _draws: &Generator) -> Vec<f64> {
        let mut parts = scores::contributions(&self.weights, features, self.is_multiclass());
        if let Some(odds) = &self.class_odds {
            for part in &mut parts {
                *part *= odds.slope;
            }
            if let Some(last) = parts.last_mut() {
                *last += self.config.class_weight.shift(odds);
            }
        }
        parts
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
        LinearState {
            weights: self.weights.state(),
            errors: self.errors.clone(),
            class_odds: self.class_odds,
        }
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
        if self.class_odds.is_some() != state.class_odds.is_some() {
            return Err("it has class odds and should not, or the other way round");
        }
        state.class_odds.as_ref().map_or(Ok(()), ClassOdds::check)?;
        self.class_odds = state.class_odds;
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

    /// `w·x` where there is one weight vector; a decision has computed it, unless there are class weights.
    fn product(&self, example: &Example<'_>) -> f64 {
        let products = example.products.filter(|_| self.class_odds.is_none());
        let known = products.map(|products| products.margin);
        known.unwrap_or_else(|| self.weights.dot(0, example.features))
    }

    /// Compute the step; refuse it if a number would not be finite. `scores` are those of several classes.
    #[inline(always)]
    fn plan(&self, example: &Example<'_>, scores: &[f64]) -> Result<PlannedStep, Error> {
        let features = example.features;
        let squared_norm = example.finite_norm()?;
        let restart = self.config.restarts && example.grows();
        let positive_margin =
            self.config.positive_margin.value(example.positives, example.negatives);
        let (mut target, mut error) = (1.0, 0.0);
        let (mut predicted, mut product) = (0.0, 0.0);
        let (margin, mistake, moves) = match (example.target, self.config.task) {
            (Target::Class(class), Task::Multiclass) if restart => {
                multiclass_case(&vec![0.0; scores.len()], class)
            }
            (Target::Class(class), Task::Multiclass) => multiclass_case(scores, class),
            (Target::Value(value), Task::Regression { epsilon }) => {
                let q = if restart { 0.0 } else { self.product(example) };
                error = (value - q).abs();
                target = error - epsilon; // with a margin of 0 this is the loss
                let sign = if value > q { 1.0 } else { -1.0 };
                (0.0, target > 0.0, Moves::one(sign))
            }
            (label, _) => {
                predicted = self.product(example);
                product = if restart { 0.0 } else { predicted };
                let sign = label.sign();
                if sign > 0.0 {
                    target = positive_margin;
                }
                (sign * product, sign * product <= 0.0, Moves::one(sign))
            }
        };
        if !margin.is_finite() || !target.is_finite() {
            return Err(too_large("its margin"));
        }
        let moving = moves.as_slice();
        let input = StepInput {
            margin,
            target,
            mistake,
            squared_norm: squared_norm * moving.len() as f64,
            variance: if self.weights.has_variances() {
                moving.iter().map(|&(vector, _)| self.weights.variance(vector, features)).sum()
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
        let mut safe = step.length.is_finite();
        for &(vector, _) in moving {
            safe = safe && self.weights.can_take(vector, features, step, norm);
        }
        if !safe {
            return Err(too_large("a weight"));
        }
        let mistake = self.class_odds.as_ref().map_or(mistake, |odds| {
            let margin = odds.slope * product + self.config.class_weight.shift(odds);
            example.target.sign() * margin <= 0.0
        });
        Ok(PlannedStep { step, norm, moves, mistake, restart, product, predicted, error })
    }

    /// Add weights for new names and for a new class.
    #[inline(always)]
    fn make_room(&mut self, example: &Example<'_>) {
        self.set_rows(example.rows);
        if let (Target::Class(class), Task::Multiclass) = (example.target, self.config.task)
            && class == self.weights.vectors.len()
        {
            self.weights.add_vector();
        }
    }

    /// Take the planned step: grow, shrink, move, sparsify, forget. Cannot fail.
    #[inline(always)]
    fn take(&mut self, plan: &PlannedStep, example: &Example<'_>, draws: &mut Generator) {
        let PlannedStep { step, norm, moves, restart, product, error, .. } = *plan;
        self.make_room(example);
        if let Some(errors) = &mut self.errors {
            errors.learn(example.features, error);
        }
        if let Some(odds) = &mut self.class_odds
            && example.weight > 0.0
        {
            odds.learn(product, example.target.class());
        }
        if restart {
            self.weights.clear();
        }
        if step.shrink != 1.0 {
            self.weights.shrink(0, step.shrink);
        }
        let kept = self.config.sparsifier.kept(example.rows, self.config.legacy);
        for &(vector, sign) in moves.as_slice() {
            if step.length != 0.0 {
                self.weights.shift(vector, example.features, sign * step.length, step, norm);
                self.config.sparsifier.apply(&mut self.weights, vector, kept, draws);
            }
            if let Some(forgetting) = self.config.update.forgetting() {
                self.weights.widen(vector, example.features, forgetting);
            }
        }
    }
}

/// With several classes: the lead of `class` over the best other class, whether another class was
/// predicted, and the two weight vectors that move.
fn multiclass_case(scores: &[f64], class: usize) -> (f64, bool, Moves) {
    let mistake = scores::largest(scores, None) != Some(class);
    let Some(rival) = scores::largest(scores, Some(class)) else {
        return (0.0, mistake, Moves::NONE); // no other class is known
    };
    let own = scores.get(class).copied().unwrap_or(0.0);
    let moves = Moves { vectors: [(class, 1.0), (rival, -1.0)], count: 2 };
    (own - scores[rival], mistake, moves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sum_of_squares;
    use crate::model::example::CachedProducts;
    use crate::model::example::testing::learned;

    const PA: LinearConfig = LinearConfig {
        update: UpdateRule::Pa,
        positive_margin: PositiveMargin::Fixed(1.0),
        sparsifier: Sparsifier::None,
        restarts: false,
        legacy: false,
        task: Task::Binary,
        class_weight: ClassWeight::None,
    };

    fn features(values: &[f64]) -> Vec<FeatureValue> {
        (0..).zip(values).map(|(id, &value)| FeatureValue { id, value }).collect()
    }

    /// Learn an event with the ids 0, 1, ...
    fn learn<'a>(
        model: &'a mut Linear,
        values: &[f64],
        target: Target,
    ) -> Result<Outcome<'a>, Error> {
        let (features, known) = (features(values), model.weights.rows());
        let example = Example {
            features: &features,
            squared_norm: sum_of_squares(&features),
            target,
            number: 0,
            weight: 1.0,
            per_feature: 1,
            history: &learned(known),
            rows: known.max(values.len()),
            positives: u64::from(target == Target::Class(1)),
            negatives: u64::from(target == Target::Class(0)),
            products: None,
        };
        model.learn(&example, &mut Generator::from_seed(0))
    }

    fn weights(model: &Linear, vector: usize) -> Vec<f64> {
        (0..model.weights.rows()).map(|id| model.weight(id as FeatureId, vector)).collect()
    }

    fn margin(model: &Linear, values: &[f64]) -> f64 {
        model.score(&features(values), &Generator::from_seed(0)).margin
    }

    #[test]
    fn a_pa_step_reaches_the_margin_and_a_reached_margin_moves_nothing() {
        let mut model = Linear::new(PA, 1);
        assert!(learn(&mut model, &[1.0, 2.0], Target::Class(1)).unwrap().mistake);
        assert_eq!(weights(&model, 0), [0.2, 0.4]); // loss 1, ‖x‖² = 5
        assert!((margin(&model, &[1.0, 2.0]) - 1.0).abs() < 1e-15);
        let outcome = learn(&mut model, &[2.0, 4.0], Target::Class(1)).unwrap();
        assert!(!outcome.mistake);
        assert_eq!(outcome.scores, PriorScores::Margin(2.0)); // before the step
        assert_eq!(weights(&model, 0), [0.2, 0.4]);
        learn(&mut model, &[0.0, 2.5], Target::Class(0)).unwrap();
        // q = 1, y q = −1, loss 2, ‖x‖² = 6.25, so w −= 0.32·x
        assert_eq!(model.weight(0, 0), 0.2);
        assert!((model.weight(1, 0) + 0.4).abs() < 1e-15);
    }

    #[test]
    fn products_of_the_decision_give_the_same_bits() {
        let values = [0.3, -1.7, 2.2];
        let model = || {
            let mut model = Linear::new(PA, 1);
            learn(&mut model, &[1.0, 0.1, -0.7], Target::Class(1)).unwrap();
            model
        };
        let (mut plain, mut cached) = (model(), model());
        learn(&mut plain, &values, Target::Class(0)).unwrap();
        let features = features(&values);
        let score = cached.score(&features, &Generator::from_seed(0));
        let products = CachedProducts { margin: score.margin, is_latest: false };
        let example = Example {
            features: &features,
            squared_norm: sum_of_squares(&features),
            target: Target::Class(0),
            number: 0,
            weight: 1.0,
            per_feature: 1,
            history: &learned(3),
            rows: 3,
            positives: 0,
            negatives: 1,
            products: Some(products),
        };
        cached.learn(&example, &mut Generator::from_seed(0)).unwrap();
        assert_eq!(weights(&plain, 0), weights(&cached, 0));
    }

    #[test]
    fn a_positive_margin_is_reached_on_positive_events_only() {
        let config = LinearConfig { positive_margin: PositiveMargin::Fixed(3.0), ..PA };
        let mut model = Linear::new(config, 1);
        learn(&mut model, &[1.0], Target::Class(1)).unwrap();
        assert_eq!(margin(&model, &[1.0]), 3.0);
        let mut model = Linear::new(config, 1);
        learn(&mut model, &[1.0], Target::Class(0)).unwrap();
        assert_eq!(margin(&model, &[1.0]), -1.0);
    }

    #[test]
    fn with_several_classes_the_right_and_the_best_other_vector_move() {
        let mut model = Linear::new(LinearConfig { task: Task::Multiclass, ..PA }, 3);
        learn(&mut model, &[1.0, 1.0], Target::Class(2)).unwrap();
        // All scores are 0: the first other class is the rival. Loss 1, 2·‖x‖² = 4.
        assert_eq!(weights(&model, 2), [0.25, 0.25]);
        assert_eq!(weights(&model, 0), [-0.25, -0.25]);
        assert_eq!(weights(&model, 1), [0.0, 0.0]);
        let outcome = learn(&mut model, &[2.0, 0.0], Target::Class(1)).unwrap();
        assert!(outcome.mistake);
        assert_eq!(outcome.scores, PriorScores::Several(&[-0.5, 0.0, 0.5]));
        // The rival is class 2: lead −0.5, loss 1.5, 2·‖x‖² = 8, so the step is 0.1875·2
        assert_eq!(weights(&model, 1), [0.375, 0.0]);
        assert_eq!(weights(&model, 2), [-0.125, 0.25]);
        assert_eq!(weights(&model, 0), [-0.25, -0.25]);
    }

    #[test]
    fn the_first_class_moves_nothing_and_a_new_class_gets_a_vector() {
        let mut model = Linear::new(LinearConfig { task: Task::Multiclass, ..PA }, 0);
        assert!(learn(&mut model, &[1.0], Target::Class(0)).unwrap().mistake);
        assert_eq!(weights(&model, 0), [0.0]); // there is no other class
        assert!(!learn(&mut model, &[1.0], Target::Class(0)).unwrap().mistake);
        learn(&mut model, &[1.0], Target::Class(1)).unwrap();
        assert_eq!((weights(&model, 0), weights(&model, 1)), (vec![-0.5], vec![0.5]));
    }

    #[test]
    fn in_regression_errors_up_to_epsilon_cost_nothing() {
        let config = LinearConfig { task: Task::Regression { epsilon: 0.5 }, ..PA };
        let mut model = Linear::new(config, 1);
        assert!(learn(&mut model, &[2.0], Target::Value(3.0)).unwrap().mistake);
        assert_eq!(margin(&model, &[2.0]), 2.5); // up to the edge of the band
        assert!(!learn(&mut model, &[2.0], Target::Value(2.25)).unwrap().mistake);
        assert_eq!(margin(&model, &[2.0]), 2.5);
        learn(&mut model, &[2.0], Target::Value(1.0)).unwrap();
        assert_eq!(margin(&model, &[2.0]), 1.5);
        let score = model.score(&features(&[2.0]), &Generator::from_seed(0));
        assert_eq!((score.class, score.confidence), (None, 1.0)); // all errors had this feature
    }

    #[test]
    fn a_restart_forgets_weights_when_a_name_is_new() {
        let mut model = Linear::new(LinearConfig { restarts: true, ..PA }, 1);
        learn(&mut model, &[1.0], Target::Class(1)).unwrap();
        let outcome = learn(&mut model, &[1.0, 1.0], Target::Class(0)).unwrap();
        assert_eq!(outcome.scores, PriorScores::Margin(1.0)); // as it was predicted
        assert_eq!(weights(&model, 0), [-0.5, -0.5]); // from 0
    }

    #[test]
    fn a_gradient_step_shrinks_all_weights() {
        let update = UpdateRule::Gradient { step: 0.5, decay: 0.5 };
        let mut model = Linear::new(LinearConfig { update, ..PA }, 1);
        learn(&mut model, &[4.0, 4.0], Target::Class(1)).unwrap();
        assert_eq!(weights(&model, 0), [2.0, 2.0]);
        learn(&mut model, &[1.0, 0.0], Target::Class(1)).unwrap(); // q = 2 > 1: decay alone
        assert_eq!(weights(&model, 0), [1.5, 1.5]);
    }

    #[test]
    fn a_step_that_would_overflow_is_refused_and_changes_nothing() {
        let mut model = Linear::new(PA, 1);
        learn(&mut model, &[1.0], Target::Class(1)).unwrap();
        for values in [[1e200, 1.0], [1.0, -1e160]] {
            let refused = learn(&mut model, &values, Target::Class(0)); // ‖x‖² is infinite
            assert!(matches!(refused, Err(Error::Step(_))), "{refused:?}");
        }
        let refused = learn(&mut model, &[0.0, 1e-160], Target::Class(0)); // the step is
        assert!(matches!(refused, Err(Error::Step(_))), "{refused:?}");
        assert_eq!((model.weights.rows(), weights(&model, 0)), (1, vec![1.0]));
    }

    #[test]
    fn combinations_without_a_meaning_are_refused() {
        let several = LinearConfig { task: Task::Multiclass, ..PA };
        let number = LinearConfig { task: Task::Regression { epsilon: 0.1 }, ..PA };
        let gradient = |decay| UpdateRule::Gradient { step: 0.5, decay };
        for config in [
            LinearConfig { update: UpdateRule::Cpa { c: None }, ..several },
            LinearConfig { positive_margin: PositiveMargin::Fixed(2.0), ..several },
            LinearConfig { update: UpdateRule::Perceptron, ..number },
            LinearConfig { update: gradient(2.0), ..PA },
            LinearConfig { class_weight: ClassWeight::Balanced, ..several },
            LinearConfig { class_weight: ClassWeight::Balanced, ..number },
        ] {
            assert!(matches!(Linear::validate(&config), Err(Error::Parameter(_))), "{config:?}");
        }
        for config in [PA, several, number, LinearConfig { update: gradient(1.0), ..PA }] {
            assert_eq!(Linear::validate(&config), Ok(()));
        }
    }

    /// Two features, the second of which stands for an intercept.
    fn weighed(class_weight: ClassWeight) -> Linear {
        Linear::new(LinearConfig { class_weight, ..PA }, 1)
    }

    #[test]
    fn class_weights_shift_the_margin_and_questions_do_not_feel_costs() {
        let kinds = [
            ClassWeight::Balanced,
            ClassWeight::of_costs(1.0, 4.0),
            ClassWeight::of_threshold(0.8),
        ];
        for class_weight in kinds {
            let mut model = weighed(class_weight);
            for values in [[1.0, 1.0], [0.5, 1.0], [-2.0, 1.0]] {
                learn(&mut model, &values, Target::Class(usize::from(values[0] < 0.0))).unwrap();
            }
            let odds = model.class_odds.unwrap();
            let event = features(&[-0.75, 1.0]);
            let q = model.weights.dot(0, &event);
            let score = model.score(&event, &Generator::from_seed(0));
            let shift = match class_weight {
                ClassWeight::Balanced => (odds.odds[0] / odds.odds[1]).ln(),
                other => other.shift(&odds),
            };
            assert!((score.margin - (odds.slope * q + shift)).abs() < 1e-12);
            assert_eq!(score.class, Some(usize::from(score.margin > 0.0)));
            assert_eq!(score.confidence, (odds.slope * q - odds.prior()).abs());
            let parts = model.contributions(&event, &Generator::from_seed(0));
            assert!((parts.iter().sum::<f64>() - score.margin).abs() < 1e-12, "{parts:?}");
            let shares = model.probabilities(&event).unwrap();
            assert!((shares[1] - 1.0 / (1.0 + (-odds.slope * q).exp())).abs() < 1e-15);
        }
        assert_eq!(Linear::new(PA, 1).probabilities(&features(&[1.0])), None);
        let several = LinearConfig { task: Task::Multiclass, ..PA }; // no class is known yet
        assert_eq!(Linear::new(several, 0).probabilities(&features(&[1.0])), None);
    }

    #[test]
    fn a_mistake_is_one_of_the_margin_and_a_step_one_of_the_product() {
        let mut model = weighed(ClassWeight::of_threshold(0.9));
        let outcome = learn(&mut model, &[1.0], Target::Class(1)).unwrap();
        assert!(outcome.mistake && outcome.scores == PriorScores::None);
        assert_eq!(weights(&model, 0), [1.0]); // the step of PA from 0
        let outcome = learn(&mut model, &[0.5], Target::Class(1)).unwrap();
        assert!(outcome.mistake); // some 3·0.5, and ln 9 would be needed
        assert_eq!(weights(&model, 0), [2.0]);
    }

    #[test]
    fn arow_that_forgets_learns_again_what_it_has_learned_often() {
        let weight_after_change = |forgetting| {
            let update = UpdateRule::Arow { c: Some(1.0), forgetting };
            let mut model = Linear::new(LinearConfig { update, ..PA }, 1);
            for round in 0..200 {
                let value = if round % 2 == 0 { 1.0 } else { -1.0 };
                learn(&mut model, &[value], Target::Class(usize::from(value > 0.0))).unwrap();
            }
            learn(&mut model, &[1.0], Target::Class(0)).unwrap();
            model.weight(0, 0)
        };
        assert!(weight_after_change(Some(0.9)) < weight_after_change(None) - 0.1);
    }

    #[test]
    fn a_state_with_expected_errors_fits_a_model_of_numbers_only() {
        let config = LinearConfig { task: Task::Regression { epsilon: 0.5 }, ..PA };
        let mut number = Linear::new(config, 1);
        learn(&mut number, &[2.0], Target::Value(3.0)).unwrap();
        assert!(Linear::new(PA, 1).adopt(&number.state(), 1, 1).is_err());
        let mut again = Linear::new(config, 1);
        again.adopt(&number.state(), 1, 1).unwrap();
        assert_eq!((weights(&again, 0), &again.errors), (weights(&number, 0), &number.errors));
    }

    #[test]
    fn a_state_with_class_odds_fits_a_model_with_class_weights_only() {
        let mut model = weighed(ClassWeight::Balanced);
        learn(&mut model, &[2.0], Target::Class(0)).unwrap();
        assert!(Linear::new(PA, 1).adopt(&model.state(), 1, 1).is_err());
        assert!(weighed(ClassWeight::Balanced).adopt(&Linear::new(PA, 1).state(), 0, 1).is_err());
        let mut broken = model.state();
        broken.class_odds.as_mut().unwrap().slope = 1e9;
        assert!(weighed(ClassWeight::Balanced).adopt(&broken, 1, 1).is_err());
        let mut again = weighed(ClassWeight::Balanced);
        again.adopt(&model.state(), 1, 1).unwrap();
        assert_eq!(again.class_odds, model.class_odds);
    }
}
