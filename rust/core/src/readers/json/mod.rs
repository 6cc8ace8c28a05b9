//! JSON lines: one object per line, `{"name": value, ...}`.
//!
//! A value is a number, a bool, a text (an indicator) or null (absent); as Python writes them,
//! `NaN` is absent and an infinity is refused. The label may be any of these, an id a text or an
//! integer.
//!
//! `grammar` reads any line, `key_predictor` guesses keys, and `plain_members` uses the guess to
//! read numbers fast.

mod grammar;
pub mod key_predictor;
mod plain_members;

use crate::event::{Name, quoted};
use crate::label::Label;
use crate::readers::columns::Role;
use crate::readers::json::grammar::{JsonCursor, JsonStr, Scalar};
use crate::readers::json::key_predictor::KeyPredictor;
use crate::readers::json::plain_members::read_plain_members;
use crate::readers::lines::PaddedLine;
use crate::readers::number::integer;
use crate::readers::record::{Id, NameRef, Record, not_finite, number_label, shown};
use crate::readers::roles::{Cell, Roles};

/// Read a line; false if there is no event in it.
pub fn parse(
    line: &str,
    padded: PaddedLine<'_>,
    roles: &mut Roles,
    keys: &mut KeyPredictor,
    record: &mut Record,
) -> Result<bool, String> {
    let mut cursor = JsonCursor::new(line);
    match cursor.peek() {
        None => return Ok(false),
        Some(b'{') => cursor.at += 1,
        Some(_) => return Err(format!("expected a JSON object, got {}.", shown(line))),
    }
    record.may_repeat = true;
    if !cursor.skip(b'}') {
        keys.begin_line();
        members(padded, &mut cursor, roles, keys, record)?;
    }
    match cursor.peek() {
        None => Ok(true),
        Some(_) => Err(cursor.expected("the end of the line")),
    }
}

/// Read the members of an object that has some, and its closing brace.
fn members(
    padded: PaddedLine<'_>,
    cursor: &mut JsonCursor<'_>,
    roles: &mut Roles,
    keys: &mut KeyPredictor,
    record: &mut Record,
) -> Result<(), String> {
    let line = cursor.line;
    let mut met = [false; 4]; // roles that one field has
    while cursor.has_control || !read_plain_members(padded, cursor, roles, keys, record) {
        cursor.expect(b'"', "a name between quotes")?;
        let key = cursor.string(&mut record.texts)?;
        cursor.expect(b':', "a colon")?;
        let name = key.of(line, &record.texts);
        match roles.meet(name) {
            role @ (None | Some(Role::Number)) => {
                feature(cursor, key, role.is_some(), roles, record)?;
            }
            Some(role) => {
                let single = [Role::Label, Role::Id, Role::Time, Role::Group];
                if let Some(place) = single.iter().position(|&one| one == role)
                    && std::mem::replace(&mut met[place], true)
                {
                    return Err(format!("{} appears twice.", quoted(name)));
                }
                match role {
                    Role::Label => record.label = label(cursor)?,
                    Role::Id => record.id = id(cursor, "id")?,
                    Role::Group => record.group = id(cursor, "group")?,
                    Role::Ignore => cursor.skip_value()?,
                    Role::Time | Role::Text | Role::Category | Role::Number | Role::Raw => {
                        let name = name.to_owned();
                        special(cursor, role, &name, roles, record)?;
                    }
                }
            }
        }
        match cursor.peek() {
            Some(b',') => cursor.at += 1,
            Some(b'}') => break,
            _ => return Err(cursor.expected("a comma or a closing brace")),
        }
    }
    cursor.at += 1;
    Ok(())
}

/// Read the value of a field with a role.
fn special(
    cursor: &mut JsonCursor<'_>,
    role: Role,
    name: &str,
    roles: &mut Roles,
    record: &mut Record,
) -> Result<(), String> {
    let place = NameRef::Line { start: 0, end: 0 }; // such a role makes names of its own
    if cursor.skip(b'"') {
        let value = text(cursor)?;
        return roles.take(record, role, name, place, Cell::Text(&value));
    }
    cursor.peek();
    let start = cursor.at;
    let cell = match cursor.scalar() {
        Some(Scalar::Null) => Cell::Absent,
        Some(Scalar::Bool(truth)) => Cell::Bool(truth),
        Some(Scalar::Number(value)) => Cell::Written(&cursor.line[start..cursor.at], value),
        None if role == Role::Raw => {
            cursor.skip_value()?;
            Cell::Absent
        }
        None => {
            let name = quoted(name);
            let what = format!("a number, a bool, a text or null as the value of {name}");
            return Err(cursor.expected(&what));
        }
    };
    roles.take(record, role, name, place, cell)
}

