//! The newest labelled events of each of several classes: what is repeated, and what the windows hold.
//!
//! The window MID holds all stored events, SHORT the newest of them. Events are ordered by their number in the
//! stream, not by when their label came.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::event::{FeatureId, FeatureValue};
use crate::model::spring::classes::rows::{ClassRows, LARGEST_NUMBER};
use crate::model::spring::rows::{DUAL, PlacedInput};

/// Events stored per class: the window MID.
pub const STORED: usize = 100;
/// The newest of them: the window SHORT.
pub const NEWEST: usize = 10;
/// No input of a stored event in a file is larger: the inputs of an event together have length 1.
const LARGEST_INPUT: f64 = 100.0;

/// A labelled event.
#[derive(Clone, Debug)]
pub struct StoredEvent {
    pub number: u64,
    pub inputs: Vec<PlacedInput>,
    /// a for each class in every column; 0 for classes beyond the last.
    pub duals: Vec<[f64; DUAL]>,
    /// Whether columns 0 and 1 have learned it.
    pub held: [bool; 2],
}

/// The stored events of one class, by number.
#[derive(Clone, Debug, Default)]
pub struct Window {
    events: VecDeque<StoredEvent>,
    /// The event repeated last, among all and among the newest; −1 is before the first.
    cursors: [i64; 2],
}

/// What happened when an event came in.
pub struct Entered {
    /// Its place; none if it is older than all stored events of a full window.
    pub place: Option<usize>,
    /// The event that left the window, if one did.
    pub left: Option<StoredEvent>,
    /// The place of the event that is no longer among the newest, if there is one.
    pub aged: Option<usize>,
}

#[derive(Serialize, Deserialize)]
pub struct WindowState {
    numbers: Vec<u64>,
    ids: Vec<Vec<FeatureId>>,
    values: Vec<Vec<f64>>,
    duals: Vec<Vec<[f64; DUAL]>>,
    held: Vec<[bool; 2]>,
    cursors: [i64; 2],
}

impl WindowState {
    pub fn len(&self) -> usize {
        self.numbers.len()
    }
}

impl Window {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn get(&self, place: usize) -> &StoredEvent {
        &self.events[place]
    }

    pub fn get_mut(&mut self, place: usize) -> &mut StoredEvent {
        &mut self.events[place]
    }

    /// Where the newest begin.
    pub fn newest(&self) -> usize {
        self.events.len().saturating_sub(NEWEST)
    }

    /// The number of the oldest among the newest.
    pub fn oldest_of_newest(&self) -> Option<u64> {
        self.events.get(self.newest()).map(|event| event.number)
    }

    /// Add an event, after those of its number.
    pub fn enter(&mut self, event: StoredEvent) -> Entered {
        let place = self.events.partition_point(|other| other.number <= event.number);
        let full = self.events.len() == STORED;
        if full && place == 0 {
            return Entered { place: None, left: None, aged: None };
        }
        self.events.insert(place, event);
        let left = if full { self.events.pop_front() } else { None };
        if left.is_some() {
            for cursor in &mut self.cursors {
                *cursor = (*cursor - 1).max(-1);
            }
        }
        let place = place - usize::from(left.is_some());
        // The newest were as many as they can be, and the new event is one of them: their oldest no longer is.
        let newest = self.newest();
        let aged = (newest > 0 && place >= newest).then(|| newest - 1);
        Entered { place: Some(place), left, aged }
    }

    /// The place of the event to be repeated next, among all or among the newest.
    pub fn next(&mut self, among_newest: bool) -> usize {
        let low = if among_newest { self.newest() as i64 } else { 0 };
        let cursor = &mut self.cursors[usize::from(among_newest)];
        let next = *cursor + 1;
        *cursor = if (low..self.events.len() as i64).contains(&next) { next } else { low };
        *cursor as usize
    }

    /// Follow an eviction: the new place of every row, none if it is gone.
    pub fn retain(&mut self, moved: &[Option<u32>]) {
        for event in &mut self.events {
            event.inputs.retain_mut(|input| {
                let place = moved[input.place as usize];
                input.place = place.unwrap_or(input.place);
                place.is_some()
            });
        }
    }

