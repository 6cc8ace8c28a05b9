//! Compressed files: reading one gives what was compressed. A truncated or altered one gives the
//! lines before the damage and then an error, or other lines, but never a panic.

use std::io::Write;

use headwater_core::readers::options::Format;

use crate::bytes::Bytes;
use crate::check_sentence;
use crate::readers::{options, plain, read};

pub fn seeds() -> Vec<Vec<u8>> {
    let lines = b"1 1:1 2:0.5\n-1 3:2\n+1 1:1\n";
    (0..8).map(|kind| [&[kind, 3, 0, 20, 0], lines.as_slice()].concat()).collect()
}

fn pack(kind: usize, data: &[u8]) -> Vec<u8> {
    if kind == 0 {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(data).and_then(|()| gzip.finish()).expect("memory can be written to")
    } else {
        zstd::encode_all(data, 1).expect("memory can be written to")
    }
}

pub fn run(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let kind = bytes.byte();
    let at = [bytes.byte(), bytes.byte()];
    let byte = bytes.byte();
    let times = 1 + 40 * bytes.below(8);
    let content = bytes.rest().repeat(times);
    let options = options(Format::Svmlight);
    let expected = read(plain(&content), &options);
    if content.starts_with(&[0x1f, 0x8b]) || content.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return; // it is already compressed, and would be decompressed
    }
    let mut packed = pack(usize::from(kind & 1), &content);
    let at = usize::from(u16::from_le_bytes(at)) % packed.len();
    match kind >> 1 & 3 {
        0 => {
            let twice = [packed.clone(), packed.clone()].concat();
            assert_eq!(read(plain(&packed), &options), expected);
            let both = content.repeat(2);
            assert_eq!(read(plain(&twice), &options), read(plain(&both), &options));
        }
        1 => {
            packed.truncate(at);
            let told = read(plain(&packed), &options);
            let first = &told.events[..told.events.len().saturating_sub(1)]; // the last may be cut
            assert_eq!(first, &expected.events[..first.len()]);
            told.error.iter().for_each(check_sentence);
        }
        2 => {
            packed[at] ^= byte;
            read(plain(&packed), &options).error.iter().for_each(check_sentence);
        }
        _ => {
            let start = pack(usize::from(kind & 1), b"")[..4].to_vec();
            let raw = [&start, bytes.rest()].concat();
            read(plain(&raw), &options).error.iter().for_each(check_sentence);
        }
    }
}
