//! Numbers as files write them, correctly rounded.
//!
//! Most are a few digits with a point among them; those are read eight digits at a time by
//! [`plain`]. What it leaves alone is read by [`leading`], and both give the same bits.

/// Exact powers of ten.
const TENS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The powers of ten that are floats.
const FLOAT_TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The first of them, positive and negative.
const SIGNED_TENS: [[f64; 9]; 2] = [
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8],
    [-1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8],
];

/// Up to this every integer is a float.
const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// One over a power of five: `1/5^k` lies between `bits` and `bits + 1` times `2^-(127 + shift)`, and the
/// highest of the 128 bits is set.
#[derive(Clone, Copy)]
struct Reciprocal {
    bits: u128,
    shift: u32,
}

/// Those of the powers of five that are below 2^63, so that nothing overflows in finding them.
const FIFTHS: [Reciprocal; 28] = {
    let mut fifths = [Reciprocal { bits: 1 << 127, shift: 0 }; 28];
    let (mut k, mut five) = (1, 5_u128);
    while k < fifths.len() {
        // Long division of 2^(127 + shift), from the place on where the first bit is 1.
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
        fifths[k] = Reciprocal { bits, shift };
        five *= 5;
        k += 1;
    }
    fifths
};

/// Eight bytes from a place on, the first the lowest; zeros behind the end.
#[inline(always)]
pub fn eight_bytes(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8).and_then(<[u8]>::first_chunk) {
        Some(eight) => u64::from_le_bytes(*eight),
        None => last_bytes(bytes, at),
    }
}

