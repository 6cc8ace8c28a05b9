//! The register: which features there are, in which state each is, and what happened to them.
//!
//! Every event counts, labelled or not. A feature is judged by its own rhythm: one that comes once a day is not
//! silent after an hour. An event costs O(its features); `tests/reference/register.py` says the same plainly, and
//! looks at all features with every event.

mod alarms;
mod clock;
mod entry;
mod finding;
mod gaps;
mod kept;
mod merging;
mod newborns;
mod run;
mod scale;
mod snapshot;

use crate::capacity::{Capacity, EvictionPolicy};
use crate::error::Error;
use crate::event::{FeatureId, Name, Names, UNKNOWN};
use crate::feature_table::FeatureTable;
use crate::register::alarms::{Alarm, Alarms};
use crate::register::clock::Clock;
use crate::register::entry::{Arrived, CYCLES, DOUBLED, EARLY, ESTABLISHED, Entry, Life};
use crate::register::finding::FindingLog;
use crate::register::newborns::Newborns;

pub use crate::register::entry::FeatureState;
pub use crate::register::finding::{Finding, FindingKind, KeptName};

/// A feature is born if it would have been seen so often before, at the rate of its first arrivals; more for each
/// doubling of the number of features.
const SURPRISE: f64 = 8.0;
/// A few stray arrivals before may be no part of its life; so many more for each of them.
const STRAY: f64 = 10.0;

/// What the register is told when it is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegisterConfig {
    /// The length, in the unit of the times, of the cycle in which values and absences repeat: a day.
    pub cycle: f64,
    /// The most features that are kept; beyond, those seen longest ago are dropped.
    pub most: Option<u32>,
}

#[derive(Clone, Debug)]
pub struct Register {
    config: RegisterConfig,
    table: FeatureTable,
    entries: Vec<Entry>,
    events: u64,
    /// Whether events have times; none before the first.
    timed: Option<bool>,
    /// The time of the first event, and of the last.
    start: f64,
    time: f64,
    /// Features whose absence is looked at.
    watched: u64,
    evicted: u64,
    newborns: Newborns,
    log: FindingLog,
    alarms: Alarms,
    /// Of the event at hand.
    found: Vec<Found>,
    /// Features of the event at hand that are newborns from now on.
    new: Vec<FeatureId>,
}

/// A finding on its way into the log.
#[derive(Clone, Copy, Debug)]
struct Found {
    id: FeatureId,
    kind: FindingKind,
    before: f64,
    now: f64,
    other: FeatureId,
}

/// All that is known of a feature, for whoever asks.
#[derive(Clone, Debug)]
pub struct FeatureSummary {
    pub name: KeptName,
    pub state: FeatureState,
    pub first_event: u64,
    pub first_time: f64,
    pub last_event: u64,
    pub last_time: f64,
    pub count: u64,
    pub share: f64,
    /// The mean gap and the longest usual gap between arrivals, in the unit of the times.
    pub mean_gap: Option<f64>,
    pub longest_gap: Option<f64>,
    /// Mean and spread of the last values; and before the scale changed, or over all earlier cycles.
    pub now: (f64, f64),
    pub before: Option<(f64, f64)>,
    pub stuck: bool,
    pub values: Vec<f64>,
}

impl Register {
    pub fn new(config: RegisterConfig) -> Self {
        Self {
            config,
            table: FeatureTable::default(),
            entries: Vec::new(),
            events: 0,
            timed: None,
            start: 0.0,
            time: 0.0,
            watched: 0,
            evicted: 0,
            newborns: Newborns::default(),
            log: FindingLog::default(),
            alarms: Alarms::default(),
            found: Vec::new(),
            new: Vec::new(),
        }
    }

    pub fn config(&self) -> RegisterConfig {
        self.config
    }

    /// Events observed.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Whether events have times; none before the first event.
    pub fn timed(&self) -> Option<bool> {
        self.timed
    }

