//! Events from files, read block by block in constant memory.
//!
//! A [`Reader`] gives one [`Record`] per event; `Learner::simulate_file` runs them through a
//! learner. Bytes become lines in `byte_stream` and `lines`, and a line becomes a record in the
//! file of its format. Files of typed columns are decoded by somebody else, who hands over batches
//! of rows (`record_batches`).

mod byte_stream;
pub mod columns;
mod csv;
mod decimal;
mod decompress;
pub mod findings;
pub mod fingerprint;
mod header;
mod json;
mod line_reader;
pub mod lines;
mod number;
pub mod options;
mod quantity;
pub mod record;
pub mod record_batches;
pub mod record_table;
mod repeats;
pub mod roles;
mod svmlight;
mod swar;
mod time;
mod vw;
mod window;
mod words;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::Error;
use crate::readers::byte_stream::ByteStream;
use crate::readers::columns::Columns;
use crate::readers::findings::Finding;
use crate::readers::line_reader::LineReader;
use crate::readers::options::{OnError, Options};
use crate::readers::record::{NextRecord, Record, RecordError, RecordNames};
use crate::readers::record_batches::{BatchReader, BatchSource};
use crate::readers::repeats::RepeatFinder;
use crate::readers::roles::Roles;

pub use crate::readers::time::parse as parse_time;

/// Why a line was skipped is kept for the first so many of them.
const MOST_PROBLEMS: usize = 10;

/// A line, or a row, of a file.
#[derive(Clone, Debug)]
pub struct Place {
    file: Arc<str>,
    unit: &'static str,
    number: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} {}", self.file, self.unit, self.number)
    }
}

/// Reads the events of a file in order.
pub struct Reader {
    /// What errors call the file.
    name: Arc<str>,
    input: Input,
    roles: Roles,
    repeats: RepeatFinder,
    /// The lines that could not be used.
    pub skips: Skips,
}

/// Lines that could not be used: how many, and why the first of them could not.
#[derive(Clone, Debug)]
pub struct Skips {
    on_error: OnError,
    pub count: u64,
    pub problems: Vec<String>,
}

impl Skips {
    pub fn new(on_error: OnError) -> Self {
        Self { on_error, count: 0, problems: Vec::new() }
    }

    /// None yet, of the same file.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::new(self.on_error)
    }

    /// Count a line that cannot be used, or stop because of it. What is wrong with more than one line stops
    /// always.
    pub fn take(&mut self, error: Error) -> Result<(), Error> {
        let of_line =
            matches!(error, Error::File(_) | Error::Label(_) | Error::Step(_) | Error::Event(_));
        if self.on_error == OnError::Stop || !of_line {
            return Err(error);
        }
        self.count += 1;
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(error.to_string());
        }
        Ok(())
    }
}

enum Input {
    Lines(LineReader),
    Batches(BatchReader),
}

impl Reader {
    /// Read a file, or standard input if its path is `-`.
    ///
    /// `tick` is called whenever waiting for its header is interrupted; its `false` gives up.
    pub fn open(path: &Path, options: Options, tick: impl FnMut() -> bool) -> Result<Self, Error> {
        let name = match path.to_string_lossy() {
            text if text == "-" => "standard input".to_owned(),
            text => text.into_owned(),
        };
        Self::with_stream(ByteStream::open(path), name, options, tick)
    }

    /// Read what another source gives; `name` is what errors call it.
    pub fn new(
        source: impl io::Read + Send + 'static,
        name: &str,
        options: Options,
    ) -> Result<Self, Error> {
        Self::with_stream(ByteStream::new(source), name.to_owned(), options, || true)
    }

    /// Read rows that are decoded already.
    pub fn of_batches(
        source: Box<dyn BatchSource>,
        name: &str,
        columns: Columns,
        on_error: OnError,
    ) -> Result<Self, Error> {
        let mut roles = Roles::new(columns);
        let batches = BatchReader::new(source, &mut roles)
            .map_err(|reason| Error::File(format!("{name}: {reason}")))?;
        Ok(Self::of(Input::Batches(batches), name.to_owned(), roles, on_error))
    }

    fn with_stream(
        stream: io::Result<ByteStream>,
        name: String,
        options: Options,
        tick: impl FnMut() -> bool,
    ) -> Result<Self, Error> {
        let stream = stream.map_err(|error| Error::File(format!("{name}: {error}.")))?;
        let mut roles = Roles::new(options.columns);
        let lines =
            LineReader::new(stream, options.format, &mut roles, tick).map_err(|refused| {
                let reason = match refused {
                    RecordError::Line(reason) => reason,
                    RecordError::File(reason) => format!("it cannot be read: {reason}."),
                    RecordError::NoMemory => return no_memory(&name),
                    RecordError::Paused | RecordError::Stopped => return Error::Interrupted,
                };
                Error::File(format!("{name}: {reason}"))
            })?;
        Ok(Self::of(Input::Lines(lines), name, roles, options.on_error))
    }

