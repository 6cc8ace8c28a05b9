//! The guess which key comes next: most files write the same keys in the same order, line after
//! line.
//!
//! **What is expected.** The keys of one line, the *model line*, each by its spelling from the
//! opening quote to the start of its value, blanks included. From the last key that was found on,
//! the next five of them are expected: up to four keys may be missing between two. An expected key
//! is found by comparing bytes, without looking for its end, and has a column number, so that its
//! name need not be looked up either.
//!
//! **What is learned.** A key that comes when all expected ones are behind it joins the model line.
//! With nothing expected, that is every key of a line. The others are counted as misses.
//!
//! **When it gives up, and for how long.** If more than one key in eight of a line was a miss, the
//! model line is forgotten. The first time the next line becomes the model at once. If that one
//! does not repeat either, nothing is expected or learned for 2 lines before the next attempt, then
//! for 4, 8, ... up to 2,048, so that a file without an order costs next to nothing: each failure
//! makes the next pause four times as long, and each line that goes well (the one that is learned
//! among them) half as long.

use crate::readers::window::Window;

/// So many columns are given at most. A key that is learned again has a new one, so that they may
/// run out.
const MOST_COLUMNS: usize = 1 << 16;
/// So many bytes of a key are compared at once.
const FIRST: usize = u128::BITS as usize / 8;
/// So many keys may be missing between two.
const MOST_MISSING: usize = 4;
/// After a failure the next pause has from 4 to 4,096 lines; the line that is learned then halves
/// it.
const SHORTEST_PAUSE: u32 = 4;
const LONGEST_PAUSE: u32 = 1 << 12;
/// It gives up if more than one key in so many is a miss.
const KEYS_PER_MISS: u32 = 8;

#[derive(Default)]
pub struct KeyPredictor {
    /// The name of each column.
    names: Vec<String>,
    /// The keys of the model line.
    model: Vec<ExpectedKey>,
    /// Their spellings, one behind the other.
    spellings: Vec<u8>,
    /// Where in `model` the next key is expected; never more than its length.
    next: usize,
    /// Keys of the current line that were expected or learned.
    hits: u32,
    /// The others.
    misses: u32,
    /// Lines for which nothing is expected, the current one among them.
    pause: u32,
    /// How many it will be the next time.
    next_pause: u32,
}

/// A key of the model line.
#[derive(Clone, Copy)]
struct ExpectedKey {
    /// The first bytes of its spelling.
    first: u128,
    /// The bits of `first` that belong to it, if it is shorter.
    mask: u128,
    /// Its spelling is `spellings[start..end]`.
    start: usize,
    end: usize,
    column: u32,
}

/// Where a key stands in its line.
#[derive(Clone, Copy, Debug)]
pub struct KeySpan {
    /// At its opening quote.
    pub start: usize,
    /// At its closing quote.
    pub name_end: usize,
    /// Where its value starts: behind the colon and a blank, if there is one.
    pub value_start: usize,
}

/// A key that was expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundKey {
    pub column: u32,
    /// Where its value starts in the line.
    pub value_start: usize,
}

impl KeyPredictor {
    /// The name of each column; more may be added behind them, but none ever changes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A line begins: see how the last one went.
    pub fn begin_line(&mut self) {
        if self.pause > 0 {
            self.pause -= 1;
        } else if KEYS_PER_MISS * self.misses > self.hits + self.misses {
            self.model.clear();
            self.spellings.clear();
            self.pause = self.next_pause;
            self.next_pause = (4 * self.next_pause).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        } else {
            self.next_pause /= 2;
        }
        (self.next, self.hits, self.misses) = (0, 0, 0);
    }

    /// Whether there is no use in asking for the keys of this line.
    pub fn is_paused(&self) -> bool {
        self.pause > 0
    }

    /// The key that starts at a place, if it is expected there. One that the end of the line cuts
    /// off is not found: a line end follows, and a key has none.
    #[inline(always)]
    pub fn find(&mut self, line: &[u8], at: usize) -> Option<FoundKey> {
        let first = Window::of(line, at)?.sixteen();
        for (i, key) in self.model[self.next..].iter().take(MOST_MISSING + 1).enumerate() {
            let end = at + key.end - key.start;
            if (first ^ key.first) & key.mask == 0
                && (end - at <= FIRST
                    || line.get(at..end) == self.spellings.get(key.start..key.end))
            {
                self.next += i + 1;
                self.hits += 1;
                return Some(FoundKey { column: key.column, value_start: end });
            }
        }
        None
    }

