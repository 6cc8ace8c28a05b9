//! Where lines come from: a file or standard input, compressed or not, read block by block.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use memchr::memchr;

use crate::readers::decompress::DecompressAhead;

const BLOCK: usize = 1 << 18;
/// No line is longer, so that a file without line ends does not fill the memory.
pub const LONGEST_LINE: usize = 1 << 26;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Why the next line cannot be had.
#[derive(Debug, PartialEq, Eq)]
pub enum LineError {
    /// It is too long; the one after it can be read.
    TooLong,
    /// Nothing can be read any more.
    Broken(String),
    /// Waiting for it was interrupted; it can be asked for again.
    Paused,
}

/// Counts what goes through.
struct CountedRead<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// LineBuffer, one after the other, in a buffer that is used again.
pub struct LineBuffer {
    source: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
    buffer: Vec<u8>,
    filled: usize,
    /// The line lies from `start` to `end`; the next one begins at `next`.
    start: usize,
    end: usize,
    next: usize,
    ended: bool,
    number: u64,
    line_ends: u64,
}

impl LineBuffer {
    /// The lines of a file, unpacked if it is packed; `-` is standard input.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Self::new(io::stdin());
        }
        Self::new(File::open(path)?)
    }

    /// The lines of what can be read, unpacked if it is packed, which its first bytes say.
    pub fn new(source: impl Read + Send + 'static) -> io::Result<Self> {
        let bytes = Arc::new(AtomicU64::new(0));
        let mut source = CountedRead { inner: source, bytes: Arc::clone(&bytes) };
        let mut head = Vec::new();
        source.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
        let packed = head.starts_with(&GZIP) || head == ZSTD;
        let gzip = head.starts_with(&GZIP);
        let whole = Cursor::new(head).chain(source);
        let source: Box<dyn Read + Send> = if !packed {
            Box::new(whole)
        } else if gzip {
            let buffered = io::BufReader::with_capacity(BLOCK, whole);
            Box::new(DecompressAhead::new(MultiGzDecoder::new(buffered)))
        } else {
            Box::new(DecompressAhead::new(zstd::Decoder::new(whole)?))
        };
        Ok(Self {
            source,
            bytes,
            buffer: vec![0; BLOCK],
            filled: 0,
            start: 0,
            end: 0,
            next: 0,
            ended: false,
            number: 0,
            line_ends: 0,
        })
    }

    /// Bytes taken from the file, as it lies there.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The number of the line, from 1; that of its first if it was extended.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The line, without its end.
    pub fn line(&self) -> &[u8] {
        let line = &self.buffer[self.start..self.end];
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// Go to the next line; false if there is none.
    pub fn advance(&mut self) -> Result<bool, LineError> {
        self.start = self.next;
        self.number = self.line_ends + 1;
        let found = self.find_end(self.start, false)?;
        if self.number == 1 && self.line().starts_with(&BYTE_ORDER_MARK) {
            self.start += BYTE_ORDER_MARK.len();
        }
        Ok(found)
    }

    /// Make the line that follows part of this one; false if there is none. Returns where it
    /// begins in the line.
    pub fn extend(&mut self) -> Result<Option<usize>, LineError> {
        let offset = self.next - self.start;
        Ok(self.find_end(self.next, true)?.then_some(offset))
    }

    /// Find the end of the line, of which nothing from `from` on has been looked at; `patient` if
    /// what was found before cannot be found again.
    fn find_end(&mut self, from: usize, patient: bool) -> Result<bool, LineError> {
        let mut from = from;
        loop {
            if let Some(length) = memchr(b'\n', &self.buffer[from..self.filled]) {
                (self.end, self.next) = (from + length, from + length + 1);
                self.line_ends += 1;
                return Ok(true);
            }
            if self.ended {
                let more = self.next < self.filled;
                (self.end, self.next) = (self.filled, self.filled);
                self.line_ends += u64::from(more);
                return Ok(more);
            }
            from = self.filled - self.start;
            match self.fill() {
                Err(LineError::Paused) if patient => {}
                result => result?,
            }
        }
    }

    /// Move the line to the front and read on behind it.
    fn fill(&mut self) -> Result<(), LineError> {
        self.buffer.copy_within(self.start..self.filled, 0);
        (self.next, self.filled) = (self.next - self.start, self.filled - self.start);
        self.end = self.end.saturating_sub(self.start);
        self.start = 0;
        if self.filled == self.buffer.len() {
            if self.filled >= LONGEST_LINE {
                return self.pass_over();
            }
            self.buffer.resize(2 * self.filled, 0);
        }
        let filled = self.filled;
        let count = read(&mut self.source, &mut self.buffer[filled..])?;
        self.ended = count == 0;
        self.filled += count;
        Ok(())
    }

    /// Let go of a line that is too long.
    fn pass_over(&mut self) -> Result<(), LineError> {
        self.buffer = vec![0; BLOCK];
        loop {
            let count = match read(&mut self.source, &mut self.buffer) {
                Err(LineError::Paused) => continue,
                result => result?,
            };
            self.ended = count == 0;
            let end = memchr(b'\n', &self.buffer[..count]);
            if end.is_some() || self.ended {
                self.filled = count;
                self.next = end.map_or(count, |end| end + 1);
                (self.start, self.end) = (self.next, self.next);
                self.line_ends += 1;
                return Err(LineError::TooLong);
            }
        }
    }
}

fn read(source: &mut impl Read, buffer: &mut [u8]) -> Result<usize, LineError> {
    source.read(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::Interrupted => LineError::Paused,
        _ => LineError::Broken(error.to_string()),
    })
}
