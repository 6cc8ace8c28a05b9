//! Model files: the first byte of an input selects the learner, the rest is its state, or a whole
//! file.
//!
//! A state is put into a file with a right checksum, so that the checks behind the checksum are
//! reached.

use headwater_core::{Learner, Name, snapshot};

use crate::bytes::Bytes;
use crate::check_sentence;
use crate::learners::{bytes_of, configs, label, restored};
use crate::lessons::event;

/// Saved learners of each kind after 0, 4, 8 and 12 rounds, and then with questions that wait.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (kind, config) in configs().into_iter().enumerate() {
        let mut learner = Learner::new(config).expect("a sound configuration");
        for round in 0..=12_u8 {
            if round % 4 == 0 {
                let file = bytes_of(&learner);
                let (_, state) = snapshot::split(&file).expect("as it was written");
                seeds.push([&[kind as u8], state].concat());
                seeds.push([&[255], file.as_slice()].concat());
            }
            live(&mut learner, &[round % 3, 200 + round, round, 4 + round % 2, 170, 3 * round]);
        }
        for round in 0..4 {
            leave_open(&mut learner, f64::from(round) - 0.5);
        }
        let file = bytes_of(&learner);
        let (_, state) = snapshot::split(&file).expect("as it was written");
        seeds.push([&[kind as u8], state].concat());
    }
    seeds
}

/// Decide on a few events and learn them; errors are allowed.
fn live(learner: &mut Learner, data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let names = [Name::Text("a"), Name::Text("b"), Name::Number(0), Name::Text("new")];
    while !bytes.is_empty() {
        let first = bytes.below(3);
        let values = [bytes.number(), f64::from(bytes.byte()) / 64.0];
        let label = label(&mut bytes);
        if let Err(error) = event(learner, &names[first..first + 2], &values, Some(&label)) {
            check_sentence(&error);
        }
    }
}

/// Decide on an event; if its label is asked for, that question stays open.
fn leave_open(learner: &mut Learner, value: f64) {
    let names = [Name::Text("a"), Name::Text("b")];
    if let Err(error) = event(learner, &names, &[value, 0.5], None) {
        check_sentence(&error);
    }
}

/// The bytes of a file with this state, its checksum right.
fn file_of(state: &[u8]) -> Vec<u8> {
    let mut file = b"HEADWATR".to_vec();
    file.extend(snapshot::VERSION.to_le_bytes());
    file.extend(2_u32.to_le_bytes());
    file.extend(b"{}");
    file.extend((state.len() as u64).to_le_bytes());
    file.extend(state);
    let checksum = crc32fast::hash(&file);
    file.extend(checksum.to_le_bytes());
    file
}

/// Panics with the place where two files begin to differ.
fn assert_same(expected: &[u8], got: &[u8], claim: &str) {
    let Some(at) = expected.iter().zip(got).position(|(a, b)| a != b) else {
        return assert_eq!(expected.len(), got.len(), "{claim}");
    };
    let near = |file: &[u8]| {
        file[at.saturating_sub(30)..file.len().min(at + 20)].escape_ascii().to_string()
    };
    panic!("{claim}: at byte {at}, {} became {}", near(expected), near(got));
}

pub fn run(data: &[u8]) {
    let Some((&kind, state)) = data.split_first() else { return };
    let mut all = configs();
    if usize::from(kind) >= all.len() {
        if let Err(error) = snapshot::split(state) {
            check_sentence(&error);
        }
        return;
    }
    let config = all.swap_remove(usize::from(kind));
    let mut learner = match restored(config.clone(), &file_of(state)) {
        Err(error) => return check_sentence(&error),
        Ok(learner) => learner,
    };
    let written = bytes_of(&learner);
    assert_same(&file_of(state), &written, "it writes another state than it read");
    for round in 0..4_u8 {
        live(&mut learner, &[round, 200 - 9 * round, 77, 3 * round, 2, 152 + round, 1, 9]);
        leave_open(&mut learner, f64::from(round) - 1.5);
        let written = bytes_of(&learner);
        let again = restored(config.clone(), &written);
        let again = again.unwrap_or_else(|error| panic!("what it writes it refuses: {error}"));
        assert_same(&written, &bytes_of(&again), "saved, loaded and saved again, it is another");
    }
}
