//! Numbers as files write them, correctly rounded.

const MOST_DIGITS: usize = 19; // 10^19 - 1 fits 64 bits
const EXACT: u64 = 1 << 53; // integers up to here are floats
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The number at the start of a text, and how many bytes it takes: `-1`, `+.5`, `3.`, `1e-5`, `nan`,
/// `inf`, `infinity` (words in any case). One beyond the floats is infinite.
pub fn leading(text: &str) -> Option<(f64, usize)> {
    let bytes = text.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let signed = usize::from(negative || bytes.first() == Some(&b'+'));
    let (mut at, mut mantissa) = (signed, 0_u64);
    let digits = |at: &mut usize, mantissa: &mut u64| {
        let start = *at;
        while let Some(digit) = bytes.get(*at).map(|byte| byte.wrapping_sub(b'0'))
            && digit < 10
        {
            *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            *at += 1;
        }
        *at - start
    };
    let mut count = digits(&mut at, &mut mantissa);
    let mut power = 0_i64;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        let decimals = digits(&mut at, &mut mantissa);
        power = -(decimals as i64);
        count += decimals;
    }
    if count == 0 {
        return word(text, signed).map(|(value, end)| (if negative { -value } else { value }, end));
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let down = bytes.get(at + 1) == Some(&b'-');
        let mut end = at + 1 + usize::from(down || bytes.get(at + 1) == Some(&b'+'));
        let mut exponent = 0;
        let length = digits(&mut end, &mut exponent);
        if length > 0 {
            at = end;
            let exponent = if length > 4 { i64::from(i32::MAX) } else { exponent as i64 };
            power += if down { -exponent } else { exponent };
        }
    }
    if count <= MOST_DIGITS && mantissa <= EXACT && power.unsigned_abs() < POWERS.len() as u64 {
        // Both are exact floats, so one operation rounds correctly.
        let (whole, scale) = (mantissa as f64, POWERS[power.unsigned_abs() as usize]);
        let size = if power < 0 { whole / scale } else { whole * scale };
        return Some((if negative { -size } else { size }, at));
    }
    text[..at].parse().ok().map(|value| (value, at))
}

/// `nan`, `inf` or `infinity` from `start` on, without its sign.
fn word(text: &str, start: usize) -> Option<(f64, usize)> {
    let words = [("infinity", f64::INFINITY), ("inf", f64::INFINITY), ("nan", f64::NAN)];
    words.into_iter().find_map(|(word, value)| {
        let end = start + word.len();
        let found = text.as_bytes().get(start..end)?;
        found.eq_ignore_ascii_case(word.as_bytes()).then_some((value, end))
    })
}

/// The number that a text is, all of it.
pub fn whole_text(text: &str) -> Option<f64> {
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
            let (value, length) = leading(text).unwrap();
            assert_eq!(value.to_bits(), expected.to_bits(), "{text}");
            assert_eq!(length, text.len(), "{text}");
        }
    }

    #[test]
    fn a_number_ends_where_it_ends() {
        let cases = [("1 2", 1), ("1.5e", 3), ("1e+x", 1), ("2:3", 1), ("1.2.3", 3), ("nano", 3)];
        for (text, length) in cases {
            assert_eq!(leading(text).unwrap().1, length, "{text}");
        }
        for text in ["", "-", "+", ".", "e5", "x", "-.e1", "in", "ä"] {
            assert_eq!(leading(text).map(|found| found.1), None, "{text}");
        }
        assert_eq!(leading("-INF"), Some((f64::NEG_INFINITY, 4)));
        assert_eq!(leading("+Infinity"), Some((f64::INFINITY, 9)));
        assert!(leading("NaN").unwrap().0.is_nan());
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
