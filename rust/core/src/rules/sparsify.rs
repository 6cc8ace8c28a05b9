//! Which weights are set to 0 after an update.

use crate::storage::rng::Generator;
use crate::storage::weights::{Norm, Upkeep, Weights};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sparsifier {
    None,
    /// Scale back to an L1 radius, then keep the largest share of the d weights.
    KeepLargest {
        share: f64,
        l1_radius: f64,
    },
    /// Keep a random share of the d weights, drawn anew at every update. A baseline: O(d) per
    /// update.
    RandomShare {
        share: f64,
    },
    /// Scale back to an L2 radius, then keep so many of the largest weights.
    KeepCount {
        count: u32,
        l2_radius: f64,
    },
}

impl Sparsifier {
    /// What the weights must keep up to date for it.
    pub fn upkeep(self) -> Upkeep {
        match self {
            Self::None | Self::RandomShare { .. } => Upkeep::NONE,
            Self::KeepLargest { share, l1_radius } => Upkeep {
                norm: if l1_radius < f64::INFINITY { Norm::Absolute } else { Norm::None },
                ranked: share < 1.0,
            },
            Self::KeepCount { l2_radius, .. } => Upkeep {
                norm: if l2_radius < f64::INFINITY { Norm::Squared } else { Norm::None },
                ranked: true,
            },
        }
    }

    /// Sparsify a vector after a step on it: scale it back to its radius, then keep `kept` of its
    /// weights.
    #[inline(always)]
    pub fn apply(self, weights: &mut Weights, vector: usize, kept: usize, draws: &mut Generator) {
        match self {
            Self::None => {}
            Self::KeepLargest { share, l1_radius } => {
                weights.scale_back(vector, l1_radius);
                if share < 1.0 {
                    weights.keep_largest(vector, kept);
                }
            }
            Self::RandomShare { .. } => weights.keep_random(vector, kept, draws),
            Self::KeepCount { l2_radius, .. } => {
                weights.scale_back(vector, l2_radius);
                weights.keep_largest(vector, kept);
            }
        }
        weights.end_step(vector);
    }

    /// How many of d weights are kept. `legacy` rounds as the OLSF authors' code does, down to 0.
    pub fn kept(self, d: usize, legacy: bool) -> usize {
        match self {
            Self::None => d,
            Self::KeepLargest { share, .. } | Self::RandomShare { share } => {
                let exact = share * d as f64;
                if legacy { (exact + 0.5).floor() as usize } else { at_least_one(exact) }
            }
            Self::KeepCount { count, .. } => count as usize,
        }
    }
}

/// `max(1, floor(B·d))`; the small number is added so that 0.29 of 100 is 29.
fn at_least_one(exact: f64) -> usize {
    ((exact + 1e-9).floor() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{FeatureId, FeatureValue};
    use crate::storage::weights::{SMALLEST_SCALE, Step};

    #[test]
    fn lazy_scaling_and_the_heap_give_the_same_weights_as_sorting() {
        let sparsifier = Sparsifier::KeepLargest { share: 0.3, l1_radius: 2.0 };
        let (mut fast, mut draws) =
            (Weights::new(sparsifier.upkeep(), false, 1), Generator::from_seed(5));
        let rows = 40;
        fast.set_rows(rows);
        let mut slow = vec![0.0; rows];
        for _ in 0..3_000 {
            let features: Vec<FeatureValue> = (0..rows)
                .filter_map(|id| {
                    let value = draws.uniform() - 0.5;
                    (draws.uniform() < 0.2).then_some(FeatureValue { id: id as FeatureId, value })
                })
                .collect();
            fast.shift(0, &features, 1.0, Step::of(1.0), 10.0);
            sparsifier.apply(&mut fast, 0, 12, &mut draws.clone());
            for feature in &features {
                slow[feature.id as usize] += feature.value;
            }
            let norm: f64 = slow.iter().map(|w| w.abs()).sum();
            let factor = (2.0 / norm).min(1.0);
            for weight in &mut slow {
                *weight *= factor;
            }
            let mut order: Vec<usize> = (0..rows).collect();
            order.sort_by(|&a, &b| slow[b].abs().total_cmp(&slow[a].abs()).then(a.cmp(&b)));
            for &id in &order[12..] {
                slow[id] = 0.0;
            }
            for (a, b) in (0..rows as FeatureId)
                .map(|id| fast.weight(id, 0))
                .collect::<Vec<_>>()
                .iter()
                .zip(&slow)
            {
                assert!((a - b).abs() < 1e-12, "{a} {b}");
            }
        }
        assert!(fast.vectors[0].scale > SMALLEST_SCALE); // it was folded into the values more than once
    }

    #[test]
    fn a_share_is_rounded_down_but_never_to_0() {
        let kept = |share, d| Sparsifier::RandomShare { share }.kept(d, false);
        assert_eq!(kept(0.29, 100), 29);
        assert_eq!(kept(0.5, 7), 3);
        assert_eq!(kept(0.1, 3), 1);
    }

    #[test]
    fn the_legacy_rounding_can_keep_no_weight() {
        let kept = |share, d| Sparsifier::RandomShare { share }.kept(d, true);
        assert_eq!(kept(0.5, 7), 4);
        assert_eq!(kept(0.04, 10), 0);
    }
}
