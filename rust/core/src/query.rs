//! Whether a label is worth asking for.
//!
//! One coin `u ~ U[0, 1)` is drawn an event, needed or not. `q` is the margin, or with several
//! classes the lead of the first over the second; `t` counts events from 1.

use serde::{Deserialize, Serialize};

use crate::elementary::exp;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueryRule {
    All,
    /// `u < rate`
    Random {
        rate: f64,
    },
    /// Exactly `rate` of `total` events; of an unknown total, within one of `rate·t` at every t.
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
    /// `Margin` with `ρ√(1 + K)`, K the mistakes learned; perhaps times the largest ‖x‖² shown.
    SelAda {
        width: f64,
        by_norm: bool,
    },
    /// `Margin` with `ρ/(t + 1)`
    Decaying {
        width: f64,
    },
    /// `Margin` with a width that follows the stream so that `rate` of it is asked for.
    Budget {
        rate: f64,
    },
    /// `|q|` below a running quantile, so that the `rate` of the stream is asked for that the
    /// model is least sure of; never more than `rate·t + 2√(rate·t) + 4` questions.
    Quantile {
        rate: f64,
    },
}

/// What the rules remember; each uses its own part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueryState {
    /// Budget, Quantile: running mean of |q|.
    pub mean_margin: f64,
    /// Budget, Quantile: log factor that makes up for too many or too few questions.
    pub tilt: f64,
    /// `SelAda`: mistakes learned.
    pub mistakes: u64,
    /// `SelAda`: largest ‖x‖² shown.
    pub largest_norm: f64,
    /// Quota of an unknown total: where in the first stretch the first question falls.
    pub phase: f64,
}

/// An event as a query rule sees it.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
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
    /// Before the first answer: whether it shows nothing, all its values being 0 or the view
    /// being too new to tell.
    pub blank: bool,
}

const SLOWEST: f64 = 0.02; // the running mean of |q| forgets after some fifty events
const FLOOR: f64 = 0.01; // margins of exactly 0 are not always asked for
const GAIN: f64 = 0.5;
const LARGEST_TILT: f64 = 8.0;

// Of `Quantile`:
const SLOWEST_OF_QUANTILE: f64 = 0.005;
const SPREAD: f64 = 1.5; // the r-quantile of half-normal |q| is near 1.5·r of their mean
const EXPLORED: f64 = 0.05; // share of the rate that is asked for by chance
const FIRST: u64 = 3; // questions open before the first answer
const BURST: f64 = 3.0; // questions ahead of the rate from the start

impl QueryRule {
    pub fn uses_norm(self) -> bool {
        matches!(self, Self::SelAda { by_norm: true, .. })
    }

    /// What a learned event does to the rule's state.
    pub fn learned(self, state: &mut QueryState, mistake: bool) {
        if matches!(self, Self::SelAda { .. }) {
            state.mistakes += u64::from(mistake);
        }
    }

    /// Whether to ask, and with what probability the answer was yes.
    pub fn ask(self, state: &mut QueryState, now: Moment, coin: f64) -> (bool, f64) {
        let Moment { t, asked, confidence, .. } = now;
        match self {
            Self::All => (true, 1.0),
            Self::Random { rate } => (coin < rate, rate),
            Self::Quota { rate, total: Some(total) } => {
                if t > total {
                    return (false, 0.0);
                }
                let wanted = (rate * total as f64 + 0.5).floor() - asked as f64;
                let left = (total - t + 1) as f64;
                (coin * left < wanted, (wanted / left).clamp(0.0, 1.0))
            }
            Self::Quota { rate, total: None } => {
                let due = |t: f64| (rate * t + state.phase).floor();
                (due(t as f64) > due(t as f64 - 1.0), rate)
            }
            Self::Margin { width } => by_margin(width, confidence, coin),
            Self::MarginPlusOne { width } => by_margin(width, 1.0 + confidence, coin),
            Self::SelAda { width, by_norm } => {
                let mut width = width * (1.0 + state.mistakes as f64).sqrt();
                if by_norm {
                    state.largest_norm = state.largest_norm.max(now.squared_norm);
                    width *= state.largest_norm;
                }
                by_margin(width, confidence, coin)
            }
            Self::Decaying { width } => by_margin(width / (t as f64 + 1.0), confidence, coin),
            Self::Budget { rate } => {
                let mean = &mut state.mean_margin;
                *mean += (confidence - *mean) * SLOWEST.max(1.0 / t as f64);
                let size = if *mean == 0.0 { 1.0 } else { (confidence / *mean).max(FLOOR) };
                let (asked, probability) = if rate >= 1.0 {
                    (true, 1.0)
                } else if rate <= 0.0 {
                    (false, 0.0)
                } else if t == 1 {
                    (true, 1.0)
                } else {
                    by_margin(rate / (1.0 - rate) * state.tilt.exp(), size, coin)
                };
                let missed = rate - f64::from(u8::from(asked));
                state.tilt = (state.tilt + GAIN * missed).clamp(-LARGEST_TILT, LARGEST_TILT);
                (asked, probability)
            }
            Self::Quantile { rate } if rate >= 1.0 => (true, 1.0),
            Self::Quantile { rate } if rate <= 0.0 => (false, 0.0),
            Self::Quantile { rate } => by_quantile(rate, state, now, coin),
        }
    }
}

