//! Registers of two parts of a stream as one.

use crate::error::Error;
use crate::event::{FeatureId, UNKNOWN};
use crate::register::Register;
use crate::register::entry::Entry;
use crate::register::finding::FindingKind;

impl Register {
    /// Go on with what a later part of the same stream has brought. When and how often each feature was seen, its
    /// last values and the counts are those of a register that has seen both parts. A rhythm and a scale are those
    /// of the later part where it knows them, else of the earlier one. A feature is not born in the later part if
    /// the earlier one knows it. An error has changed nothing.
    pub fn merge(&mut self, later: &Self) -> Result<(), Error> {
        let refused = |text: &str| Err(Error::Parameter(format!("merge: {text}")));
        if later.events == 0 {
            return Ok(());
        }
        if self.config != later.config {
            return refused("the two registers must have the same cycle and max_features.");
        }
        if self.events == 0 {
            self.clone_from(later);
            return Ok(());
        }
        if self.timed != later.timed {
            return refused("one register has times and the other has none.");
        }
        let timed = self.timed == Some(true);
        if timed && later.start < self.time {
            return refused(
                "the other register must begin where this one ends, and begins before.",
            );
        }
        let shift = self.events;
        let time_shift = if timed { 0.0 } else { shift as f64 };
        let (known, clock) = (self.entries.len() as FeatureId, self.clock());
        let mut ids = Vec::with_capacity(later.entries.len());
        for (entry, name) in later.entries.iter().zip(later.table.names()) {
            let entry = entry.shifted(shift, time_shift);
            let mut id = self.table.id(name);
            if id == UNKNOWN {
                self.table.room_for(1)?;
                id = self.table.insert(name);
                self.entries.push(entry);
            } else {
                self.entries[id as usize].merge(&entry, &clock);
            }
            ids.push(id);
        }
        self.events += later.events;
        self.time = later.time + time_shift;
        for mut finding in later.log.since(0).cloned() {
            let id = self.table.id(finding.name.borrow());
            if finding.kind == FindingKind::Born && id < known {
                continue;
            }
            finding.event += shift;
            finding.time += time_shift;
            self.log.push(finding);
        }
        self.newborns.merge(&later.newborns, &ids, shift, known);
        self.place_newborns();
        let is_watched = |entry: &&Entry| entry.life.as_deref().is_some_and(|life| life.watched);
        self.watched = self.entries.iter().filter(is_watched).count() as u64;
        self.evicted += later.evicted;
        self.set_alarms();
        self.evict(&mut []);
        Ok(())
    }
}
