//! Finds the feature ids of a record's names, with as little hashing as possible.
//!
//! Unless features are evicted an id never changes, so ids can be cached. Columns
//! have a table. Recent texts are in another table, by a fingerprint of a few of their bytes.

use crate::event::{FeatureId, FeatureValue, Name, Names, UNKNOWN};
use crate::feature_table::FeatureTable;
use crate::learner::Learner;
use crate::learner::event_buffer::EventBuffer;
use crate::readers::fingerprint::Fingerprint;
use crate::readers::record::{NameRef, RecordNames, is_there_twice};

/// The smallest and the largest number of pairs in the table of texts.
const FEWEST: usize = 1 << 7;
const MOST: usize = 1 << 16;

/// A recent text and its id.
#[derive(Clone, Copy)]
struct CachedName {
    fingerprint: Fingerprint,
    id: FeatureId,
}

const NONE: CachedName = CachedName { fingerprint: Fingerprint::NONE, id: UNKNOWN };

/// Two texts with the same place in the table, in one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine([CachedName; 2]);

/// Cached ids by column and by text. Those of numbers are in the feature table as they are wanted here.
#[derive(Default)]
struct IdCache {
    columns: Vec<FeatureId>,
    texts: Vec<CacheLine>,
    /// The hash of a text, shifted right by this, is the index of its pair.
    shift: u32,
}

impl IdCache {
    /// The id of the name at a position, or `UNKNOWN`.
    #[inline(always)]
    fn find(
        &mut self,
        table: &FeatureTable,
        given: &RecordNames<'_>,
        position: usize,
    ) -> FeatureId {
        let known = match given.places[position] {
            NameRef::Number(number) => return table.id(Name::Number(number)),
            NameRef::Column(column) => self.columns.get(column as usize),
            NameRef::Line { start, end } => {
                let fingerprint = Fingerprint::of(given.line.as_bytes(), start, end);
                return self.find_text(table, given, position, fingerprint);
            }
            NameRef::Text { start, end } => {
                let fingerprint = Fingerprint::of(given.texts.as_bytes(), start, end);
                return self.find_text(table, given, position, fingerprint);
            }
        };
        match known {
            Some(&id) if id != UNKNOWN => id,
            _ => self.look_up_column(table, given, position),
        }
    }

    #[inline(never)]
    fn look_up_column(
        &mut self,
        table: &FeatureTable,
        given: &RecordNames<'_>,
        position: usize,
    ) -> FeatureId {
        let id = table.id(given.name(position));
        if let NameRef::Column(column) = given.places[position] {
            let index = column as usize;
            if index >= self.columns.len() {
                self.columns.resize((index + 1).next_power_of_two(), UNKNOWN);
            }
            self.columns[index] = id;
        }
        id
    }

    #[inline(always)]
    fn find_text(
        &mut self,
        table: &FeatureTable,
        given: &RecordNames<'_>,
        position: usize,
        fingerprint: Fingerprint,
    ) -> FeatureId {
        if let Some(CacheLine(pair)) = self.texts.get((fingerprint.hash() >> self.shift) as usize) {
            for cached in pair {
                if cached.fingerprint == fingerprint
                    && (fingerprint.is_all() || is_name(table, cached.id, given, position))
                {
                    return cached.id;
                }
            }
        }
        self.look_up_text(table, given, position, fingerprint)
    }

    #[inline(never)]
    fn look_up_text(
        &mut self,
        table: &FeatureTable,
        given: &RecordNames<'_>,
        position: usize,
        fingerprint: Fingerprint,
    ) -> FeatureId {
        let id = table.id(given.name(position));
        if id == UNKNOWN {
            return id;
        }
        if self.texts.len() < table.len().min(MOST) {
            let pairs = (2 * table.len()).next_power_of_two().clamp(FEWEST, MOST);
            self.texts = vec![CacheLine([NONE; 2]); pairs];
            self.shift = u64::BITS - pairs.ilog2();
        }
        let CacheLine([first, second]) =
            &mut self.texts[(fingerprint.hash() >> self.shift) as usize];
        *(if first.id == UNKNOWN { first } else { second }) = CachedName { fingerprint, id };
        id
    }
}

/// Whether an id is that of the name at a position: fingerprints of long texts may be equal by
/// chance.
#[inline(never)]
fn is_name(table: &FeatureTable, id: FeatureId, given: &RecordNames<'_>, position: usize) -> bool {
    table.name(id) == given.name(position)
}

/// Finds the ids of a file's names, record after record.
#[derive(Default)]
pub struct NameResolver {
    ids: IdCache,
    /// The last event that carried each id, to detect a name that an event has twice.
    last_event: Vec<u64>,
    events: u64,
}

impl NameResolver {
    /// Fill in the ids of a record's features. Refuse a name that the record has twice, or that is one of
    /// the learner's own.
    pub fn find(
        &mut self,
        learner: &Learner,
        event: &mut EventBuffer,
        given: &RecordNames<'_>,
        may_repeat: bool,
    ) -> Result<(), String> {
        self.events += 1;
        let (mut known, mut squares) = (true, 0.0);
        for (position, feature) in event.features.iter_mut().enumerate() {
            feature.id = if learner.evicts() {
                learner.table.id(given.name(position))
            } else {
                self.ids.find(&learner.table, given, position)
            };
            known &= feature.id != UNKNOWN;
            squares += feature.value * feature.value;
        }
        (event.known, event.squared_norm) = (known, squares);
        let own = learner.own_names().len() as FeatureId; // they are the first of the table
        if own > 0
            && let Some(position) = event.features.iter().position(|feature| feature.id < own)
        {
            learner.config.own.check(given.name(position))?;
        }
        if may_repeat {
            self.check(&event.features, learner.table.len(), given)?;
        }
        Ok(())
    }

