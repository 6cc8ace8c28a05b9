//! The labels that a learner knows, and the form in which it speaks of them.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::model::Target;
use crate::vocabulary::quoted;

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
    /// Whether it is the same label, written the same way, by a quick look.
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
            Self::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

/// How two classes are written, found from the labels learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    Unknown,
    Bool,
    /// Only 1 so far: its opposite may turn out to be 0 or −1.
    One,
    ZeroOne,
    Sign,
    /// By `classes=`.
    Given,
    /// Several classes.
    Open,
    /// No classes: a number.
    Number,
}

#[derive(Clone, Debug)]
pub struct Labels {
    pub form: Form,
    /// Given: (negative, positive). Open: the known classes in order. Otherwise empty.
    pub classes: Vec<Label>,
}

/// A label read by [`Labels::read`]: nothing is known of it until [`Labels::learn`].
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub target: Target,
    form: Form,
}

impl Reading {
    fn number(value: f64) -> Self {
        Self { target: Target::Value(value), form: Form::Number }
    }
}

impl Labels {
    pub fn binary() -> Self {
        Self { form: Form::Unknown, classes: Vec::new() }
    }

    pub fn given(negative: Label, positive: Label) -> Self {
        Self { form: Form::Given, classes: vec![negative, positive] }
    }

    pub fn open(classes: Vec<Label>) -> Self {
        Self { form: Form::Open, classes }
    }

    /// Targets of regression.
    pub fn numbers() -> Self {
        Self { form: Form::Number, classes: Vec::new() }
    }

    pub fn is_multiclass(&self) -> bool {
        self.form == Form::Open
    }

    pub fn is_number(&self) -> bool {
        self.form == Form::Number
    }

    pub fn is_binary(&self) -> bool {
        !matches!(self.form, Form::Open | Form::Number)
    }

    /// Weight vectors needed: one for two classes, else one a class.
    pub fn vectors(&self) -> usize {
        if self.is_multiclass() { self.classes.len() } else { 1 }
    }

    pub fn read(&self, label: &Label) -> Result<Reading, Error> {
        match self.form {
            Form::Open => {
                if let Label::Real(number) = label {
                    return Err(Error::Label(format!(
                        "label: expected a str, an int or a bool, got {number}."
                    )));
                }
                let known = self.classes.iter().position(|class| class == label);
                let class = known.unwrap_or(self.classes.len());
                Ok(Reading { target: Target::Class(class), form: Form::Open })
            }
            Form::Number => match label {
                Label::Real(number) if number.is_finite() => Ok(Reading::number(*number)),
                Label::Int(number) => Ok(Reading::number(*number as f64)),
                Label::Bool(truth) => Ok(Reading::number(f64::from(u8::from(*truth)))),
                _ => Err(Error::Label(format!("label: expected a finite number, got {label}."))),
            },
            Form::Given => match self.classes.iter().position(|class| class == label) {
                Some(class) => Ok(Reading { target: Target::Class(class), form: Form::Given }),
                None => Err(Error::Label(format!(
                    "label: expected {} or {}, got {label}.",
                    self.classes[0], self.classes[1]
                ))),
            },
            form => read_binary(form, label),
        }
    }

    /// Take over the form of a label being learned, and the label itself if it is a new class.
    pub fn learn(&mut self, reading: &Reading, label: &Label) {
        self.form = reading.form;
        if self.is_multiclass() && reading.target == Target::Class(self.classes.len()) {
            self.classes.push(label.clone());
        }
    }

    /// The label with this index.
    pub fn label(&self, class: usize) -> Label {
        let positive = class == 1;
        match self.form {
            Form::Unknown | Form::Bool => Label::Bool(positive),
            Form::One | Form::ZeroOne => Label::Int(i64::from(positive)),
            Form::Sign => Label::Int(if positive { 1 } else { -1 }),
            Form::Given | Form::Open | Form::Number => self.classes[class].clone(),
        }
    }

    /// The labels in the order of their indices: (negative, positive), or the known classes.
    pub fn known(&self) -> Vec<Label> {
        let count = if self.is_binary() { 2 } else { self.classes.len() };
        (0..count).map(|class| self.label(class)).collect()
    }
}

fn read_binary(form: Form, label: &Label) -> Result<Reading, Error> {
    let written = match label {
        Label::Bool(_) => Form::Bool,
        Label::Int(1) => Form::One,
        Label::Int(0) => Form::ZeroOne,
        Label::Int(-1) => Form::Sign,
        _ => {
            return Err(Error::Label(format!(
                "label: expected True or False, 0 or 1, -1 or +1 \
                 (other labels need classes=(negative, positive)), got {label}."
            )));
        }
    };
    let settled = match (form, written) {
        (Form::Unknown, written) => written,
        (Form::One, Form::Sign | Form::ZeroOne) => written,
        (form, Form::Bool | Form::One) => form,
        (Form::Bool | Form::ZeroOne, Form::ZeroOne) | (Form::Sign, Form::Sign) => form,
        _ => {
            let expected = if form == Form::Sign { "-1 or +1" } else { "0 or 1" };
            let expected = if form == Form::Bool { "True or False" } else { expected };
            return Err(Error::Label(format!(
                "label: the labels so far were {expected}, got {label}."
            )));
        }
    };
    let positive = matches!(label, Label::Bool(true) | Label::Int(1));
    Ok(Reading { target: Target::Class(usize::from(positive)), form: settled })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(labels: &[i64]) -> Labels {
        let mut known = Labels::binary();
        for &number in labels {
            let label = Label::Int(number);
            let reading = known.read(&label).unwrap();
            known.learn(&reading, &label);
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
    fn true_is_one() {
        let labels = Labels::open(vec![Label::Int(1), Label::Text("1".into())]);
        assert_eq!(labels.read(&Label::Bool(true)).unwrap().target, Target::Class(0));
        assert_eq!(labels.read(&Label::Text("1".into())).unwrap().target, Target::Class(1));
        assert_eq!(labels.read(&Label::Int(2)).unwrap().target, Target::Class(2));
    }
}
