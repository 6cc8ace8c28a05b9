//! A run from a failing source to a failing output: whatever fails wherever, the error names the
//! side that failed, whole lines are written, as many as events were decided, and what was learned
//! is what a run over just these events learns.
//!
//! An input is: the learner, the way of the run, what happens below the reader and below the writer
//! and at which byte, how often the file's content comes, and that content.

use std::collections::VecDeque;
use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_core::LearnedLabels;
use headwater_core::readers::Reader;
use headwater_core::readers::columns::Columns;
use headwater_core::readers::options::{Format, OnError, Options};
use headwater_core::readers::record::Record;
use headwater_core::readers::record_table::RecordTable;
use headwater_core::{Config, DecisionWriter, Error, Learner, Output, Progress, RunCounts};

use crate::bytes::Bytes;
use crate::check_sentence;
use crate::learners::{bytes_of, configs};
use crate::readers::{options, plain, read};

/// What happens at a byte of a source or of an output.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Less is given or taken than was asked for.
    Short,
    Interrupted,
    /// An error that the system knows by this number.
    System(i32),
    Other(io::ErrorKind),
    /// Nothing is taken (an output) or a plain error (a source).
    Nothing,
}

/// Errors that some reader or writer might take for something else.
const KINDS: [io::ErrorKind; 8] = [
    io::ErrorKind::UnexpectedEof,
    io::ErrorKind::WouldBlock,
    io::ErrorKind::WriteZero,
    io::ErrorKind::InvalidData,
    io::ErrorKind::TimedOut,
    io::ErrorKind::OutOfMemory,
    io::ErrorKind::StorageFull,
    io::ErrorKind::BrokenPipe,
];

impl Fault {
    fn read(bytes: &mut Bytes<'_>) -> Self {
        match bytes.byte() {
            0..64 => Self::Short,
            64..128 => Self::Interrupted,
            128..136 => Self::Nothing,
            kind @ 136..176 => Self::Other(KINDS[usize::from(kind % 8)]),
            _ => Self::System(1 + i32::from(bytes.byte() % 133)),
        }
    }

    /// The error, if it is one.
    fn error(self) -> Option<io::Error> {
        match self {
            Self::Short => None,
            Self::Interrupted => Some(io::ErrorKind::Interrupted.into()),
            Self::System(number) => Some(io::Error::from_raw_os_error(number)),
            Self::Other(kind) => Some(kind.into()),
            Self::Nothing => Some(io::Error::other("the disk is gone")),
        }
    }
}

/// Faults in the order of the bytes before which they happen. One that has happened is over, as
/// when a full disk has room again.
#[derive(Clone, Debug)]
struct Faults {
    waiting: VecDeque<(usize, Fault)>,
    /// Bytes that went through.
    at: usize,
    /// Whether an error was reported that is not an interruption.
    failed: Arc<AtomicBool>,
}

impl Faults {
    fn read(bytes: &mut Bytes<'_>) -> Self {
        let mut at = 0;
        let gap = |byte: u8| if byte < 192 { byte } else { byte - 191 };
        let mut one = |bytes: &mut Bytes<'_>| {
            let byte = bytes.byte();
            at += usize::from(gap(byte)) * if byte < 192 { 1 } else { 97 };
            (at, Fault::read(bytes))
        };
        let waiting = (0..bytes.below(8)).map(|_| one(bytes)).collect();
        Self { waiting, at: 0, failed: Arc::default() }
    }

    /// How many of so many bytes may go through now, or what happens in place of that.
    fn next(&mut self, wanted: usize) -> Result<usize, Fault> {
        while let Some(&(at, fault)) = self.waiting.front() {
            if at > self.at {
                return Ok(wanted.min(at - self.at));
            }
            self.waiting.pop_front();
            let Some(error) = fault.error() else { continue };
            if error.kind() != io::ErrorKind::Interrupted {
                self.failed.store(true, Ordering::Relaxed);
            }
            return Err(fault);
        }
        Ok(wanted)
    }
}

fn raised(fault: Fault) -> io::Error {
    fault.error().unwrap_or_else(|| io::Error::other("a fault that is no error"))
}

struct FailingSource {
    data: Cursor<Vec<u8>>,
    faults: Faults,
}

impl Read for FailingSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.faults.next(buffer.len()).map_err(raised)?;
        let count = self.data.read(&mut buffer[..most])?;
        self.faults.at += count;
        Ok(count)
    }
}

struct FailingOutput<'a> {
    written: &'a mut Vec<u8>,
    faults: Faults,
}

impl Write for FailingOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = match self.faults.next(bytes.len()) {
            Ok(count) => count,
            Err(Fault::Nothing) => 0,
            Err(fault) => return Err(raised(fault)),
        };
        self.written.extend_from_slice(&bytes[..count]);
        self.faults.at += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.faults.next(0).map_err(raised).map(|_| ())
    }
}

impl Output for FailingOutput<'_> {
    fn cut(&mut self, length: u64) {
        assert!(length <= self.written.len() as u64, "cut where there is nothing");
        self.written.truncate(length as usize);
    }
}

