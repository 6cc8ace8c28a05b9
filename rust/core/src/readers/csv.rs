//! CSV with a header, as in RFC 4180: cells between delimiters, quoted where they need it.
//!
//! An empty cell is absent. One that reads as a number is that number, `true` and `false` (also
//! `True`, `TRUE`, ...) are 1 and 0, any other text is an indicator. Quotes make no difference to
//! what a cell means. In the label's column a text is a label.

use memchr::memchr;

use crate::event::{Name, quoted};
use crate::label::Label;
use crate::readers::lines::{LineBuffer, LineError};
use crate::readers::number::{integer, whole};
use crate::readers::options::Options;
use crate::readers::record::{Id, NameRef, Record, RecordError, not_finite, number_label, text};

/// The columns of a file: their names, and which of them hold the label and the id.
#[derive(Clone, Debug, Default)]
pub struct Header {
    pub names: Vec<String>,
    label: Option<usize>,
    id: Option<usize>,
}

/// Read the first record; `tick` is called whenever waiting for it is interrupted, and its `false`
/// gives up.
pub fn read_header(
    lines: &mut LineBuffer,
    delimiter: u8,
    options: &Options,
    mut tick: impl FnMut() -> bool,
) -> Result<Header, RecordError> {
    let found = loop {
        match lines.advance() {
            Err(LineError::Paused) if tick() => {}
            found => break found?,
        }
    };
    if !found {
        return Err(RecordError::Line("it is empty; expected a header with the names.".to_owned()));
    }
    extend_to_record(lines, delimiter)?;
    let line = text(lines.line()).map_err(RecordError::Line)?;
    let mut names = Vec::new();
    let mut scratch = String::new();
    let mut cells = CsvCells { line, at: Some(0), delimiter };
    while let Some(cell) = cells.next(&mut scratch) {
        names.push(cell.to_owned());
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        let name = quoted(pair[0]);
        return Err(RecordError::Line(format!("column {name} is in its header twice.")));
    }
    let column = |wanted: Option<&String>| {
        let Some(wanted) = wanted else { return Ok(None) };
        let found = names.iter().position(|name| name == wanted);
        found.map(Some).ok_or_else(|| {
            let there: Vec<String> = names.iter().take(10).map(|name| quoted(name)).collect();
            let more = if names.len() > 10 { ", ..." } else { "" };
            let wanted = quoted(wanted);
            RecordError::Line(format!(
                "there is no column {wanted}; its header has {}{more}.",
                there.join(", ")
            ))
        })
    };
    let (label, id) = (column(options.label.as_ref())?, column(options.id.as_ref())?);
    Ok(Header { names, label, id })
}

/// Extend a line by those that follow while a quote is open.
pub fn extend_to_record(lines: &mut LineBuffer, delimiter: u8) -> Result<(), RecordError> {
    if memchr(b'"', lines.line()).is_none() {
        return Ok(());
    }
    let mut open = quote_is_open(lines.line(), delimiter, false);
    while open {
        let Some(start) = lines.extend()? else {
            return Err(RecordError::Line("a quote is not closed.".to_owned()));
        };
        open = quote_is_open(&lines.line()[start.min(lines.line().len())..], delimiter, true);
    }
    Ok(())
}

/// Whether a quoted cell goes on behind this line; `open` if one has gone on before it.
fn quote_is_open(line: &[u8], delimiter: u8, open: bool) -> bool {
    let (mut quoted, mut at_start) = (open, !open);
    let mut bytes = line.iter().peekable();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' if quoted => {
                if bytes.peek() == Some(&&b'"') {
                    bytes.next();
                } else {
                    quoted = false;
                }
            }
            b'"' if at_start => quoted = true,
            _ => {}
        }
        at_start = !quoted && byte == delimiter;
    }
    quoted
}

/// Read a record; false if there is no event in it.
pub fn parse(
    line: &str,
    delimiter: u8,
    header: &Header,
    record: &mut Record,
) -> Result<bool, String> {
    if line.is_empty() {
        return Ok(false);
    }
    let mut scratch = std::mem::take(&mut record.scratch);
    let read = parse_cells(CsvCells { line, at: Some(0), delimiter }, header, &mut scratch, record);
    record.scratch = scratch;
    read.map(|()| true)
}

fn parse_cells(
    mut cells: CsvCells<'_>,
    header: &Header,
    scratch: &mut String,
    record: &mut Record,
) -> Result<(), String> {
    let mut column = 0;
    while let Some(cell) = cells.next(scratch) {
        let Some(name) = header.names.get(column) else {
            let more = 1 + cells.count(scratch);
            let expected = header.names.len();
            return Err(format!("expected {expected} cells, got {}.", column + more));
        };
        if Some(column) == header.label {
            record.label = label(cell);
        } else if Some(column) == header.id {
            record.id = id(cell);
        } else {
            let value = match cell_value(cell) {
                CsvCell::Absent => f64::NAN,
                CsvCell::Number(number) => number,
                CsvCell::Bool(truth) => f64::from(u8::from(truth)),
                CsvCell::Text => {
                    record.push_indicator(name, cell)?;
                    f64::NAN
                }
            };
            if value.is_infinite() {
                return Err(not_finite(Name::Text(name), value));
            }
            if !value.is_nan() {
                record.push(NameRef::Column(column as u32), value);
            }
        }
        column += 1;
    }
    if column < header.names.len() {
        return Err(format!("expected {} cells, got {column}.", header.names.len()));
    }
    Ok(())
}

enum CsvCell {
    Absent,
    Number(f64),
    Bool(bool),
    Text,
}

