//! JSON lines: an object a line, `{"name": value, ...}`.
//!
//! A value is a number, a bool, a text (an indicator) or null (absent); as Python writes them, `NaN` is
//! absent and an infinity is refused. The label may be any of these, an id a text or an integer.

use memchr::memchr2;

use crate::event::{Name, quoted};
use crate::label::Label;
use crate::readers::fingerprint::Fingerprint;
use crate::readers::number::{ParsedNumber, integer, json_number, leading};
use crate::readers::options::Options;
use crate::readers::record::{Id, NameRef, Record, not_finite, number_label, shown};
use crate::readers::swar::{eight_bytes, repeated, zero_bytes};

/// So many names of columns are kept at most.
const MOST_KEYS: usize = 1 << 16;
/// So many keys may be missing between two that are there.
const MOST_MISSING: usize = 4;
/// For so many lines at most no keys are expected, where their order does not repeat.
const LONGEST_PAUSE: u32 = 1 << 12;

/// The keys of a line, in their order: many files repeat it, so that a key need only be compared with
/// the one expected.
#[derive(Default)]
pub struct KeyPredictor {
    names: Vec<String>,
    expected: Vec<ExpectedKey>,
    /// What the expected keys look like, from the quote to the value.
    looks: Vec<u8>,
    /// Of the line that is read: the place of the next key, keys that were expected and others.
    next: usize,
    hits: u32,
    others: u32,
    /// LineBuffer until keys are learned again, and how many it will be the next time.
    pause: u32,
    next_pause: u32,
}

/// An expected key: its looks and where they lie, and the number of its name.
#[derive(Clone, Copy)]
struct ExpectedKey {
    print: Fingerprint,
    start: usize,
    end: usize,
    column: u32,
}

impl KeyPredictor {
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A line begins: see how the last one went. Where others were met the keys are forgotten, each time for
    /// longer.
    fn begin(&mut self) {
        if self.pause > 0 {
            self.pause -= 1;
        } else if 8 * self.others > self.hits + self.others {
            self.expected.clear();
            self.looks.clear();
            self.pause = self.next_pause;
            self.next_pause = (4 * self.next_pause).clamp(4, LONGEST_PAUSE);
        } else {
            self.next_pause /= 2; // also by the line that is learned
        }
        (self.next, self.hits, self.others) = (0, 0, 0);
    }

    /// The number of the key that stands at a place, if it is expected, and where its value starts.
    #[inline]
    fn find(&mut self, bytes: &[u8], at: usize) -> Option<(u32, usize)> {
        for (i, key) in self.expected[self.next..].iter().take(MOST_MISSING + 1).enumerate() {
            let end = at + key.end - key.start;
            if Fingerprint::of(bytes, at as u32, end as u32) == key.print
                && (key.print.is_all() || bytes.get(at..end) == self.looks.get(key.start..key.end))
            {
                self.next += i + 1;
                self.hits += 1;
                return Some((key.column, end));
            }
        }
        None
    }

    /// Count a key that was not expected, of which the name ends at a place and the value starts at another; behind
    /// the last one it is from now on.
    #[inline(never)]
    fn on_learned(&mut self, line: &str, quote: usize, end: usize, start: usize) -> Option<u32> {
        if self.next < self.expected.len() || self.names.len() >= MOST_KEYS {
            self.others += 1;
            return None;
        }
        let column = self.names.len() as u32;
        self.names.push(line[quote + 1..end].to_owned());
        let key = ExpectedKey {
            print: Fingerprint::of(line.as_bytes(), quote as u32, start as u32),
            start: self.looks.len(),
            end: self.looks.len() + start - quote,
            column,
        };
        self.looks.extend_from_slice(&line.as_bytes()[quote..start]);
        self.expected.push(key);
        self.next += 1;
        self.hits += 1;
        Some(column)
    }
}

