//! Makes of a cell what its column is for: the label, the id, a time, words, a number.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::event::{Name, quoted};
use crate::label::Label;
use crate::readers::columns::{Columns, Role};
use crate::readers::findings::{Finding, FindingKind, Findings};
use crate::readers::number::integer;
use crate::readers::quantity::{self, NoQuantity};
use crate::readers::record::{Id, NameRef, RawCell, Record, not_finite, number_label, shown};
use crate::readers::time;
use crate::readers::words::Words;

/// A value as its file has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Absent,
    Number(f64),
    Integer(i64),
    /// A number with its spelling.
    Written(&'a str, f64),
    Bool(bool),
    Text(&'a str),
    /// Microseconds since 1970.
    Time(i64),
}

impl Cell<'_> {
    fn label(self) -> Option<Label> {
        match self {
            Self::Absent => None,
            Self::Number(number) => number_label(number),
            Self::Integer(number) => Some(Label::Int(number)),
            Self::Written(text, number) => {
                integer(text).map(Label::Int).or_else(|| number_label(number))
            }
            Self::Bool(truth) => Some(Label::Bool(truth)),
            Self::Text(text) => Some(Label::Text(text.to_owned())),
            Self::Time(time) => Some(Label::Int(time)),
        }
    }

    /// The id that it is; `what` is what it is to be.
    fn id(self, what: &str) -> Result<Option<Id>, String> {
        let refused =
            |got: String| Err(format!("expected a text or an integer as the {what}, got {got}."));
        match self {
            Self::Absent => Ok(None),
            Self::Integer(number) | Self::Time(number) => Ok(Some(Id::Number(number))),
            Self::Text(text) => Ok(Some(Id::Text(text.to_owned()))),
            Self::Written(text, _) => match integer(text) {
                Some(number) => Ok(Some(Id::Number(number))),
                None => refused(text.to_owned()),
            },
            // integers beside absent cells come as floats from some libraries
            Self::Number(number) => match number_label(number) {
                Some(Label::Int(whole)) => Ok(Some(Id::Number(whole))),
                _ => refused(number.to_string()),
            },
            Self::Bool(truth) => refused(truth.to_string()),
        }
    }

    fn time(self, column: &str) -> Result<Option<i64>, String> {
        let (found, got) = match self {
            Self::Absent => return Ok(None),
            Self::Time(time) => return Ok(Some(time)),
            Self::Integer(number) => (time::of_number(number as f64), number.to_string()),
            Self::Number(number) => (time::of_number(number), number.to_string()),
            Self::Written(text, number) => (time::of_number(number), text.to_owned()),
            Self::Bool(truth) => (None, truth.to_string()),
            Self::Text(text) if quantity::is_missing(text) => return Ok(None),
            Self::Text(text) => (time::parse(text), shown(text)),
        };
        found.map(Some).ok_or_else(|| {
            format!(
                "column {} must hold times (2026-11-16T10:00:03Z, or seconds since 1970), got {got}.",
                quoted(column)
            )
        })
    }

    /// As its file, or Python, writes it; none if it is absent.
    fn spelling(self) -> Option<String> {
        match self {
            Self::Absent => None,
            Self::Number(number) => Some(format!("{number:?}")),
            Self::Integer(number) | Self::Time(number) => Some(number.to_string()),
            Self::Written(text, _) | Self::Text(text) => Some(text.to_owned()),
            Self::Bool(truth) => Some(truth.to_string()),
        }
    }

    fn owned(self) -> RawCell {
        match self {
            Self::Absent => RawCell::Absent,
            Self::Number(number) => RawCell::Number(number),
            Self::Written(text, number) => match integer(text) {
                Some(whole) if whole.to_string() == text => RawCell::Integer(whole),
                Some(_) => RawCell::Text(text.to_owned()), // 0101: its zeros mean something
                None => RawCell::Number(number),
            },
            Self::Integer(number) => RawCell::Integer(number),
            Self::Bool(truth) => RawCell::Bool(truth),
            Self::Text(text) => RawCell::Text(text.to_owned()),
            Self::Time(time) => RawCell::Time(time),
        }
    }
}

/// The roles of a file's columns, and what is remembered from one event to the next.
pub struct Roles {
    pub columns: Columns,
    /// Names with a role that must be known before a value is read, and whether they were met.
    special: Vec<(String, Role, bool)>,
    /// A bit for each of their lengths, the last for all that are longer: most names have another.
    special_lengths: u64,
    units: Vec<(String, String)>,
    findings: Findings,
    /// The time of the last event, of each group.
    last: HashMap<Option<Id>, i64>,
    out_of_order: u64,
    times: u64,
    words: Words,
    /// The features of the text that is read, by their names.
    counted: HashTable<u32>,
    hasher: FixedState,
}

