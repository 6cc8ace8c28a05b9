//! What the lines of a file mean: format, columns, and what to do with a line that cannot be used.

use crate::readers::columns::Columns;

/// How a file writes its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Svmlight,
    Vw,
    JsonLines,
    Csv { delimiter: u8 },
}

/// What a file's lines mean.
#[derive(Clone, Debug)]
pub struct Options {
    pub format: Format,
    pub columns: Columns,
    pub on_error: OnError,
}

/// What to do with a line that cannot be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Its error ends the reading.
    #[default]
    Stop,
    /// Count it and go on.
    Skip,
}