fn feature(
    cursor: &mut JsonCursor<'_>,
    key: JsonStr,
    is_number: bool,
    roles: &mut Roles,
    record: &mut Record,
) -> Result<(), String> {
    if cursor.skip(b'"') {
        let value = cursor.string(&mut record.texts)?;
        let name = key.of(cursor.line, &record.texts);
        let text = value.of(cursor.line, &record.texts);
        if is_number {
            if let Some(number) = roles.quantity(name, text)? {
                record.push(key.name_ref(), number);
            }
            return Ok(());
        }
        roles.see(name, text);
        let start = record.texts.len();
        key.append(cursor.line, &mut record.texts);
        record.texts.push('=');
        value.append(cursor.line, &mut record.texts);
        let name = record.text_from(start)?;
        record.push(name, 1.0);
        return Ok(());
    }
    let scalar = cursor.scalar().ok_or_else(|| {
        let name = quoted(key.of(cursor.line, &record.texts));
        cursor.expected(&format!("a number, a bool, a text or null as the value of {name}"))
    })?;
    let value = match scalar {
        Scalar::Null => return Ok(()),
        Scalar::Bool(truth) => f64::from(u8::from(truth)),
        Scalar::Number(value) => value,
    };
    if value.is_infinite() {
        return Err(not_finite(Name::Text(key.of(cursor.line, &record.texts)), value));
    }
    record.push(key.name_ref(), value);
    Ok(())
}

fn label(cursor: &mut JsonCursor<'_>) -> Result<Option<Label>, String> {
    if cursor.skip(b'"') {
        return Ok(Some(Label::Text(text(cursor)?)));
    }
    let start = cursor.at;
    match cursor.scalar() {
        Some(Scalar::Null) => Ok(None),
        Some(Scalar::Bool(truth)) => Ok(Some(Label::Bool(truth))),
        Some(Scalar::Number(value)) => {
            let exact = integer(&cursor.line[start..cursor.at]).map(Label::Int);
            Ok(exact.or_else(|| number_label(value)))
        }
        None => Err(cursor.expected("a number, a bool, a text or null as the label")),
    }
}

fn id(cursor: &mut JsonCursor<'_>, what: &str) -> Result<Option<Id>, String> {
    if cursor.skip(b'"') {
        return Ok(Some(Id::Text(text(cursor)?)));
    }
    let start = cursor.at;
    if cursor.scalar() == Some(Scalar::Null) {
        return Ok(None);
    }
    if let Some(number) = integer(&cursor.line[start..cursor.at]) {
        return Ok(Some(Id::Number(number)));
    }
    cursor.at = start;
    Err(cursor.expected(&format!("a text or an integer as the {what}")))
}