/// Read a line; false if there is no event in it.
pub fn parse(
    line: &str,
    options: &Options,
    keys: &mut KeyPredictor,
    record: &mut Record,
) -> Result<bool, String> {
    let plain = line.bytes().fold(u8::MAX, u8::min) >= b' ';
    let mut text = Text { line, at: 0, plain };
    let Some(first) = text.peek() else { return Ok(false) };
    if first != b'{' {
        return Err(format!("expected a JSON object, got {}.", shown(line)));
    }
    text.at += 1;
    record.may_repeat = true;
    keys.begin();
    let (mut has_label, mut has_id) = (false, false);
    if text.peek() == Some(b'}') {
        text.at += 1;
    } else {
        while !plain || !text.plain_members(options, keys, record) {
            text.expect(b'"', "a name between quotes")?;
            let name = text.string(&mut record.texts)?;
            text.expect(b':', "a colon")?;
            let spelled = name.of(line, &record.texts);
            if options.label.as_deref() == Some(spelled) {
                once(&mut has_label, spelled)?;
                record.label = label(&mut text)?;
            } else if options.id.as_deref() == Some(spelled) {
                once(&mut has_id, spelled)?;
                record.id = id(&mut text)?;
            } else {
                feature(&mut text, name, record)?;
            }
            match text.peek() {
                Some(b',') => text.at += 1,
                Some(b'}') => break,
                _ => return Err(text.expected("a comma or a closing brace")),
            }
        }
        text.at += 1;
    }
    match text.peek() {
        None => Ok(true),
        Some(_) => Err(text.expected("the end of the line")),
    }
}

fn once(has: &mut bool, name: &str) -> Result<(), String> {
    if std::mem::replace(has, true) {
        return Err(format!("{} is there twice.", quoted(name)));
    }
    Ok(())
}

fn feature(text: &mut Text<'_>, name: JsonStr, record: &mut Record) -> Result<(), String> {
    let value = match text.peek() {
        Some(b'"') => {
            text.at += 1;
            let value = text.string(&mut record.texts)?;
            let start = record.texts.len();
            name.append(text.line, &mut record.texts);
            record.texts.push('=');
            value.append(text.line, &mut record.texts);
            let place = record.text_from(start)?;
            record.push(place, 1.0);
            return Ok(());
        }
        _ => text.scalar().ok_or_else(|| {
            let name = quoted(name.of(text.line, &record.texts));
            text.expected(&format!("a number, a bool, a text or null as the value of {name}"))
        })?,
    };
    let value = match value {
        Scalar::Null => return Ok(()),
        Scalar::Bool(truth) => f64::from(u8::from(truth)),
        Scalar::Number(value) => value,
    };
    if value.is_infinite() {
        return Err(not_finite(Name::Text(name.of(text.line, &record.texts)), value));
    }
    if !value.is_nan() {
        record.push(name.place, value);
    }
    Ok(())
}

fn label(text: &mut Text<'_>) -> Result<Option<Label>, String> {
    if text.peek() == Some(b'"') {
        text.at += 1;
        let mut texts = String::new();
        let label = text.string(&mut texts)?;
        return Ok(Some(Label::Text(label.of(text.line, &texts).to_owned())));
    }
    text.peek();
    let start = text.at;
    match text.scalar() {
        Some(Scalar::Null) => Ok(None),
        Some(Scalar::Bool(truth)) => Ok(Some(Label::Bool(truth))),
        Some(Scalar::Number(value)) => {
            let exact = integer(&text.line[start..text.at]).map(Label::Int);
            Ok(exact.or_else(|| number_label(value)))
        }
        None => Err(text.expected("a number, a bool, a text or null as the label")),
    }
}

fn id(text: &mut Text<'_>) -> Result<Option<Id>, String> {
    if text.peek() == Some(b'"') {
        text.at += 1;
        let mut texts = String::new();
        let id = text.string(&mut texts)?;
        return Ok(Some(Id::Text(id.of(text.line, &texts).to_owned())));
    }
    text.peek();
    let start = text.at;
    let null = matches!(text.scalar(), Some(Scalar::Null));
    match integer(&text.line[start..text.at]) {
        _ if null => Ok(None),
        Some(number) => Ok(Some(Id::Number(number))),
        None => {
            text.at = start;
            Err(text.expected("a text or an integer as the id"))
        }
    }
}

/// A string of the line: where its text stands.
#[derive(Clone, Copy)]
struct JsonStr {
    place: NameRef,
}

impl JsonStr {
    fn of<'a>(&self, line: &'a str, texts: &'a str) -> &'a str {
        match self.place {
            NameRef::Line { start, end } => &line[start as usize..end as usize],
            NameRef::Text { start, end } => &texts[start as usize..end as usize],
            NameRef::Number(_) | NameRef::Column(_) => "",
        }
    }

    /// Write it to the end of the texts, where it may stand itself.
    fn append(&self, line: &str, texts: &mut String) {
        match self.place {
            NameRef::Text { start, end } => texts.extend_from_within(start as usize..end as usize),
            _ => texts.push_str(self.of(line, "")),
        }
    }
}

