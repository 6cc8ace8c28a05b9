//! One pass over a file for one learner or many: every line is read once, in blocks, and each learner goes through
//! all blocks in their order, as it would go through the file line by line. Whoever has threads gives each learner to one
//! of them at a time, and reads the next block meanwhile.

use std::sync::Arc;

use crate::error::Error;
use crate::learner::Learner;
use crate::learner::decision_writer::DecisionSink;
use crate::learner::file::{LearnedLabels, Pass, RunCounts};
use crate::readers::record::{NextRecord, Record, RecordError, RecordNames};
use crate::readers::{Place, Reader, Skips};

/// No block needs more lines than this; it also ends when its lines have so many bytes.
pub const MOST_LINES: usize = 1 << 10;
const MOST_BYTES: usize = 1 << 20;

/// A learner on its way through a file: afterwards it is as [`Learner::simulate_file`] leaves it.
pub struct SweptLearner<'a> {
    learner: &'a mut Learner,
    pass: Pass,
    pub run: RunCounts,
    pub skips: Skips,
    /// What ended its run before the end of the file.
    pub failed: Option<Error>,
}

/// A line that was read: its event, or why it has none.
#[derive(Default)]
struct ReadLine {
    place: Option<Place>,
    line: String,
    record: Record,
    refused: Option<Error>,
}

/// Lines that were read one after the other. The memory is used again.
#[derive(Default)]
pub struct Block {
    lines: Vec<ReadLine>,
    filled: usize,
    header: Header,
}

/// The names of a file's columns so far, of which there are never fewer.
pub type Header = Arc<Vec<String>>;

/// What follows a block.
pub enum Following {
    Block,
    End,
    /// Nothing, because of this.
    Stop(Error),
}

impl Block {
    /// Read the next lines, at most `most`. A source that is slow is waited for only if there is no event yet. `tick` is called
    /// before each line; `false` ends the block, and nothing follows it.
    pub fn fill(
        &mut self,
        reader: &mut Reader,
        header: &mut Header,
        most: usize,
        mut tick: impl FnMut() -> bool,
    ) -> Following {
        self.filled = 0;
        let mut bytes = 0;
        let mut following = Following::Block;
        while self.filled < most && bytes < MOST_BYTES {
            if !tick() {
                following = Following::Stop(Error::Interrupted);
                break;
            }
            if self.filled == self.lines.len() {
                self.lines.push(ReadLine::default());
            }
            let next = &mut self.lines[self.filled];
            next.refused = None;
            match reader.read(&mut next.record) {
                Ok(NextRecord::End) => {
                    following = Following::End;
                    break;
                }
                Ok(NextRecord::Event { line, header: columns }) => {
                    next.line.clear();
                    if next.line.try_reserve(line.len()).is_err() {
                        following = Following::Stop(reader.error(RecordError::NoMemory));
                        break;
                    }
                    next.line.push_str(line);
                    let known = header.len();
                    if columns.len() > known {
                        Arc::make_mut(header).extend_from_slice(&columns[known..]);
                    }
                }
                Err(RecordError::Line(reason)) => {
                    next.refused = Some(reader.error(RecordError::Line(reason)));
                }
                Err(RecordError::Paused) if self.filled > 0 => break,
                Ok(NextRecord::Nothing) | Err(RecordError::Paused) => continue,
                Err(refused) => {
                    following = Following::Stop(reader.error(refused));
                    break;
                }
            }
            bytes += next.line.len();
            next.place = Some(reader.place());
            self.filled += 1;
        }
        self.header = header.clone();
        following
    }
}

impl<'a> SweptLearner<'a> {
    pub fn new(learner: &'a mut Learner, reader: &Reader) -> Self {
        let (pass, run) = (Pass::new(learner), RunCounts::default());
        Self { learner, pass, run, skips: reader.skips.anew(), failed: None }
    }

    /// Go through the events of a block, up to one that ends the run. `decisions` gets each decision before its
    /// label is learned.
    pub fn take(&mut self, block: &Block, which: LearnedLabels, decisions: &mut impl DecisionSink) {
        for line in &block.lines[..block.filled] {
            if self.failed.is_some() {
                return;
            }
            let stepped = match &line.refused {
                Some(error) => Err(error.clone()),
                None => self.step(line, &block.header, which, decisions),
            };
            self.failed = stepped.or_else(|error| self.skips.take(error)).err();
        }
    }

    fn step(
        &mut self,
        read: &ReadLine,
        header: &[String],
        which: LearnedLabels,
        decisions: &mut impl DecisionSink,
    ) -> Result<(), Error> {
        let ReadLine { place, line, record, .. } = read;
        let Record { features, texts, places, .. } = record;
        self.pass.event.features.clone_from(features);
        let given = RecordNames { line, header, texts, places };
        let stepped = self.pass.step(self.learner, which, record, &given, &mut self.run, decisions);
        stepped.map_err(|error| match place {
            Some(place) => error.placed(&place.to_string()),
            None => error,
        })
    }
}
