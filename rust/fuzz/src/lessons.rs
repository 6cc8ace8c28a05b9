//! Calls on one learner in any order: decide, answer late, learn, query, predict, arrays; saved and
//! loaded in between. An error changes nothing, and arrays give the same bytes as one event after
//! the other.

use std::collections::VecDeque;

use headwater_core::batch::{Batch, LabelColumn};
use headwater_core::row_arrays::RowArrays;
use headwater_core::{
    ColumnNames, Decision, Error, EventBuffer, FeatureValue, Label, Learner, Name, UNKNOWN,
};

use crate::bytes::Bytes;
use crate::check_sentence;
use crate::learners::{bytes_of, configs, label, restored};

/// An event that was decided on, as its decision stores it.
struct Pending {
    names: Vec<Name<'static>>,
    buffer: EventBuffer,
    decision: Decision,
}

pub fn seeds() -> Vec<Vec<u8>> {
    let kinds = 0..configs().len() as u8;
    let life = |kind: u8| {
        let mut seed = vec![kind];
        for round in 0..40_u8 {
            seed.push(round % 7 + if round % 5 == 0 { 128 } else { 0 });
            seed.extend([2, round % 5, 160 + round, 5 + round % 3, 140 - round, round]);
        }
        seed
    };
    kinds.map(life).collect()
}

pub fn run(data: &[u8]) {
    let mut bytes = Bytes::new(data);
    let mut all = configs();
    let config = all.swap_remove(bytes.below(all.len()));
    let mut learner = Learner::new(config.clone()).expect("a sound configuration");
    let mut pending = VecDeque::new();
    while !bytes.is_empty() {
        let before = bytes_of(&learner);
        let verb = bytes.byte();
        let (result, pure) = match verb % 8 {
            0 | 1 => (decide(&mut learner, &mut bytes, &mut pending), false),
            2 => (answer(&mut learner, &mut bytes, &mut pending), false),
            3 | 4 => (learn(&mut learner, &mut bytes), false),
            5 => (look(&learner, &mut bytes), true),
            6 => (query(&mut learner, &mut bytes), false),
            _ => (simulate(&mut learner, &mut bytes), false),
        };
        let after = bytes_of(&learner);
        if let Err(error) = &result {
            check_sentence(error);
        }
        if result.is_err() || pure {
            assert!(before == after, "changed by what changes nothing: {result:?}");
        }
        if verb < 128 {
            continue;
        }
        let again = restored(config.clone(), &after);
        let again = again.unwrap_or_else(|error| panic!("what was saved is refused: {error}"));
        assert!(bytes_of(&again) == after, "saved, loaded and saved again, it is another");
        learner = again; // the loaded learner must continue in the same way
    }
}

fn buffer(values: &[f64]) -> EventBuffer {
    EventBuffer::new(values.iter().map(|&value| FeatureValue { id: UNKNOWN, value }).collect())
}

fn decide(
    learner: &mut Learner,
    bytes: &mut Bytes<'_>,
    pending: &mut VecDeque<Pending>,
) -> Result<(), Error> {
    let (names, values) = bytes.event();
    let mut buffer = buffer(&values);
    learner.look_up(names.as_slice(), &mut buffer)?;
    let decision = learner.decide(&mut buffer, names.as_slice())?;
    assert!((0.0..=1.0).contains(&decision.query_probability) && decision.margin.is_finite());
    pending.push_back(Pending { names, buffer, decision });
    Ok(())
}

fn answer(
    learner: &mut Learner,
    bytes: &mut Bytes<'_>,
    pending: &mut VecDeque<Pending>,
) -> Result<(), Error> {
    let label = label(bytes);
    let Some(Pending { names, mut buffer, decision }) = pending.pop_front() else { return Ok(()) };
    if learner.evicts() {
        buffer.features.iter_mut().for_each(|feature| feature.id = UNKNOWN);
    }
    learner.look_up(names.as_slice(), &mut buffer)?;
    learner.expand(&mut buffer);
    learner.answer(&decision, &mut buffer, names.as_slice(), &label, None)
}

fn learn(learner: &mut Learner, bytes: &mut Bytes<'_>) -> Result<(), Error> {
    let (names, values) = bytes.event();
    let label = label(bytes);
    let mut buffer = buffer(&values);
    learner.look_up(names.as_slice(), &mut buffer)?;
    learner.learn(&mut buffer, names.as_slice(), &label).map(|_| ())
}

