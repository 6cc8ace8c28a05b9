//! What time it is: the number of the event, and its time.

/// The moment of an event. Without times the number of the event is its time, and there is no cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// The number of the event, from 1.
    pub event: u64,
    pub time: f64,
    /// The length of the cycle in which values and absences repeat: a day.
    pub cycle: f64,
    pub timed: bool,
    /// Features whose absence was looked at before this event.
    pub watched: u64,
    /// Whether a feature that comes for the first time may be new: the stream has run for some cycles.
    pub late: bool,
}
