//! The arrays of a batch: checked as a whole, then read number by number.
//!
//! Arrays that belong to the caller may be written by another thread while a batch runs. So each of their numbers
//! is read once, as an atomic, and what was written meanwhile is refused when it is read if it does not fit.

use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::error::Error;
use crate::learner::feature_names::ColumnNames;

/// The rows of a sparse matrix (what is not stored is absent) or of a dense one (NaN is absent).
#[derive(Clone, Copy, Debug)]
pub enum RowArrays<'a> {
    Csr { indptr: &'a [i64], indices: &'a [i32], values: &'a [f64] },
    Dense { values: &'a [f64], columns: usize, rows: usize },
}

/// Arrays that somebody else may write meanwhile: values by their bits. What says where rows end is one's own.
#[derive(Clone, Copy, Debug)]
pub enum SharedArrays<'a> {
    Csr { indptr: &'a [i64], indices: &'a [AtomicI32], values: &'a [AtomicU64] },
    Dense { values: &'a [AtomicU64], columns: usize, rows: usize },
}

/// The number in a cell.
#[inline(always)]
pub fn number(cell: &AtomicU64) -> f64 {
    f64::from_bits(cell.load(Ordering::Relaxed))
}

/// The column in a cell.
#[inline(always)]
pub fn column(cell: &AtomicI32) -> usize {
    cell.load(Ordering::Relaxed) as usize // below 0: too large
}

impl<'a> RowArrays<'a> {
    /// All values, absent ones included.
    pub fn values(&self) -> &'a [f64] {
        let (Self::Csr { values, .. } | Self::Dense { values, .. }) = *self;
        values
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match *self {
            Self::Csr { indptr, .. } => indptr.len() - 1,
            Self::Dense { rows, .. } => rows,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Refuse arrays that do not fit together, columns that do not exist or are twice in a row, and infinities.
    /// Whether the columns of every row rise. `by_ranges` says whether something holds for all of so many rows, by
    /// asking for ranges of them: whoever has threads can ask side by side.
    pub fn check(
        &self,
        names: &ColumnNames<'_>,
        width: usize,
        by_ranges: impl FnOnce(usize, &AreUsual<'_>) -> bool,
    ) -> Result<bool, Error> {
        if let Self::Csr { indptr, indices, values } = *self {
            check_pointers(indptr, indices.len(), values.len())?;
        }
        // All rows at once, and only if something is unusual one after the other.
        if by_ranges(self.len(), &|rows| self.are_usual(rows, width)) {
            return Ok(true);
        }
        let mut rises = true;
        match *self {
            Self::Csr { indptr, indices, values } => {
                let mut last_row_of = Vec::new();
                for row in 0..self.len() {
                    let range = indptr[row] as usize..indptr[row + 1] as usize;
                    let columns = &indices[range.clone()];
                    rises &= check_columns(columns, row, names, width, &mut last_row_of)?;
                    check_values(&values[range], row, names, |place| columns[place] as usize)?;
                }
            }
            Self::Dense { values, columns, rows } => {
                for row in 0..rows {
                    let values = &values[row * columns..(row + 1) * columns];
                    check_values(values, row, names, |i| i)?;
                }
            }
        }
        Ok(rises)
    }

    /// Whether in all of these rows columns rise and exist, and no value is NaN or infinite.
    fn are_usual(&self, rows: Range<usize>, width: usize) -> bool {
        match *self {
            Self::Csr { indptr, indices, values } => {
                let range = indptr[rows.start] as usize..indptr[rows.end] as usize;
                all_rise(&indptr[rows.start..=rows.end], &indices[range.clone()], width)
                    && are_finite(&values[range])
            }
            Self::Dense { values, columns, .. } => {
                are_finite(&values[rows.start * columns..rows.end * columns])
            }
        }
    }
}

/// Whether these rows have nothing that has to be looked at row by row.
pub type AreUsual<'a> = dyn Fn(Range<usize>) -> bool + Sync + 'a;

fn check_pointers(indptr: &[i64], indices: usize, values: usize) -> Result<(), Error> {
    let bad = |text: String| Err(Error::Event(text));
    if indices != values {
        return bad(format!(
            "X: indices and data must be equally long, got {indices} and {values}."
        ));
    }
    if indptr.is_empty() || indptr[0] != 0 || indptr.windows(2).any(|pair| pair[0] > pair[1]) {
        return bad("X: indptr must start at 0 and never fall.".to_owned());
    }
    if indptr[indptr.len() - 1] != indices as i64 {
        let end = indptr[indptr.len() - 1];
        return bad(format!("X: indptr must end at the number of values, {indices}, got {end}."));
    }
    Ok(())
}

/// How many columns are not below the next. Counted, so that the compiler makes wide steps of it.
fn falls(columns: &[i32]) -> usize {
    let next = columns.get(1..).unwrap_or_default();
    let count = |pairs: (&[i32], &[i32])| -> u32 {
        pairs.0.iter().zip(pairs.1).map(|(one, next)| u32::from(one >= next)).sum()
    };
    let pieces = columns.chunks(COUNTED).zip(next.chunks(COUNTED));
    pieces.map(|pieces| count(pieces) as usize).sum()
}

/// So many are counted in 32 bits.
const COUNTED: usize = 1 << 20;

/// Whether the columns of every row rise, and all of them exist. Rows end at `indptr` less its first number.
fn all_rise(indptr: &[i64], indices: &[i32], width: usize) -> bool {
    let (mut between_rows, base) = (0, indptr[0]);
    for row in indptr.windows(2) {
        let (start, end) = ((row[0] - base) as usize, (row[1] - base) as usize);
        if start == end {
            continue;
        }
        if indices[start] < 0 || indices[end - 1] as usize >= width {
            return false;
        }
        between_rows += usize::from(start > 0 && indices[start - 1] >= indices[start]);
    }
    falls(indices) == between_rows
}

/// Whether no value is NaN or infinite: 0 times a finite value is 0.
fn are_finite(values: &[f64]) -> bool {
    let (fours, rest) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for (sum, value) in sums.iter_mut().zip(four) {
            *sum += value * 0.0;
        }
    }
    let rest: f64 = rest.iter().map(|value| value * 0.0).sum();
    sums.iter().sum::<f64>() + rest == 0.0
}

/// With more columns a table of them would take longer than sorting a row.
const MOST_IN_TABLE: usize = 1 << 20;

/// Refuse columns that do not exist or are twice in a row; whether they rise.
fn check_columns(
    row: &[i32],
    number: usize,
    names: &ColumnNames<'_>,
    width: usize,
    last_row_of: &mut Vec<usize>,
) -> Result<bool, Error> {
    let (Some(first), Some(last)) = (row.first(), row.last()) else { return Ok(true) };
    if falls(row) == 0 && *first >= 0 && (*last as usize) < width {
        return Ok(true);
    }
    if let Some(&column) = row.iter().find(|&&c| c < 0 || c as usize >= width) {
        return Err(Error::Event(format!(
            "X, row {number}: column {column} does not exist; there are {width}."
        )));
    }
    let twice = if width <= MOST_IN_TABLE {
        last_row_of.resize(width, usize::MAX);
        let is_there = |column: usize, last: &mut Vec<usize>| {
            std::mem::replace(&mut last[column], number) == number
        };
        row.iter().copied().find(|&column| is_there(column as usize, last_row_of))
    } else {
        let mut sorted = row.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    };
    let Some(column) = twice else { return Ok(false) };
    let name = names.name(column as usize);
    Err(Error::Event(format!("X, row {number}: feature {name} appears twice.")))
}

/// Refuse an infinity.
fn check_values(
    row: &[f64],
    number: usize,
    names: &ColumnNames<'_>,
    column: impl Fn(usize) -> usize,
) -> Result<(), Error> {
    match row.iter().position(|value| value.is_infinite()) {
        Some(position) => Err(Error::Event(format!(
            "X, row {number}: feature {} must be a finite number, got {}.",
            names.name(column(position)),
            row[position]
        ))),
        None => Ok(()),
    }
}

/// The refusal of what was written into a row after the check.
#[cold]
pub fn changed() -> Error {
    Error::Event(
        "event: another thread wrote numbers into it that no row may have; the rows before it were done."
            .to_owned(),
    )
}