impl Roles {
    pub fn new(columns: Columns) -> Self {
        let is_special = |&(_, role): &(&str, Role)| role != Role::Number;
        let unmet = |(name, role): (&str, Role)| (name.to_owned(), role, false);
        let special: Vec<_> = columns.roles().filter(is_special).map(unmet).collect();
        let bit = |(name, ..): &(String, Role, bool)| 1 << name.len().min(63);
        let special_lengths = special.iter().fold(0, |bits, one| bits | bit(one));
        Self {
            special,
            special_lengths,
            units: columns.units.clone(),
            columns,
            findings: Findings::default(),
            last: HashMap::new(),
            out_of_order: 0,
            times: 0,
            words: Words::default(),
            counted: HashTable::new(),
            hasher: FixedState::default(),
        }
    }

    /// Whether a name of this length may be one that [`is_special`](Self::is_special).
    #[inline]
    pub fn may_be_special(&self, length: usize) -> bool {
        self.columns.raw | (self.special_lengths >> length.min(63) & 1 == 1)
    }

    /// Whether a name must not be taken for that of a plain feature.
    #[inline(never)]
    pub fn is_special(&self, name: &[u8]) -> bool {
        self.columns.raw || self.special.iter().any(|(special, ..)| special.as_bytes() == name)
    }

    /// The role of a name that was met.
    pub fn meet(&mut self, name: &str) -> Option<Role> {
        if self.columns.raw {
            return Some(Role::Raw);
        }
        if let Some((_, role, met)) = self.special.iter_mut().find(|special| special.0 == name) {
            *met = true;
            return Some(*role);
        }
        self.columns.number.iter().any(|number| number == name).then_some(Role::Number)
    }

    /// The units that columns of numbers are in, as far as they were met.
    pub fn units(&self) -> &[(String, String)] {
        &self.units
    }

    pub fn findings(&self) -> Vec<Finding> {
        let mut found = self.findings.list();
        if self.out_of_order > 0 {
            let column = self.columns.time.clone().unwrap_or_default();
            let (count, of) = (self.out_of_order, self.times);
            let kind = FindingKind::OutOfOrder;
            found.push(Finding { kind, column, count, of, example: String::new() });
        }
        found
    }

    /// Names with a role that no event had.
    pub fn unused(&self) -> Vec<Finding> {
        let finding = |(name, ..): &(String, Role, bool)| Finding {
            kind: FindingKind::Unused,
            column: name.clone(),
            count: 0,
            of: 0,
            example: String::new(),
        };
        self.special.iter().filter(|(.., met)| !met).map(finding).collect()
    }

    pub fn begin_event(&mut self) {
        self.findings.begin_event();
    }

    /// Take a cell of a column without a role; `place` is where its name stands.
    pub fn feature(
        &mut self,
        record: &mut Record,
        name: &str,
        place: NameRef,
        cell: Cell<'_>,
    ) -> Result<(), String> {
        let value = match cell {
            Cell::Absent => return Ok(()),
            Cell::Text(text) => {
                self.findings.see(name, text);
                return record.push_indicator(name, text);
            }
            Cell::Number(number) | Cell::Written(_, number) => number,
            Cell::Integer(number) => number as f64,
            Cell::Bool(truth) => f64::from(u8::from(truth)),
            Cell::Time(_) => {
                return Err(format!(
                    "column {} holds times; give it the role time or ignore.",
                    quoted(name)
                ));
            }
        };
        push_number(record, name, place, value)
    }

    /// A text of a column without a role, whose indicator somebody else adds.
    pub fn see(&mut self, name: &str, text: &str) {
        self.findings.see(name, text);
    }

    /// Take a cell of a column with a role.
    pub fn take(
        &mut self,
        record: &mut Record,
        role: Role,
        name: &str,
        place: NameRef,
        cell: Cell<'_>,
    ) -> Result<(), String> {
        match role {
            Role::Label => record.label = cell.label(),
            Role::Id => record.id = cell.id("id")?,
            Role::Group => record.group = cell.id("group")?,
            Role::Time => record.time = cell.time(name)?,
            Role::Ignore => {}
            Role::Raw => record.raw.push((name.to_owned(), cell.owned())),
            Role::Category => {
                if let Some(text) = cell.spelling() {
                    record.push_indicator(name, &text)?;
                }
            }
            Role::Text => {
                if let Some(text) = cell.spelling() {
                    self.words(record, name, &text)?;
                }
            }
            Role::Number => match cell {
                Cell::Text(text) => {
                    if let Some(value) = self.quantity(name, text)? {
                        push_number(record, name, place, value)?;
                    }
                }
                cell => self.feature(record, name, place, cell)?,
            },
        }
        Ok(())
    }

