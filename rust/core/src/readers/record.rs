//! One event as its file gives it: label, id, values, and where the names of its features stand.

use crate::event::{FeatureValue, Name, Names, UNKNOWN, quoted};
use crate::label::Label;
use crate::readers::lines::{LONGEST_LINE, LineError};
use crate::readers::number::integer;

/// How an event is known to those who label it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    Number(i64),
    Text(String),
}

impl Id {
    /// The id that a text is in a format without types: one that is written as an integer is a number.
    pub fn of_text(text: &str) -> Self {
        match integer(text) {
            Some(number) if number.to_string() == text => Self::Number(number),
            _ => Self::Text(text.to_owned()),
        }
    }
}

/// A value as its file has it, for whoever looks at a sample.
#[derive(Clone, Debug, PartialEq)]
pub enum RawCell {
    Absent,
    Number(f64),
    Integer(i64),
    Bool(bool),
    Text(String),
    Time(i64),
}

/// Where the name of a feature stands, so that it need not be copied.
#[derive(Clone, Copy, Debug)]
pub enum NameRef {
    Number(i64),
    /// Bytes of the line.
    Line {
        start: u32,
        end: u32,
    },
    /// Bytes of the record's own texts.
    Text {
        start: u32,
        end: u32,
    },
    /// A column of the file's header, or a key of JSON lines that comes again and again.
    Column(u32),
}

/// One event. The same record is used for all lines, so that nothing is allocated.
#[derive(Default)]
pub struct Record {
    pub label: Option<Label>,
    pub id: Option<Id>,
    /// When it happened, in microseconds since 1970.
    pub time: Option<i64>,
    /// What it belongs to.
    pub group: Option<Id>,
    /// The event's features; their ids are unknown until a learner has resolved their names.
    pub features: Vec<FeatureValue>,
    /// Their names, in the same order.
    pub places: Vec<NameRef>,
    /// Names that do not stand in the line as they are: joined from parts, or written with escapes.
    pub texts: String,
    /// A quoted cell of CSV while it is read.
    pub scratch: String,
    /// Cells that are handed over as they are, with the names of their columns.
    pub raw: Vec<(String, RawCell)>,
    /// Whether a name may be there twice; numbers that rise are known not to be.
    pub may_repeat: bool,
}

impl Record {
    pub fn clear(&mut self) {
        self.label = None;
        self.id = None;
        self.time = None;
        self.group = None;
        self.raw.clear();
        self.features.clear();
        self.places.clear();
        self.texts.clear();
        self.may_repeat = false;
    }

    pub fn push(&mut self, name: NameRef, value: f64) {
        self.places.push(name);
        self.features.push(FeatureValue { id: UNKNOWN, value });
    }

    /// Add the indicator `name=text`, a feature of value 1.
    pub fn push_indicator(&mut self, name: &str, text: &str) -> Result<(), String> {
        let start = self.texts.len();
        self.texts.push_str(name);
        self.texts.push('=');
        self.texts.push_str(text);
        self.may_repeat = true;
        let name = self.text_from(start)?;
        self.push(name, 1.0);
        Ok(())
    }

    /// The name that was written to the texts from `start` on.
    pub fn text_from(&self, start: usize) -> Result<NameRef, String> {
        const MOST: usize = 4 * LONGEST_LINE;
        match self.texts.len() {
            end @ 0..=MOST => Ok(NameRef::Text { start: start as u32, end: end as u32 }),
            _ => Err(format!("the names of its features are longer than {} MiB.", MOST >> 20)),
        }
    }
}

/// The names of a record's features, and all that a [`NameRef`] may point into.
pub struct RecordNames<'a> {
    pub line: &'a str,
    pub header: &'a [String],
    pub texts: &'a str,
    /// One per feature.
    pub places: &'a [NameRef],
}

impl Names for RecordNames<'_> {
    fn name(&self, position: usize) -> Name<'_> {
        match self.places[position] {
            NameRef::Number(number) => Name::Number(number),
            NameRef::Line { start, end } => Name::Text(&self.line[start as usize..end as usize]),
            NameRef::Text { start, end } => Name::Text(&self.texts[start as usize..end as usize]),
            NameRef::Column(column) => Name::Text(&self.header[column as usize]),
        }
    }
}

impl RecordNames<'_> {
    /// Refuse a name that appears twice among the features at some positions.
    pub fn check_some(&self, mut positions: Vec<u32>) -> Result<(), String> {
        positions.sort_unstable_by(|&a, &b| self.name(a as usize).cmp(&self.name(b as usize)));
        let mut pairs = positions.windows(2);
        let twice = |pair: &&[u32]| self.name(pair[0] as usize) == self.name(pair[1] as usize);
        match pairs.find(twice) {
            Some(pair) => Err(is_there_twice(self.name(pair[0] as usize))),
            None => Ok(()),
        }
    }
}

pub fn is_there_twice(name: Name<'_>) -> String {
    format!("feature {name} appears twice.")
}

pub fn not_finite(name: Name<'_>, value: f64) -> String {
    format!("feature {name} must be a finite number, got {value}.")
}

/// Whether a byte separates the words of a line.
pub fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// A text for an error: between quotes, and only its start if it is long.
pub fn shown(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", quoted(&text[..end])),
        None => quoted(text),
    }
}

/// The label that a number is: an integer if it is whole; NaN is none.
pub fn number_label(number: f64) -> Option<Label> {
    const LIMIT: f64 = 9_007_199_254_740_992.0; // 2^53: beyond it floats skip integers
    if number.is_nan() {
        return None;
    }
    let whole = number.fract() == 0.0 && number.abs() <= LIMIT;
    Some(if whole { Label::Int(number as i64) } else { Label::Real(number) })
}

/// What the next line, or row, of a file is.
pub enum NextRecord<'a> {
    /// An event, now in the record: its line and the names of the columns, where its names may
    /// stand.
    Event { line: &'a str, header: &'a [String] },
    /// A line without an event: empty, or a comment.
    Nothing,
    /// The end of the file.
    End,
}

/// Why there is no next record.
pub enum RecordError {
    /// The line is not a record; the next may be one.
    Line(String),
    /// Nothing can be read any more.
    File(String),
    /// There is no memory for the next line.
    NoMemory,
    /// Waiting was interrupted; reading may go on.
    Paused,
    /// Whoever decodes the file was told to stop.
    Stopped,
}

impl From<LineError> for RecordError {
    fn from(error: LineError) -> Self {
        match error {
            LineError::TooLong => {
                Self::Line(format!("it is longer than {} MiB.", LONGEST_LINE >> 20))
            }
            LineError::Broken(reason) => Self::File(reason),
            LineError::NoMemory => Self::NoMemory,
            LineError::Paused => Self::Paused,
        }
    }
}

/// A line as text. `simdutf8` is as quick for lines that are not all ASCII; the standard library is not.
pub fn text(line: &[u8]) -> Result<&str, String> {
    simdutf8::compat::from_utf8(line).map_err(|error| {
        let (byte, place) = (line[error.valid_up_to()], error.valid_up_to() + 1);
        let utf_16 = line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff");
        let cure = if utf_16 { "; it begins as UTF-16 does, so save it as UTF-8" } else { "" };
        format!("expected text in UTF-8, got byte {byte:#04x} at {place}{cure}.")
    })
}
