//! Members of an object that are read fast: a key without escapes and a plain number, `"name":
//! 1.5`.
//!
//! Whatever has another form (a label, an id, a text, an escape, more than one blank) is left to
//! the grammar, from where it starts; so nothing here can be an error.

use memchr::memchr;

use crate::readers::json::grammar::JsonCursor;
use crate::readers::json::key_predictor::{FoundKey, KeyPredictor, KeySpan};
use crate::readers::lines::PaddedLine;
use crate::readers::number::{ParsedNumber, json_number};
use crate::readers::record::{NameRef, Record};
use crate::readers::roles::Roles;
use crate::readers::window::Window;

/// Read plain members from where one may start. If true, the cursor stands on the closing brace,
/// else where a member of another form starts.
pub fn read_plain_members(
    line: PaddedLine<'_>,
    cursor: &mut JsonCursor<'_>,
    roles: &Roles,
    keys: &mut KeyPredictor,
    record: &mut Record,
) -> bool {
    if keys.is_paused() {
        read_members::<false>(line, cursor, roles, keys, record)
    } else {
        read_members::<true>(line, cursor, roles, keys, record)
    }
}

/// The same for a line whose keys are predicted, or not.
#[inline(never)] // in the caller's code its loop would have too few registers
fn read_members<const PREDICT: bool>(
    line: PaddedLine<'_>,
    cursor: &mut JsonCursor<'_>,
    roles: &Roles,
    keys: &mut KeyPredictor,
    record: &mut Record,
) -> bool {
    let bytes = line.padded;
    let (mut before_key, mut before_value) = (BlankGuess::default(), BlankGuess::default());
    let mut at = cursor.at;
    let closed = loop {
        let start = before_key.skip(bytes, at);
        let expected = if PREDICT { keys.find(bytes, start) } else { None };
        let (name, value_start) = if let Some(FoundKey { column, value_start }) = expected {
            (NameRef::Column(column), value_start)
        } else {
            let Some(name_end) = plain_key_end(line, start) else { break false };
            // Both are rare, and their calls must not take the registers of this loop.
            if cursor.has_escape && is_escaped(bytes, start, name_end) {
                break false;
            }
            if roles.may_be_special(name_end - start - 1)
                && roles.is_special(&bytes[start + 1..name_end])
            {
                break false;
            }
            let value_start = before_value.skip(bytes, name_end + 2);
            let learned = if PREDICT {
                keys.learn(cursor.line, KeySpan { start, name_end, value_start })
            } else {
                None
            };
            let in_line = NameRef::Line { start: start as u32 + 1, end: name_end as u32 };
            (learned.map_or(in_line, NameRef::Column), value_start)
        };
        let ends = |next, _| matches!(next, b',' | b'}');
        let Some(ParsedNumber { value, end }) = json_number(bytes, value_start, ends) else {
            break false;
        };
        record.push(name, value);
        if bytes[end] == b'}' {
            at = end;
            break true;
        }
        at = end + 1;
    };
    cursor.at = at;
    closed
}

/// The guess that there is a blank where there was one the last time: what follows can be read
/// without waiting for it.
#[derive(Default)]
struct BlankGuess {
    /// 0 or 1.
    blanks: usize,
}

impl BlankGuess {
    /// Where it goes on behind a blank, if there is one.
    #[inline]
    fn skip(&mut self, bytes: &[u8], at: usize) -> usize {
        if (bytes.get(at) == Some(&b' ')) != (self.blanks > 0) {
            self.blanks = count_blanks(bytes, at);
        }
        at + self.blanks
    }
}

#[cold]
#[inline(never)] // else the compiler would turn the guess into arithmetic, and wait
fn count_blanks(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes.get(at) == Some(&b' '))
}

/// The closing quote of the key that starts at a place; none if there is no key or no colon right behind it.
/// There may be escapes in it.
#[inline(always)]
fn plain_key_end(line: PaddedLine<'_>, start: usize) -> Option<usize> {
    let window = Window::of(line.padded, start)?;
    if window.byte(0) != b'"' {
        return None;
    }
    let end = match window.equal_to::<2>(b'"', 1).trailing_zeros() as usize {
        64 => long_key_end(line, start)?,
        length => start + length,
    };
    (end < line.length && line.padded[end + 1] == b':').then_some(end)
}

#[cold]
#[inline(never)]
fn is_escaped(bytes: &[u8], start: usize, name_end: usize) -> bool {
    memchr(b'\\', &bytes[start..name_end]).is_some()
}

#[cold]
#[inline(never)]
fn long_key_end(line: PaddedLine<'_>, start: usize) -> Option<usize> {
    Some(start + 1 + memchr(b'"', line.padded.get(start + 1..line.length)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::columns::Columns;
    use crate::readers::lines::padded;

    #[test]
    fn a_key_ends_at_its_quote_if_a_colon_follows() {
        for name in ["", "a", "sensor", "sensor-12", "ä", "many letters: {,}", &"long ".repeat(30)]
        {
            let line = format!("{{\"{name}\":1}}");
            let found = plain_key_end(PaddedLine { padded: &padded(&line), length: line.len() }, 1);
            assert_eq!(found, Some(2 + name.len()), "{line}");
        }
        let long = format!("\"{}", "a".repeat(99));
        for line in ["", "a", "\"", "\"a", "\"a\"", "\"a\" :1", "\"a\\\"\":1", &long] {
            let found = plain_key_end(PaddedLine { padded: &padded(line), length: line.len() }, 0);
            assert_eq!(found, None, "{line}");
        }
    }

    #[test]
    fn reading_stops_where_a_member_of_another_form_starts() {
        let roles = Roles::new(Columns::new(Some("y".to_owned()), None));
        for (line, rest) in [
            (r#""a":1,"b": -2.5}"#, "}"),
            (r#""a":1,"y":1}"#, r#""y":1}"#),
            (r#""a":1, "b":null}"#, r#" "b":null}"#),
            (r#""a":1,"b" :2}"#, r#""b" :2}"#),
            (r#""a":1,"b":02}"#, r#""b":02}"#),
            (r#""a":1,"b":2"#, r#""b":2"#),
            (r#""a":1,"#, ""),
            (r#""a":1,"b\t":2}"#, r#""b\t":2}"#),
        ] {
            let padded = padded(line);
            for lines in 1..4 {
                let (mut keys, mut record) = (KeyPredictor::default(), Record::default());
                let mut cursor = JsonCursor::new(line);
                for _ in 0..lines {
                    keys.begin_line();
                    record.clear();
                    cursor.at = 0;
                    let line = PaddedLine { padded: &padded, length: line.len() };
                    let closed =
                        read_plain_members(line, &mut cursor, &roles, &mut keys, &mut record);
                    assert_eq!((closed, &cursor.line[cursor.at..]), (rest == "}", rest), "{rest}");
                }
                assert_eq!(record.features.len(), if rest == "}" { 2 } else { 1 }, "{line}");
            }
        }
    }
}