    /// Add what follows from the whole event: the features of its time.
    pub fn finish(&mut self, record: &mut Record) -> Result<(), String> {
        let Some(time) = record.time else { return Ok(()) };
        let Some(name) = self.columns.time.as_deref() else { return Ok(()) };
        let wanted = self.columns.time_features;
        if wanted.hour {
            record.push_indicator(&format!("{name}.hour"), &time::hour(time).to_string())?;
        }
        if wanted.weekday {
            record.push_indicator(&format!("{name}.weekday"), time::weekday(time))?;
        }
        self.times += 1;
        // Without groups there is one entry.
        let last = self.last.entry(record.group.clone()).or_insert(i64::MIN);
        let before = std::mem::replace(last, time);
        if before == i64::MIN {
            return Ok(());
        }
        if time < before {
            self.out_of_order += 1;
        } else if wanted.since_last {
            let start = record.texts.len();
            record.texts.push_str(name);
            record.texts.push_str(".since_last");
            let place = record.text_from(start)?;
            record.may_repeat = true;
            record.push(place, (time - before) as f64 / 1e6);
        }
        Ok(())
    }

    /// Add the words of a text, each with the number of times that it is there.
    fn words(&mut self, record: &mut Record, name: &str, text: &str) -> Result<(), String> {
        self.words.read(text);
        self.counted.clear();
        record.may_repeat = true;
        for ngram in self.words.ngrams(self.columns.ngrams) {
            let start = record.texts.len();
            record.texts.push_str(name);
            let mut mark = ':';
            for word in ngram {
                record.texts.push(mark);
                record.texts.push_str(word);
                mark = ' ';
            }
            let NameRef::Text { start: from, end: to } = record.text_from(start)? else { continue };
            let word = &record.texts[from as usize..to as usize];
            let hash = self.hasher.hash_one(word);
            let texts = |position: u32| match record.places[position as usize] {
                NameRef::Text { start, end } => &record.texts[start as usize..end as usize],
                NameRef::Line { .. } | NameRef::Number(_) | NameRef::Column(_) => "",
            };
            if let Some(&there) = self.counted.find(hash, |&there| texts(there) == word) {
                record.features[there as usize].value += 1.0;
                record.texts.truncate(start);
            } else {
                let rehash = |&there: &u32| self.hasher.hash_one(texts(there));
                self.counted.insert_unique(hash, record.places.len() as u32, rehash);
                record.push(NameRef::Text { start: from, end: to }, 1.0);
            }
        }
        Ok(())
    }

    /// The number that a text of a column of numbers is; none if it says that there is none.
    pub fn quantity(&mut self, name: &str, text: &str) -> Result<Option<f64>, String> {
        if quantity::is_missing(text) {
            return Ok(None);
        }
        let found = quantity::parse(text, self.columns.decimal).map_err(|refused| {
            let cure = match refused {
                NoQuantity::Comma => {
                    "; say whether its comma is the decimal sign (decimal \",\") or separates thousands \
                     (decimal \".\")"
                }
                NoQuantity::Other => "",
            };
            format!("column {} must hold numbers, got {}{cure}.", quoted(name), shown(text))
        })?;
        if found.unit.is_empty() {
            return Ok(Some(found.value));
        }
        match self.units.iter().find(|(column, _)| column == name) {
            None => self.units.push((name.to_owned(), found.unit)),
            Some((_, unit)) if *unit == found.unit => {}
            Some((_, unit)) => {
                return Err(format!(
                    "column {} is in {}, got {}; convert it.",
                    quoted(name),
                    quoted(unit),
                    shown(text)
                ));
            }
        }
        Ok(Some(found.value))
    }
}