    /// Refuse a name that the record has twice.
    fn check(
        &mut self,
        features: &[FeatureValue],
        names: usize,
        given: &RecordNames<'_>,
    ) -> Result<(), String> {
        if self.last_event.len() < names {
            self.last_event.resize(names.next_power_of_two().min(UNKNOWN as usize), 0);
        }
        let mut unknown = 0;
        for (position, feature) in features.iter().enumerate() {
            // An unknown id lies behind the end.
            if let Some(last) = self.last_event.get_mut(feature.id as usize) {
                if std::mem::replace(last, self.events) == self.events {
                    return Err(is_there_twice(given.name(position)));
                }
            } else {
                unknown += 1;
                given.name(position).check_length()?; // names that cannot repeat are numbers
            }
        }
        if unknown > 1 {
            let positions = 0..features.len() as u32;
            let unknown = positions.filter(|&i| features[i as usize].id == UNKNOWN);
            given.check_some(unknown.collect())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::EvictionPolicy;
    use crate::feature_table::SMALL;
    use crate::label::Label;
    use crate::learner::Config;
    use crate::learner::own_features::OwnFeatures;
    use crate::learner::testing::{
        PA, STREAM, after_stream, buffer_of, learn, learner, limited, linear, looked_up, spring,
    };
    use crate::rules::query::QueryRule;

    #[test]
    fn a_cached_id_is_always_that_of_the_table() {
        let mut texts: Vec<String> = (0..3_000).map(|i| format!("word-{i}")).collect();
        texts.extend((0..300).map(|i| format!("begins-alike-{i}-ends-alike")));
        texts.extend((0..20).map(|length| "x".repeat(length)));
        texts.push("äöü".to_owned());
        let mut table = FeatureTable::default();
        let mut cache = IdCache::default();
        for round in 0..4 {
            // Each name has others beside it in the line and in the texts. Some are learned later.
            let line = texts.join("\"");
            let (mut places, mut start) = (Vec::new(), 0);
            for text in &texts {
                let (from, to) = (start as u32, (start + text.len()) as u32);
                places.push(NameRef::Line { start: from, end: to });
                places.push(NameRef::Text { start: from, end: to });
                start += text.len() + 1;
            }
            for number in [-1, 0, 7, SMALL - 1, SMALL, i64::MAX] {
                places.push(NameRef::Number(number));
            }
            places.extend((0..20).map(NameRef::Column));
            let given = RecordNames { line: &line, header: &texts, texts: &line, places: &places };
            for position in 0..places.len() {
                let id = cache.find(&table, &given, position);
                assert_eq!(id, table.id(given.name(position)), "{}", given.name(position));
            }
            for position in (round..places.len()).step_by(3) {
                let name = given.name(position);
                if table.id(name) == UNKNOWN {
                    table.insert(name);
                }
            }
        }
        assert_ne!(table.id(Name::Text("word-7")), UNKNOWN);
        assert!((table.len()..MOST).contains(&cache.texts.len()));
    }

    /// Resolve a record whose names all are texts in its line, side by side.
    fn resolve(
        resolver: &mut NameResolver,
        learner: &Learner,
        names: &[&str],
    ) -> Result<EventBuffer, String> {
        let line = names.concat();
        let (mut places, mut start) = (Vec::new(), 0);
        for name in names {
            let end = start + name.len() as u32;
            places.push(NameRef::Line { start, end });
            start = end;
        }
        let given = RecordNames { line: &line, header: &[], texts: "", places: &places };
        let mut event = buffer_of(names.iter().map(|_| 1.0));
        resolver.find(learner, &mut event, &given, true)?;
        Ok(event)
    }

    #[test]
    fn ids_are_those_of_a_lookup_even_while_features_are_evicted() {
        let evicting = limited(2, EvictionPolicy::Oldest);
        for config in [spring(QueryRule::All), Config { scaled: true, ..evicting }] {
            let (mut learner, mut resolver) = (learner(config), NameResolver::default());
            for (event, positive) in STREAM {
                let names: Vec<&str> = event.iter().map(|&(name, _)| name).collect();
                let found = resolve(&mut resolver, &learner, &names).unwrap();
                let expected = looked_up(&learner, event).unwrap();
                for (a, b) in found.features.iter().zip(&expected.features) {
                    assert_eq!(a.id, b.id);
                }
                learn(&mut learner, event, &Label::Bool(positive)).unwrap();
            }
        }
    }

    #[test]
    fn a_name_that_a_record_has_twice_is_refused_whether_it_is_known_or_not() {
        let (learner, mut resolver) = (after_stream(linear(PA)), NameResolver::default());
        for names in [["a", "b", "a"], ["new", "a", "new"]] {
            let sentence = resolve(&mut resolver, &learner, &names).err().unwrap();
            assert!(sentence.contains(names[0]), "{sentence}");
        }
        assert!(resolve(&mut resolver, &learner, &["a", "new", "b", "other"]).is_ok());
        assert!(resolve(&mut resolver, &learner, &["a"]).is_ok()); // in two records it is fine
    }

    #[test]
    fn the_name_of_an_own_feature_is_refused_before_and_after_it_is_learned() {
        let config = Config { own: OwnFeatures::Intercept, ..linear(PA) };
        for learner in [learner(config.clone()), after_stream(config)] {
            let mut resolver = NameResolver::default();
            assert!(resolve(&mut resolver, &learner, &["a", "(intercept)"]).is_err());
            assert!(resolve(&mut resolver, &learner, &["a", "intercept"]).is_ok());
        }
    }
}
