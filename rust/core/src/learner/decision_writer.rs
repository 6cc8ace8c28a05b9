//! Writes decisions as they are made: JSON lines, or CSV with a header.

use std::io::{self, Write};

use crate::error::Error;
use crate::event::quoted;
use crate::label::Label;
use crate::learner::Learner;
use crate::learner::decision::Decision;
use crate::readers::record::{Id, Record};

/// Where the decisions of a run go.
pub trait DecisionSink {
    /// Take the decision about a record, before its label is learned. An error ends the run.
    fn record(
        &mut self,
        learner: &Learner,
        record: &Record,
        decision: &Decision,
    ) -> Result<(), Error>;

    /// Take the last decision back: its event was refused after all.
    fn retract(&mut self);
}

/// Nobody wants them.
impl DecisionSink for () {
    fn record(&mut self, _: &Learner, _: &Record, _: &Decision) -> Result<(), Error> {
        Ok(())
    }

    fn retract(&mut self) {}
}

/// An output from whose end something can be taken back.
pub trait Output: Write {
    /// Cut it to so many bytes, if it can be cut.
    fn cut(&mut self, length: u64);
}

impl Output for &mut Vec<u8> {
    fn cut(&mut self, length: u64) {
        self.truncate(length as usize);
    }
}

/// Writes one line per decision: the event's id (otherwise its number, from 0), the prediction, the margin, the
/// query probability, and whether the label was asked for.
///
/// A line is handed to `out` whole before its event is learned, so that what is written and what is learned
/// agree whenever a run ends.
pub struct DecisionWriter<W> {
    out: W,
    name: String,
    csv: bool,
    count: u64,
    line: Vec<u8>,
    /// Bytes of whole lines in `out`, and of all but the last line.
    length: u64,
    length_before: u64,
}

impl<W: Output> DecisionWriter<W> {
    /// Writes to `out`, which is empty; errors call it `name`.
    pub fn new(out: W, name: String, csv: bool) -> Result<Self, Error> {
        let (line, count, length, length_before) = (Vec::new(), 0, 0, 0);
        let mut writer = Self { out, name, csv, count, line, length, length_before };
        if csv {
            writer.line.extend_from_slice(b"id,prediction,margin,query_probability,asked\n");
            writer.put()?;
        }
        Ok(writer)
    }

    /// Write the line, all of it or nothing.
    fn put(&mut self) -> Result<(), Error> {
        let line = std::mem::take(&mut self.line);
        let written = self.out.write_all(&line);
        if let Err(error) = written {
            self.out.cut(self.length);
            return Err(self.error(&error));
        }
        self.length_before = self.length;
        self.length += line.len() as u64;
        self.line = line;
        Ok(())
    }

    pub fn finish(&mut self) -> Result<(), Error> {
        loop {
            match self.out.flush() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                flushed => return flushed.map_err(|error| self.error(&error)),
            }
        }
    }

    fn error(&self, error: &io::Error) -> Error {
        Error::Output(format!("{}: the decisions cannot be written: {error}.", quoted(&self.name)))
    }
}

impl<W: Output> DecisionSink for DecisionWriter<W> {
    fn record(
        &mut self,
        learner: &Learner,
        record: &Record,
        decision: &Decision,
    ) -> Result<(), Error> {
        let number = Id::Number(self.count as i64);
        let id = record.id.as_ref().unwrap_or(&number);
        let prediction = learner.prediction(decision.class, decision.margin);
        self.line.clear();
        write_line(&mut self.line, self.csv, id, prediction.as_ref(), decision)
            .map_err(|error| self.error(&error))?;
        self.put()?;
        self.count += 1;
        Ok(())
    }

    fn retract(&mut self) {
        self.out.cut(self.length_before);
        self.length = self.length_before;
        self.count -= 1;
    }
}

fn write_line(
    out: &mut Vec<u8>,
    csv: bool,
    id: &Id,
    prediction: Option<&Label>,
    decision: &Decision,
) -> io::Result<()> {
    let Decision { margin, query_probability: probability, asked, .. } = *decision;
    out.write_all(if csv { b"" } else { b"{\"id\": " })?;
    write_id(out, id, csv)?;
    out.write_all(if csv { b"," } else { b", \"prediction\": " })?;
    write_label(out, prediction, csv)?;
    if csv {
        writeln!(out, ",{margin:?},{probability:?},{asked}")
    } else {
        writeln!(
            out,
            ", \"margin\": {margin:?}, \"query_probability\": {probability:?}, \"asked\": {asked}}}"
        )
    }
}

pub fn write_id(out: &mut impl Write, id: &Id, csv: bool) -> io::Result<()> {
    match id {
        Id::Number(number) => write!(out, "{number}"),
        Id::Text(text) => write_text(out, text, csv),
    }
}

pub fn write_label(out: &mut impl Write, label: Option<&Label>, csv: bool) -> io::Result<()> {
    match label {
        None => out.write_all(if csv { b"" } else { b"null" }),
        Some(Label::Bool(truth)) => write!(out, "{truth}"),
        Some(Label::Int(number)) => write!(out, "{number}"),
        Some(Label::Real(number)) => write!(out, "{number:?}"),
        Some(Label::Text(text)) => write_text(out, text, csv),
    }
}

