//! Whether a label is worth asking for.
//!
//! One coin `u ~ U[0, 1)` is drawn per event, whether the rule needs it or not. `q` is the margin,
//! or with several classes the lead of the largest score over the second. `t` counts events from 1.

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
    /// Exactly `rate` of `total` events; without a total, within one of `rate·t` at every t.
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
    /// is asked for; never more than `rate·t + 2√(rate·t) + 4` questions.
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
    /// Whether all its values are 0; only set before the first label is learned.
    pub all_zero: bool,
    /// Whether and how its values were scaled.
    pub scaled: Scaled,
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
    /// Without a total: which of the first `1/rate` events is asked for, in [0, 1).
    Quota {
        phase: f64,
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
    /// The same two.
    Quantile {
        mean_margin: f64,
        tilt: f64,
    },
}

impl Query {
    /// A rule that has seen no event.
    pub fn new(rule: QueryRule, draws: &mut Generator) -> Self {
        match rule {
            QueryRule::All => Self::All,
            QueryRule::Random { rate } => Self::Random { rate },
            QueryRule::Quota { rate, total } => {
                let phase = if total.is_none() { draws.uniform() } else { 0.0 };
                Self::Quota(Quota { rate, total, phase })
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

    /// Whether to ask, and the probability of asking.
    pub fn ask(&mut self, context: &QueryContext, coin: f64) -> (bool, f64) {
        match self {
            Self::All => (true, 1.0),
            Self::Random { rate } => (coin < *rate, *rate),
            Self::Quota(rule) => rule.ask(context, coin),
            Self::Margin { width } => by_margin(*width, context.confidence, coin),
            Self::MarginPlusOne { width } => by_margin(*width, 1.0 + context.confidence, coin),
            Self::SelAda(rule) => rule.ask(context, coin),
            Self::Decaying { width } => {
                by_margin(*width / (context.t as f64 + 1.0), context.confidence, coin)
            }
            Self::Budget(rule) => rule.ask(context, coin),
            Self::Quantile(rule) => rule.ask(context, coin),
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
            Self::Quota(Quota { phase, .. }) => QueryState::Quota { phase },
            Self::SelAda(SelAda { mistakes, largest_norm, .. }) => {
                QueryState::SelAda { mistakes, largest_norm }
            }
            Self::Budget(Budget { mean_margin, tilt, .. }) => {
                QueryState::Budget { mean_margin, tilt }
            }
            Self::Quantile(Quantile { mean_margin, tilt, .. }) => {
                QueryState::Quantile { mean_margin, tilt }
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
                let QueryState::Quota { phase } = state else { return OTHER };
                rule.phase = phase;
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
                let QueryState::Quantile { mean_margin, tilt } = state else { return OTHER };
                (rule.mean_margin, rule.tilt) = (mean_margin, tilt);
            }
        }
        Ok(())
    }
}

impl QueryState {
    fn check(self) -> Result<(), &'static str> {
        let (numbers, count) = match self {
            Self::None => ([0.0; 2], 0),
            Self::Quota { phase } => ([phase, 0.0], 0),
            Self::SelAda { mistakes, largest_norm } => ([largest_norm, 0.0], mistakes),
            Self::Budget { mean_margin, tilt } | Self::Quantile { mean_margin, tilt } => {
                ([mean_margin, tilt], 0)
            }
        };
        if !numbers.into_iter().all(f64::is_finite) {
            return Err("a number is not finite");
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
}

impl Quota {
    fn ask(&self, context: &QueryContext, coin: f64) -> (bool, f64) {
        let Some(total) = self.total else {
            let due = |t: f64| (self.rate * t + self.phase).floor();
            return (due(context.t as f64) > due(context.t as f64 - 1.0), self.rate);
        };
        if context.t > total {
            return (false, 0.0);
        }
        let wanted = (self.rate * total as f64 + 0.5).floor() - context.asked as f64;
        let left = (total - context.t + 1) as f64;
        (coin * left < wanted, (wanted / left).clamp(0.0, 1.0))
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

    fn ask(&mut self, context: &QueryContext, coin: f64) -> (bool, f64) {
        let Self { rate, mean_margin: mean, tilt } = self;
        *mean += (context.confidence - *mean) * Self::SLOWEST.max(1.0 / context.t as f64);
        let size = if *mean == 0.0 { 1.0 } else { (context.confidence / *mean).max(Self::FLOOR) };
        let (asked, probability) = if *rate <= 0.0 {
            (false, 0.0)
        } else if *rate >= 1.0 || context.t == 1 {
            (true, 1.0)
        } else {
            by_margin(*rate / (1.0 - *rate) * exp(*tilt), size, coin)
        };
        let missed = *rate - f64::from(u8::from(asked));
        *tilt = (*tilt + Self::GAIN * missed).clamp(-LARGEST_TILT, LARGEST_TILT);
        (asked, probability)
    }
}

/// Asks where `|q| < 1.5·rate·g·e^b`, g the running mean of |q|, and for a small random share of
/// the rest; b as in [`Budget`]. Before the first answer it asks for the first few events with a
/// value other than 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quantile {
    rate: f64,
    /// g
    mean_margin: f64,
    /// b
    tilt: f64,
}

impl Quantile {
    /// The smallest step of the running mean of |q|: it covers about the last two hundred events.
    const SLOWEST: f64 = 0.005;
    /// The r-quantile of half-normal |q| is near 1.5·r of their mean.
    const SPREAD: f64 = 1.5;
    /// The share of the rate that is asked for at random.
    const EXPLORED: f64 = 0.05;
    /// The most questions before the first answer.
    const MOST_OPEN: u64 = 3;
    /// With a scaler, the first event that may be asked for: the scaler needs a few events first.
    const FIRST_EVENT: u64 = 10;
    /// The most questions ahead of the rate at the start.
    const BURST: f64 = 3.0;

    fn ask(&mut self, context: &QueryContext, coin: f64) -> (bool, f64) {
        if self.rate >= 1.0 {
            return (true, 1.0);
        }
        if self.rate <= 0.0 {
            return (false, 0.0);
        }
        let (t, asked, rate) = (context.t as f64, context.asked as f64, self.rate);
        self.mean_margin += (context.confidence - self.mean_margin) * Self::SLOWEST.max(1.0 / t);
        let (wanted, probability) = if context.learned == 0 {
            let wanted = context.asked < Self::MOST_OPEN && !Self::waits(context);
            (wanted, f64::from(u8::from(wanted)))
        } else {
            let threshold = Self::SPREAD * rate * self.mean_margin * exp(self.tilt);
            let unsure = context.confidence < threshold;
            // While all margins are 0, as with one known class of several, only chance can ask.
            let chance = if self.mean_margin == 0.0 { rate } else { Self::EXPLORED * rate };
            let wanted = unsure || coin < chance;
            let missed = rate - f64::from(u8::from(wanted));
            let tilt = self.tilt + missed / (1.0 + asked).sqrt();
            self.tilt = tilt.clamp(-LARGEST_TILT, LARGEST_TILT);
            (wanted, if unsure { 1.0 } else { chance })
        };
        if asked < rate * t + 2.0 * (rate * t).sqrt() + Self::BURST {
            (wanted, probability)
        } else {
            (false, 0.0)
        }
    }

    /// Before the first answer: whether a later event is likely to be more informative.
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
            asked += u64::from(query.ask(&context, coins.uniform()).0);
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
                let (asks, probability) = query.ask(&at(t, asked, margins), 0.5);
                assert!(!asks || probability == 1.0);
                asked += u64::from(asks);
                let expected = 0.04 * t as f64;
                assert!(asked as f64 <= expected + 2.0 * expected.sqrt() + 4.0);
            }
        }
    }

    #[test]
    fn margins_that_are_all_0_are_asked_for_at_random_at_the_rate() {
        let share = share_asked(QueryRule::Quantile { rate: 0.1 }, 20_000, |_| 0.0);
        assert!((share - 0.1).abs() < 0.01, "{share}");
    }

    #[test]
    fn at_most_three_questions_are_asked_before_the_first_answer() {
        let mut query = fresh(QueryRule::Quantile { rate: 0.5 });
        let before =
            |t, asked, all_zero| QueryContext { learned: 0, all_zero, ..at(t, asked, 0.0) };
        assert_eq!(query.ask(&before(1, 0, true), 0.0), (false, 0.0));
        assert_eq!(query.ask(&before(2, 0, false), 0.0), (true, 1.0));
        assert_eq!(query.ask(&before(100, 3, false), 0.0), (false, 0.0));
        assert_eq!(query.state(), QueryState::Quantile { mean_margin: 0.0, tilt: 0.0 });
    }

    #[test]
    fn with_a_scaler_the_first_question_waits_for_the_tenth_event_unless_waiting_is_of_no_use() {
        let first = |scaled, t| QueryContext { learned: 0, scaled, ..at(t, 0, 0.0) };
        let asks =
            |context: QueryContext| fresh(QueryRule::Quantile { rate: 0.5 }).ask(&context, 0.0).0;
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
                query.ask(&at(t, t / 10, 1.0 / t as f64), 0.5);
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
            let (_, probability) = fresh(rule).ask(&context, 0.0);
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
