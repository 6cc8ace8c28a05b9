//! A model that lives outside of this crate, as one written in Python does.
//!
//! Whoever holds the model computes the scores of an event and hands them over by [`External::tell`]
//! before the learner is called about that event, and changes the model itself when an example is
//! learned. The learner around it does what it does for every model: names, labels, questions,
//! counters, probabilities. What the outside model has learned is saved as a text of its own.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::label::Target;
use crate::model::example::{Example, Outcome, PriorScores, Score};
use crate::model::kind::ModelKind;
use crate::model::linear::Task;
use crate::model::scores::largest;
use crate::rules::expected_error::ExpectedError;
use crate::storage::rng::Generator;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExternalConfig {
    pub task: Task,
    /// Tells models apart whose other parameters are equal.
    pub identity: u64,
}

#[derive(Clone, Debug)]
pub struct External {
    config: ExternalConfig,
    /// Of the event in hand: the margin, or one score per known class. Not saved.
    scores: Vec<f64>,
    /// In regression: the error to expect, for query rules.
    errors: Option<ExpectedError>,
    /// What the outside model has learned, as it was last handed over.
    memory: String,
}

/// What is saved.
#[derive(Serialize, Deserialize)]
pub struct ExternalState {
    memory: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors: Option<ExpectedError>,
}

impl External {
    /// The scores of the event that the learner is called about next.
    pub fn tell(&mut self, scores: &[f64]) {
        self.scores.clear();
        self.scores.extend_from_slice(scores);
    }

    pub fn memory(&self) -> &str {
        &self.memory
    }

    pub fn remember(&mut self, memory: String) {
        self.memory = memory;
    }

    /// The margin where there is one score; 0 before the first.
    fn margin(&self) -> f64 {
        self.scores.first().copied().unwrap_or(0.0)
    }
}

impl ModelKind for External {
    type Config = ExternalConfig;
    type State = ExternalState;

    fn new(config: ExternalConfig, _vectors: usize) -> Self {
        let regresses = matches!(config.task, Task::Regression { .. });
        Self {
            config,
            scores: Vec::new(),
            errors: regresses.then(ExpectedError::default),
            memory: String::new(),
        }
    }

    fn score(&self, features: &[FeatureValue], _draws: &Generator) -> Score {
        match self.config.task {
            Task::Binary => Score::by_sign(self.margin()),
            Task::Multiclass => {
                let class = largest(&self.scores, None);
                let margin = match (class, largest(&self.scores, class)) {
                    (Some(first), Some(second)) => self.scores[first] - self.scores[second],
                    _ => 0.0,
                };
                Score { class, margin, confidence: margin }
            }
            Task::Regression { .. } => {
                let expected = self.errors.as_ref();
                let confidence = expected.map_or(1.0, |errors| errors.confidence(features));
                Score { class: None, margin: self.margin(), confidence }
            }
        }
    }

    fn class_scores(&self, _features: &[FeatureValue]) -> Option<Vec<f64>> {
        (self.config.task == Task::Multiclass).then(|| self.scores.clone())
    }

    /// The outside model says itself what is too large for it.
    fn check(&self, _features: &[FeatureValue]) -> Result<(), Error> {
        Ok(())
    }

    fn learn(
        &mut self,
        example: &Example<'_>,
        draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        let score = self.score(example.features, draws);
        Ok(match (example.target, self.config.task) {
            (Target::Value(value), _) => {
                if let Some(errors) = &mut self.errors {
                    let error = (value - score.margin).abs().min(f64::MAX);
                    errors.set_names(example.rows);
                    errors.learn(example.features, error);
                }
                Outcome { mistake: value != score.margin, scores: PriorScores::None }
            }
            (Target::Class(class), Task::Multiclass) => Outcome {
                mistake: score.class != Some(class),
                scores: PriorScores::Several(&self.scores),
            },
            (label, Task::Binary | Task::Regression { .. }) => Outcome {
                mistake: label.sign() * score.margin <= 0.0,
                scores: PriorScores::Margin(score.margin),
            },
        })
    }

