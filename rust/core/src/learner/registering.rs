//! A learner's register: every event of the stream is counted in it, once it is decided on or learned.

use crate::error::Error;
use crate::event::Names;
use crate::learner::Learner;
use crate::learner::event_buffer::EventBuffer;
use crate::learner::tracking::{RegisterBytes, Tracking};
use crate::register::{Register, RegisterConfig};

impl Learner {
    /// Keep a register from the next event on.
    pub fn keep_register(&mut self, config: RegisterConfig) {
        self.tracking = Some(Box::new(Tracking::new(Register::new(config))));
    }

    pub fn register(&self) -> Option<&Register> {
        self.tracking.as_deref().map(|tracking| &tracking.register)
    }

    /// The time of the events that follow; they have none before it is told.
    pub fn tell_time(&mut self, time: f64) -> Result<(), Error> {
        let Some(tracking) = &mut self.tracking else {
            return Err(Error::Parameter(
                "tell_time: this learner keeps no register; make it with track=True.".to_owned(),
            ));
        };
        tracking.register.check_time(Some(time))?;
        tracking.time = Some(time);
        Ok(())
    }

    /// Keep the values of an event as they came.
    #[inline(always)]
    pub(super) fn before_tracking(&self, event: &mut EventBuffer) -> Result<(), Error> {
        match &self.tracking {
            None => Ok(()),
            Some(tracking) => tracking.before(event),
        }
    }

    #[inline(always)]
    pub(super) fn track(&mut self, event: &mut EventBuffer, names: &(impl Names + ?Sized)) {
        if self.tracking.is_some() && std::mem::take(&mut event.untracked) {
            self.track_now(event, names);
        }
    }

    #[inline(never)]
    fn track_now(&mut self, event: &EventBuffer, names: &(impl Names + ?Sized)) {
        if let Some(tracking) = &mut self.tracking {
            tracking.observe(event, names, &self.table);
        }
    }

    pub(super) fn register_bytes(&self) -> Option<RegisterBytes> {
        self.register().and_then(|register| register.to_bytes().ok()).map(RegisterBytes)
    }

    pub(super) fn adopt_register(
        &mut self,
        bytes: Option<&RegisterBytes>,
    ) -> Result<(), &'static str> {
        let Some(RegisterBytes(bytes)) = bytes else { return Ok(()) };
        let register = Register::from_bytes(bytes).map_err(|_| "its register cannot be read")?;
        self.tracking = Some(Box::new(Tracking::new(register)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::EvictionPolicy;
    use crate::event::{Name, UNKNOWN};
    use crate::label::Label;
    use crate::learner::snapshot::{split, write};
    use crate::learner::testing::{
        STREAM, buffer_of, every_kind, label_for, learner, limited, looked_up, misfit, names_of,
    };

    const TRACK: RegisterConfig = RegisterConfig { cycle: 86_400.0, most: None };

    /// The register of the same events without a learner.
    fn alone(events: &[&[(&str, f64)]]) -> Register {
        let mut register = Register::new(TRACK);
        for event in events {
            let values: Vec<f64> = event.iter().map(|&(_, value)| value).collect();
            let mut ids = vec![UNKNOWN; values.len()];
            register.observe(&mut ids, &values, &names_of(event)[..], None).unwrap();
        }
        register
    }

    #[test]
    fn the_register_of_every_kind_of_learner_is_that_of_the_events_alone() {
        for config in every_kind() {
            let mut learner = learner(config);
            learner.keep_register(TRACK);
            let mut events: Vec<&[(&str, f64)]> = Vec::new();
            for (event, positive) in STREAM {
                let (mut buffer, names) = (looked_up(&learner, event).unwrap(), names_of(event));
                learner.decide(&mut buffer, &names[..]).unwrap();
                let mut buffer = looked_up(&learner, event).unwrap();
                let label = label_for(learner.labels(), positive);
                learner.learn(&mut buffer, &names[..], &label).unwrap();
                events.extend([event, event]);
            }
            let bytes = learner.register().unwrap().to_bytes().unwrap();
            assert!(bytes == alone(&events).to_bytes().unwrap());
            let file = write(&learner, "{}").unwrap();
            let restored = Learner::restore(learner.config.clone(), split(&file).unwrap().1);
            assert!(restored.unwrap().register().unwrap().to_bytes().unwrap() == bytes);
        }
    }

    #[test]
    fn names_that_a_learner_evicts_stay_in_a_register_without_a_limit() {
        let mut learner = learner(limited(2, EvictionPolicy::Oldest));
        learner.keep_register(TRACK);
        for name in ["a", "b", "c", "d", "a", "e", "b", "a"] {
            let mut buffer = looked_up(&learner, &[(name, 1.0)]).unwrap();
            learner.learn(&mut buffer, &[Name::Text(name)][..], &Label::Bool(true)).unwrap();
        }
        let register = learner.register().unwrap();
        let count = |name| register.summary(register.id(Name::Text(name))).unwrap().count;
        assert_eq!(["a", "b", "c", "d", "e"].map(count), [3, 2, 1, 1, 1]);
    }

    #[test]
    fn an_event_that_is_refused_is_not_counted() {
        for config in every_kind() {
            let mut learner = learner(config);
            learner.keep_register(TRACK);
            let label = misfit(learner.labels());
            let mut buffer = buffer_of([1.0]);
            assert!(learner.learn(&mut buffer, &[Name::Text("a")][..], &label).is_err());
            assert_eq!(learner.register().unwrap().events(), 0);
        }
    }

    #[test]
    fn times_are_told_before_events() {
        let mut learner = learner(every_kind().swap_remove(0));
        assert!(matches!(learner.tell_time(1.0), Err(Error::Parameter(_))));
        learner.keep_register(TRACK);
        learner.tell_time(5.0).unwrap();
        let mut buffer = buffer_of([1.0]);
        learner.decide(&mut buffer, &[Name::Text("a")][..]).unwrap();
        assert_eq!(learner.register().unwrap().time(), Some(5.0));
        assert!(matches!(learner.tell_time(f64::NAN), Err(Error::Event(_))));
    }
}