enum Scalar {
    Null,
    Bool(bool),
    Number(f64),
}

/// The line, and how far it has been read.
struct Text<'a> {
    line: &'a str,
    at: usize,
    /// Whether there are no control characters in it, so that strings need not look for them.
    plain: bool,
}

impl Text<'_> {
    /// Read names without escapes and their plain numbers, with at most a blank between the parts, from where a
    /// name may start. Stands on the closing brace in the end, if true, or where another member starts.
    fn plain_members(
        &mut self,
        options: &Options,
        keys: &mut KeyPredictor,
        record: &mut Record,
    ) -> bool {
        if keys.pause > 0 {
            self.members::<false>(options, keys, record)
        } else {
            self.members::<true>(options, keys, record)
        }
    }

    /// The same, for a line whose keys are expected or learned, or not.
    #[inline(never)] // its registers are its own
    fn members<const EXPECTS: bool>(
        &mut self,
        options: &Options,
        keys: &mut KeyPredictor,
        record: &mut Record,
    ) -> bool {
        let bytes = self.line.as_bytes();
        let label = options.label.as_ref().map(String::as_bytes);
        let id = options.id.as_ref().map(String::as_bytes);
        let (mut at, mut before, mut behind) = (self.at, 0, 0);
        let closed = loop {
            let quote = pass_blank(bytes, at, &mut before);
            let expected = if EXPECTS { keys.find(bytes, quote) } else { None };
            let (place, start) = if let Some((column, start)) = expected {
                (NameRef::Column(column), start)
            } else {
                let Some(end) = plain_key(bytes, quote) else { break false };
                let name = bytes.get(quote + 1..end);
                if name == label || name == id {
                    break false;
                }
                let start = pass_blank(bytes, end + 2, &mut behind);
                let column =
                    if EXPECTS { keys.on_learned(self.line, quote, end, start) } else { None };
                let in_line = NameRef::Line { start: quote as u32 + 1, end: end as u32 };
                (column.map_or(in_line, NameRef::Column), start)
            };
            let ends = |next| matches!(next, Some(b',' | b'}'));
            let Some(ParsedNumber { value, end }) = json_number(bytes, start, ends) else {
                break false;
            };
            record.push(place, value);
            if bytes[end] == b'}' {
                at = end;
                break true;
            }
            at = end + 1;
        };
        self.at = at;
        closed
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.line.as_bytes();
        while let Some(b' ' | b'\t' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, what: &str) -> Result<(), String> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Ok(());
        }
        Err(self.expected(what))
    }

    fn expected(&self, what: &str) -> String {
        match self.line.get(self.at..) {
            Some("") | None => format!("expected {what}, got the end of the line."),
            Some(rest) => {
                format!("expected {what} at character {}, got {}.", self.at + 1, shown(rest))
            }
        }
    }

    /// The string whose opening quote was just read. With escapes it goes to the texts.
    fn string(&mut self, texts: &mut String) -> Result<JsonStr, String> {
        let bytes = self.line.as_bytes();
        let start = self.at;
        if self.plain
            && let Some(length) = memchr2(b'"', b'\\', &bytes[start..])
        {
            self.at += length;
        }
        if self.plain && bytes.get(self.at) == Some(&b'"') {
            let place = NameRef::Line { start: start as u32, end: self.at as u32 };
            self.at += 1;
            return Ok(JsonStr { place });
        }
        let first = texts.len();
        let mut from = start;
        loop {
            match bytes.get(self.at) {
                Some(b'"') => {
                    texts.push_str(&self.line[from..self.at]);
                    self.at += 1;
                    let place = NameRef::Text { start: first as u32, end: texts.len() as u32 };
                    return Ok(JsonStr { place });
                }
                Some(b'\\') => {
                    texts.push_str(&self.line[from..self.at]);
                    texts.push(self.escape()?);
                    from = self.at;
                }
                Some(0..b' ') => return Err(self.expected("a text without control characters")),
                Some(_) => self.at += 1,
                None => return Err(self.expected("a closing quote")),
            }
        }
    }

    /// The character of the escape that starts here.
    fn escape(&mut self) -> Result<char, String> {
        let start = self.at;
        let kind = self.line.as_bytes().get(start + 1).copied();
        self.at += 2;
        let character = match kind {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => self.unicode().ok_or_else(|| {
                let here = Text { at: start, ..*self };
                here.expected("\\u and four hexadecimal digits of a character")
            })?,
            _ => {
                self.at = start;
                return Err(self.expected("an escape of JSON"));
            }
        };
        Ok(character)
    }

    /// The character of the digits behind `\u`, or of two such that stand for one.
    fn unicode(&mut self) -> Option<char> {
        let first = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        if self.line.get(self.at..self.at + 2)? != "\\u" {
            return None;
        }
        self.at += 2;
        let second = self.four_digits()?;
        if !(0xdc00..0xe000).contains(&second) {
            return None;
        }
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
    }

    fn four_digits(&mut self) -> Option<u32> {
        let digits = self.line.get(self.at..self.at + 4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    /// A value that is no text, if one starts here.
    fn scalar(&mut self) -> Option<Scalar> {
        let first = self.peek()?;
        let rest = &self.line[self.at..];
        if first.is_ascii_digit() || first == b'-' {
            let bytes = rest.as_bytes();
            let found = leading(bytes).filter(|&(_, length)| is_json(&bytes[..length]));
            if let Some((value, length)) = found {
                self.at += length;
                return Some(Scalar::Number(value));
            }
        }
        let words = [
            ("null", Scalar::Null),
            ("true", Scalar::Bool(true)),
            ("false", Scalar::Bool(false)),
            ("NaN", Scalar::Null),
            ("Infinity", Scalar::Number(f64::INFINITY)),
            ("-Infinity", Scalar::Number(f64::NEG_INFINITY)),
        ];
        words.into_iter().find(|(word, _)| rest.starts_with(word)).map(|(word, scalar)| {
            self.at += word.len();
            scalar
        })
    }
}

/// Where it goes on behind a blank, if there is one. Most often there is one if there was one the last time: a guess
/// saves waiting for it.
#[inline]
fn pass_blank(bytes: &[u8], at: usize, blanks: &mut usize) -> usize {
    if (bytes.get(at) == Some(&b' ')) != (*blanks > 0) {
        *blanks = count_blanks(bytes, at);
    }
    at + *blanks
}

#[cold]
#[inline(never)]
fn count_blanks(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes.get(at) == Some(&b' '))
}

