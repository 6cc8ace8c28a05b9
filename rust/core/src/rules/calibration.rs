//! Turns scores into probabilities, by one slope that is learned from the labels.
//!
//! With scores f_k and mean lead m of the largest score over the second, P(k) ∝ exp(a f_k / m). Two
//! classes have the scores 0 and q, so that P(+1) = 1/(1 + exp(−a q / m)): Platt's sigmoid without
//! its offset, above ½ exactly when the margin is positive. Every label learned moves ln a by one
//! natural-gradient step on its log loss, with the scores from *before* it was learned:
//!
//! ```text
//! t_k = a f_k / m     g = Σ P(k) t_k − t_y     h = Σ P(k) t_k² − (Σ P(k) t_k)²
//! I ← γI + w h        ln a ← ln a − w g / (1 + I)
//! ```
//!
//! w is one over the probability with which the label was asked for, so that the answers represent
//! the stream and not the questions. γ discounts earlier labels, because the model has changed
//! since. Scores are divided by the running mean m, so their scale does not matter. J. Platt,
//! *Probabilistic outputs for support vector machines* (1999); S. Amari, *Natural gradient works
//! efficiently in learning*, Neural Computation 10 (1998).
//!
//! A label is only written down, with its scores. The steps are taken when a probability is asked
//! for: from a = 1, over the labels that are kept. Whenever there are [`MOST_LABELS`], the older half is
//! forgotten. Until then the steps taken are kept, so that no label's step is taken more than twice.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::storage::math::exp;

/// γ: the discount of earlier labels per label. The last hundred labels or so count.
const FADING: f64 = 0.99;
/// When there are so many labels, the older half is forgotten.
const MOST_LABELS: usize = 256;
/// The most that one label counts: otherwise answers to rare questions would outweigh all others.
const LARGEST_WEIGHT: f64 = 10.0;
/// No step of ln a is longer.
const LONGEST_STEP: f64 = 0.5;
/// Beyond this the logistic function is flat.
const FLAT: f64 = 30.0;
const SLOPES: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// The last labels, and the slope that follows from them.
#[derive(Clone, Debug, Default)]
pub struct Calibration {
    /// The slope before the first of the labels.
    first: Slope,
    labels: Vec<PastLabel>,
    /// The scores of all labels, one after the other: of two classes only how far the second is ahead.
    scores: Vec<f64>,
    /// The slope after some of the labels.
    begun: Fit,
    /// The slope after all of them, once it was asked for.
    fitted: OnceLock<Fit>,
}

/// The class of a label, the number of scores kept for it, and its weight.
type PastLabel = (u32, u32, f64);

/// a, and what is known of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slope {
    a: f64,
    /// I: the information about the slope.
    information: f64,
    /// m: mean lead of the first score over the second, before learning.
    mean_lead: f64,
    /// The weight of the labels in this mean.
    weight: f64,
}

impl Default for Slope {
    fn default() -> Self {
        Self { a: 1.0, information: 0.0, mean_lead: 0.0, weight: 0.0 }
    }
}

/// A slope, and how many labels and scores it was learned from.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    slope: Slope,
    labels: usize,
    scores: usize,
}

/// What is saved: the last labels and the slope before them. That is the one of a new learner, unless the
/// labels began with a file that had only a slope, as files once had.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CalibrationState {
    slope: f64,
    information: f64,
    mean_lead: f64,
    weight: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels: Vec<PastLabel>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scores: Vec<f64>,
}

/// The weight of a label that was asked for with this probability.
pub fn weight_of(query_probability: f64) -> f64 {
    (1.0 / query_probability).min(LARGEST_WEIGHT)
}

impl Calibration {
    /// One probability per score.
    pub fn probabilities(&self, scores: &[f64]) -> Vec<f64> {
        let parts: Vec<f64> = self.slope().log_ratios(scores).map(exp).collect();
        let total: f64 = parts.iter().sum();
        let mut shares: Vec<f64> = parts.iter().map(|part| part / total).collect();
        if let ([one, other], [p, q]) = (scores, &mut shares[..])
            && one != other
            && p.max(*q) <= 0.5
        {
            // Rounded to ½, but the probabilities must tell on which side of it they are.
            *q = 0.5 + (f64::EPSILON / 2.0).copysign(other - one);
            *p = 1.0 - *q;
        }
        shares
    }

