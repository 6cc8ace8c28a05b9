//! Whether a label is worth asking for.
//!
//! One coin `u ~ U[0, 1)` is drawn per event, whether the rule needs it or not. `q` is the margin,
//! or with several classes the lead of the largest score over the second. `t` counts events from 1. `R` is
//! the sum of the rates of the first t events: `rate·t`, unless events were given rates of their own.

use serde::{Deserialize, Serialize};

use crate::storage::math::exp;
use crate::storage::rng::Generator;

/// A rule and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueryRule {
    All,
    /// `u < rate`
    Random {
        rate: f64,
    },
    /// Exactly `rate` of `total` events; without a total, within one of R at every t.
    Quota {
        rate: f64,
        total: Option<u64>,
    },
    /// `u < ρ/(ρ + |q|)`
    Margin {
        width: f64,
    },
    /// `u < ρ/(ρ + 1 + |q|)`
    MarginPlusOne {
        width: f64,
    },
    /// `Margin` with `ρ√(1 + K)`, K the mistakes learned; with `by_norm` times the largest ‖x‖²
    /// seen.
    SelAda {
        width: f64,
        by_norm: bool,
    },
    /// `Margin` with `ρ/(t + 1)`
    Decaying {
        width: f64,
    },
    /// `Margin` with a width that is adapted so that `rate` of the stream is asked for.
    Budget {
        rate: f64,
    },
    /// `|q|` below a running quantile, so that the `rate` of the stream with the smallest margins
    /// is asked for; never more than `R + 2√R + 4` questions.
    Quantile {
        rate: f64,
    },
}

/// What a query rule decides from.
#[derive(Clone, Copy, Debug)]
pub struct QueryContext {
    /// The event's number, from 1.
    pub t: u64,
    /// Questions asked before it.
    pub asked: u64,
    /// |q|
    pub confidence: f64,
    /// ‖x‖², for rules that use it.
    pub squared_norm: f64,
    /// Events learned before it.
    pub learned: u64,
    /// Whether all its values are 0; only set while its question would be one of the first.
    pub all_zero: bool,
    /// Whether more than two classes are known.
    pub several: bool,
    /// Whether and how its values were scaled.
    pub scaled: Scaled,
}

/// What the caller says about one event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// The rate of this event, in [0, 1], instead of the rule's own.
    pub rate: Option<f64>,
    /// Whether its label was asked for and with which probability, as it was logged: it stands in place of
    /// what the rule says, and the rule's state follows it.
    pub outcome: Option<(bool, f64)>,
    /// A coin of the caller's own, which asks beside the rule: whether it came up, and with which
    /// probability a. The label is asked for with p + a·(1 − p).
    pub reserve: Option<(bool, f64)>,
}

impl Told {
    /// The logged outcome if there is one, else what the rule or the caller's coin says.
    fn or(self, (asks, p): (bool, f64)) -> (bool, f64) {
        self.outcome.unwrap_or(match self.reserve {
            Some((hit, a)) => (asks || hit, p + a * (1.0 - p)),
            None => (asks, p),
        })
    }
}

/// The events whose rate was given: how many, and the sum of their rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct GivenRates {
    events: u64,
    sum: f64,
}

impl GivenRates {
    fn note(&mut self, rate: Option<f64>) {
        if let Some(rate) = rate {
            self.events += 1;
            self.sum += rate;
        }
    }

    /// R, the sum of the rates of the first t events, where `rate` is that of all others.
    fn expected(self, rate: f64, t: u64) -> f64 {
        rate * t.saturating_sub(self.events) as f64 + self.sum
    }
}

/// Whether and how an event's values were scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaled {
    /// There is no scaler.
    No,
    /// By a scaler that has observed events, or observes this one.
    Running,
    /// By a scaler that has observed no event and does not observe this one either: waiting for a
    /// more informative event is of no use.
    Nothing,
}

/// A rule with its parameters and its state.
#[derive(Clone, Copy, Debug)]
pub enum Query {
    All,
    Random { rate: f64 },
    Quota(Quota),
    Margin { width: f64 },
    MarginPlusOne { width: f64 },
    SelAda(SelAda),
    Decaying { width: f64 },
    Budget(Budget),
    Quantile(Quantile),
}