fn by_quantile(rate: f64, state: &mut QueryState, now: Moment, coin: f64) -> (bool, f64) {
    let (t, asked) = (now.t as f64, now.asked as f64);
    state.mean_margin += (now.confidence - state.mean_margin) * SLOWEST_OF_QUANTILE.max(1.0 / t);
    let (wanted, probability) = if now.learned == 0 {
        let wanted = now.asked < FIRST && !now.blank;
        (wanted, f64::from(u8::from(wanted)))
    } else {
        let unsure = now.confidence < SPREAD * rate * state.mean_margin * exp(state.tilt);
        // While all margins are 0, as with one class of several known, chance alone can ask.
        let chance = if state.mean_margin == 0.0 { rate } else { EXPLORED * rate };
        let wanted = unsure || coin < chance;
        let missed = rate - f64::from(u8::from(wanted));
        let tilt = state.tilt + missed / (1.0 + asked).sqrt();
        state.tilt = tilt.clamp(-LARGEST_TILT, LARGEST_TILT);
        (wanted, if unsure { 1.0 } else { chance })
    };
    if asked < rate * t + 2.0 * (rate * t).sqrt() + BURST {
        (wanted, probability)
    } else {
        (false, 0.0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;

    fn moment(t: u64, asked: u64, confidence: f64) -> Moment {
        Moment { t, asked, confidence, squared_norm: 1.0, learned: asked, blank: false }
    }

    fn share_asked(rule: QueryRule, events: u64, margins: impl Fn(f64) -> f64) -> f64 {
        let (mut coins, mut state) = (Generator::from_seed(3), QueryState::default());
        let mut others = coins.jumped();
        let mut asked = 0;
        for t in 1..=events {
            let confidence = margins(others.uniform());
            let now = moment(t, asked, confidence);
            asked += u64::from(rule.ask(&mut state, now, coins.uniform()).0);
        }
        asked as f64 / events as f64
    }

    #[test]
    fn a_quota_is_met_exactly() {
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
    fn equal_margins_run_into_the_bound_on_questions() {
        let rule = QueryRule::Quantile { rate: 0.04 };
        for margins in [0.0, 1.0] {
            let (mut state, mut asked) = (QueryState::default(), 0);
            for t in 1..=5_000 {
                let (asks, probability) = rule.ask(&mut state, moment(t, asked, margins), 0.5);
                assert!(!asks || probability == 1.0);
                asked += u64::from(asks);
                let expected = 0.04 * t as f64;
                assert!(asked as f64 <= expected + 2.0 * expected.sqrt() + 4.0);
            }
        }
    }

    #[test]
    fn margins_that_are_all_0_are_asked_about_by_chance_at_the_rate() {
        let share = share_asked(QueryRule::Quantile { rate: 0.1 }, 20_000, |_| 0.0);
        assert!((share - 0.1).abs() < 0.01, "{share}");
    }

    #[test]
    fn three_questions_are_open_until_the_first_answer() {
        let rule = QueryRule::Quantile { rate: 0.5 };
        let mut state = QueryState::default();
        let at = |t, asked, blank| Moment { learned: 0, blank, ..moment(t, asked, 0.0) };
        assert_eq!(rule.ask(&mut state, at(1, 0, true), 0.0), (false, 0.0));
        assert_eq!(rule.ask(&mut state, at(2, 0, false), 0.0), (true, 1.0));
        assert_eq!(rule.ask(&mut state, at(100, 3, false), 0.0), (false, 0.0));
        assert_eq!(state.tilt, 0.0);
    }

    #[test]
    fn margins_of_zero_do_not_empty_the_budget() {
        let margins = |u: f64| if u < 0.7 { 0.0 } else { u };
        let share = share_asked(QueryRule::Budget { rate: 0.02 }, 20_000, margins);
        assert!((share - 0.02).abs() < 0.005, "{share}");
    }

    #[test]
    fn the_margin_rules_ask_with_the_probability_they_report() {
        for rule in [QueryRule::Margin { width: 0.5 }, QueryRule::MarginPlusOne { width: 0.5 }] {
            let now = moment(1, 0, 1.5);
            let (_, probability) = rule.ask(&mut QueryState::default(), now, 0.0);
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
