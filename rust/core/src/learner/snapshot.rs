//! The model file: what a learner has learned, as bytes. `docs/internals/model-file.md` describes it.
//!
//! The state holds what changes. The parameters are in the header, a text that this crate does not
//! read. Nothing is trusted: a state with a right checksum that does not fit its learner is
//! refused.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{Name, UNKNOWN};
use crate::feature_history::FeatureHistory;
use crate::label::{Label, LabelForm, Labels};
use crate::learner::open_questions::OpenQuestionsState;
use crate::learner::replica_state::{Absorbed, AbsorbedState, ReplicaState};
use crate::learner::tracking::RegisterBytes;
use crate::learner::{Config, Learner};
use crate::model::ModelState;
use crate::rules::calibration::CalibrationState;
use crate::rules::query::QueryState;
use crate::scaling::{RunningScaler, ScalerState};
use crate::storage::rng::Generator;

const MAGIC: &[u8; 8] = b"HEADWATR";
/// Files of any other version are refused.
pub const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct LearnerState<'a> {
    #[serde(borrow)]
    names: Vec<Name<'a>>,
    first: Vec<u64>,
    last: Vec<u64>,
    times: Vec<u64>,
    label_form: LabelForm,
    classes: Vec<Label>,
    positives: u64,
    negatives: u64,
    seen: u64,
    asked: u64,
    learned: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    refused: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    evicted: u64,
    #[serde(default, skip_serializing_if = "OpenQuestionsState::is_empty")]
    open: OpenQuestionsState,
    query: QueryState,
    calibration: CalibrationState,
    coins: [u64; 4],
    draws: [u64; 4],
    scaler: Option<ScalerState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    register: Option<RegisterBytes>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    replica: Option<ReplicaState<'a>>,
    #[serde(default, skip_serializing_if = "AbsorbedState::is_empty")]
    absorbed: AbsorbedState,
    model: ModelState,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_zero(count: &u64) -> bool {
    *count == 0
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

/// The header and the state of a model file, after checking its checksum.
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
        return Err(damaged("this is not a model file"));
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

/// A reason that may quote the file, with control characters escaped.
fn escaped(reason: &str) -> String {
    let escape =
        |c: char| if c.is_control() { c.escape_default().collect() } else { c.to_string() };
    reason.chars().map(escape).collect()
}

/// Compares what is written to it with expected bytes. Holds the expected bytes that are still to
/// be written; none once something else was written.
struct ExpectedBytes<'a>(Option<&'a [u8]>);

