//! The names of a batch's columns, checked once, with the ids that learners have for them.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::event::{FeatureId, Name, OwnedName, UNKNOWN};
use crate::learner::Learner;

/// In place of an id in the table of a batch's columns: not looked up yet.
pub(super) const UNSEEN: FeatureId = UNKNOWN - 1;

/// The names of a batch's columns.
#[derive(Clone, Copy, Debug)]
pub enum ColumnNames<'a> {
    Numbers,
    Listed(&'a [Name<'a>]),
    /// Names that keep their ids for the learner with this number, which no other learner has.
    Kept(&'a FeatureNames, u64),
}

impl ColumnNames<'_> {
    pub(super) fn name(&self, column: usize) -> Name<'_> {
        match self {
            Self::Numbers => Name::Number(column as i64),
            Self::Listed(names) => names[column],
            Self::Kept(names, _) => names.name(column),
        }
    }
}

/// Names without repetitions. Several learners and threads can use them.
#[derive(Debug)]
pub struct FeatureNames {
    names: Vec<OwnedName>,
    found: Mutex<Vec<FoundIds>>,
}

/// The ids that the names of columns had in a learner.
#[derive(Clone, Debug)]
struct FoundIds {
    /// Which learner.
    owner: u64,
    /// How many names it knew.
    known: usize,
    ids: Arc<Vec<FeatureId>>,
}

/// The ids of so many learners are kept.
const OWNERS: usize = 16;

impl FeatureNames {
    pub fn new(names: Vec<OwnedName>) -> Result<Self, Error> {
        check_names(&names.iter().map(OwnedName::borrow).collect::<Vec<_>>(), names.len())?;
        Ok(Self { names, found: Mutex::default() })
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    pub fn name(&self, column: usize) -> Name<'_> {
        self.names[column].borrow()
    }

    pub fn iter(&self) -> impl Iterator<Item = Name<'_>> {
        self.names.iter().map(OwnedName::borrow)
    }

    /// The ids that were found for this learner before, as far as they still hold; if the learner `changes`, its
    /// caller alone has them.
    pub(super) fn ids(
        &self,
        owner: u64,
        learner: &Learner,
        changes: bool,
    ) -> Option<Arc<Vec<FeatureId>>> {
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().position(|found| found.owner == owner)?;
        let found = if changes { all.swap_remove(place) } else { all[place].clone() };
        let FoundIds { known, mut ids, .. } = found;
        if known != learner.names() {
            let unknown = Arc::make_mut(&mut ids).iter_mut().filter(|id| **id == UNKNOWN);
            unknown.for_each(|id| *id = UNSEEN); // it may be known by now
        }
        Some(ids)
    }

    /// Keep ids that were found.
    pub(super) fn keep(&self, owner: u64, learner: &Learner, ids: Arc<Vec<FeatureId>>) {
        if learner.evicts() {
            return; // ids change
        }
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|found| found.owner != owner);
        if all.len() == OWNERS {
            all.remove(0);
        }
        all.push(FoundIds { owner, known: learner.names(), ids });
    }
}

pub(super) fn check_count(names: usize, width: usize) -> Result<(), Error> {
    if names == width {
        return Ok(());
    }
    Err(Error::Event(format!("names: expected one per column, {width} in all, got {names}.")))
}

pub(super) fn check_names(names: &[Name<'_>], width: usize) -> Result<(), Error> {
    check_count(names.len(), width)?;
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::Event(format!("names: {} is given twice.", pair[0]))),
        None => Ok(()),
    }
}
