//! svmlight: `label name:value name:value ... # comment`.
//!
//! A name that is an integer of 64 bits is that number, any other is a text. A line whose first
//! word has a colon has no label; `qid:` right behind the label is skipped.

use memchr::memchr;

use crate::event::Name;
use crate::readers::lines::PaddedLine;
use crate::readers::number::{ParsedNumber, integer, json_number, unsigned_integer, whole};
use crate::readers::record::{NameRef, Record, is_blank, not_finite, number_label, shown, text};
use crate::readers::swar::{count_digits, eight_bytes, read_digits};

/// Read a line: its text, or none if there is no event in it. The text is left empty if all names
/// and values are plain numbers: no name points into it, and such a line need not be checked to be
/// UTF-8.
pub fn parse<'a>(
    mut padded: PaddedLine<'a>,
    record: &mut Record,
) -> Result<Option<&'a str>, String> {
    let (mut line, mut bytes) = ("", padded.line());
    if let Some(end) = memchr(b'#', bytes) {
        line = &text(bytes)?[..end];
        bytes = line.as_bytes();
        padded.length = end;
    }
    let mut at = word_start(bytes, 0);
    if at == bytes.len() {
        return Ok(None);
    }
    let first = &bytes[at..word_end(bytes, at)];
    if memchr(b':', first).is_none() {
        let Some(number) = whole(first) else {
            let label = &text(bytes)?[at..at + first.len()];
            return Err(format!("expected a number as the label, got {}.", shown(label)));
        };
        record.label = number_label(number);
        at = word_start(bytes, at + first.len());
    }
    let mut last = i64::MIN;
    if bytes[at..].starts_with(b"qid:") {
        line = text(bytes)?;
        at = word_start(bytes, word_end(bytes, at));
    }
    loop {
        (at, last) = plain_features(padded, at, last, record);
        at = word_start(bytes, at);
        if at >= bytes.len() {
            return Ok(Some(line));
        }
        if line.is_empty() {
            line = text(bytes)?;
        }
        let (name, value, end) = feature(line, at)?;
        match name {
            NameRef::Number(number) if number > last => last = number,
            _ => record.may_repeat = true,
        }
        if value.is_finite() {
            record.push(name, value);
        } else if value.is_infinite() {
            return Err(not_finite(name_of(line, name), value));
        }
        at = word_start(bytes, end);
    }
}

/// Read features whose name and value are plain numbers, while the names rise above `last`. Where
/// the first other feature starts, and the last name.
#[inline(never)] // in the caller's code its loop would have too few registers
fn plain_features(line: PaddedLine<'_>, at: usize, last: i64, record: &mut Record) -> (usize, i64) {
    let bytes = line.padded;
    let (mut at, mut last, mut width) = (at, last, 8);
    // What lies behind the line may look like a feature too.
    while at < line.length {
        let eight = eight_bytes(bytes, at);
        // Most names have as many digits as the one before: with this guess the value is read
        // without waiting for the colon.
        let as_before = count_digits(eight) == width;
        let (number, start) = if as_before && eight.wrapping_shr(8 * width) as u8 == b':' {
            (read_digits(eight, width) as i64, at + width as usize + 1)
        } else {
            let Some((number, colon)) = plain_name(bytes, at) else { return (at, last) };
            width = (colon - at) as u32;
            (number, colon + 1)
        };
        if number <= last {
            return (at, last);
        }
        let ends = |next, end| is_blank(next) || end == line.length;
        let Some(ParsedNumber { value, end }) = json_number(bytes, start, ends) else {
            return (at, last);
        };
        record.push(NameRef::Number(number), value);
        last = number;
        at = end + 1;
    }
    (at, last)
}

/// The name of up to 15 digits that starts at a place, and where its colon stands.
#[cold]
fn plain_name(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let (number, end) = unsigned_integer(bytes, at, 0)?;
    let is_name = (1..16).contains(&(end - at)) && bytes.get(end) == Some(&b':');
    is_name.then_some((number as i64, end))
}

/// The feature that starts here: its name, its value, and where it ends.
fn feature(line: &str, at: usize) -> Result<(NameRef, f64, usize), String> {
    let word = &line[at..word_end(line.as_bytes(), at)];
    let unread = || format!("expected name:value, value a number, got {}.", shown(word));
    let colon = word.rfind(':').filter(|&colon| colon > 0).ok_or_else(unread)?;
    let value = whole(&word.as_bytes()[colon + 1..]).ok_or_else(unread)?;
    let name = match integer(&word[..colon]) {
        Some(number) => NameRef::Number(number),
        None => NameRef::Line { start: at as u32, end: (at + colon) as u32 },
    };
    Ok((name, value, at + word.len()))
}