fn cell_value(cell: &str) -> CsvCell {
    let trimmed = cell.trim_matches([' ', '\t']);
    if trimmed.is_empty() {
        return CsvCell::Absent;
    }
    if let Some(number) = whole(trimmed.as_bytes()) {
        return CsvCell::Number(number);
    }
    match trimmed {
        "true" | "True" | "TRUE" => CsvCell::Bool(true),
        "false" | "False" | "FALSE" => CsvCell::Bool(false),
        _ => CsvCell::Text,
    }
}

fn label(cell: &str) -> Option<Label> {
    match cell_value(cell) {
        CsvCell::Absent => None,
        CsvCell::Number(number) => integer(cell).map(Label::Int).or_else(|| number_label(number)),
        CsvCell::Bool(truth) => Some(Label::Bool(truth)),
        CsvCell::Text => Some(Label::Text(cell.to_owned())),
    }
}

/// An id that is written as Python writes an integer is a number, any other is a text.
fn id(cell: &str) -> Option<Id> {
    match integer(cell) {
        _ if cell.is_empty() => None,
        Some(number) if number.to_string() == cell => Some(Id::Number(number)),
        _ => Some(Id::Text(cell.to_owned())),
    }
}

/// The cells of a record in order.
struct CsvCells<'a> {
    line: &'a str,
    /// Where the next cell starts; none behind the last.
    at: Option<usize>,
    delimiter: u8,
}

impl<'a> CsvCells<'a> {
    /// The next cell; one between quotes is written to `scratch`.
    fn next<'s>(&mut self, scratch: &'s mut String) -> Option<&'s str>
    where
        'a: 's,
    {
        let start = self.at?;
        let bytes = self.line.as_bytes();
        if bytes.get(start) != Some(&b'"') {
            let end = self.cell_end(start);
            return Some(&self.line[start..end]);
        }
        scratch.clear();
        let mut from = start + 1;
        // A quote inside the cell is doubled; what stands behind the closing quote belongs to the
        // cell as well.
        while let Some(length) = memchr(b'"', &bytes[from..]) {
            scratch.push_str(&self.line[from..from + length]);
            from += length + 1;
            if bytes.get(from) != Some(&b'"') {
                let end = self.cell_end(from);
                scratch.push_str(&self.line[from..end]);
                return Some(scratch);
            }
            scratch.push('"');
            from += 1;
        }
        self.at = None;
        scratch.push_str(&self.line[from.min(bytes.len())..]);
        Some(scratch)
    }

    /// Where the part without quotes from `from` on ends; the next cell starts behind it.
    fn cell_end(&mut self, from: usize) -> usize {
        let rest = &self.line.as_bytes()[from..];
        let length = memchr(self.delimiter, rest);
        self.at = length.map(|length| from + length + 1);
        length.map_or(self.line.len(), |length| from + length)
    }

    /// How many cells are left.
    fn count(&mut self, scratch: &mut String) -> usize {
        let mut count = 0;
        while self.next(scratch).is_some() {
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LineCase, check};
    use super::*;
    use crate::readers::Reader;
    use crate::readers::options::{Format, OnError};

    fn options(delimiter: u8) -> Options {
        let (label, id) = (Some("y".to_owned()), Some("id".to_owned()));
        Options { format: Format::Csv { delimiter }, label, id, on_error: OnError::Stop }
    }

    #[test]
    fn records_are_read_or_refused() {
        let cases = [
            LineCase::event("7,1.5,x,1", "1 of 7", "'a'=1.5 'b=x'=1"),
            LineCase::event("07,, 2 ,spam\r", "'spam' of '07'", "'b'=2"),
            LineCase::event(",nan,0,", "none", "'b'=0"),
            LineCase::event("e,true,FALSE,True", "True of 'e'", "'a'=1 'b'=0"),
            LineCase::event(
                "e,\"1.5\",\"x, \"\"y\"\"\",2.5",
                "2.5 of 'e'",
                "'a'=1.5 'b=x, \"y\"'=1",
            ),
            LineCase::event("e,\"one\ntwo\",\"\",-1", "-1 of 'e'", r"'a=one\ntwo'=1"),
            LineCase::event("e,5\" pipe,\"a\"b,nan", "none of 'e'", "'a=5\" pipe'=1 'b=ab'=1"),
            LineCase::nothing(""),
            LineCase::refused("1,2,3", "line 2: expected 4 cells, got 3."),
            LineCase::refused("1,2,3,4,5,6", "line 2: expected 4 cells, got 6."),
            LineCase::refused("1,2,\"3,4", "line 2: a quote is not closed."),
            LineCase::refused("1,inf,3,4", "feature 'a' must be a finite number, got inf."),
            LineCase::refused("1,2,-1e999,4", "feature 'b' must be a finite number, got -inf."),
        ];
        check(&options(b','), "id,a,b,y\n", &cases);
        check(
            &options(b'\t'),
            "\u{feff}a\ty\tid\r\n",
            &[LineCase::event("1\t0\t-3", "0 of -3", "'a'=1")],
        );
        let twice = [LineCase::refused("b,1,1,e", "feature 'a=b' appears twice.")];
        check(&options(b','), "a,a=b,y,id\n", &twice);
    }

    #[test]
    fn a_header_must_be_there_with_its_columns() {
        let open = |content: &'static str| {
            Reader::new(content.as_bytes(), "f.csv", options(b',')).err().unwrap().to_string()
        };
        assert_eq!(open(""), "f.csv: it is empty; expected a header with the names.");
        assert_eq!(open("a,id\n"), "f.csv: there is no column 'y'; its header has 'a', 'id'.");
        assert_eq!(open("y,id,a,a\n"), "f.csv: column 'a' is in its header twice.");
        assert_eq!(open("y,id,\"a\n"), "f.csv: a quote is not closed.");
    }
}
