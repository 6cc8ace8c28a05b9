//! Many deciders, one learner: a replica decides with the model of its last refresh, its owner learns.
//!
//! A replica has its own coins and keeps its own account of the label rate, over the events that it decides on. It
//! reports how many they were, the questions that it asked, and the sums of what its scaler was shown. The owner
//! absorbs reports: the events get numbers as if it had decided on them itself, one replica after the other, and the
//! questions are open in the owner from then on. It learns their answers from the inputs frozen in the decisions,
//! so its weights are those of one learner that is given these examples in this order.

use crate::error::Error;
use crate::event::{FeatureValue, Name, UNKNOWN};
use crate::learner::event_buffer::EventBuffer;
use crate::learner::replica_state::{Absorbed, Replica, ReplicaState, Span};
use crate::learner::report::Report;
use crate::learner::{Config, Learner, identity_of};
use crate::model::ModelConfig;
use crate::scaling::shown::Shown;

impl Learner {
    /// Become a replica of a learner that has the same parameters but for the seed.
    pub fn become_replica(&mut self, owner: &Self) -> Result<(), Error> {
        let refused = |text: &str| Err(Error::Parameter(format!("replica: {text}")));
        if owner.replica.is_some() {
            return refused("this is a replica; make replicas of its owner.");
        }
        if let ModelConfig::External(_) = owner.config.model {
            return refused(
                "a model written in Python is not the core's to copy; use one learner per key, or a \
                 learner of the package.",
            );
        }
        if owner.tracking.is_some() {
            return refused(
                "a register must be shown every event itself; make the learner without track=True.",
            );
        }
        if !owner.query.can_be_shared() {
            return refused(
                "a quota with a total cannot be shared by several deciders; use one without a total.",
            );
        }
        if self.config.seed == owner.config.seed {
            return refused(&format!(
                "seed must be another than the owner's and than those of other replicas, got {}.",
                owner.config.seed
            ));
        }
        if identity_of(&Config { seed: self.config.seed, ..owner.config.clone() }) != self.identity
        {
            return refused("its parameters must be those of its owner.");
        }
        self.take_model(owner);
        self.query.go_on_from(&owner.query);
        (self.seen, self.asked) = (owner.seen, owner.asked);
        self.replica = Some(Box::new(Replica {
            owner: owner.identity,
            after: self.seen,
            asked: self.asked,
            shown: self.scaler.as_ref().map(|_| Shown::default()),
        }));
        Ok(())
    }

    /// Take what the owner knows now. What was not reported yet is kept; all feature ids are invalid.
    pub fn refresh(&mut self, owner: &Self) -> Result<(), Error> {
        let replica = self.replica_or("refresh")?;
        if replica.owner != owner.identity || owner.replica.is_some() {
            return Err(Error::Parameter(
                "refresh: expected the learner that this is a replica of; the one given has other \
                 parameters or another seed, or is a replica too."
                    .to_owned(),
            ));
        }
        self.settle_shown();
        self.take_model(owner);
        self.query.catch_up(&owner.query.state());
        Ok(())
    }

    fn take_model(&mut self, owner: &Self) {
        self.table.clone_from(&owner.table);
        self.model.clone_from(&owner.model);
        self.scaler.clone_from(&owner.scaler);
        self.labels.clone_from(&owner.labels);
        self.calibration.clone_from(&owner.calibration);
        self.draws.clone_from(&owner.draws);
        (self.positives, self.negatives) = (owner.positives, owner.negatives);
        (self.learned, self.refused, self.evicted) = (owner.learned, owner.refused, owner.evicted);
    }

    fn replica_or(&mut self, verb: &str) -> Result<&mut Replica, Error> {
        self.replica.as_deref_mut().ok_or_else(|| {
            Error::Parameter(format!(
                "{verb}: this learner is no replica; learner.replica(seed=...) makes one."
            ))
        })
    }

