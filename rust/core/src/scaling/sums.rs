//! n, mean m and sum of squared deviations S of some numbers.
//!
//! Sums A and B together are `n = n_A + n_B`, `m = m_A + (m_B − m_A)·n_B/n`,
//! `S = S_A + S_B + (m_B − m_A)²·n_A·n_B/n`. Chan, Golub and LeVeque, *Updating Formulae and a Pairwise Algorithm for
//! Computing Sample Variances* (1979).

use serde::{Deserialize, Serialize};

/// n, mean and sum of squared deviations of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    pub n: f64,
    pub mean: f64,
    pub squares: f64,
}

impl Sums {
    /// Welford's step.
    pub fn count(&mut self, x: f64) {
        self.n += 1.0;
        let off = x - self.mean;
        self.mean += off / self.n;
        self.squares += off * (x - self.mean);
    }

    pub fn add(&mut self, other: &Self) {
        if other.n == 0.0 {
            return;
        }
        let (n, off) = (self.n + other.n, other.mean - self.mean);
        let share = other.n / n;
        self.squares += other.squares + off * off * self.n * share;
        self.mean += off * share;
        self.n = n;
    }

    /// Whether so many numbers of this size can give these sums.
    pub fn is_sound(&self, most: f64, largest: f64, largest_squares: f64) -> bool {
        self.n.fract() == 0.0
            && (0.0..=most).contains(&self.n)
            && self.mean.abs() <= largest
            && (0.0..=largest_squares * self.n).contains(&self.squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_parts_are_those_of_the_whole() {
        let numbers = [1.0, 2.0, 6.0, -3.0, 4.0];
        let of = |numbers: &[f64]| {
            let mut sums = Sums::default();
            for &x in numbers {
                sums.count(x);
            }
            sums
        };
        for cut in 0..=numbers.len() {
            let mut sums = of(&numbers[..cut]);
            sums.add(&of(&numbers[cut..]));
            assert!((sums.mean - 2.0).abs() < 1e-15 && sums.n == 5.0);
            assert!((sums.squares - 46.0).abs() < 1e-13); // 1 + 0 + 16 + 25 + 4
        }
    }
}
