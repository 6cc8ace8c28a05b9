//! What goes into a model and what comes out: examples, scores, outcomes.

use crate::error::Error;
use crate::event::{FeatureId, FeatureValue, sum_of_squares};
use crate::feature_history::Histories;
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
}

impl Score {
    /// A binary prediction by the sign of the margin.
    #[inline]
    pub fn by_sign(margin: f64) -> Self {
        let class = Some(usize::from(margin > 0.0));
        Self { class, margin, confidence: margin.abs() }
    }
}

/// What learning an example found about the model as it was before.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// Whether the prediction was wrong.
    pub mistake: bool,
    pub scores: PriorScores<'a>,
}

/// The scores of an event before it was learned, for whoever makes probabilities of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PriorScores<'a> {
    /// The model makes probabilities of its own, or predicts numbers.
    None,
    /// Of two classes: how far the second was ahead.
    Margin(f64),
    /// One per known class.
    Several(&'a [f64]),
}

/// What a decision computed for an event. It is valid until something is learned.
#[derive(Clone, Copy, Debug)]
pub struct CachedProducts {
    pub margin: f64,
    /// Whether no other event was scored since: then the model may still hold more of it.
    pub is_latest: bool,
}

/// An event to learn from.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    pub features: &'a [FeatureValue],
    /// ‖x‖²
    pub squared_norm: f64,
    pub target: Target,
    /// The number of its event in the stream.
    pub number: u64,
    /// How many labels this one stands for: one over the probability with which it was asked for, up to a limit;
    /// 0 if it says nothing about how often labels and errors occur.
    pub weight: f64,
    /// When each feature was learned before this example, by id.
    pub history: &'a Histories,
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
        self.history.is_learned(row / self.per_feature)
    }

    /// Whether the example has features that were never learned.
    pub fn grows(&self) -> bool {
        !self.features.iter().all(|feature| self.is_learned(feature.id))
    }

    /// ‖x‖²; refuse an event for which it is not finite.
    #[inline]
    pub fn finite_norm(&self) -> Result<f64, Error> {
        finite_norm(self.squared_norm)
    }
}

pub fn squared_norm(features: &[FeatureValue]) -> Result<f64, Error> {
    finite_norm(sum_of_squares(features))
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
    use super::Histories;

    /// The history of so many features that were learned once.
    pub fn learned(count: usize) -> Histories {
        let mut histories = Histories::default();
        (0..count).for_each(|_| histories.push());
        histories.note(0..count as u32, 1);
        histories
    }
}