    /// Write down the scores of an event and its class.
    #[inline]
    pub fn learn(&mut self, scores: &[f64], class: usize, weight: f64) {
        if let [one, other] = *scores {
            return self.learn_lead(other - one, class, weight);
        }
        if class < scores.len() && scores.len() > 1 && lead(scores).is_finite() {
            self.write(scores, class, weight);
        }
    }

    /// The same of two classes, the second of which is so far ahead.
    #[inline(always)]
    pub fn learn_lead(&mut self, ahead: f64, class: usize, weight: f64) {
        if class < 2 && ahead.is_finite() {
            self.write(&[ahead], class, weight);
        }
    }

    #[inline(always)]
    fn write(&mut self, kept: &[f64], class: usize, weight: f64) {
        if self.fitted.get().is_some()
            && let Some(fit) = self.fitted.take()
        {
            self.begun = fit;
        }
        if self.labels.len() == MOST_LABELS {
            self.forget_half();
        }
        self.labels.push((class as u32, kept.len() as u32, weight));
        self.scores.extend_from_slice(kept);
    }

    #[cold]
    fn forget_half(&mut self) {
        let forgotten = self.labels.drain(..MOST_LABELS / 2);
        let scores: usize = forgotten.map(|(_, count, _)| count as usize).sum();
        self.scores.drain(..scores);
        (self.first, self.begun) = (Slope::default(), Fit::default());
    }

    /// The slope after all labels.
    fn slope(&self) -> Slope {
        let fit = self.fitted.get_or_init(|| {
            let mut fit = self.begun;
            for &(class, count, weight) in &self.labels[fit.labels..] {
                let scores = &self.scores[fit.scores..][..count as usize];
                match *scores {
                    [ahead] => fit.slope.learn(&[0.0, ahead], class as usize, weight),
                    _ => fit.slope.learn(scores, class as usize, weight),
                }
                fit.labels += 1;
                fit.scores += scores.len();
            }
            fit
        });
        fit.slope
    }

    pub fn state(&self) -> CalibrationState {
        let Slope { a: slope, information, mean_lead, weight } = self.first;
        let (labels, scores) = (self.labels.clone(), self.scores.clone());
        CalibrationState { slope, information, mean_lead, weight, labels, scores }
    }

    /// Put a saved state back.
    pub fn adopt(&mut self, state: &CalibrationState) -> Result<(), &'static str> {
        if !state.is_sound() {
            return Err("its calibration has no slope or no labels to learn it from");
        }
        let &CalibrationState { slope, information, mean_lead, weight, .. } = state;
        let first = Slope { a: slope, information, mean_lead, weight };
        let begun = Fit { slope: first, ..Fit::default() };
        let (labels, scores) = (state.labels.clone(), state.scores.clone());
        *self = Self { first, labels, scores, begun, fitted: OnceLock::new() };
        Ok(())
    }
}

impl CalibrationState {
    /// Whether learning can give these numbers.
    fn is_sound(&self) -> bool {
        let finite = |number: f64| number.is_finite() && number >= 0.0;
        let slope = SLOPES.contains(&self.slope)
            && [self.information, self.mean_lead, self.weight].into_iter().all(finite);
        let mut scores = &self.scores[..];
        let mut fits = |&(class, count, weight): &PastLabel| {
            let Some((own, rest)) = scores.split_at_checked(count as usize) else { return false };
            scores = rest;
            let lead = match own {
                [] | [_, _] => return false,
                [ahead] => *ahead,
                _ => lead(own),
            };
            (class < count || class < 2)
                && lead.is_finite()
                && own.iter().all(|score| score.is_finite())
                && weight > 0.0
                && weight <= LARGEST_WEIGHT
        };
        let labels = self.labels.len() <= MOST_LABELS && self.labels.iter().all(&mut fits);
        slope && labels && scores.is_empty()
    }
}

impl Slope {
    /// Learn from the scores of an event and its class.
    fn learn(&mut self, scores: &[f64], class: usize, weight: f64) {
        let lead = lead(scores);
        self.weight = FADING * self.weight + weight;
        self.mean_lead += weight / self.weight * (lead - self.mean_lead);
        self.information *= FADING;
        if self.mean_lead == 0.0 {
            return;
        }
        // P(k) = part / total
        let (mut total, mut sum, mut squares, mut own) = (0.0, 0.0, 0.0, 0.0);
        for (k, t) in self.log_ratios(scores).enumerate() {
            let (t, part) = (t.max(-FLAT), exp(t));
            total += part;
            sum += part * t;
            squares += part * t * t;
            if k == class {
                own = t;
            }
        }
        let inverse = 1.0 / total;
        let mean = sum * inverse;
        self.information += weight * (squares * inverse - mean * mean).max(0.0);
        let step = weight * (own - mean) / (1.0 + self.information);
        let a = self.a * exp(step.clamp(-LONGEST_STEP, LONGEST_STEP));
        self.a = a.clamp(*SLOPES.start(), *SLOPES.end());
    }