fn name_of(line: &str, name: NameRef) -> Name<'_> {
    match name {
        NameRef::Line { start, end } => Name::Text(&line[start as usize..end as usize]),
        NameRef::Number(number) => Name::Number(number),
        NameRef::Text { .. } | NameRef::Column(_) => Name::Text(""),
    }
}

fn is_end(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|&byte| is_blank(byte))
}

fn word_start(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while bytes.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while !is_end(bytes, at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LineCase, check, check_lines, svmlight};
    use crate::event::Name;
    use crate::storage::rng::Generator;

    #[test]
    fn lines_are_read_or_refused() {
        let cases = [
            LineCase::event("+1 1:0.5 3:-2e1", "1", "1=0.5 3=-20"),
            LineCase::event("-1.0\t7:1  8:2 # 9:3", "-1", "7=1 8=2"),
            LineCase::event("2.5 qid:3 1:1", "2.5", "1=1"),
            LineCase::event("0", "0", ""),
            LineCase::event("1 1:0.5\r\n2:1 3:1", "1", "1=0.5"),
            LineCase::event("1 1:0.5\n2:1 3:1", "1", "1=0.5"),
            LineCase::event("1 1:0.5\n\n2:1 3:1", "1", "1=0.5"),
            LineCase::event("1 1:5#6", "1", "1=5"),
            LineCase::event("1 1:0.123456789#1", "1", "1=0.123456789"),
            LineCase::event("1:1 2:0", "none", "1=1 2=0"),
            LineCase::event("nan 1:nan 2:1", "none", "2=1"),
            LineCase::event("1 rain:1 10:30:2 -4:1 007:2", "1", "'rain'=1 '10:30'=2 -4=1 7=2"),
            LineCase::event("1 18446744073709551616:1", "1", "'18446744073709551616'=1"),
            LineCase::event("1 3:1 2:1", "1", "3=1 2=1"),
            LineCase::nothing(""),
            LineCase::nothing("  \t "),
            LineCase::nothing("# a comment"),
            LineCase::refused("spam 1:1", "line 1: expected a number as the label, got 'spam'."),
            LineCase::refused("1 rain", "expected name:value, value a number, got 'rain'."),
            LineCase::refused("1 1:red", "expected name:value, value a number, got '1:red'."),
            LineCase::refused("1 1:", "expected name:value, value a number, got '1:'."),
            LineCase::refused("1 :1", "expected name:value, value a number, got ':1'."),
            LineCase::refused("1 1:2x 3:1", "got '1:2x'."),
            LineCase::refused("1 1:2\r3 5:6", "got '1:2\\r3'."),
            LineCase::refused("1 2:inf", "feature 2 must be a finite number, got inf."),
            LineCase::refused("1 a:-1e999", "feature 'a' must be a finite number, got -inf."),
            LineCase::refused("1 2:1 2:1", "feature 2 appears twice."),
            LineCase::refused("1 a:1 b:1 a:2", "feature 'a' appears twice."),
        ];
        check(&svmlight(), "", &cases);
    }

    #[test]
    fn names_and_values_are_those_that_were_written() {
        let mut random = Generator::from_seed(6);
        let mut below = |limit: u32| (random.uniform() * f64::from(limit)) as u32;
        let (mut content, mut expected) = (String::new(), Vec::new());
        for line in 0..600 {
            let (mut name, mut features) = (0, Vec::new());
            content.push_str(["1", "+1 qid:7", "1.0"][below(3) as usize]);
            for i in 0..if line == 300 { 40_000 } else { below(80) } {
                name += [1, 1 + i64::from(below(999)), 123_456_789][(below(40) / 19) as usize];
                let value = f64::from(below(2_000_000) as i32 - 1_000_000)
                    / [1e2, 1e6, 7.0, 3e9][(i % 4) as usize];
                let blank = ["\t", "  ", " ", " "][below(4) as usize];
                let text = match below(8) {
                    0 => format!("{blank}{name}:{value:e}"),
                    1 => format!("{blank}{name:05}:{value:?}"),
                    2 => format!("{blank}{name}:{value:.18e}"),
                    _ => format!("{blank}{name}:{value}"),
                };
                content.push_str(&text);
                features.push((Name::Number(name), value));
            }
            content.push_str(["\n", " \n", " # 1:2\n", "\r\n"][below(4) as usize]);
            expected.push(features);
        }
        check_lines(svmlight(), content, &expected);
    }
}
