//! The grammar of JSON as far as a line of events needs it: strings, scalars, and what errors say.

use memchr::{memchr, memchr2};

use crate::readers::number::leading;
use crate::readers::record::{NameRef, shown};

/// A line and how far it has been read.
pub struct JsonCursor<'a> {
    pub line: &'a str,
    /// Always between two characters of the line, or at its end.
    pub at: usize,
    /// Whether there are control characters in the line; if not, strings need not look for them.
    pub has_control: bool,
    /// Whether there may be escapes in its strings.
    pub has_escape: bool,
}

impl<'a> JsonCursor<'a> {
    pub fn new(line: &'a str) -> Self {
        let has_control = line.bytes().fold(u8::MAX, u8::min) < b' ';
        let has_escape = memchr(b'\\', line.as_bytes()).is_some();
        Self { line, at: 0, has_control, has_escape }
    }

    /// The next byte that is not blank, and go there.
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.line.as_bytes();
        while let Some(b' ' | b'\t' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Go behind the next byte that is not blank if it is this one.
    pub fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// As [`skip`](Self::skip); an error if it is another byte.
    pub fn expect(&mut self, byte: u8, what: &str) -> Result<(), String> {
        if self.skip(byte) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// The error that something else stands here.
    pub fn expected(&self, what: &str) -> String {
        match self.line.get(self.at..) {
            Some("") | None => format!("expected {what}, got the end of the line."),
            Some(rest) => {
                format!("expected {what} at character {}, got {}.", self.at + 1, shown(rest))
            }
        }
    }

    /// The string whose opening quote was just read. With escapes it is written to the end of
    /// `unescaped`.
    pub fn string(&mut self, unescaped: &mut String) -> Result<JsonStr, String> {
        let bytes = self.line.as_bytes();
        let start = self.at;
        if !self.has_control {
            if let Some(length) = memchr2(b'"', b'\\', &bytes[start..]) {
                self.at += length;
            }
            if bytes.get(self.at) == Some(&b'"') {
                let string = JsonStr::InLine { start: start as u32, end: self.at as u32 };
                self.at += 1;
                return Ok(string);
            }
        }
        let first = unescaped.len();
        let mut copied = start; // what stands before it in the line is in `unescaped`
        loop {
            match bytes.get(self.at) {
                Some(b'"') => {
                    unescaped.push_str(&self.line[copied..self.at]);
                    self.at += 1;
                    let end = unescaped.len() as u32;
                    return Ok(JsonStr::Unescaped { start: first as u32, end });
                }
                Some(b'\\') => {
                    unescaped.push_str(&self.line[copied..self.at]);
                    unescaped.push(self.escape()?);
                    copied = self.at;
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
                self.at = start;
                self.expected("\\u and four hexadecimal digits of a character")
            })?,
            _ => {
                self.at = start;
                return Err(self.expected("an escape of JSON"));
            }
        };
        Ok(character)
    }

    /// The character of the digits behind `\u`, or of two such escapes that together stand for one
    /// (UTF-16).
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

    /// Go behind the value that starts here, whatever it is.
    pub fn skip_value(&mut self) -> Result<(), String> {
        let (mut open, mut unescaped) = (Vec::new(), String::new());
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.string(&mut unescaped)?;
                    unescaped.clear();
                }
                Some(bracket @ (b'{' | b'[')) => {
                    open.push(if bracket == b'{' { b'}' } else { b']' });
                    self.at += 1;
                    continue;
                }
                Some(byte) if open.last() == Some(&byte) => {
                    open.pop();
                    self.at += 1;
                }
                Some(b',' | b':') if !open.is_empty() => {
                    self.at += 1;
                    continue;
                }
                _ => {
                    self.scalar().ok_or_else(|| self.expected("a value"))?;
                }
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    /// The value that starts here, if it is a scalar other than a string.
    pub fn scalar(&mut self) -> Option<Scalar> {
        let first = self.peek()?;
        let rest = &self.line[self.at..];
        if (first.is_ascii_digit() || first == b'-')
            && let Some((value, length)) = leading(rest.as_bytes())
            && is_json_number(&rest.as_bytes()[..length])
        {
            self.at += length;
            return Some(Scalar::Number(without_sign_of_0(value, &rest.as_bytes()[..length])));
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

/// Where the text of a string stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JsonStr {
    /// In the line, without escapes.
    InLine { start: u32, end: u32 },
    /// Among the texts that were written without their escapes.
    Unescaped { start: u32, end: u32 },
}

impl JsonStr {
    pub fn of<'a>(self, line: &'a str, unescaped: &'a str) -> &'a str {
        match self {
            Self::InLine { start, end } => &line[start as usize..end as usize],
            Self::Unescaped { start, end } => &unescaped[start as usize..end as usize],
        }
    }

    /// Write it to the end of `unescaped`, where it may stand itself.
    pub fn append(self, line: &str, unescaped: &mut String) {
        match self {
            Self::InLine { start, end } => unescaped.push_str(&line[start as usize..end as usize]),
            Self::Unescaped { start, end } => {
                unescaped.extend_from_within(start as usize..end as usize);
            }
        }
    }

    /// The same as the name of a feature, if the record's texts are those without escapes.
    pub fn name_ref(self) -> NameRef {
        match self {
            Self::InLine { start, end } => NameRef::Line { start, end },
            Self::Unescaped { start, end } => NameRef::Text { start, end },
        }
    }
}

/// A value that is neither a string nor made of others. Python's `NaN` is read as null.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Null,
    Bool(bool),
    Number(f64),
}

/// Whether a number is in the spelling of JSON: no plus, no zeros in front, digits on both sides of
/// the point.
fn is_json_number(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match digits.get(whole) {
        _ if whole == 0 || (whole > 1 && digits[0] == b'0') => false,
        Some(b'.') => digits.get(whole + 1).is_some_and(u8::is_ascii_digit),
        _ => true,
    }
}

/// `-0` is an integer, and of integers there is one 0; `-0.0` keeps its sign. So does Python.
fn without_sign_of_0(value: f64, number: &[u8]) -> f64 {
    if number == b"-0" { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of the string at the start of a line, and what stands behind it.
    fn string(line: &str) -> Result<(String, &str), String> {
        let mut cursor = JsonCursor::new(line);
        cursor.expect(b'"', "a quote")?;
        let mut unescaped = "before".to_owned();
        let string = cursor.string(&mut unescaped)?;
        Ok((string.of(line, &unescaped).to_owned(), &line[cursor.at..]))
    }

    #[test]
    fn strings_are_read_with_and_without_escapes() {
        for (line, expected) in [
            (r#""":"#, ""),
            (r#"  "plain":"#, "plain"),
            (r#""äß😀":"#, "äß😀"),
            (r#""\"\\\/\b\f\n\r\t":"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r#""a\u00e4z":"#, "aäz"),
            (r#""\ud83d\ude00":"#, "😀"),
            ("\"a\u{7f}b\":", "a\u{7f}b"),
            (" \t\"after a tab\":", "after a tab"),
        ] {
            assert_eq!(string(line), Ok((expected.to_owned(), ":")), "{line}");
        }
    }

    #[test]
    fn strings_that_are_none_are_refused_where_they_go_wrong() {
        for (line, sentence) in [
            ("x", "expected a quote at character 1, got 'x'."),
            (r#""a"#, "expected a closing quote, got the end of the line."),
            (r#""a\"#, r"expected an escape of JSON at character 3, got '\\'."),
            (r#""a\x""#, r#"expected an escape of JSON at character 3, got '\\x"'."#),
            (r#""\u12"#, "hexadecimal digits of a character at character 2"),
            (r#""\u12g4""#, "hexadecimal digits of a character at character 2"),
            (r#""\ude00""#, "hexadecimal digits of a character at character 2"),
            (r#""\ud83d\u0041""#, "hexadecimal digits of a character at character 2"),
            (r#""\ud83d?""#, "hexadecimal digits of a character at character 2"),
            ("\"a\tb\"", "expected a text without control characters at character 3"),
        ] {
            let error = string(line).unwrap_err();
            assert!(error.contains(sentence), "{line}: {error}");
        }
    }

    #[test]
    fn scalars_are_read_in_the_spelling_of_json() {
        let read = |line| {
            let mut cursor = JsonCursor::new(line);
            let scalar = cursor.scalar();
            (scalar, cursor.at)
        };
        for (line, scalar, end) in [
            ("null,", Scalar::Null, 4),
            (" true", Scalar::Bool(true), 5),
            ("false}", Scalar::Bool(false), 5),
            ("NaN", Scalar::Null, 3),
            ("Infinity", Scalar::Number(f64::INFINITY), 8),
            ("-Infinity", Scalar::Number(f64::NEG_INFINITY), 9),
            ("0", Scalar::Number(0.0), 1),
            ("-0", Scalar::Number(0.0), 2),
            ("-0.0", Scalar::Number(-0.0), 4),
            ("-12.5e1,", Scalar::Number(-125.0), 7),
            ("1e999", Scalar::Number(f64::INFINITY), 5),
            ("1e", Scalar::Number(1.0), 1),
        ] {
            assert_eq!(read(line), (Some(scalar), end), "{line}");
        }
        for line in ["", "+1", ".5", "5.", "5.e1", "01", "-", "nan", "inf", "-inf", "[1]", "\"a\""]
        {
            assert_eq!(read(line), (None, 0), "{line}");
        }
    }

    #[test]
    fn a_string_is_written_behind_others_wherever_it_stands() {
        let (line, mut texts) = ("roof", "cellar".to_owned());
        JsonStr::InLine { start: 1, end: 4 }.append(line, &mut texts);
        JsonStr::Unescaped { start: 0, end: 4 }.append(line, &mut texts);
        assert_eq!(texts, "cellaroofcell");
    }
}