/// The way of a run.
struct Way {
    config: Config,
    options: Options,
    csv: bool,
    packing: usize,
}

/// A run that has ended.
struct Ended {
    result: Result<(), Error>,
    counts: RunCounts,
    skipped: u64,
    problems: Vec<String>,
    written: Vec<u8>,
    state: Vec<u8>,
    /// The first lines of the records that were decided on.
    decided: Vec<usize>,
}

impl Way {
    fn read(bytes: &mut Bytes<'_>) -> Self {
        let mut all = configs();
        let config = all.swap_remove(bytes.below(all.len()));
        let way = bytes.byte();
        let formats =
            [Format::Svmlight, Format::Vw, Format::JsonLines, Format::Csv { delimiter: b',' }];
        let format = formats[usize::from(way & 3)];
        let named = matches!(format, Format::JsonLines | Format::Csv { .. });
        let label = named.then(|| "y".to_owned());
        let id = (format == Format::JsonLines).then(|| "id".to_owned());
        let on_error = if way & 4 == 0 { OnError::Stop } else { OnError::Skip };
        let options = Options { columns: Columns::new(label, id), on_error, ..options(format) };
        Self { config, options, csv: way & 8 != 0, packing: usize::from(way >> 4) % 4 }
    }

    fn packed(&self, content: &[u8]) -> Vec<u8> {
        let gzip = |content: &[u8]| {
            let named = flate2::GzBuilder::new().filename("a name").extra([7; 9]);
            let mut gzip = named.write(Vec::new(), flate2::Compression::fast());
            gzip.write_all(content).and_then(|()| gzip.finish()).expect("memory can be written to")
        };
        let (first, second) = content.split_at(content.len() / 2);
        match self.packing {
            0 => content.to_vec(),
            1 => [gzip(first), gzip(second)].concat(),
            2 => [gzip(first), vec![0; 30], gzip(second), vec![0; 9]].concat(),
            _ => [first, second]
                .map(|half| zstd::encode_all(half, 1).expect("memory can be written to"))
                .concat(),
        }
    }

    /// Run a file through a new learner, up to so many events.
    fn run(&self, source: impl Read + Send + 'static, below_writer: Faults, most: u64) -> Ended {
        let mut learner = Learner::new(self.config.clone()).expect("a sound configuration");
        let (mut counts, mut written) = (RunCounts::default(), Vec::new());
        let (mut skipped, mut problems, mut decided) = (0, Vec::new(), Vec::new());
        let whole = || -> Result<(), Error> {
            let mut reader = Reader::new(source, "f", self.options.clone())?;
            let out = FailingOutput { written: &mut written, faults: below_writer };
            let mut decisions = DecisionWriter::new(out, "out".to_owned(), self.csv)?;
            let mut seen = 0;
            let mut look = |events: u64, reader: &Reader| {
                if events > seen {
                    seen = events;
                    let here = reader.here();
                    let line = here.rsplit(' ').next().and_then(|number| number.parse().ok());
                    decided.push(line.expect("the number of a line"));
                }
            };
            let tick = |progress: Progress<'_>| {
                if !progress.waiting {
                    look(progress.run.events, progress.reader);
                }
                progress.run.events < most
            };
            let result = learner.simulate_file(
                &mut reader,
                LearnedLabels::Asked,
                &mut counts,
                tick,
                &mut decisions,
            );
            (skipped, problems) = (reader.skipped(), reader.problems().to_vec());
            result?;
            decisions.finish()
        };
        let result = whole();
        Ended { result, counts, skipped, problems, written, state: bytes_of(&learner), decided }
    }
}

pub fn run(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let way = Way::read(&mut bytes);
    let (below_reader, below_writer) = (Faults::read(&mut bytes), Faults::read(&mut bytes));
    let times = 1 + bytes.below(16);
    let content = bytes.rest().repeat(times);
    if is_packed(&content) {
        return;
    }
    let file = way.packed(&content);
    let no_faults = || Faults { waiting: VecDeque::new(), at: 0, failed: Arc::default() };
    let source = |faults: &Faults| {
        let failed = Arc::default();
        let faults = Faults { failed: Arc::clone(&failed), ..faults.clone() };
        (FailingSource { data: plain(&file), faults }, failed)
    };
    let (failing, source_failed) = source(&below_reader);
    let output_failed = Arc::clone(&below_writer.failed);
    let got = way.run(failing, below_writer, u64::MAX);
    let source_failed = source_failed.load(Ordering::Relaxed);
    let output_failed = output_failed.load(Ordering::Relaxed);
    let clean = way.run(plain(&content), no_faults(), u64::MAX);
    if let Err(error) = &got.result {
        check_sentence(error);
    }
    match &got.result {
        Err(Error::Output(text)) => {
            assert!(output_failed && text.starts_with("'out': the decisions"), "{text}");
        }
        ended if output_failed => panic!("the output failed, but the run says {ended:?}"),
        Err(Error::File(text)) if source_failed => assert!(text.starts_with('f'), "{text}"),
        ended if source_failed => {
            // A thread that unpacks may have met the error behind a line that ended the run, or have tried
            // again when it would have had to wait.
            let same = *ended == clean.result && got.counts == clean.counts;
            assert!(way.packing > 0 && same, "the source failed, but the run says {ended:?}");
        }
        ended => {
            assert_eq!(*ended, clean.result, "nothing failed");
            assert_eq!(got.counts, clean.counts);
            assert_eq!((got.skipped, &got.problems), (clean.skipped, &clean.problems));
        }
    }
    let events = got.counts.events;
    assert!(events <= clean.counts.events, "more than the file has");
    let mut reference = clean;
    if events < reference.counts.events {
        reference = way.run(plain(&content), no_faults(), events.max(1));
        if events == 0 {
            let header: &[u8] = b"id,prediction,margin,query_probability,asked\n";
            let new = Learner::new(way.config.clone()).expect("a sound configuration");
            assert!(got.written.is_empty() || way.csv && got.written == header);
            assert!(got.state == bytes_of(&new), "learned from nothing");
        }
    }
    if events > 0 {
        assert_eq!(got.counts, reference.counts);
        check_agree(&got, &reference, "the file cut behind its last event");
        check_decided_alone(&way, &content, &got);
    }
    check_other_doors(&way, &content, || source(&below_reader).0);
}

