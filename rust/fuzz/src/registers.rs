//! A register: events in any rhythm, or bytes of one.
//!
//! The first byte selects: a state, its checksum made right, or a stream of events. What is accepted as a state is
//! written again byte for byte and can go on. A stream gives the same bytes whether names are looked up anew or
//! known by id, in whatever order an event has its features, and whether or not the register was saved and loaded
//! in between. What is refused has changed nothing.

use headwater_core::{FeatureId, Name, Register, RegisterConfig, UNKNOWN};

use crate::bytes::Bytes;
use crate::check_sentence;

const STATE: u8 = 128;

pub fn seeds() -> Vec<Vec<u8>> {
    let stream = |first: u8| {
        let mut seed = vec![first];
        for round in 0..60_u8 {
            seed.extend([round % 11, 2, round % 3, 152 + round % 7, 4 + round % 2, 200 - round]);
        }
        seed
    };
    let mut seeds: Vec<_> = [0, 1, 2, 3, 5, 9].into_iter().map(stream).collect();
    let mut register = Register::new(RegisterConfig { cycle: 10.0, most: Some(6) });
    for round in 0..200_i64 {
        let names = [Name::Number(round / 50), Name::Text("a")];
        let values = [(round % 5) as f64, if round < 100 { 1.0 } else { 1000.0 + round as f64 }];
        let mut ids = [UNKNOWN; 2];
        register.observe(&mut ids, &values, &names[..], Some(round as f64)).expect("a sound event");
    }
    let mut state = register.to_bytes().expect("it can be saved");
    state.truncate(state.len() - 4);
    seeds.push([&[STATE], state.as_slice()].concat());
    seeds
}

pub fn run(data: &[u8]) {
    let Some((&kind, rest)) = data.split_first() else { return };
    if kind & STATE == 0 {
        return follow(kind, &mut Bytes::new(rest));
    }
    let state = [rest, &crc32fast::hash(rest).to_le_bytes()].concat();
    match Register::from_bytes(&state) {
        Err(error) => check_sentence(&error),
        Ok(mut register) => {
            assert!(bytes_of(&register) == state, "a register is written as it was read");
            for id in 0..register.len() as FeatureId {
                assert!(register.state(id).is_some() && register.summary(id).is_some());
            }
            let time = register.time().map(|time| time + 1.0);
            let mut ids = [UNKNOWN];
            if let Err(error) = register.observe(&mut ids, &[1.0], &[Name::Text("a")][..], time) {
                check_sentence(&error);
                assert!(bytes_of(&register) == state, "an error has changed it");
            }
            Register::from_bytes(&bytes_of(&register)).expect("what went on can be loaded");
        }
    }
}

/// Three registers of one stream: by names; by ids, in the opposite order; saved and loaded now and then.
fn follow(kind: u8, bytes: &mut Bytes) {
    let most = (kind & 8 != 0).then_some(4);
    let cycle = [86_400.0, 0.0, 10.0, 1e-300][usize::from(kind & 3)];
    let config = RegisterConfig { cycle, most };
    let [mut plain, mut by_ids, mut saved] = [(); 3].map(|()| Register::new(config));
    let mut known: Vec<(Name<'static>, FeatureId)> = Vec::new();
    let (mut time, mut evicted) = (0.0, 0);
    while !bytes.is_empty() {
        let verb = bytes.byte();
        let (names, values) = bytes.event();
        time += if verb % 16 == 15 { bytes.number() } else { f64::from(verb % 16) };
        let when = (kind & 4 != 0).then_some(time);
        let before = bytes_of(&plain);
        let mut ids = vec![UNKNOWN; names.len()];
        let result = plain.observe(&mut ids, &values, &names[..], when);
        if let Err(error) = &result {
            check_sentence(error);
            assert!(bytes_of(&plain) == before, "an error has changed it");
            time = 0.0;
            continue;
        }

        if evicted != by_ids.evicted() {
            known.clear();
            evicted = by_ids.evicted();
        }
        let (mut names, mut values) = (names, values);
        names.reverse();
        values.reverse();
        let id = |name| known.iter().find(|(one, _)| one == name).map_or(UNKNOWN, |&(_, id)| id);
        let mut ids: Vec<FeatureId> = names.iter().map(id).collect();
        by_ids.observe(&mut ids, &values, &names[..], when).expect("as by names");
        if evicted == by_ids.evicted() {
            known.retain(|(name, _)| !names.contains(name));
            known.extend(names.iter().copied().zip(ids));
        }
        assert!(bytes_of(&by_ids) == bytes_of(&plain), "ids and order change nothing");

        if verb >= 192 {
            saved = Register::from_bytes(&bytes_of(&saved)).expect("what was saved can be loaded");
        }
        let mut ids = vec![UNKNOWN; names.len()];
        saved.observe(&mut ids, &values, &names[..], when).expect("as without saving");
        assert!(bytes_of(&saved) == bytes_of(&plain), "saved and loaded it goes on the same");
    }
    let found = plain.findings(0).map(|finding| finding.number).collect::<Vec<_>>();
    assert!(found.windows(2).all(|pair| pair[0] + 1 == pair[1]), "findings are numbered");
    assert_eq!(found.last().copied().unwrap_or_default(), plain.made());
}

fn bytes_of(register: &Register) -> Vec<u8> {
    register.to_bytes().expect("a register can be saved")
}
