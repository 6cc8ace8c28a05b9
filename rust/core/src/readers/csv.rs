//! CSV with a header, as in RFC 4180: cells between delimiters, quoted where they need it. The
//! delimiter is a comma, or the semicolon if the header has no comma.
//!
//! An empty cell is absent. One that reads as a number is that number, `true` and `false` (also
//! `True`, `TRUE`, ...) are 1 and 0, any other text is an indicator. Quotes make no difference to
//! what a cell means. In the label's column a text is a label.

use memchr::memchr;

use crate::readers::columns::Role;
use crate::readers::header::Header;
use crate::readers::lines::{LineBuffer, LineError};
use crate::readers::number::whole;
use crate::readers::record::{Id, NameRef, Record, RecordError, text};
use crate::readers::roles::{Cell, Roles};

/// Read the first record, and find the delimiter; `tick` is called whenever waiting for it is
/// interrupted, and its `false` gives up.
pub fn read_header(
    lines: &mut LineBuffer,
    delimiter: u8,
    roles: &mut Roles,
    mut tick: impl FnMut() -> bool,
) -> Result<(Header, u8), RecordError> {
    let found = loop {
        match lines.advance() {
            Err(LineError::Paused) if tick() => {}
            found => break found?,
        }
    };
    if !found {
        return Err(RecordError::Line("it is empty; expected a header with the names.".to_owned()));
    }
    let delimiter = delimiter_of(lines.line(), delimiter);
    extend_to_record(lines, delimiter)?;
    let line = text(lines.line()).map_err(RecordError::Line)?;
    let mut names = Vec::new();
    let mut scratch = String::new();
    let mut cells = CsvCells { line, at: Some(0), delimiter };
    while let Some(cell) = cells.next(&mut scratch) {
        names.push(cell.to_owned());
    }
    let header = Header::new(names, roles, "its header has").map_err(RecordError::Line)?;
    Ok((header, delimiter))
}

/// The delimiter that a header shows: a semicolon, if there is one and no comma, as spreadsheets
/// write where the comma is the decimal sign.
fn delimiter_of(header: &[u8], expected: u8) -> u8 {
    if expected != b',' {
        return expected;
    }
    let (mut quoted, mut semicolon) = (false, false);
    for byte in header {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => return expected,
            b';' if !quoted => semicolon = true,
            _ => {}
        }
    }
    if semicolon { b';' } else { expected }
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
    roles: &mut Roles,
    record: &mut Record,
) -> Result<bool, String> {
    if line.is_empty() {
        return Ok(false);
    }
    let mut scratch = std::mem::take(&mut record.scratch);
    let cells = CsvCells { line, at: Some(0), delimiter };
    let read = parse_cells(cells, header, roles, &mut scratch, record);
    record.scratch = scratch;
    read.map(|()| true)
}

fn parse_cells(
    mut cells: CsvCells<'_>,
    header: &Header,
    roles: &mut Roles,
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
        let place = NameRef::Column(column as u32);
        match header.roles[column] {
            None => roles.feature(record, name, place, cell_of(cell))?,
            Some(Role::Id) => record.id = id(cell),
            Some(Role::Group) => record.group = id(cell),
            // The decimal sign is not that of a plain number, or the words may be digits.
            Some(role @ Role::Number) if roles.columns.decimal == Some(',') => {
                roles.take(record, role, name, place, Cell::Text(cell))?;
            }
            Some(role @ Role::Text) => roles.take(record, role, name, place, Cell::Text(cell))?,
            Some(role) => roles.take(record, role, name, place, cell_of(cell))?,
        }
        column += 1;
    }
    if column < header.names.len() {
        return Err(format!("expected {} cells, got {column}.", header.names.len()));
    }
    Ok(())
}

fn cell_of(cell: &str) -> Cell<'_> {
    let trimmed = cell.trim_matches([' ', '\t']);
    if trimmed.is_empty() {
        return Cell::Absent;
    }
    if let Some(number) = whole(trimmed.as_bytes()) {
        return Cell::Written(trimmed, number);
    }
    match trimmed {
        "true" | "True" | "TRUE" => Cell::Bool(true),
        "false" | "False" | "FALSE" => Cell::Bool(false),
        _ => Cell::Text(cell),
    }
}

fn id(cell: &str) -> Option<Id> {
    (!cell.is_empty()).then(|| Id::of_text(cell))
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
    use crate::readers::columns::Columns;
    use crate::readers::options::{Format, OnError, Options};

    fn options(delimiter: u8) -> Options {
        let columns = Columns::new(Some("y".to_owned()), Some("id".to_owned()));
        Options { format: Format::Csv { delimiter }, columns, on_error: OnError::Stop }
    }

    #[test]
    fn the_header_says_whether_semicolons_stand_between_cells() {
        for (header, delimiter) in [
            ("a,b", b','),
            ("a;b", b';'),
            ("a;b,c", b','),
            ("\"a;b\"", b','),
            ("\"a,b\";c", b';'),
            ("a", b','),
        ] {
            assert_eq!(delimiter_of(header.as_bytes(), b','), delimiter, "{header}");
        }
        assert_eq!(delimiter_of(b"a;b", b'\t'), b'\t');
    }

    #[test]
    fn a_doubled_quote_does_not_end_a_cell() {
        assert!(quote_is_open(br#"a,"he said ""x"#, b',', false)); // the cell goes on in the next line
        assert!(!quote_is_open(br#"y"",z""#, b',', true));
        assert!(!quote_is_open(br#"a,"he said ""x""""#, b',', false));
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
        let decimal = [LineCase::event("7;1.5;x, y;1", "1 of 7", "'a'=1.5 'b=x, y'=1")];
        check(&options(b','), "id;a;b;y\n", &decimal);
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
