//! Features that came late, their first values, and whether one of them measures what another did that is
//! silent now.

use serde::{Deserialize, Serialize};

use crate::event::FeatureId;
use crate::register::kept::Kept;
use crate::storage::index_remap::IndexRemap;

/// How many newborns are watched at a time: beyond that, the one seen longest ago is dropped.
const MOST: usize = 64;
/// How many values of each are kept.
const VALUES: usize = 500;
/// The fewest events that carried both features.
const PAIRS: usize = 12;
/// The least correlation of their values,
const CORRELATION: f64 = 0.7;
/// and how sure that of their steps must be, in standard errors.
const STEPS: f64 = 4.0;

/// A feature that came late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Newborn {
    id: FeatureId,
    last: u64,
    /// Event and value.
    seen: Vec<(u64, f64)>,
}

/// The newborns that are watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Newborns {
    watched: Vec<Newborn>,
}

impl Newborns {
    /// Watch a feature that was seen so far with these events and values. Returns its place, and the feature that
    /// is dropped for it.
    pub fn add(&mut self, id: FeatureId, seen: Vec<(u64, f64)>) -> (u8, Option<FeatureId>) {
        let newborn = Newborn { id, last: seen.last().map_or(0, |last| last.0), seen };
        if self.watched.len() < MOST {
            self.watched.push(newborn);
            return (self.watched.len() as u8 - 1, None);
        }
        let age = |place: &usize| (self.watched[*place].last, self.watched[*place].id);
        let oldest = (0..MOST).min_by_key(age).unwrap_or(0);
        let dropped = std::mem::replace(&mut self.watched[oldest], newborn);
        (oldest as u8, Some(dropped.id))
    }

    /// Count a value of the feature at this place; whether it is watched on.
    pub fn note(&mut self, place: u8, event: u64, value: f64) -> bool {
        let newborn = &mut self.watched[usize::from(place)];
        newborn.last = event;
        newborn.seen.push((event, value));
        newborn.seen.len() < VALUES
    }

    /// The newborn that is most like a feature with these last values, and their correlation.
    pub fn successor(&self, id: FeatureId, kept: &Kept) -> Option<(f64, FeatureId)> {
        let mut newborns: Vec<&Newborn> = self.watched.iter().collect();
        newborns.sort_unstable_by_key(|newborn| (newborn.last, newborn.id));
        let mut best: Option<(f64, FeatureId)> = None;
        for newborn in newborns.into_iter().filter(|newborn| newborn.id != id) {
            if let Some(r) = likeness(&pairs(kept, &newborn.seen))
                && best.is_none_or(|(most, _)| r.abs() > most.abs())
            {
                best = Some((r, newborn.id));
            }
        }
        best
    }

    /// The features that are watched and have values to come, with their places.
    pub fn places(&self) -> impl Iterator<Item = (FeatureId, u8)> + '_ {
        let places = self.watched.iter().zip(0..);
        places
            .filter(|(newborn, _)| newborn.seen.len() < VALUES)
            .map(|(newborn, place)| (newborn.id, place))
    }

    pub fn retain(&mut self, remap: &IndexRemap) {
        self.watched.retain(|newborn| remap.of(newborn.id) != crate::event::UNKNOWN);
        for newborn in &mut self.watched {
            newborn.id = remap.of(newborn.id);
        }
    }

    /// Go on with those of a later part of the stream, whose features have these `ids` and whose events are
    /// `shift` later. What was `known` is no newborn.
    pub fn merge(&mut self, later: &Self, ids: &[FeatureId], shift: u64, known: FeatureId) {
        for newborn in &later.watched {
            let id = ids[newborn.id as usize];
            let seen = newborn.seen.iter().map(|&(event, value)| (event + shift, value));
            if let Some(own) = self.watched.iter_mut().find(|own| own.id == id) {
                own.seen.extend(seen.take(VALUES - own.seen.len()));
                own.last = newborn.last + shift;
            } else if id >= known {
                let last = newborn.last + shift;
                self.watched.push(Newborn { id, last, seen: seen.collect() });
            }
        }
        self.watched.sort_unstable_by_key(|newborn| std::cmp::Reverse((newborn.last, newborn.id)));
        self.watched.truncate(MOST);
    }

    /// In one order, whatever happened before: as it is saved.
    pub fn sorted(&self) -> Self {
        let mut watched = self.watched.clone();
        watched.sort_unstable_by_key(|newborn| newborn.id);
        Self { watched }
    }

    /// What is wrong with saved newborns.
    pub fn check(&self, names: usize, events: u64) -> Result<(), &'static str> {
        let rises = self.watched.windows(2).all(|pair| pair[0].id < pair[1].id);
        let fits = |newborn: &Newborn| {
            let seen = &newborn.seen;
            (newborn.id as usize) < names
                && (1..=VALUES).contains(&seen.len())
                && seen.windows(2).all(|pair| pair[0].0 < pair[1].0)
                && seen.iter().all(|&(event, value)| event <= events && value.is_finite())
        };
        if self.watched.len() > MOST || !rises || !self.watched.iter().all(fits) {
            return Err("its newborns are not as they should be");
        }
        Ok(())
    }
}

