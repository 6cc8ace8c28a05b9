//! The events of a file whose columns are typed (Parquet, Arrow): one per row. Whoever can decode
//! its bytes hands them over as batches of rows.

use crate::event::quoted;
use crate::readers::columns::Role;
use crate::readers::header::Header;
use crate::readers::record::{NameRef, NextRecord, Record, RecordError};
use crate::readers::roles::{Cell, Roles};

/// Where batches come from.
pub trait BatchSource: Send {
    fn fields(&self) -> Vec<Field>;

    /// The next rows, one column per field; none at the end.
    fn next(&mut self) -> Result<Option<RecordBatch>, RecordError>;

    /// Bytes of the file that are done.
    fn bytes(&self) -> u64;
}

/// A column of every batch.
pub struct Field {
    pub name: String,
    pub kind: FieldKind,
}

pub enum FieldKind {
    /// Numbers, bools or texts.
    Plain,
    /// Times, in a type of this name.
    Times(String),
    /// Something of which nothing can be made.
    Other(String),
}

pub struct RecordBatch {
    pub rows: usize,
    pub columns: Vec<Cells>,
}

/// The cells of a column, one per row.
pub enum Cells {
    /// All of them are absent.
    Absent,
    /// NaN is absent.
    Numbers(Vec<f64>),
    Integers(Vec<Option<i64>>),
    Bools(Vec<Option<bool>>),
    Texts(TextCells),
    /// Microseconds since 1970.
    Times(Vec<Option<i64>>),
}

/// Texts, each where it starts and ends.
#[derive(Default)]
pub struct TextCells {
    pub texts: String,
    pub spans: Vec<Option<(usize, usize)>>,
}

impl Cells {
    fn cell(&self, row: usize) -> Cell<'_> {
        let found = match self {
            Self::Absent => None,
            Self::Numbers(numbers) => {
                Some(numbers[row]).filter(|number| !number.is_nan()).map(Cell::Number)
            }
            Self::Integers(integers) => integers[row].map(Cell::Integer),
            Self::Bools(bools) => bools[row].map(Cell::Bool),
            Self::Texts(TextCells { texts, spans }) => {
                spans[row].map(|(start, end)| Cell::Text(&texts[start..end]))
            }
            Self::Times(times) => times[row].map(Cell::Time),
        };
        found.unwrap_or(Cell::Absent)
    }
}

/// Reads one row after the other.
pub struct BatchReader {
    source: Box<dyn BatchSource>,
    header: Header,
    batch: RecordBatch,
    /// The next row of the batch.
    row: usize,
    /// The number of the row that was read last, from 1.
    number: u64,
}

impl BatchReader {
    pub fn new(source: Box<dyn BatchSource>, roles: &mut Roles) -> Result<Self, String> {
        let fields = source.fields();
        let names = fields.iter().map(|field| field.name.clone()).collect();
        let header = Header::new(names, roles, "it has")?;
        for (field, role) in fields.iter().zip(&header.roles) {
            let name = quoted(&field.name);
            match (&field.kind, role) {
                (FieldKind::Plain, _)
                | (_, Some(Role::Ignore | Role::Raw))
                | (FieldKind::Times(_), Some(Role::Time)) => {}
                (FieldKind::Times(kind), _) => {
                    return Err(format!(
                        "column {name} holds times ({kind}); give it the role time or ignore."
                    ));
                }
                (FieldKind::Other(kind), _) => {
                    return Err(format!(
                        "column {name} must hold numbers, booleans or text, got {kind}; the role \
                         ignore leaves it out."
                    ));
                }
            }
        }
        let batch = RecordBatch { rows: 0, columns: Vec::new() };
        Ok(Self { source, header, batch, row: 0, number: 0 })
    }

    pub fn bytes(&self) -> u64 {
        self.source.bytes()
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn columns(&self) -> &[String] {
        &self.header.names
    }

    pub fn read(
        &mut self,
        roles: &mut Roles,
        record: &mut Record,
    ) -> Result<NextRecord<'_>, RecordError> {
        while self.row >= self.batch.rows {
            let Some(batch) = self.source.next()? else { return Ok(NextRecord::End) };
            (self.batch, self.row) = (batch, 0);
        }
        record.clear();
        roles.begin_event();
        (self.row, self.number) = (self.row + 1, self.number + 1);
        self.read_cells(self.row - 1, roles, record).map_err(RecordError::Line)?;
        Ok(NextRecord::Event { line: "", header: &self.header.names })
    }

