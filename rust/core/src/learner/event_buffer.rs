//! An event on its way through a learner.

use crate::event::{Feature, FeatureId, Name, Names};
use crate::scaling::PendingStats;

/// The value of a feature that the scaler has no room for: 0, whose sign tells who learns the event,
/// perhaps much later, that its name is to be left out.
pub const LEFT_OUT: f64 = -0.0;

pub fn is_left_out(value: f64) -> bool {
    value.to_bits() == LEFT_OUT.to_bits()
}

/// An event's features, where the scaler keeps their statistics, and what observing them will change
/// there. One buffer serves event after event, so that nothing is allocated.
#[derive(Default)]
pub struct EventBuffer {
    /// The event's features; values as the event gave them, later as the model sees them.
    pub features: Vec<Feature>,
    /// With a scaler that summarizes events: factor and energy of this one.
    pub summary: [f64; 2],
    /// Where the scaler keeps the features' statistics.
    pub stats_ids: Vec<FeatureId>,
    pub(super) stats: PendingStats,
    /// Whether `stats` are still to be committed.
    pub(super) pending: bool,
    /// The positions that the scaler counts, if it has no room for all.
    pub(super) counted: Option<Vec<usize>>,
}

impl EventBuffer {
    pub fn new(features: Vec<Feature>) -> Self {
        Self { features, ..Self::default() }
    }
}

/// The names at some positions of an event.
pub struct SelectedNames<'a, N: ?Sized> {
    pub names: &'a N,
    pub positions: &'a [usize],
}

impl<N: Names + ?Sized> Names for SelectedNames<'_, N> {
    fn name(&self, position: usize) -> Name<'_> {
        self.names.name(self.positions[position])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_negative_zero_is_left_out() {
        assert!(is_left_out(LEFT_OUT));
        assert!(![0.0, 1.0, -1.0, f64::NAN].map(is_left_out).contains(&true));
    }

    #[test]
    fn selected_names_are_those_at_their_positions() {
        let all = [Name::Text("a"), Name::Number(2), Name::Text("c")];
        let some = SelectedNames { names: &all[..], positions: &[2, 1] };
        assert_eq!([some.name(0), some.name(1)], [Name::Text("c"), Name::Number(2)]);
    }
}
