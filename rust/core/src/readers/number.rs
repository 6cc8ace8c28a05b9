//! Numbers as files write them, correctly rounded: all ways to read one give the same bits.
//!
//! [`leading`] and [`whole`] read any spelling, by `fast-float2`. [`json_number`] serves the loops
//! that read thousands of numbers from one line: a number in the spelling of JSON that is quickly
//! read, and nothing for any other. Its first part, inlined into those loops, reads `-1.2345678`,
//! up to one digit before the point and eight behind it, in half the time of `fast-float2`;
//! [`longer`] reads the rest eight digits at a time, and `decimal.rs` rounds.

use crate::readers::decimal;
use crate::readers::swar::{count_digits, eight_bytes, read_digits, read_two};
use crate::readers::window::Window;

const POWERS_OF_TEN: [u64; 9] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Powers of ten, positive and negative: dividing by one also gives the sign, of a zero as well.
const SIGNED_POWERS_OF_TEN: [[f64; 9]; 2] = [
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8],
    [-1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8],
];

/// A number and where it ends.
#[derive(Clone, Copy, Debug)]
pub struct ParsedNumber {
    pub value: f64,
    pub end: usize,
}

/// The finite number that starts at `at`, if it is quickly read and in the spelling of JSON: no
/// plus, no zeros in front, digits on both sides of the point, not `-0`. `ends` says whether it may end at a
/// byte and a place. The text goes on behind the number for a window at least.
#[inline(always)]
pub fn json_number(
    text: &[u8],
    at: usize,
    ends: impl Fn(u8, usize) -> bool,
) -> Option<ParsedNumber> {
    let near: &[u8; 16] = text.get(at..)?.first_chunk()?;
    let negative = usize::from(near[0] == b'-');
    let unsigned = near[negative..].first_chunk::<15>()?;
    let (first, next) = (unsigned[0].wrapping_sub(b'0'), unsigned[1]);
    if first > 9 {
        return None;
    }
    if next == b'.' && unsigned[2].is_ascii_digit() {
        // With a sign or without, only decimals follow from the fourth byte on: their end is found
        // without waiting for the sign.
        let count = count_digits(eight_bytes(near, 3)) as usize;
        if count < 8 && ends(near[count + 3], at + count + 3) {
            let decimals = count + 1 - negative;
            let digits = u64::from(first) * POWERS_OF_TEN[decimals]
                + read_digits(eight_bytes(unsigned, 2), decimals as u32);
            let value = digits as i64 as f64 / SIGNED_POWERS_OF_TEN[negative][decimals];
            return Some(ParsedNumber { value, end: at + count + 3 });
        }
        if count == 8 {
            let number = many_decimals(text, at + negative, negative == 1)?;
            return ends(*text.get(number.end)?, number.end).then_some(number);
        }
    } else if ends(next, at + negative + 1) {
        if negative == 1 && first == 0 {
            return None; // formats differ in what an integer -0 is
        }
        let value = f64::from(first) / SIGNED_POWERS_OF_TEN[negative][0];
        return Some(ParsedNumber { value, end: at + negative + 1 });
    }
    let number = longer(text, at + negative, negative == 1, u64::from(first))?;
    ends(*text.get(number.end)?, number.end).then_some(number)
}

/// As [`json_number`], for any number of digits or an exponent, from its `first` digit on.
#[inline(never)]
fn longer(text: &[u8], at: usize, negative: bool, first: u64) -> Option<ParsedNumber> {
    let (mut digits, mut end) = unsigned_integer(text, at + 1, first)?;
    if first == 0 && end > at + 1 {
        return None;
    }
    if negative && digits == 0 && !matches!(text.get(end), Some(b'.' | b'e' | b'E')) {
        return None; // -0
    }
    let mut decimals = 0;
    if text.get(end) == Some(&b'.') {
        let point = end;
        (digits, end) = unsigned_integer(text, point + 1, digits)?;
        decimals = (end - point - 1) as i32;
        if decimals == 0 {
            return None;
        }
    }
    scaled(text, end, negative, digits, decimals)
}

