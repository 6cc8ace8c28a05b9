//! Vowpal Wabbit's text format: `[label] [importance] ['tag]|namespace[:scale] feature[:value] ...
//! |...`.
//!
//! The feature `f` of namespace `n` is called `n^f`, one without a namespace `f`; names are texts.
//! A value that is left out is 1; a scale multiplies the values of its namespace. The tag, which
//! touches the bar or starts with a quote, is the event's id: a number if it is written as one. The importance must be a number and
//! is not used.

use memchr::memchr;

use crate::event::Name;
use crate::readers::number::whole;
use crate::readers::record::{Id, NameRef, Record, is_blank, not_finite, number_label, shown};

/// Read a line; false if there is no event in it.
pub fn parse(line: &str, record: &mut Record) -> Result<bool, String> {
    if line.bytes().all(is_blank) {
        return Ok(false);
    }
    let bar = memchr(b'|', line.as_bytes())
        .ok_or_else(|| format!("expected a bar before the features, got {}.", shown(line)))?;
    head(&line[..bar], record)?;
    record.may_repeat = true;
    let mut start = bar + 1;
    while start <= line.len() {
        let length = memchr(b'|', &line.as_bytes()[start..]).unwrap_or(line.len() - start);
        namespace(line, start, start + length, record)?;
        start += length + 1;
    }
    Ok(true)
}

/// Read what stands before the first bar: label, importance and tag.
fn head(text: &str, record: &mut Record) -> Result<(), String> {
    let mut words: Vec<&str> = text.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    if let Some(&last) = words.last() {
        if let Some(tag) = last.strip_prefix('\'') {
            record.id = Some(Id::of_text(tag));
            words.pop();
        } else if !text.ends_with([' ', '\t']) {
            record.id = Some(Id::of_text(last));
            words.pop();
        }
    }
    let numbers: Option<Vec<f64>> = words.iter().map(|word| whole(word.as_bytes())).collect();
    match numbers.as_deref() {
        Some([]) => Ok(()),
        Some([label] | [label, _] | [label, _, _]) => {
            record.label = number_label(*label);
            Ok(())
        }
        _ => Err(format!("expected a number as the label before the bar, got {}.", shown(text))),
    }
}

/// Read the features between two bars.
fn namespace(line: &str, start: usize, end: usize, record: &mut Record) -> Result<(), String> {
    let mut words = words(line, start, end);
    let (mut prefix, mut scale) = ("", 1.0);
    if line.as_bytes()[start..end].first().is_some_and(|&byte| !is_blank(byte))
        && let Some((from, to)) = words.next()
    {
        prefix = &line[from..to];
        if let Some((name, number)) = prefix.split_once(':') {
            scale = whole(number.as_bytes())
                .filter(|scale| scale.is_finite())
                .ok_or_else(|| format!("expected namespace:scale, got {}.", shown(prefix)))?;
            prefix = name;
        }
    }
    for (from, to) in words {
        let word = &line[from..to];
        let (name, value) = match word.split_once(':') {
            None => (word, Some(1.0)),
            Some((name, value)) => (name, whole(value.as_bytes())),
        };
        let (false, Some(value)) = (name.is_empty(), value) else {
            return Err(format!("expected feature:value, value a number, got {}.", shown(word)));
        };
        let value = value * scale;
        if value.is_nan() {
            continue;
        }
        let name_ref = if prefix.is_empty() {
            NameRef::Line { start: from as u32, end: (from + name.len()) as u32 }
        } else {
            let first = record.texts.len();
            record.texts.push_str(prefix);
            record.texts.push('^');
            record.texts.push_str(name);
            record.text_from(first)?
        };
        if value.is_infinite() {
            let full = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}^{name}") };
            return Err(not_finite(Name::Text(&full), value));
        }
        record.push(name_ref, value);
    }
    Ok(())
}

/// Where each word between `start` and `end` starts and ends.
fn words(line: &str, start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    let bytes = &line.as_bytes()[..end];
    let mut at = start;
    std::iter::from_fn(move || {
        let from = at + bytes[at..].iter().position(|&byte| !is_blank(byte))?;
        let length = bytes[from..].iter().position(|&byte| is_blank(byte));
        at = length.map_or(end, |length| from + length);
        Some((from, at))
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LineCase, check};
    use crate::readers::columns::Columns;
    use crate::readers::options::{Format, OnError, Options};

    #[test]
    fn lines_are_read_or_refused() {
        let (format, columns) = (Format::Vw, Columns::default());
        let options = Options { format, columns, on_error: OnError::Stop };
        let cases = [
            LineCase::event("1 | a:0.5 b", "1", "'a'=0.5 'b'=1"),
            LineCase::event(
                "-1 2.0 'tag|n a:2 b |m:0.5 a b:4",
                "-1 of 'tag'",
                "'n^a'=2 'n^b'=1 'm^a'=0.5 'm^b'=2",
            ),
            LineCase::event("1 0.5 0.1 | a", "1", "'a'=1"),
            LineCase::event("1 'x-7 | a", "1 of 'x-7'", "'a'=1"),
            LineCase::event("x7| a:0", "none of 'x7'", "'a'=0"),
            LineCase::event("1 '7| a", "1 of 7", "'a'=1"),
            LineCase::event("1 '07| a", "1 of '07'", "'a'=1"),
            LineCase::event("| a", "none", "'a'=1"),
            LineCase::event("|n a |", "none", "'n^a'=1"),
            LineCase::event("1 |", "1", ""),
            LineCase::event("1 | a:nan", "1", ""),
            LineCase::nothing(" "),
            LineCase::refused("1 a b", "line 1: expected a bar before the features, got '1 a b'."),
            LineCase::refused(
                "spam | a",
                "expected a number as the label before the bar, got 'spam '.",
            ),
            LineCase::refused("1 | a:x", "expected feature:value, value a number, got 'a:x'."),
            LineCase::refused("1 | :1", "got ':1'."),
            LineCase::refused("1 |n:x a", "expected namespace:scale, got 'n:x'."),
            LineCase::refused("1 |n:2 a:1e308", "feature 'n^a' must be a finite number, got inf."),
            LineCase::refused("1 | a a", "feature 'a' appears twice."),
            LineCase::refused("1 |n a |n a", "feature 'n^a' appears twice."),
        ];
        check(&options, "", &cases);
    }
}
