//! Which new names enter the feature table, and which ids they get.

use crate::error::Error;
use crate::event::{FeatureId, Name, Names, UNKNOWN};
use crate::learner::Learner;
use crate::learner::event_buffer::EventBuffer;

impl Learner {
    /// Give an event's new names the ids that they will get, in the sorted order of the names, and list their
    /// positions in `event.new`. Names that there is no room for keep `UNKNOWN`;
    /// returns how many. [`Self::insert_names`] makes the names known.
    #[inline(always)]
    pub(super) fn admit(
        &self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
    ) -> Result<usize, Error> {
        event.new.clear();
        if event.known { Ok(0) } else { self.admit_new(event, names) }
    }

    #[inline(never)]
    fn admit_new(
        &self,
        event: &mut EventBuffer,
        names: &(impl Names + ?Sized),
    ) -> Result<usize, Error> {
        let EventBuffer { features, new, known, .. } = event;
        let given = features.len();
        new.extend((0..given).filter(|&position| features[position].id == UNKNOWN));
        new.sort_unstable_by(|&a, &b| names.name(a).cmp(&names.name(b)));
        let all = new.len();
        if let Some(capacity) = self.config.capacity {
            new.truncate(capacity.room(self.given_names(), given - all));
        }
        self.table.room_for(new.len())?;
        for (rank, &position) in new.iter().enumerate() {
            features[position].id = (self.table.len() + rank) as FeatureId;
        }
        *known = all == new.len();
        Ok(all - new.len())
    }

    /// Take the memory for the admitted names, so that making them known cannot fail.
    #[inline(always)]
    pub(super) fn reserve_names(
        &mut self,
        event: &EventBuffer,
        names: &(impl Names + ?Sized),
    ) -> Result<(), Error> {
        if event.new.is_empty() {
            return Ok(());
        }
        self.table.reserve(event.new.iter().map(|&position| names.name(position)))
    }

    /// Make the admitted names known.
    #[inline]
    pub(super) fn insert_names(&mut self, new: &[usize], names: &(impl Names + ?Sized)) {
        for &position in new {
            self.table.insert(names.name(position));
        }
    }

    /// Refuse a name that no event may have.
    pub(super) fn check_name(&self, name: Name<'_>) -> Result<(), String> {
        self.config.own.check(name).and_then(|()| name.check_length())
    }
}
