//! Numbers as people write them: with a unit, a currency, a decimal comma.

use crate::readers::number::whole;

/// A number and what it is a number of: `°C`, `$`, or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    pub value: f64,
    pub unit: String,
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoQuantity {
    /// It has a comma, and nobody has said what it stands for.
    Comma,
    Other,
}

/// Words for a value that is not there.
pub fn is_missing(text: &str) -> bool {
    const WORDS: [&str; 8] = ["", "-", "na", "n/a", "nan", "none", "null", "?"];
    WORDS.iter().any(|word| text.trim().eq_ignore_ascii_case(word))
}

/// Read `21.5 °C`, `-$3.20`, `1,5` (with `decimal` a comma), `1,234.5` (with `decimal` a point).
pub fn parse(text: &str, decimal: Option<char>) -> Result<Quantity, NoQuantity> {
    let trimmed = text.trim();
    let (sign, unsigned) = match trimmed.strip_prefix(['-', '−', '+']) {
        Some(rest) => (if trimmed.starts_with('+') { 1.0 } else { -1.0 }, rest.trim_start()),
        None => (1.0, trimmed),
    };
    let start = unsigned.find(|c: char| c.is_ascii_digit()).ok_or(NoQuantity::Other)?;
    let start = if unsigned[..start].ends_with('.') { start - 1 } else { start };
    let (prefix, rest) = unsigned.split_at(start);
    let (sign, prefix) = match prefix.trim_end().strip_suffix(['-', '−']) {
        Some(before) => (-sign, before),
        None => (sign, prefix),
    };
    let (number, suffix) = rest.split_at(number_end(rest));
    let (prefix, suffix) = (prefix.trim(), suffix.trim());
    if !is_prefix(prefix) || !is_suffix(suffix) {
        return Err(NoQuantity::Other);
    }
    let plain: String = match decimal {
        _ if !number.contains([',', '.', '\'', '\u{a0}', ' ']) => number.to_owned(),
        Some(',') => number.replace(['.', '\'', '\u{a0}', ' '], "").replace(',', "."),
        Some(_) => number.replace([',', '\'', '\u{a0}', ' '], ""),
        None if number.contains(',') => return Err(NoQuantity::Comma),
        None => number.replace(['\'', '\u{a0}', ' '], ""),
    };
    let value = whole(plain.as_bytes()).filter(|value| value.is_finite());
    let value = sign * value.ok_or(NoQuantity::Other)?;
    let unit = match (prefix, suffix) {
        ("", unit) | (unit, "") => unit.to_owned(),
        (prefix, suffix) => format!("{prefix} {suffix}"),
    };
    Ok(Quantity { value, unit })
}

/// Where the number at the start of a text ends: digits, the signs between them, an exponent.
fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    loop {
        if is_digit(end) {
            end += 1;
        } else if matches!(bytes.get(end), Some(b'.' | b',' | b'\'')) && is_digit(end + 1) {
            end += 2;
        } else if matches!(bytes.get(end), Some(b' ')) && has_three_digits(&bytes[end + 1..]) {
            end += 4;
        } else if text[end..].starts_with('\u{a0}') && has_three_digits(&bytes[end + 2..]) {
            end += 5;
        } else {
            break;
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if is_digit(end + 1 + sign) {
            end += 1 + sign;
            while is_digit(end) {
                end += 1;
            }
        }
    }
    end
}

/// Whether a group of three digits, and no fourth, starts here.
fn has_three_digits(bytes: &[u8]) -> bool {
    bytes.len() >= 3
        && bytes[..3].iter().all(u8::is_ascii_digit)
        && !bytes.get(3).is_some_and(u8::is_ascii_digit)
}

/// A currency: a sign, or three capital letters.
fn is_prefix(text: &str) -> bool {
    text.is_empty()
        || ["$", "€", "£", "¥", "₹", "₩", "US$"].contains(&text)
        || (text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_uppercase()))
}

/// A unit: it starts with a letter or a sign, and no second number follows.
fn is_suffix(text: &str) -> bool {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return true };
    let begins = first.is_alphabetic() || "%°µΩ$€£¥‰".contains(first) || !first.is_ascii();
    begins
        && text.chars().count() <= 12
        && characters.all(|c| c.is_alphanumeric() || " /%^²³·*.°".contains(c) || !c.is_ascii())
        && !text.split(' ').any(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_units() {
        for (text, decimal, value, unit) in [
            ("21.5 °C", None, 21.5, "°C"),
            ("21.5", None, 21.5, ""),
            (" -3kWh ", None, -3.0, "kWh"),
            ("−3 m/s", None, -3.0, "m/s"),
            ("$3.20", None, 3.2, "$"),
            ("-$3.20", None, -3.2, "$"),
            ("€ -7", None, -7.0, "€"),
            ("USD 12", None, 12.0, "USD"),
            ("12 €", None, 12.0, "€"),
            ("45%", None, 45.0, "%"),
            (".5 mm", None, 0.5, "mm"),
            ("1e3 Pa", None, 1000.0, "Pa"),
            ("1,5", Some(','), 1.5, ""),
            ("1.234,5 kg", Some(','), 1234.5, "kg"),
            ("1,234.5 kg", Some('.'), 1234.5, "kg"),
            ("12 345 kg", None, 12345.0, "kg"),
            ("12'345", None, 12345.0, ""),
            ("3 m2", None, 3.0, "m2"),
        ] {
            let expected = Ok(Quantity { value, unit: unit.to_owned() });
            assert_eq!(parse(text, decimal), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_refused_and_so_is_a_comma_that_nobody_explains() {
        for text in ["1,5", "1,234", "1,234.5 kg", "3,50 €"] {
            assert_eq!(parse(text, None), Err(NoQuantity::Comma), "{text}");
        }
        for text in [
            "",
            "roof",
            "10:30:00",
            "2026-11-18",
            "12-34",
            "192.168.0.1",
            "a very long text with 7",
            "7 of 9",
            "room 7",
            "1e999",
            "#7",
            "12_3",
            "v2",
        ] {
            let read = parse(text, Some('.'));
            assert!(read.is_err(), "{text}: {read:?}");
        }
        assert!(is_missing("N/A") && is_missing(" ") && !is_missing("0"));
    }
}
