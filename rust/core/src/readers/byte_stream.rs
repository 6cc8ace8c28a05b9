//! The bytes of a file or of standard input, unpacked if they are packed by gzip or Zstandard.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;

use crate::readers::decompress::DecompressAhead;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Packed bytes are taken from the file in blocks of this size.
const PACKED_BLOCK: usize = 1 << 18;

/// Bytes to be read, and a count of those that were taken from their file.
pub struct ByteStream {
    unpacked: Box<dyn Read + Send>,
    taken: Arc<AtomicU64>,
}

impl ByteStream {
    /// Read a file; `-` is standard input.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Self::of_standard_input();
        }
        let file = File::open(path)?;
        if file.metadata()?.is_file() { Self::new(file) } else { Self::new(polled(file)) }
    }

    #[cfg(unix)]
    fn of_standard_input() -> io::Result<Self> {
        use std::os::fd::AsFd;
        // Not through the buffer of `Stdin`: whether something can be read would not be seen.
        Self::new(polled(File::from(io::stdin().as_fd().try_clone_to_owned()?)))
    }

    #[cfg(not(unix))]
    fn of_standard_input() -> io::Result<Self> {
        Self::new(io::stdin())
    }

    /// Read any source; its first bytes say whether it is packed.
    pub fn new(source: impl Read + Send + 'static) -> io::Result<Self> {
        let taken = Arc::new(AtomicU64::new(0));
        let mut source = CountedRead { source, taken: Arc::clone(&taken) };
        let mut first = Vec::new();
        source.by_ref().take(ZSTD.len() as u64).read_to_end(&mut first)?;
        let (is_gzip, is_zstd) = (first.starts_with(&GZIP), is_zstd(&first));
        let all = Cursor::new(first).chain(source);
        let unpacked: Box<dyn Read + Send> = if is_gzip {
            let buffered = BufReader::with_capacity(PACKED_BLOCK, UninterruptedRead(all));
            Box::new(DecompressAhead::new(GzipMembers::new(buffered)))
        } else if is_zstd {
            Box::new(DecompressAhead::new(zstd::Decoder::new(UninterruptedRead(all))?))
        } else {
            Box::new(all)
        };
        Ok(Self { unpacked, taken })
    }

    /// Bytes taken from the file so far, packed as they lie there.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Read for ByteStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.unpacked.read(buffer)
    }
}

/// Reads what may be long in coming. A read that waits reports an interruption now and then, so that the
/// caller can look whether to go on, whenever a signal came.
#[cfg(unix)]
fn polled(file: File) -> impl Read + Send {
    PolledRead { file }
}

#[cfg(not(unix))]
fn polled(file: File) -> impl Read + Send {
    file
}

#[cfg(unix)]
struct PolledRead {
    file: File,
}

#[cfg(unix)]
impl Read for PolledRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        const LONGEST_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let ready = poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&LONGEST_WAIT))?;
        if ready == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.file.read(buffer)
    }
}

/// Whether a file of Zstandard begins so: by a frame, or by one that readers skip.
fn is_zstd(first: &[u8]) -> bool {
    const SKIPPED: [u8; 3] = [0x2a, 0x4d, 0x18];
    first == ZSTD || matches!(first, [0x50..=0x5f, rest @ ..] if rest == SKIPPED)
}

/// The members of a gzip file one after the other. Zeros behind the last one are padding, as tape
/// drives write it.
struct GzipMembers<R> {
    /// None once the file has ended.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipMembers<R> {
    fn new(source: R) -> Self {
        Self { member: Some(GzDecoder::new(source)) }
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(ended) = self.member.take() else { break };
            self.member = after_zeros(ended.into_inner())?.map(GzDecoder::new);
        }
        Ok(0)
    }
}

/// What follows behind zeros, if anything does.
fn after_zeros<R: BufRead>(mut source: R) -> io::Result<Option<R>> {
    loop {
        let block = source.fill_buf()?;
        let zeros = block.iter().take_while(|&&byte| byte == 0).count();
        let (ended, all_zero) = (block.is_empty(), zeros == block.len());
        source.consume(zeros);
        if ended {
            return Ok(None);
        }
        if !all_zero {
            return Ok(Some(source));
        }
    }
}

