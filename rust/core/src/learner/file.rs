//! Runs a whole file through a learner: `decide` and `learn_decided` in turn for each event.

use crate::error::Error;
use crate::label::{Label, Labels, Target};
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::decision_writer::DecisionSink;
use crate::learner::event_buffer::EventBuffer;
use crate::learner::prediction_writer::PredictionWriter;
use crate::learner::resolve::NameResolver;
use crate::readers::Reader;
use crate::readers::record::{NextRecord, Record, RecordError, RecordNames};

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

/// Which of the labels in a file are learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnedLabels {
    /// Those that the learner asks for, as if the others were not known.
    Asked,
    /// All; the learner asks about events without a label only.
    All,
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
    /// Decide on each event of a file, and learn some or all of the labels that it has.
    ///
    /// `tick` is called before each line; `false` stops the run before it. `decisions` gets each decision
    /// before its label is learned. After an error the lines before it are done, and counted in `run`.
    pub fn simulate_file(
        &mut self,
        reader: &mut Reader,
        which: LearnedLabels,
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
                Ok(NextRecord::End) => return Ok(()),
                Ok(NextRecord::Nothing) => continue,
                Ok(NextRecord::Event { line, header }) => {
                    std::mem::swap(&mut pass.event.features, &mut record.features);
                    let Record { texts, places, .. } = &record;
                    let given = RecordNames { line, header, texts, places };
                    let step = pass.step(self, which, &record, &given, run, decisions);
                    step.map_err(|error| error.placed(&reader.here()))
                }
                Err(RecordError::Line(reason)) => Err(reader.error(RecordError::Line(reason))),
                Err(RecordError::Paused) => {
                    waiting = true;
                    continue;
                }
                Err(
                    refused @ (RecordError::File(_) | RecordError::NoMemory | RecordError::Stopped),
                ) => return Err(reader.error(refused)),
            };
            match step {
                Ok(()) => {}
                Err(error) => reader.skips.take(error)?,
            }
        }
    }
}

impl Learner {
    /// Predict up to `size` events of a file, which changes nothing. After an error the lines before
    /// it are written.
    pub fn predict_file(
        &self,
        reader: &mut Reader,
        size: u64,
        writer: &mut PredictionWriter,
        mut tick: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        let (mut record, mut pass) = (Record::default(), Pass::new(self));
        let last = writer.count() + size;
        while writer.count() < last {
            if !tick() {
                return Err(Error::Interrupted);
            }
            let predicted = match reader.next(&mut record) {
                Ok(false) => break,
                Ok(true) => {
                    std::mem::swap(&mut pass.event.features, &mut record.features);
                    let predicted = pass.predict(self, &record, &reader.names(&record), writer);
                    predicted.map_err(|error| error.placed(&reader.here()))
                }
                Err(Error::Interrupted) => continue, // the source is slow: ask again
                Err(error) => return Err(error),
            };
            if let Err(error) = predicted {
                reader.skips.take(error)?;
            }
        }
        Ok(())
    }
}

/// What a pass over a file keeps between events.
pub(super) struct Pass {
    /// The form of the file's labels so far.
    labels: Labels,
    resolver: NameResolver,
    /// Where the features of the next event are put.
    pub(super) event: EventBuffer,
}

impl Pass {
    pub(super) fn new(learner: &Learner) -> Self {
        Self {
            labels: learner.labels().clone(),
            resolver: NameResolver::default(),
            event: EventBuffer::default(),
        }
    }