pub fn write_text(out: &mut impl Write, text: &str, csv: bool) -> io::Result<()> {
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
    use crate::learner::testing::{PA, decide, learn, learner, linear};

    fn decision(margin: f64, asked: bool) -> Decision {
        Decision { number: 1, class: None, margin, query_probability: 0.5, asked }
    }

    #[test]
    fn a_text_of_csv_is_quoted_where_it_must_be() {
        for (text, cell) in
            [("a b", "a b"), ("a\"b", "\"a\"\"b\""), ("a,b", "\"a,b\""), ("a\rb", "\"a\rb\"")]
        {
            let mut out = Vec::new();
            write_text(&mut out, text, true).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), cell);
        }
    }

    fn written(csv: bool) -> String {
        let mut out = Vec::new();
        let mut writer = DecisionWriter::new(&mut out, "d".to_owned(), csv).unwrap();
        let lines = [
            (Id::Number(-1), None, decision(-1e300, true)),
            (
                Id::Text("a,\"b\"\n".to_owned()),
                Some(Label::Text("ä".into())),
                decision(0.25, false),
            ),
            (Id::Number(2), Some(Label::Real(2.0)), decision(2.0, true)),
            (Id::Number(3), Some(Label::Bool(true)), decision(1.0, true)),
        ];
        for (id, prediction, decision) in &lines {
            writer.line.clear();
            write_line(&mut writer.line, csv, id, prediction.as_ref(), decision).unwrap();
            writer.put().unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Takes so many bytes and no more, as a full disk does.
    struct Full {
        bytes: Vec<u8>,
        room: usize,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room - self.bytes.len());
            self.bytes.extend_from_slice(&bytes[..count]);
            if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Output for Full {
        fn cut(&mut self, length: u64) {
            self.bytes.truncate(length as usize);
        }
    }

    #[test]
    fn a_full_disk_leaves_whole_lines_and_names_the_output() {
        let out = Full { bytes: Vec::new(), room: 100 };
        let mut writer = DecisionWriter::new(out, "d.csv".to_owned(), true).unwrap();
        let mut lines = 0;
        let error = loop {
            writer.line.clear();
            let id = Id::Number(lines);
            write_line(&mut writer.line, true, &id, None, &decision(0.5, true)).unwrap();
            match writer.put() {
                Ok(()) => lines += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Output(text) if text.starts_with("'d.csv': the decisions")));
        let text = String::from_utf8(writer.out.bytes).unwrap();
        assert!(text.ends_with('\n'));
        assert_eq!(text.lines().count() as i64, 1 + lines);
    }

    #[test]
    fn the_last_line_can_be_taken_back() {
        let mut out = Vec::new();
        let mut writer = DecisionWriter::new(&mut out, "d".to_owned(), true).unwrap();
        for number in [0, 1] {
            writer.line.clear();
            let id = Id::Number(number);
            write_line(&mut writer.line, true, &id, None, &decision(0.5, true)).unwrap();
            writer.put().unwrap();
            writer.count += 1;
        }
        writer.retract();
        assert_eq!(writer.count, 1);
        assert_eq!(String::from_utf8(out).unwrap().lines().last(), Some("0,,0.5,0.5,true"));
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

    #[test]
    fn an_event_without_an_id_gets_its_number_and_the_prediction_is_a_label() {
        let mut learner = learner(linear(PA));
        let no = Label::Int(-1);
        learn(&mut learner, &[("a", 1.0)], &no).unwrap(); // labels are −1 and +1 from now on
        let decision = decide(&mut learner, &[("a", 2.0)]).unwrap();
        let mut out = Vec::new();
        let mut writer = DecisionWriter::new(&mut out, "d".to_owned(), true).unwrap();
        let named = Record { id: Some(Id::Text("x".to_owned())), ..Record::default() };
        for record in [&Record::default(), &named, &Record::default()] {
            writer.record(&learner, record, &decision).unwrap();
        }
        writer.finish().unwrap();
        let rows = "0,-1,-2.0,1.0,true\nx,-1,-2.0,1.0,true\n2,-1,-2.0,1.0,true\n";
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("id,prediction,margin,query_probability,asked\n{rows}")
        );
    }

    /// A disk that takes nothing.
    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    impl Output for Broken {
        fn cut(&mut self, _length: u64) {}
    }

    #[test]
    fn a_decision_that_cannot_be_written_is_an_error_that_names_the_file() {
        let header = DecisionWriter::new(Broken, "out.csv".to_owned(), true);
        let mut json = DecisionWriter::new(Broken, "out.jsonl".to_owned(), false).unwrap();
        for (error, name) in [(header.err(), "'out.csv': "), (json.finish().err(), "'out.jsonl': ")]
        {
            let Some(Error::Output(sentence)) = error else { panic!("{error:?}") };
            assert!(sentence.starts_with(name), "{sentence}");
        }
    }
}
