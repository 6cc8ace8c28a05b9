//! The errors of the core. Each variant is one exception class in Python. A call that returns an
//! error has changed nothing, unless the variant says otherwise.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Parameters that make no sense together, or a call that makes no sense for the learner.
    Parameter(String),
    /// An event that cannot be read.
    Event(String),
    /// A label that does not fit.
    Label(String),
    /// A step that would make a number infinite.
    Step(String),
    /// A saved state that is damaged or does not fit its learner.
    State(String),
    /// A file of events, or one of its lines, that cannot be read. The lines before it are done.
    File(String),
    /// A learner or a file that is in use, so that waiting for it could never end.
    Busy(String),
    /// An answer that does not fit its decision.
    Answer(String),
    /// There is not enough memory; nothing has changed, or the lines before are done.
    Memory(String),
    /// A fault of the program interrupted the learner half-way; it cannot be used any more.
    Poisoned(String),
    /// What a run writes cannot be written; nothing was learned from the event that it was about.
    Output(String),
    /// The caller asked a batch to stop; the rows before are done.
    Interrupted,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(text)
            | Self::Event(text)
            | Self::Label(text)
            | Self::Step(text)
            | Self::State(text)
            | Self::File(text)
            | Self::Busy(text)
            | Self::Answer(text)
            | Self::Memory(text)
            | Self::Poisoned(text)
            | Self::Output(text) => f.write_str(text),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl Error {
    /// The same about an event or a label whose place is known.
    #[must_use]
    pub fn placed(self, place: &str) -> Self {
        let said =
            |text: String| format!("{place}: {}", text.strip_prefix("event: ").unwrap_or(&text));
        match self {
            Self::Event(text) => Self::Event(said(text)),
            Self::Step(text) => Self::Step(said(text)),
            Self::Label(text) => Self::Label(said(text)),
            Self::File(text) => Self::File(said(text)),
            other @ (Self::Parameter(_)
            | Self::State(_)
            | Self::Busy(_)
            | Self::Answer(_)
            | Self::Memory(_)
            | Self::Poisoned(_)
            | Self::Output(_)
            | Self::Interrupted) => other,
        }
    }
}

impl std::error::Error for Error {}
