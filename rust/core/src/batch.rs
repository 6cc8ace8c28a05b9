//! Whole arrays of events: exactly the event loop, only faster.

use crate::learner::{Decision, Entrant, Learner};
use crate::vocabulary::{Name, Names, Slot, UNKNOWN};
use crate::weights::Feature;
use crate::{Error, Label};

/// Rows of a sparse matrix (what is not stored is absent) or of a dense one (NaN is absent).
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    Csr { indptr: &'a [i64], indices: &'a [i32], values: &'a [f64] },
    Dense { values: &'a [f64], columns: usize, rows: usize },
}

/// The names of a batch's columns.
#[derive(Clone, Copy, Debug)]
pub enum Columns<'a> {
    Numbers,
    Given(&'a [Name<'a>]),
}

impl Columns<'_> {
    fn name(&self, column: usize) -> Name<'_> {
        match self {
            Self::Numbers => Name::Number(column as i64),
            Self::Given(names) => names[column],
        }
    }
}

/// Events with named columns, checked whole.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    rows: Rows<'a>,
    columns: Columns<'a>,
    width: usize,
}

impl<'a> Batch<'a> {
    pub fn new(rows: Rows<'a>, columns: Columns<'a>, width: usize) -> Result<Self, Error> {
        if let Columns::Given(names) = columns {
            check_names(names, width)?;
        }
        match rows {
            Rows::Csr { indptr, indices, values } => {
                check_pointers(indptr, indices.len(), values.len())?;
                let mut last_row_of = Vec::new();
                for row in 0..indptr.len() - 1 {
                    let range = indptr[row] as usize..indptr[row + 1] as usize;
                    check_columns(&indices[range.clone()], row, &columns, width, &mut last_row_of)?;
                    let column = |position| indices[range.start + position] as usize;
                    check_values(&values[range.clone()], row, &columns, column)?;
                }
            }
            Rows::Dense { values, columns: width, rows } => {
                for row in 0..rows {
                    check_values(&values[row * width..(row + 1) * width], row, &columns, |i| i)?;
                }
            }
        }
        Ok(Self { rows, columns, width })
    }

    pub fn len(&self) -> usize {
        match self.rows {
            Rows::Csr { indptr, .. } => indptr.len() - 1,
            Rows::Dense { rows, .. } => rows,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn check_names(names: &[Name<'_>], width: usize) -> Result<(), Error> {
    if names.len() != width {
        return Err(Error::Event(format!(
            "names: expected one a column, {width} in all, got {}.",
            names.len()
        )));
    }
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::Event(format!("names: {} is given twice.", pair[0]))),
        None => Ok(()),
    }
}

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

fn check_columns(
    row: &[i32],
    number: usize,
    columns: &Columns<'_>,
    width: usize,
    last_row_of: &mut Vec<usize>,
) -> Result<(), Error> {
    // Without a branch a column, as below.
    let rises = row.windows(2).fold(true, |fine, pair| fine & (pair[0] < pair[1]));
    let (Some(first), Some(last)) = (row.first(), row.last()) else { return Ok(()) };
    if rises && *first >= 0 && (*last as usize) < width {
        return Ok(());
    }
    if let Some(&column) = row.iter().find(|&&c| c < 0 || c as usize >= width) {
        return Err(Error::Event(format!(
            "X, row {number}: column {column} does not exist; there are {width}."
        )));
    }
    last_row_of.resize(width, usize::MAX);
    for &column in row {
        if std::mem::replace(&mut last_row_of[column as usize], number) == number {
            let name = columns.name(column as usize);
            return Err(Error::Event(format!(
                "X, row {number}: feature {name} stands there twice."
            )));
        }
    }
    Ok(())
}

fn check_values(
    row: &[f64],
    number: usize,
    columns: &Columns<'_>,
    column: impl Fn(usize) -> usize,
) -> Result<(), Error> {
    // Without a branch a value: NaN, which is absent, passes as well.
    if row.iter().fold(true, |fine, value| fine & (value.abs() != f64::INFINITY)) {
        return Ok(());
    }
    match row.iter().position(|value| value.is_infinite()) {
        Some(position) => Err(Error::Event(format!(
            "X, row {number}: feature {} must be a finite number, got {}.",
            columns.name(column(position)),
            row[position]
        ))),
        None => Ok(()),
    }
}

/// In the table of a batch's columns: not looked up yet.
const UNSEEN: Slot = UNKNOWN - 1;

/// Reads one row after the other; remembers where the columns' names are.
struct Reader<'a> {
    batch: &'a Batch<'a>,
    slots: Vec<Slot>,
    seats: Vec<Slot>,
    event: Entrant,
    columns: Which<'a>,
    /// Whether the view had no seat for some of the event's names.
    unseated: bool,
}

/// The columns of an event's features.
#[derive(Clone)]
enum Which<'a> {
    /// Those of a row of CSR.
    Row(&'a [i32]),
    /// All of them, in order.
    All,
    /// These: others are absent.
    Some(Vec<u32>),
}

impl Which<'_> {
    fn column(&self, position: usize) -> usize {
        match self {
            Self::Row(columns) => columns[position] as usize,
            Self::All => position,
            Self::Some(columns) => columns[position] as usize,
        }
    }
}

