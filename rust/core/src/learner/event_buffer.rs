//! An event on its way through a learner.

use crate::event::{FeatureValue, sum_of_squares};
use crate::scaling::PendingStats;

/// An event's features, and what observing the event will change in the scaler. One buffer can serve many
/// events in turn, so that no memory is allocated per event.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // they change apart from each other
pub struct EventBuffer {
    /// The event's features: at first with raw values, later scaled, if the learner has a scaler.
    pub features: Vec<FeatureValue>,
    /// With a scaler: what each feature says by being there.
    pub presence: Vec<f64>,
    /// Factor and energy, if the scaler summarizes events.
    pub summary: [f64; 2],
    /// ‖x‖² of the features as they came, or of the inputs once [`Learner::expand`] has made them. Whoever
    /// fills in the features fills it in too.
    ///
    /// [`Learner::expand`]: crate::learner::Learner::expand
    pub squared_norm: f64,
    /// Whether every feature is known to have its id; false says nothing.
    pub known: bool,
    pub(super) stats: PendingStats,
    /// Whether `stats` have yet to be committed.
    pub(super) pending: bool,
    /// The positions of the new names that have room, in the order of their ids.
    pub(super) new: Vec<usize>,
    /// For a register: the values as they came,
    pub(super) raw: Vec<f64>,
    /// and whether they have yet to be counted.
    pub(super) untracked: bool,
    /// What the model uses, if that is not just the features: see [`Self::inputs`].
    pub(super) expanded: Vec<FeatureValue>,
    pub(super) is_expanded: bool,
}

impl EventBuffer {
    pub fn new(features: Vec<FeatureValue>) -> Self {
        Self { squared_norm: sum_of_squares(&features), features, ..Self::default() }
    }

    /// Forget the last event, whatever became of it; the memory is kept.
    pub fn clear(&mut self) {
        self.features.clear();
        self.presence.clear();
        self.new.clear();
        self.pending = false;
        self.known = false;
        self.squared_norm = 0.0;
    }

    /// The event as the model uses it: the features, with a scaler a value and a presence of each, and the
    /// learner's own features at the end.
    #[inline]
    pub fn inputs(&self) -> &[FeatureValue] {
        if self.is_expanded { &self.expanded } else { &self.features }
    }
}
