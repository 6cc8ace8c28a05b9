//! The model file: what a learner has learned, as bytes. `docs/model-file.md` describes it.
//!
//! The state holds what changes; the parameters stand in the header, which this crate carries
//! as text and does not read. Nothing is trusted: a state that passed its checksum but does not
//! fit its learner is refused.

use serde::{Deserialize, Serialize};

use crate::labels::{Form, Label};
use crate::learner::{Config, INTERCEPT, Learner, Register};
use crate::query::QueryState;
use crate::random::Generator;
use crate::vocabulary::{Name, UNKNOWN};
use crate::weights::Sum;
use crate::{Error, Labels};

const MAGIC: &[u8; 8] = b"HEADWATR";
pub const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct State<'a> {
    #[serde(borrow)]
    names: Vec<Name<'a>>,
    first: Vec<u64>,
    last: Vec<u64>,
    times: Vec<u64>,
    weights: Vec<Vec<f64>>,
    scales: Vec<f64>,
    variances: Vec<Vec<f64>>,
    norms: Vec<(f64, f64)>,
    steps: Vec<u64>,
    label_form: Form,
    classes: Vec<Label>,
    positives: u64,
    negatives: u64,
    seen: u64,
    asked: u64,
    learned: u64,
    query: QueryState,
    coins: [u64; 4],
    draws: [u64; 4],
}

/// The bytes of a model file.
pub fn write(learner: &Learner, header: &str) -> Result<Vec<u8>, Error> {
    let unwritable = |what: String| Error::State(format!("model: cannot be written: {what}."));
    let state = rmp_serde::to_vec_named(&learner.state()).map_err(|e| unwritable(e.to_string()))?;
    let header_length = u32::try_from(header.len())
        .map_err(|_| unwritable("its parameters are longer than 4 GiB".to_owned()))?;
    let mut bytes = Vec::with_capacity(state.len() + header.len() + 28);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&header_length.to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&(state.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&state);
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    Ok(bytes)
}

