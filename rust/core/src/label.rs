//! The labels that a learner knows, and how they are written.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::{quoted, shortened};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "a class must be a text, a 64-bit integer or a bool")]
pub enum Label {
    Bool(bool),
    Int(i64),
    /// A number that is no integer: a target of regression.
    Real(f64),
    Text(String),
}

impl PartialEq for Label {
    /// As in Python: true is 1 and false is 0.
    fn eq(&self, other: &Self) -> bool {
        let number = |label: &Self| match label {
            Self::Bool(truth) => Some(i64::from(*truth)),
            Self::Int(number) => Some(*number),
            Self::Real(_) | Self::Text(_) => None,
        };
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            _ => number(self).is_some() && number(self) == number(other),
        }
    }
}

impl Label {
    /// Whether both are the same bool or the same integer. A cheap test: false of equal texts too.
    pub fn is_written_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            _ => false,
        }
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(&quoted(&shortened(text))),
        }
    }
}

/// How labels are written. For two classes this is found from the labels learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelForm {
    Unknown,
    Bool,
    /// Only 1 so far: its opposite may turn out to be 0 or −1.
    One,
    ZeroOne,
    Sign,
    /// As `classes=` gives them.
    Given,
    /// Several classes.
    Open,
    /// Numbers, in regression.
    Number,
}

#[derive(Clone, Debug)]
pub struct Labels {
    pub form: LabelForm,
    /// Given: (negative, positive). Open: the known classes in order. Otherwise empty.
    pub classes: Vec<Label>,
}

/// What a model should predict for an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Index of the class; a new class has the number of known classes.
    Class(usize),
    Value(f64),
}

impl Target {
    /// The class; of a number, 1 if it is positive, else 0.
    pub fn class(self) -> usize {
        match self {
            Self::Class(class) => class,
            Self::Value(value) => usize::from(value > 0.0),
        }
    }

    /// The number; of a class, its index.
    pub fn value(self) -> f64 {
        match self {
            Self::Class(class) => class as f64,
            Self::Value(value) => value,
        }
    }

    /// ±1 of a binary label.
    pub fn sign(self) -> f64 {
        if self == Self::Class(1) { 1.0 } else { -1.0 }
    }
}

/// What [`Labels::read`] makes of a label. The labels themselves change only by [`Labels::learn`].
#[derive(Clone, Copy, Debug)]
pub struct ParsedLabel {
    pub target: Target,
    form: LabelForm,
}

impl ParsedLabel {
    fn number(value: f64) -> Self {
        Self { target: Target::Value(value), form: LabelForm::Number }
    }
}

impl Labels {
    pub fn binary() -> Self {
        Self { form: LabelForm::Unknown, classes: Vec::new() }
    }

    pub fn given(negative: Label, positive: Label) -> Self {
        Self { form: LabelForm::Given, classes: vec![negative, positive] }
    }

    pub fn open(classes: Vec<Label>) -> Self {
        Self { form: LabelForm::Open, classes }
    }

    /// Targets of regression.
    pub fn numbers() -> Self {
        Self { form: LabelForm::Number, classes: Vec::new() }
    }

    pub fn is_multiclass(&self) -> bool {
        self.form == LabelForm::Open
    }

    pub fn is_number(&self) -> bool {
        self.form == LabelForm::Number
    }

    pub fn is_binary(&self) -> bool {
        !matches!(self.form, LabelForm::Open | LabelForm::Number)
    }

    /// Weight vectors needed: one for two classes and for numbers, otherwise one per class.
    pub fn vectors(&self) -> usize {
        if self.is_multiclass() { self.classes.len() } else { 1 }
    }

    #[inline(always)]
    pub fn read(&self, label: &Label) -> Result<ParsedLabel, Error> {
        if let (LabelForm::Bool, Label::Bool(truth)) = (self.form, label) {
            let target = Target::Class(usize::from(*truth));
            return Ok(ParsedLabel { target, form: LabelForm::Bool }); // as most labels are
        }
        self.read_any(label)
    }

    #[inline(never)]
    fn read_any(&self, label: &Label) -> Result<ParsedLabel, Error> {
        match self.form {
            LabelForm::Open => {
                if let Label::Real(number) = label {
                    return Err(Error::Label(format!(
                        "label: expected a str, an int or a bool, got {number}."
                    )));
                }
                let known = self.classes.iter().position(|class| class == label);
                let class = known.unwrap_or(self.classes.len());
                Ok(ParsedLabel { target: Target::Class(class), form: LabelForm::Open })
            }
            LabelForm::Number => match label {
                Label::Real(number) if number.is_finite() => Ok(ParsedLabel::number(*number)),
                Label::Int(number) => Ok(ParsedLabel::number(*number as f64)),
                Label::Bool(truth) => Ok(ParsedLabel::number(f64::from(u8::from(*truth)))),
                _ => Err(Error::Label(format!("label: expected a finite number, got {label}."))),
            },
            LabelForm::Given => match self.classes.iter().position(|class| class == label) {
                Some(class) => {
                    Ok(ParsedLabel { target: Target::Class(class), form: LabelForm::Given })
                }
                None => Err(Error::Label(format!(
                    "label: expected {} or {}, got {label}.",
                    self.classes[0], self.classes[1]
                ))),
            },
            form => read_binary(form, label),
        }
    }