/// The state of a rule, as it is saved. Most rules have none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryState {
    None,
    /// Without a total: which of the first `1/rate` events is asked for, in [0, 1); the events whose rate
    /// was given, and the sum of their rates.
    Quota {
        phase: f64,
        #[serde(default, skip_serializing_if = "is_zero")]
        given_events: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        given_rates: f64,
    },
    /// Mistakes learned; largest ‖x‖² seen.
    SelAda {
        mistakes: u64,
        largest_norm: f64,
    },
    /// Running mean of |q|; log factor that corrects too many or too few questions.
    Budget {
        mean_margin: f64,
        tilt: f64,
    },
    /// The same two; the events whose rate was given, and the sum of their rates.
    Quantile {
        mean_margin: f64,
        tilt: f64,
        #[serde(default, skip_serializing_if = "is_zero")]
        given_events: u64,
        #[serde(default, skip_serializing_if = "is_zero")]
        given_rates: f64,
    },
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl Query {
    /// A rule that has seen no event.
    pub fn new(rule: QueryRule, draws: &mut Generator) -> Self {
        match rule {
            QueryRule::All => Self::All,
            QueryRule::Random { rate } => Self::Random { rate },
            QueryRule::Quota { rate, total } => {
                let phase = if total.is_none() { draws.uniform() } else { 0.0 };
                Self::Quota(Quota { rate, total, phase, given: GivenRates::default() })
            }
            QueryRule::Margin { width } => Self::Margin { width },
            QueryRule::MarginPlusOne { width } => Self::MarginPlusOne { width },
            QueryRule::SelAda { width, by_norm } => {
                Self::SelAda(SelAda { width, by_norm, mistakes: 0, largest_norm: 0.0 })
            }
            QueryRule::Decaying { width } => Self::Decaying { width },
            QueryRule::Budget { rate } => Self::Budget(Budget { rate, ..Budget::default() }),
            QueryRule::Quantile { rate } => {
                Self::Quantile(Quantile { rate, ..Quantile::default() })
            }
        }
    }

    pub fn uses_norm(&self) -> bool {
        matches!(self, Self::SelAda(rule) if rule.by_norm)
    }

    /// Whether an event can be given a rate of its own.
    pub fn takes_rate(&self) -> bool {
        match self {
            Self::Random { .. } | Self::Budget(_) | Self::Quantile(_) => true,
            Self::Quota(rule) => rule.total.is_none(),
            Self::All
            | Self::Margin { .. }
            | Self::MarginPlusOne { .. }
            | Self::SelAda(_)
            | Self::Decaying { .. } => false,
        }
    }

    /// Whether to ask, and the probability of asking.
    #[inline(always)]
    pub fn ask(&mut self, context: &QueryContext, coin: f64, told: Told) -> (bool, f64) {
        match self {
            Self::All => told.or((true, 1.0)),
            Self::Random { rate } => {
                let rate = told.rate.unwrap_or(*rate);
                told.or((coin < rate, rate))
            }
            Self::Quota(rule) => rule.ask(context, coin, told),
            Self::Margin { width } => told.or(by_margin(*width, context.confidence, coin)),
            Self::MarginPlusOne { width } => {
                told.or(by_margin(*width, 1.0 + context.confidence, coin))
            }
            Self::SelAda(rule) => told.or(rule.ask(context, coin)),
            Self::Decaying { width } => {
                told.or(by_margin(*width / (context.t as f64 + 1.0), context.confidence, coin))
            }
            Self::Budget(rule) => rule.ask(context, coin, told),
            Self::Quantile(rule) => rule.ask(context, coin, told),
        }
    }

    /// Whether several deciders can keep it together: each asks its share of the events that it decides on.
    pub fn can_be_shared(&self) -> bool {
        !matches!(self, Self::Quota(Quota { total: Some(_), .. }))
    }

    /// Go on from what the rule of another remembers; only where a quota begins stays its own.
    pub fn go_on_from(&mut self, other: &Self) {
        let own = std::mem::replace(self, *other);
        if let (Self::Quota(rule), Self::Quota(own)) = (self, own) {
            rule.phase = own.phase;
        }
    }

    /// Take over what another was taught by answers, or saw: mistakes, and the largest ‖x‖².
    pub fn catch_up(&mut self, other: &QueryState) {
        if let (Self::SelAda(rule), QueryState::SelAda { mistakes, largest_norm }) = (self, other) {
            rule.mistakes = rule.mistakes.max(*mistakes);
            rule.largest_norm = rule.largest_norm.max(*largest_norm);
        }
    }

    /// Record that an event was learned, and whether its prediction was wrong.
    pub fn on_learned(&mut self, mistake: bool) {
        if let Self::SelAda(rule) = self {
            rule.mistakes += u64::from(mistake);
        }
    }

    pub fn state(&self) -> QueryState {
        match *self {
            Self::All
            | Self::Random { .. }
            | Self::Margin { .. }
            | Self::MarginPlusOne { .. }
            | Self::Decaying { .. } => QueryState::None,
            Self::Quota(Quota { phase, given, .. }) => {
                let GivenRates { events: given_events, sum: given_rates } = given;
                QueryState::Quota { phase, given_events, given_rates }
            }
            Self::SelAda(SelAda { mistakes, largest_norm, .. }) => {
                QueryState::SelAda { mistakes, largest_norm }
            }
            Self::Budget(Budget { mean_margin, tilt, .. }) => {
                QueryState::Budget { mean_margin, tilt }
            }
            Self::Quantile(Quantile { mean_margin, tilt, given, .. }) => {
                let GivenRates { events: given_events, sum: given_rates } = given;
                QueryState::Quantile { mean_margin, tilt, given_events, given_rates }
            }
        }
    }

    /// Put a saved state back, if it is that of this rule.
    pub fn adopt(&mut self, state: QueryState) -> Result<(), &'static str> {
        const OTHER: Result<(), &str> = Err("what its query rule remembers is of another rule");
        state.check()?;
        match self {
            Self::All
            | Self::Random { .. }
            | Self::Margin { .. }
            | Self::MarginPlusOne { .. }
            | Self::Decaying { .. } => {
                let QueryState::None = state else { return OTHER };
            }
            Self::Quota(rule) => {
                let QueryState::Quota { phase, given_events, given_rates } = state else {
                    return OTHER;
                };
                rule.phase = phase;
                rule.given = GivenRates { events: given_events, sum: given_rates };
            }
            Self::SelAda(rule) => {
                let QueryState::SelAda { mistakes, largest_norm } = state else { return OTHER };
                (rule.mistakes, rule.largest_norm) = (mistakes, largest_norm);
            }
            Self::Budget(rule) => {
                let QueryState::Budget { mean_margin, tilt } = state else { return OTHER };
                (rule.mean_margin, rule.tilt) = (mean_margin, tilt);
            }
            Self::Quantile(rule) => {
                let QueryState::Quantile { mean_margin, tilt, given_events, given_rates } = state
                else {
                    return OTHER;
                };
                (rule.mean_margin, rule.tilt) = (mean_margin, tilt);
                rule.given = GivenRates { events: given_events, sum: given_rates };
            }
        }
        Ok(())
    }
}

