//! An event on its way through a learner.

use crate::event::{FeatureId, FeatureValue, Name, Names};
use crate::scaling::PendingStats;

/// The value of a feature that the scaler has no room for: −0. It counts as 0 in predictions. When
/// the event is learned, perhaps much later, the sign marks a name that is left out.
pub const LEFT_OUT: f64 = -0.0;

pub fn is_left_out(value: f64) -> bool {
    value.to_bits() == LEFT_OUT.to_bits()
}

/// An event's features, the ids of their statistics in the scaler, and what observing the event
/// will change there. One buffer can serve many events in turn, so that no memory is allocated per
/// event.
#[derive(Default)]
pub struct EventBuffer {
    /// The event's features: at first with raw values, later as the model uses them.
    pub features: Vec<FeatureValue>,
    /// Factor and energy, if the scaler summarizes events.
    pub summary: [f64; 2],
    /// The ids of the features' statistics in the scaler.
    pub stats_ids: Vec<FeatureId>,
    pub(super) stats: PendingStats,
    /// Whether `stats` have yet to be committed.
    pub(super) pending: bool,
    /// The positions of the features that the scaler counts, if it has no room for all.
    pub(super) counted: Option<Vec<usize>>,
}

impl EventBuffer {
    pub fn new(features: Vec<FeatureValue>) -> Self {
        Self { features, ..Self::default() }
    }

    /// Drop what was observed.
    pub(super) fn discard(&mut self) {
        self.pending = false;
        self.counted = None;
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
    fn only_negative_zero_marks_a_feature_as_left_out() {
        assert!(is_left_out(LEFT_OUT));
        assert!(![0.0, 1.0, -1.0, f64::NAN].map(is_left_out).contains(&true));
    }

    #[test]
    fn selected_names_are_those_at_the_given_positions() {
        let all = [Name::Text("a"), Name::Number(2), Name::Text("c")];
        let some = SelectedNames { names: &all[..], positions: &[2, 1] };
        assert_eq!([some.name(0), some.name(1)], [Name::Text("c"), Name::Number(2)]);
    }
}