/// The names of the row that was read last.
struct Present<'a> {
    columns: &'a Which<'a>,
    names: Columns<'a>,
}

impl Names for Present<'_> {
    fn name(&self, position: usize) -> Name<'_> {
        self.names.name(self.columns.column(position))
    }
}

impl<'a> Reader<'a> {
    fn new(learner: &Learner, batch: &'a Batch<'a>) -> Result<Self, Error> {
        if let Columns::Given(names) = batch.columns {
            for &name in names {
                let check = learner.config.added.check(name);
                check.map_err(|text| Error::Event(format!("names: {text}")))?;
            }
        }
        Ok(Self {
            batch,
            slots: vec![UNSEEN; batch.width],
            seats: vec![UNSEEN; if learner.view.is_some() { batch.width } else { 0 }],
            event: Entrant::default(),
            columns: Which::All,
            unseated: false,
        })
    }

    fn read(&mut self, learner: &Learner, row: usize) {
        if learner.evicts() {
            self.forget();
        }
        let unseen = match self.batch.rows {
            Rows::Csr { indptr, indices, values } => {
                let range = indptr[row] as usize..indptr[row + 1] as usize;
                let (columns, values) = (&indices[range.clone()], &values[range]);
                let index = |position: usize| columns[position] as usize;
                self.take(values, columns.iter().map(|&c| c as usize), index, Which::Row(columns))
            }
            Rows::Dense { values, columns, .. } => {
                let values = &values[row * columns..(row + 1) * columns];
                self.take(values, 0..columns, |position| position, Which::All)
            }
        };
        let names = &self.batch.columns;
        if unseen {
            for (position, feature) in self.event.features.iter_mut().enumerate() {
                if feature.slot == UNSEEN {
                    let column = self.columns.column(position);
                    feature.slot = learner.slot(names.name(column));
                    self.slots[column] = feature.slot;
                }
            }
        }
        if let Some(view) = &learner.view {
            let (seats, event) = (&self.seats, &mut self.event);
            event.seats.clear();
            match &self.columns {
                Which::Row(columns) => {
                    event.seats.extend(columns.iter().map(|&column| seats[column as usize]));
                }
                Which::All => event.seats.extend_from_slice(seats),
                Which::Some(columns) => {
                    event.seats.extend(columns.iter().map(|&column| seats[column as usize]));
                }
            }
            // UNSEEN and UNKNOWN are the two largest.
            self.unseated = event.seats.iter().fold(false, |some, &seat| some | (seat >= UNSEEN));
            if self.unseated {
                for (position, seat) in event.seats.iter_mut().enumerate() {
                    if *seat == UNSEEN {
                        let column = self.columns.column(position);
                        *seat = view.seat(names.name(column));
                        self.seats[column] = *seat;
                    }
                }
            }
        }
    }

    /// The features that are there, with the slots of their columns as far as they are known. True
    /// if some are not.
    fn take(
        &mut self,
        values: &[f64],
        columns: impl Iterator<Item = usize>,
        index: impl Fn(usize) -> usize,
        which: Which<'a>,
    ) -> bool {
        let (features, slots, mut unseen) = (&mut self.event.features, &self.slots, false);
        features.clear();
        features.extend(columns.zip(values).map(|(column, &value)| {
            let slot = slots[column];
            unseen |= slot == UNSEEN;
            Feature { slot, value }
        }));
        self.columns = which;
        if values.iter().fold(false, |some, value| some | value.is_nan()) {
            features.retain(|feature| !feature.value.is_nan());
            let there = (0..values.len()).filter(|&position| !values[position].is_nan());
            self.columns = Which::Some(there.map(|position| index(position) as u32).collect());
        }
        unseen
    }

    fn decide(&mut self, learner: &mut Learner) -> Result<Decision, Error> {
        let names = Present { columns: &self.columns, names: self.batch.columns };
        let decision = learner.decide(&mut self.event, &names)?;
        self.remember_seats();
        Ok(decision)
    }

    /// Learn the row that was just decided on.
    fn study(
        &mut self,
        learner: &mut Learner,
        label: &Label,
        decision: &Decision,
    ) -> Result<(), Error> {
        let names = Present { columns: &self.columns, names: self.batch.columns };
        let (weight, products) = (decision.weight(), Some(decision.products()));
        if learner.study(&mut self.event.features, &names, label, weight, products)? {
            self.remember_slots();
        }
        Ok(())
    }

