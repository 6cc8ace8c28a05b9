//! Models: they score events and learn examples. One variant per kind of model.
//!
//! What all models share is in the learner around them: names, labels, questions, counters, the
//! scaler.

pub mod dual_logistic;
pub mod example;
pub mod external;
pub mod fesl;
pub mod kind;
pub mod linear;
pub mod ofs_partial;
pub mod olvf;
pub mod rfesl;
pub mod scores;
pub mod second_order;
pub mod spring;
pub mod two_experts;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::model::dual_logistic::DualLogistic;
use crate::model::example::{Example, Outcome, Score, too_large};
use crate::model::external::External;
use crate::model::fesl::Fesl;
use crate::model::kind::ModelKind;
use crate::model::linear::Linear;
use crate::model::ofs_partial::OfsPartial;
use crate::model::olvf::Olvf;
use crate::model::rfesl::Rfesl;
use crate::model::second_order::SecondOrder;
use crate::model::spring::Spring;
use crate::model::spring::classes::SpringClasses;
use crate::storage::index_remap::IndexRemap;
use crate::storage::rng::Generator;

/// Makes the closed enums of all kinds, and `each!`, which calls the same method on whichever kind
/// it is.
macro_rules! kinds {
    ($($kind:ident),+ $(,)?) => {
        /// Which model, and its parameters.
        #[derive(Clone, Copy, Debug)]
        pub enum ModelConfig {
            $($kind(<$kind as ModelKind>::Config),)+
        }

        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant)] // a learner has one model
        pub enum Model {
            $($kind($kind),)+
        }

        /// What is saved of a model.
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(clippy::large_enum_variant)]
        pub enum ModelState {
            $($kind(<$kind as ModelKind>::State),)+
        }

        impl Model {
            /// A model that has learned nothing.
            pub fn new(config: ModelConfig, vectors: usize) -> Result<Self, Error> {
                Ok(match config {
                    $(ModelConfig::$kind(config) => {
                        $kind::validate(&config)?;
                        Self::$kind($kind::new(config, vectors))
                    })+
                })
            }

            pub fn state(&self) -> ModelState {
                match self {
                    $(Self::$kind(model) => ModelState::$kind(model.state()),)+
                }
            }

            /// Put a saved state back, for so many names and weight vectors.
            pub fn adopt(
                &mut self,
                state: &ModelState,
                names: usize,
                vectors: usize,
            ) -> Result<(), &'static str> {
                match self {
                    $(Self::$kind(model) => {
                        let ModelState::$kind(state) = state else {
                            return Err("it is of another kind of model");
                        };
                        model.adopt(state, names, vectors)
                    })+
                }
            }
        }

        macro_rules! each {
            ($self:ident, $model:ident => $call:expr) => {
                match $self {
                    $(Model::$kind($model) => $call,)+
                }
            };
        }
    };
}

kinds! { Linear, Spring, SpringClasses, DualLogistic, SecondOrder, OfsPartial, Olvf, Fesl, Rfesl, External }

/// The methods of [`ModelKind`], called on whichever kind it is.
impl Model {
    pub fn score(&self, features: &[FeatureValue], draws: &Generator) -> Result<Score, Error> {
        let score = each!(self, model => model.score(features, draws));
        if score.margin.is_finite() { Ok(score) } else { Err(too_large("its margin")) }
    }

    #[inline(always)]
    pub fn score_next(
        &mut self,
        features: &[FeatureValue],
        draws: &Generator,
    ) -> Result<Score, Error> {
        let score = match self {
            // Compiled into the loop of the caller.
            Self::Linear(model) => model.score_next(features, draws),
            _ => self.score_other(features, draws),
        };
        if score.margin.is_finite() { Ok(score) } else { Err(too_large("its margin")) }
    }

    #[inline(never)]
    fn score_other(&mut self, features: &[FeatureValue], draws: &Generator) -> Score {
        each!(self, model => model.score_next(features, draws))
    }

    /// One score per known label; of two labels the first scores 0, the second the margin.
    pub fn scores(&self, features: &[FeatureValue], draws: &Generator) -> Result<Vec<f64>, Error> {
        let scores = match each!(self, model => model.class_scores(features)) {
            Some(scores) => scores,
            None => vec![0.0, self.score(features, draws)?.margin],
        };
        let finite = scores.iter().all(|score| score.is_finite());
        if finite { Ok(scores) } else { Err(too_large("a score")) }
    }

    pub fn probabilities(&self, features: &[FeatureValue]) -> Option<Vec<f64>> {
        each!(self, model => model.probabilities(features))
    }

    pub fn check(&self, features: &[FeatureValue]) -> Result<(), Error> {
        each!(self, model => model.check(features))
    }

    pub fn check_example(&self, example: &Example<'_>) -> Result<(), Error> {
        each!(self, model => model.check_example(example))
    }

    #[inline(never)]
    pub fn learn(
        &mut self,
        example: &Example<'_>,
        draws: &mut Generator,
    ) -> Result<Outcome<'_>, Error> {
        each!(self, model => model.learn(example, draws))
    }

    pub fn set_rows(&mut self, rows: usize) {
        each!(self, model => model.set_rows(rows));
    }

    pub fn contributions(&self, features: &[FeatureValue], draws: &Generator) -> Vec<f64> {
        each!(self, model => model.contributions(features, draws))
    }

    pub fn details(&self, features: &[FeatureValue]) -> Vec<(&'static str, f64)> {
        each!(self, model => model.details(features))
    }

    pub fn weight(&self, id: FeatureId, vector: usize) -> f64 {
        each!(self, model => model.weight(id, vector))
    }

    pub fn size(&self, id: FeatureId) -> f64 {
        each!(self, model => model.size(id))
    }

    pub fn can_evict(&self) -> bool {
        each!(self, model => model.can_evict())
    }

    pub fn retain(&mut self, remap: &IndexRemap) {
        each!(self, model => model.retain(remap));
    }

    pub fn changes(&self) -> Vec<(u64, u64, &'static str)> {
        each!(self, model => model.changes())
    }

    pub fn note(&self) -> Option<String> {
        each!(self, model => model.note())
    }
}