    /// Decide on the event of a record, whose features are in `self.event`, and learn its label.
    pub(super) fn step(
        &mut self,
        learner: &mut Learner,
        which: LearnedLabels,
        record: &Record,
        given: &RecordNames<'_>,
        run: &mut RunCounts,
        decisions: &mut impl DecisionSink,
    ) -> Result<(), Error> {
        let target = match &record.label {
            Some(label) => Some(self.target(learner, label)?),
            None => None,
        };
        let event = &mut self.event;
        let resolved = self.resolver.find(learner, event, given, record.may_repeat);
        resolved.map_err(Error::File)?;
        let mut recorded = None;
        let keep = |learner: &Learner, decision: &Decision| {
            decisions.record(learner, record, decision)?;
            recorded = Some(*decision);
            Ok(())
        };
        let stepped = match (which, &record.label) {
            (LearnedLabels::All, Some(label)) => learner.step_labelled(event, given, label, keep),
            (LearnedLabels::All | LearnedLabels::Asked, label) => {
                learner.step(event, given, label.as_ref(), keep)
            }
        };
        let stepped = stepped.inspect_err(|_| {
            if recorded.is_some() {
                decisions.retract();
            }
        })?;
        if let Some(decision) = recorded {
            run.count(&decision, target);
        }
        run.learned += u64::from(stepped.learned);
        Ok(())
    }