    /// t − max t of each score: the logarithm of its probability over the largest.
    fn log_ratios(&self, scores: &[f64]) -> impl Iterator<Item = f64> {
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // While all leads were 0 there is no unit: scores are taken as they are.
        let (a, unit) = if self.mean_lead > 0.0 { (self.a, self.mean_lead) } else { (1.0, 1.0) };
        scores.iter().map(move |score| (score - top) / unit * a)
    }
}

/// The largest score minus the second largest.
fn lead(scores: &[f64]) -> f64 {
    let mut first = f64::NEG_INFINITY;
    let mut second = f64::NEG_INFINITY;
    for &score in scores {
        second = second.max(score.min(first));
        first = first.max(score);
    }
    first - second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_slope_with_which_labels_were_drawn() {
        for unit in [1e-30, 1.0, 1e30] {
            let mut calibration = Calibration::default();
            let mut coins = crate::storage::rng::Generator::from_seed(1);
            let (mut found, rounds) = (0.0, 20_000);
            for round in 0..rounds {
                let q = 4.0 * coins.uniform() - 2.0;
                let positive = coins.uniform() < 1.0 / (1.0 + (-3.0 * q).exp());
                calibration.learn(&[0.0, q * unit], usize::from(positive), 1.0);
                if round >= rounds / 2 {
                    let Slope { a, mean_lead, .. } = calibration.slope();
                    found += a / mean_lead * unit;
                }
            }
            let mean = found / f64::from(rounds / 2);
            assert!((2.7..3.4).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn earlier_labels_count_less_than_later_ones() {
        // Of four labels at the same margin three are positive, or two: the slope is ln 3 or about 0.
        let learned = |shares: [u32; 2]| {
            let mut calibration = Calibration::default();
            for label in 0..240 {
                let positive = label % 4 < shares[label as usize / 120];
                calibration.learn(&[0.0, 1.0], usize::from(positive), 1.0);
            }
            calibration.slope().a
        };
        let (rising, falling) = (learned([2, 3]), learned([3, 2]));
        assert!(rising > 0.8 && falling < 0.55, "{rising} {falling}");
    }

    #[test]
    fn two_classes_are_several_with_the_scores_0_and_q() {
        let mut calibration = Calibration::default();
        calibration.learn(&[0.0, 2.0], 1, 1.0);
        let Slope { a, mean_lead, .. } = calibration.slope();
        let a = a / mean_lead;
        let shares = calibration.probabilities(&[0.0, 0.7]);
        assert!((shares[1] - 1.0 / (1.0 + (-a * 0.7).exp())).abs() < 1e-15);
        assert_eq!(calibration.probabilities(&[0.3, 1.0]), shares);
    }

    #[test]
    fn the_smallest_margin_is_on_its_side_of_one_half() {
        let calibration = Calibration::default();
        for margin in [f64::MIN_POSITIVE, 1e-300, 1e-20, 5.6e-17, 1.2e-16] {
            let shares = calibration.probabilities(&[0.0, margin]);
            assert!(shares[1] > 0.5 && shares[0] < 0.5 && shares[0] + shares[1] == 1.0);
            let shares = calibration.probabilities(&[0.0, -margin]);
            assert!(shares[1] < 0.5 && shares[0] > 0.5);
        }
        assert_eq!(calibration.probabilities(&[0.0, 0.0]), [0.5, 0.5]);
        assert_eq!(calibration.probabilities(&[1.0, 1.0]), [0.5, 0.5]);
    }

    #[test]
    fn it_stays_sound_for_any_scores() {
        let mut calibration = Calibration::default();
        for (round, q) in
            [0.0, 5e-324, 1e308, -1e308, 1e-308, -3.0].into_iter().cycle().take(600).enumerate()
        {
            calibration.learn(&[0.0, q], round % 2, weight_of(1e-3));
            assert!(calibration.state().is_sound(), "{calibration:?}");
            let shares = calibration.probabilities(&[0.0, q]);
            assert!((shares[0] + shares[1] - 1.0).abs() < 1e-12, "{shares:?}");
        }
        calibration.learn(&[-1e308, 1e308], 1, 1.0); // a lead that is not finite is ignored
        assert!(calibration.state().is_sound());
        assert!(SLOPES.contains(&calibration.slope().a));
    }

    #[test]
    fn a_class_without_a_score_is_ignored() {
        let mut calibration = Calibration::default();
        calibration.learn(&[0.5], 0, 1.0);
        calibration.learn(&[0.5, 1.0], 2, 1.0);
        assert!(calibration.labels.is_empty());
    }

    /// The slope after so many labels, asked for after each of some of them.
    fn after(labels: usize, asked_after: impl Fn(usize) -> bool) -> Calibration {
        let mut calibration = Calibration::default();
        for number in 0..labels {
            let q = (number as f64 * 0.7).sin();
            if number % 3 == 0 {
                calibration.learn(&[0.3, q, -0.1], number % 2, 1.0);
            } else {
                calibration.learn(&[0.0, q], usize::from(q > 0.2), 2.0);
            }
            if asked_after(number) {
                calibration.slope();
            }
        }
        calibration
    }

    #[test]
    fn the_slope_does_not_depend_on_when_it_was_asked_for() {
        for labels in [1, 100, 255, 256, 257, 300, 384, 385, 600] {
            let never = after(labels, |_| false).slope();
            assert_eq!(after(labels, |_| true).slope(), never);
            assert_eq!(after(labels, |number| number % 50 == 7).slope(), never);
            let mut loaded = Calibration::default();
            loaded.adopt(&after(labels, |number| number % 9 == 0).state()).unwrap();
            assert_eq!(loaded.slope(), never);
        }
    }

    #[test]
    fn of_the_most_labels_the_older_half_is_forgotten() {
        assert_eq!(after(256, |_| true).labels.len(), 256);
        let later = after(257, |_| true);
        assert_eq!((later.labels.len(), later.begun.labels), (129, 0));
        let kept: u32 = later.labels.iter().map(|&(_, count, _)| count).sum();
        assert_eq!(kept as usize, later.scores.len());
    }

    #[test]
    fn a_slope_without_labels_is_where_the_next_labels_begin() {
        let old = CalibrationState { slope: 5.0, ..Calibration::default().state() };
        let mut calibration = Calibration::default();
        calibration.adopt(&old).unwrap();
        assert_eq!(calibration.slope().a, 5.0);
        assert_eq!(calibration.state().slope, 5.0);
        (0..300).for_each(|_| calibration.learn(&[0.0, 1.0], 1, 1.0));
        assert_eq!(calibration.state().slope, 1.0); // with the labels after it it was forgotten
    }

    #[test]
    fn labels_that_cannot_be_are_refused() {
        let sound = || after(3, |_| false).state();
        let refused = |change: fn(&mut CalibrationState)| {
            let mut state = sound();
            change(&mut state);
            Calibration::default().adopt(&state).is_err()
        };
        assert!(!refused(|_| ()));
        assert!(refused(|state| state.slope = 0.0));
        assert!(refused(|state| state.information = -1.0));
        assert!(refused(|state| state.mean_lead = f64::INFINITY));
        assert!(refused(|state| state.weight = f64::NAN));
        assert!(refused(|state| state.scores.push(1.0)));
        assert!(refused(|state| state.scores[0] = f64::NAN));
        assert!(refused(|state| state.labels[0].0 = 3)); // there are three scores
        assert!(refused(|state| state.labels[1].0 = 2)); // there are two classes
        assert!(refused(|state| (state.labels[0].1, state.labels[1].1) = (4, 0)));
        assert!(refused(|state| state.labels[0].1 = 9));
        assert!(refused(|state| state.labels[0].2 = 10.5));
        assert!(refused(|state| state.labels[0].2 = 0.0));
        assert!(refused(|state| {
            state.labels = vec![(0, 1, 1.0); 257];
            state.scores = vec![1.0; 257];
        }));
        assert!(refused(|state| state.scores[..3].copy_from_slice(&[1e308, -1e308, -1e308])));
    }

    #[test]
    fn the_answer_to_a_rare_question_counts_more_within_limits() {
        assert_eq!(weight_of(1.0), 1.0);
        assert_eq!(weight_of(0.25), 4.0);
        assert_eq!(weight_of(0.0), LARGEST_WEIGHT);
    }
}
