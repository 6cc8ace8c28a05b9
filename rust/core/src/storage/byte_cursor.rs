//! Small binary records: fixed numbers, varints, texts, and a checksum at the end.
//!
//! A varint has seven bits per byte, the lowest first; all bytes but the last have their highest bit set.
//! Of the ways to write a number only the shortest is read, so that equal contents are equal bytes.

/// Append a varint.
pub fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Small numbers of either sign as small numbers: 0, -1, 1, -2, ...
pub fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

pub fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Append the CRC-32 of all bytes so far.
pub fn seal(bytes: &mut Vec<u8>) {
    let checksum = crc32fast::hash(bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
}

/// Reads a record from its start. What it returns is `None` where the record ends too early or is not as it
/// would have been written.
#[derive(Clone, Copy, Debug)]
pub struct ByteCursor<'a>(&'a [u8]);

impl<'a> ByteCursor<'a> {
    /// A record whose checksum is right, without the checksum.
    pub fn sealed(bytes: &'a [u8]) -> Option<Self> {
        let (content, checksum) = bytes.split_last_chunk::<4>()?;
        (crc32fast::hash(content) == u32::from_le_bytes(*checksum)).then_some(Self(content))
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*array)
    }

    pub fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn real(&mut self) -> Option<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// A real number that is finite.
    pub fn finite(&mut self) -> Option<f64> {
        self.real().filter(|number| number.is_finite())
    }

    pub fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None; // beyond 64 bits
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return (bits != 0 || shift == 0).then_some(number);
            }
        }
        None
    }

    pub fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size_come_back_and_have_one_form() {
        for shift in 0..64 {
            for number in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                push_varint(&mut bytes, number);
                let mut cursor = ByteCursor(&bytes);
                assert_eq!((cursor.varint(), cursor.is_empty()), (Some(number), true));
                *bytes.last_mut().unwrap() |= 0x80;
                bytes.push(0);
                assert_eq!(ByteCursor(&bytes).varint(), None, "{number} with a byte too many");
            }
        }
        for number in [0, -1, 1, i64::MIN, i64::MAX, -64, 63] {
            assert_eq!(unzigzag(zigzag(number)), number);
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
    }

    #[test]
    fn a_record_that_is_cut_off_or_altered_is_refused() {
        let mut bytes = b"\x02ab rest".to_vec();
        seal(&mut bytes);
        let mut cursor = ByteCursor::sealed(&bytes).unwrap();
        assert_eq!(cursor.text(), Some("ab"));
        for length in 0..bytes.len() {
            assert!(ByteCursor::sealed(&bytes[..length]).is_none());
        }
        bytes[3] ^= 1;
        assert!(ByteCursor::sealed(&bytes).is_none());
        assert_eq!(ByteCursor(b"\x05abc").text(), None);
        assert_eq!(ByteCursor(b"\x01\xff").text(), None);
    }
}
