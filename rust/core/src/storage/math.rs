//! The exponential and the logarithm of the whole core, and what is made of them.
//!
//! The system's differ in their last bits from machine to machine, and with them every saved byte
//! that follows. These give the same bits everywhere, alone or two side by side
//! ([`crate::scaling`] takes two features at a step). They were chosen because they take less time
//! than those of the crates `libm` and `wide`. Both are off by some 1e-16 of what is larger, the
//! result or 1, and have no branch but for the farthest numbers.

use std::f64::consts::{LN_2, LOG2_E};

/// 2⁵²: an integer below it can be written into its low bits.
pub const UNIT: f64 = 4_503_599_627_370_496.0;
/// The bits of √½.
pub const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
/// ln 2 as a sum of two numbers. Multiples of the first are exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// 2/(2i + 1): the series of 2 artanh(s)/s in s².
pub const LN_SERIES: [f64; 10] = [
    2.0,
    2.0 / 3.0,
    2.0 / 5.0,
    2.0 / 7.0,
    2.0 / 9.0,
    2.0 / 11.0,
    2.0 / 13.0,
    2.0 / 15.0,
    2.0 / 17.0,
    2.0 / 19.0,
];
/// Up to this the result and its power of two are normal numbers.
const FAR: f64 = 700.0;
/// Beyond this the result is 0 or infinite.
const FARTHEST: f64 = 1_000.0;

/// The larger of two numbers neither of which is NaN: one instruction, unlike `f64::max`, which looks for NaN.
#[inline]
pub fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// The smaller of two numbers neither of which is NaN.
#[inline]
pub fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// The natural logarithm of a positive, finite number.
///
/// With `x = 2^k·m` and m in [√½, √2), `ln x = k ln 2 + 2 artanh(s)`, `s = (m − 1)/(m + 1)`, whose
/// series in s² < 0.0295 needs ten terms.
#[inline]
pub fn ln(x: f64) -> f64 {
    let tiny = x < f64::MIN_POSITIVE;
    let x = if tiny { x * UNIT } else { x };
    // k + 1075, which is positive; written into the bits of 2⁵² it becomes a float.
    let k = (x.to_bits().wrapping_sub(SQRT_HALF).wrapping_add(1075 << 52)) >> 52;
    let exponent = f64::from_bits(k | UNIT.to_bits()) - UNIT;
    let m = f64::from_bits(x.to_bits().wrapping_sub(k.wrapping_sub(1075) << 52));
    let s = (m - 1.0) / (m + 1.0);
    let (z, z2) = (s * s, (s * s) * (s * s));
    let [a, b, c, d, e, f, g, h, i, j] = LN_SERIES;
    let low = (a + b * z) + (c + d * z) * z2;
    let middle = (e + f * z) + (g + h * z) * z2;
    let high = i + j * z;
    let series = low + (middle + high * (z2 * z2)) * (z2 * z2);
    let shift = if tiny { 1075.0 + 52.0 } else { 1075.0 };
    (exponent - shift) * LN_2 + s * series
}

/// The exponential of any number: 0 or infinite where that is nearest.
///
/// `e^x = 2^k·e^r` with |r| ≤ ½ ln 2, whose series needs fourteen terms.
#[inline]
pub fn exp(x: f64) -> f64 {
    if x.abs() > FAR {
        return exp_of_far(x);
    }
    let (series, k) = series_and_power(x);
    series * power_of_two(k)
}

/// 2^k comes as two factors, because it may be beyond the floats where the result is not.
#[cold]
#[inline(never)]
fn exp_of_far(x: f64) -> f64 {
    let (series, k) = series_and_power(x.clamp(-FARTHEST, FARTHEST));
    let half = k / 2;
    series * power_of_two(half) * power_of_two(k - half)
}