    fn of(input: Input, name: String, roles: Roles, on_error: OnError) -> Self {
        let repeats = RepeatFinder::default();
        Self { name: name.into(), input, roles, repeats, skips: Skips::new(on_error) }
    }

    /// Bytes taken from the file so far, packed as they lie there.
    pub fn bytes(&self) -> u64 {
        match &self.input {
            Input::Lines(lines) => lines.bytes(),
            Input::Batches(batches) => batches.bytes(),
        }
    }

    /// Lines that could not be used.
    pub fn skipped(&self) -> u64 {
        self.skips.count
    }

    /// Why the first of them could not.
    pub fn problems(&self) -> &[String] {
        &self.skips.problems
    }

    /// What looks wrong in what was read so far; `at_end`: nothing more comes.
    pub fn findings(&self, at_end: bool) -> Vec<Finding> {
        let mut found = self.roles.findings();
        let has_fields = matches!(&self.input, Input::Lines(lines) if lines.has_fields());
        if at_end && has_fields && !self.roles.columns.optional {
            found.extend(self.roles.unused());
        }
        found
    }

    /// The units of columns of numbers, as far as they were met.
    pub fn units(&self) -> &[(String, String)] {
        self.roles.units()
    }

    /// Read the next line into a record. That no name is in it twice is left to the caller where
    /// `may_repeat` says so.
    pub fn read(&mut self, record: &mut Record) -> Result<NextRecord<'_>, RecordError> {
        match &mut self.input {
            Input::Lines(lines) => lines.read(&mut self.roles, record),
            Input::Batches(batches) => batches.read(&mut self.roles, record),
        }
    }

    /// Read the next record, with all checks; false if there is none. If waiting for it was
    /// interrupted, that is the error, and reading may go on.
    pub fn next(&mut self, record: &mut Record) -> Result<bool, Error> {
        loop {
            let found = match self.read(record) {
                Ok(NextRecord::End) => return Ok(false),
                Ok(NextRecord::Nothing) => continue,
                Ok(NextRecord::Event { .. }) if record.may_repeat => self.check(record),
                Ok(NextRecord::Event { .. }) => Ok(()),
                Err(refused) => Err(refused),
            };
            match found {
                Ok(()) => return Ok(true),
                Err(refused @ RecordError::Line(_)) => self.skips.take(self.error(refused))?,
                Err(refused) => return Err(self.error(refused)),
            }
        }
    }

    /// Read the next line alone, with all checks: whether it holds an event, and None at the end.
    /// What is wrong with a line is its error, and the next call reads the line after it.
    pub fn next_line(&mut self, record: &mut Record) -> Result<Option<bool>, RecordError> {
        match self.read(record)? {
            NextRecord::End => return Ok(None),
            NextRecord::Nothing => return Ok(Some(false)),
            NextRecord::Event { .. } => {}
        }
        if record.may_repeat {
            self.check(record)?;
        }
        Ok(Some(true))
    }

    /// Refuse a record with a name that is in it twice.
    fn check(&mut self, record: &Record) -> Result<(), RecordError> {
        let mut repeats = std::mem::take(&mut self.repeats);
        let checked = repeats.check(&self.names(record));
        self.repeats = repeats;
        checked.map_err(RecordError::Line)
    }

    /// The names of the record that was read last.
    pub fn names<'a>(&'a self, record: &'a Record) -> RecordNames<'a> {
        let (line, header) = match &self.input {
            Input::Lines(lines) => (lines.line(), lines.columns()),
            Input::Batches(batches) => ("", batches.columns()),
        };
        RecordNames { line, header, texts: &record.texts, places: &record.places }
    }

    /// The error of the line that was read last, with its place.
    pub fn error(&self, refused: RecordError) -> Error {
        match refused {
            RecordError::Line(reason) => Error::File(format!("{}: {reason}", self.here())),
            RecordError::File(reason) => {
                let (what, last) = match &self.input {
                    Input::Lines(lines) => ("line", lines.number().saturating_sub(1)),
                    Input::Batches(batches) => ("row", batches.number()),
                };
                let place = format!("{}: it cannot be read after {what} {last}", self.name);
                Error::File(format!("{place}: {reason}."))
            }
            RecordError::NoMemory => no_memory(&self.here()),
            RecordError::Paused | RecordError::Stopped => Error::Interrupted,
        }
    }

    /// The file and the line, or row, that was read last.
    pub fn here(&self) -> String {
        self.place().to_string()
    }

    /// The same, to be written only if it is needed.
    pub fn place(&self) -> Place {
        let (unit, number) = match &self.input {
            Input::Lines(lines) => ("line", lines.number()),
            Input::Batches(batches) => ("row", batches.number()),
        };
        Place { file: self.name.clone(), unit, number }
    }
}