/// Goes on after an interruption. What unpacks has its own thread, where nobody waits for one, and might
/// take it for the end of a member or of the file.
struct UninterruptedRead<R>(R);

impl<R: Read> Read for UninterruptedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

/// Counts the bytes that go through it.
struct CountedRead<R> {
    source: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// All bytes of a source, waiting where its thread is not ready, and how many were taken from
    /// it.
    fn read_all(source: Vec<u8>) -> io::Result<(Vec<u8>, u64)> {
        let mut stream = ByteStream::new(Cursor::new(source))?;
        let mut all = Vec::new();
        stream.read_to_end(&mut all)?; // goes on after an interruption
        let taken = stream.taken();
        Ok((all, taken))
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_is_not_packed_comes_as_it_is() {
        for text in ["", "1", "12", "123", "1234", "12345", "\u{1f}x", "(5/"] {
            let (bytes, taken) = read_all(text.as_bytes().to_vec()).unwrap();
            assert_eq!((bytes.as_slice(), taken), (text.as_bytes(), text.len() as u64));
        }
    }

    #[test]
    fn packed_bytes_are_unpacked_and_counted_as_they_lie_in_the_file() {
        let text = b"1 1:0.5\n".repeat(100_000);
        for packed in [gzip(&text), zstd::encode_all(text.as_slice(), 1).unwrap()] {
            let length = packed.len() as u64;
            assert!(length < 100_000);
            assert_eq!(read_all(packed).unwrap(), (text.clone(), length));
        }
    }

    #[test]
    fn gzip_members_follow_each_other_and_zeros_at_the_end_are_padding() {
        let two = [gzip(b"one "), gzip(b"two")].concat();
        for padding in [0, 1, 512, 3 * PACKED_BLOCK] {
            let padded = [two.clone(), vec![0; padding]].concat();
            assert_eq!(read_all(padded).unwrap().0, b"one two", "{padding}");
        }
        let apart = [gzip(b"one "), vec![0; 99], gzip(b"two")].concat();
        assert_eq!(read_all(apart).unwrap().0, b"one two");
        assert!(read_all([two, b"no gzip".to_vec()].concat()).is_err());
    }

    /// Is interrupted before each byte.
    struct Interrupted(Cursor<Vec<u8>>, bool);

    impl Read for Interrupted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let one = buffer.len().min(1);
            self.0.read(&mut buffer[..one])
        }
    }

    #[test]
    fn interruptions_of_the_source_lose_nothing_of_a_packed_file() {
        let zstd = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        let padded = [gzip(b"one "), vec![0; 99], gzip(b"two")].concat();
        for file in
            [[gzip(b"one "), gzip(b"two")].concat(), padded, [zstd(b"one "), zstd(b"two")].concat()]
        {
            let mut stream = ByteStream::new(Interrupted(Cursor::new(file), false)).unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            assert_eq!(all, b"one two");
        }
    }

    #[test]
    fn frames_that_readers_of_zstandard_skip_are_skipped() {
        let skipped = [&[0x52, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let frame = zstd::encode_all(&b"text"[..], 1).unwrap();
        for file in [[&skipped[..], &frame].concat(), [&frame[..], &skipped, &frame].concat()] {
            let expected = if file.starts_with(&ZSTD) { "texttext" } else { "text" };
            assert_eq!(read_all(file).unwrap().0, expected.as_bytes());
        }
    }

    #[test]
    fn an_empty_packed_file_is_empty() {
        for packed in [gzip(b""), zstd::encode_all(&b""[..], 1).unwrap()] {
            assert_eq!(read_all(packed).unwrap().0, b"");
        }
    }

    #[test]
    fn a_packed_file_that_was_cut_off_is_an_error() {
        let text: Vec<u8> = (0..9_999_u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        for packed in [gzip(&text), zstd::encode_all(text.as_slice(), 1).unwrap()] {
            assert!(read_all(packed[..packed.len() / 2].to_vec()).is_err());
        }
    }
}
