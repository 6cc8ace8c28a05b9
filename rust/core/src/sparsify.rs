//! Which weights are let go after an update.

/// Which norm of the stored values a sparsifier needs kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    None,
    Absolute,
    Squared,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sparsifier {
    None,
    /// Scale back to an L1 radius, then keep the largest share of the d weights.
    KeepLargest {
        share: f64,
        l1_radius: f64,
    },
    /// Keep a fresh random share of the d weights. A baseline: O(d) an update.
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
    pub fn norm(self) -> Norm {
        match self {
            Self::KeepLargest { l1_radius, .. } if l1_radius < f64::INFINITY => Norm::Absolute,
            Self::KeepCount { l2_radius, .. } if l2_radius < f64::INFINITY => Norm::Squared,
            _ => Norm::None,
        }
    }

    pub fn radius(self) -> f64 {
        match self {
            Self::KeepLargest { l1_radius, .. } => l1_radius,
            Self::KeepCount { l2_radius, .. } => l2_radius,
            _ => f64::INFINITY,
        }
    }

    /// Whether the largest weights must be known at any moment.
    pub fn ranks(self) -> bool {
        match self {
            Self::KeepLargest { share, .. } => share < 1.0,
            Self::KeepCount { .. } => true,
            _ => false,
        }
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

/// `max(1, floor(B·d))`; the small number makes 0.29 of 100 be 29.
fn at_least_one(exact: f64) -> usize {
    ((exact + 1e-9).floor() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_down_but_not_to_nothing() {
        let kept = |share, d| Sparsifier::RandomShare { share }.kept(d, false);
        assert_eq!(kept(0.29, 100), 29);
        assert_eq!(kept(0.5, 7), 3);
        assert_eq!(kept(0.1, 3), 1);
    }

    #[test]
    fn the_legacy_rounding_can_keep_nothing() {
        let kept = |share, d| Sparsifier::RandomShare { share }.kept(d, true);
        assert_eq!(kept(0.5, 7), 4);
        assert_eq!(kept(0.04, 10), 0);
    }
}