    /// Learn a label: adopt its form, and add it to the classes if it is a new one.
    #[inline]
    pub fn learn(&mut self, parsed: &ParsedLabel, label: &Label) {
        self.form = parsed.form;
        if self.is_multiclass() && parsed.target == Target::Class(self.classes.len()) {
            self.classes.push(label.clone());
        }
    }

    /// The label with this index.
    pub fn label(&self, class: usize) -> Label {
        let positive = class == 1;
        match self.form {
            LabelForm::Unknown | LabelForm::Bool => Label::Bool(positive),
            LabelForm::One | LabelForm::ZeroOne => Label::Int(i64::from(positive)),
            LabelForm::Sign => Label::Int(if positive { 1 } else { -1 }),
            LabelForm::Given | LabelForm::Open | LabelForm::Number => self.classes[class].clone(),
        }
    }

    /// The labels in the order of their indices: (negative, positive), or the known classes.
    pub fn known(&self) -> Vec<Label> {
        let count = if self.is_binary() { 2 } else { self.classes.len() };
        (0..count).map(|class| self.label(class)).collect()
    }
}

fn read_binary(form: LabelForm, label: &Label) -> Result<ParsedLabel, Error> {
    let written = match label {
        Label::Bool(_) => LabelForm::Bool,
        Label::Int(1) => LabelForm::One,
        Label::Int(0) => LabelForm::ZeroOne,
        Label::Int(-1) => LabelForm::Sign,
        _ => {
            return Err(Error::Label(format!(
                "label: expected True or False, 0 or 1, -1 or +1 \
                 (other labels need classes=(negative, positive)), got {label}."
            )));
        }
    };
    let settled = match (form, written) {
        (LabelForm::Unknown, written) => written,
        (LabelForm::One, LabelForm::Sign | LabelForm::ZeroOne) => written,
        (form, LabelForm::Bool | LabelForm::One) => form,
        (LabelForm::Bool | LabelForm::ZeroOne, LabelForm::ZeroOne)
        | (LabelForm::Sign, LabelForm::Sign) => form,
        _ => {
            let expected = if form == LabelForm::Sign { "-1 or +1" } else { "0 or 1" };
            let expected = if form == LabelForm::Bool { "True or False" } else { expected };
            return Err(Error::Label(format!(
                "label: the labels so far were {expected}, got {label}."
            )));
        }
    };
    let positive = matches!(label, Label::Bool(true) | Label::Int(1));
    Ok(ParsedLabel { target: Target::Class(usize::from(positive)), form: settled })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(labels: &[i64]) -> Labels {
        let mut known = Labels::binary();
        for &number in labels {
            let label = Label::Int(number);
            let parsed = known.read(&label).unwrap();
            known.learn(&parsed, &label);
        }
        known
    }

    #[test]
    fn the_first_label_sets_the_form_and_one_waits_for_its_opposite() {
        assert_eq!(learned(&[]).known(), [Label::Bool(false), Label::Bool(true)]);
        assert_eq!(learned(&[0]).known(), [Label::Int(0), Label::Int(1)]);
        assert_eq!(learned(&[1]).known(), [Label::Int(0), Label::Int(1)]);
        assert_eq!(learned(&[1, 1, -1]).known(), [Label::Int(-1), Label::Int(1)]);
    }

    #[test]
    fn a_label_of_another_form_is_refused() {
        assert!(learned(&[0]).read(&Label::Int(-1)).is_err());
        assert!(learned(&[-1]).read(&Label::Int(0)).is_err());
        assert!(learned(&[1, -1]).read(&Label::Int(0)).is_err());
        assert!(learned(&[]).read(&Label::Int(2)).is_err());
        assert!(learned(&[]).read(&Label::Text("spam".into())).is_err());
    }

    #[test]
    fn a_text_is_no_number() {
        let text = Label::Text("0.5".into());
        assert!(Label::Real(0.5) != text && text != Label::Int(0) && text != Label::Bool(false));
    }

    #[test]
    fn true_is_one() {
        let labels = Labels::open(vec![Label::Int(1), Label::Text("1".into())]);
        assert_eq!(labels.read(&Label::Bool(true)).unwrap().target, Target::Class(0));
        assert_eq!(labels.read(&Label::Text("1".into())).unwrap().target, Target::Class(1));
        assert_eq!(labels.read(&Label::Int(2)).unwrap().target, Target::Class(2));
    }
}