    /// Refuse to learn as a replica.
    pub(super) fn check_learns(&self) -> Result<(), Error> {
        if self.replica.is_none() {
            return Ok(());
        }
        Err(Error::Parameter(
            "learn: this is a replica, which decides and does not learn; absorb it in its owner, and \
             give the label there."
                .to_owned(),
        ))
    }

    /// Note what the scaler is about to count.
    #[inline]
    pub(super) fn note_shown(&mut self, event: &EventBuffer) {
        let Some(shown) = self.replica.as_mut().and_then(|replica| replica.shown.as_mut()) else {
            return;
        };
        let Some(scaler) = &self.scaler else { return };
        let known = |feature: &FeatureValue| feature.id != UNKNOWN;
        if event.features.iter().all(known) {
            scaler.note(&event.stats, &event.features, shown);
        } else {
            let kept: Vec<FeatureValue> =
                event.features.iter().copied().filter(|feature| known(feature)).collect();
            scaler.note(&event.stats, &kept, shown);
        }
    }

    /// Put what was noted under names, because ids are about to change.
    pub(super) fn settle_shown(&mut self) {
        if let Some(shown) = self.replica.as_mut().and_then(|replica| replica.shown.as_mut()) {
            shown.settle(&self.table);
        }
    }

    /// What a replica did since its last report; from now on it counts as reported.
    pub fn report(&mut self) -> Result<Report, Error> {
        self.replica_or("report")?;
        self.settle_shown();
        let open = std::mem::take(&mut self.open).state();
        let (seen, asked, query) = (self.seen, self.asked, self.query.state());
        let identity = self.identity;
        let replica = self.replica_or("report")?;
        let report = Report {
            owner: replica.owner,
            replica: identity,
            after: replica.after,
            seen,
            asked: asked - replica.asked,
            open,
            query,
            shown: replica.shown.as_mut().map(std::mem::take),
        };
        (replica.after, replica.asked) = (seen, asked);
        Ok(report)
    }

    /// Count a report as not made: its owner has refused it.
    pub fn take_back(&mut self, report: Report) -> Result<(), Error> {
        let identity = self.identity;
        let replica = self.replica_or("report")?;
        if report.replica != identity || report.seen != replica.after {
            return Err(Error::Parameter(
                "report: only the last report of a replica can be taken back.".to_owned(),
            ));
        }
        replica.after = report.after;
        replica.asked -= report.asked;
        self.settle_shown();
        let replica = self.replica_or("report")?;
        if let (Some(mut before), Some(shown)) = (report.shown, &mut replica.shown) {
            before.append(shown, false);
            *shown = before;
        }
        let later = std::mem::take(&mut self.open).state();
        for (number, fingerprint) in report.open.pairs().chain(later.pairs()) {
            self.open.add(number, fingerprint);
        }
        Ok(())
    }

    /// Count what replicas have reported, one after the other, and open their questions. An error has changed
    /// nothing. Ids of features may change: see [`Self::evicted`].
    pub fn absorb(&mut self, reports: &[Report]) -> Result<(), Error> {
        let mut absorbed = self.absorbed.clone();
        let (mut seen, mut pooled) = (self.seen, Shown::default());
        for report in reports {
            self.check_report(report, &absorbed)?;
            absorbed.seen.insert(report.replica, report.seen);
            if !report.open.is_empty() {
                let Report { replica, after, seen: last, .. } = *report;
                absorbed.spans.push(Span { replica, after, seen: last, base: seen });
            }
            seen += report.seen - report.after;
            if let Some(shown) = &report.shown {
                pooled.append(shown, true);
            }
        }
        let mut new = pooled.new_names(|name| self.table.id(name) != UNKNOWN);
        if let Some(capacity) = self.config.capacity.filter(|capacity| !capacity.evicts()) {
            new.truncate(capacity.room(self.given_names(), 0));
        }
        self.table.room_for(new.len())?;
        self.table.reserve(new.iter().copied())?;
        // From here on nothing can fail.
        for name in new {
            self.table.insert(name);
        }
        let rows = self.rows_of(self.table.len());
        if let Some(scaler) = &mut self.scaler {
            self.model.set_rows(rows);
            let id = |name: Name<'_>| Some(self.table.id(name)).filter(|&id| id != UNKNOWN);
            scaler.absorb(&pooled, id, self.table.len());
            self.evict(&mut EventBuffer::default());
        }
        let mut base = self.seen;
        for report in reports {
            for (number, fingerprint) in report.open.pairs() {
                self.open.add(base + (number - report.after), fingerprint);
            }
            base += report.seen - report.after;
            self.asked += report.asked;
            self.query.catch_up(&report.query);
        }
        self.seen = seen;
        let open = &self.open;
        absorbed
            .spans
            .retain(|span| open.any_in(span.base + 1..=span.base + (span.seen - span.after)));
        self.absorbed = absorbed;
        Ok(())
    }

