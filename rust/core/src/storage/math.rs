//! Logarithm and exponential, where a call to the system's costs more than what it is called for.
//!
//! Both are off by some 1e-16 of what is larger, the result or 1, have no branch, and give the same bits on
//! every machine.

use std::f64::consts::{LN_2, LOG2_E};

/// 2⁵²: in its bits, integers below it can be written.
pub const UNIT: f64 = 4_503_599_627_370_496.0;
pub const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd; // its bits
/// ln 2 in two parts, of which multiples of the first are exact.
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
/// Beyond this the result would be 0 or infinite.
const FARTHEST: f64 = 700.0;

/// The natural logarithm of a positive, finite number.
///
/// With `x = 2^k·m` and m in [√½, √2), `ln x = k ln 2 + 2 artanh(s)`, `s = (m − 1)/(m + 1)`, whose series
/// in s² < 0.0295 needs ten terms.
#[inline]
pub fn ln(x: f64) -> f64 {
    let tiny = x < f64::MIN_POSITIVE;
    let x = if tiny { x * UNIT } else { x };
    // k + 1075, so that it is positive; written into the bits of 2⁵² it is a float.
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

/// The exponential of a number, which is taken for ±700 beyond that.
///
/// `e^x = 2^k·e^r` with |r| ≤ ½ ln 2, whose series needs fourteen terms.
#[inline]
pub fn exp(x: f64) -> f64 {
    let x = x.clamp(-FARTHEST, FARTHEST);
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
    // The last bits hold k, or 2¹¹ − |k|: what is shifted out does not matter.
    series * f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52)
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
        for i in -69_999..=69_999 {
            let x = f64::from(i) / 100.0 + f64::from(i % 7) * 1e-4;
            let (ours, theirs) = (exp(x), x.exp());
            assert!((ours / theirs - 1.0).abs() <= 1e-15, "{x}: {ours} {theirs}");
        }
        assert_eq!([exp(0.0), exp(-1e9), exp(1e9)], [1.0, exp(-700.0), exp(700.0)]);
    }
}
