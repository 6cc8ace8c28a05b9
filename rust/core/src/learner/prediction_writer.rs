//! Writes predictions that change nothing: JSON lines, or CSV with a header.

use std::io::{self, Write};

use crate::label::Label;
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::learner::decision_writer::{write_id, write_label, write_text};
use crate::readers::record::{Id, Record};

/// Writes one line per event: its id (otherwise its number, from 0), the prediction, the margin, the
/// query probability, and the probability of each label.
pub struct PredictionWriter {
    csv: bool,
    /// The labels' names, escaped as the format wants it.
    labels: Vec<Vec<u8>>,
    count: u64,
    pub text: Vec<u8>,
}

impl PredictionWriter {
    /// `count` events were written before.
    pub fn new(learner: &Learner, csv: bool, count: u64) -> io::Result<Self> {
        let mut labels = Vec::new();
        for label in learner.labels().known() {
            let name = match &label {
                Label::Text(text) => text.clone(),
                Label::Bool(truth) => truth.to_string(),
                Label::Int(_) | Label::Real(_) => label.to_string(),
            };
            let name = if csv { format!("probability_{name}") } else { name };
            let mut escaped = Vec::new();
            write_text(&mut escaped, &name, csv)?;
            labels.push(escaped);
        }
        let mut writer = Self { csv, labels, count, text: Vec::new() };
        if csv && count == 0 {
            writer.text.extend_from_slice(b"id,prediction,margin,query_probability");
            for label in &writer.labels {
                writer.text.push(b',');
                writer.text.extend_from_slice(label);
            }
            writer.text.push(b'\n');
        }
        Ok(writer)
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn write(
        &mut self,
        record: &Record,
        prediction: Option<&Label>,
        decision: &Decision,
        probabilities: &[f64],
    ) -> io::Result<()> {
        let Decision { margin, query_probability, .. } = *decision;
        let (out, csv) = (&mut self.text, self.csv);
        out.write_all(if csv { b"" } else { b"{\"id\": " })?;
        write_id(out, record.id.as_ref().unwrap_or(&Id::Number(self.count as i64)), csv)?;
        out.write_all(if csv { b"," } else { b", \"prediction\": " })?;
        write_label(out, prediction, csv)?;
        if csv {
            write!(out, ",{margin:?},{query_probability:?}")?;
            probabilities.iter().try_for_each(|share| write!(out, ",{share:?}"))?;
            writeln!(out)?;
        } else {
            write!(out, ", \"margin\": {margin:?}, \"query_probability\": {query_probability:?}")?;
            let mut before = ", \"probabilities\": {";
            for (label, share) in self.labels.iter().zip(probabilities) {
                write!(out, "{before}")?;
                out.write_all(label)?;
                write!(out, ": {share:?}")?;
                before = ", ";
            }
            writeln!(out, "{}", if before == ", " { "}}" } else { "}" })?;
        }
        self.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::PredictionWriter;
    use crate::label::{Label, Labels};
    use crate::learner::testing::{PA, bytes_of, learn, learner, linear};
    use crate::learner::{Config, Learner};
    use crate::model::linear::{LinearConfig, Task};
    use crate::readers::Reader;
    use crate::readers::columns::Columns;
    use crate::readers::options::{Format, OnError, Options};

    const EVENTS: &str = "{\"a\": 2, \"id\": \"x,\\u00e4\"}\n{\"a\": \n{\"b\": 1}\n";

    fn written(learner: &Learner, csv: bool) -> String {
        let columns = Columns::new(None, Some("id".to_owned()));
        let options = Options { format: Format::JsonLines, columns, on_error: OnError::Skip };
        let mut reader = Reader::new(Cursor::new(EVENTS.as_bytes()), "f", options).unwrap();
        let (mut text, mut count) = (String::new(), 0);
        let before = bytes_of(learner);
        loop {
            let mut writer = PredictionWriter::new(learner, csv, count).unwrap();
            learner.predict_file(&mut reader, 1, &mut writer, || true).unwrap();
            if writer.count() == count {
                break;
            }
            count = writer.count();
            text.push_str(&String::from_utf8(writer.text).unwrap());
        }
        assert!(bytes_of(learner) == before, "predicting changes nothing");
        assert_eq!(reader.skipped(), 1);
        text
    }

    #[test]
    fn a_line_has_a_probability_for_each_label() {
        let mut learner = learner(linear(PA));
        learn(&mut learner, &[("a", 1.0)], &Label::Int(-1)).unwrap();
        let csv = written(&learner, true);
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(
            csv.lines().next(),
            Some("id,prediction,margin,query_probability,probability_-1,probability_1")
        );
        assert_eq!(rows[1][..5], ["\"x", "ä\"", "-1", "-2.0", "1.0"]);
        assert_eq!(rows[2][..4], ["1", "-1", "0.0", "1.0"]);
        let shares: f64 = rows[2][4..].iter().map(|share| share.parse::<f64>().unwrap()).sum();
        assert_eq!((shares, rows.len()), (1.0, 3));
        let json = written(&learner, false);
        let start = r#"{"id": "x,ä", "prediction": -1, "margin": -2.0, "query_probability": 1.0, "probabilities": {"-1": "#;
        assert!(json.starts_with(start) && json.ends_with("}}\n"), "{json}");
    }

    #[test]
    fn without_labels_there_are_no_probabilities() {
        let model = LinearConfig { task: Task::Regression { epsilon: 0.0 }, ..PA };
        let numbers = learner(Config { labels: Labels::numbers(), ..linear(model) });
        let head = "id,prediction,margin,query_probability\n";
        assert_eq!(written(&numbers, true), format!("{head}\"x,ä\",0.0,0.0,1.0\n1,0.0,0.0,1.0\n"));
        let several = LinearConfig { task: Task::Multiclass, ..PA };
        let none = learner(Config { labels: Labels::open(Vec::new()), ..linear(several) });
        assert_eq!(written(&none, true), format!("{head}\"x,ä\",,0.0,1.0\n1,,0.0,1.0\n"));
        let line =
            "{\"id\": 1, \"prediction\": null, \"margin\": 0.0, \"query_probability\": 1.0}\n";
        assert!(written(&none, false).ends_with(line));
    }
}