impl QueryState {
    pub fn check(self) -> Result<(), &'static str> {
        let (numbers, count) = match self {
            Self::None => ([0.0; 3], 0),
            Self::Quota { phase, given_events, given_rates } => {
                ([phase, 0.0, given_rates], given_events)
            }
            Self::SelAda { mistakes, largest_norm } => ([largest_norm, 0.0, 0.0], mistakes),
            Self::Budget { mean_margin, tilt } => ([mean_margin, tilt, 0.0], 0),
            Self::Quantile { mean_margin, tilt, given_events, given_rates } => {
                ([mean_margin, tilt, given_rates], given_events)
            }
        };
        let [.., given_rates] = numbers;
        if !numbers.into_iter().all(f64::is_finite) {
            return Err("a number is not finite");
        }
        if given_rates.is_sign_negative() {
            return Err("a sum of rates is below 0");
        }
        if count > u64::MAX / 2 {
            return Err("a counter is too large");
        }
        Ok(())
    }
}

/// `u < width/(width + size)`, without the division.
fn by_margin(width: f64, size: f64, coin: f64) -> (bool, f64) {
    if width == f64::INFINITY {
        (true, 1.0)
    } else if width == 0.0 {
        (false, 0.0)
    } else {
        (coin * (width + size) < width, width / (width + size))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Quota {
    rate: f64,
    total: Option<u64>,
    phase: f64,
    given: GivenRates,
}

impl Quota {
    fn ask(&mut self, context: &QueryContext, coin: f64, told: Told) -> (bool, f64) {
        let Some(total) = self.total else {
            let due =
                |given: GivenRates, t: u64| (given.expected(self.rate, t) + self.phase).floor();
            let before = due(self.given, context.t - 1);
            self.given.note(told.rate);
            let asks = due(self.given, context.t) > before;
            return told.or((asks, told.rate.unwrap_or(self.rate)));
        };
        if context.t > total {
            return told.or((false, 0.0));
        }
        let wanted = (self.rate * total as f64 + 0.5).floor() - context.asked as f64;
        let left = (total - context.t + 1) as f64;
        told.or((coin * left < wanted, (wanted / left).clamp(0.0, 1.0)))
    }
}

#[derive(Clone, Copy, Debug)]
pub struct SelAda {
    width: f64,
    by_norm: bool,
    mistakes: u64,
    largest_norm: f64,
}

impl SelAda {
    fn ask(&mut self, context: &QueryContext, coin: f64) -> (bool, f64) {
        let mut width = self.width * (1.0 + self.mistakes as f64).sqrt();
        if self.by_norm {
            self.largest_norm = self.largest_norm.max(context.squared_norm);
            width *= self.largest_norm;
        }
        by_margin(width, context.confidence, coin)
    }
}

/// The largest correction of a width or threshold, as a logarithm.
const LARGEST_TILT: f64 = 8.0;

/// `Margin` on `|q|` in units of its running mean g, with the width `rate/(1 − rate)·e^b`. b rises
/// while too few labels are asked for and falls while too many are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    rate: f64,
    /// g
    mean_margin: f64,
    /// b
    tilt: f64,
}

impl Budget {
    /// The smallest step of the running mean of |q|: it covers about the last fifty events.
    const SLOWEST: f64 = 0.02;
    /// The least margin, in means: so that margins of exactly 0 are not always asked for.
    const FLOOR: f64 = 0.01;
    const GAIN: f64 = 0.5;

    fn ask(&mut self, context: &QueryContext, coin: f64, told: Told) -> (bool, f64) {
        let Self { rate, mean_margin: mean, tilt } = self;
        let rate = told.rate.unwrap_or(*rate);
        if rate >= 1.0 || rate <= 0.0 {
            return told.or((rate >= 1.0, f64::from(u8::from(rate >= 1.0))));
        }
        *mean += (context.confidence - *mean) * Self::SLOWEST.max(1.0 / context.t as f64);
        let size = if *mean == 0.0 { 1.0 } else { (context.confidence / *mean).max(Self::FLOOR) };
        let (asked, probability) = told.or(if context.t == 1 {
            (true, 1.0)
        } else {
            by_margin(rate / (1.0 - rate) * exp(*tilt), size, coin)
        });
        let missed = rate - f64::from(u8::from(asked));
        *tilt = (*tilt + Self::GAIN * missed).clamp(-LARGEST_TILT, LARGEST_TILT);
        (asked, probability)
    }
}

/// Asks where `|q| < 1.5·rate·g·e^b`, g the running mean of |q|, and for a small random share of
/// the rest; b as in [`Budget`]. The first questions are asked as soon as the promise allows: three, and ten
/// while no answer has come or with more than two classes; until the first answer it then asks by chance.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantile {
    rate: f64,
    /// g
    mean_margin: f64,
    /// b
    tilt: f64,
    given: GivenRates,
}