    fn set_rows(&mut self, names: usize) {
        if let Some(errors) = &mut self.errors {
            errors.set_names(names);
        }
    }

    /// The outside model explains itself.
    fn contributions(&self, features: &[FeatureValue], _draws: &Generator) -> Vec<f64> {
        vec![0.0; features.len()]
    }

    fn weight(&self, _id: FeatureId, _vector: usize) -> f64 {
        0.0
    }

    fn state(&self) -> ExternalState {
        ExternalState { memory: self.memory.clone(), errors: self.errors.clone() }
    }

    fn adopt(
        &mut self,
        state: &ExternalState,
        names: usize,
        _vectors: usize,
    ) -> Result<(), &'static str> {
        if self.errors.is_some() != state.errors.is_some() {
            return Err("it expects errors and should not, or the other way round");
        }
        if let Some(errors) = &state.errors {
            errors.check(names)?;
            self.errors = Some(errors.clone());
        }
        self.memory.clone_from(&state.memory);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::sum_of_squares;
    use crate::model::example::testing::learned;

    fn model(task: Task) -> External {
        External::new(ExternalConfig { task, identity: 0 }, 1)
    }

    fn learn(model: &mut External, target: Target) -> Outcome<'_> {
        let features = [FeatureValue { id: 0, value: 1.0 }];
        let example = Example {
            features: &features,
            squared_norm: sum_of_squares(&features),
            target,
            number: 0,
            weight: 1.0,
            history: &learned(0),
            per_feature: 1,
            rows: 1,
            positives: 0,
            negatives: 0,
            products: None,
        };
        model.learn(&example, &mut Generator::from_seed(0)).unwrap()
    }

    #[test]
    fn it_predicts_by_the_scores_that_it_was_told_last() {
        let draws = Generator::from_seed(0);
        let mut two = model(Task::Binary);
        assert_eq!(two.score(&[], &draws), Score::by_sign(0.0));
        two.tell(&[-0.5]);
        assert_eq!(two.score(&[], &draws), Score::by_sign(-0.5));
        let mut several = model(Task::Multiclass);
        assert_eq!(several.score(&[], &draws).class, None);
        several.tell(&[1.0, 4.0, 3.0]);
        let score = several.score(&[], &draws);
        assert_eq!((score.class, score.margin, score.confidence), (Some(1), 1.0, 1.0));
        assert_eq!(several.class_scores(&[]), Some(vec![1.0, 4.0, 3.0]));
    }

    #[test]
    fn a_margin_of_0_is_a_mistake_and_so_is_a_class_without_a_score() {
        let mut two = model(Task::Binary);
        assert!(learn(&mut two, Target::Class(0)).mistake);
        two.tell(&[-1.0]);
        assert!(!learn(&mut two, Target::Class(0)).mistake);
        assert!(learn(&mut two, Target::Class(1)).mistake);
        let mut several = model(Task::Multiclass);
        several.tell(&[1.0, 2.0]);
        assert!(!learn(&mut several, Target::Class(1)).mistake);
        let outcome = learn(&mut several, Target::Class(2));
        assert!(outcome.mistake);
        assert_eq!(outcome.scores, PriorScores::Several(&[1.0, 2.0]));
    }

    #[test]
    fn in_regression_the_errors_to_expect_are_saved_with_the_memory() {
        let mut number = model(Task::Regression { epsilon: 0.0 });
        number.tell(&[-f64::MAX]);
        learn(&mut number, Target::Value(f64::MAX)); // an error beyond the floats is the largest
        number.remember("{}".to_owned());
        let mut other = model(Task::Regression { epsilon: 0.0 });
        other.adopt(&number.state(), 1, 1).unwrap();
        assert_eq!((other.memory(), &other.errors), ("{}", &number.errors));
        assert!(other.adopt(&number.state(), 2, 1).is_err());
        assert!(model(Task::Binary).adopt(&number.state(), 1, 1).is_err());
    }
}
