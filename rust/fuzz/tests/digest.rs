//! The saved bytes of every kind of learner after a fixed stream, as one checksum per learner.
//!
//! The core promises the same bits on every machine. A change of any result, down to the last bit,
//! or of what is saved changes a checksum here. A refactoring must leave the table as it is.

use std::collections::VecDeque;

use headwater_core::{
    ARITHMETIC, EventBuffer, FeatureValue, Label, Labels, Learner, Name, UNKNOWN, snapshot,
};
use headwater_fuzz::learners::{bytes_of, configs};

/// The CRC-32 of the saved state of each of [`configs`], in their order.
///
/// If results are changed on purpose, replace this table by the one that the failing test prints,
/// and say in the commit which results changed and why.
const DIGESTS: &[u32] = &[
    0xd058_2def,
    0x739e_fe9b,
    0x4f10_f2bf,
    0x31ca_64b6,
    0xe35d_71f6,
    0xe88e_ce58,
    0x1157_df71,
    0x902d_ee88,
    0x585c_bf2e,
    0xa548_7d58,
    0x37ae_eb30,
    0xe568_90a4,
    0x46af_3a3a,
    0xd0ea_fcf1,
    0xcb1c_90f5,
    0x0cd4_73c5,
    0xfeed_cd13,
    0xc268_eb39,
    0xd460_dcd0,
    0x8438_6850,
    0x06d4_cf59,
    0xc2e4_7a64,
    0x2d21_2cd6,
];

/// The number of the arithmetic, and the CRC-32 of [`DIGESTS`] under it. If the table changes, results may differ
/// from those of journals that were written with this number: raise `ARITHMETIC` with it, unless no journal
/// with this number has ever left this repository.
const GUARDED: (u32, u32) = (3, 0x37f2_0c1d);

const EVENTS: u64 = 400;
const NAMES: u64 = 18;

/// `SplitMix64`, so that the stream depends on nothing in the core.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 33) % limit
    }

    /// One of the multiples of 1/64 from -4 to 4.
    fn value(&mut self) -> f64 {
        self.below(513) as f64 / 64.0 - 4.0
    }
}

/// Features come and go: an event carries some of six names, which change over the stream.
fn event(random: &mut Random, round: u64) -> (Vec<usize>, EventBuffer) {
    let first = (round * (NAMES - 6) / EVENTS) as usize;
    let (mut positions, mut features) = (Vec::new(), Vec::new());
    for position in first..first + 6 {
        if random.below(10) < 7 {
            positions.push(position);
            features.push(FeatureValue { id: UNKNOWN, value: random.value() });
        }
    }
    (positions, EventBuffer::new(features))
}

/// A label that fits: the sign or the size of the event's sum, wrong one time in ten.
fn label(labels: &Labels, random: &mut Random, sum: f64) -> Label {
    if labels.is_number() {
        return Label::Real(sum * 0.5 + random.value() * 0.125);
    }
    let positive = (sum > 0.0) != (random.below(10) == 0);
    if labels.is_multiclass() {
        let class = if sum.abs() < 1.0 { "y" } else { ["x", "z"][usize::from(positive)] };
        return Label::Text(class.to_owned());
    }
    labels.known()[usize::from(positive)].clone()
}

/// The checksum of a learner after the stream. One answer in four comes ten events late.
fn digest(mut learner: Learner) -> u32 {
    let texts: Vec<String> = (0..NAMES).map(|i| format!("sensor {i}")).collect();
    let names: Vec<Name<'_>> = texts.iter().map(|text| Name::Text(text)).collect();
    let (mut random, mut late) = (Random(2), VecDeque::new());
    for round in 0..EVENTS {
        let (positions, mut buffer) = event(&mut random, round);
        let sum = buffer.features.iter().map(|feature| feature.value).sum();
        let label = label(learner.labels(), &mut random, sum);
        let own: Vec<Name<'_>> = positions.iter().map(|&position| names[position]).collect();
        learner.look_up(&own[..], &mut buffer).expect("names that can be looked up");
        let decision = learner.decide(&mut buffer, &own[..]).expect("an event that can be scored");
        if decision.asked && random.below(4) == 0 {
            late.push_back((round + 10, own, buffer, label, decision));
        } else if decision.asked {
            let products = Some(decision.products());
            let answered = learner.answer(&decision, &mut buffer, &own[..], &label, products);
            answered.expect("a label that fits");
        }
        while late.front().is_some_and(|(due, ..)| *due <= round) {
            let Some((_, own, mut buffer, label, decision)) = late.pop_front() else { break };
            for feature in &mut buffer.features {
                feature.id = UNKNOWN;
            }
            learner.look_up(&own[..], &mut buffer).expect("names of an earlier event");
            learner.expand(&mut buffer);
            let answered = learner.answer(&decision, &mut buffer, &own[..], &label, None);
            answered.expect("a label that fits");
        }
    }
    let file = bytes_of(&learner);
    let (_, state) = snapshot::split(&file).expect("a model file as it was written");
    crc32fast::hash(state) // not of the whole file: with its own CRC at the end that is a constant
}

#[test]
fn the_saved_bytes_of_every_kind_of_learner_are_those_of_the_table() {
    let learners = configs().into_iter().map(|config| Learner::new(config).expect("it is sound"));
    let found: Vec<u32> = learners.map(digest).collect();
    let changed: Vec<usize> =
        (0..found.len()).filter(|&kind| DIGESTS.get(kind) != Some(&found[kind])).collect();
    let table: String = found.chunks(6).fold(String::new(), |text, row| {
        let row: Vec<String> = row
            .iter()
            .map(|digest| format!("0x{:04x}_{:04x},", digest >> 16, digest & 0xffff))
            .collect();
        text + "    " + &row.join(" ") + "\n"
    });
    assert!(
        changed.is_empty() && found.len() == DIGESTS.len(),
        "The saved bytes of the learners {changed:?} of `learners::configs()` have changed: their \
         results or what is saved of them differ from what they were. If that is a mistake, repair the \
         core. Renew the table only on purpose, with the reason in the commit: replace DIGESTS in \
         rust/fuzz/tests/digest.rs by\n\nconst DIGESTS: &[u32] = &[\n{table}];\n"
    );
}

#[test]
fn the_number_of_the_arithmetic_belongs_to_the_table() {
    let bytes: Vec<u8> = DIGESTS.iter().flat_map(|digest| digest.to_le_bytes()).collect();
    let found = (ARITHMETIC, crc32fast::hash(&bytes));
    assert_eq!(
        found, GUARDED,
        "the table or the number changed without the other; see GUARDED in this file"
    );
}

#[test]
fn every_kind_of_model_and_every_query_rule_that_remembers_has_a_digest() {
    let listed = format!(
        "{:?}",
        configs().iter().map(|config| (config.model, config.query)).collect::<Vec<_>>()
    );
    let kinds = [
        "Linear(",
        "Spring(",
        "SpringClasses(",
        "DualLogistic(",
        "SecondOrder(",
        "OfsPartial(",
        "Olvf(",
        "Fesl(",
        "Rfesl(",
    ];
    for word in kinds.into_iter().chain(["Quota {", "SelAda {", "Budget {", "Quantile {"]) {
        assert!(listed.contains(word), "{word} is missing in learners::configs()");
    }
}