impl Quantile {
    /// The smallest step of the running mean of |q|: it covers about the last two hundred events.
    const SLOWEST: f64 = 0.005;
    /// The r-quantile of half-normal |q| is near 1.5·r of their mean.
    const SPREAD: f64 = 1.5;
    /// The share of the rate that is asked for at random: a concept that is reversed is found only there.
    const EXPLORED: f64 = 0.15;
    /// So many questions are asked as soon as the promise allows,
    const FIRST_QUESTIONS: u64 = 3;
    /// and so many before the first answer, which says what to ask, or with more than two classes.
    const FIRST_UNGUIDED: u64 = 10;
    /// With a scaler, the first event that may be asked for: the scaler needs a few events first.
    const FIRST_EVENT: u64 = 10;
    /// The most questions ahead of the rate at the start.
    const BURST: f64 = 3.0;

    fn ask(&mut self, context: &QueryContext, coin: f64, told: Told) -> (bool, f64) {
        self.given.note(told.rate);
        let rate = told.rate.unwrap_or(self.rate);
        if rate >= 1.0 || rate <= 0.0 {
            return told.or((rate >= 1.0, f64::from(u8::from(rate >= 1.0))));
        }
        let step = Self::SLOWEST.max(1.0 / context.t as f64);
        self.mean_margin += (context.confidence - self.mean_margin) * step;
        let (asked, probability) = told.or(self.say(context, coin, rate));
        if context.learned > 0
            && context.asked >= Self::first_questions(context.learned, context.several)
        {
            let missed = rate - f64::from(u8::from(asked));
            let tilt = self.tilt + missed / (1.0 + context.asked as f64).sqrt();
            self.tilt = tilt.clamp(-LARGEST_TILT, LARGEST_TILT);
        }
        (asked, probability)
    }

