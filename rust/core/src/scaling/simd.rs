//! Two floats side by side, on which the processor computes with one instruction.

use bytemuck::cast;
use wide::{f64x2, u64x2};

use crate::storage::math::{self, LN_SERIES, SQRT_HALF, UNIT};

pub type F64x2 = f64x2;
pub const LANES: usize = 2;

/// Whether a comparison holds for both.
#[inline(always)]
pub fn all(comparison: F64x2) -> bool {
    comparison.to_bitmask() == 0b11
}

/// Whether a comparison holds for one or both.
#[inline(always)]
pub fn any(comparison: F64x2) -> bool {
    comparison.to_bitmask() != 0
}

/// The natural logarithms of positive, finite numbers, bit for bit those of [`math::ln`].
#[inline(always)]
pub fn ln(x: F64x2) -> F64x2 {
    if any(x.simd_lt(F64x2::splat(f64::MIN_POSITIVE))) {
        return F64x2::new(x.to_array().map(math::ln));
    }
    let unit = F64x2::splat(UNIT);
    let bits: u64x2 = cast(x);
    let k = (bits - u64x2::splat(SQRT_HALF) + u64x2::splat(1075 << 52)) >> 52;
    let exponent = cast::<_, F64x2>(k | cast::<_, u64x2>(unit)) - unit;
    let m: F64x2 = cast(bits - ((k - u64x2::splat(1075)) << 52));
    let one = F64x2::ONE;
    let s = (m - one) / (m + one);
    let z = s * s;
    let z2 = z * z;
    let [a, b, c, d, e, f, g, h, i, j] = LN_SERIES.map(F64x2::splat);
    let low = (a + b * z) + (c + d * z) * z2;
    let middle = (e + f * z) + (g + h * z) * z2;
    let high = i + j * z;
    let series = low + (middle + high * (z2 * z2)) * (z2 * z2);
    (exponent - F64x2::splat(1075.0)) * F64x2::LN_2 + s * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithms_of_two_numbers_are_those_of_each() {
        let mut x = 5e-324;
        while x < 1e308 {
            let pair = ln(F64x2::new([x, 1e300 / x.max(1e-8)])).to_array();
            assert_eq!(pair, [x, 1e300 / x.max(1e-8)].map(math::ln));
            x = if x < 1e-300 { x * 2.0 } else { x * 1.003_7 };
        }
    }
}
