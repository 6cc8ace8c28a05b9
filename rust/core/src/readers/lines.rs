//! The lines of a stream of bytes, read block by block in constant memory.

use std::io::{self, Read};

use memchr::memchr;

use crate::readers::byte_stream::ByteStream;
use crate::readers::window::WINDOW;

/// So many bytes can be read behind every line: a window that starts in it or at its end is always there.
pub const PADDING: usize = WINDOW;

/// No line is longer, so that a file without line ends does not fill the memory.
pub const LONGEST_LINE: usize = 1 << 26;

const BLOCK: usize = 1 << 18;
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Why the next line cannot be had.
#[derive(Debug, PartialEq, Eq)]
pub enum LineError {
    /// It is too long; the one after it can be read.
    TooLong,
    /// Nothing can be read any more.
    Broken(String),
    /// There is no memory for it.
    NoMemory,
    /// Waiting for it was interrupted; it can be asked for again.
    Paused,
}

/// A line in its buffer.
#[derive(Clone, Copy)]
pub struct PaddedLine<'a> {
    /// The line and what lies behind it: at least [`PADDING`] bytes, the first of them no digit.
    pub padded: &'a [u8],
    /// The length of the line.
    pub length: usize,
}

impl<'a> PaddedLine<'a> {
    /// The line, without its end.
    pub fn line(self) -> &'a [u8] {
        &self.padded[..self.length]
    }
}

/// The bytes of a line and, behind its end, what must not be taken for part of it.
#[cfg(test)]
pub fn padded(line: &str) -> Vec<u8> {
    [line.as_bytes(), b"\n", &b"7\":1}".repeat(PADDING)].concat()
}

/// Goes from line to line in a buffer that is used again and again.
///
/// ```text
/// 0 <= start <= next <= filled <= capacity() = buffer.len() - PADDING
///      [ line ][ not yet looked at ][ free ][ padding ]
/// ```
pub struct LineBuffer {
    stream: ByteStream,
    /// All of it but the padding may be read into. A block at first; grows with a line that does not
    /// fit.
    buffer: Vec<u8>,
    /// Where the current line begins, behind a byte order mark. Always `start <= next`.
    start: usize,
    /// Where the next line begins, just behind the `\n` of the current one (a last line may have
    /// none). Always `next <= filled`.
    next: usize,
    /// Where the bytes that were read end. Always `filled <= capacity()`.
    filled: usize,
    /// Whether the stream has ended: nothing will ever follow `filled`.
    ended: bool,
    /// The number of the current line, from 1; that of its first if it was extended. Always `number
    /// <= lines_ended + 1`.
    number: u64,
    /// Lines of the file that end before `next`, those that were skipped among them.
    lines_ended: u64,
    sizes: BufferSizes,
}

/// Both are constants, but for tests.
#[derive(Clone, Copy)]
struct BufferSizes {
    /// Capacity of a new buffer.
    block: usize,
    /// A line may fill a buffer of this capacity, but not outgrow it.
    longest: usize,
}

impl LineBuffer {
    pub fn new(stream: ByteStream) -> Self {
        Self::with_sizes(stream, BufferSizes { block: BLOCK, longest: LONGEST_LINE })
    }

    fn with_sizes(stream: ByteStream, sizes: BufferSizes) -> Self {
        Self {
            stream,
            buffer: vec![0; sizes.block + PADDING],
            start: 0,
            next: 0,
            filled: 0,
            ended: false,
            number: 0,
            lines_ended: 0,
            sizes,
        }
    }

    /// Bytes taken from the file so far, as they lie there.
    pub fn bytes(&self) -> u64 {
        self.stream.taken()
    }

    /// The number of the line, from 1; that of its first if it was extended.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The line, without its end.
    pub fn line(&self) -> &[u8] {
        self.padded_line().line()
    }