    /// What the rule says of an event that the running mean has counted.
    fn say(&self, context: &QueryContext, coin: f64, rate: f64) -> (bool, f64) {
        let expected = self.given.expected(self.rate, context.t);
        if context.asked as f64 >= expected + 2.0 * expected.sqrt() + Self::BURST {
            return (false, 0.0);
        }
        if context.asked < Self::first_questions(context.learned, context.several) {
            let due = (context.asked as f64) < expected + 2.0 * expected.sqrt();
            let first = due && !Self::waits(context);
            return (first, f64::from(u8::from(first)));
        }
        if context.learned == 0 {
            return (coin < rate, rate); // nothing tells which event is worth more
        }
        let threshold = Self::SPREAD * rate * self.mean_margin * exp(self.tilt);
        let unsure = context.confidence < threshold;
        // While all margins are 0, as with one known class of several, only chance can ask.
        let chance = if self.mean_margin == 0.0 { rate } else { Self::EXPLORED * rate };
        (unsure || coin < chance, if unsure { 1.0 } else { chance })
    }

    /// How many questions are asked as soon as possible.
    pub fn first_questions(learned: u64, several: bool) -> u64 {
        if learned == 0 || several { Self::FIRST_UNGUIDED } else { Self::FIRST_QUESTIONS }
    }