/// The values of two features in the events that carried both.
fn pairs(kept: &Kept, seen: &[(u64, f64)]) -> Vec<(f64, f64)> {
    let mut next = 0;
    let mut found = Vec::new();
    for (event, x) in kept.iter() {
        while next < seen.len() && seen[next].0 < event {
            next += 1;
        }
        if next < seen.len() && seen[next].0 == event {
            found.push((x, seen[next].1));
        }
    }
    found
}

/// The correlation of two features, if their steps are correlated too: levels that drift are alike by chance.
fn likeness(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < PAIRS {
        return None;
    }
    let steps: Vec<(f64, f64)> =
        pairs.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1)).collect();
    let (r, s) = (correlation(pairs), correlation(&steps));
    if r.abs() < CORRELATION || r * s <= 0.0 {
        return None;
    }
    let sure = s * s * steps.len() as f64 >= STEPS * STEPS * (1.0 - s * s);
    sure.then_some(r)
}

fn correlation(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let (mut mean_x, mut mean_y) = (0.0, 0.0);
    for &(x, y) in pairs {
        mean_x += x;
        mean_y += y;
    }
    (mean_x, mean_y) = (mean_x / n, mean_y / n);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for &(x, y) in pairs {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    if xx == 0.0 || yy == 0.0 { 0.0 } else { xy / (xx * yy).sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(i: u64) -> f64 {
        ((i * 7_919 + 13) % 101) as f64
    }

    #[test]
    fn a_newborn_that_measures_the_same_is_found_by_the_events_that_carried_both() {
        let (mut kept, mut newborns) = (Kept::default(), Newborns::default());
        assert_eq!(newborns.add(5, vec![(30, -noise(30))]), (0, None));
        assert_eq!(newborns.add(6, vec![(30, noise(1_000))]), (1, None));
        for event in 1..=60 {
            kept.push(event, 2.0 * noise(event));
            if event > 30 {
                assert!(newborns.note(0, event, -noise(event)));
                newborns.note(1, event, noise(1_000 + event * event));
            }
        }
        let (r, id) = newborns.successor(1, &kept).unwrap();
        assert_eq!((id, (r * 1e9).round()), (5, -1e9));
    }

    #[test]
    fn without_an_overlap_nothing_is_claimed() {
        let (mut kept, mut newborns) = (Kept::default(), Newborns::default());
        (1..=60).for_each(|event| kept.push(event, noise(event)));
        newborns.add(5, vec![(61, noise(61))]);
        (62..=160).for_each(|event| assert!(newborns.note(0, event, noise(event))));
        assert_eq!(newborns.successor(1, &kept), None);
    }

    #[test]
    fn levels_that_drift_alike_without_common_steps_are_not_alike() {
        let drift = |i: u64, k: u64| i as f64 + noise(i * k) / 25.0;
        let found: Vec<(f64, f64)> = (0..60).map(|i| (drift(i, 3), drift(i, 11))).collect();
        assert!(correlation(&found) > 0.9);
        assert_eq!(likeness(&found), None);
    }

    #[test]
    fn the_newborn_seen_longest_ago_is_dropped() {
        let mut newborns = Newborns::default();
        for id in 0..64 {
            assert_eq!(newborns.add(id, vec![(1, 0.0)]), (id as u8, None));
        }
        newborns.note(0, 2, 0.0);
        assert_eq!(newborns.add(64, vec![(3, 0.0)]), (1, Some(1)));
    }
}