    /// The line with what lies behind it. A line end does, and behind a last line without one too.
    pub fn padded_line(&self) -> PaddedLine<'_> {
        let line = &self.buffer[self.start..self.next];
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let length = line.strip_suffix(b"\r").unwrap_or(line).len();
        PaddedLine { padded: &self.buffer[self.start..], length }
    }

    /// So many bytes may be in the buffer.
    fn capacity(&self) -> usize {
        self.buffer.len() - PADDING
    }

    /// Go to the next line; false if there is none.
    pub fn advance(&mut self) -> Result<bool, LineError> {
        self.start = self.next;
        self.number = self.lines_ended + 1;
        let found = self.find_end(OnPause::Return)?;
        if self.number == 1 && self.line().starts_with(&BYTE_ORDER_MARK) {
            self.start += BYTE_ORDER_MARK.len();
        }
        Ok(found)
    }

    /// Make the line that follows part of this one. Where it begins in the line, or none if there
    /// is none.
    pub fn extend(&mut self) -> Result<Option<usize>, LineError> {
        let offset = self.next - self.start;
        // A pause cannot be handed on: asked again, `advance` would start behind the part that is
        // there.
        let found = self.find_end(OnPause::Wait)?;
        Ok(found.then_some(offset))
    }

    /// Move `next` behind the line end that follows it; false if nothing follows.
    fn find_end(&mut self, on_pause: OnPause) -> Result<bool, LineError> {
        let mut unsearched = self.next;
        loop {
            if let Some(length) = memchr(b'\n', &self.buffer[unsearched..self.filled]) {
                self.next = unsearched + length + 1;
                self.lines_ended += 1;
                return Ok(true);
            }
            if self.ended {
                let found = self.next < self.filled;
                self.next = self.filled;
                self.lines_ended += u64::from(found);
                return Ok(found);
            }
            unsearched = self.filled - self.start; // `fill` moves `start` to the front
            match self.fill() {
                Err(LineError::Paused) if on_pause == OnPause::Wait => {}
                filled => filled?,
            }
        }
    }

    /// Read more bytes behind those of the current line.
    fn fill(&mut self) -> Result<(), LineError> {
        self.roll();
        if self.filled == self.capacity() {
            if self.filled >= self.sizes.longest {
                return self.skip_long_line();
            }
            self.grow()?;
        }
        self.filled += self.read_behind_filled()?;
        Ok(())
    }

    /// Move the current line, and what was read behind it, to the front of the buffer.
    fn roll(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.next -= self.start;
            self.filled -= self.start;
            self.start = 0;
        }
    }

    fn grow(&mut self) -> Result<(), LineError> {
        let more = self.capacity();
        self.buffer.try_reserve_exact(more).map_err(|_| LineError::NoMemory)?;
        self.buffer.resize(self.buffer.len() + more, 0);
        Ok(())
    }

    /// Drop the current line, in a buffer of the first size, and stand behind its end.
    fn skip_long_line(&mut self) -> Result<(), LineError> {
        self.buffer = vec![0; self.sizes.block + PADDING];
        (self.start, self.next, self.filled) = (0, 0, 0);
        loop {
            let count = match self.read_behind_filled() {
                Err(LineError::Paused) => continue, // that the line is too long would be forgotten
                count => count?,
            };
            let end = memchr(b'\n', &self.buffer[..count]);
            if end.is_some() || self.ended {
                self.filled = count;
                self.next = end.map_or(count, |end| end + 1);
                self.start = self.next;
                self.lines_ended += 1;
                return Err(LineError::TooLong);
            }
        }
    }

    /// How many bytes were read into the free part, of which there must be some; none is the end of
    /// the stream.
    fn read_behind_filled(&mut self) -> Result<usize, LineError> {
        let capacity = self.capacity();
        let read = self.stream.read(&mut self.buffer[self.filled..capacity]);
        let count = read.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => LineError::Paused,
            _ => LineError::Broken(error.to_string()),
        })?;
        self.ended = count == 0;
        if self.ended {
            self.buffer[self.filled] = b'\n';
        }
        Ok(count)
    }
}

/// What to do when waiting for bytes is interrupted.
#[derive(Clone, Copy, PartialEq)]
enum OnPause {
    Return,
    Wait,
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io::Write;

    use super::*;

    const TINY: BufferSizes = BufferSizes { block: 4, longest: 32 };

    /// What a source does when it is read.
    enum ReadStep {
        Bytes(Vec<u8>),
        Pause,
        Fail,
    }

    /// A source that does one step per read, after its first four bytes have told that it is not
    /// packed.
    struct ScriptedRead(VecDeque<ReadStep>);