#[cold]
#[inline(never)]
fn last_bytes(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// A byte in each place.
pub const fn repeated(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// How many of eight bytes are digits before the first that is none.
#[inline]
pub fn count_digits(eight: u64) -> u32 {
    let digits = eight ^ repeated(b'0');
    // The high bit of a byte is set if it is no digit; a carry spoils only what stands behind one.
    let others = (digits.wrapping_add(repeated(0x7f - 9)) | digits) & repeated(0x80);
    others.trailing_zeros() / 8
}

/// The number that the first of eight bytes are, of which there is at least one.
#[inline]
pub fn read_eight(eight: u64, count: u32) -> u64 {
    let digits = (eight ^ repeated(b'0')).wrapping_shl(64 - 8 * count); // zeros before
    let twos = digits.wrapping_mul(1 + (10 << 8)) >> 8 & 0x00ff_00ff_00ff_00ff;
    let fours = twos.wrapping_mul(1 + (100 << 16)) >> 16 & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(1 + (10_000 << 32)) >> 32
}

/// A number, and where it ends.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    pub value: f64,
    pub end: usize,
}

/// The number that begins at a place, if it is one that JSON has too and that is quickly read: no
/// plus, no zeros before, digits around the point, nothing extreme. `ends` says whether it ends before such a
/// byte, or before the end of the text.
#[inline(always)]
pub fn plain(text: &[u8], at: usize, ends: impl Fn(Option<u8>) -> bool) -> Option<Plain> {
    let Some(near) = text.get(at..).and_then(<[u8]>::first_chunk::<16>) else {
        return last_plain(text, at).filter(|found| ends(text.get(found.end).copied()));
    };
    let negative = usize::from(near[0] == b'-');
    let unsigned = near[negative..].first_chunk::<15>()?;
    let (first, next) = (unsigned[0].wrapping_sub(b'0'), unsigned[1]);
    if first > 9 {
        return None;
    }
    let (mut digits, mut start, mut end) = (u64::from(first), None, at + negative + 1);
    if next == b'.' && unsigned[2].is_ascii_digit() {
        // With a sign or without, only digits follow from the fourth byte on: finding the end need not wait.
        let count = count_digits(eight_bytes(near, 3)) as usize;
        let (eight, places) = (eight_bytes(unsigned, 2), count + 1 - negative);
        if count < 8 && ends(Some(near[count + 3])) {
            let digits = digits * TENS[places] + read_eight(eight, places as u32);
            let value = digits as i64 as f64 / SIGNED_TENS[negative][places];
            return Some(Plain { value, end: at + count + 3 });
        }
        if count == 8 {
            digits = digits * TENS[8] + read_eight(eight, 8);
            (start, end) = (Some(end + 1), end + 9);
        }
    } else if ends(Some(next)) {
        return Some(Plain { value: f64::from(first) / SIGNED_TENS[negative][0], end });
    }
    let Plain { value, end } = longer(text, negative == 1, digits, start, end)?;
    ends(text.get(end).copied()).then_some(Plain { value, end })
}

/// A plain number near the end of the text.
#[inline(never)]
fn last_plain(text: &[u8], at: usize) -> Option<Plain> {
    let negative = text.get(at) == Some(&b'-');
    let at = at + usize::from(negative);
    let first = text.get(at).filter(|byte| byte.is_ascii_digit())?;
    longer(text, negative, u64::from(first - b'0'), None, at + 1)
}

/// Whether a number is over where this follows, whatever else may be there.
pub fn is_over(next: Option<u8>) -> bool {
    !matches!(next, Some(b'0'..=b'9' | b'.' | b'e' | b'E'))
}

/// The rest of a plain number behind its first digits, whose places below the point begin at
/// `start`, if they do.
#[inline(never)]
fn longer(
    text: &[u8],
    negative: bool,
    first: u64,
    start: Option<usize>,
    at: usize,
) -> Option<Plain> {
    let (mut digits, mut end) = read_digits(text, at, first)?;
    let start = match start {
        Some(start) => start,
        None if first == 0 && end > at => return None,
        None if text.get(end) == Some(&b'.') => {
            let start = end + 1;
            (digits, end) = read_digits(text, start, digits)?;
            if end == start {
                return None;
            }
            start
        }
        None => end,
    };
    let mut below = (end - start) as i32; // the number is digits / 10^below
    if text.get(end).is_some_and(|byte| byte | 0x20 == b'e') {
        let exponent;
        (exponent, end) = read_exponent(text, end + 1)?;
        below -= exponent;
    }
    let value = scaled(digits, below)?;
    Some(Plain { value: if negative { -value } else { value }, end })
}

/// Go on with the digits that start here; none if they become too many. Also where they end.
#[inline]
pub fn read_digits(text: &[u8], at: usize, before: u64) -> Option<(u64, usize)> {
    let (mut digits, mut at) = (before, at);
    loop {
        let eight = eight_bytes(text, at);
        let count = count_digits(eight);
        if count == 0 {
            return Some((digits, at));
        }
        digits = digits.checked_mul(TENS[count as usize])?.checked_add(read_eight(eight, count))?;
        at += count as usize;
        if count < 8 {
            return Some((digits, at));
        }
    }
}

/// What stands behind the `e`, and where it ends.
#[cold]
fn read_exponent(text: &[u8], at: usize) -> Option<(i32, usize)> {
    let sign = text.get(at);
    let at = at + usize::from(matches!(sign, Some(b'-' | b'+')));
    let eight = eight_bytes(text, at);
    let count = count_digits(eight);
    if !(1..=4).contains(&count) {
        return None;
    }
    let exponent = read_eight(eight, count) as i32;
    Some((if sign == Some(&b'-') { -exponent } else { exponent }, at + count as usize))
}

/// The float nearest to `digits / 10^below`, if that is quickly found.
#[inline]
fn scaled(digits: u64, below: i32) -> Option<f64> {
    if digits <= EXACT && below.unsigned_abs() < FLOAT_TENS.len() as u32 {
        // Both are floats, so one rounding is the only one.
        let ten = FLOAT_TENS[below.unsigned_abs() as usize];
        let digits = digits as i64 as f64;
        return Some(if below < 0 { digits * ten } else { digits / ten });
    }
    if digits == 0 {
        None
    } else {
        divided(digits, FIFTHS.get(usize::try_from(below).ok()?)?, below)
    }
}

/// The float nearest to `digits / 10^below`, unless the bits at hand do not tell.
///
/// The quotient lies between `high` and `high + 2` in units of its last bit, or twice that after a shift: what
/// is cut off of the reciprocal and of the product is less than one such unit each.
#[inline]
fn divided(digits: u64, fifth: &Reciprocal, below: i32) -> Option<f64> {
    const CUT: u32 = u64::BITS - f64::MANTISSA_DIGITS;
    const HALF: u64 = 1 << (CUT - 1);
    const UNSURE: u64 = u64::MAX - 3;
    let zeros = digits.leading_zeros();
    let normal = u128::from(digits << zeros);
    let low = normal * (fifth.bits & u128::from(u64::MAX));
    let high = normal * (fifth.bits >> 64) + (low >> 64);
    // Both factors have their highest bit, so the product lacks at most one.
    let missing = high.leading_zeros();
    let high = high << missing;
    let (kept, rest) = ((high >> 64) as u64, high as u64);
    let up = match kept % (1 << CUT) {
        HALF if rest == 0 => return None,
        part if part == HALF - 1 && rest >= UNSURE => return None,
        part => u64::from(part >= HALF),
    };
    // digits = normal / 2^zeros, 1/5^k = bits / 2^(127 + shift), and the product lost 64 bits.
    let lost = 64 + (64 + CUT) as i32;
    let exponent = lost - (zeros + missing + 127 + fifth.shift) as i32 - below;
    Some(((kept >> CUT) + up) as i64 as f64 * power_of_two(exponent))
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << (f64::MANTISSA_DIGITS - 1))
}

