//! When which feature has to be looked at because it may have gone silent: no event looks at all features.
//!
//! A feature is silent when its absence is unusual in events and in time. It waits for an event first, then for a
//! time. An arrival leaves the alarm where it is, unless it would come too late: most alarms are found to be early,
//! and set again. So a feature costs one alarm per several arrivals, and its patience is worked out only then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::event::FeatureId;

/// The alarm of a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alarm {
    #[default]
    None,
    /// With this event.
    Event(u64),
    /// At this time, as [`time_key`] writes it.
    Time(u64),
}

/// How many of the next events have a list of their own.
const NEAR: u64 = 256;

/// The alarms that wait. One that is not the feature's own alarm any more is ignored.
#[derive(Clone, Debug)]
pub struct Alarms {
    /// Those of the next events: event `e` in the list `e % NEAR`.
    near: Vec<Vec<FeatureId>>,
    events: BinaryHeap<Reverse<(u64, FeatureId)>>,
    times: BinaryHeap<Reverse<(u64, FeatureId)>>,
}

impl Default for Alarms {
    fn default() -> Self {
        let near = vec![Vec::new(); NEAR as usize];
        Self { near, events: BinaryHeap::new(), times: BinaryHeap::new() }
    }
}

impl Alarms {
    /// Set an alarm for after the event `now`.
    #[inline]
    pub fn set(&mut self, id: FeatureId, alarm: Alarm, now: u64) {
        match alarm {
            Alarm::None => {}
            Alarm::Event(key) if key.wrapping_sub(now) < NEAR => {
                self.near[(key % NEAR) as usize].push(id);
            }
            Alarm::Event(key) => self.events.push(Reverse((key, id))),
            Alarm::Time(key) => self.times.push(Reverse((key, id))),
        }
    }

    /// The next alarm that is due. Every event takes all of its own.
    pub fn pop(&mut self, event: u64, time: f64) -> Option<(FeatureId, Alarm)> {
        if let Some(id) = self.near[(event % NEAR) as usize].pop() {
            return Some((id, Alarm::Event(event)));
        }
        if let Some(&Reverse((key, id))) = self.events.peek()
            && key <= event
        {
            self.events.pop();
            return Some((id, Alarm::Event(key)));
        }
        if let Some(&Reverse((key, id))) = self.times.peek()
            && key <= ordered(time)
        {
            self.times.pop();
            return Some((id, Alarm::Time(key)));
        }
        None
    }

    /// How many wait for a far event or for a time.
    pub fn far(&self) -> usize {
        self.events.len() + self.times.len()
    }

    pub fn clear(&mut self) {
        self.near.iter_mut().for_each(Vec::clear);
        self.events.clear();
        self.times.clear();
    }
}

/// The first event of a gap that is longer than `patience`.
pub fn event_key(last: u64, patience: f64) -> u64 {
    last.saturating_add(patience as u64).saturating_add(1)
}

/// A moment shortly before the end of `patience`: what rounding takes away must not make it late.
pub fn time_key(last: f64, patience: f64) -> u64 {
    let end = last + patience;
    if end.is_infinite() {
        return u64::MAX;
    }
    ordered(end - end.abs() * 1e-12)
}

/// A number as bits in the same order.
pub fn ordered(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_in_the_order_of_the_numbers() {
        let numbers = [f64::NEG_INFINITY, -1e9, -1.0, 0.0, 1e-300, 2.0, 1.7e9, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
    }

    #[test]
    fn alarms_come_when_they_are_due() {
        let mut alarms = Alarms::default();
        alarms.set(1, Alarm::Event(event_key(10, 4.5)), 10);
        alarms.set(2, Alarm::Time(time_key(100.0, 50.0)), 10);
        assert_eq!(alarms.pop(14, 149.0), None);
        assert_eq!(alarms.pop(15, 149.0), Some((1, Alarm::Event(15))));
        assert_eq!(alarms.pop(15, 150.0).map(|(id, _)| id), Some(2));
        assert_eq!((alarms.pop(99, 999.0), alarms.far()), (None, 0));
    }

    #[test]
    fn near_and_far_alarms_come_with_their_event_whatever_their_order() {
        let mut alarms = Alarms::default();
        for key in [1_300, 1_001, 1_255, 1_256, 1_257, 5_000, 1_002] {
            alarms.set(key as FeatureId, Alarm::Event(key), 1_000);
        }
        let mut come = Vec::new();
        for event in 1_001..=5_000 {
            while let Some((id, alarm)) = alarms.pop(event, 0.0) {
                assert_eq!((u64::from(id), alarm), (event, Alarm::Event(event)));
                come.push(id);
            }
        }
        assert_eq!(come, [1_001, 1_002, 1_255, 1_256, 1_257, 1_300, 5_000]);
    }

    #[test]
    fn endless_patience_has_no_end() {
        assert_eq!(event_key(5, f64::INFINITY), u64::MAX);
        assert_eq!(time_key(5.0, f64::INFINITY), u64::MAX);
    }
}
