//! The float nearest to an integer divided by a power of ten.
//!
//! Where integer and power are floats themselves, one division rounds correctly. Otherwise the
//! integer is multiplied by the power's reciprocal of 128 bits, and the product rounded, unless it
//! lies too close to the middle between two floats to tell.
//!
//! `fast-float2` can do this as well, but starts from text. The reciprocals are here because
//! `number.rs` has read the digits already: a whole svmlight or JSON-lines file of 17-digit numbers,
//! as Python and scikit-learn write them, is read in less time than by `fast-float2`.

/// The powers of ten that are floats.
const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Up to here every integer is a float.
const LARGEST_EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// `1 / 5^k`, which lies between `bits` and `bits + 1` times `2^-(127 + shift)`. The highest bit of
/// `bits` is set.
#[derive(Clone, Copy)]
struct Reciprocal {
    bits: u128,
    shift: u32,
}

/// By `k`: the powers of five below 2^63, so that the long division below cannot overflow.
const RECIPROCALS: [Reciprocal; 28] = {
    let mut reciprocals = [Reciprocal { bits: 1 << 127, shift: 0 }; 28];
    let (mut k, mut five) = (1, 5_u128);
    while k < reciprocals.len() {
        // Long division of 2^(127 + shift) by 5^k, from the first bit that is 1.
        let shift = u128::BITS - five.leading_zeros();
        let (mut bits, mut rest, mut digit) = (0, 1_u128 << (shift - 1), 0);
        while digit < u128::BITS {
            rest <<= 1;
            bits <<= 1;
            if rest >= five {
                rest -= five;
                bits |= 1;
            }
            digit += 1;
        }
        reciprocals[k] = Reciprocal { bits, shift };
        five *= 5;
        k += 1;
    }
    reciprocals
};

/// The float nearest to `digits / 10^decimals`, if it is quickly found.
#[inline]
pub fn nearest(digits: u64, decimals: i32) -> Option<f64> {
    if digits <= LARGEST_EXACT
        && let Some(&power) = POWERS_OF_TEN.get(decimals.unsigned_abs() as usize)
    {
        let digits = digits as i64 as f64;
        return Some(if decimals < 0 { digits * power } else { digits / power });
    }
    let reciprocal = RECIPROCALS.get(usize::try_from(decimals).ok()?)?;
    if digits == 0 { None } else { multiplied(digits, reciprocal, decimals) }
}

/// The float nearest to `digits / 10^decimals`, for `digits` above 0; none if 128 bits do not tell.
///
/// The true quotient lies between `high` and `high + 2` in units of the last bit of `high`, or
/// twice that after a shift: what is cut off from the reciprocal and from the product is less than
/// one unit each.
#[inline]
fn multiplied(digits: u64, reciprocal: &Reciprocal, decimals: i32) -> Option<f64> {
    const CUT: u32 = u64::BITS - f64::MANTISSA_DIGITS;
    const HALF: u64 = 1 << (CUT - 1);
    const UNSURE: u64 = u64::MAX - 3;
    let zeros = digits.leading_zeros();
    let normal = u128::from(digits << zeros);
    let low = normal * (reciprocal.bits & u128::from(u64::MAX));
    let high = normal * (reciprocal.bits >> 64) + (low >> 64);
    // Both factors have their highest bit set, so the product lacks at most one.
    let missing = high.leading_zeros();
    let high = high << missing;
    let (kept, rest) = ((high >> 64) as u64, high as u64);
    let up = match kept % (1 << CUT) {
        HALF if rest == 0 => return None,
        part if part == HALF - 1 && rest >= UNSURE => return None,
        part => u64::from(part >= HALF),
    };
    // digits = normal / 2^zeros, 1 / 5^k = bits / 2^(127 + shift), and the product lost 64 bits.
    let lost = 64 + (64 + CUT) as i32;
    let exponent = lost - (zeros + missing + 127 + reciprocal.shift) as i32 - decimals;
    Some(((kept >> CUT) + up) as i64 as f64 * power_of_two(exponent))
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << (f64::MANTISSA_DIGITS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::rng::Generator;

    /// Compare with the standard library; whether the quick way gave an answer.
    fn agrees(digits: u64, decimals: i32) -> bool {
        let expected: f64 = format!("{digits}e{}", -decimals).parse().unwrap();
        let found = nearest(digits, decimals);
        if let Some(value) = found {
            assert_eq!(value.to_bits(), expected.to_bits(), "{digits} / 10^{decimals}");
        }
        found.is_some()
    }

    #[test]
    fn integers_and_powers_that_are_floats_are_divided_or_multiplied() {
        for digits in [0, 1, 3, 12_345_678, LARGEST_EXACT - 1, LARGEST_EXACT] {
            for decimals in -22..=22 {
                assert!(agrees(digits, decimals), "{digits} / 10^{decimals}");
            }
        }
    }

    #[test]
    fn long_integers_are_rounded_to_the_last_bit() {
        let mut random = Generator::from_seed(11);
        let mut found = 0;
        for _ in 0..40_000 {
            let bits = 54.0 + 10.0 * random.uniform();
            let digits = bits.exp2() as u64;
            found += u32::from(agrees(digits, (28.0 * random.uniform()) as i32));
        }
        assert!(found > 39_900, "{found}");
    }

    #[test]
    fn extremes_are_left_to_others() {
        assert_eq!(nearest(1, 23), Some(1e-23));
        for (digits, decimals) in [(1, 28), (1, -23), (0, 23), (0, 400), (u64::MAX, -1)] {
            assert_eq!(nearest(digits, decimals), None, "{digits} / 10^{decimals}");
        }
        assert_eq!(nearest(LARGEST_EXACT + 1, 0), None); // exactly in the middle
        assert_eq!(nearest(LARGEST_EXACT + 2, 0), Some((LARGEST_EXACT + 2) as f64));
    }
}
