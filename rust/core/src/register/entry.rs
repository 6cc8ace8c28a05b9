//! What is known of one feature: when it was seen, its rhythm, its scale, its last values.

use serde::{Deserialize, Serialize};

use crate::register::alarms::{Alarm, event_key, time_key};
use crate::register::clock::Clock;
use crate::register::gaps::Gaps;
use crate::register::kept::{Kept, MOST};
use crate::register::run::Run;
use crate::register::scale::Scale;
use crate::storage::math::larger;

/// Arrivals after which a rhythm is known, if they span so many cycles.
pub const ESTABLISHED: u64 = 8;
pub const CYCLES: f64 = 2.0;
/// The arrivals of which one may be the first of its life: those before are strays.
pub const EARLY: u64 = 4;
/// The least arrivals, and cycles, of a generation of the longest gap.
const GENERATION: u64 = 64;
const GENERATION_CYCLES: f64 = 7.0;
/// A gap is unusual if it is so many spreads above the mean,
const SPREADS: f64 = 6.0;
/// and more for each doubling of the number of features whose absence is looked at,
pub const DOUBLED: f64 = 0.7;
/// and so many events at least.
const FEWEST_EVENTS: f64 = 4.0;
/// So no alarm of an event need come before this many events after an arrival.
const SOONEST: u64 = 5;
/// Before so many cycles nobody knows how a feature spends its weekends: it may be absent for so many.
const YOUNG: f64 = 7.0;
const YOUNG_PATIENCE: f64 = 3.0;
/// A feature is gone after so many times what it takes to be silent.
const GONE: f64 = 4.0;
/// A feature without a rhythm is past if it is absent for so many events and so many times its whole life.
const PAST_EVENTS: u64 = 1_000;
const PAST_LIVES: u64 = 10;

/// What is known of a feature.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub first_event: u64,
    pub first_time: f64,
    pub last_event: u64,
    pub last_time: f64,
    pub count: u64,
    /// The last value.
    pub value: f64,
    /// Whether it came first when the stream had run for some cycles.
    pub late: bool,
    /// From the second arrival on.
    pub life: Option<Box<Life>>,
    /// The place among the newborns, if its values are kept there.
    #[serde(skip)]
    pub newborn: Option<u8>,
}

/// What is known of a feature that came more than once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Life {
    events: Gaps,
    /// All zero without times: then they are those of the events.
    times: Gaps,
    generation: u64,
    generation_since: f64,
    /// Whether its rhythm is known, so that its absence is looked at.
    pub watched: bool,
    pub silent: bool,
    pub gone: bool,
    /// Arrivals after a silence until it counts as live again.
    since_back: u8,
    pub scale: Scale,
    /// Level and spread before the scale changed.
    pub before: Option<(f64, f64)>,
    pub run: Run,
    pub kept: Kept,
    /// Of the first arrivals, how many came so early in the stream that the feature may be older than it.
    pub not_late: u8,
    #[serde(skip)]
    pub alarm: Alarm,
}

/// What an arrival brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrived {
    /// Its rhythm is known from now on.
    pub watched: bool,
    /// What it took to be silent, and how long it was.
    pub back: Option<(f64, f64)>,
    /// The level before.
    pub scale: Option<f64>,
    /// The longest run before.
    pub stuck: Option<u32>,
}

impl Arrived {
    /// Whether there is something to say about it.
    #[inline]
    pub fn is_finding(&self) -> bool {
        self.back.is_some() || self.scale.is_some() || self.stuck.is_some()
    }
}

/// By how many spreads a gap is above the mean that is unusual.
fn spreads(clock: &Clock) -> f64 {
    SPREADS + DOUBLED * f64::from(clock.watched.max(1).ilog2())
}

/// In which state a feature is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureState {
    New,
    Live,
    Silent,
    Gone,
    Back,
}

impl FeatureState {
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Live => "live",
            Self::Silent => "silent",
            Self::Gone => "gone",
            Self::Back => "back",
        }
    }
}

impl Entry {
    /// A feature that arrives for the first time.
    pub fn new(value: f64, clock: &Clock) -> Self {
        Self {
            first_event: clock.event,
            first_time: clock.time,
            last_event: clock.event,
            last_time: clock.time,
            count: 1,
            value,
            late: clock.late,
            life: None,
            newborn: None,
        }
    }