/// The header and the state of a model file, its checksum tested.
pub fn split(bytes: &[u8]) -> Result<(&str, &[u8]), Error> {
    let damaged = |what: &str| Error::State(format!("model file: {what}."));
    let mut rest = bytes;
    let mut take = |length: usize| {
        let (part, after) = rest
            .split_at_checked(length)
            .ok_or_else(|| damaged("it ends too early; it was cut off"))?;
        rest = after;
        Ok::<_, Error>(part)
    };
    if take(8)? != MAGIC {
        return Err(damaged("it does not begin as one; this is some other file"));
    }
    let version = u32::from_le_bytes(array(take(4)?));
    if version != VERSION {
        return Err(damaged(&format!(
            "its format has version {version}, this program reads version {VERSION}"
        )));
    }
    let length = u32::from_le_bytes(array(take(4)?)) as usize;
    let header = take(length)?;
    let length = u64::from_le_bytes(array(take(8)?));
    let state = take(usize::try_from(length).unwrap_or(usize::MAX))?;
    let checksum = u32::from_le_bytes(array(take(4)?));
    if !rest.is_empty() {
        return Err(damaged("there is more behind its end; it was altered"));
    }
    if checksum != crc32fast::hash(&bytes[..bytes.len() - 4]) {
        return Err(damaged("its checksum is wrong; it was altered"));
    }
    let header = std::str::from_utf8(header).map_err(|_| damaged("its header is not UTF-8"))?;
    Ok((header, state))
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

impl Learner {
    fn state(&self) -> State<'_> {
        let vectors = 0..self.weights.vectors.len();
        let parts = &self.weights.vectors;
        State {
            names: self.vocabulary.names().collect(),
            first: self.register.iter().map(|entry| entry.first).collect(),
            last: self.register.iter().map(|entry| entry.last).collect(),
            times: self.register.iter().map(|entry| entry.times).collect(),
            weights: vectors.clone().map(|vector| self.weights.column(vector)).collect(),
            scales: parts.iter().map(|part| part.scale).collect(),
            variances: if self.weights.varies() {
                vectors.map(|vector| self.weights.variance_column(vector)).collect()
            } else {
                Vec::new()
            },
            norms: parts.iter().map(|part| (part.norm.sum, part.norm.compensation)).collect(),
            steps: parts.iter().map(|part| part.steps).collect(),
            label_form: self.labels.form,
            classes: if self.labels.is_multiclass() {
                self.labels.classes.clone()
            } else {
                Vec::new()
            },
            positives: self.positives,
            negatives: self.negatives,
            seen: self.seen,
            asked: self.asked,
            learned: self.learned,
            query: self.query_state,
            coins: self.coins.words,
            draws: self.draws.words,
        }
    }

    /// A learner with this configuration in the state that `bytes` hold.
    pub fn restore(config: Config, bytes: &[u8]) -> Result<Self, Error> {
        let state: State = rmp_serde::from_slice(bytes).map_err(|error| {
            Error::State(format!("model file: its state cannot be read: {error}."))
        })?;
        let mut learner = Self::new(config)?;
        learner
            .adopt(&state)
            .map_err(|what| Error::State(format!("model file: its state does not fit: {what}.")))?;
        Ok(learner)
    }

    fn adopt(&mut self, state: &State<'_>) -> Result<(), &'static str> {
        state.check(&self.labels, self.weights.varies())?;
        for &name in &state.names {
            if self.vocabulary.slot(name) != UNKNOWN {
                return Err("a name stands there twice");
            }
            self.vocabulary.insert(name);
        }
        if self.config.intercept {
            self.intercept_slot = self.vocabulary.slot(INTERCEPT);
        }
        for ((&first, &last), &times) in state.first.iter().zip(&state.last).zip(&state.times) {
            self.register.push(Register { first, last, times });
        }
        self.labels.form = state.label_form;
        if self.labels.is_multiclass() {
            self.labels.classes.clone_from(&state.classes);
        }
        while self.weights.vectors.len() < state.weights.len() {
            self.weights.add_vector();
        }
        self.weights.set_rows(state.names.len());
        for (vector, values) in state.weights.iter().enumerate() {
            let part = &mut self.weights.vectors[vector];
            part.scale = state.scales[vector];
            let (sum, compensation) = state.norms[vector];
            part.norm = Sum { sum, compensation };
            part.steps = state.steps[vector];
            let variances = state.variances.get(vector).map(Vec::as_slice);
            self.weights.restore_column(vector, values, variances);
        }
        self.query_state = state.query;
        self.coins = Generator { words: state.coins };
        self.draws = Generator { words: state.draws };
        self.positives = state.positives;
        self.negatives = state.negatives;
        self.seen = state.seen;
        self.asked = state.asked;
        self.learned = state.learned;
        Ok(())
    }
}

impl State<'_> {
    fn check(&self, labels: &Labels, varies: bool) -> Result<(), &'static str> {
        let d = self.names.len();
        if d >= UNKNOWN as usize - 1 {
            return Err("it has too many names");
        }
        if [&self.first, &self.last, &self.times].iter().any(|column| column.len() != d) {
            return Err("its register is not as long as its names");
        }
        let multiclass = labels.is_multiclass();
        if multiclass != (self.label_form == Form::Open)
            || (labels.form == Form::Given) != (self.label_form == Form::Given)
        {
            return Err("its labels are of another form");
        }
        if multiclass && !self.classes.starts_with(&labels.classes) {
            return Err("its classes are others");
        }
        let distinct = |(i, class): (usize, &Label)| !self.classes[..i].contains(class);
        if !self.classes.iter().enumerate().all(distinct) {
            return Err("a class stands there twice");
        }
        let vectors = if multiclass { self.classes.len() } else { 1 };
        let counts = [self.weights.len(), self.scales.len(), self.norms.len(), self.steps.len()];
        if counts != [vectors; 4] || self.variances.len() != if varies { vectors } else { 0 } {
            return Err("it has another number of weight vectors");
        }
        let columns = || self.weights.iter().chain(&self.variances);
        if columns().any(|column| column.len() != d) {
            return Err("a weight vector is not as long as its names");
        }
        let mut numbers = columns()
            .flatten()
            .chain(&self.scales)
            .copied()
            .chain(self.norms.iter().flat_map(|&(sum, compensation)| [sum, compensation]));
        let query =
            [self.query.mean_margin, self.query.tilt, self.query.largest_norm, self.query.phase];
        if !numbers.all(f64::is_finite) || !query.into_iter().all(f64::is_finite) {
            return Err("a number is not finite");
        }
        if self.scales.iter().any(|&scale| scale <= 0.0 || scale > 1.0) {
            return Err("a scale is not in (0, 1]");
        }
        if self.variances.iter().flatten().any(|&sigma| !(0.0..=1.0).contains(&sigma)) {
            return Err("a variance is not in [0, 1]");
        }
        let most = u64::MAX / 2; // counters can go on without overflow
        let counters = [self.positives, self.negatives, self.seen, self.asked, self.learned];
        let mut counts = counters.into_iter().chain(self.times.iter().chain(&self.steps).copied());
        if counts.any(|count| count > most) || self.query.mistakes > most {
            return Err("a counter is too large");
        }
        if self.coins == [0; 4] || self.draws == [0; 4] {
            return Err("a generator is all zeros");
        }
        Ok(())
    }
}