/// e^r and k.
#[inline(always)]
fn series_and_power(x: f64) -> (f64, i64) {
    let shifted = x * LOG2_E + (1.5 * UNIT); // adding 1.5·2⁵² rounds to an integer, in the last bits
    let k = shifted - 1.5 * UNIT;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let a = (1.0 + r) + (1.0 / 2.0 + 1.0 / 6.0 * r) * r2;
    let b = (1.0 / 24.0 + 1.0 / 120.0 * r) + (1.0 / 720.0 + 1.0 / 5_040.0 * r) * r2;
    let c =
        (1.0 / 40_320.0 + 1.0 / 362_880.0 * r) + (1.0 / 3_628_800.0 + 1.0 / 39_916_800.0 * r) * r2;
    let d = 1.0 / 479_001_600.0 + 1.0 / 6_227_020_800.0 * r;
    let series = (a + b * r4) + (c + d * r4) * (r4 * r4);
    // The last bits hold k, or 2⁵¹ − |k|.
    (series, (shifted.to_bits() as i64) << 13 >> 13)
}

/// 2^k; what is shifted out of the bits does not matter.
#[inline(always)]
fn power_of_two(k: i64) -> f64 {
    f64::from_bits((k.wrapping_add(1023) as u64) << 52)
}

/// `ln(1 + x)` of x above −1, exact where x is small.
///
/// The rounding error of `u = 1 + x` changes `ln u` and `u − 1` in the same ratio.
pub fn ln_1p(x: f64) -> f64 {
    let u = 1.0 + x;
    if u == 1.0 { x } else { ln(u) * (x / (u - 1.0)) }
}

/// `σ(z) = 1/(1 + e^{−z})`
#[inline]
pub fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + exp(-z))
}

/// `ln(1 + e^z)`, whose derivative is σ(z): safe from overflow, exact where it is small.
pub fn softplus(z: f64) -> f64 {
    z.max(0.0) + ln_1p(exp(-z.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_is_the_logarithm() {
        let mut x = 5e-324;
        while x < 1e308 {
            let (ours, theirs) = (ln(x), x.ln());
            assert!((ours - theirs).abs() <= 1e-15 * theirs.abs().max(1.0), "{x}: {ours} {theirs}");
            x = if x < 1e-300 { x * 2.0 } else { x * 1.000_37 };
        }
        assert_eq!([1.0, 2.0, 0.5, 4.0].map(ln), [0.0, LN_2, -LN_2, 2.0 * LN_2]);
        assert!(ln(f64::MAX) < 709.8);
    }

    #[test]
    fn exp_is_the_exponential() {
        for i in -70_700..=70_900 {
            let x = f64::from(i) / 100.0 + f64::from(i % 7) * 1e-4;
            let (ours, theirs) = (exp(x), x.exp());
            assert!((ours / theirs - 1.0).abs() <= 1e-15, "{x}: {ours} {theirs}");
        }
        for i in 0..4_000 {
            let x = -f64::from(i) / 100.0 - 707.0; // the last numbers before 0
            assert!((exp(x) - x.exp()).abs() <= 1e-15 * x.exp() + 5e-324, "{x}");
        }
        assert_eq!([exp(0.0), exp(-750.0), exp(-1e9)], [1.0, 0.0, 0.0]);
        assert_eq!([exp(710.0), exp(1e9), exp(f64::INFINITY)], [f64::INFINITY; 3]);
    }

    #[test]
    fn ln_1p_is_exact_where_it_is_small() {
        for i in 0..4_000 {
            let x = exp(-f64::from(i) * 0.18);
            for x in [x, -x / 2.0] {
                let (ours, theirs) = (ln_1p(x), x.ln_1p());
                assert!((ours - theirs).abs() <= 1e-15 * theirs.abs(), "{x}: {ours} {theirs}");
            }
        }
        assert_eq!(ln_1p(0.0), 0.0);
    }

    #[test]
    fn softplus_is_the_integral_of_the_logistic_function() {
        assert_eq!([softplus(1e3), softplus(-1e3), logistic(0.0)], [1e3, 0.0, 0.5]);
        assert!((softplus(-40.0) / exp(-40.0) - 1.0).abs() < 1e-15);
        for i in -300..300 {
            let (z, h) = (f64::from(i) / 10.0, 1e-5);
            let slope = (softplus(z + h) - softplus(z - h)) / (2.0 * h);
            assert!((slope - logistic(z)).abs() < 1e-9, "{z}");
        }
    }
}