/// A file of just the lines that were decided on is learned and written the same.
fn check_decided_alone(way: &Way, content: &[u8], got: &Ended) {
    if matches!(way.options.format, Format::Csv { .. }) || content.starts_with(b"\xef\xbb\xbf") {
        return; // records of several lines, and a mark that counts in the first line alone
    }
    assert_eq!(got.decided.len() as u64, got.counts.events);
    let lines: Vec<&[u8]> = content.split_inclusive(|&byte| byte == b'\n').collect();
    let alone: Vec<u8> = got.decided.iter().flat_map(|&line| lines[line - 1]).copied().collect();
    if alone.starts_with(b"\xef\xbb\xbf") || is_packed(&alone) {
        return;
    }
    let none = Faults { waiting: VecDeque::new(), at: 0, failed: Arc::default() };
    let reference = way.run(plain(&alone), none, u64::MAX);
    assert_eq!(reference.result, Ok(()), "lines that were decided on before");
    assert_eq!(reference.counts.events, got.counts.events);
    check_agree(got, &reference, "just the lines that were decided on");
}

fn check_agree(got: &Ended, reference: &Ended, what: &str) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&got.written), text(&reference.written), "written, and of {what}");
    assert!(got.state == reference.state, "what was learned is not what {what} teaches");
}

/// Event by event and as a table: the events before the fault, then its error.
fn check_other_doors(way: &Way, content: &[u8], source: impl Fn() -> FailingSource) {
    let all = read(plain(content), &way.options);
    let told = read(source(), &way.options);
    assert_eq!(told.events, all.events[..told.events.len()]);
    match &told.error {
        None => assert_eq!(told, all),
        Some(error) => {
            assert!(matches!(error, Error::File(_)), "{error:?}");
            check_sentence(error);
        }
    }
    let Ok(mut reader) = Reader::new(source(), "f", way.options.clone()) else { return };
    let (table, result) = RecordTable::read(&mut reader, usize::MAX, || true);
    assert_eq!((table.len(), result.err()), (told.events.len(), told.error));
    let _ = reader.next(&mut Record::default()); // whatever it is, no panic
}

fn is_packed(content: &[u8]) -> bool {
    content.starts_with(&[0x1f, 0x8b])
        || content.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
        || content.get(1..4) == Some(&[0x2a, 0x4d, 0x18])
}

/// Every learner and way of a run, with faults of every kind on both sides.
pub fn seeds() -> Vec<Vec<u8>> {
    let contents: [&[u8]; 4] = [
        b"1 1:1 2:0.5\n-1 3:2\nx\n\n+1 1:1e300\n-1 1:1 4:3\n",
        b"1 |a b:2 c\n-1 | c:0.5 d\nx |\n1 | b:1e300\n1 'id| a\n",
        b"{\"y\": 1, \"a\": 2, \"id\": \"p\"}\n{\"y\": 0, \"b\": 1}\n{\n{\"y\": 1, \"a\": 1e300}\n{\"a\": 1}\n",
        b"y,a,b\n1,2,\n0,,\"t\n u\"\n1,1,1,1\n1,1e300,2\n,3,w\n",
    ];
    let faults: [&[u8]; 5] = [
        &[0],
        &[3, 9, 64, 30, 70, 11, 0],
        &[2, 40, 65, 60, 200, 4],
        &[1, 150, 140],
        &[2, 200, 250, 27, 4, 130],
    ];
    let mut seeds = Vec::new();
    for kind in 0..configs().len() as u8 {
        for way in 0..8_u8 {
            let (a, b) = (usize::from(kind + way) % 5, usize::from(kind / 2 + 3 * way) % 5);
            let way = way ^ (kind << 3);
            let times: &[u8] = &[kind % 4];
            let content = contents[usize::from(way & 3)];
            seeds.push([&[kind, way], faults[a], faults[b], times, content].concat());
        }
    }
    seeds
}