    pub fn state(&self, rows: &ClassRows) -> WindowState {
        let events = || self.events.iter();
        WindowState {
            numbers: events().map(|event| event.number).collect(),
            ids: events().map(|e| e.inputs.iter().map(|i| rows.id_at(i.place)).collect()).collect(),
            values: events().map(|e| e.inputs.iter().map(|input| input.value).collect()).collect(),
            duals: events().map(|event| event.duals.clone()).collect(),
            held: events().map(|event| event.held).collect(),
            cursors: self.cursors,
        }
    }

    /// Put a saved state back, for so many rows of the model.
    pub fn adopt(
        &mut self,
        state: &WindowState,
        rows: usize,
        weights: &mut ClassRows,
    ) -> Result<(), &'static str> {
        let count = state.numbers.len();
        let lengths = [state.ids.len(), state.values.len(), state.duals.len(), state.held.len()];
        if lengths != [count; 4] || count > STORED {
            return Err("it stores more events than it should, or not as many as their numbers");
        }
        if state.numbers.windows(2).any(|pair| pair[0] > pair[1])
            || state.cursors.iter().any(|&cursor| !(-1..count.max(1) as i64).contains(&cursor))
        {
            return Err("its stored events are not in order");
        }
        self.cursors = state.cursors;
        for i in 0..count {
            let (ids, values, duals) = (&state.ids[i], &state.values[i], &state.duals[i]);
            if ids.len() != values.len() || ids.iter().any(|&id| id as usize >= rows) {
                return Err("a stored event has features that there are not");
            }
            if duals.len() > weights.classes()
                || !duals.iter().flatten().all(|a| a.abs() <= LARGEST_NUMBER)
                || !values.iter().all(|value| value.abs() <= LARGEST_INPUT)
            {
                return Err("a number of a stored event is too large or not finite");
            }
            let input = |(&id, &value)| FeatureValue { id, value };
            let inputs: Vec<FeatureValue> = ids.iter().zip(values).map(input).collect();
            if inputs.iter().any(|input| !weights.is_learned(input.id)) {
                return Err("a stored event has features that were never learned");
            }
            self.events.push_back(StoredEvent {
                number: state.numbers[i],
                inputs: weights.located(&inputs),
                duals: duals.clone(),
                held: state.held[i],
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u64) -> StoredEvent {
        StoredEvent { number, inputs: Vec::new(), duals: Vec::new(), held: [false; 2] }
    }

    #[test]
    fn events_are_ordered_by_their_number_and_not_by_when_their_label_came() {
        let mut window = Window::default();
        for number in [5, 2, 9, 2, 7] {
            window.enter(event(number));
        }
        let numbers: Vec<u64> = window.events.iter().map(|event| event.number).collect();
        assert_eq!(numbers, [2, 2, 5, 7, 9]);
        assert_eq!(window.oldest_of_newest(), Some(2));
    }

    #[test]
    fn a_full_window_drops_its_oldest_and_refuses_what_is_older() {
        let mut window = Window::default();
        for number in 0..STORED as u64 {
            assert!(window.enter(event(10 + number)).left.is_none());
        }
        assert!(window.enter(event(3)).place.is_none());
        let entered = window.enter(event(500));
        assert_eq!(entered.left.unwrap().number, 10);
        assert_eq!((entered.place, entered.aged), (Some(99), Some(89)));
        let late = window.enter(event(15)); // among the older ones: nothing ages
        assert_eq!((late.place, late.aged, late.left.unwrap().number), (Some(4), None, 11));
    }

    #[test]
    fn the_newest_are_at_most_ten() {
        let mut window = Window::default();
        for number in 0..NEWEST as u64 {
            assert!(window.enter(event(number)).aged.is_none());
        }
        assert_eq!(window.enter(event(99)).aged, Some(0));
        assert_eq!(window.newest(), 1);
    }

    #[test]
    fn cursors_go_round_and_follow_the_oldest() {
        let mut window = Window::default();
        for number in [10, 20, 30] {
            window.enter(event(number));
        }
        let mut next = || {
            let place = window.next(false);
            window.get(place).number
        };
        assert_eq!([next(), next(), next(), next()], [20, 30, 10, 20]);
        for number in 0..STORED as u64 - 3 {
            window.enter(event(40 + number)); // full now
        }
        window.enter(event(500)); // the first leaves, so that the cursor is one place further
        let place = window.next(false);
        assert_eq!(window.get(place).number, 30);
    }
}
