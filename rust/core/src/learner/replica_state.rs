//! What a replica remembers of its owner, and an owner of its replicas.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::scaling::shown::{Shown, ShownState};

/// What a replica has still to report.
#[derive(Clone, Debug)]
pub struct Replica {
    /// The identity of its owner.
    pub(super) owner: u64,
    /// Events seen and questions asked when it reported last.
    pub(super) after: u64,
    pub(super) asked: u64,
    /// What its scaler was shown since.
    pub(super) shown: Option<Shown>,
}

#[derive(Serialize, Deserialize)]
pub struct ReplicaState<'a> {
    pub(super) owner: u64,
    pub(super) after: u64,
    pub(super) asked: u64,
    #[serde(borrow)]
    pub(super) shown: Option<ShownState<'a>>,
}

/// What replicas have reported to their owner.
#[derive(Clone, Debug, Default)]
pub struct Absorbed {
    /// The last event of each replica that was reported.
    pub(super) seen: BTreeMap<u64, u64>,
    /// Reports with questions that may still be open.
    pub(super) spans: Vec<Span>,
}

/// The events of a report: its replica numbers them from `after + 1` to `seen`, its owner from `base + 1`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Span {
    pub(super) replica: u64,
    pub(super) after: u64,
    pub(super) seen: u64,
    pub(super) base: u64,
}

#[derive(Default, Serialize, Deserialize)]
pub struct AbsorbedState {
    replicas: Vec<u64>,
    seen: Vec<u64>,
    spans: Vec<Span>,
}

impl Absorbed {
    /// The owner's number of a replica's event.
    pub(super) fn number(&self, replica: u64, number: u64) -> Option<u64> {
        let holds =
            |span: &&Span| span.replica == replica && span.after < number && number <= span.seen;
        self.spans.iter().find(holds).map(|span| span.base + (number - span.after))
    }

    pub fn state(&self) -> AbsorbedState {
        let (replicas, seen) = self.seen.iter().map(|(&replica, &seen)| (replica, seen)).unzip();
        AbsorbedState { replicas, seen, spans: self.spans.clone() }
    }

    /// The saved state of a learner that has seen so many events.
    pub fn restored(state: &AbsorbedState, seen: u64) -> Result<Self, &'static str> {
        let most = u64::MAX / 4;
        let sound = |span: &Span| {
            span.after < span.seen
                && span.seen <= most
                && span.base <= seen
                && span.seen - span.after <= seen - span.base
        };
        if state.replicas.len() != state.seen.len()
            || state.replicas.windows(2).any(|pair| pair[0] >= pair[1])
            || state.seen.iter().any(|&seen| seen > most)
            || !state.spans.iter().all(sound)
        {
            return Err("what its replicas reported is impossible");
        }
        let seen = state.replicas.iter().copied().zip(state.seen.iter().copied()).collect();
        Ok(Self { seen, spans: state.spans.clone() })
    }
}

impl AbsorbedState {
    pub fn is_empty(&self) -> bool {
        self.replicas.is_empty() && self.seen.is_empty() && self.spans.is_empty()
    }
}