/// As [`longer`], for a digit behind which a point and at least eight decimals are known to stand.
#[inline(never)]
fn many_decimals(text: &[u8], at: usize, negative: bool) -> Option<ParsedNumber> {
    let window = Window::of(text, at)?;
    let first = u64::from(window.byte(0) - b'0');
    let end = window.others::<2>(2).trailing_zeros();
    let decimals = end - 2;
    if !(9..19).contains(&decimals) {
        return longer(text, at, negative, first);
    }
    let count = (decimals - 8).min(8);
    let [high, low] = read_two([window.eight(2), window.eight(10)], [8, count]);
    let mut digits = (first * POWERS_OF_TEN[8] + high) * POWERS_OF_TEN[count as usize] + low;
    if decimals > 16 {
        let rest = decimals - 16;
        digits = digits * POWERS_OF_TEN[rest as usize] + read_digits(window.eight(18), rest);
    }
    scaled(text, at + end as usize, negative, digits, decimals as i32)
}

/// The number `digits / 10^decimals`, times ten to the power of the exponent that may stand at
/// `end`.
#[inline(always)]
fn scaled(
    text: &[u8],
    mut end: usize,
    negative: bool,
    digits: u64,
    mut decimals: i32,
) -> Option<ParsedNumber> {
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let power;
        (power, end) = exponent(text, end + 1)?;
        decimals -= power;
    }
    let value = decimal::nearest(digits, decimals)?;
    Some(ParsedNumber { value: if negative { -value } else { value }, end })
}

/// The digits from `at` on as an integer, behind the digits of `before`, and where they end;
/// nothing if it does not fit into 64 bits. There may be no digits at all.
#[inline]
pub fn unsigned_integer(text: &[u8], at: usize, before: u64) -> Option<(u64, usize)> {
    let (mut number, mut at) = (before, at);
    loop {
        let eight = eight_bytes(text, at);
        let count = count_digits(eight);
        if count == 0 {
            return Some((number, at));
        }
        let shifted = number.checked_mul(POWERS_OF_TEN[count as usize])?;
        number = shifted.checked_add(read_digits(eight, count))?;
        at += count as usize;
        if count < 8 {
            return Some((number, at));
        }
    }
}

/// The exponent of up to four digits that starts behind the `e`, and where it ends.
#[cold]
fn exponent(text: &[u8], at: usize) -> Option<(i32, usize)> {
    let sign = text.get(at);
    let at = at + usize::from(matches!(sign, Some(b'-' | b'+')));
    let eight = eight_bytes(text, at);
    let count = count_digits(eight);
    if !(1..=4).contains(&count) {
        return None;
    }
    let exponent = read_digits(eight, count) as i32;
    Some((if sign == Some(&b'-') { -exponent } else { exponent }, at + count as usize))
}

/// The number at the start of a text, and how many bytes it takes: `-1`, `+.5`, `3.`, `1e-5`,
/// `nan`, `inf`, `infinity` (words in any case). One beyond the largest float is infinite.
pub fn leading(text: &[u8]) -> Option<(f64, usize)> {
    fast_float2::parse_partial(text).ok()
}

/// The number that a text is, all of it.
pub fn whole(text: &[u8]) -> Option<f64> {
    fast_float2::parse(text).ok()
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
    use crate::readers::lines::padded;
    use crate::storage::rng::Generator;

    /// Whether a number is over where this follows.
    fn is_over(next: u8, _: usize) -> bool {
        !matches!(next, b'0'..=b'9' | b'.' | b'e' | b'E')
    }

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
        let followed = format!("{text}, 12345678");
        for text in [text, &followed] {
            let (value, length) = leading(text.as_bytes()).unwrap();
            assert_eq!(value.to_bits(), expected.to_bits(), "{text}");
            assert_eq!(length, followed.len() - ", 12345678".len(), "{text}");
            if let Some(found) = json_number(&padded(text), 0, is_over) {
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
                assert!(json_number(&padded(&text), 0, is_over).is_some(), "{text}");
            }
        }
        for text in ["0.1234567890123456789012", "1e300", "5e-324", "007", ".5", "5.", "+1", "nan"]
        {
            assert!(json_number(&padded(text), 0, is_over).is_none(), "{text}");
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
