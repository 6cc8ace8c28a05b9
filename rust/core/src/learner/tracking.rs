//! A register beside a feature table: a name is looked up once for both.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::event::{FeatureId, Name, Names, UNKNOWN};
use crate::feature_table::FeatureTable;
use crate::learner::event_buffer::EventBuffer;
use crate::register::Register;
use crate::storage::index_remap::IndexRemap;

/// A register beside a feature table.
#[derive(Clone, Debug)]
pub(super) struct Tracking {
    pub(super) register: Register,
    /// The register's id of each id of the feature table, so that a name is looked up once.
    ids: Vec<FeatureId>,
    /// The time of the events that follow.
    pub(super) time: Option<f64>,
    /// Of the event at hand.
    found: Vec<FeatureId>,
}

impl Tracking {
    pub(super) fn new(register: Register) -> Self {
        let time = register.time();
        Self { register, ids: Vec::new(), time, found: Vec::new() }
    }

    /// Forget the ids of features that the learner has evicted.
    pub(super) fn retain(&mut self, remap: &IndexRemap) {
        let rows = self.ids.len();
        self.ids.resize(rows.max(remap.ids()), UNKNOWN);
        remap.retain(&mut self.ids, 1);
    }

    /// Keep the values of an event as they came.
    #[inline(never)]
    pub(super) fn before(&self, event: &mut EventBuffer) -> Result<(), Error> {
        self.register.check_time(self.time)?;
        event.raw.clear();
        event.raw.extend(event.features.iter().map(|feature| feature.value));
        event.untracked = true;
        Ok(())
    }

    /// Count an event, whose features may be known by their ids in the `table` alone.
    pub(super) fn observe(
        &mut self,
        event: &EventBuffer,
        names: &(impl Names + ?Sized),
        table: &FeatureTable,
    ) {
        let Self { register, ids, time, found } = self;
        found.clear();
        found.extend(
            event
                .features
                .iter()
                .map(|feature| ids.get(feature.id as usize).copied().unwrap_or(UNKNOWN)),
        );
        let (evicted, known) = (register.evicted(), !found.contains(&UNKNOWN));
        if register.observe(found, &event.raw, &KnownNames { event, names, table }, *time).is_err()
        {
            return; // there is no memory for new names; the learner had some
        }
        if register.evicted() != evicted {
            ids.clear();
        } else if known {
            return;
        }
        for (feature, &id) in event.features.iter().zip(found.iter()) {
            if feature.id != UNKNOWN {
                if feature.id as usize >= ids.len() {
                    ids.resize(feature.id as usize + 1, UNKNOWN);
                }
                ids[feature.id as usize] = id;
            }
        }
    }
}

/// The names of an event: of features that the table knows, those of the table.
struct KnownNames<'a, N: ?Sized> {
    event: &'a EventBuffer,
    names: &'a N,
    table: &'a FeatureTable,
}

impl<N: Names + ?Sized> Names for KnownNames<'_, N> {
    fn name(&self, position: usize) -> Name<'_> {
        match self.event.features[position].id {
            UNKNOWN => self.names.name(position),
            id => self.table.name(id),
        }
    }
}

/// A register within the state of a learner.
pub(super) struct RegisterBytes(pub(super) Vec<u8>);

impl Serialize for RegisterBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for RegisterBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(|bytes| Self(bytes.to_vec()))
    }
}