fn push_number(record: &mut Record, name: &str, place: NameRef, value: f64) -> Result<(), String> {
    if value.is_infinite() {
        return Err(not_finite(Name::Text(name), value));
    }
    if !value.is_nan() {
        record.push(place, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::error::Error;
    use crate::event::Names;
    use crate::readers::Reader;
    use crate::readers::columns::TimeFeatures;
    use crate::readers::options::{Format, OnError, Options};
    use crate::readers::record_batches::tests::{Listed, texts};
    use crate::readers::record_batches::{Cells, RecordBatch};

    fn columns() -> Columns {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Columns {
            time: Some("at".to_owned()),
            group: Some("line".to_owned()),
            ignore: names(&["junk"]),
            text: names(&["note"]),
            category: names(&["zip"]),
            number: names(&["temp"]),
            time_features: TimeFeatures { hour: true, weekday: true, since_last: true },
            ngrams: 2,
            ..Columns::new(Some("y".to_owned()), Some("id".to_owned()))
        }
    }

    fn read_all(reader: &mut Reader) -> Vec<String> {
        let (mut record, mut told) = (Record::default(), Vec::new());
        while reader.next(&mut record).unwrap() {
            let names = reader.names(&record);
            let features = record.features.iter().enumerate();
            let features: Vec<String> =
                features.map(|(i, f)| format!("{}={}", names.name(i), f.value)).collect();
            let Record { id, group, label, time, .. } = &record;
            told.push(format!("{id:?} {group:?} {label:?} {time:?} {}", features.join(" ")));
        }
        told
    }

    fn text_reader(text: &str, format: Format, columns: Columns) -> Result<Reader, Error> {
        let options = Options { format, columns, on_error: OnError::Stop };
        Reader::new(Cursor::new(text.as_bytes().to_vec()), "f", options)
    }

    const CSV: &str = "id,at,line,junk,note,zip,temp,y,rain\n\
        a,1970-01-01T10:00:00Z,7,x,Hot hot,01234,21.5 °C,1,0.5\n\
        b,36000.5,8,,,2,3,,\n\
        c,1970-01-01T10:00:02Z,7,,not hot,,n/a,0,1\n";

    fn json() -> String {
        [
            r#"{"id":"a","at":"1970-01-01T10:00:00Z","line":7,"junk":[{"x":"}"}],"note":"Hot hot","zip":"01234","temp":"21.5 °C","y":1,"rain":0.5}"#,
            r#"{"id":"b","at":36000.5,"line":8,"junk":null,"zip":2,"temp":3}"#,
            r#"{"id":"c","at":"1970-01-01T10:00:02Z","line":7,"note":"not hot","temp":"n/a","y":0,"rain":1}"#,
        ]
        .join("\n")
    }

    fn rows() -> Listed {
        let names = vec!["id", "at", "line", "junk", "note", "zip", "temp", "y", "rain"];
        let columns = vec![
            texts(&[Some("a"), Some("b"), Some("c")]),
            Cells::Times(vec![Some(36_000_000_000), Some(36_000_500_000), Some(36_002_000_000)]),
            Cells::Integers(vec![Some(7), Some(8), Some(7)]),
            Cells::Absent,
            texts(&[Some("Hot hot"), None, Some("not hot")]),
            texts(&[Some("01234"), Some("2"), None]),
            texts(&[Some("21.5 °C"), Some("3"), Some("n/a")]),
            Cells::Integers(vec![Some(1), None, Some(0)]),
            Cells::Numbers(vec![0.5, f64::NAN, 1.0]),
        ];
        let batches = vec![Ok(RecordBatch { rows: 3, columns })].into_iter();
        Listed { names, batches }
    }

    #[test]
    fn every_format_gives_the_same_events() {
        let expected = [
            "Some(Text(\"a\")) Some(Number(7)) Some(Int(1)) Some(36000000000) 'note:hot'=2 'note:hot hot'=1 \
             'zip=01234'=1 'temp'=21.5 'rain'=0.5 'at.hour=10'=1 'at.weekday=thu'=1",
            "Some(Text(\"b\")) Some(Number(8)) None Some(36000500000) 'zip=2'=1 'temp'=3 'at.hour=10'=1 \
             'at.weekday=thu'=1",
            "Some(Text(\"c\")) Some(Number(7)) Some(Int(0)) Some(36002000000) 'note:not'=1 'note:hot'=1 \
             'note:not hot'=1 'rain'=1 'at.hour=10'=1 'at.weekday=thu'=1 'at.since_last'=2",
        ];
        let csv = Format::Csv { delimiter: b',' };
        let readers = [
            text_reader(CSV, csv, columns()),
            text_reader(&json(), Format::JsonLines, columns()),
            Reader::of_batches(Box::new(rows()), "f", columns(), OnError::Stop),
        ];
        for reader in readers {
            let mut reader = reader.unwrap();
            assert_eq!(read_all(&mut reader), expected);
            assert_eq!(reader.units(), [("temp".to_owned(), "°C".to_owned())]);
            assert_eq!(reader.findings(true), []);
        }
    }

    #[test]
    fn cells_that_do_not_fit_their_role_are_refused() {
        for (line, sentence) in [
            (
                r#"{"at":"yesterday"}"#,
                "column 'at' must hold times (2026-11-16T10:00:03Z, or seconds since 1970), got 'yesterday'.",
            ),
            (r#"{"at":true}"#, "column 'at' must hold times"),
            (r#"{"at":1e30}"#, "got 1e30."),
            (r#"{"at":[1]}"#, "expected a number, a bool, a text or null as the value of 'at'"),
            (r#"{"temp":"warm"}"#, "column 'temp' must hold numbers, got 'warm'."),
            (
                r#"{"temp":"21,5"}"#,
                "got '21,5'; say whether its comma is the decimal sign (decimal \",\") or separates thousands (decimal \".\").",
            ),
            (
                "{\"temp\":\"1 °C\"}\n{\"temp\":\"2 K\"}",
                "f, line 2: column 'temp' is in '°C', got '2 K'; convert it.",
            ),
            (r#"{"line":1.5}"#, "expected a text or an integer as the group"),
            (r#"{"at":1,"at":2}"#, "'at' appears twice."),
            (r#"{"note":"a","note":"a"}"#, "feature 'note:a' appears twice."),
            (r#"{"junk":[1,}"#, "expected a value"),
            (r#"{"junk":{"a":1}"#, "expected a comma or a closing brace, got the end of the line."),
        ] {
            let mut reader = text_reader(line, Format::JsonLines, columns()).unwrap();
            let mut record = Record::default();
            let error = loop {
                match reader.next(&mut record) {
                    Ok(true) => {}
                    Ok(false) => panic!("{line} was read"),
                    Err(error) => break error.to_string(),
                }
            };
            assert!(error.contains(sentence), "{line}: {error}");
        }
    }

    #[test]
    fn the_decimal_sign_of_a_column_of_numbers_can_be_a_comma() {
        let number = vec!["a".to_owned()];
        let columns = Columns { number, decimal: Some(','), ..Columns::default() };
        let csv = Format::Csv { delimiter: b';' };
        let mut reader = text_reader("a;b\n1,5;1\n1.234;1,5\n;2\n", csv, columns).unwrap();
        let told = read_all(&mut reader);
        assert!(
            told[0].ends_with("'a'=1.5 'b'=1") && told[1].ends_with("'a'=1234 'b=1,5'=1"),
            "{told:?}"
        );
    }

    #[test]
    fn roles_that_nothing_has_and_times_that_go_back_are_found() {
        let text = "{\"at\": 5, \"rain\": 1}\n{\"at\": 3}\n{\"at\": 4}\n";
        let mut reader = text_reader(text, Format::JsonLines, columns()).unwrap();
        assert_eq!(read_all(&mut reader).len(), 3);
        let found: Vec<(FindingKind, String, u64)> =
            reader.findings(true).into_iter().map(|f| (f.kind, f.column, f.count)).collect();
        let unused = ["y", "id", "line", "junk", "note", "zip"]
            .map(|name| (FindingKind::Unused, name.to_owned(), 0));
        assert_eq!(found[0], (FindingKind::OutOfOrder, "at".to_owned(), 1));
        assert_eq!(found[1..], unused);
        let header = "at,rain\n";
        let missing =
            text_reader(header, Format::Csv { delimiter: b',' }, columns()).err().unwrap();
        assert!(
            missing.to_string().contains("there is no column 'y'; its header has 'at', 'rain'.")
        );
        let optional = Columns { optional: true, ..columns() };
        assert!(text_reader(header, Format::Csv { delimiter: b',' }, optional).is_ok());
    }

    #[test]
    fn raw_cells_are_handed_over_as_they_are() {
        let columns = || Columns { raw: true, ..Columns::default() };
        let line = r#"{"a": 1.5, "b": "x", "c": [1], "d": true, "e": null}"#;
        let mut reader = text_reader(line, Format::JsonLines, columns()).unwrap();
        let mut record = Record::default();
        assert!(reader.next(&mut record).unwrap() && record.features.is_empty());
        let text = |text: &str| RawCell::Text(text.to_owned());
        let expected = [
            ("a", RawCell::Number(1.5)),
            ("b", text("x")),
            ("c", RawCell::Absent),
            ("d", RawCell::Bool(true)),
            ("e", RawCell::Absent),
        ];
        assert_eq!(record.raw, expected.map(|(name, cell)| (name.to_owned(), cell)));
        let mut reader =
            Reader::of_batches(Box::new(rows()), "f", columns(), OnError::Stop).unwrap();
        assert!(reader.next(&mut record).unwrap());
        assert_eq!(record.raw[1], ("at".to_owned(), RawCell::Time(36_000_000_000)));
        assert_eq!(record.raw[7], ("y".to_owned(), RawCell::Integer(1)));
    }
}
