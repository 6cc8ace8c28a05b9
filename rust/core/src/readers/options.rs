//! What the lines of a file mean: format, label, id, and what to do with a line that cannot be
//! used.

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
    /// The field or column that holds the label, if any; svmlight and VW have their own place.
    pub label: Option<String>,
    /// The field or column that holds the event's id, if any; in VW it is the tag.
    pub id: Option<String>,
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
