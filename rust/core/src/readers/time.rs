//! Times: as ISO 8601 writes them, or as a number since 1970. All are in UTC, in microseconds.

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// From the year 1 to the year 9999.
const FIRST: i64 = -62_135_596_800 * SECOND;
const LAST: i64 = 253_402_300_799 * SECOND;

/// The time that a text is: `2026-11-16`, `2026-11-16T10:00`, `2026-11-16 10:00:03.25+01:00`, or with
/// dots `16.11.2026 10:00`, ... Without an offset it is in UTC.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let with_dots = bytes.get(2) == Some(&b'.') && bytes.get(5) == Some(&b'.');
    let (year, month, day) = if with_dots {
        (digits(bytes, 6, 4)?, digits(bytes, 3, 2)?, digits(bytes, 0, 2)?)
    } else if bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-') {
        (digits(bytes, 0, 4)?, digits(bytes, 5, 2)?, digits(bytes, 8, 2)?)
    } else {
        return None;
    };
    let days = days_since_1970(year, month, day)?;
    let mut time = days * DAY;
    let mut rest = &bytes[10..];
    if let Some((b'T' | b't' | b' ', clock)) = rest.split_first() {
        let (of_day, behind) = clock_time(clock)?;
        time += of_day;
        rest = behind;
    }
    time -= offset(rest)?;
    in_range(time)
}

/// The time that a number is: seconds, milliseconds, microseconds or nanoseconds since 1970, by its
/// size.
pub fn of_number(number: f64) -> Option<i64> {
    let micros = match number.abs() {
        size if size < 1e11 => number * 1e6,
        size if size < 1e14 => number * 1e3,
        size if size < 1e17 => number,
        size if size < 1e20 => number / 1e3,
        _ => return None, // NaN too
    };
    in_range(micros.round() as i64)
}

pub fn hour(time: i64) -> i64 {
    time.rem_euclid(DAY) / (3_600 * SECOND)
}

pub fn weekday(time: i64) -> &'static str {
    // 1970 began on a Thursday
    ["thu", "fri", "sat", "sun", "mon", "tue", "wed"][time.div_euclid(DAY).rem_euclid(7) as usize]
}

fn in_range(time: i64) -> Option<i64> {
    (FIRST..=LAST).contains(&time).then_some(time)
}

fn digits(bytes: &[u8], at: usize, count: usize) -> Option<i64> {
    let digits = bytes.get(at..at + count)?;
    let digit =
        |value, byte: &u8| byte.is_ascii_digit().then(|| 10 * value + i64::from(byte - b'0'));
    digits.iter().try_fold(0, digit)
}

/// `10:00`, `10:00:03`, `10:00:03.25`, as microseconds, and what stands behind it.
fn clock_time(text: &[u8]) -> Option<(i64, &[u8])> {
    let (hour, minute) = (digits(text, 0, 2)?, digits(text, 3, 2)?);
    if text[2] != b':' || hour > 23 || minute > 59 {
        return None;
    }
    let (mut time, mut end) = ((3_600 * hour + 60 * minute) * SECOND, 5);
    if text.get(5) == Some(&b':') {
        let second = digits(text, 6, 2).filter(|second| *second <= 60)?;
        time += second * SECOND;
        end = 8;
        if let Some(b'.' | b',') = text.get(8) {
            let count = text[9..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if count == 0 {
                return None;
            }
            let mut scale = SECOND;
            for byte in &text[9..9 + count] {
                scale /= 10; // digits behind the sixth count for nothing
                time += i64::from(byte - b'0') * scale;
            }
            end = 9 + count;
        }
    }
    Some((time, &text[end..]))
}

/// `Z`, `+01:00`, `-0530`, ` UTC` or nothing, as microseconds.
fn offset(text: &[u8]) -> Option<i64> {
    let (sign, rest) = match text {
        b"" | b"Z" | b"z" | b" UTC" | b" Z" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let hours = digits(rest, 0, 2)?;
    let minutes = match rest.len() {
        2 => 0,
        4 => digits(rest, 2, 2)?,
        5 if rest[2] == b':' => digits(rest, 3, 2)?,
        _ => return None,
    };
    (hours < 24 && minutes < 60).then_some(sign * (3_600 * hours + 60 * minutes) * SECOND)
}

fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month - 1).ok()?)?;
    if year < 1 || day < 1 || day > length {
        return None;
    }
    let before = year - 1;
    let years = 365 * before + before / 4 - before / 100 + before / 400;
    let months: i64 = lengths[..month as usize - 1].iter().sum();
    Some(years + months + day - 1 - 719_162)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_the_forms_that_files_have() {
        let expected = 1_794_993_603 * SECOND; // date -u -d '2026-11-18T09:20:03Z' +%s
        for text in [
            "2026-11-18T09:20:03Z",
            "2026-11-18 09:20:03",
            " 2026-11-18t09:20:03.000000999z ",
            "2026-11-18T10:20:03+01:00",
            "2026-11-18T03:50:03-0530",
            "2026-11-18 09:20:03 UTC",
            "2026-11-18T11:20:03+02",
            "18.11.2026 09:20:03",
            "18.11.2026 10:20:03+01:00",
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        assert_eq!(parse("2026-11-18T09:20:03,25"), Some(expected + SECOND / 4));
        assert_eq!(parse("2026-11-18T09:20"), Some(expected - 3 * SECOND));
        assert_eq!(parse("1970-01-01"), Some(0));
        assert_eq!(parse("01.01.1970"), Some(0));
        assert_eq!(parse("1969-12-31T23:59:59"), Some(-SECOND));
        assert_eq!(parse("0001-01-01"), Some(FIRST));
        assert_eq!(parse("9999-12-31T23:59:59"), Some(LAST));
        assert_eq!(parse("2000-02-29").map(|time| time / DAY), Some(11_016));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "roof",
            "12",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-00-10",
            "2026-11-18T",
            "2026/11/18",
            "2026-11-18T25:00",
            "2026-11-18T09:20:03+1",
            "2026-11-18T09:20:03.",
            "2026-11-18Tnoon",
            "11/18/2026",
            "18.11.26",
            "8.11.2026",
            "18.13.2026",
            "18.11-2026",
            "2026-11-18T09:20:03+99:00",
            "2026-11-18 and more",
            "2026-1-1",
            "ä026-11-18",
            "0000-01-01",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        for number in [f64::NAN, f64::INFINITY, 1e21, -9e13] {
            assert_eq!(of_number(number), None, "{number}");
        }
    }

    #[test]
    fn a_number_is_in_the_unit_that_makes_it_a_date() {
        let expected = Some(1_794_993_603 * SECOND);
        for number in [1_794_993_603.0, 1_794_993_603e3, 1_794_993_603e6, 1_794_993_603e9] {
            assert_eq!(of_number(number), expected, "{number}");
        }
        assert_eq!(of_number(0.25), Some(SECOND / 4));
        assert_eq!(of_number(-1.0), Some(-SECOND));
    }

    #[test]
    fn hours_and_weekdays_are_those_of_utc() {
        let time = parse("2026-11-18T01:20:03+02:00").unwrap(); // a Wednesday, there
        assert_eq!((hour(time), weekday(time)), (23, "tue"));
        assert_eq!((hour(-SECOND), weekday(-SECOND), weekday(0)), (23, "wed", "thu"));
    }
}
