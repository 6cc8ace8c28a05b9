//! The exact step of multinomial logistic regression on the dual variables of one event.
//!
//! The problem is `min ½Σ_k‖u_k‖²/ρ + Σ_j C_j (ln Σ_k exp(q_jk) − q_jy)`, with the logits `q_jk = u_k·z_j`. Its solution
//! is `u_k = Σ_j a_jk ρ z_j` with `a_k = C(1[k = y] − p_k)` and p the softmax of the logits. A step finds the best a of
//! one event, all others as they are. With `Q = Σρz²` and `β = q − Q a` the logits after the step are the l of
//!
//! ```text
//! min  C (ln Σ_k exp(l_k) − l_y) + ‖l − β‖²/(2Q)
//! ```
//!
//! which Newton's method finds: the Hessian `I/Q + C(diag p − ppᵀ)` is a diagonal and one vector, so that a step takes
//! O(classes). With δ twice the longest part of a step, `ln(1 + δ)/δ` of it always descends. With two classes this is
//! the step of `best_alpha`. Yu, Huang and Lin, *Dual coordinate descent methods for logistic regression and maximum
//! entropy models*, MLJ 85 (2011); F. Bach, *Self-concordant analysis for logistic regression*, EJS 4 (2010).

use crate::storage::math::{exp, ln};

const MOST_STEPS: u32 = 50;
/// The search stops after a shorter step: the error left is about its square.
const NEAR: f64 = 1e-6;

/// Softmax, in place.
pub fn softmax(logits: &mut [f64]) {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for logit in &mut *logits {
        *logit = exp(*logit - top);
        total += *logit;
    }
    let inverse = 1.0 / total;
    for part in logits {
        *part *= inverse;
    }
}

/// −ln of the softmax of one class.
pub fn log_loss(logits: &[f64], class: usize) -> f64 {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logits.iter().map(|logit| exp(logit - top)).sum();
    top + ln(total) - logits[class]
}

/// The best a of an event of this class whose logits are `logits` and whose a is `dual`; `dual` becomes it.
pub fn step(dual: &mut [f64], logits: &[f64], class: usize, squared_norm: f64, c: f64) {
    let inverse = 1.0 / squared_norm;
    let mut new = logits.to_vec();
    let mut shares = vec![0.0; logits.len()];
    let mut moves = vec![0.0; logits.len()];
    for _ in 0..MOST_STEPS {
        shares.copy_from_slice(&new);
        softmax(&mut shares);
        // Sherman and Morrison: H = diag(h) − C ppᵀ, h = 1/Q + C p; 1 − CΣp²/h = Σ p/(1 + QCp).
        let (mut along, mut left) = (0.0, 0.0);
        for (k, p) in shares.iter().enumerate() {
            let start = logits[k] - squared_norm * dual[k];
            let own = f64::from(u8::from(k == class));
            let slope = c * (p - own) + (new[k] - start) * inverse;
            let h = inverse + c * p;
            moves[k] = slope / h;
            along += p * moves[k];
            left += p / (1.0 + squared_norm * c * p);
        }
        let common = c * along / left;
        let mut longest: f64 = 0.0;
        for (by, p) in moves.iter_mut().zip(&shares) {
            *by += common * p / (inverse + c * p);
            longest = longest.max(by.abs());
        }
        let delta = 2.0 * longest;
        let part = if delta > NEAR { ln(1.0 + delta) / delta } else { 1.0 };
        for (logit, by) in new.iter_mut().zip(&moves) {
            *logit -= part * by;
        }
        if longest < NEAR {
            break;
        }
    }
    softmax(&mut new);
    for (k, (a, p)) in dual.iter_mut().zip(new).enumerate() {
        *a = c * (f64::from(u8::from(k == class)) - p);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dual_logistic::best_alpha;
    use crate::storage::rng::Generator;

    #[test]
    fn at_the_new_dual_variables_the_logits_give_them_back() {
        let mut draws = Generator::from_seed(5);
        for _ in 0..500 {
            let classes = 2 + (draws.uniform() * 20.0) as usize;
            let class = (draws.uniform() * classes as f64) as usize;
            let (norm, c) = (3.0 * draws.uniform() + 1e-3, exp(6.0 * draws.uniform() - 2.0));
            let logits: Vec<f64> = (0..classes).map(|_| 20.0 * draws.uniform() - 10.0).collect();
            let old: Vec<f64> = (0..classes).map(|_| draws.uniform() - 0.5).collect();
            let mut dual = old.clone();
            step(&mut dual, &logits, class, norm, c);
            let mut after: Vec<f64> =
                (0..classes).map(|k| logits[k] + norm * (dual[k] - old[k])).collect();
            softmax(&mut after);
            for k in 0..classes {
                let wanted = c * (f64::from(u8::from(k == class)) - after[k]);
                assert!((dual[k] - wanted).abs() < 1e-8 * (1.0 + c), "{} {wanted}", dual[k]);
            }
            assert!(dual.iter().sum::<f64>().abs() < 1e-9 * (1.0 + c));
        }
    }

    /// The two vectors of two classes differ by the one vector of two: half the length, twice.
    #[test]
    fn with_two_classes_it_is_the_step_of_the_logistic_regression() {
        let mut dual = [-0.2, 0.2];
        step(&mut dual, &[-0.3, 0.3], 1, 0.4, 1.5);
        let alpha = best_alpha(0.2, 0.6, 0.8, 1.5);
        assert!((dual[1] - alpha).abs() < 1e-9 && (dual[0] + alpha).abs() < 1e-9);
    }

    #[test]
    fn logits_beyond_all_measure_stay_finite() {
        for size in [1e3, 1e30] {
            let mut dual = [0.0; 3];
            step(&mut dual, &[size, -size, 0.0], 1, 8.0, 1e9);
            assert!(dual.iter().all(|a| a.is_finite()), "{dual:?}");
        }
    }
}