    fn predict(
        &mut self,
        learner: &Learner,
        record: &Record,
        given: &RecordNames<'_>,
        writer: &mut PredictionWriter,
    ) -> Result<(), Error> {
        let event = &mut self.event;
        self.resolver.find(learner, event, given, record.may_repeat).map_err(Error::File)?;
        learner.transform(event)?;
        let decision = learner.would_decide(event)?;
        let shares = if learner.labels().is_number() {
            Vec::new()
        } else {
            learner.probabilities(event.inputs())?
        };
        let prediction = learner.prediction(decision.class, decision.margin);
        writer
            .write(record, prediction.as_ref(), &decision, &shares)
            .map_err(|error| Error::Output(format!("predictions: {error}.")))
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::event::Name;
    use crate::learner::Config;
    use crate::learner::own_features::OwnFeatures;
    use crate::learner::testing::{
        PA, bytes_of, decide_and_learn, every_kind, label_for, learner, linear, spring,
    };
    use crate::model::linear::{LinearConfig, Task};
    use crate::readers::columns::Columns;
    use crate::readers::options::{Format, OnError, Options};
    use crate::rules::query::QueryRule;

    fn reader(text: &str, format: Format, on_error: OnError) -> Reader {
        let label = (format == Format::JsonLines).then(|| "y".to_owned());
        let options = Options { format, columns: Columns::new(label, None), on_error };
        Reader::new(Cursor::new(text.as_bytes().to_vec()), "f", options).unwrap()
    }

    /// Run a text through a learner: the counts, the result, and the lines that were skipped.
    fn run(
        learner: &mut Learner,
        text: &str,
        format: Format,
        on_error: OnError,
    ) -> (RunCounts, Result<(), Error>, u64) {
        let (mut reader, mut counts) = (reader(text, format, on_error), RunCounts::default());
        let tick = |_: Progress<'_>| true;
        let result =
            learner.simulate_file(&mut reader, LearnedLabels::Asked, &mut counts, tick, &mut ());
        (counts, result, reader.skipped())
    }

    /// A disk without room.
    struct Full;

    impl DecisionSink for Full {
        fn record(&mut self, _: &Learner, _: &Record, _: &Decision) -> Result<(), Error> {
            Err(Error::Output("no room".to_owned()))
        }

        fn retract(&mut self) {}
    }

    const SVMLIGHT: &str = "+1 1:1 2:0.5 # a comment\n-1 2:2 7:-1\n\n+1 1:-0.25\n-1 7:3\n";
    const EVENTS: [(&[(i64, f64)], bool); 4] = [
        (&[(1, 1.0), (2, 0.5)], true),
        (&[(2, 2.0), (7, -1.0)], false),
        (&[(1, -0.25)], true),
        (&[(7, 3.0)], false),
    ];

    #[test]
    fn an_svmlight_file_equals_the_event_loop() {
        for config in every_kind().into_iter().filter(|config| config.labels.is_binary()) {
            let (mut by_file, mut by_event) = (learner(config.clone()), learner(config));
            let (counts, result, skipped) =
                run(&mut by_file, SVMLIGHT, Format::Svmlight, OnError::Stop);
            assert_eq!((result, skipped), (Ok(()), 0));
            let mut expected = RunCounts::default();
            for (event, positive) in EVENTS {
                let (names, values): (Vec<Name<'_>>, Vec<f64>) =
                    event.iter().map(|&(name, value)| (Name::Number(name), value)).unzip();
                let label = Label::Int(if positive { 1 } else { -1 });
                let decision =
                    decide_and_learn(&mut by_event, &names, &values, Some(&label)).unwrap();
                expected.events += 1;
                expected.labelled += 1;
                expected.asked += u64::from(decision.asked);
                expected.learned += u64::from(decision.asked);
                expected.mistakes += u64::from(decision.class != Some(usize::from(positive)));
            }
            assert_eq!(counts, expected);
            assert!(bytes_of(&by_file) == bytes_of(&by_event));
        }
    }

    #[test]
    fn json_lines_equal_the_event_loop_and_an_event_without_a_label_is_only_decided_on() {
        let text = "{\"y\": \"yes\", \"b\": 1, \"colour\": \"red\"}\n{\"a\": 2.5, \"b\": null}\n\
                    {\"a\": 0.5, \"colour\": \"blue\", \"y\": \"no\"}\n";
        let config = every_kind().swap_remove(2);
        let (mut by_file, mut by_event) = (learner(config.clone()), learner(config));
        let (counts, result, _) = run(&mut by_file, text, Format::JsonLines, OnError::Stop);
        assert_eq!(result, Ok(()));
        assert_eq!((counts.events, counts.labelled, counts.asked, counts.learned), (3, 2, 3, 2));
        let events: [(&[&str], &[f64], Option<bool>); 3] = [
            (&["b", "colour=red"], &[1.0, 1.0], Some(true)),
            (&["a"], &[2.5], None),
            (&["a", "colour=blue"], &[0.5, 1.0], Some(false)),
        ];
        for (names, values, positive) in events {
            let names: Vec<Name<'_>> = names.iter().map(|name| Name::Text(name)).collect();
            let label = positive.map(|positive| label_for(by_event.labels(), positive));
            decide_and_learn(&mut by_event, &names, values, label.as_ref()).unwrap();
        }
        assert!(bytes_of(&by_file) == bytes_of(&by_event));
    }

    #[test]
    fn mistakes_are_counted_against_the_label_in_the_file() {
        // w is 0, then 1, 1 and -1: the first margin, 0, counts as negative
        let mut learner = learner(linear(PA));
        let text = "1 1:1\n1 1:1\n-1 1:1\n-1 1:1\n";
        let (counts, _, _) = run(&mut learner, text, Format::Svmlight, OnError::Stop);
        assert_eq!((counts.mistakes, counts.learned), (2, 4));
    }

    #[test]
    fn in_regression_absolute_errors_are_summed() {
        let model = LinearConfig { task: Task::Regression { epsilon: 0.0 }, ..PA };
        let mut learner = learner(Config { labels: Labels::numbers(), ..linear(model) });
        let (counts, result, _) =
            run(&mut learner, "3 1:1\n2.5 1:1\n6 1:2\n", Format::Svmlight, OnError::Stop);
        assert_eq!(result, Ok(()));
        // PA sets w to 3, then to 2.5: the predictions are 0, 3 and 5
        assert_eq!((counts.absolute_error, counts.mistakes), (3.0 + 0.5 + 1.0, 0));
    }

    #[test]
    fn an_error_names_its_line_and_the_lines_before_are_done() {
        for (bad, part) in [
            ("1 1:x", "f, line 2: "),
            ("1 1:1e200", "f, line 2: "),
            ("5 1:1", "f, line 2: label: "),
            ("1 2:1 2:2", "f, line 2: "),
        ] {
            let mut learner = learner(linear(PA));
            let text = format!("1 1:1\n{bad}\n1 3:1\n");
            let (counts, result, _) = run(&mut learner, &text, Format::Svmlight, OnError::Stop);
            let sentence = result.unwrap_err().to_string();
            assert!(sentence.starts_with(part), "{sentence}");
            assert_eq!((counts.learned, learner.learned()), (1, 1), "{bad}");
        }
    }

    #[test]
    fn a_label_must_fit_the_labels_before_it_even_if_none_was_asked_for() {
        let mut learner = learner(Config { query: QueryRule::Random { rate: 0.0 }, ..linear(PA) });
        let (counts, result, _) =
            run(&mut learner, "-1 1:1\n1 1:1\n0 1:1\n", Format::Svmlight, OnError::Stop);
        let sentence = result.unwrap_err().to_string();
        assert!(sentence.starts_with("f, line 3: label: "), "{sentence}");
        assert_eq!((counts.events, counts.asked, learner.learned()), (2, 0, 0));
    }

    #[test]
    fn in_skip_mode_bad_lines_are_counted_and_the_others_are_learned() {
        let text = "1 1:1\n1 1:x\n5 1:1\n-1 2:1e200\n-1 2:1\n";
        let (mut skipping, mut clean) = (learner(linear(PA)), learner(linear(PA)));
        let (counts, result, skipped) = run(&mut skipping, text, Format::Svmlight, OnError::Skip);
        assert_eq!((result, skipped), (Ok(()), 3));
        assert_eq!((counts.learned, skipping.learned()), (2, 2));
        run(&mut clean, "1 1:1\n-1 2:1\n", Format::Svmlight, OnError::Stop).1.unwrap();
        assert_eq!(skipping.weight(0, 0).to_bits(), clean.weight(0, 0).to_bits());
        assert_eq!(skipping.weight(1, 0).to_bits(), clean.weight(1, 0).to_bits());
    }

    #[test]
    fn the_name_of_an_own_feature_is_refused() {
        let intercept = Config { own: OwnFeatures::Intercept, ..linear(PA) };
        for (config, name) in [(intercept, "(intercept)"), (spring(QueryRule::All), "(factor)")] {
            let mut learner = learner(config);
            let text = format!("{{\"y\": 1, \"a\": 1}}\n{{\"y\": 0, \"{name}\": 1}}\n");
            let (_, result, _) = run(&mut learner, &text, Format::JsonLines, OnError::Stop);
            let sentence = result.unwrap_err().to_string();
            assert!(sentence.starts_with("f, line 2: ") && sentence.contains(name), "{sentence}");
            assert_eq!(learner.seen(), 1);
        }
    }

    #[test]
    fn a_false_tick_or_an_error_of_the_caller_stops_the_run() {
        let mut learner = learner(linear(PA));
        let mut counts = RunCounts::default();
        let mut lines = reader(SVMLIGHT, Format::Svmlight, OnError::Skip);
        let tick = |progress: Progress<'_>| progress.run.events < 2;
        let stopped =
            learner.simulate_file(&mut lines, LearnedLabels::Asked, &mut counts, tick, &mut ());
        assert_eq!((stopped, counts.events, learner.learned()), (Err(Error::Interrupted), 2, 2));
        let mut lines = reader(SVMLIGHT, Format::Svmlight, OnError::Skip);
        let before = bytes_of(&learner);
        let failed = learner.simulate_file(
            &mut lines,
            LearnedLabels::Asked,
            &mut counts,
            |_| true,
            &mut Full,
        );
        assert!(matches!(failed, Err(Error::Output(_))), "not skipped, although lines may be");
        assert_eq!((counts.events, learner.learned()), (2, 2));
        assert!(
            bytes_of(&learner) == before,
            "the event that could not be written changes nothing"
        );
    }
}
