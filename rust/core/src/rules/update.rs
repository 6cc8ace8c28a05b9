//! How far a label moves the weights.
//!
//! With margin `q = w·x`, label `y = ±1` and loss `l = max(0, m - y q)`, the first-order rules move
//! `w_i += τ y x_i`; the second-order rules keep one variance `σ_i` per feature and move
//! `w_i += α y σ_i x_i`. With several classes `y q` is the lead of the right class over the best
//! other one. The step then moves two weight vectors, so the squared norm (or variance) is that of
//! both. Crammer et al., *Online Passive-Aggressive Algorithms*, JMLR 7 (2006); *Adaptive
//! Regularization of Weight Vectors* (2009); Dredze et al., *Confidence-Weighted Linear
//! Classification* (2008).

use crate::storage::weights::{Narrowing, Step};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UpdateRule {
    /// A step of length 1 for a wrong sign.
    Perceptron,
    /// A step of length 1 for a margin not reached.
    MarginPerceptron,
    /// Reach the margin exactly. For labels that can be trusted.
    Pa,
    /// As `Pa`, but never step further than `c`.
    Pa1 { c: Option<f64> },
    /// Shorten every step; the smaller `c`, the shorter.
    Pa2 { c: Option<f64> },
    /// `Pa1` on wrong signs only, towards the root of the class's cost.
    Cpa { c: Option<f64> },
    /// Steps that shrink for features learned often; with forgetting λ they grow again, so that
    /// the rule follows change.
    Arow { c: Option<f64>, forgetting: Option<f64> },
    /// Reach a margin of `phi` variances.
    CwVariance { phi: f64 },
    /// Reach a margin of `phi` standard deviations.
    CwStdev { phi: f64 },
    /// A fixed step along the negative gradient of the hinge loss, and a decay of all weights.
    Gradient { step: f64, decay: f64 },
}

/// The margin to reach on positive events; on negative ones it is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PositiveMargin {
    Fixed(f64),
    /// `odds · (negatives + 1)/(positives + 1)` of the labels learned so far.
    Balanced {
        odds: f64,
    },
}

impl PositiveMargin {
    /// The current margin; the counts include the label being learned.
    pub fn value(self, positives: u64, negatives: u64) -> f64 {
        match self {
            Self::Fixed(margin) => margin,
            Self::Balanced { odds } => odds * (negatives as f64 + 1.0) / (positives as f64 + 1.0),
        }
    }
}

/// What an update rule computes a step from.
#[derive(Clone, Copy, Debug)]
pub struct StepInput {
    /// `y q`, or with several classes the lead of the right class over the best other one.
    pub margin: f64,
    /// The margin to reach: m.
    pub target: f64,
    pub mistake: bool,
    /// ‖x‖² times the number of weight vectors that move.
    pub squared_norm: f64,
    /// Σσ_i x_i² over the same vectors, for rules that use variances.
    pub variance: f64,
    /// The positive class's margin, which is used for a C that was not given.
    pub positive_margin: f64,
}

impl UpdateRule {
    pub fn uses_variance(self) -> bool {
        matches!(self, Self::Arow { .. } | Self::CwVariance { .. } | Self::CwStdev { .. })
    }

    /// λ: at each label the variances of the event's features go back towards 1,
    /// `1/σ_i ← λ/σ_i + 1 − λ`.
    pub fn forgetting(self) -> Option<f64> {
        match self {
            Self::Arow { forgetting, .. } => forgetting,
            _ => None,
        }
    }

    /// Whether the rule is defined for more than two classes.
    pub fn is_multiclass(self) -> bool {
        !matches!(
            self,
            Self::Cpa { .. }
                | Self::CwVariance { .. }
                | Self::CwStdev { .. }
                | Self::Gradient { .. }
        )
    }

