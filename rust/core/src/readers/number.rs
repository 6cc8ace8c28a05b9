//! Numbers as files write them, correctly rounded.

/// The number at the start of a text, and how many bytes it takes: `-1`, `+.5`, `3.`, `1e-5`, `nan`,
/// `inf`, `infinity` (words in any case). One beyond the floats is infinite.
pub fn leading(text: &str) -> Option<(f64, usize)> {
    fast_float2::parse_partial(text).ok()
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