    fn learn(&mut self, learner: &mut Learner, label: &Label) -> Result<(), Error> {
        let names = Present { columns: &self.columns, names: self.batch.columns };
        if learner.learn(&mut self.event, &names, label)? {
            self.remember_slots();
        }
        self.remember_seats();
        Ok(())
    }

    /// Look the names of the row that was read last up again: where names are let go, slots change.
    fn forget(&mut self) {
        // The learner's own features may stand at the end.
        for position in 0..self.event.features.len().min(self.count()) {
            let column = self.columns.column(position);
            self.slots[column] = UNSEEN;
            if let Some(seat) = self.seats.get_mut(column) {
                *seat = UNSEEN;
            }
        }
    }

    /// How many features the row has.
    fn count(&self) -> usize {
        match &self.columns {
            Which::Row(columns) => columns.len(),
            Which::All => self.batch.width,
            Which::Some(columns) => columns.len(),
        }
    }

    fn remember_slots(&mut self) {
        for (position, feature) in self.event.features.iter().take(self.count()).enumerate() {
            self.slots[self.columns.column(position)] = feature.slot;
        }
    }

    fn remember_seats(&mut self) {
        if std::mem::take(&mut self.unseated) {
            for (position, &seat) in self.event.seats.iter().enumerate() {
                self.seats[self.columns.column(position)] = seat;
            }
        }
    }
}

fn at_row(row: usize, error: Error) -> Error {
    match error {
        Error::Event(text) => Error::Event(format!("X, row {row}: {text}")),
        Error::Label(text) => Error::Label(format!("y, row {row}: {text}")),
        Error::Step(text) => {
            Error::Step(format!("X, row {row}: {text} The rows before it were done."))
        }
        other => other,
    }
}

impl Learner {
    /// Check that labels fit, as if they were learned in this order.
    pub fn check_labels<'a>(
        &self,
        labels: impl IntoIterator<Item = Option<&'a Label>>,
    ) -> Result<(), Error> {
        let mut known = self.labels().clone();
        let mut fine = [None, None]; // the last two that were looked at: most are one of them
        for (row, label) in labels.into_iter().enumerate() {
            let Some(label) = label else { continue };
            if fine.iter().flatten().any(|&one| label.is_written_like(one)) {
                continue;
            }
            let reading = known.read(label).map_err(|error| at_row(row, error))?;
            if known.is_binary() {
                known.learn(&reading, label); // its form binds those that follow
            }
            fine = [Some(label), fine[0]];
        }
        Ok(())
    }

    /// The whole loop: decide on each event, and learn those asked for whose label there is.
    ///
    /// `decided` is told each decision. `tick` is called before each row; its `false` stops the batch there.
    pub fn simulate(
        &mut self,
        batch: &Batch<'_>,
        labels: &[Option<Label>],
        mut decided: impl FnMut(Decision),
        mut tick: impl FnMut(usize) -> bool,
    ) -> Result<(), Error> {
        self.check_labels(labels.iter().map(Option::as_ref))?;
        let mut reader = Reader::new(self, batch)?;
        for (row, label) in labels.iter().enumerate() {
            if !tick(row) {
                return Err(Error::Interrupted);
            }
            reader.read(self, row);
            let decision = reader.decide(self).map_err(|error| at_row(row, error))?;
            decided(decision);
            if let (true, Some(label)) = (decision.asked, label) {
                reader.study(self, label, &decision).map_err(|error| at_row(row, error))?;
            }
        }
        Ok(())
    }

    /// Learn every event.
    pub fn learn_many(
        &mut self,
        batch: &Batch<'_>,
        labels: &[Label],
        mut tick: impl FnMut(usize) -> bool,
    ) -> Result<(), Error> {
        self.check_labels(labels.iter().map(Some))?;
        let mut reader = Reader::new(self, batch)?;
        for (row, label) in labels.iter().enumerate() {
            if !tick(row) {
                return Err(Error::Interrupted);
            }
            reader.read(self, row);
            reader.learn(self, label).map_err(|error| at_row(row, error))?;
        }
        Ok(())
    }

    /// Show each event's features to `visit`.
    pub fn visit(
        &self,
        batch: &Batch<'_>,
        mut tick: impl FnMut(usize) -> bool,
        mut visit: impl FnMut(&Self, &[Feature]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut reader = Reader::new(self, batch)?;
        for row in 0..batch.len() {
            if !tick(row) {
                return Err(Error::Interrupted);
            }
            reader.read(self, row);
            self.look(&mut reader.event)
                .and_then(|()| visit(self, &reader.event.features))
                .map_err(|error| at_row(row, error))?;
        }
        Ok(())
    }
}