    #[inline(always)]
    pub fn step(self, input: &StepInput) -> Step {
        let StepInput { margin, target, squared_norm, variance, .. } = *input;
        if let Self::Gradient { step, decay } = self {
            let length = if margin <= 1.0 && squared_norm > 0.0 { step } else { 0.0 };
            return Step { shrink: 1.0 - step * decay, ..Step::of(length) };
        }
        if squared_norm == 0.0 {
            return Step::of(0.0); // every value is 0: no weight can change the margin
        }
        let loss = (target - margin).max(0.0);
        let or_positive_margin = |c: Option<f64>| c.unwrap_or(input.positive_margin);
        let no_step = Step::of(0.0);
        match self {
            Self::Perceptron => Step::of(f64::from(u8::from(input.mistake))),
            Self::MarginPerceptron => Step::of(f64::from(u8::from(margin <= target))),
            Self::Pa => Step::of(loss / squared_norm),
            Self::Pa1 { c } => Step::of((loss / squared_norm).min(or_positive_margin(c))),
            Self::Pa2 { c } => Step::of(loss / (squared_norm + 0.5 / or_positive_margin(c))),
            Self::Cpa { c } => {
                let wanted = ((target.sqrt() - margin) / squared_norm).min(or_positive_margin(c));
                if input.mistake { Step::of(wanted) } else { no_step }
            }
            Self::Arow { c, .. } => {
                let moves = loss > 0.0 && variance > 0.0;
                if moves { arow(loss, variance, or_positive_margin(c)) } else { no_step }
            }
            Self::CwVariance { phi } => {
                let moves = variance > 0.0 && margin < phi * variance;
                if moves { cw_variance(phi, margin, variance) } else { no_step }
            }
            Self::CwStdev { phi } => {
                let moves = variance > 0.0 && margin < phi * variance.sqrt();
                if moves { cw_stdev(phi, margin, variance) } else { no_step }
            }
            Self::Gradient { .. } => no_step, // handled above, because it also shrinks the weights
        }
    }

    /// The steps of the OLSF authors' published code: ‖x‖ in place of ‖x‖², a misplaced bracket,
    /// and an update whenever `y q ≤ 1`. For replication only. Rules that their code does not have
    /// step as usual.
    pub fn legacy_step(self, input: &StepInput) -> Step {
        let (margin, norm) = (input.margin, input.squared_norm.sqrt());
        if norm == 0.0 || margin > 1.0 {
            return Step::of(0.0);
        }
        match self {
            Self::Pa => Step::of((1.0 - margin) / norm),
            Self::Pa1 { c } => Step::of(((1.0 - margin) / norm).min(c.unwrap_or(1.0))),
            Self::Pa2 { c } => Step::of(1.0 - margin / (norm + 0.5 / c.unwrap_or(1.0))),
            Self::Perceptron => Step::of(1.0),
            Self::MarginPerceptron
            | Self::Cpa { .. }
            | Self::Arow { .. }
            | Self::CwVariance { .. }
            | Self::CwStdev { .. }
            | Self::Gradient { .. } => self.step(input),
        }
    }
}

/// `β = 1/(v + 1/C)`
fn arow(loss: f64, variance: f64, c: f64) -> Step {
    let beta = 1.0 / (variance + 1.0 / c);
    Step { narrowing: Narrowing::Subtract(beta), ..Step::of(loss * beta) }
}

/// The γ at which `m' = φ v'`.
fn cw_variance(phi: f64, margin: f64, variance: f64) -> Step {
    let b = 1.0 + 2.0 * phi * margin;
    let root = (b * b - 8.0 * phi * (margin - phi * variance)).sqrt();
    let gamma = if b > 0.0 {
        2.0 * (phi * variance - margin) / ((root + b) * variance) // no cancellation
    } else {
        (root - b) / (4.0 * phi * variance)
    };
    Step { narrowing: Narrowing::AddPrecision(2.0 * gamma * phi), ..Step::of(gamma) }
}

