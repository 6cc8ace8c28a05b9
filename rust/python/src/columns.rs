//! The roles of columns, from Python; and what was found about columns, for Python.

use std::collections::BTreeMap;

use headwater_core::readers::columns::{Columns, TimeFeatures};
use headwater_core::readers::findings::{Finding, FindingKind};
use pyo3::prelude::*;

/// `headwater.inputs.columns.Columns`, by its fields.
#[derive(FromPyObject)]
pub struct PyColumns {
    label: Option<String>,
    id: Option<String>,
    time: Option<String>,
    group: Option<String>,
    ignore: Vec<String>,
    text: Vec<String>,
    category: Vec<String>,
    number: Vec<String>,
    time_features: Vec<String>,
    ngrams: usize,
    decimal: Option<char>,
    units: BTreeMap<String, String>,
}

impl PyColumns {
    /// `optional`: columns that are named may be missing; `raw`: all are handed over as they are.
    pub fn read(self, optional: bool, raw: bool) -> Columns {
        let wants = |word: &str| self.time_features.iter().any(|feature| feature == word);
        let time_features = TimeFeatures {
            hour: wants("hour"),
            weekday: wants("weekday"),
            since_last: wants("since_last"),
        };
        Columns {
            label: self.label,
            id: self.id,
            time: self.time,
            group: self.group,
            ignore: self.ignore,
            text: self.text,
            category: self.category,
            number: self.number,
            time_features,
            ngrams: self.ngrams,
            decimal: self.decimal,
            units: self.units.into_iter().collect(),
            optional,
            raw,
        }
    }
}

/// A finding: (what, column, how many, of how many, an example).
pub type FindingParts = (&'static str, String, u64, u64, String);

pub fn finding_parts(finding: Finding) -> FindingParts {
    let kind = match finding.kind {
        FindingKind::EverNew => "ever_new",
        FindingKind::Times => "times",
        FindingKind::Commas => "commas",
        FindingKind::Units => "units",
        FindingKind::Unused => "unused",
        FindingKind::OutOfOrder => "out_of_order",
    };
    (kind, finding.column, finding.count, finding.of, finding.example)
}
