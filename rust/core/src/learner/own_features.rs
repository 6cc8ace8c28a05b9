//! The features that a learner adds to the end of every event.

use crate::event::Name;
use crate::scaling::event_summary::CONSTANT;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnFeatures {
    None,
    /// A feature of value 1.
    Intercept,
    /// The event's factor and energy, which the scaler computes, and a small constant.
    Summary,
}

const INTERCEPT: Name<'static> = Name::Text("(intercept)");
const ALL: [Name<'static>; 3] = [Name::Text("(factor)"), Name::Text("(energy)"), INTERCEPT];

impl OwnFeatures {
    /// Their names, in order.
    pub fn names(self) -> &'static [Name<'static>] {
        match self {
            Self::None => &[],
            Self::Intercept => &ALL[2..],
            Self::Summary => &ALL,
        }
    }

    /// Call `add` with each of their values, for an event with this factor and energy.
    pub fn for_each(self, [factor, energy]: [f64; 2], add: impl FnMut(f64)) {
        match self {
            Self::None => {}
            Self::Intercept => [1.0].into_iter().for_each(add),
            Self::Summary => [factor, energy, CONSTANT].into_iter().for_each(add),
        }
    }

    /// Refuse a name that is one of them.
    pub fn check(self, name: Name<'_>) -> Result<(), String> {
        if !self.names().contains(&name) {
            return Ok(());
        }
        let cure = match self {
            Self::Intercept => ", or make the learner with intercept=False",
            Self::None | Self::Summary => "",
        };
        Err(format!("feature {name} is the learner's own; rename it{cure}."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(own: OwnFeatures) -> Vec<f64> {
        let mut values = Vec::new();
        own.for_each([0.25, -0.5], |value| values.push(value));
        values
    }

    #[test]
    fn there_is_one_value_per_name() {
        for own in [OwnFeatures::None, OwnFeatures::Intercept, OwnFeatures::Summary] {
            assert_eq!(values(own).len(), own.names().len());
        }
        assert_eq!(values(OwnFeatures::Intercept), [1.0]);
        assert_eq!(values(OwnFeatures::Summary), [0.25, -0.5, CONSTANT]);
    }

    #[test]
    fn their_names_are_refused_in_events_of_learners_that_have_them() {
        assert!(OwnFeatures::None.check(INTERCEPT).is_ok());
        let sentence = OwnFeatures::Intercept.check(INTERCEPT).unwrap_err();
        assert!(sentence.contains("'(intercept)'") && sentence.contains("intercept=False"));
        assert!(OwnFeatures::Summary.check(Name::Text("(energy)")).is_err());
        assert!(OwnFeatures::Intercept.check(Name::Text("(energy)")).is_ok());
    }
}
