//! A list of events, each a mapping, as rows with named columns.

use std::collections::HashMap;

use headwater_core::Name;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{EventError, is_about_value};
use crate::event::PyEvent;
use crate::frames::CsrArrays;
use crate::name::name_to_python;

/// The columns of the rows so far: one per name, in the order in which they came.
#[derive(Default)]
struct Columns {
    texts: HashMap<String, i32>,
    numbers: HashMap<i64, i32>,
    count: i32,
}

impl Columns {
    fn column(&mut self, name: Name<'_>) -> PyResult<i32> {
        let known = match name {
            Name::Text(text) => self.texts.get(text),
            Name::Number(number) => self.numbers.get(&number),
        };
        if let Some(&column) = known {
            return Ok(column);
        }
        let column = self.count;
        self.count = column
            .checked_add(1)
            .ok_or_else(|| EventError::new_err("X: it has more than 2^31 features."))?;
        match name {
            Name::Text(text) => self.texts.insert(text.to_owned(), column),
            Name::Number(number) => self.numbers.insert(number, column),
        };
        Ok(column)
    }

    fn in_order(&self) -> Vec<Name<'_>> {
        let texts = self.texts.iter().map(|(text, &column)| (column, Name::Text(text)));
        let numbers = self.numbers.iter().map(|(&number, &column)| (column, Name::Number(number)));
        let mut listed: Vec<_> = texts.chain(numbers).collect();
        listed.sort_unstable_by_key(|&(column, _)| column);
        listed.into_iter().map(|(_, name)| name).collect()
    }
}

/// The three arrays of the events' rows and the number of their columns, and the columns' names.
#[pyfunction]
pub fn read_events<'py>(
    events: &Bound<'py, PyList>,
) -> PyResult<(CsrArrays<'py>, Bound<'py, PyList>)> {
    let py = events.py();
    let (mut indptr, mut indices, mut values) = (vec![0_i64], Vec::new(), Vec::new());
    let mut columns = Columns::default();
    for (row, event) in events.iter().enumerate() {
        let placed = |error: PyErr| {
            if !is_about_value(py, &error) {
                return error;
            }
            let said = error.value(py).to_string();
            let said = said.strip_prefix("event: ").unwrap_or(&said);
            EventError::new_err(format!("X, row {row}: {said}"))
        };
        let event = PyEvent::read(&event).map_err(placed)?;
        for ((_, key), feature) in event.kept.iter().zip(&event.buffer.features) {
            indices.push(columns.column(key.name(py))?);
            values.push(feature.value);
        }
        indptr.push(indices.len() as i64);
    }
    let names: PyResult<Vec<_>> =
        columns.in_order().into_iter().map(|name| name_to_python(py, name)).collect();
    let arrays = (
        PyArray1::from_vec(py, indptr),
        PyArray1::from_vec(py, indices),
        PyArray1::from_vec(py, values),
        columns.count as usize,
    );
    Ok((arrays, PyList::new(py, names?)?))
}