    fn check_report(&self, report: &Report, absorbed: &Absorbed) -> Result<(), Error> {
        let refused = |text: &str| Err(Error::Parameter(format!("absorb: {text}")));
        if self.replica.is_some() {
            return refused("this is a replica; its owner absorbs replicas.");
        }
        if report.owner != self.identity || report.shown.is_some() != self.scaler.is_some() {
            return refused(
                "expected a replica of this learner; the one given is a replica of a learner with other \
                 parameters or another seed.",
            );
        }
        if absorbed.seen.get(&report.replica).is_some_and(|&seen| report.after < seen) {
            return refused(
                "this report was absorbed before, or another replica has the same seed; nothing was \
                 counted twice.",
            );
        }
        for name in report.shown.iter().flat_map(Shown::names) {
            if let Err(text) = self.check_name(name) {
                return refused(&text);
            }
        }
        Ok(())
    }

    /// The number by which this learner knows an event that a learner of this identity numbered: its own, or one of
    /// a replica that it has absorbed.
    pub fn number_of(&self, identity: u64, number: u64) -> Option<u64> {
        if identity == self.identity {
            return Some(number);
        }
        self.absorbed.number(identity, number)
    }

    pub(super) fn replica_state(&self) -> Option<ReplicaState<'_>> {
        self.replica.as_deref().map(|replica| ReplicaState {
            owner: replica.owner,
            after: replica.after,
            asked: replica.asked,
            shown: replica.shown.as_ref().map(Shown::state),
        })
    }

    /// Adopt what was saved of a replica, last of all.
    pub(super) fn adopt_replica(
        &mut self,
        state: Option<&ReplicaState<'_>>,
    ) -> Result<(), &'static str> {
        let Some(state) = state else { return Ok(()) };
        if state.after > self.seen
            || state.asked > self.asked
            || state.shown.is_some() != self.scaler.is_some()
        {
            return Err("what its owner was told is impossible");
        }
        let names = self.table.len();
        let shown = state.shown.as_ref().map(|shown| Shown::restored(shown, names)).transpose()?;
        if shown.as_ref().is_some_and(|shown| shown.rounds() > self.seen - state.after) {
            return Err("it was shown more events than it decided on");
        }
        let (owner, after, asked) = (state.owner, state.after, state.asked);
        self.replica = Some(Box::new(Replica { owner, after, asked, shown }));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::{Capacity, EvictionPolicy};
    use crate::label::Label;
    use crate::learner::decision::Decision;
    use crate::learner::snapshot::split;
    use crate::learner::testing::{
        PA, STREAM, after_stream, bytes_of, every_kind, known_names, label_for, learner, linear,
        looked_up, names_of, spring,
    };
    use crate::rules::query::QueryRule;

    fn replica_of(owner: &Learner, seed: u64) -> Learner {
        let mut replica = learner(Config { seed, ..owner.config.clone() });
        replica.become_replica(owner).unwrap();
        replica
    }

    /// Let replicas decide on the stream in turn; what they asked, in their order, with names and labels.
    fn decided(replicas: &mut [Learner]) -> Vec<(u64, Decision, EventBuffer, usize)> {
        let mut asked = Vec::new();
        for (row, (event, _)) in STREAM.iter().enumerate() {
            let count = replicas.len();
            let replica = &mut replicas[row % count];
            let mut buffer = looked_up(replica, event).unwrap();
            let decision = replica.decide(&mut buffer, &names_of(event)[..]).unwrap();
            if decision.asked {
                asked.push((replica.identity, decision, buffer, row));
            }
        }
        asked
    }

    /// Answer in the owner as the binding does: names are looked up anew.
    fn answer(
        owner: &mut Learner,
        asked: (u64, Decision, EventBuffer, usize),
    ) -> Result<(), Error> {
        let (identity, decision, mut buffer, row) = asked;
        let (event, positive) = STREAM[row];
        let Some(number) = owner.number_of(identity, decision.number) else {
            return Err(Error::Answer(String::new()));
        };
        for feature in &mut buffer.features {
            feature.id = UNKNOWN;
        }
        owner.look_up(&names_of(event)[..], &mut buffer)?;
        owner.expand(&mut buffer);
        let label = label_for(owner.labels(), positive);
        let decision = Decision { number, ..decision };
        owner.answer(&decision, &mut buffer, &names_of(event)[..], &label, None)
    }

    #[test]
    fn the_owner_of_every_kind_counts_and_learns_what_its_replicas_decided() {
        for config in every_kind() {
            let mut owner = after_stream(config.clone());
            let mut replicas = [replica_of(&owner, 1), replica_of(&owner, 2)];
            let asked = decided(&mut replicas);
            let counts = (owner.seen + 8, owner.asked + asked.len() as u64, owner.learned);
            let reports = replicas.each_mut().map(|replica| replica.report().unwrap());
            owner.absorb(&reports).unwrap();
            assert_eq!((owner.seen, owner.asked, owner.learned), counts);
            for one in asked {
                answer(&mut owner, one).unwrap();
            }
            assert_eq!(owner.learned, owner.asked);
            let restored = Learner::restore(config, split(&bytes_of(&owner)).unwrap().1).unwrap();
            assert!(bytes_of(&restored) == bytes_of(&owner));
            replicas[0].refresh(&owner).unwrap();
            assert_eq!(replicas[0].learned, owner.learned);
            assert_eq!(known_names(&replicas[0]), known_names(&owner));
        }
    }

    #[test]
    fn a_replica_does_not_learn_and_its_answers_wait_until_it_is_absorbed() {
        let mut owner = after_stream(spring(QueryRule::All));
        let mut replicas = [replica_of(&owner, 1)];
        let before = bytes_of(&replicas[0]);
        let refused =
            crate::learner::testing::learn(&mut replicas[0], STREAM[0].0, &Label::Bool(true));
        assert!(matches!(refused, Err(Error::Parameter(_))));
        assert!(bytes_of(&replicas[0]) == before);
        let mut asked = decided(&mut replicas);
        let one = asked.remove(0);
        assert_eq!(owner.number_of(one.0, one.1.number), None);
        let report = replicas[0].report().unwrap();
        owner.absorb(&[report]).unwrap();
        answer(&mut owner, one).unwrap();
    }

    #[test]
    fn a_report_counts_once_and_can_be_taken_back() {
        let mut owner = after_stream(spring(QueryRule::All));
        let mut replicas = [replica_of(&owner, 1)];
        decided(&mut replicas);
        let bytes = replicas[0].report().unwrap().write().unwrap();
        decided(&mut replicas);
        let read = || Report::read(&bytes).unwrap();
        owner.absorb(&[read()]).unwrap();
        let before = bytes_of(&owner);
        let refused = owner.absorb(&[read()]);
        assert!(matches!(refused, Err(Error::Parameter(text)) if text.contains("before")));
        assert!(bytes_of(&owner) == before);
        replicas[0].take_back(read()).unwrap();
        let whole = replicas[0].report().unwrap();
        assert_eq!((whole.seen - whole.after, whole.asked), (16, 16));
        let mut other = after_stream(spring(QueryRule::All));
        other.absorb(&[whole]).unwrap();
        assert_eq!((other.seen, other.asked), (24, 24));
    }

    #[test]
    fn altered_reports_are_refused() {
        let owner = after_stream(spring(QueryRule::All));
        let mut replicas = [replica_of(&owner, 1)];
        decided(&mut replicas);
        let bytes = replicas[0].report().unwrap().write().unwrap();
        for position in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[position] ^= 4;
            assert!(matches!(Report::read(&bad), Err(Error::State(_))), "{position}");
            assert!(matches!(Report::read(&bytes[..position]), Err(Error::State(_))));
        }
    }

    #[test]
    fn a_restored_replica_goes_on_in_the_same_way() {
        for config in every_kind() {
            let owner = after_stream(config);
            let mut replicas = [replica_of(&owner, 1)];
            decided(&mut replicas);
            let state = bytes_of(&replicas[0]);
            let config = replicas[0].config.clone();
            let mut again = [Learner::restore(config, split(&state).unwrap().1).unwrap()];
            decided(&mut replicas);
            decided(&mut again);
            assert!(bytes_of(&replicas[0]) == bytes_of(&again[0]));
            let [a, b] = [&mut replicas[0], &mut again[0]].map(|one| one.report().unwrap());
            assert!(a.write().unwrap() == b.write().unwrap());
        }
    }

    #[test]
    fn what_was_not_reported_survives_a_refresh_and_an_eviction() {
        let capacity = Some(Capacity { most: 3, policy: EvictionPolicy::Oldest });
        let config = Config { scaled: true, capacity, ..linear(PA) };
        let mut owner = after_stream(config);
        let mut replicas = [replica_of(&owner, 1)];
        decided(&mut replicas);
        replicas[0].refresh(&owner).unwrap();
        let report = replicas[0].report().unwrap();
        let shown = report.shown.as_ref().unwrap();
        assert_eq!((shown.rounds(), shown.names().count()), (8, 5));
        owner.absorb(&[report]).unwrap();
        assert!(owner.given_names() <= 3);
        assert_eq!(owner.scaler.as_ref().unwrap().rounds(), 16);
    }

    #[test]
    fn names_that_the_owner_has_no_room_for_are_left_out() {
        let capacity = Some(Capacity { most: 2, policy: EvictionPolicy::Refuse });
        let mut owner = learner(Config { scaled: true, capacity, ..linear(PA) });
        let mut replicas = [replica_of(&owner, 1), replica_of(&owner, 2)];
        let asked = decided(&mut replicas);
        let reports = replicas.each_mut().map(|replica| replica.report().unwrap());
        owner.absorb(&reports).unwrap();
        assert_eq!(known_names(&owner), ["'a'", "'b'"]); // of the first event of the first
        for one in asked {
            answer(&mut owner, one).unwrap();
        }
        assert_eq!((owner.learned, owner.given_names()), (8, 2));
        assert!(owner.refused() > 0);
    }

    #[test]
    fn what_cannot_be_a_replica_is_refused_with_a_sentence() {
        let owner = after_stream(spring(QueryRule::All));
        let replica = replica_of(&owner, 1);
        let refusal = |owner: &Learner, seed| {
            let mut one = learner(Config { seed, ..owner.config.clone() });
            one.become_replica(owner).unwrap_err().to_string()
        };
        assert!(refusal(&replica, 3).contains("make replicas of its owner"));
        assert!(refusal(&owner, owner.config.seed).contains("seed must be another"));
        let quota = QueryRule::Quota { rate: 0.5, total: Some(8) };
        assert!(refusal(&learner(spring(quota)), 1).contains("quota with a total"));
        let mut other = after_stream(spring(QueryRule::Random { rate: 0.5 }));
        let report = replica.clone().report().unwrap();
        assert!(other.absorb(&[report]).unwrap_err().to_string().contains("other parameters"));
        assert!(replica.clone().refresh(&other).is_err() && other.refresh(&owner).is_err());
        assert!(other.report().is_err());
    }
}
