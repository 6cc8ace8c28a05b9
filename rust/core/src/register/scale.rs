//! On which scale a feature's values lie, and whether it has changed: a unit, a device, a factor.
//!
//! Two tests. *Range*: eight values in a row lie farther outside of the range so far than half of its width.
//! *Blocks*: a block has eight values at least and spans a cycle, so that day and night are in it; level and
//! spread of two blocks in a row are far from those of the blocks before.

use serde::{Deserialize, Serialize};

use crate::register::clock::Clock;
use crate::storage::math::{exp, larger, ln, smaller};

/// Values, and cycles, after which the range is known.
const SETTLED: u32 = 16;
const CYCLES: f64 = 2.0;
/// A value is outside if it is so far from the range, as a part of its width;
const MARGIN: f64 = 0.5;
/// so many in a row are a change.
const OUTSIDE: u32 = 8;
/// The least values of a block, with times and without.
const BLOCK: u32 = 8;
const BLOCK_UNTIMED: u32 = 32;
/// The blocks after which their level and spread are known.
const BLOCKS: u64 = 3;
/// How fast that is forgotten.
const FORGET: f64 = 1.0 / 8.0;
/// By how much levels differ at least, as a part of a block's spread, and logarithms of spreads.
const LEAST_LEVEL: f64 = 0.35;
const LEAST_SPREAD: f64 = 0.25;
/// A block so many times that away is far;
const FAR: f64 = 6.0;
/// so many in a row are a change.
const STRIKES: u32 = 2;

/// A running mean and variance of what is known of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Moments {
    mean: f64,
    variance: f64,
}

impl Moments {
    fn add(&mut self, x: f64, n: u64) {
        let step = (1.0 / n as f64).max(FORGET);
        let delta = x - self.mean;
        self.mean += step * delta;
        self.variance = (1.0 - step) * (self.variance + step * delta * delta);
    }
}

/// The scale of a feature's values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    since: f64,
    /// Changes before: each makes the next less likely to be believed, because values may be wild.
    changes: u32,
    values: u32,
    lowest: f64,
    highest: f64,
    outside: u32,
    /// Values that widen the range whatever they are.
    welcome: u32,
    block_since: f64,
    block_values: u32,
    /// The block's first value, from which its values are counted: their sum, and that of their squares.
    block_first: f64,
    block_sum: f64,
    block_squares: f64,
    blocks: u64,
    levels: Moments,
    /// Of the logarithms of the blocks' spreads.
    spreads: Moments,
    strikes: u32,
}

impl Scale {
    /// The scale of a feature whose first value came at this time.
    pub fn beginning(value: f64, clock: &Clock) -> Self {
        Self::after(0, value, clock)
    }

    /// The scale after one more change.
    pub fn changed(&self, value: f64, clock: &Clock) -> Self {
        Self::after(self.changes.saturating_add(1), value, clock)
    }

    fn after(changes: u32, value: f64, clock: &Clock) -> Self {
        let mut scale = Self {
            since: clock.time,
            changes,
            values: 0,
            lowest: f64::INFINITY,
            highest: f64::NEG_INFINITY,
            outside: 0,
            welcome: 0,
            block_since: 0.0,
            block_values: 0,
            block_first: 0.0,
            block_sum: 0.0,
            block_squares: 0.0,
            blocks: 0,
            levels: Moments::default(),
            spreads: Moments::default(),
            strikes: 0,
        };
        scale.add(value, clock);
        scale
    }

    /// Whether saved numbers can be those of a scale.
    pub fn is_sound(&self) -> bool {
        self.blocks < u64::MAX / 2
            && self.outside < u32::MAX / 2
            && self.strikes < STRIKES
            && self.since.is_finite()
            && self.lowest <= self.highest
    }

    /// Count time from another beginning.
    pub fn shift(&mut self, times: f64) {
        self.since += times;
        self.block_since += times;
    }

    /// Take the next values as they are: the feature comes back from a silence.
    pub fn welcome(&mut self, values: u32) {
        self.welcome = values;
    }

    /// The level of the blocks so far; before the first the middle of the range.
    pub fn level(&self) -> f64 {
        if self.blocks == 0 { f64::midpoint(self.lowest, self.highest) } else { self.levels.mean }
    }

    /// The spread within the blocks so far, if there are any.
    pub fn spread(&self) -> Option<f64> {
        (self.blocks > 0).then(|| exp(self.spreads.mean))
    }

    /// Count a value; whether the scale has changed with it.
    #[inline]
    pub fn add(&mut self, value: f64, clock: &Clock) -> bool {
        self.add_to_range(value, clock) || self.add_to_block(value, clock)
    }