fn no_memory(place: &str) -> Error {
    Error::Memory(format!("{place}: there is not enough memory for it."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{FeatureValue, Name, Names, quoted};
    use crate::label::Label;
    use crate::readers::lines::LONGEST_LINE;
    use crate::readers::options::Format;
    use crate::readers::record::Id;

    /// A line and what is to be made of it.
    pub struct LineCase {
        line: &'static str,
        expected: Result<Option<(&'static str, &'static str)>, &'static str>,
    }

    impl LineCase {
        /// The label (`of` the id, if there is one), and the features.
        pub fn event(line: &'static str, label: &'static str, features: &'static str) -> Self {
            Self { line, expected: Ok(Some((label, features))) }
        }

        pub fn nothing(line: &'static str) -> Self {
            Self { line, expected: Ok(None) }
        }

        /// What the sentence ends with, or contains.
        pub fn refused(line: &'static str, sentence: &'static str) -> Self {
            Self { line, expected: Err(sentence) }
        }
    }

    /// Read each line as a file of its own, behind a header.
    pub fn check(options: &Options, header: &str, cases: &[LineCase]) {
        for case in cases {
            let content = format!("{header}{}", case.line).into_bytes();
            let mut reader = Reader::new(io::Cursor::new(content), "f", options.clone()).unwrap();
            let mut record = Record::default();
            let mut found = None;
            let result = reader.next(&mut record);
            if result == Ok(true) {
                let names = reader.names(&record);
                let label = record.label.as_ref().map_or("none".to_owned(), Label::to_string);
                let id = match &record.id {
                    None => String::new(),
                    Some(Id::Number(number)) => format!(" of {number}"),
                    Some(Id::Text(text)) => format!(" of {}", quoted(text)),
                };
                let feature = |(i, feature): (usize, &FeatureValue)| {
                    format!("{}={}", names.name(i), feature.value)
                };
                let features: Vec<String> =
                    record.features.iter().enumerate().map(feature).collect();
                found = Some((label + &id, features.join(" ")));
            }
            match (case.expected, result) {
                (Ok(expected), Ok(_)) => {
                    let expected = expected.map(|(a, b)| (a.to_owned(), b.to_owned()));
                    assert_eq!(found, expected, "{}", case.line);
                }
                (Err(sentence), Err(error)) => {
                    assert!(error.to_string().contains(sentence), "{}: {error}", case.line);
                }
                (_, result) => panic!("{}: {result:?}, {found:?}", case.line),
            }
        }
    }

    /// Read lines whose label is 1, and compare names and values to the last bit.
    pub fn check_lines(options: Options, content: String, expected: &[Vec<(Name<'_>, f64)>]) {
        let mut reader = Reader::new(io::Cursor::new(content.into_bytes()), "f", options).unwrap();
        let mut record = Record::default();
        for (line, expected) in expected.iter().enumerate() {
            assert_eq!(reader.next(&mut record), Ok(true), "{line}");
            assert_eq!(record.label, Some(Label::Int(1)), "{line}");
            assert_eq!(record.features.len(), expected.len(), "{line}");
            let names = reader.names(&record);
            for (i, (feature, &(name, value))) in record.features.iter().zip(expected).enumerate() {
                assert_eq!(names.name(i), name, "{line}");
                assert_eq!(feature.value.to_bits(), value.to_bits(), "{line}: {name}");
            }
        }
        assert_eq!(reader.next(&mut record), Ok(false));
    }

    pub fn svmlight() -> Options {
        let (format, columns) = (Format::Svmlight, Columns::default());
        Options { format, columns, on_error: OnError::Stop }
    }

    fn labels_of(content: impl io::Read + Send + 'static) -> (Vec<String>, Result<(), Error>) {
        let mut reader = Reader::new(content, "f", svmlight()).unwrap();
        let (mut record, mut labels) = (Record::default(), Vec::new());
        loop {
            match reader.next(&mut record) {
                Ok(true) => labels.push(record.label.as_ref().map(Label::to_string).unwrap()),
                Ok(false) => return (labels, Ok(())),
                Err(Error::Interrupted) => {} // it waits
                Err(error) => return (labels, Err(error)),
            }
        }
    }

    /// Gives a byte at a time, and is interrupted now and then.
    struct Slow(io::Cursor<Vec<u8>>, usize);

    impl io::Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            if self.1.is_multiple_of(7) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let one = buffer.len().min(1);
            self.0.read(&mut buffer[..one])
        }
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let content = b"1 1:1\n\n2\r\n# no\n3 1:1 2:2\n4".to_vec();
        let expected = ["1", "2", "3", "4"];
        assert_eq!(labels_of(io::Cursor::new(content.clone())).0, expected);
        assert_eq!(labels_of(Slow(io::Cursor::new(content), 0)).0, expected);
    }

    #[test]
    fn packed_files_are_unpacked_and_what_is_cut_off_is_refused_behind_its_lines() {
        use std::io::Write;
        let lines: Vec<String> =
            (0..100_000).map(|i| format!("{i} 1:0.5 {}:2\n", 2 + i % 97)).collect();
        let plain = lines.concat();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(plain.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        let twice = [gzip.clone(), gzip.clone()].concat();
        let zstd = zstd::encode_all(plain.as_bytes(), 1).unwrap();
        let zstd_twice = [zstd.clone(), zstd.clone()].concat();
        let expected = labels_of(io::Cursor::new(plain.into_bytes())).0;
        assert_eq!(expected.len(), 100_000);
        for packed in [gzip.clone(), zstd.clone()] {
            assert_eq!(labels_of(io::Cursor::new(packed)), (expected.clone(), Ok(())));
        }
        for packed in [twice, zstd_twice] {
            assert_eq!(labels_of(io::Cursor::new(packed)).0.len(), 200_000);
        }
        for packed in [gzip, zstd] {
            let half = packed[..packed.len() / 2].to_vec();
            let (labels, result) = labels_of(io::Cursor::new(half));
            assert!(!labels.is_empty() && labels.len() < 100_000);
            assert_eq!(labels, expected[..labels.len()]);
            let sentence = format!("f: it cannot be read after line {}: ", labels.len());
            assert!(result.unwrap_err().to_string().starts_with(&sentence));
        }
    }

    #[test]
    fn lines_are_read_one_by_one_with_what_is_wrong_with_each() {
        let content = b"\n{\"a\": 1}\n\n{\"a\": 1, \"a\": 2}\n{\n[]\n{\"b\": 2}\n".to_vec();
        let columns = Columns { optional: true, ..Columns::default() };
        let options = Options { format: Format::JsonLines, columns, on_error: OnError::Stop };
        let mut reader = Reader::new(io::Cursor::new(content), "f", options).unwrap();
        let mut record = Record::default();
        let mut found = Vec::new();
        for _ in 0..7 {
            found.push(match reader.next_line(&mut record) {
                Ok(None) => "the end",
                Ok(Some(true)) => "event",
                Ok(Some(false)) => "nothing",
                Err(RecordError::Line(_)) => "refused",
                Err(_) => "it cannot be read",
            });
        }
        assert!(matches!(reader.next_line(&mut record), Ok(None)));
        let expected = ["nothing", "event", "nothing", "refused", "refused", "refused", "event"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let long = vec![b' '; LONGEST_LINE + 1];
        let content = [b"1\n".to_vec(), long, b"\n3\n".to_vec()].concat();
        let mut reader = Reader::new(io::Cursor::new(content), "f", svmlight()).unwrap();
        let mut record = Record::default();
        assert_eq!(reader.next(&mut record), Ok(true));
        let error = reader.next(&mut record).unwrap_err();
        assert_eq!(error.to_string(), "f, line 2: it is longer than 64 MiB.");
        assert_eq!(reader.next(&mut record), Ok(true));
        assert_eq!(reader.here(), "f, line 3");
        assert_eq!(reader.next(&mut record), Ok(false));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_wherever_they_stand_and_the_next_line_is_read() {
        let lines: [(&[u8], usize); 6] = [
            (b"\xff", 1),
            (b"1 1:1 \xff", 7),
            (b"1 1:1 2:\xff", 9),
            (b"1 qid:\xff 1:1", 7),
            (b"x 1:1 \xff", 7),
            (b"1 1:1 # \xff", 9),
        ];
        for (line, place) in lines {
            let content = [b"1\n", line, b"\n3"].concat();
            let mut reader = Reader::new(io::Cursor::new(content), "f", svmlight()).unwrap();
            let mut record = Record::default();
            assert_eq!(reader.next(&mut record), Ok(true));
            let error = reader.next(&mut record).unwrap_err();
            let sentence = format!("f, line 2: expected text in UTF-8, got byte 0xff at {place}.");
            assert_eq!(error.to_string(), sentence);
            assert_eq!(reader.next(&mut record), Ok(true));
        }
    }
}