/// The string whose opening quote was just read, as a text of its own.
fn text(cursor: &mut JsonCursor<'_>) -> Result<String, String> {
    let mut unescaped = String::new();
    let string = cursor.string(&mut unescaped)?;
    Ok(string.of(cursor.line, &unescaped).to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LineCase, check, check_lines};
    use crate::event::Name;
    use crate::readers::Reader;
    use crate::readers::columns::Columns;
    use crate::readers::options::{Format, OnError, Options};
    use crate::readers::record::Record;
    use crate::storage::rng::Generator;
    use std::io::Cursor;

    fn json_lines() -> Options {
        let columns = Columns::new(Some("y".to_owned()), None);
        Options { format: Format::JsonLines, columns, on_error: OnError::Stop }
    }

    #[test]
    fn lines_are_read_or_refused() {
        let columns = Columns::new(Some("y".to_owned()), Some("id".to_owned()));
        let options = Options { columns, ..json_lines() };
        let cases = [
            LineCase::event(r#"{"a": 1, "y": true, "b": -2.5e1}"#, "True", "'a'=1 'b'=-25"),
            LineCase::event(r#"{"y":"spam","id":7,"a":0}"#, "'spam' of 7", "'a'=0"),
            LineCase::event(
                r#"{"id":"x-1","y":-1,"a":false,"b":true}"#,
                "-1 of 'x-1'",
                "'a'=0 'b'=1",
            ),
            LineCase::event(r#"{"a":null,"b":NaN,"y":null,"id":null}"#, "none", ""),
            LineCase::event(r#"{"y":2.0}"#, "2", ""),
            LineCase::event(r#"{"y":2.5}"#, "2.5", ""),
            LineCase::event(r#"{"y":9007199254740993}"#, "9007199254740993", ""),
            LineCase::event("{}", "none", ""),
            LineCase::event(" {\t} \r", "none", ""),
            LineCase::event(r#"{"site":"roof"}"#, "none", "'site=roof'=1"),
            LineCase::event(r#"{"si\tte":"r\"oof","b":1}"#, "none", r#"'si\tte=r"oof'=1 'b'=1"#),
            LineCase::event(r#"{"\u00e4\ud83d\ude00":1}"#, "none", "'ä😀'=1"),
            LineCase::event(r#"{"ä":"😀"}"#, "none", "'ä=😀'=1"),
            LineCase::event(r#"{"\u0079":1}"#, "1", ""),
            LineCase::event(r#"{"":1}"#, "none", "''=1"),
            LineCase::nothing("  "),
            LineCase::refused("[1]", "line 1: expected a JSON object, got '[1]'."),
            LineCase::refused(
                r#"{"a":1"#,
                "expected a comma or a closing brace, got the end of the line.",
            ),
            LineCase::refused(r#"{"a""#, "expected a colon, got the end of the line."),
            LineCase::refused("{\"a\n\":1}", "expected a closing quote, got the end of the line."),
            LineCase::refused("{\"a\":\n1}", "the value of 'a', got the end of the line."),
            LineCase::refused(
                "{\"a\":1\n}",
                "expected a comma or a closing brace, got the end of the line.",
            ),
            LineCase::refused(
                "{\"a\":1,\n\"b\":1}",
                "expected a name between quotes, got the end of the line.",
            ),
            LineCase::refused(r#"{"a"#, "expected a closing quote, got the end of the line."),
            LineCase::refused(
                r#"{"a":1,}"#,
                "expected a name between quotes at character 8, got '}'.",
            ),
            LineCase::refused(
                r#"{"a":1} x"#,
                "expected the end of the line at character 9, got 'x'.",
            ),
            LineCase::refused(
                r#"{"a":[1]}"#,
                "a text or null as the value of 'a' at character 6, got '[1]}'.",
            ),
            LineCase::refused(r#"{"a":{}}"#, "as the value of 'a'"),
            LineCase::refused(r#"{"a":01}"#, "expected a number"),
            LineCase::refused(r#"{"a":+1}"#, "expected a number"),
            LineCase::refused(r#"{"a":.5}"#, "expected a number"),
            LineCase::refused(r#"{"a":5.}"#, "expected a number"),
            LineCase::refused(r#"{"a":5.,"of more than one":1}"#, "expected a number"),
            LineCase::refused(r#"{"a":nan}"#, "expected a number"),
            LineCase::refused(r#"{"a":1e}"#, "expected a comma"),
            LineCase::refused(r#"{"a":Infinity}"#, "feature 'a' must be a finite number, got inf."),
            LineCase::refused(r#"{"a":-1e999}"#, "feature 'a' must be a finite number, got -inf."),
            LineCase::refused(r#"{"a":1,"a":2}"#, "feature 'a' appears twice."),
            LineCase::refused(r#"{"a":"b","a=b":2}"#, "feature 'a=b' appears twice."),
            LineCase::refused(r#"{"y":1,"y":1}"#, "'y' appears twice."),
            LineCase::refused(r#"{"y":[]}"#, "as the label"),
            LineCase::refused(r#"{"id":1.5}"#, "a text or an integer as the id at character 7"),
            LineCase::refused(r#"{"a\x":1}"#, "expected an escape of JSON"),
            LineCase::refused(r#"{"\ud83d":1}"#, "four hexadecimal digits of a character"),
            LineCase::refused(r#"{"\u+123":1}"#, "four hexadecimal digits of a character"),
            LineCase::refused("{\"a\u{1}\":1}", "without control characters"),
        ];
        check(&options, "", &cases);
    }

    /// A member of an object in one of many forms, and what it means, if anything.
    fn member(name: &str, kind: u32, value: f64) -> (String, Option<(String, f64)>) {
        let text = match kind {
            0 => return (format!("\"{name}\":null"), None),
            1 => {
                let text = format!("\"{name}\": \"roof\\t\"");
                return (text, Some((format!("{name}=roof\t"), 1.0)));
            }
            2 => format!("\"\\u{:04x}{}\" :  {value}", name.as_bytes()[0], &name[1..]),
            3 => format!("\"{name}\":\t{value:e}\r"),
            4 => format!("\"{name}\":{value:?}"),
            5 => format!("  \"{name}\": {value:.17e} "),
            _ => format!("\"{name}\": {value}"),
        };
        (text, Some((name.to_owned(), value)))
    }

    #[test]
    fn names_and_values_are_those_that_were_written_however_lines_follow_each_other() {
        let mut random = Generator::from_seed(5);
        let mut below = |limit: u32| (random.uniform() * f64::from(limit)) as u32;
        let (mut content, mut expected) = (String::new(), Vec::new());
        for line in 0..1_500_u32 {
            // By turns: all sensors, some of them, words in no order, ever more of them, very many.
            let names: Vec<String> = match line / 250 {
                0 => (0..30).map(|i| format!("sensor-{i}")).collect(),
                1 => (0..30).filter(|_| below(3) > 0).map(|i| format!("sensor-{i}")).collect(),
                2 => (0..20).map(|i| format!("w{}", 20 * below(5_000) + i)).collect(),
                3 => (0..line / 10).map(|i| format!("s\u{e4}nsor-{i}")).collect(),
                4 if line == 1_100 => (0..30_000).map(|i| format!("very-many-{i}")).collect(),
                _ => (0..20).map(|i| format!("name-{}", (i + line / 40) % 20)).collect(),
            };
            let mut features = Vec::new();
            content.push('{');
            let label_at = below(1 + names.len() as u32) as usize;
            for (i, name) in names.iter().enumerate() {
                if i == label_at {
                    content.push_str("\"y\": 1, ");
                }
                let value =
                    f64::from(below(2_000_000) as i32 - 1_000_000) / [1e2, 1e4, 7.0, 3e9][i % 4];
                let kind = if below(4) == 0 { below(10) } else { 9 };
                let (text, meaning) = member(name, kind, value);
                content.push_str(&text);
                features.extend(meaning);
                content.push_str(if i + 1 == names.len() {
                    ""
                } else {
                    [",", ", "][below(2) as usize]
                });
            }
            if names.is_empty() || label_at == names.len() {
                content.push_str(if names.is_empty() { "\"y\":1" } else { ",\"y\":1" });
            }
            content.push_str("}\n");
            expected.push(features);
        }
        assert!(content.len() > 1 << 20);
        let expected: Vec<Vec<_>> = expected
            .iter()
            .map(|line| line.iter().map(|(name, value)| (Name::Text(name), *value)).collect())
            .collect();
        check_lines(json_lines(), content, &expected);
    }

    #[test]
    fn an_expected_name_is_judged_like_any_other() {
        let line = r#"{"a": 1, "b": 2.5, "y": 1, "c": -3}"#;
        let cases = [
            (
                r#"{"a": 1, "b": 2.5.1, "c": 1}"#,
                "expected a comma or a closing brace at character 18",
            ),
            (r#"{"a": 1, "b": 02, "c": 1}"#, "expected a number"),
            (r#"{"a": 1, "b": 1e999, "c": 1}"#, "feature 'b' must be a finite number, got inf."),
            (r#"{"a": 1, "b": 2, "b": 2}"#, "feature 'b' appears twice."),
            (r#"{"a": 1, "b": 2, "a": 2}"#, "feature 'a' appears twice."),
            (r#"{"a": 1, "b": 2, "y": 1, "y": 1}"#, "'y' appears twice."),
            (r#"{"a": 1, "b": 2"#, "expected a comma or a closing brace, got the end of the line."),
            (r#"{"a": 1, "b": 2,"#, "expected a name between quotes, got the end of the line."),
            (r#"{"a": 1, "b": "#, "as the value of 'b', got the end of the line."),
            (r#"{"a": 1, "b"#, "expected a closing quote, got the end of the line."),
            (r#"{"a": 1, "b": 2} }"#, "expected the end of the line at character 18, got '}'."),
            ("{\"a\": 1, \"b\u{1}\": 2}", "without control characters"),
        ];
        for (wrong, sentence) in cases {
            let content = format!("{line}\n{line}\n{wrong}\n{line}\n");
            let mut reader =
                Reader::new(Cursor::new(content.into_bytes()), "f", json_lines()).unwrap();
            let mut record = Record::default();
            assert_eq!(reader.next(&mut record), Ok(true));
            assert_eq!(reader.next(&mut record), Ok(true));
            let error = reader.next(&mut record).unwrap_err().to_string();
            assert!(
                error.starts_with("f, line 3: ") && error.contains(sentence),
                "{wrong}: {error}"
            );
            assert_eq!(reader.next(&mut record), Ok(true));
            assert_eq!(record.features.len(), 3);
        }
    }
}
