//! Writes decisions as they are made: JSON lines, or CSV with a header.

use std::io::{self, Write};

use crate::error::Error;
use crate::event::quoted;
use crate::label::Label;
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::readers::record::{Id, Record};

/// Writes one line per decision: the event's id (otherwise its number, from 0), the prediction, the margin, the
/// query probability, and whether the label was asked for.
pub struct DecisionWriter<W> {
    out: W,
    name: String,
    csv: bool,
    count: u64,
}

impl<W: Write> DecisionWriter<W> {
    /// Writes to `out`; errors call it `name`.
    pub fn new(out: W, name: String, csv: bool) -> Result<Self, Error> {
        let mut writer = Self { out, name, csv, count: 0 };
        if csv {
            let header = "id,prediction,margin,query_probability,asked";
            let written = writeln!(writer.out, "{header}");
            written.map_err(|error| writer.error(&error))?;
        }
        Ok(writer)
    }

    pub fn write(
        &mut self,
        learner: &Learner,
        record: &Record,
        decision: &Decision,
    ) -> Result<(), Error> {
        let number = Id::Number(self.count as i64);
        self.count += 1;
        let id = record.id.as_ref().unwrap_or(&number);
        let prediction = learner.prediction(decision.class, decision.margin);
        let written = self.write_line(id, prediction.as_ref(), decision);
        written.map_err(|error| self.error(&error))
    }

    pub fn finish(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(|error| self.error(&error))
    }

    fn write_line(
        &mut self,
        id: &Id,
        prediction: Option<&Label>,
        decision: &Decision,
    ) -> io::Result<()> {
        let Decision { margin, query_probability: probability, asked, .. } = *decision;
        let csv = self.csv;
        let out = &mut self.out;
        out.write_all(if csv { b"" } else { b"{\"id\": " })?;
        match id {
            Id::Number(number) => write!(out, "{number}")?,
            Id::Text(text) => write_text(out, text, csv)?,
        }
        out.write_all(if csv { b"," } else { b", \"prediction\": " })?;
        match prediction {
            None => out.write_all(if csv { b"" } else { b"null" })?,
            Some(Label::Bool(truth)) => write!(out, "{truth}")?,
            Some(Label::Int(number)) => write!(out, "{number}")?,
            Some(Label::Real(number)) => write!(out, "{number:?}")?,
            Some(Label::Text(text)) => write_text(out, text, csv)?,
        }
        if csv {
            writeln!(out, ",{margin:?},{probability:?},{asked}")
        } else {
            writeln!(
                out,
                ", \"margin\": {margin:?}, \"query_probability\": {probability:?}, \"asked\": {asked}}}"
            )
        }
    }

    fn error(&self, error: &io::Error) -> Error {
        Error::File(format!("{}: the decisions cannot be written: {error}.", quoted(&self.name)))
    }
}

fn write_text(out: &mut impl Write, text: &str, csv: bool) -> io::Result<()> {
    if csv && !text.contains([',', '"', '\n', '\r']) {
        return out.write_all(text.as_bytes());
    }
    out.write_all(b"\"")?;
    for c in text.chars() {
        match c {
            '"' if csv => out.write_all(b"\"\"")?,
            _ if csv => write!(out, "{c}")?,
            '"' | '\\' => write!(out, "\\{c}")?,
            '\0'..' ' => write!(out, "\\u{:04x}", c as u32)?,
            _ => write!(out, "{c}")?,
        }
    }
    out.write_all(b"\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(csv: bool) -> String {
        let mut out = Vec::new();
        let mut decisions = DecisionWriter::new(&mut out, "d".to_owned(), csv).unwrap();
        let decision = |margin, asked| Decision {
            class: None,
            margin,
            query_probability: 0.5,
            asked,
            squared_norm: None,
        };
        let text = Id::Text("a,\"b\"\n".to_owned());
        decisions.write_line(&Id::Number(-1), None, &decision(-1e300, true)).unwrap();
        decisions
            .write_line(&text, Some(&Label::Text("ä".into())), &decision(0.25, false))
            .unwrap();
        decisions
            .write_line(&Id::Number(2), Some(&Label::Real(2.0)), &decision(2.0, true))
            .unwrap();
        decisions
            .write_line(&Id::Number(3), Some(&Label::Bool(true)), &decision(1.0, true))
            .unwrap();
        decisions.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn decisions_are_lines_of_json_or_csv() {
        let json: Vec<String> = written(false).lines().map(str::to_owned).collect();
        let first = r#"{"id": -1, "prediction": null, "margin": -1e300, "query_probability": 0.5, "asked": true}"#;
        assert_eq!(json[0], first);
        assert!(
            json[1].starts_with(r#"{"id": "a,\"b\"\u000a", "prediction": "ä", "margin": 0.25"#)
        );
        assert!(json[2].contains(r#""prediction": 2.0,"#));
        assert_eq!(
            written(true),
            "id,prediction,margin,query_probability,asked\n-1,,-1e300,0.5,true\n\
             \"a,\"\"b\"\"\n\",ä,0.25,0.5,false\n2,2.0,2.0,0.5,true\n3,true,1.0,0.5,true\n"
        );
    }
}
