//! A whole file through a learner: exactly `decide` and `study` in turn, event by event.

use super::find::Finder;
use super::{Found, Given, Reader, Record, Refused};
use crate::learner::{Decision, Learner};
use crate::model::Target;
use crate::{Error, Label, Labels};

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// Events decided on.
    pub events: u64,
    /// Those whose label the file has.
    pub labelled: u64,
    /// Those of them that were predicted wrongly; always 0 in regression.
    pub mistakes: u64,
    /// In regression: the sum of |label - prediction|.
    pub absolute_error: f64,
    pub asked: u64,
    pub learned: u64,
}

/// How far it has come, for who watches.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    pub run: &'a Run,
    pub reader: &'a Reader,
    /// Whether it waits for its file.
    pub waiting: bool,
}

impl Learner {
    /// Decide on each event of a file, and learn those asked for whose label there is.
    ///
    /// `tick` is called before each line; its `false` stops there.
    /// `decided` sees each decision before its label is learned. What was done before an error stays
    /// done, and is counted in `run`.
    pub fn simulate_file(
        &mut self,
        reader: &mut Reader,
        run: &mut Run,
        mut tick: impl FnMut(Progress<'_>) -> bool,
        mut decided: impl FnMut(&Self, &Record, &Decision) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut labels = self.labels().clone();
        let (mut record, mut finder) = (Record::default(), Finder::default());
        let mut waiting = false;
        loop {
            if !tick(Progress { run, reader, waiting }) {
                return Err(Error::Interrupted);
            }
            waiting = false;
            let step = match reader.read(&mut record) {
                Ok(Found::End) => return Ok(()),
                Ok(Found::Nothing) => continue,
                Ok(Found::Event { line, header }) => {
                    let (places, texts) =
                        (std::mem::take(&mut record.places), std::mem::take(&mut record.texts));
                    let given = Given { line, header, texts: &texts, places: &places };
                    let step =
                        self.step(&mut record, &given, &mut finder, &mut labels, run, &mut decided);
                    (record.places, record.texts) = (places, texts);
                    step.map_err(|error| at_line(reader, error))
                }
                Err(Refused::Line(reason)) => Err(reader.error(Refused::Line(reason))),
                Err(Refused::Paused) => {
                    waiting = true;
                    continue;
                }
                Err(refused @ Refused::File(_)) => return Err(reader.error(refused)),
            };
            match step {
                Ok(()) => {}
                Err(
                    error @ (Error::File(_) | Error::Label(_) | Error::Step(_) | Error::Event(_)),
                ) => reader.skip(error)?,
                Err(error) => return Err(error),
            }
        }
    }

    fn step(
        &mut self,
        record: &mut Record,
        given: &Given<'_>,
        finder: &mut Finder,
        labels: &mut Labels,
        run: &mut Run,
        decided: &mut impl FnMut(&Self, &Record, &Decision) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let target = match &record.label {
            Some(label) => Some(self.target(labels, label)?),
            None => None,
        };
        finder.find(self, record, given).map_err(Error::File)?;
        let decision = self.decide(&mut record.event, given)?;
        run.events += 1;
        run.asked += u64::from(decision.asked);
        match target {
            Some(Target::Class(class)) => {
                run.labelled += 1;
                run.mistakes += u64::from(decision.class != Some(class));
            }
            Some(Target::Value(value)) => {
                run.labelled += 1;
                run.absolute_error += (value - decision.margin).abs();
            }
            None => {}
        }
        decided(self, record, &decision)?;
        if let (true, Some(label)) = (decision.asked, &record.label) {
            let products = Some(decision.products());
            self.study(&mut record.event.features, given, label, decision.weight(), products)?;
            run.learned += 1;
        }
        Ok(())
    }

    /// What a label says, if it fits those before it; `labels` holds the form they have.
    fn target(&self, labels: &mut Labels, label: &Label) -> Result<Target, Error> {
        if !labels.is_binary() {
            return Ok(self.labels.read(label)?.target);
        }
        let reading = labels.read(label)?;
        labels.learn(&reading, label);
        Ok(reading.target)
    }
}

fn at_line(reader: &Reader, error: Error) -> Error {
    let here = reader.here();
    match error {
        Error::File(text) => Error::File(format!("{here}: {text}")),
        Error::Event(text) => Error::Event(format!("{here}: {text}")),
        Error::Label(text) => Error::Label(format!("{here}: {text}")),
        Error::Step(text) => Error::Step(format!("{here}: {text}")),
        other => other,
    }
}