    /// Count an arrival, which is not the first.
    #[inline]
    pub fn arrive(&mut self, value: f64, clock: &Clock) -> Arrived {
        let gap = (clock.event - self.last_event) as f64;
        let pause = clock.time - self.last_time;
        self.count += 1;
        if self.life.is_none() {
            self.life = Some(self.first_life(clock));
        }
        let lived = self.last_time - self.first_time;
        let Some(life) = self.life.as_deref_mut() else { return Arrived::default() };
        let mut arrived = Arrived::default();
        if life.silent {
            arrived.back = Some((life.patience_in_time(lived, clock), pause));
            life.events.excuse(gap);
            if clock.timed {
                life.times.excuse(pause);
            }
            (life.silent, life.gone, life.since_back) = (false, false, ESTABLISHED as u8);
            life.scale.welcome(ESTABLISHED as u32);
        } else {
            life.events.add(gap, self.count - 1);
            if clock.timed {
                life.times.add(pause, self.count - 1);
            }
            life.since_back = life.since_back.saturating_sub(1);
        }
        life.turn(clock);
        if self.count <= EARLY {
            life.not_late += u8::from(!clock.late);
        }
        if !life.watched {
            let age = clock.time - self.first_time;
            life.watched = self.count >= ESTABLISHED && age >= CYCLES * clock.cycle;
            arrived.watched = life.watched;
        }
        let (established, old) = (life.watched, self.value);
        let repeated = value == old;
        if !(life.run.is_stuck() && repeated) && life.scale.add(value, clock) {
            let level = life.scale.level();
            arrived.scale = established.then_some(level);
            life.before = Some((level, life.scale.spread().unwrap_or(0.0)));
            life.scale = life.scale.changed(value, clock);
        }
        if life.run.add(repeated, clock.watched, established) {
            arrived.stuck = Some(life.run.longest());
        }
        life.kept.push(clock.event, value);
        (self.value, self.last_event, self.last_time) = (value, clock.event, clock.time);
        arrived
    }

    /// Move on to the next state if its time has come, and set the next alarm. Returns what it is now, the
    /// longest usual gap, and how long it is absent.
    pub fn look(&mut self, clock: &Clock) -> Option<(FeatureState, f64, f64)> {
        let (last_event, last_time) = (self.last_event, self.last_time);
        let life = self.life.as_deref_mut()?;
        if !life.watched || life.gone {
            life.alarm = Alarm::None;
            return None;
        }
        let factor = life.factor();
        let least = event_key(last_event, life.least_patience());
        if clock.event < least {
            life.alarm = Alarm::Event(least);
            return None;
        }
        let due = event_key(last_event, factor * life.patience_in_events(clock));
        if clock.event < due {
            life.alarm = Alarm::Event(due);
            return None;
        }
        let pause = clock.time - last_time;
        let patience = factor * life.patience_in_time(last_time - self.first_time, clock);
        if pause <= patience {
            let key = time_key(last_time, patience);
            let early = key > crate::register::alarms::ordered(clock.time);
            life.alarm = if early { Alarm::Time(key) } else { Alarm::Event(clock.event + 1) };
            return None;
        }
        let state = if life.silent { FeatureState::Gone } else { FeatureState::Silent };
        (life.gone, life.silent) = (life.silent, true);
        Some((state, life.pauses(clock.timed).usual(), pause))
    }

    /// The alarm that is needed after an arrival; none if the one that is set comes early enough.
    #[inline]
    pub fn next_alarm(&mut self, timed: bool) -> Alarm {
        let (last_event, last_time) = (self.last_event, self.last_time);
        let Some(life) = self.life.as_deref_mut() else { return Alarm::None };
        if !life.watched {
            return Alarm::None;
        }
        if let Alarm::Event(key) = life.alarm
            && key <= last_event.saturating_add(SOONEST)
        {
            return Alarm::None;
        }
        let due = event_key(last_event, life.least_patience());
        let early = match life.alarm {
            Alarm::None => false,
            Alarm::Event(key) => key <= due,
            Alarm::Time(key) => key <= time_key(last_time, life.pauses(timed).least_patience()),
        };
        if early {
            return Alarm::None;
        }
        life.alarm = Alarm::Event(due);
        life.alarm
    }

    pub fn state(&self, clock: &Clock) -> FeatureState {
        match self.life.as_deref() {
            Some(life) if life.gone => FeatureState::Gone,
            Some(life) if life.silent => FeatureState::Silent,
            Some(life) if life.watched && life.since_back > 0 => FeatureState::Back,
            Some(life) if life.watched => FeatureState::Live,
            Some(_) | None => {
                let seen = (self.last_event - self.first_event).saturating_mul(PAST_LIVES);
                let span = (self.last_time - self.first_time) * PAST_LIVES as f64;
                let long = clock.event - self.last_event > seen.max(PAST_EVENTS);
                let pause = clock.time - self.last_time;
                let past = long && pause > span.max(CYCLES * clock.cycle);
                if past { FeatureState::Gone } else { FeatureState::New }
            }
        }
    }

    /// The share of recent events that carry it: of those since the oldest of its values that are kept.
    pub fn share(&self, clock: &Clock) -> f64 {
        let (count, oldest) = match self.life.as_deref() {
            Some(life) => (life.kept.len(), life.kept.iter().next().map_or(0, |(event, _)| event)),
            None => (1, self.first_event),
        };
        count as f64 / (clock.event - oldest + 1) as f64
    }

    /// The same with events and times counted from another beginning.
    pub fn shifted(&self, events: u64, times: f64) -> Self {
        let mut shifted = self.clone();
        shifted.first_event += events;
        shifted.last_event += events;
        shifted.first_time += times;
        shifted.last_time += times;
        if let Some(life) = &mut shifted.life {
            life.generation_since += times;
            life.scale.shift(times);
            life.kept.shift(events);
        }
        shifted
    }