    impl Read for ScriptedRead {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.pop_front() {
                None => Ok(0),
                Some(ReadStep::Pause) => Err(io::ErrorKind::Interrupted.into()),
                Some(ReadStep::Fail) => Err(io::Error::other("the disk is gone")),
                Some(ReadStep::Bytes(mut bytes)) => {
                    let rest = bytes.split_off(bytes.len().min(buffer.len()));
                    buffer[..bytes.len()].copy_from_slice(&bytes);
                    if !rest.is_empty() {
                        self.0.push_front(ReadStep::Bytes(rest));
                    }
                    Ok(bytes.len())
                }
            }
        }
    }

    fn scripted(steps: impl IntoIterator<Item = ReadStep>, sizes: BufferSizes) -> LineBuffer {
        let script = ScriptedRead(steps.into_iter().collect());
        LineBuffer::with_sizes(ByteStream::new(script).unwrap(), sizes)
    }

    fn tiny(content: impl AsRef<[u8]>) -> LineBuffer {
        scripted([ReadStep::Bytes(content.as_ref().to_vec())], TINY)
    }

    fn check_indices(lines: &LineBuffer) {
        assert!(lines.start <= lines.next);
        assert!(lines.next <= lines.filled);
        assert!(lines.filled <= lines.capacity());
        let PaddedLine { padded, length } = lines.padded_line();
        assert!(padded.len() >= length + PADDING);
        assert!(lines.number <= lines.lines_ended + 1);
    }

    /// The next line, waiting where waiting is interrupted.
    fn next(lines: &mut LineBuffer) -> Result<Option<String>, LineError> {
        loop {
            let found = lines.advance();
            check_indices(lines);
            match found {
                Err(LineError::Paused) => {}
                Err(error) => return Err(error),
                Ok(false) => return Ok(None),
                Ok(true) => {
                    let PaddedLine { padded, length } = lines.padded_line();
                    assert!(matches!(padded[length], b'\r' | b'\n'));
                    return Ok(Some(String::from_utf8(lines.line().to_vec()).unwrap()));
                }
            }
        }
    }

    /// All lines, with their numbers.
    fn all(lines: &mut LineBuffer) -> Vec<(u64, String)> {
        let mut found = Vec::new();
        while let Some(line) = next(lines).unwrap() {
            found.push((lines.number(), line));
        }
        assert_eq!(lines.advance(), Ok(false), "the end stays the end");
        found
    }

    fn texts(lines: &mut LineBuffer) -> Vec<String> {
        all(lines).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn no_bytes_are_no_line() {
        assert_eq!(all(&mut tiny("")), []);
    }

    #[test]
    fn lines_are_numbered_from_one() {
        let found = all(&mut tiny("a\nb\nc\n"));
        assert_eq!(found, [(1, "a".to_owned()), (2, "b".to_owned()), (3, "c".to_owned())]);
    }

    #[test]
    fn a_last_line_needs_no_end() {
        assert_eq!(texts(&mut tiny("a\nb")), ["a", "b"]);
        assert_eq!(texts(&mut tiny("a")), ["a"]);
        assert_eq!(texts(&mut tiny("a\nb\r")), ["a", "b"]);
    }

    #[test]
    fn empty_lines_are_lines() {
        assert_eq!(texts(&mut tiny("\n")), [""]);
        assert_eq!(texts(&mut tiny("\n\n\na\n\n")), ["", "", "", "a", ""]);
    }

    #[test]
    fn a_carriage_return_before_the_end_is_part_of_the_end() {
        assert_eq!(texts(&mut tiny("a\r\n\r\nb\rc\r\r\n")), ["a", "", "b\rc\r"]);
    }

    #[test]
    fn a_carriage_return_and_its_line_feed_may_lie_in_two_blocks() {
        assert_eq!(texts(&mut tiny("abc\r\nd\r\n")), ["abc", "d"]); // blocks of four bytes
    }

    #[test]
    fn lines_of_all_lengths_cross_the_borders_of_blocks() {
        for block in 1..=9 {
            for length in 0..=30 {
                let line = "abcdefghijklmnopqrstuvwxyz1234"[..length].to_owned();
                let content = format!("{line}\nx\n{line}\r\n{line}");
                let sizes = BufferSizes { block, longest: 64 };
                let mut lines = scripted([ReadStep::Bytes(content.into_bytes())], sizes);
                let mut expected = vec![line.clone(), "x".to_owned(), line.clone()];
                // Nothing behind the last line end is no line.
                expected.extend((length > 0).then_some(line));
                assert_eq!(texts(&mut lines), expected, "{block}");
            }
        }
    }

    #[test]
    fn many_lines_in_one_block_are_read_without_moving_it() {
        let sizes = BufferSizes { block: 64, longest: 64 };
        let mut lines = scripted([ReadStep::Bytes(b"stream a\nb\nc\nd".to_vec())], sizes);
        assert_eq!(next(&mut lines), Ok(Some("stream a".to_owned())));
        let filled = lines.filled;
        assert_eq!(next(&mut lines), Ok(Some("b".to_owned())));
        assert_eq!((lines.start, lines.filled), (9, filled));
    }

    #[test]
    fn the_buffer_grows_with_a_long_line_and_lines_behind_it_use_it_again() {
        let mut lines = tiny("0123456789\nab\ncd\n");
        assert_eq!(lines.capacity(), 4);
        assert_eq!(next(&mut lines), Ok(Some("0123456789".to_owned())));
        assert_eq!(lines.capacity(), 16);
        assert_eq!(texts(&mut lines), ["ab", "cd"]);
        assert_eq!(lines.capacity(), 16);
    }

    #[test]
    fn a_byte_order_mark_before_the_first_line_is_dropped() {
        assert_eq!(texts(&mut tiny("\u{feff}a\n\u{feff}b\n")), ["a", "\u{feff}b"]);
        assert_eq!(texts(&mut tiny("\u{feff}")), [""]);
        assert_eq!(
            texts(&mut tiny("\u{feff}\r\nlonger than a block")),
            ["", "longer than a block"]
        );
    }

    #[test]
    fn a_byte_order_mark_may_come_byte_by_byte() {
        let bytes = "\u{feff}ab\n\u{feff}c".bytes();
        let steps = bytes.flat_map(|byte| [ReadStep::Pause, ReadStep::Bytes(vec![byte])]);
        assert_eq!(texts(&mut scripted(steps, TINY)), ["ab", "\u{feff}c"]);
    }

    #[test]
    fn reads_of_one_byte_give_the_same_lines() {
        let content = "a\r\n\nlonger than a block\nb";
        let steps = content.bytes().map(|byte| ReadStep::Bytes(vec![byte]));
        assert_eq!(texts(&mut scripted(steps, TINY)), ["a", "", "longer than a block", "b"]);
    }

    #[test]
    fn a_pause_at_any_byte_changes_nothing() {
        let content = b"first\r\n\nlonger than a block\nlast";
        for at in 4..=content.len() {
            let (before, after) = content.split_at(at);
            let steps = [
                ReadStep::Bytes(before.to_vec()),
                ReadStep::Pause,
                ReadStep::Pause,
                ReadStep::Bytes(after.to_vec()),
            ];
            let steps = steps.into_iter().filter(|step| match step {
                ReadStep::Bytes(bytes) => !bytes.is_empty(), // a read of nothing is the end
                _ => true,
            });
            let mut lines = scripted(steps, TINY);
            let found = texts(&mut lines);
            assert_eq!(found, ["first", "", "longer than a block", "last"], "{at}");
        }
    }

    #[test]
    fn a_pause_is_told_and_the_line_stays_the_next_one() {
        let steps = [
            ReadStep::Bytes(b"one\ntw".to_vec()),
            ReadStep::Pause,
            ReadStep::Bytes(b"o\n".to_vec()),
        ];
        let mut lines = scripted(steps, TINY);
        assert_eq!(lines.advance(), Ok(true));
        assert_eq!(lines.advance(), Err(LineError::Paused));
        assert_eq!((lines.line(), lines.number()), (&b""[..], 2));
        assert_eq!(lines.advance(), Ok(true));
        assert_eq!((lines.line(), lines.number()), (&b"two"[..], 2));
    }

    #[test]
    fn a_source_that_fails_does_so_behind_its_whole_lines() {
        let mut lines = scripted([ReadStep::Bytes(b"one\ntw".to_vec()), ReadStep::Fail], TINY);
        assert_eq!(next(&mut lines), Ok(Some("one".to_owned())));
        assert_eq!(next(&mut lines), Err(LineError::Broken("the disk is gone".to_owned())));
        assert_eq!((lines.line(), lines.number()), (&b""[..], 2));
    }

    #[test]
    fn a_line_is_extended_by_those_that_follow() {
        let mut lines = tiny("one\r\ntwo\nthree\nfour");
        assert_eq!(lines.advance(), Ok(true));
        assert_eq!(lines.extend(), Ok(Some(5)));
        assert_eq!((lines.line(), lines.number()), (&b"one\r\ntwo"[..], 1));
        assert_eq!(lines.extend(), Ok(Some(9)));
        assert_eq!(lines.line(), b"one\r\ntwo\nthree");
        assert_eq!(next(&mut lines), Ok(Some("four".to_owned())));
        assert_eq!(lines.number(), 4);
        assert_eq!(lines.extend(), Ok(None));
    }

    #[test]
    fn a_line_behind_others_is_extended_across_a_refill_at_any_block_size() {
        for block in 1..=20 {
            let sizes = BufferSizes { block, longest: 64 };
            let content = b"skip\nab\ncdefg\nlast".to_vec();
            let mut lines = scripted([ReadStep::Bytes(content)], sizes);
            assert_eq!(next(&mut lines), Ok(Some("skip".to_owned())));
            assert_eq!(next(&mut lines), Ok(Some("ab".to_owned())));
            assert_eq!(lines.extend(), Ok(Some(3)));
            check_indices(&lines);
            assert_eq!((lines.line(), lines.number()), (&b"ab\ncdefg"[..], 2), "{block}");
            assert_eq!(texts(&mut lines), ["last"]);
        }
    }

    #[test]
    fn extending_waits_out_a_pause() {
        let steps = [
            ReadStep::Bytes(b"one\ntw".to_vec()),
            ReadStep::Pause,
            ReadStep::Bytes(b"o\nx".to_vec()),
        ];
        let mut lines = scripted(steps, TINY);
        assert_eq!(lines.advance(), Ok(true));
        assert_eq!(lines.extend(), Ok(Some(4)));
        assert_eq!(lines.line(), b"one\ntwo");
        assert_eq!(texts(&mut lines), ["x"]);
    }

    #[test]
    fn the_first_line_is_extended_behind_its_byte_order_mark() {
        let mut lines = tiny("\u{feff}one\ntwo\n");
        assert_eq!(lines.advance(), Ok(true));
        assert_eq!(lines.extend(), Ok(Some(4)));
        assert_eq!(lines.line(), b"one\ntwo");
    }

    #[test]
    fn a_line_may_just_fit_into_the_largest_buffer() {
        let fits = "x".repeat(TINY.longest - 1);
        assert_eq!(texts(&mut tiny(format!("{fits}\na\n"))), [&fits, "a"]);
        let mut lines = tiny(format!("{fits}x\na\n"));
        assert_eq!(next(&mut lines), Err(LineError::TooLong));
        assert_eq!(texts(&mut lines), ["a"]);
    }

    #[test]
    fn lines_behind_one_that_is_too_long_are_read_with_their_numbers() {
        for length in TINY.longest..TINY.longest + 12 {
            let mut lines = tiny(format!("a\n{}\n\nb\n", "x".repeat(length)));
            assert_eq!(next(&mut lines), Ok(Some("a".to_owned())));
            assert_eq!(next(&mut lines), Err(LineError::TooLong));
            assert_eq!((lines.line(), lines.number()), (&b""[..], 2));
            assert_eq!(lines.capacity(), TINY.block);
            assert_eq!(all(&mut lines), [(3, String::new()), (4, "b".to_owned())], "{length}");
        }
    }

    #[test]
    fn the_last_line_may_be_too_long() {
        let mut lines = tiny("x".repeat(2 * TINY.longest + 1));
        assert_eq!(next(&mut lines), Err(LineError::TooLong));
        assert_eq!(all(&mut lines), []);
    }

    #[test]
    fn a_line_that_is_extended_beyond_the_largest_buffer_is_too_long() {
        let mut lines = tiny(format!("one\n{}\nb\n", "x".repeat(TINY.longest)));
        assert_eq!(lines.advance(), Ok(true));
        assert_eq!(lines.extend(), Err(LineError::TooLong));
        check_indices(&lines);
        assert_eq!(all(&mut lines), [(3, "b".to_owned())]);
    }

    #[test]
    fn a_pause_or_a_failure_inside_a_line_that_is_too_long() {
        let long = || ReadStep::Bytes(vec![b'x'; TINY.longest]);
        let steps = [long(), ReadStep::Pause, ReadStep::Bytes(b"x\nb\n".to_vec())];
        let mut lines = scripted(steps, TINY);
        assert_eq!(next(&mut lines), Err(LineError::TooLong));
        assert_eq!(texts(&mut lines), ["b"]);
        let mut lines = scripted([long(), ReadStep::Fail], TINY);
        assert_eq!(next(&mut lines), Err(LineError::Broken("the disk is gone".to_owned())));
        check_indices(&lines);
        assert_eq!(all(&mut lines), []);
    }

    #[test]
    fn packed_lines_are_those_that_were_packed() {
        let content = "first\r\n\nlonger than a block\nlast";
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(content.as_bytes()).unwrap();
        for packed in [gzip.finish().unwrap(), zstd::encode_all(content.as_bytes(), 1).unwrap()] {
            let length = packed.len() as u64;
            let mut lines = tiny(packed);
            assert_eq!(texts(&mut lines), ["first", "", "longer than a block", "last"]);
            assert_eq!(lines.bytes(), length);
        }
    }
}
