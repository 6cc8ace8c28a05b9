//! Compensated summation: a running sum together with its rounding error.

/// A running sum with Neumaier's compensation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompensatedSum {
    pub sum: f64,
    pub compensation: f64,
}

impl CompensatedSum {
    pub fn add(&mut self, x: f64) {
        let total = self.sum + x;
        self.compensation +=
            if self.sum.abs() >= x.abs() { (self.sum - total) + x } else { (x - total) + self.sum };
        self.sum = total;
    }

    pub fn value(self) -> f64 {
        self.sum + self.compensation
    }
}

/// The pair that is saved.
impl From<CompensatedSum> for (f64, f64) {
    fn from(sum: CompensatedSum) -> Self {
        (sum.sum, sum.compensation)
    }
}

impl From<(f64, f64)> for CompensatedSum {
    fn from((sum, compensation): (f64, f64)) -> Self {
        Self { sum, compensation }
    }
}
