//! The events of a text file: its bytes become lines, its lines records.

use crate::readers::byte_stream::ByteStream;
use crate::readers::header::Header;
use crate::readers::json::key_predictor::KeyPredictor;
use crate::readers::lines::LineBuffer;
use crate::readers::options::Format;
use crate::readers::record::{NextRecord, Record, RecordError, text};
use crate::readers::roles::Roles;
use crate::readers::{csv, json, svmlight, vw};

pub struct LineReader {
    format: Format,
    lines: LineBuffer,
    /// The columns of a CSV file; empty otherwise.
    header: Header,
    /// The keys of JSON lines that come again and again; empty otherwise.
    keys: KeyPredictor,
}

impl LineReader {
    /// `tick` is called whenever waiting for the header is interrupted; its `false` gives up.
    pub fn new(
        stream: ByteStream,
        mut format: Format,
        roles: &mut Roles,
        tick: impl FnMut() -> bool,
    ) -> Result<Self, RecordError> {
        let mut lines = LineBuffer::new(stream);
        let mut header = Header::default();
        if let Format::Csv { delimiter } = format {
            let (found, delimiter) = csv::read_header(&mut lines, delimiter, roles, tick)?;
            (header, format) = (found, Format::Csv { delimiter });
        }
        Ok(Self { format, lines, header, keys: KeyPredictor::default() })
    }

    /// Bytes taken from the file so far, packed as they lie there.
    pub fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    /// The number of the line that was read last.
    pub fn number(&self) -> u64 {
        self.lines.number()
    }

    pub fn read(
        &mut self,
        roles: &mut Roles,
        record: &mut Record,
    ) -> Result<NextRecord<'_>, RecordError> {
        if !self.lines.advance()? {
            return Ok(NextRecord::End);
        }
        record.clear();
        roles.begin_event();
        if let Format::Csv { delimiter } = self.format {
            csv::extend_to_record(&mut self.lines, delimiter)?;
        }
        let (line, padded) = (self.lines.line(), self.lines.padded_line());
        let found = match self.format {
            Format::Svmlight => svmlight::parse(padded, record),
            Format::Vw => text(line).and_then(|line| Ok(vw::parse(line, record)?.then_some(line))),
            Format::Csv { delimiter } => text(line).and_then(|line| {
                Ok(csv::parse(line, delimiter, &self.header, roles, record)?.then_some(line))
            }),
            Format::JsonLines => text(line).and_then(|line| {
                Ok(json::parse(line, padded, roles, &mut self.keys, record)?.then_some(line))
            }),
        };
        let found = found.and_then(|found| roles.finish(record).map(|()| found));
        Ok(match found.map_err(RecordError::Line)? {
            Some(line) => NextRecord::Event { line, header: self.columns() },
            None => NextRecord::Nothing,
        })
    }

    /// Whether every line names its fields itself, so that one with a role may never come.
    pub fn has_fields(&self) -> bool {
        self.format == Format::JsonLines
    }

    /// The line that was read last.
    pub fn line(&self) -> &str {
        text(self.lines.line()).unwrap_or_default() // text that is none was refused
    }

    /// The names that `NameRef::Column` counts.
    pub fn columns(&self) -> &[String] {
        match self.format {
            Format::JsonLines => self.keys.names(),
            Format::Csv { .. } | Format::Svmlight | Format::Vw => &self.header.names,
        }
    }
}
