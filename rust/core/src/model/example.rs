//! What goes into a model and what comes out: examples, scores, outcomes.

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue};
use crate::feature_history::FeatureHistory;
use crate::label::Target;

/// A prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Index of the predicted label; none while no class is known, and in regression.
    pub class: Option<usize>,
    /// The margin; with several classes the lead over the second; in regression the prediction.
    pub margin: f64,
    /// How sure the prediction is: what a query rule decides by.
    pub confidence: f64,
    /// ‖x‖², if it was computed on the way.
    pub squared_norm: Option<f64>,
}

impl Score {
    /// A binary prediction by the sign of the margin.
    #[inline]
    pub fn by_sign(margin: f64) -> Self {
        let class = Some(usize::from(margin > 0.0));
        Self { class, margin, confidence: margin.abs(), squared_norm: None }
    }
}

/// What learning an example found about the model as it was before.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Whether the prediction was wrong.
    pub mistake: bool,
    /// The scores of the known classes; 0 and the margin if there are two; none in regression.
    pub scores: PriorScores,
}

#[derive(Clone, Debug)]
pub enum PriorScores {
    None,
    Two([f64; 2]),
    Several(Vec<f64>),
}

impl PriorScores {
    pub fn by_margin(margin: f64) -> Self {
        Self::Two([0.0, margin])
    }

    pub fn as_slice(&self) -> &[f64] {
        match self {
            Self::None => &[],
            Self::Two(scores) => scores,
            Self::Several(scores) => scores,
        }
    }
}

/// What a decision computed for an event. It is valid until something is learned.
#[derive(Clone, Copy, Debug)]
pub struct CachedProducts {
    pub margin: f64,
    pub squared_norm: Option<f64>,
    /// Whether no other event was scored since: then the model may still hold more of it.
    pub is_latest: bool,
}

/// An event to learn from.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    pub features: &'a [FeatureValue],
    pub target: Target,
    /// The number of its event in the stream.
    pub number: u64,
    /// How many labels this one stands for: one over the probability with which it was asked for, up to a limit;
    /// 0 if it says nothing about how often labels and errors occur.
    pub weight: f64,
    /// When each feature was learned before this example, by id.
    pub history: &'a [FeatureHistory],
    /// Rows per feature.
    pub per_feature: FeatureId,
    /// d: rows known after this example.
    pub rows: usize,
    /// Positive labels learned, this one included; 0 if there are not two classes. Likewise
    /// `negatives`.
    pub positives: u64,
    pub negatives: u64,
    /// What its decision computed, if that is still valid.
    pub products: Option<CachedProducts>,
}

impl Example<'_> {
    /// Whether the feature of a row was learned before this example.
    pub fn is_learned(&self, row: FeatureId) -> bool {
        self.history.get((row / self.per_feature) as usize).is_some_and(FeatureHistory::is_learned)
    }

    /// Whether the example has features that were never learned.
    pub fn grows(&self) -> bool {
        !self.features.iter().all(|feature| self.is_learned(feature.id))
    }

    /// ‖x‖²
    #[inline]
    pub fn squared_norm(&self) -> Result<f64, Error> {
        match self.products.and_then(|products| products.squared_norm) {
            Some(sum) => finite_norm(sum),
            None => squared_norm(self.features),
        }
    }
}

pub fn squared_norm(features: &[FeatureValue]) -> Result<f64, Error> {
    let mut sum = 0.0;
    for feature in features {
        sum += feature.value * feature.value;
    }
    finite_norm(sum)
}

#[inline]
pub fn finite_norm(sum: f64) -> Result<f64, Error> {
    if f64::is_finite(sum) { Ok(sum) } else { Err(too_large("its squared length")) }
}

#[cold]
pub fn too_large(what: &str) -> Error {
    Error::Step(format!(
        "event: its values are too large or too small: {what} would not be a finite number."
    ))
}

#[cfg(test)]
pub mod testing {
    use super::FeatureHistory;

    /// The history of so many features that were learned once.
    pub fn learned(count: usize) -> Vec<FeatureHistory> {
        vec![FeatureHistory { first: 1, last: 1, times: 1 }; count]
    }
}