    /// Go on with what is known of the feature from a later part of the stream.
    pub fn merge(&mut self, later: &Self, clock: &Clock) {
        let gap = (later.first_event - self.last_event) as f64;
        let pause = later.first_time - self.last_time;
        let (first, count) = ((self.first_event, self.first_time), self.count);
        let earlier = self.life.take().unwrap_or_else(|| self.first_life(clock));
        let mut kept = earlier.kept.clone();
        let next = later.life.as_deref();
        match next {
            Some(life) => life.kept.iter().for_each(|(event, value)| kept.push(event, value)),
            None => kept.push(later.first_event, later.value),
        }
        let earlier_not_late = earlier.not_late;
        let mut life = match next {
            Some(life) if life.watched || !earlier.watched => Box::new(life.clone()),
            _ => earlier,
        };
        if life.silent && next.is_none_or(|next| !next.silent) {
            (life.silent, life.gone) = (false, false);
        }
        life.events.add(gap, count.max(1));
        if clock.timed {
            life.times.add(pause, count.max(1));
        }
        life.kept = kept;
        let known = count.min(EARLY);
        let late = u64::from(earlier_not_late) + later.not_late().min(EARLY - known);
        life.not_late = late.min(EARLY) as u8;
        *self = Self { count: count + later.count, life: Some(life), ..later.clone() };
        (self.first_event, self.first_time) = first;
    }

    /// What is wrong with a saved entry.
    pub fn check(&self, events: u64) -> Result<(), &'static str> {
        let life = self.life.as_deref();
        let whole = self.first_event >= 1
            && self.first_event <= self.last_event
            && self.last_event <= events
            && self.first_time <= self.last_time
            && self.last_time.is_finite()
            && self.first_time.is_finite()
            && self.value.is_finite()
            && self.count >= 1
            && self.count <= self.last_event - self.first_event + 1
            && (self.count > 1) == life.is_some();
        let fits = life.is_none_or(|life| {
            let kept: Vec<(u64, f64)> = life.kept.iter().collect();
            kept.len() as u64 == self.count.min(MOST as u64)
                && kept.iter().all(|(_, value)| value.is_finite())
                && kept.windows(2).all(|pair| pair[0].0 < pair[1].0)
                && kept[0].0 >= self.first_event
                && kept[kept.len() - 1].0 == self.last_event
                && (life.watched || !(life.silent || life.gone))
                && (life.silent || !life.gone)
                && life.generation < u64::MAX / 2
                && u64::from(life.not_late) <= self.count.min(EARLY)
                && life.run.is_sound()
                && life.scale.is_sound()
        });
        if whole && fits { Ok(()) } else { Err("what it knows of a feature cannot be") }
    }
}

impl Entry {
    /// What is known of it with its second arrival.
    #[cold]
    fn first_life(&self, clock: &Clock) -> Box<Life> {
        let first = Clock { event: self.first_event, time: self.first_time, ..*clock };
        Box::new(Life::new(self.value, &first, !self.late))
    }

    /// Of the first arrivals, how many came early in the stream.
    fn not_late(&self) -> u64 {
        self.life.as_deref().map_or(u64::from(!self.late), |life| u64::from(life.not_late))
    }
}

impl Life {
    fn new(value: f64, first: &Clock, not_late: bool) -> Self {
        let mut kept = Kept::default();
        kept.push(first.event, value);
        Self {
            events: Gaps::default(),
            times: Gaps::default(),
            generation: 0,
            generation_since: first.time,
            watched: false,
            silent: false,
            gone: false,
            since_back: 0,
            scale: Scale::beginning(value, first),
            before: None,
            run: Run::default(),
            kept,
            not_late: u8::from(not_late),
            alarm: Alarm::None,
        }
    }

    /// The gaps between arrivals in time.
    #[inline]
    pub fn pauses(&self, timed: bool) -> &Gaps {
        if timed { &self.times } else { &self.events }
    }

    /// A shorter absence, in events, is usual.
    #[inline]
    fn least_patience(&self) -> f64 {
        larger(self.events.least_patience(), FEWEST_EVENTS)
    }

    /// A longer absence is unusual.
    fn patience_in_events(&self, clock: &Clock) -> f64 {
        self.events.patience(spreads(clock)).max(FEWEST_EVENTS)
    }

    /// The same in time, for a feature that has lived so long.
    fn patience_in_time(&self, lived: f64, clock: &Clock) -> f64 {
        let patience = self.pauses(clock.timed).patience(spreads(clock));
        let young = lived < YOUNG * clock.cycle;
        if young { patience.max(YOUNG_PATIENCE * clock.cycle) } else { patience }
    }

    /// How many times its patience it takes to the next state.
    fn factor(&self) -> f64 {
        if self.silent { GONE } else { 1.0 }
    }

    /// Begin a generation of gaps, if the last is long enough.
    fn turn(&mut self, clock: &Clock) {
        self.generation += 1;
        let since = clock.time - self.generation_since;
        if self.generation >= GENERATION && since >= GENERATION_CYCLES * clock.cycle {
            self.events.turn();
            self.times.turn(); // without times they are all zero
            (self.generation, self.generation_since) = (0, clock.time);
        }
    }
}
