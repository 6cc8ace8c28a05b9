//! Predictions from a table of weights: by the sign of one score, or by the largest of several.

use crate::event::{FeatureId, FeatureValue};
use crate::model::example::Score;
use crate::storage::weights::Weights;

/// Two classes: the sign of `w·x`.
#[inline(always)]
pub fn score_binary(weights: &Weights, features: &[FeatureValue]) -> Score {
    Score::by_sign(weights.dot(0, features))
}

/// Several classes: the largest of `w_r·x`, and its lead over the second.
pub fn score_multiclass(weights: &Weights, features: &[FeatureValue]) -> Score {
    by_lead(&weights.dots(features))
}

/// The same from the scores.
pub fn by_lead(scores: &[f64]) -> Score {
    let class = largest(scores, None);
    let margin = match (class, largest(scores, class)) {
        (Some(first), Some(second)) => scores[first] - scores[second],
        _ => 0.0,
    };
    Score { class, margin, confidence: margin }
}

/// What each feature adds to the margin.
pub fn contributions(weights: &Weights, features: &[FeatureValue], multiclass: bool) -> Vec<f64> {
    let scores = weights.dots(features);
    let class = largest(&scores, None);
    let rival = largest(&scores, class);
    let weight = |id: FeatureId| match (class, rival) {
        _ if !weights.has_row(id) => 0.0,
        _ if !multiclass => weights.weight(id, 0),
        (Some(class), Some(rival)) => weights.weight(id, class) - weights.weight(id, rival),
        _ => 0.0,
    };
    features.iter().map(|feature| weight(feature.id) * feature.value).collect()
}

/// Index of the largest score, the first of equals, `except` left out.
pub fn largest(scores: &[f64], except: Option<usize>) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (index, score) in scores.iter().enumerate() {
        if Some(index) != except && best.is_none_or(|b| *score > scores[b]) {
            best = Some(index);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::weights::{Step, Upkeep};

    /// Three vectors: 1, 2 and 3 times the first feature.
    fn weights() -> Weights {
        let mut weights = Weights::new(Upkeep::NONE, false, 3);
        weights.set_rows(1);
        for vector in 0..3 {
            let one = [FeatureValue { id: 0, value: 1.0 }];
            weights.shift(vector, &one, vector as f64 + 1.0, Step::of(1.0), 1.0);
        }
        weights
    }

    #[test]
    fn the_first_of_equal_scores_is_the_largest() {
        assert_eq!(largest(&[1.0, 3.0, 3.0], None), Some(1));
        assert_eq!(largest(&[1.0, 3.0, 3.0], Some(1)), Some(2));
        assert_eq!(largest(&[1.0], Some(0)), None);
        assert_eq!(largest(&[], None), None);
    }

    #[test]
    fn with_several_classes_the_margin_is_the_lead_over_the_second() {
        let event = [FeatureValue { id: 0, value: 2.0 }, FeatureValue { id: 7, value: 9.0 }];
        let score = score_multiclass(&weights(), &event);
        assert_eq!((score.class, score.margin, score.confidence), (Some(2), 2.0, 2.0));
        assert_eq!(contributions(&weights(), &event, true), [2.0, 0.0]);
        assert_eq!(contributions(&weights(), &event, false), [2.0, 0.0]);
    }

    #[test]
    fn with_two_classes_the_margin_is_the_score_of_the_first_vector() {
        let score = score_binary(&weights(), &[FeatureValue { id: 0, value: -2.0 }]);
        assert_eq!((score.class, score.margin, score.confidence), (Some(0), -2.0, 2.0));
    }
}