/// Where the name between quotes that starts at a place ends; none if there are escapes in it or no colon right
/// behind it.
#[inline]
fn plain_key(bytes: &[u8], quote: usize) -> Option<usize> {
    if bytes.get(quote) != Some(&b'"') {
        return None;
    }
    let mut end = quote + 1;
    let marks = loop {
        let eight = eight_bytes(bytes, end);
        let marks = zero_bytes(eight ^ repeated(b'"')) | zero_bytes(eight ^ repeated(b'\\'));
        if marks != 0 {
            break marks;
        }
        end += 8;
        if end >= bytes.len() {
            return None;
        }
    };
    end += marks.trailing_zeros() as usize / 8;
    (bytes.get(end..end + 2) == Some(b"\":")).then_some(end)
}

/// Whether a number is written as JSON has it: no plus, no zeros before, digits around the point.
fn is_json(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match digits.get(whole) {
        _ if whole == 0 || (whole > 1 && digits[0] == b'0') => false,
        Some(b'.') => digits.get(whole + 1).is_some_and(u8::is_ascii_digit),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LineCase, check, check_lines};
    use crate::event::Name;
    use crate::readers::Reader;
    use crate::readers::options::{Format, OnError, Options};
    use crate::readers::record::Record;
    use crate::storage::rng::Generator;
    use std::io::Cursor;

    fn json_lines() -> Options {
        let label = Some("y".to_owned());
        Options { format: Format::JsonLines, label, id: None, on_error: OnError::Stop }
    }

    #[test]
    fn lines_are_read_or_refused() {
        let options = Options { id: Some("id".to_owned()), ..json_lines() };
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
            LineCase::refused(r#"{"a":1,"a":2}"#, "feature 'a' is there twice."),
            LineCase::refused(r#"{"a":"b","a=b":2}"#, "feature 'a=b' is there twice."),
            LineCase::refused(r#"{"y":1,"y":1}"#, "'y' is there twice."),
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
            (r#"{"a": 1, "b": 2, "b": 2}"#, "feature 'b' is there twice."),
            (r#"{"a": 1, "b": 2, "a": 2}"#, "feature 'a' is there twice."),
            (r#"{"a": 1, "b": 2, "y": 1, "y": 1}"#, "'y' is there twice."),
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
