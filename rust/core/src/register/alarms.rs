//! When which feature has to be looked at because it may have gone silent: no event looks at all features.
//!
//! A feature is silent when its absence is unusual in events and in time. It waits in the queue of events first,
//! then in the queue of times. An arrival leaves the alarm where it is, unless it would come too late: most alarms
//! are found to be early, and set again. So a feature costs one alarm per several arrivals.

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

/// The queues of alarms. One that is not the feature's own alarm any more is ignored.
#[derive(Clone, Debug, Default)]
pub struct Alarms {
    events: BinaryHeap<Reverse<(u64, FeatureId)>>,
    times: BinaryHeap<Reverse<(u64, FeatureId)>>,
}

impl Alarms {
    pub fn set(&mut self, id: FeatureId, alarm: Alarm) {
        match alarm {
            Alarm::None => {}
            Alarm::Event(key) => self.events.push(Reverse((key, id))),
            Alarm::Time(key) => self.times.push(Reverse((key, id))),
        }
    }

    /// The next alarm that is due.
    pub fn pop(&mut self, event: u64, time: f64) -> Option<(FeatureId, Alarm)> {
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

    pub fn len(&self) -> usize {
        self.events.len() + self.times.len()
    }

    pub fn clear(&mut self) {
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
        alarms.set(1, Alarm::Event(event_key(10, 4.5)));
        alarms.set(2, Alarm::Time(time_key(100.0, 50.0)));
        assert_eq!(alarms.pop(14, 149.0), None);
        assert_eq!(alarms.pop(15, 149.0), Some((1, Alarm::Event(15))));
        assert_eq!(alarms.pop(15, 150.0).map(|(id, _)| id), Some(2));
        assert_eq!((alarms.pop(99, 999.0), alarms.len()), (None, 0));
    }

    #[test]
    fn endless_patience_has_no_end() {
        assert_eq!(event_key(5, f64::INFINITY), u64::MAX);
        assert_eq!(time_key(5.0, f64::INFINITY), u64::MAX);
    }
}