    fn read_cells(&self, row: usize, roles: &mut Roles, record: &mut Record) -> Result<(), String> {
        for (column, cells) in self.batch.columns.iter().enumerate() {
            let (name, cell) = (&self.header.names[column], cells.cell(row));
            let place = NameRef::Column(column as u32);
            match self.header.roles[column] {
                None => roles.feature(record, name, place, cell)?,
                Some(role) => roles.take(record, role, name, place, cell)?,
            }
        }
        roles.finish(record)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::error::Error;
    use crate::event::Names;
    use crate::readers::Reader;
    use crate::readers::columns::Columns;
    use crate::readers::options::OnError;

    /// Batches that are there already, and perhaps an error behind them.
    pub struct Listed {
        pub names: Vec<&'static str>,
        pub batches: std::vec::IntoIter<Result<RecordBatch, RecordError>>,
    }

    impl BatchSource for Listed {
        fn fields(&self) -> Vec<Field> {
            let field = |name: &&str| Field { name: (*name).to_owned(), kind: FieldKind::Plain };
            self.names.iter().map(field).collect()
        }

        fn next(&mut self) -> Result<Option<RecordBatch>, RecordError> {
            self.batches.next().transpose()
        }

        fn bytes(&self) -> u64 {
            100 - self.batches.len() as u64
        }
    }

    pub fn texts(texts: &[Option<&str>]) -> Cells {
        let mut cells = TextCells::default();
        for text in texts {
            let start = cells.texts.len();
            cells.texts.push_str(text.unwrap_or_default());
            cells.spans.push(text.map(|_| (start, cells.texts.len())));
        }
        Cells::Texts(cells)
    }

    fn columns() -> Columns {
        Columns::new(Some("y".to_owned()), Some("id".to_owned()))
    }

    fn reader(batches: Vec<Result<RecordBatch, RecordError>>, on_error: OnError) -> Reader {
        let names = vec!["id", "a", "y", "b", "c"];
        let source = Listed { names, batches: batches.into_iter() };
        Reader::of_batches(Box::new(source), "f", columns(), on_error).unwrap()
    }

    fn batch(ids: Cells, a: Cells, y: Cells, b: Cells, c: Cells) -> RecordBatch {
        RecordBatch { rows: 2, columns: vec![ids, a, y, b, c] }
    }

    fn read_all(reader: &mut Reader) -> (Vec<String>, Result<(), Error>) {
        let (mut record, mut told) = (Record::default(), Vec::new());
        loop {
            match reader.next(&mut record) {
                Ok(false) => return (told, Ok(())),
                Err(error) => return (told, Err(error)),
                Ok(true) => {}
            }
            let names = reader.names(&record);
            let features = record.features.iter().enumerate();
            let features: Vec<String> =
                features.map(|(i, f)| format!("{}={}", names.name(i), f.value)).collect();
            told.push(format!("{:?} {:?} {}", record.id, record.label, features.join(" ")));
        }
    }

    #[test]
    fn a_row_is_an_event_whatever_its_columns_hold() {
        let first = batch(
            Cells::Integers(vec![Some(7), None]),
            Cells::Numbers(vec![0.5, f64::NAN]),
            Cells::Bools(vec![Some(true), None]),
            texts(&[Some("rö"), None]),
            Cells::Integers(vec![Some(1 << 40), Some(-1)]),
        );
        let empty = RecordBatch { rows: 0, columns: vec![] };
        let second = batch(
            Cells::Numbers(vec![3.0, f64::NAN]),
            Cells::Bools(vec![Some(true), Some(false)]),
            Cells::Numbers(vec![2.0, 2.5]),
            Cells::Absent,
            texts(&[Some(""), None]),
        );
        let mut reader = reader(vec![Ok(first), Ok(empty), Ok(second)], OnError::Stop);
        let (told, result) = read_all(&mut reader);
        assert_eq!(
            told,
            [
                "Some(Number(7)) Some(Bool(true)) 'a'=0.5 'b=rö'=1 'c'=1099511627776",
                "None None 'c'=-1",
                "Some(Number(3)) Some(Int(2)) 'a'=1 'c='=1",
                "None Some(Real(2.5)) 'a'=0",
            ]
        );
        assert_eq!((result, reader.bytes()), (Ok(()), 100));
    }

    #[test]
    fn a_row_that_is_no_event_is_named_and_what_cannot_be_read_ends_the_file() {
        let bad = || {
            let cells = Cells::Numbers(vec![f64::INFINITY, 1.0]);
            let ids = Cells::Numbers(vec![1.0, 1.5]);
            batch(ids, cells, Cells::Absent, Cells::Absent, Cells::Absent)
        };
        let good = || {
            let a = Cells::Numbers(vec![1.0, 2.0]);
            batch(Cells::Absent, a, Cells::Absent, Cells::Absent, Cells::Absent)
        };
        let broken = || Err(RecordError::File("it is damaged".to_owned()));
        let (_, stopped) = read_all(&mut reader(vec![Ok(good()), Ok(bad())], OnError::Stop));
        let sentence = "f, row 3: feature 'a' must be a finite number, got inf.";
        assert_eq!(stopped, Err(Error::File(sentence.to_owned())));
        let mut skipping = reader(vec![Ok(good()), Ok(bad()), broken()], OnError::Skip);
        let (told, ended) = read_all(&mut skipping);
        assert_eq!((told.len(), skipping.skipped()), (2, 2));
        let problem = "f, row 4: expected a text or an integer as the id, got 1.5.";
        assert_eq!(skipping.problems(), [sentence, problem]);
        let sentence = "f: it cannot be read after row 4: it is damaged.";
        assert_eq!(ended, Err(Error::File(sentence.to_owned())));
    }

    #[test]
    fn columns_that_are_missing_or_there_twice_are_refused() {
        for (names, sentence) in [
            (vec!["a", "id"], "f: there is no column 'y'; it has 'a', 'id'."),
            (vec!["y", "id", "a", "a"], "f: column 'a' is in its header twice."),
        ] {
            let source = Listed { names, batches: Vec::new().into_iter() };
            let refused = Reader::of_batches(Box::new(source), "f", columns(), OnError::Skip);
            assert_eq!(refused.err(), Some(Error::File(sentence.to_owned())));
        }
    }
}