fn query(learner: &mut Learner, bytes: &mut Bytes<'_>) -> Result<(), Error> {
    let (names, values) = bytes.event();
    let mut buffer = buffer(&values);
    learner.look_up(names.as_slice(), &mut buffer)?;
    learner.transform(&mut buffer)?;
    learner.query(&buffer).map(|_| ())
}

/// All calls that change nothing.
fn look(learner: &Learner, bytes: &mut Bytes<'_>) -> Result<(), Error> {
    let (names, values) = bytes.event();
    let mut buffer = buffer(&values);
    learner.look_up(names.as_slice(), &mut buffer)?;
    learner.transform(&mut buffer)?;
    let (class, margin) = learner.predict(buffer.inputs())?;
    let (parts, decision) = learner.explain(&buffer)?;
    assert_eq!((decision.class, decision.margin), (class, margin));
    assert_eq!(parts.len(), buffer.inputs().len());
    let _ = (learner.prediction(class, margin), learner.details(buffer.inputs()));
    let _ = learner.note();
    if !learner.labels().is_number() {
        let shares = learner.probabilities(buffer.inputs())?;
        assert_eq!(shares.len(), learner.labels().known().len());
        let sum: f64 = shares.iter().sum();
        assert!(shares.is_empty() || (sum - 1.0).abs() < 1e-9, "{shares:?}");
    }
    Ok(())
}

/// A few events as a sparse matrix, and the same events one by one with a copy of the learner.
fn simulate(learner: &mut Learner, bytes: &mut Bytes<'_>) -> Result<(), Error> {
    let mut columns: Vec<Name<'_>> = Vec::new();
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut labels = Vec::new();
    for _ in 0..bytes.below(6) {
        let (names, row) = bytes.event();
        for name in names {
            let known = columns.iter().position(|&column| column == name);
            let column = known.unwrap_or_else(|| {
                columns.push(name);
                columns.len() - 1
            });
            indices.push(column as i32);
        }
        values.extend(row);
        indptr.push(values.len() as i64);
        labels.push((!bytes.byte().is_multiple_of(4)).then(|| label(bytes)));
    }
    let rows = RowArrays::Csr { indptr: &indptr, indices: &indices, values: &values };
    let batch = Batch::new(rows, ColumnNames::Listed(&columns), columns.len())?;
    let mut copy = learner.clone();
    let mut decisions = Vec::new();
    let result = learner.simulate(
        &batch,
        LabelColumn::Listed(&labels),
        |decision| decisions.push(*decision),
        |_| true,
    );
    let whole = match &result {
        Err(Error::Label(_)) => true,
        Err(Error::Event(text)) => text.starts_with("names: "),
        _ => false,
    };
    if whole {
        return result; // refused before the first row
    }
    let mut one_by_one = || -> Result<(), Error> {
        for (row, label) in labels.iter().enumerate() {
            let range = indptr[row] as usize..indptr[row + 1] as usize;
            let names: Vec<Name<'_>> =
                indices[range.clone()].iter().map(|&column| columns[column as usize]).collect();
            let before = copy.clone();
            event(&mut copy, &names, &values[range], label.as_ref())
                .inspect_err(|_| copy = before)?; // decided, but not learned: the row changes nothing
        }
        Ok(())
    };
    let looped = one_by_one();
    if let Err(error) = &result {
        check_sentence(error);
    }
    assert_eq!(result.is_ok(), looped.is_ok(), "arrays: {result:?}, one by one: {looped:?}");
    assert!(bytes_of(learner) == bytes_of(&copy), "arrays and one by one differ");
    Ok(())
}

/// Decide on an event and learn it if it was asked for.
pub fn event(
    learner: &mut Learner,
    names: &[Name<'_>],
    values: &[f64],
    label: Option<&Label>,
) -> Result<(), Error> {
    let mut buffer = buffer(values);
    learner.look_up(names, &mut buffer)?;
    let decision = learner.decide(&mut buffer, names)?;
    if let (true, Some(label)) = (decision.asked, label) {
        let products = Some(decision.products());
        learner.answer(&decision, &mut buffer, names, label, products)?;
    }
    Ok(())
}