    #[inline]
    fn add_to_range(&mut self, value: f64, clock: &Clock) -> bool {
        let width = self.highest - self.lowest;
        let long = clock.time - self.since >= CYCLES * clock.cycle;
        if self.values >= SETTLED && long && width > 0.0 && self.welcome == 0 {
            let margin = MARGIN * width;
            if !(self.lowest - margin <= value && value <= self.highest + margin) {
                self.outside += 1;
                return self.outside >= OUTSIDE.saturating_mul(self.changes.saturating_add(1));
            }
        }
        self.welcome = self.welcome.saturating_sub(1);
        self.outside = 0;
        self.values = self.values.saturating_add(1);
        self.lowest = smaller(self.lowest, value);
        self.highest = larger(self.highest, value);
        false
    }

    #[inline]
    fn add_to_block(&mut self, value: f64, clock: &Clock) -> bool {
        if self.block_values == 0 {
            (self.block_since, self.block_first) = (clock.time, value);
        }
        self.block_values = self.block_values.saturating_add(1);
        let away = value - self.block_first;
        self.block_sum += away;
        self.block_squares += away * away;
        let full = if clock.timed { BLOCK } else { BLOCK_UNTIMED };
        if self.block_values < full || clock.time - self.block_since < clock.cycle {
            return false;
        }
        self.add_block()
    }

    /// Count a block that is full; whether the scale has changed with it.
    #[inline(never)]
    fn add_block(&mut self) -> bool {
        let n = f64::from(self.block_values);
        let away = self.block_sum / n;
        let level = self.block_first + away;
        let spread = (self.block_squares / n - away * away).max(0.0).sqrt();
        (self.block_values, self.block_sum, self.block_squares) = (0, 0.0, 0.0);
        if spread == 0.0 || !spread.is_finite() || !level.is_finite() {
            return false;
        }
        let log_spread = ln(spread);
        if self.blocks >= BLOCKS
            && self.distance(level, log_spread) > FAR * (1.0 + f64::from(self.changes))
        {
            self.strikes += 1;
            return self.strikes >= STRIKES;
        }
        self.strikes = 0;
        self.blocks += 1;
        self.levels.add(level, self.blocks);
        self.spreads.add(log_spread, self.blocks);
        false
    }

    /// How far a block is from those before.
    fn distance(&self, level: f64, log_spread: f64) -> f64 {
        let usual = exp(self.spreads.mean);
        let apart = self.levels.variance.sqrt().max(LEAST_LEVEL * usual);
        let away = (level - self.levels.mean) / apart;
        let least = self.spreads.variance.sqrt().max(LEAST_SPREAD);
        let other = (log_spread - self.spreads.mean) / least;
        (away * away + other * other).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn untimed(event: u64) -> Clock {
        let time = event as f64;
        Clock { event, time, cycle: 0.0, timed: false, watched: 1, late: true }
    }

    /// The event with which the scale of these values changes.
    fn changed(values: impl IntoIterator<Item = f64>) -> Option<u64> {
        let mut values = values.into_iter().zip(1..);
        let (first, event) = values.next().unwrap();
        let mut scale = Scale::beginning(first, &untimed(event));
        values.find(|&(value, event)| scale.add(value, &untimed(event))).map(|(_, event)| event)
    }

    fn wave(n: u32) -> impl Iterator<Item = f64> {
        (0..n).map(|i| 20.0 + f64::from(i * 7 % 10))
    }

    #[test]
    fn eight_values_far_outside_of_the_range_are_a_change() {
        assert_eq!(changed(wave(100).chain(wave(20).map(|x| x * 100.0))), Some(108));
    }

    #[test]
    fn each_change_makes_the_next_harder_to_believe() {
        let mut scale = Scale::beginning(20.0, &untimed(1)).changed(20.0, &untimed(1));
        let values = wave(100).chain(wave(20).map(|x| x * 100.0));
        let found = values.zip(2..).find(|&(value, event)| scale.add(value, &untimed(event)));
        assert_eq!(found.map(|(_, event)| event), Some(117)); // the sixteenth
    }

    #[test]
    fn seven_values_far_outside_are_not() {
        let spike = std::iter::repeat_n(1e9, 7);
        assert_eq!(changed(wave(100).chain(spike).chain(wave(100))), None);
    }

    #[test]
    fn another_level_within_the_range_is_found_by_two_blocks() {
        let wide = (0..160).map(|i| if i == 3 { 60.0 } else { 20.0 + f64::from(i * 7 % 10) });
        let moved = wave(200).map(|x| x * 1.8);
        assert_eq!(changed(wide.chain(moved)), Some(224)); // blocks of 32
    }

    #[test]
    fn a_feature_that_returns_may_have_moved() {
        let mut scale = Scale::beginning(20.0, &untimed(1));
        for (value, event) in wave(100).zip(2..) {
            assert!(!scale.add(value, &untimed(event)));
        }
        scale.welcome(8);
        assert!(!(102..110).any(|event| scale.add(500.0, &untimed(event))));
    }
}