/// The number at the start of a text, and how many bytes it takes: `-1`, `+.5`, `3.`, `1e-5`, `nan`,
/// `inf`, `infinity` (words in any case). One beyond the floats is infinite.
pub fn leading(text: &[u8]) -> Option<(f64, usize)> {
    plain(text, 0, is_over).map(|found| (found.value, found.end)).or_else(|| any(text))
}

#[cold]
fn any(text: &[u8]) -> Option<(f64, usize)> {
    fast_float2::parse_partial(text).ok()
}

/// The number that a text is, all of it.
pub fn whole(text: &[u8]) -> Option<f64> {
    leading(text).filter(|&(_, length)| length == text.len()).map(|(value, _)| value)
}

/// The integer that a text of digits is, if it fits.
pub fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::rng::Generator;

    #[test]
    fn numbers_are_read_as_the_standard_library_reads_them() {
        let texts = [
            "0",
            "-0",
            "1",
            "+1",
            "007",
            "12.5",
            ".5",
            "5.",
            "1e3",
            "1E-3",
            "1e+3",
            "-2.5e-7",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993.5",
            "0.1",
            "0.3",
            "1e22",
            "1e23",
            "123456789012345678901234567890",
            "0.30000000000000004",
            "2.2250738585072011e-308",
            "5e-324",
            "1e-400",
            "1e400",
            "-1e400",
            "1.7976931348623157e308",
            "1e0000000000000000005",
            "0.000000000000000000000000000001",
            "1e99999999999",
            "0e99999999999",
            "1e-99999999999",
        ];
        for text in texts {
            let expected: f64 = text.parse().unwrap();
            let (value, length) = leading(text.as_bytes()).unwrap();
            assert_eq!(value.to_bits(), expected.to_bits(), "{text}");
            assert_eq!(length, text.len(), "{text}");
        }
    }

    /// That a number is read as the standard library reads it, with nothing or something behind.
    fn check(text: &str) {
        let expected: f64 = text.parse().unwrap();
        let padded = format!("{text}, 12345678");
        for text in [text, &padded] {
            let (value, length) = leading(text.as_bytes()).unwrap();
            assert_eq!(value.to_bits(), expected.to_bits(), "{text}");
            assert_eq!(length, padded.len() - ", 12345678".len(), "{text}");
            if let Some(found) = plain(text.as_bytes(), 0, is_over) {
                assert_eq!((found.value.to_bits(), found.end), (value.to_bits(), length), "{text}");
            }
        }
    }

    #[test]
    fn random_digits_with_a_point_and_an_exponent_are_read_to_the_last_bit() {
        let mut random = Generator::from_seed(1);
        let mut below = |limit: u32| (random.uniform() * f64::from(limit)) as u32;
        for round in 0..60_000 {
            let mut text = String::from(["", "-"][below(2) as usize]);
            let digits = |text: &mut String, count: u32, below: &mut dyn FnMut(u32) -> u32| {
                text.extend((0..count).map(|_| char::from(b'0' + below(10) as u8)));
            };
            let whole = 1 + below(if round % 5 == 0 { 21 } else { 3 });
            digits(&mut text, whole, &mut below);
            if below(4) > 0 {
                text.push('.');
                let zeros = below(if round % 3 == 0 { 12 } else { 1 });
                text.extend((0..zeros).map(|_| '0'));
                let count = 1 + below(20);
                digits(&mut text, count, &mut below);
            }
            if below(3) == 0 {
                text.push(['e', 'E'][below(2) as usize]);
                text.push_str(["", "-", "+"][below(3) as usize]);
                let count = 1 + below(3);
                digits(&mut text, count, &mut below);
            }
            check(&text);
        }
    }

    #[test]
    fn floats_written_short_or_long_are_read_back() {
        let mut random = Generator::from_seed(2);
        for _ in 0..20_000 {
            let value =
                (random.uniform() - 0.5) * 10_f64.powi((random.uniform() * 24.0) as i32 - 12);
            for text in [
                format!("{value}"),
                format!("{value:?}"),
                format!("{value:.6}"),
                format!("{value:.16e}"),
                format!("{value:.17e}"),
                format!("{value:.25}"),
            ] {
                check(&text);
            }
        }
    }

    #[test]
    fn the_quick_way_is_the_way_of_most() {
        let mut random = Generator::from_seed(4);
        for _ in 0..10_000 {
            let value = 200.0 * (random.uniform() - 0.5);
            for text in [format!("{value}"), format!("{value:.6}"), format!("{value:.12e}")] {
                assert!(plain(text.as_bytes(), 0, is_over).is_some(), "{text}");
            }
        }
        for text in ["0.1234567890123456789012", "1e300", "5e-324", "007", ".5", "5.", "+1", "nan"]
        {
            assert!(plain(text.as_bytes(), 0, is_over).is_none(), "{text}");
        }
    }

    #[test]
    fn numbers_halfway_between_two_floats_and_beside_it_go_the_right_way() {
        let mut random = Generator::from_seed(3);
        for _ in 0..5_000 {
            // 54 bits, the last of them 1, and up to 9 places more before the point.
            let halfway = (1 << 53) + 2 * (random.uniform() * 4.5e15) as u64 + 1;
            let shift = (random.uniform() * 10.0) as u32;
            for digits in [halfway - 1, halfway, halfway + 1] {
                check(&digits.to_string());
                // digits / 2^shift, whose decimals end after `shift` places.
                let scaled = u128::from(digits) * 5_u128.pow(shift);
                for scaled in [scaled - 1, scaled, scaled + 1] {
                    let (whole, part) = (scaled / 10_u128.pow(shift), scaled % 10_u128.pow(shift));
                    check(&format!("{whole}.{part:0width$}", width = shift.max(1) as usize));
                    check(&format!("{scaled}e-{shift}"));
                }
            }
        }
    }

    #[test]
    fn eight_bytes_begin_with_digits_or_not() {
        for (text, number, count) in [
            ("12345678", 12_345_678, 8),
            ("00000001", 1, 8),
            ("1234567:", 1_234_567, 7),
            ("9/999999", 9, 1),
            ("9:999999", 9, 1),
            ("42\u{80}999", 42, 2),
            ("7\u{ff}\u{ff}", 7, 1),
            ("0", 0, 1),
        ] {
            let eight = eight_bytes(text.as_bytes(), 0);
            assert_eq!((read_eight(eight, count), count_digits(eight)), (number, count), "{text}");
        }
        for text in ["", "x1", ":12", "/12", "\u{b0}1"] {
            assert_eq!(count_digits(eight_bytes(text.as_bytes(), 0)), 0, "{text}");
        }
        assert_eq!(eight_bytes(b"ab", 0), 0x6261);
        assert_eq!(eight_bytes(b"abcdefghi", 1), u64::from_le_bytes(*b"bcdefghi"));
        assert_eq!(eight_bytes(b"ab", 3), 0);
    }

    #[test]
    fn a_number_ends_where_it_ends() {
        let cases = [
            ("1 2", 1),
            ("1.5e", 3),
            ("1e+x", 1),
            ("2:3", 1),
            ("1.2.3", 3),
            ("nano", 3),
            ("5., and more behind", 2),
        ];
        for (text, length) in cases {
            assert_eq!(leading(text.as_bytes()).unwrap().1, length, "{text}");
        }
        for text in ["", "-", "+", ".", "e5", "x", "-.e1", "in", "ä"] {
            assert_eq!(leading(text.as_bytes()).map(|found| found.1), None, "{text}");
        }
        assert_eq!(leading(b"-INF"), Some((f64::NEG_INFINITY, 4)));
        assert_eq!(leading(b"+Infinity"), Some((f64::INFINITY, 9)));
        assert!(leading(b"NaN").unwrap().0.is_nan());
    }

    #[test]
    fn an_integer_is_one_that_fits() {
        assert_eq!(integer("-12"), Some(-12));
        assert_eq!(integer("007"), Some(7));
        for text in ["", "-", "+1", "1.0", "x", "9223372036854775808"] {
            assert_eq!(integer(text), None, "{text}");
        }
    }
}
