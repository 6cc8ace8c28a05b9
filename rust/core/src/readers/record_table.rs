//! Records as the three arrays of a sparse matrix (CSR), with the names of its columns.

use crate::error::Error;
use crate::event::{Name, Names, UNKNOWN};
use crate::feature_table::FeatureTable;
use crate::label::Label;
use crate::readers::Reader;
use crate::readers::record::{Id, Record};

/// One row per event, in the order of the file, and one column per name, in the order in which they
/// first came.
pub struct RecordTable {
    /// Row `i` is `indices[indptr[i]..indptr[i + 1]]` and the same range of `values`.
    pub indptr: Vec<i64>,
    pub indices: Vec<i32>,
    pub values: Vec<f64>,
    pub labels: Vec<Option<Label>>,
    pub ids: Vec<Option<Id>>,
    names: FeatureTable,
}

impl Default for RecordTable {
    fn default() -> Self {
        Self {
            indptr: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
            labels: Vec::new(),
            ids: Vec::new(),
            names: FeatureTable::default(),
        }
    }
}

impl RecordTable {
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn names(&self) -> impl Iterator<Item = Name<'_>> {
        self.names.names()
    }

    /// Read up to `size` events. An error ends the table and is returned beside it.
    ///
    /// `tick` is called before each event; its `false` stops there.
    pub fn read(
        reader: &mut Reader,
        size: usize,
        mut tick: impl FnMut() -> bool,
    ) -> (Self, Result<(), Error>) {
        let (mut table, mut record) = (Self::default(), Record::default());
        while table.len() < size {
            if !tick() {
                return (table, Err(Error::Interrupted));
            }
            let pushed = match reader.next(&mut record) {
                Ok(false) => break,
                Ok(true) => table.push(reader, &mut record),
                Err(Error::Interrupted) => Ok(()), // the source is slow: ask again
                Err(error) => Err(error),
            };
            if pushed.is_err() {
                return (table, pushed);
            }
        }
        (table, Ok(()))
    }

    /// Add the record that was read last; its label and id are taken out of it.
    fn push(&mut self, reader: &Reader, record: &mut Record) -> Result<(), Error> {
        self.names.room_for(record.features.len())?;
        let (count, full) = (record.features.len(), |_| {
            let events = self.labels.len();
            Error::Memory(format!("batch: there is no memory for more than {events} events."))
        });
        self.indices.try_reserve(count).map_err(full)?;
        self.values.try_reserve(count).map_err(full)?;
        let names = reader.names(record);
        for (position, feature) in record.features.iter().enumerate() {
            let name = names.name(position);
            let mut column = self.names.id(name);
            if column == UNKNOWN {
                column = self.names.insert(name);
            }
            self.indices.push(column as i32);
            self.values.push(feature.value);
        }
        self.indptr.push(self.values.len() as i64);
        self.labels.push(record.label.take());
        self.ids.push(record.id.take());
        Ok(())
    }
}
