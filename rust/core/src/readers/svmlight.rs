//! svmlight: `label name:value name:value ... # comment`.
//!
//! A name that is a whole number of 64 bits is that number, any other is a text. A line whose first
//! word has a colon is not labelled; `qid:` right behind the label is passed over.

use memchr::memchr;

use super::number::{
    Plain, count_digits, eight_bytes, integer, plain, read_digits, read_eight, whole_text,
};
use super::{Place, Record, is_blank, not_finite, number_label, shown};
use crate::vocabulary::Name;

/// Read a line; false if there is no event in it.
pub fn parse(line: &str, record: &mut Record) -> Result<bool, String> {
    let line = &line[..memchr(b'#', line.as_bytes()).unwrap_or(line.len())];
    let bytes = line.as_bytes();
    let mut at = word_start(bytes, 0);
    if at == bytes.len() {
        return Ok(false);
    }
    let first = &line[at..word_end(bytes, at)];
    if memchr(b':', first.as_bytes()).is_none() {
        let number = whole_text(first)
            .ok_or_else(|| format!("expected a number as the label, got {}.", shown(first)))?;
        record.label = number_label(number);
        at = word_start(bytes, at + first.len());
    }
    if bytes[at..].starts_with(b"qid:") {
        at = word_start(bytes, word_end(bytes, at));
    }
    let mut last = i64::MIN;
    loop {
        (at, last) = plain_features(bytes, at, last, record);
        at = word_start(bytes, at);
        if at >= bytes.len() {
            return Ok(true);
        }
        let (place, value, end) = feature(line, at)?;
        match place {
            Place::Number(number) if number > last => last = number,
            _ => record.may_repeat = true,
        }
        if value.is_finite() {
            record.push(place, value);
        } else if value.is_infinite() {
            return Err(not_finite(name_of(line, place), value));
        }
        at = word_start(bytes, end);
    }
}

/// Read features that are two plain numbers, in rising order. Where the first other one starts, and
/// the last name.
#[inline(never)] // its registers are its own
fn plain_features(bytes: &[u8], at: usize, last: i64, record: &mut Record) -> (usize, i64) {
    let (mut at, mut last) = (at, last);
    loop {
        let Some((number, end)) = plain_name(bytes, at) else { return (at, last) };
        if number <= last {
            return (at, last);
        }
        let Some(Plain { value, end, next }) = plain(bytes, end) else { return (at, last) };
        let is_end = is_blank(next) || end == bytes.len();
        if !is_end {
            return (at, last);
        }
        record.push(Place::Number(number), value);
        last = number;
        at = end + 1;
    }
}

/// The number of up to 15 digits that begins at a place, and where what follows its colon begins.
#[inline]
fn plain_name(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let eight = eight_bytes(bytes, at);
    let count = count_digits(eight);
    if (1..8).contains(&count) {
        let next = (eight >> (8 * count)) as u8;
        let number = read_eight(eight, count) as i64;
        return (next == b':').then_some((number, at + count as usize + 1));
    }
    let (number, end) = read_digits(bytes, at, 0)?;
    let is_name = (8..16).contains(&(end - at)) && bytes.get(end) == Some(&b':');
    is_name.then_some((number as i64, end + 1))
}

/// The feature that starts here: its name, its value, and where it ends.
fn feature(line: &str, at: usize) -> Result<(Place, f64, usize), String> {
    let word = &line[at..word_end(line.as_bytes(), at)];
    let unread = || format!("expected name:value, value a number, got {}.", shown(word));
    let colon = word.rfind(':').filter(|&colon| colon > 0).ok_or_else(unread)?;
    let value = whole_text(&word[colon + 1..]).ok_or_else(unread)?;
    let place = match integer(&word[..colon]) {
        Some(number) => Place::Number(number),
        None => Place::Line { start: at as u32, end: (at + colon) as u32 },
    };
    Ok((place, value, at + word.len()))
}

fn name_of(line: &str, place: Place) -> Name<'_> {
    match place {
        Place::Line { start, end } => Name::Text(&line[start as usize..end as usize]),
        Place::Number(number) => Name::Number(number),
        Place::Text { .. } | Place::Column(_) => Name::Text(""),
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
    use super::super::tests::{Case, check};
    use super::super::{Format, OnError, Options, Reader, Record};
    use crate::random::Generator;
    use crate::vocabulary::{Name, Names};
    use std::io::Cursor;

    #[test]
    fn lines_are_read_or_refused() {
        let options =
            Options { format: Format::Svmlight, label: None, id: None, on_error: OnError::Stop };
        let cases = [
            Case::event("+1 1:0.5 3:-2e1", "1", "1=0.5 3=-20"),
            Case::event("-1.0\t7:1  8:2 # 9:3", "-1", "7=1 8=2"),
            Case::event("2.5 qid:3 1:1", "2.5", "1=1"),
            Case::event("0", "0", ""),
            Case::event("1:1 2:0", "none", "1=1 2=0"),
            Case::event("nan 1:nan 2:1", "none", "2=1"),
            Case::event("1 rain:1 10:30:2 -4:1 007:2", "1", "'rain'=1 '10:30'=2 -4=1 7=2"),
            Case::event("1 18446744073709551616:1", "1", "'18446744073709551616'=1"),
            Case::event("1 3:1 2:1", "1", "3=1 2=1"),
            Case::nothing(""),
            Case::nothing("  \t "),
            Case::nothing("# a comment"),
            Case::refused("spam 1:1", "line 1: expected a number as the label, got 'spam'."),
            Case::refused("1 rain", "expected name:value, value a number, got 'rain'."),
            Case::refused("1 1:red", "expected name:value, value a number, got '1:red'."),
            Case::refused("1 1:", "expected name:value, value a number, got '1:'."),
            Case::refused("1 :1", "expected name:value, value a number, got ':1'."),
            Case::refused("1 1:2x 3:1", "got '1:2x'."),
            Case::refused("1 2:inf", "feature 2 must be a finite number, got inf."),
            Case::refused("1 a:-1e999", "feature 'a' must be a finite number, got -inf."),
            Case::refused("1 2:1 2:1", "feature 2 is there twice."),
            Case::refused("1 a:1 b:1 a:2", "feature 'a' is there twice."),
        ];
        check(&options, "", &cases);
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
                features.push((name, value.to_bits()));
            }
            content.push_str(["\n", " \n", " # 1:2\n", "\r\n"][below(4) as usize]);
            expected.push(features);
        }
        let options =
            Options { format: Format::Svmlight, label: None, id: None, on_error: OnError::Stop };
        let mut reader = Reader::new(Cursor::new(content.into_bytes()), "f", options).unwrap();
        let mut record = Record::default();
        for (line, expected) in expected.iter().enumerate() {
            assert_eq!(reader.next(&mut record), Ok(true), "{line}");
            let names = reader.names(&record);
            let features: Vec<(Name<'_>, u64)> = record
                .features()
                .iter()
                .enumerate()
                .map(|(i, feature)| (names.name(i), feature.value.to_bits()))
                .collect();
            let expected: Vec<(Name<'_>, u64)> =
                expected.iter().map(|&(name, bits)| (Name::Number(name), bits)).collect();
            assert_eq!(features, expected, "{line}");
        }
        assert_eq!(reader.next(&mut record), Ok(false));
    }
}
