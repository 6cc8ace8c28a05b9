//! Runs a whole file through a learner: `decide` and `learn_decided` in turn for each event.

use crate::error::Error;
use crate::label::{Label, Labels, Target};
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::decision_writer::DecisionSink;
use crate::learner::event_buffer::EventBuffer;
use crate::learner::resolve::NameResolver;
use crate::readers::record::{Record, RecordError, RecordNames};
use crate::readers::{NextLine, Reader};

/// Counts of a run over a file so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunCounts {
    /// Events decided on.
    pub events: u64,
    /// Events with a label in the file.
    pub labelled: u64,
    /// Labelled events that were predicted wrongly; always 0 in regression.
    pub mistakes: u64,
    /// In regression: the sum of |label - prediction|.
    pub absolute_error: f64,
    pub asked: u64,
    pub learned: u64,
}

impl RunCounts {
    /// Count a decision, and compare it with the label in the file.
    fn count(&mut self, decision: &Decision, target: Option<Target>) {
        self.events += 1;
        self.asked += u64::from(decision.asked);
        match target {
            Some(Target::Class(class)) => {
                self.labelled += 1;
                self.mistakes += u64::from(decision.class != Some(class));
            }
            Some(Target::Value(value)) => {
                self.labelled += 1;
                self.absolute_error += (value - decision.margin).abs();
            }
            None => {}
        }
    }
}

/// The progress of a run over a file, for `tick`.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    pub run: &'a RunCounts,
    pub reader: &'a Reader,
    /// Whether the run is waiting for more of its file.
    pub waiting: bool,
}

impl Learner {
    /// Decide on each event of a file, and learn those that are asked for and have a label.
    ///
    /// `tick` is called before each line; `false` stops the run before it. `decisions` gets each decision
    /// before its label is learned. After an error the lines before it are done, and counted in `run`.
    pub fn simulate_file(
        &mut self,
        reader: &mut Reader,
        run: &mut RunCounts,
        mut tick: impl FnMut(Progress<'_>) -> bool,
        decisions: &mut impl DecisionSink,
    ) -> Result<(), Error> {
        let (mut record, mut pass) = (Record::default(), Pass::new(self));
        let mut waiting = false;
        loop {
            if !tick(Progress { run, reader, waiting }) {
                return Err(Error::Interrupted);
            }
            waiting = false;
            let step = match reader.read(&mut record) {
                Ok(NextLine::End) => return Ok(()),
                Ok(NextLine::Nothing) => continue,
                Ok(NextLine::Event { line, header }) => {
                    let (places, texts) =
                        (std::mem::take(&mut record.places), std::mem::take(&mut record.texts));
                    let given = RecordNames { line, header, texts: &texts, places: &places };
                    let step = pass.step(self, &mut record, &given, run, decisions);
                    (record.places, record.texts) = (places, texts);
                    step.map_err(|error| at_line(reader, error))
                }
                Err(RecordError::Line(reason)) => Err(reader.error(RecordError::Line(reason))),
                Err(RecordError::Paused) => {
                    waiting = true;
                    continue;
                }
                Err(refused @ RecordError::File(_)) => return Err(reader.error(refused)),
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
}

/// What a pass over a file keeps between events.
struct Pass {
    /// The form of the file's labels so far.
    labels: Labels,
    resolver: NameResolver,
    event: EventBuffer,
}

impl Pass {
    fn new(learner: &Learner) -> Self {
        Self {
            labels: learner.labels().clone(),
            resolver: NameResolver::default(),
            event: EventBuffer::default(),
        }
    }

    fn step(
        &mut self,
        learner: &mut Learner,
        record: &mut Record,
        given: &RecordNames<'_>,
        run: &mut RunCounts,
        decisions: &mut impl DecisionSink,
    ) -> Result<(), Error> {
        let target = match &record.label {
            Some(label) => Some(self.target(learner, label)?),
            None => None,
        };
        let event = &mut self.event;
        std::mem::swap(&mut event.features, &mut record.features);
        let resolved = self.resolver.find(learner, event, given, record.may_repeat);
        resolved.map_err(Error::File)?;
        let mut recorded = false;
        let stepped = learner.step(event, given, record.label.as_ref(), |learner, decision| {
            decisions.record(learner, record, decision)?;
            recorded = true;
            Ok(())
        });
        let stepped = stepped.inspect_err(|_| {
            if recorded {
                decisions.retract();
            }
        })?;
        run.count(&stepped.decision, target);
        run.learned += u64::from(stepped.learned);
        Ok(())
    }

    /// The target of a label, if it fits the labels before it.
    fn target(&mut self, learner: &Learner, label: &Label) -> Result<Target, Error> {
        if !self.labels.is_binary() {
            return Ok(learner.labels.read(label)?.target);
        }
        let parsed = self.labels.read(label)?;
        self.labels.learn(&parsed, label);
        Ok(parsed.target)
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