    /// The time of the last event, if events have times.
    pub fn time(&self) -> Option<f64> {
        (self.timed == Some(true)).then_some(self.time)
    }

    /// Features known.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Features dropped. Whenever this number grows, feature ids change.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    pub fn id(&self, name: Name<'_>) -> FeatureId {
        self.table.id(name)
    }

    /// How many findings there were, and of a kind.
    pub fn made(&self) -> u64 {
        self.log.made()
    }

    pub fn made_of(&self, kind: FindingKind) -> u64 {
        self.log.count(kind)
    }

    /// The findings after this number that are kept, the oldest first.
    pub fn findings(&self, since: u64) -> impl Iterator<Item = &Finding> {
        self.log.since(since)
    }

    pub fn state(&self, id: FeatureId) -> Option<FeatureState> {
        self.entries.get(id as usize).map(|entry| entry.state(&self.clock()))
    }

    /// The moment of the last event.
    fn clock(&self) -> Clock {
        let timed = self.timed == Some(true);
        let cycle = if timed { self.config.cycle } else { 0.0 };
        let late = self.events > 1 && self.time - self.start >= CYCLES * cycle;
        let watched = self.watched;
        Clock { event: self.events, time: self.time, cycle, timed, watched, late }
    }

    /// Refuse a time that cannot be that of the next event.
    pub fn check_time(&self, time: Option<f64>) -> Result<(), Error> {
        match (self.timed, time) {
            (_, Some(time)) if !time.is_finite() => {
                Err(Error::Event(format!("time: expected a finite number of seconds, got {time}.")))
            }
            (Some(true), None) => Err(Error::Event(
                "time: the events before had times, so this one must have one; give time=."
                    .to_owned(),
            )),
            (Some(false), Some(_)) => Err(Error::Event(
                "time: the events before had no times, so this one must have none; leave time out."
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// Count an event. Ids other than `UNKNOWN` are those of earlier calls, since which [`Self::evicted`] has not
    /// grown; all others are filled in. What has no room keeps `UNKNOWN`. The order of the features does not
    /// matter. An error has changed nothing.
    pub fn observe(
        &mut self,
        ids: &mut [FeatureId],
        values: &[f64],
        names: &(impl Names + ?Sized),
        time: Option<f64>,
    ) -> Result<(), Error> {
        self.check_time(time)?;
        let mut new = Vec::new();
        for (position, id) in ids.iter_mut().enumerate() {
            if *id == UNKNOWN {
                let name = names.name(position);
                *id = self.table.id(name);
                if *id == UNKNOWN {
                    name.check_length().map_err(|text| Error::Event(format!("event: {text}")))?;
                    new.push(position);
                }
            }
        }
        if !new.is_empty() {
            new.sort_unstable_by(|&a, &b| names.name(a).cmp(&names.name(b)));
            if let Some(capacity) = self.capacity() {
                new.truncate(capacity.room(self.len(), ids.len() - new.len()));
            }
            self.table.room_for(new.len())?;
            self.table.reserve(new.iter().map(|&position| names.name(position)))?;
        }
        // From here on nothing can fail.
        self.events += 1;
        let first = self.timed.is_none();
        self.timed = Some(time.is_some());
        let now = time.unwrap_or(self.events as f64);
        self.time = if first { now } else { now.max(self.time) };
        self.start = if first { now } else { self.start };
        let clock = self.clock();
        let known = self.entries.len() as FeatureId;
        for &position in &new {
            ids[position] = self.table.insert(names.name(position));
            self.entries.push(Entry::new(values[position], &clock));
        }
        for (&id, &value) in ids.iter().zip(values) {
            if id < known {
                self.arrive(id, value, &clock);
            }
        }
        self.watch_newborns(&clock);
        while let Some((id, alarm)) = self.alarms.pop(clock.event, clock.time) {
            self.look(id, alarm, &clock);
        }
        if !self.found.is_empty() {
            self.log_findings(&clock);
        }
        self.evict(ids);
        Ok(())
    }

    fn capacity(&self) -> Option<Capacity> {
        self.config.most.map(|most| Capacity { most, policy: EvictionPolicy::Oldest })
    }

    #[inline]
    fn arrive(&mut self, id: FeatureId, value: f64, clock: &Clock) {
        let entry = &mut self.entries[id as usize];
        let arrived = entry.arrive(value, clock);
        self.watched += u64::from(arrived.watched);
        let alarm = entry.next_alarm(clock.timed);
        if alarm != Alarm::None {
            self.alarms.set(id, alarm, clock.event);
        }
        if let Some(place) = entry.newborn
            && !self.newborns.note(place, clock.event, value)
        {
            entry.newborn = None;
        }
        if entry.count == ESTABLISHED || arrived.is_finding() {
            self.find(id, value, &arrived, clock);
        }
    }

    /// What is to be said about an arrival.
    #[cold]
    fn find(&mut self, id: FeatureId, value: f64, arrived: &Arrived, clock: &Clock) {
        let entry = &self.entries[id as usize];
        let mut born = None;
        if entry.count == ESTABLISHED {
            if entry.late {
                self.new.push(id);
            }
            let life = entry.life.as_deref().filter(|life| self.is_born(life, clock));
            born = life.map(|life| (0.0, life.pauses(clock.timed).mean));
        }
        let scale = arrived.scale.map(|level| (level, value));
        let stuck = arrived.stuck.map(|longest| (f64::from(longest), value));
        let kinds = [FindingKind::Born, FindingKind::Back, FindingKind::Scale, FindingKind::Stuck];
        for (kind, found) in kinds.into_iter().zip([born, arrived.back, scale, stuck]) {
            if let Some((before, now)) = found {
                self.found.push(Found { id, kind, before, now, other: UNKNOWN });
            }
        }
    }

    /// Whether it would have been seen before, had it been there; but for a few strays.
    fn is_born(&self, life: &Life, clock: &Clock) -> bool {
        let surprise = SURPRISE + DOUBLED * f64::from(self.entries.len().ilog2());
        let early = (0..EARLY).zip(life.kept.iter()).skip(usize::from(life.not_late));
        early.into_iter().any(|(strays, (event, _))| {
            let arrivals = (ESTABLISHED - 1 - strays) as f64;
            let missed = (event - 1) as f64 * (arrivals / (clock.event - event) as f64);
            missed >= surprise + STRAY * strays as f64
        })
    }

    /// Keep the values of features that came late and have a few of them now.
    fn watch_newborns(&mut self, clock: &Clock) {
        if self.new.is_empty() {
            return;
        }
        let mut new = std::mem::take(&mut self.new);
        new.sort_unstable();
        for id in new.drain(..) {
            let entry = &mut self.entries[id as usize];
            let Some(life) = entry.life.as_deref() else { continue };
            debug_assert_eq!(entry.last_event, clock.event);
            let (place, dropped) = self.newborns.add(id, life.kept.iter().collect());
            entry.newborn = Some(place);
            if let Some(dropped) = dropped {
                self.entries[dropped as usize].newborn = None;
            }
        }
        self.new = new;
    }

    /// Mark the features that are watched as newborns.
    fn place_newborns(&mut self) {
        for entry in &mut self.entries {
            entry.newborn = None;
        }
        for (id, place) in self.newborns.places() {
            self.entries[id as usize].newborn = Some(place);
        }
    }

    /// Look at a feature whose alarm has come.
    fn look(&mut self, id: FeatureId, alarm: Alarm, clock: &Clock) {
        let entry = &mut self.entries[id as usize];
        if entry.life.as_deref().is_none_or(|life| life.alarm != alarm) {
            return; // it was set again since
        }
        while let Some((state, before, now)) = entry.look(clock) {
            let gone = state == FeatureState::Gone;
            let kind = if gone { FindingKind::Gone } else { FindingKind::Silent };
            self.found.push(Found { id, kind, before, now, other: UNKNOWN });
            let Some(life) = entry.life.as_deref().filter(|_| !gone) else { continue };
            if let Some((r, other)) = self.newborns.successor(id, &life.kept) {
                let kind = FindingKind::Replaced;
                self.found.push(Found { id, kind, before: 0.0, now: r, other });
            }
        }
        if let Some(life) = entry.life.as_deref() {
            self.alarms.set(id, life.alarm, clock.event);
        }
    }

    fn log_findings(&mut self, clock: &Clock) {
        self.found.sort_unstable_by_key(|found| (found.id, found.kind));
        let mut found = std::mem::take(&mut self.found);
        for Found { id, kind, before, now, other } in found.drain(..) {
            self.log.push(Finding {
                number: 0,
                event: clock.event,
                time: clock.time,
                kind,
                name: self.table.name(id).into(),
                before,
                now,
                other: (other != UNKNOWN).then(|| self.table.name(other).into()),
            });
        }
        self.found = found;
    }

    /// Drop the features seen longest ago if there are too many.
    fn evict(&mut self, ids: &mut [FeatureId]) {
        let Some(capacity) = self.capacity() else { return self.tidy() };
        let rows = self.entries.len();
        if rows <= capacity.most() {
            return self.tidy();
        }
        let last = |id: FeatureId| self.entries[id as usize].last_event;
        let candidates = (0..rows as FeatureId).filter(|&id| last(id) < self.events).collect();
        let remap = capacity.remap(rows, rows, candidates, |a, b| (last(a), a).cmp(&(last(b), b)));
        let mut id = 0;
        self.entries.retain(|_| {
            id += 1;
            remap.of(id - 1) != UNKNOWN
        });
        self.table.retain(&remap);
        self.newborns.retain(&remap);
        self.place_newborns();
        self.evicted += (rows - remap.len()) as u64;
        let is_watched = |entry: &&Entry| entry.life.as_deref().is_some_and(|life| life.watched);
        self.watched = self.entries.iter().filter(is_watched).count() as u64;
        for id in ids {
            *id = remap.of(*id);
        }
        self.set_alarms();
    }

    /// Set all alarms anew if most of those that wait are out of date.
    fn tidy(&mut self) {
        if self.alarms.far() > 4 * self.entries.len() + 1_024 {
            self.set_alarms();
        }
    }

    fn set_alarms(&mut self) {
        self.alarms.clear();
        let clock = self.clock();
        for (id, entry) in self.entries.iter_mut().enumerate() {
            if let Some(life) = entry.life.as_deref_mut() {
                // With the next event: it then finds its own moment.
                let waits = life.watched && !life.gone;
                life.alarm = if waits { Alarm::Event(clock.event + 1) } else { Alarm::None };
                self.alarms.set(id as FeatureId, life.alarm, clock.event);
            }
        }
    }

    /// All that is known of a feature.
    pub fn summary(&self, id: FeatureId) -> Option<FeatureSummary> {
        let (entry, clock) = (self.entries.get(id as usize)?, self.clock());
        let life = entry.life.as_deref();
        let values = life.map_or_else(
            || vec![entry.value],
            |life| life.kept.iter().map(|(_, value)| value).collect(),
        );
        Some(FeatureSummary {
            name: self.table.name(id).into(),
            state: entry.state(&clock),
            first_event: entry.first_event,
            first_time: entry.first_time,
            last_event: entry.last_event,
            last_time: entry.last_time,
            count: entry.count,
            share: entry.share(&clock),
            mean_gap: life.map(|life| life.pauses(clock.timed).mean),
            longest_gap: life.map(|life| life.pauses(clock.timed).usual()),
            now: life.map_or((entry.value, 0.0), |life| life.kept.moments()),
            before: life.and_then(|life| {
                life.before.or_else(|| Some((life.scale.level(), life.scale.spread()?)))
            }),
            stuck: life.is_some_and(|life| life.run.is_stuck()),
            values,
        })
    }
}