    /// At the start: whether a later event is likely to be more informative.
    fn waits(context: &QueryContext) -> bool {
        match context.scaled {
            Scaled::No => context.all_zero,
            Scaled::Running => context.all_zero || context.t < Self::FIRST_EVENT,
            Scaled::Nothing => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(t: u64, asked: u64, confidence: f64) -> QueryContext {
        QueryContext {
            t,
            asked,
            confidence,
            squared_norm: 1.0,
            learned: asked,
            all_zero: false,
            several: false,
            scaled: Scaled::No,
        }
    }

    fn fresh(rule: QueryRule) -> Query {
        Query::new(rule, &mut Generator::from_seed(0))
    }

    fn share_asked(rule: QueryRule, events: u64, margins: impl Fn(f64) -> f64) -> f64 {
        let mut coins = Generator::from_seed(3);
        let mut others = coins.jumped();
        let mut query = fresh(rule);
        let mut asked = 0;
        for t in 1..=events {
            let confidence = margins(others.uniform());
            let context = at(t, asked, confidence);
            asked += u64::from(query.ask(&context, coins.uniform(), Told::default()).0);
        }
        asked as f64 / events as f64
    }

    #[test]
    fn a_quota_is_reached_exactly() {
        let rule = QueryRule::Quota { rate: 0.1, total: Some(1000) };
        assert_eq!(share_asked(rule, 1000, |u| u), 0.1);
        assert_eq!(share_asked(rule, 2000, |u| u), 0.05); // nothing after the total
        let endless = QueryRule::Quota { rate: 0.25, total: None };
        assert_eq!(share_asked(endless, 1000, |u| u), 0.25);
    }

    #[test]
    fn a_budget_is_kept_whatever_the_scale_of_the_margins() {
        for scale in [1e-6, 1.0, 1e6] {
            let share = share_asked(QueryRule::Budget { rate: 0.1 }, 20_000, |u| scale * u);
            assert!((share - 0.1).abs() < 0.005, "{share}");
        }
    }

    #[test]
    fn a_quantile_is_kept_whatever_the_scale_of_the_margins() {
        for scale in [1e-6, 1.0, 1e6] {
            let share = share_asked(QueryRule::Quantile { rate: 0.1 }, 20_000, |u| scale * u);
            assert!((share - 0.1).abs() < 0.005, "{share}");
        }
        assert_eq!(share_asked(QueryRule::Quantile { rate: 0.0 }, 100, |u| u), 0.0);
        assert_eq!(share_asked(QueryRule::Quantile { rate: 1.0 }, 100, |u| u), 1.0);
    }

    #[test]
    fn the_bound_on_questions_holds_when_all_margins_are_equal() {
        let rule = QueryRule::Quantile { rate: 0.04 };
        for margins in [0.0, 1.0] {
            let (mut query, mut asked) = (fresh(rule), 0);
            for t in 1..=5_000 {
                let (asks, probability) = query.ask(&at(t, asked, margins), 0.5, Told::default());
                assert!(!asks || probability == 1.0);
                asked += u64::from(asks);
                let expected = 0.04 * t as f64;
                assert!(asked as f64 <= expected + 2.0 * expected.sqrt() + 4.0);
            }
        }
    }

    #[test]
    fn the_bound_on_questions_holds_when_margins_collapse() {
        let (mut query, mut asked) = (fresh(QueryRule::Quantile { rate: 0.04 }), 1);
        for t in 1..=1_300 {
            let margin = if t <= 1_000 { 1.0 } else { 0.0 };
            asked += u64::from(query.ask(&at(t, asked, margin), 0.5, Told::default()).0);
            let expected = 0.04 * t as f64;
            assert!(asked as f64 <= expected + 2.0 * expected.sqrt() + 4.0, "{asked} of {t}");
        }
    }

    #[test]
    fn a_quota_of_a_total_is_rounded() {
        for (rate, total, questions) in [(0.25, 10, 3), (0.24, 10, 2)] {
            let (mut query, mut asked) = (fresh(QueryRule::Quota { rate, total: Some(total) }), 0);
            for t in 1..=total {
                asked += u64::from(query.ask(&at(t, asked, 1.0), 0.5, Told::default()).0);
            }
            assert_eq!(asked, questions);
        }
    }

    #[test]
    fn margins_that_are_all_0_are_asked_for_at_random_at_the_rate() {
        let share = share_asked(QueryRule::Quantile { rate: 0.1 }, 20_000, |_| 0.0);
        assert!((share - 0.1).abs() < 0.01, "{share}");
    }

    #[test]
    fn the_first_questions_come_as_early_as_the_promise_allows_and_never_stall() {
        let mut query = fresh(QueryRule::Quantile { rate: 0.5 });
        let before =
            |t, asked, all_zero| QueryContext { learned: 0, all_zero, ..at(t, asked, 0.0) };
        assert_eq!(query.ask(&before(1, 0, true), 0.0, Told::default()), (false, 0.0));
        assert_eq!(query.ask(&before(2, 0, false), 0.0, Told::default()), (true, 1.0));
        assert_eq!(query.ask(&before(8, 7, false), 0.0, Told::default()), (true, 1.0)); // 4 + 2√4
        assert_eq!(query.ask(&before(8, 8, false), 0.0, Told::default()), (false, 0.0));
        let (mean_margin, tilt, given_events, given_rates) = (0.0, 0.0, 0, 0.0);
        let unmoved = QueryState::Quantile { mean_margin, tilt, given_events, given_rates };
        assert_eq!(query.state(), unmoved);
        // No answer has come after ten questions: chance goes on asking at the rate.
        assert_eq!(query.ask(&before(100, 10, false), 0.4, Told::default()), (true, 0.5));
        assert_eq!(query.ask(&before(101, 11, false), 0.6, Told::default()), (false, 0.5));
    }

    #[test]
    fn with_a_scaler_the_first_question_waits_for_the_tenth_event_unless_waiting_is_of_no_use() {
        let first = |scaled, t| QueryContext { learned: 0, scaled, ..at(t, 0, 0.0) };
        let rule = QueryRule::Quantile { rate: 0.5 };
        let asks = |context: QueryContext| fresh(rule).ask(&context, 0.0, Told::default()).0;
        assert!(asks(first(Scaled::No, 1)));
        assert!(!asks(first(Scaled::Running, 9)));
        assert!(asks(first(Scaled::Running, 10)));
        assert!(asks(QueryContext { all_zero: true, ..first(Scaled::Nothing, 1) }));
    }

    #[test]
    fn a_rule_adopts_its_own_state_and_no_other() {
        let rules = [
            QueryRule::All,
            QueryRule::Quota { rate: 0.1, total: None },
            QueryRule::SelAda { width: 1.0, by_norm: true },
            QueryRule::Budget { rate: 0.1 },
            QueryRule::Quantile { rate: 0.1 },
        ];
        for (i, &rule) in rules.iter().enumerate() {
            let mut query = fresh(rule);
            for t in 1..50 {
                query.ask(&at(t, t / 10, 1.0 / t as f64), 0.5, Told::default());
                query.on_learned(true);
            }
            for (j, &other) in rules.iter().enumerate() {
                let mut restored = fresh(other);
                assert_eq!(restored.adopt(query.state()).is_ok(), i == j);
                assert_eq!(restored.state() == query.state(), i == j);
            }
        }
        let infinite = QueryState::Budget { mean_margin: f64::INFINITY, tilt: 0.0 };
        assert!(fresh(QueryRule::Budget { rate: 0.1 }).adopt(infinite).is_err());
    }

    const RATED: [QueryRule; 4] = [
        QueryRule::Random { rate: 0.1 },
        QueryRule::Quota { rate: 0.1, total: None },
        QueryRule::Budget { rate: 0.1 },
        QueryRule::Quantile { rate: 0.1 },
    ];

    #[test]
    fn a_given_rate_is_the_rule_s_rate_for_that_event() {
        for rule in RATED {
            let mut query = fresh(rule);
            assert!(query.takes_rate());
            let mut coins = Generator::from_seed(5);
            let (mut asked, mut t) = (0, 0);
            let mut share = |rate: f64| {
                let before = asked;
                for _ in 0..20_000 {
                    t += 1;
                    let (confidence, coin) = (coins.uniform(), coins.uniform());
                    let told = Told { rate: Some(rate), ..Told::default() };
                    asked += u64::from(query.ask(&at(t, asked, confidence), coin, told).0);
                }
                (asked - before) as f64 / 20_000.0
            };
            for rate in [0.3, 0.02, 0.0, 1.0, 0.1] {
                let got = share(rate);
                assert!((got - rate).abs() < 0.02, "{rule:?} at {rate}: {got}");
            }
        }
        for rule in [QueryRule::All, QueryRule::Quota { rate: 0.1, total: Some(9) }] {
            assert!(!fresh(rule).takes_rate());
        }
    }

    #[test]
    fn the_bound_holds_for_given_rates_whatever_they_are() {
        let mut numbers = Generator::from_seed(8);
        for _ in 0..200 {
            let mut query = fresh(QueryRule::Quantile { rate: numbers.uniform() });
            let (mut asked, mut sum) = (0_u64, 0.0);
            for t in 1..=400 {
                let u = numbers.uniform();
                let rate =
                    if u < 0.2 { f64::from(u8::from(u < 0.1)) } else { numbers.uniform() * u };
                sum += rate;
                let context = QueryContext { learned: t / 50, ..at(t, asked, u.powi(9)) };
                let told = Told { rate: Some(rate), ..Told::default() };
                asked += u64::from(query.ask(&context, numbers.uniform(), told).0);
                assert!(asked as f64 <= sum + 2.0 * sum.sqrt() + 4.0 + 1e-9, "{asked} of {sum}");
            }
        }
    }

    #[test]
    fn a_rule_that_is_told_what_it_said_is_in_the_same_state() {
        let mut rules = vec![QueryRule::All, QueryRule::SelAda { width: 1.0, by_norm: true }];
        rules.extend(RATED);
        rules.push(QueryRule::Quota { rate: 0.2, total: Some(90) });
        for rule in rules {
            let (mut first, mut again) = (fresh(rule), fresh(rule));
            let (mut numbers, mut asked) = (Generator::from_seed(2), 0);
            for t in 1..=300 {
                let context = at(t, asked, numbers.uniform().powi(3));
                let rate = (first.takes_rate() && t % 3 == 0).then(|| numbers.uniform() / 4.0);
                let coin = numbers.uniform();
                let said = first.ask(&context, coin, Told { rate, ..Told::default() });
                assert_eq!(
                    again.ask(&context, coin, Told { rate, outcome: Some(said), reserve: None }),
                    said
                );
                assert_eq!(again.state(), first.state());
                asked += u64::from(said.0);
            }
        }
    }

    #[test]
    fn an_outcome_stands_against_rule_and_bound_and_moves_the_state() {
        for rule in RATED {
            let (mut yes, mut no) = (fresh(rule), fresh(rule));
            for t in 1..=50 {
                let told = |asked| Told { outcome: Some((asked, 0.5)), ..Told::default() };
                assert_eq!(yes.ask(&at(t, t - 1, 1.0), 0.999, told(true)), (true, 0.5));
                assert_eq!(no.ask(&at(t, 0, 1.0), 0.0, told(false)), (false, 0.5));
            }
            let moves = matches!(rule, QueryRule::Budget { .. } | QueryRule::Quantile { .. });
            assert_eq!(yes.state() != no.state(), moves, "{rule:?}");
        }
    }

    #[test]
    fn a_reserve_asks_beside_the_rule_and_the_state_follows_what_was_asked() {
        for rule in RATED {
            let (mut first, mut again) = (fresh(rule), fresh(rule));
            let (mut plain, mut numbers) = (fresh(rule), Generator::from_seed(3));
            let mut asked = 0;
            for t in 1..=200 {
                let context = at(t, asked, numbers.uniform());
                let (coin, hit) = (numbers.uniform(), numbers.uniform() < 0.1);
                let said = plain.ask(&context, coin, Told::default());
                let reserve = Some((hit, 0.1));
                let both = first.ask(&context, coin, Told { reserve, ..Told::default() });
                assert_eq!(both, (said.0 || hit, said.1 + 0.1 * (1.0 - said.1)));
                again.ask(&context, coin, Told { outcome: Some(both), ..Told::default() });
                assert_eq!(first.state(), again.state());
                plain = first;
                asked += u64::from(both.0);
            }
        }
    }

    #[test]
    fn an_event_of_rate_0_moves_no_mean_and_no_tilt() {
        for rule in [QueryRule::Budget { rate: 0.1 }, QueryRule::Quantile { rate: 0.1 }] {
            let mut query = fresh(rule);
            query.ask(&at(1, 0, 1.0), 0.5, Told::default());
            let numbers = |query: &Query| match query.state() {
                QueryState::Budget { mean_margin, tilt }
                | QueryState::Quantile { mean_margin, tilt, .. } => (mean_margin, tilt),
                other => panic!("{other:?}"),
            };
            let before = numbers(&query);
            let never = Told { rate: Some(0.0), ..Told::default() };
            assert_eq!(query.ask(&at(2, 1, 9.0), 0.0, never), (false, 0.0));
            assert_eq!(numbers(&query), before);
        }
    }

    #[test]
    fn margins_of_zero_do_not_use_up_the_budget() {
        let margins = |u: f64| if u < 0.7 { 0.0 } else { u };
        let share = share_asked(QueryRule::Budget { rate: 0.02 }, 20_000, margins);
        assert!((share - 0.02).abs() < 0.005, "{share}");
    }

    #[test]
    fn the_margin_rules_ask_with_the_probability_they_report() {
        for rule in [QueryRule::Margin { width: 0.5 }, QueryRule::MarginPlusOne { width: 0.5 }] {
            let context = at(1, 0, 1.5);
            let (_, probability) = fresh(rule).ask(&context, 0.0, Told::default());
            let share = share_asked(rule, 50_000, |_| 1.5);
            assert!((share - probability).abs() < 0.01);
        }
    }

    #[test]
    fn an_infinite_width_asks_always_and_a_zero_norm_never() {
        assert_eq!(by_margin(f64::INFINITY, 3.0, 0.999), (true, 1.0));
        assert_eq!(by_margin(0.0, 0.0, 0.0), (false, 0.0));
    }
}