impl std::io::Write for ExpectedBytes<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.and_then(|rest| rest.strip_prefix(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

impl Learner {
    fn state(&self) -> LearnerState<'_> {
        LearnerState {
            names: self.table.names().collect(),
            first: self.table.history().iter().map(|entry| entry.first).collect(),
            last: self.table.history().iter().map(|entry| entry.last).collect(),
            times: self.table.history().iter().map(|entry| entry.times).collect(),
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
            refused: self.refused,
            evicted: self.evicted,
            open: self.open.state(),
            query: self.query.state(),
            calibration: self.calibration.state(),
            coins: self.coins.words,
            draws: self.draws.words,
            scaler: self.scaler.as_ref().map(RunningScaler::state),
            register: self.register_bytes(),
            replica: self.replica_state(),
            absorbed: self.absorbed.state(),
            model: self.model.state(),
        }
    }

    /// A learner with this configuration and the state in `bytes`.
    pub fn restore(config: Config, bytes: &[u8]) -> Result<Self, Error> {
        let unreadable = |what: String| {
            let what = escaped(&what);
            Error::State(format!("model file: its state cannot be read: {what}."))
        };
        let state: LearnerState =
            rmp_serde::from_slice(bytes).map_err(|e| unreadable(e.to_string()))?;
        let mut written = ExpectedBytes(Some(bytes));
        rmp_serde::encode::write_named(&mut written, &state)
            .map_err(|e| unreadable(e.to_string()))?;
        if written.0 != Some(&[]) {
            return Err(unreadable("it is not as this program would have written it".to_owned()));
        }
        let mut learner = Self::new(config)?;
        learner
            .adopt(&state)
            .map_err(|what| Error::State(format!("model file: its state does not fit: {what}.")))?;
        Ok(learner)
    }

    /// Put a saved state into a new learner.
    fn adopt(&mut self, state: &LearnerState<'_>) -> Result<(), &'static str> {
        state.check(&self.labels)?;
        let own = self.own_names();
        if !state.names.starts_with(own) {
            return Err("its first names are not those of its own features");
        }
        let given = &state.names[own.len()..];
        self.table
            .reserve(given.iter().copied())
            .map_err(|_| "there is no memory for its names")?;
        for &name in given {
            if name.check_length().is_err() {
                return Err("a name is too long");
            }
            if !self.table.insert_if_new(name) {
                return Err("a name appears twice");
            }
        }
        if self.config.capacity.is_some_and(|capacity| self.given_names() > capacity.most()) {
            return Err("it has more names than it should");
        }
        let rounds = state.first.iter().zip(&state.last).zip(&state.times);
        let history = rounds.map(|((&first, &last), &times)| FeatureHistory { first, last, times });
        self.table.set_history(history.collect(), state.learned);
        self.labels.form = state.label_form;
        if self.labels.is_multiclass() {
            self.labels.classes.clone_from(&state.classes);
        }
        match (&mut self.scaler, &state.scaler) {
            (None, None) => {}
            (Some(scaler), Some(saved)) => scaler.adopt(saved, state.names.len())?,
            _ => return Err("it has a scaler and should have none, or the other way round"),
        }
        self.adopt_register(state.register.as_ref())?;
        let rows = self.rows_of(state.names.len());
        self.model.adopt(&state.model, rows, self.labels.vectors())?;
        self.query.adopt(state.query)?;
        self.open.adopt(&state.open, state.seen)?;
        self.calibration.adopt(&state.calibration)?;
        self.coins = Generator { words: state.coins };
        self.draws = Generator { words: state.draws };
        self.positives = state.positives;
        self.negatives = state.negatives;
        self.seen = state.seen;
        self.asked = state.asked;
        self.learned = state.learned;
        self.refused = state.refused;
        self.evicted = state.evicted;
        self.adopt_replica(state.replica.as_ref())?;
        self.absorbed = Absorbed::restored(&state.absorbed, state.seen)?;
        Ok(())
    }
}

impl LearnerState<'_> {
    fn check(&self, labels: &Labels) -> Result<(), &'static str> {
        let d = self.names.len();
        if d >= UNKNOWN as usize - 1 {
            return Err("it has too many names");
        }
        if [&self.first, &self.last, &self.times].iter().any(|column| column.len() != d) {
            return Err("its history is not as long as its names");
        }
        let fixed = [LabelForm::Given, LabelForm::Open, LabelForm::Number];
        let same = fixed.iter().all(|form| (labels.form == *form) == (self.label_form == *form));
        if !same {
            return Err("its labels are of another form");
        }
        if labels.is_multiclass() && !self.classes.starts_with(&labels.classes) {
            return Err("its classes are others");
        }
        if self.classes.iter().any(|class| matches!(class, Label::Real(_))) {
            return Err("a class is neither a text nor an integer nor a bool");
        }
        let distinct = |(i, class): (usize, &Label)| !self.classes[..i].contains(class);
        if !self.classes.iter().enumerate().all(distinct) {
            return Err("a class appears twice");
        }
        let most = u64::MAX / 2; // counters can go on without overflow
        let counters = [self.positives, self.negatives, self.seen, self.asked, self.learned];
        let counters = counters.into_iter().chain([self.refused, self.evicted]);
        let mut counts = counters.chain(self.times.iter().copied());
        if counts.any(|count| count > most) {
            return Err("a counter is too large");
        }
        if self.coins == [0; 4] || self.draws == [0; 4] {
            return Err("a generator is all zeros");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::{Capacity, EvictionPolicy};
    use crate::learner::own_features::OwnFeatures;
    use crate::learner::testing::{
        PA, STREAM, after_stream, bytes_of, decide_and_learn, every_kind, label_for, linear,
        names_of, spring,
    };
    use crate::rules::query::QueryRule;

    fn restored(config: Config, file: &[u8]) -> Result<Learner, Error> {
        let (header, state) = split(file)?;
        assert_eq!(header, "{}");
        Learner::restore(config, state)
    }

    fn sentence(refused: Result<Learner, Error>) -> String {
        match refused {
            Err(Error::State(sentence)) => sentence,
            other => panic!("not refused as a state: {other:?}"),
        }
    }

    #[test]
    fn a_restored_learner_of_every_kind_has_the_same_bytes_and_continues_in_the_same_way() {
        for config in every_kind() {
            let mut saved = after_stream(config.clone());
            let mut loaded = restored(config, &bytes_of(&saved)).unwrap();
            assert!(bytes_of(&loaded) == bytes_of(&saved));
            for (event, positive) in STREAM.iter().rev() {
                let values: Vec<f64> = event.iter().map(|&(_, value)| value).collect();
                let label = label_for(saved.labels(), *positive);
                let decisions = [&mut saved, &mut loaded].map(|learner| {
                    decide_and_learn(learner, &names_of(event), &values, Some(&label)).unwrap()
                });
                assert_eq!(decisions[0], decisions[1]);
            }
            assert!(bytes_of(&loaded) == bytes_of(&saved));
        }
    }

    #[test]
    fn a_learner_that_has_learned_nothing_can_be_saved() {
        for config in every_kind() {
            let new = Learner::new(config.clone()).unwrap();
            assert!(bytes_of(&restored(config, &bytes_of(&new)).unwrap()) == bytes_of(&new));
        }
    }

    #[test]
    fn the_header_is_carried_as_it_is() {
        let learner = after_stream(linear(PA));
        let file = write(&learner, "{\"ä\": 1}").unwrap();
        assert_eq!(split(&file).unwrap().0, "{\"ä\": 1}");
    }

    #[test]
    fn a_file_that_is_cut_off_or_altered_anywhere_is_refused() {
        let file = bytes_of(&after_stream(linear(PA)));
        for length in 0..file.len() {
            assert!(matches!(split(&file[..length]), Err(Error::State(_))), "{length}");
        }
        for position in 0..file.len() {
            let mut altered = file.clone();
            altered[position] ^= 0x10;
            assert!(matches!(split(&altered), Err(Error::State(_))), "{position}");
        }
        let longer = [&file[..], b"\0"].concat();
        assert!(split(&longer).unwrap_err().to_string().contains("more behind its end"));
    }

    #[test]
    fn another_file_and_another_version_are_told_apart() {
        let mut file = bytes_of(&after_stream(linear(PA)));
        assert!(
            split(b"PK\x03\x04 and more").unwrap_err().to_string().contains("not a model file")
        );
        file[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
        let expected = format!("has version {}, this program reads version {VERSION}", VERSION + 1);
        assert!(split(&file).unwrap_err().to_string().contains(&expected));
    }

    #[test]
    fn a_state_of_another_kind_of_learner_is_refused() {
        let kinds = every_kind();
        for (i, saved) in kinds.iter().enumerate() {
            let file = bytes_of(&after_stream(saved.clone()));
            for (j, config) in kinds.iter().enumerate() {
                let result = restored(config.clone(), &file);
                if i != j {
                    assert!(sentence(result).contains("its state does not fit"), "{i} as {j}");
                } else if let Err(error) = result {
                    panic!("{error}");
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_not_those_of_a_state_are_refused() {
        let config = linear(PA);
        let file = bytes_of(&after_stream(config.clone()));
        let (_, state) = split(&file).unwrap();
        let read = |bytes: &[u8]| sentence(Learner::restore(config.clone(), bytes));
        assert!(read(b"").contains("cannot be read"));
        assert!(read(&state[..state.len() - 1]).contains("cannot be read"));
        let longer = [state, &[0xc0]].concat();
        assert!(read(&longer).contains("not as this program would have written it"));
    }

    /// The sentence about a state in which one thing is wrong.
    fn refusal(config: &Config, change: impl Fn(&mut LearnerState<'_>)) -> &'static str {
        let saved = after_stream(config.clone());
        let mut state = saved.state();
        change(&mut state);
        Learner::new(config.clone()).unwrap().adopt(&state).unwrap_err()
    }

    #[test]
    fn a_state_that_does_not_fit_is_refused_by_what_is_wrong() {
        let config = linear(PA);
        let cases = [
            (refusal(&config, |s| s.names[1] = s.names[0]), "a name appears twice"),
            (refusal(&config, |s| s.times.truncate(1)), "history is not as long"),
            (refusal(&config, |s| s.label_form = LabelForm::Number), "another form"),
            (refusal(&config, |s| s.seen = u64::MAX), "a counter is too large"),
            (refusal(&config, |s| s.times[0] = u64::MAX), "a counter is too large"),
            (refusal(&config, |s| s.coins = [0; 4]), "a generator is all zeros"),
            (
                refusal(&config, |s| {
                    s.query = QueryState::SelAda { mistakes: 0, largest_norm: 0.5 }
                }),
                "query rule remembers is of another rule",
            ),
            (
                refusal(&config, |s| {
                    s.names.pop();
                    for column in [&mut s.first, &mut s.last, &mut s.times] {
                        column.pop();
                    }
                }),
                "not as long as its names",
            ),
        ];
        for (sentence, part) in cases {
            assert!(sentence.contains(part), "{sentence}");
        }
        let several = every_kind().swap_remove(2);
        let class = |state: &mut LearnerState<'_>| state.classes[1] = state.classes[0].clone();
        assert_eq!(refusal(&several, class), "a class appears twice");
        let real = |state: &mut LearnerState<'_>| state.classes[0] = Label::Real(0.5);
        assert!(refusal(&several, real).contains("neither a text"));
        let scaled = spring(QueryRule::All);
        assert!(refusal(&scaled, |state| state.scaler = None).contains("a scaler"));
    }

    #[test]
    fn more_names_than_the_capacity_are_refused_without_counting_own_features() {
        let own = Config { own: OwnFeatures::Intercept, ..linear(PA) };
        let file = bytes_of(&after_stream(own.clone())); // five names and the intercept
        let limit = |most| {
            let capacity = Some(Capacity { most, policy: EvictionPolicy::Refuse });
            restored(Config { capacity, ..own.clone() }, &file)
        };
        assert!(limit(5).is_ok());
        assert!(sentence(limit(4)).contains("more names than it should"));
    }
}
