//! Four numbers side by side: arithmetic that the compiler turns into wide steps.

use crate::elementary;

pub const FOUR: usize = 4;
pub type Four = [f64; FOUR];

/// The numbers of a formula for one place.
#[inline]
pub fn four(formula: impl Fn(usize) -> f64) -> Four {
    [formula(0), formula(1), formula(2), formula(3)]
}

/// The sum of all four.
#[inline]
pub fn sum(numbers: Four) -> f64 {
    (numbers[0] + numbers[1]) + (numbers[2] + numbers[3])
}

/// The natural logarithms of positive, finite numbers.
#[inline]
pub fn ln(numbers: Four) -> Four {
    four(|i| elementary::ln(numbers[i]))
}