/// The α at which `m' = φ √v'`.
fn cw_stdev(phi: f64, margin: f64, variance: f64) -> Step {
    let square = phi * phi;
    let (psi, zeta) = (1.0 + square / 2.0, 1.0 + square);
    let root = (margin * margin * square * square / 4.0 + variance * square * zeta).sqrt();
    let alpha = if margin > 0.0 {
        (square * variance - margin * margin) / ((root + margin * psi) * variance)
    } else {
        (root - margin * psi) / (variance * zeta)
    };
    let spread = alpha * variance * phi;
    let new_stdev = 2.0 * variance / ((spread * spread + 4.0 * variance).sqrt() + spread);
    let beta = alpha * phi / (new_stdev + spread);
    Step { narrowing: Narrowing::Subtract(beta), ..Step::of(alpha) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(margin: f64) -> StepInput {
        StepInput {
            margin,
            target: 1.0,
            mistake: margin <= 0.0,
            squared_norm: 4.0,
            variance: 4.0,
            positive_margin: 1.0,
        }
    }

    fn length(rule: UpdateRule, margin: f64) -> f64 {
        rule.step(&input(margin)).length
    }

    #[test]
    fn pa_reaches_the_margin_and_pa1_and_pa2_step_less() {
        assert_eq!(length(UpdateRule::Pa, -1.0), 0.5);
        assert_eq!(length(UpdateRule::Pa1 { c: Some(0.25) }, -1.0), 0.25);
        assert_eq!(length(UpdateRule::Pa2 { c: Some(0.125) }, -1.0), 0.25);
        assert_eq!(length(UpdateRule::Pa, 1.0), 0.0);
    }

    #[test]
    fn a_perceptron_steps_on_mistakes_and_a_margin_perceptron_on_margins_not_reached() {
        assert_eq!(length(UpdateRule::Perceptron, 0.0), 1.0);
        assert_eq!(length(UpdateRule::Perceptron, 0.5), 0.0);
        assert_eq!(length(UpdateRule::MarginPerceptron, 0.5), 1.0);
        assert_eq!(length(UpdateRule::MarginPerceptron, 1.0), 1.0); // exactly met is not enough
        assert_eq!(length(UpdateRule::MarginPerceptron, 1.5), 0.0);
    }

    #[test]
    fn a_missing_c_is_the_positive_margin() {
        let input = StepInput { positive_margin: 0.125, ..input(-1.0) };
        assert_eq!(UpdateRule::Pa1 { c: None }.step(&input).length, 0.125);
    }

    #[test]
    fn cost_sensitive_pa_steps_on_mistakes_only() {
        let input = StepInput { target: 9.0, ..input(-1.0) };
        assert_eq!(UpdateRule::Cpa { c: Some(10.0) }.step(&input).length, 1.0); // (√9 + 1)/4
        let right = StepInput { target: 9.0, ..super::tests::input(0.5) };
        assert_eq!(UpdateRule::Cpa { c: Some(10.0) }.step(&right).length, 0.0);
    }

    #[test]
    fn an_all_zero_event_moves_nothing() {
        let rules = [
            UpdateRule::Perceptron,
            UpdateRule::Pa,
            UpdateRule::Arow { c: Some(1.0), forgetting: None },
        ];
        for rule in rules {
            let empty = StepInput { squared_norm: 0.0, variance: 0.0, ..input(0.0) };
            assert_eq!(rule.step(&empty), Step::of(0.0));
        }
    }

    #[test]
    fn confidence_weighted_steps_end_on_their_constraint() {
        // One feature of value 1 and variance 2: m' and v' must satisfy m' = φv', or m' = φ√v'.
        let (phi, margin, variance) = (1.3, 0.2, 2.0);
        let input = StepInput { variance, squared_norm: 1.0, ..input(margin) };
        let moved = |step: Step| {
            let sigma = match step.narrowing {
                Narrowing::AddPrecision(beta) => 1.0 / (1.0 / variance + beta),
                Narrowing::Subtract(beta) => variance - beta * variance * variance,
                Narrowing::None => variance,
            };
            (margin + step.length * variance, sigma)
        };
        let (m, v) = moved(UpdateRule::CwVariance { phi }.step(&input));
        assert!((m - phi * v).abs() < 1e-12);
        let (m, v) = moved(UpdateRule::CwStdev { phi }.step(&input));
        assert!((m - phi * v.sqrt()).abs() < 1e-12);
    }
}