    /// Learn a key that was not expected, if it comes behind all that were. Its column, if it has
    /// one now.
    #[inline(never)]
    pub fn learn(&mut self, line: &str, key: KeySpan) -> Option<u32> {
        if self.next < self.model.len() || self.names.len() >= MOST_COLUMNS {
            self.misses += 1;
            return None;
        }
        let KeySpan { start, name_end, value_start } = key;
        let column = self.names.len() as u32;
        self.names.push(line[start + 1..name_end].to_owned());
        let spelling = &line.as_bytes()[start..value_start];
        let mut first = [0; FIRST];
        let count = spelling.len().min(FIRST);
        first[..count].copy_from_slice(&spelling[..count]);
        self.model.push(ExpectedKey {
            first: u128::from_le_bytes(first),
            mask: u128::MAX >> (8 * (FIRST - count)),
            start: self.spellings.len(),
            end: self.spellings.len() + value_start - start,
            column,
        });
        self.spellings.extend_from_slice(spelling);
        self.next += 1;
        self.hits += 1;
        Some(column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::lines::padded;

    /// What became of a key.
    #[derive(Debug, PartialEq)]
    enum KeyFate {
        Found(u32),
        Learned(u32),
        Missed,
    }
    use KeyFate::{Found, Learned, Missed};

    /// Ask for every key of a line such as `"a":"b": "c":`.
    fn read(keys: &mut KeyPredictor, line: &str) -> Vec<KeyFate> {
        keys.begin_line();
        let (padded, mut fates, mut at) = (padded(line), Vec::new(), 0);
        while at < line.len() {
            if let Some(found) = keys.find(&padded, at) {
                fates.push(Found(found.column));
                at = found.value_start;
                continue;
            }
            let name_end = at + 1 + line[at + 1..].find('"').unwrap();
            let blank = line[name_end + 2..].starts_with(' ');
            let value_start = name_end + 2 + usize::from(blank);
            let column = keys.learn(line, KeySpan { start: at, name_end, value_start });
            fates.push(column.map_or(Missed, Learned));
            at = value_start;
        }
        fates
    }

    /// A line of the keys of these letters.
    fn line(letters: &str) -> String {
        letters.chars().flat_map(|letter| ['"', letter, '"', ':', ' ']).collect()
    }

    fn all_found(fates: &[KeyFate]) -> bool {
        fates.iter().all(|fate| matches!(fate, Found(_)))
    }

    #[test]
    fn the_keys_of_the_first_line_are_expected_in_the_second() {
        let mut keys = KeyPredictor::default();
        assert_eq!(read(&mut keys, &line("abc")), [Learned(0), Learned(1), Learned(2)]);
        assert_eq!(keys.names(), ["a", "b", "c"]);
        for _ in 0..3 {
            assert_eq!(read(&mut keys, &line("abc")), [Found(0), Found(1), Found(2)]);
        }
        assert_eq!(keys.names().len(), 3);
    }

    #[test]
    fn up_to_four_keys_may_be_missing_between_two() {
        let mut keys = KeyPredictor::default();
        read(&mut keys, &line("abcdefgh"));
        assert_eq!(read(&mut keys, &line("afgh")), [Found(0), Found(5), Found(6), Found(7)]);
        assert_eq!(read(&mut keys, &line("ah")), [Found(0), Missed]);
    }

    #[test]
    fn missing_keys_are_no_misses() {
        let mut keys = KeyPredictor::default();
        read(&mut keys, &line("abcdefgh"));
        for letters in ["ach", "", "dh", "e", "ach"] {
            assert!(all_found(&read(&mut keys, &line(letters))), "{letters}");
        }
    }

    #[test]
    fn a_key_behind_the_last_joins_the_model_line() {
        let mut keys = KeyPredictor::default();
        read(&mut keys, &line("ab"));
        assert_eq!(read(&mut keys, &line("abc")), [Found(0), Found(1), Learned(2)]);
        assert_eq!(read(&mut keys, &line("bc")), [Found(1), Found(2)]);
        assert_eq!(keys.names(), ["a", "b", "c"]);
    }

    #[test]
    fn a_key_out_of_order_is_a_miss() {
        let mut keys = KeyPredictor::default();
        read(&mut keys, &line("abc"));
        assert_eq!(read(&mut keys, &line("bac")), [Found(1), Missed, Found(2)]);
    }

    #[test]
    fn one_miss_in_eight_keys_is_forgiven_and_more_are_not() {
        let mut keys = KeyPredictor::default();
        read(&mut keys, &line("abcdefgh"));
        read(&mut keys, &line("abcxdefg")); // one miss of eight
        assert!(all_found(&read(&mut keys, &line("abcdefgh"))));
        read(&mut keys, &line("abcxdef")); // one of seven
        let learned = (8..16).map(Learned).collect::<Vec<_>>();
        assert_eq!(read(&mut keys, &line("abcdefgh")), learned);
    }

    #[test]
    fn a_new_order_is_learned_at_once_when_an_old_one_ends() {
        let mut keys = KeyPredictor::default();
        for _ in 0..20 {
            read(&mut keys, &line("abc"));
        }
        assert_eq!(read(&mut keys, &line("xyz")), [Missed, Missed, Missed]);
        assert!(!keys.is_paused());
        assert_eq!(read(&mut keys, &line("xyz")), [Learned(3), Learned(4), Learned(5)]);
        assert_eq!(read(&mut keys, &line("xyz")), [Found(3), Found(4), Found(5)]);
    }

    /// How many lines in a row are paused, where no two lines have the same keys.
    fn pauses_without_order(keys: &mut KeyPredictor, lines: u32) -> Vec<u32> {
        let (mut pauses, mut length) = (Vec::new(), 0);
        for i in 0..lines {
            keys.begin_line();
            if keys.is_paused() {
                length += 1;
                continue;
            }
            if length > 0 {
                pauses.push(std::mem::take(&mut length));
            }
            for j in 0..3 {
                let text = format!("\"{i}-{j}\":");
                if keys.find(&padded(&text), 0).is_none() {
                    let span =
                        KeySpan { start: 0, name_end: text.len() - 2, value_start: text.len() };
                    keys.learn(&text, span);
                }
            }
        }
        pauses
    }

    #[test]
    fn without_an_order_the_pauses_become_longer_up_to_a_limit() {
        let mut keys = KeyPredictor::default();
        let pauses = pauses_without_order(&mut keys, 30_000);
        assert_eq!(pauses[..11], [2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048]);
        assert!(pauses[11..].iter().all(|&pause| pause == 2_048), "{pauses:?}");
    }

    #[test]
    fn lines_that_go_well_make_the_next_pause_short_again() {
        let mut keys = KeyPredictor::default();
        pauses_without_order(&mut keys, 10_000);
        while keys.is_paused() {
            keys.begin_line();
        }
        for _ in 0..20 {
            read(&mut keys, &line("abc"));
        }
        assert!(all_found(&read(&mut keys, &line("abc"))));
        read(&mut keys, &line("xyz"));
        keys.begin_line();
        assert!(!keys.is_paused());
    }

    #[test]
    fn a_key_is_expected_as_it_was_spelled() {
        let mut keys = KeyPredictor::default();
        read(&mut keys, "\"a\": \"b\": ");
        assert_eq!(read(&mut keys, "\"a\":\"b\": "), [Missed, Found(1)]);
    }

    #[test]
    fn long_keys_are_compared_in_full() {
        let mut keys = KeyPredictor::default();
        let long = |middle: &str| format!("\"begins-alike-{middle}-and-ends-alike\":");
        read(&mut keys, &long("1"));
        assert_eq!(read(&mut keys, &long("2")), [Missed]);
        let mut keys = KeyPredictor::default();
        read(&mut keys, &long("1"));
        assert_eq!(read(&mut keys, &long("1")), [Found(0)]);
    }

    #[test]
    fn a_key_that_is_cut_off_is_not_found() {
        let mut keys = KeyPredictor::default();
        for key in ["\"a\": ", "\"a key of many letters\": "] {
            keys.begin_line();
            let span = KeySpan { start: 0, name_end: key.len() - 3, value_start: key.len() };
            keys.learn(key, span);
            for length in 0..key.len() {
                keys.begin_line();
                let cut_off = padded(&key[..length]);
                assert_eq!(keys.find(&cut_off, 0), None, "{length}");
                assert_eq!(keys.find(&cut_off, length), None, "{length}");
            }
        }
    }

    #[test]
    fn no_more_columns_than_there_may_be_are_given() {
        let mut keys = KeyPredictor::default();
        keys.begin_line();
        for i in 0..MOST_COLUMNS + 3 {
            let text = format!("\"{i}\":");
            let span = KeySpan { start: 0, name_end: text.len() - 2, value_start: text.len() };
            assert_eq!(keys.learn(&text, span).is_some(), i < MOST_COLUMNS, "{i}");
        }
        assert_eq!(keys.names().len(), MOST_COLUMNS);
    }
}
