//! Mean and spread of a quantity, with old observations fading. The learned limit keeps latencies
//! in them.

/// Decayed sums; the weight counts observations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    weight: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    /// Adds `value`; what was there fades so that the weight stays below `memory`.
    pub(super) fn add(&mut self, value: f64, memory: f64) {
        let keep = 1.0 - 1.0 / memory;
        self.weight = self.weight * keep + 1.0;
        self.sum = self.sum * keep + value;
        self.squares = self.squares * keep + value * value;
    }

    pub(super) fn merge(&mut self, other: &Moments) {
        self.weight += other.weight;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Makes the weight at most so much.
    pub(super) fn fade(&mut self, weight: f64) {
        if self.weight > weight {
            let keep = weight.max(0.0) / self.weight;
            self.weight *= keep;
            self.sum *= keep;
            self.squares *= keep;
        }
    }

    /// Observations, faded ones in part.
    pub(super) fn weight(&self) -> f64 {
        self.weight
    }

    /// Zero without observations.
    pub(super) fn mean(&self) -> f64 {
        if self.weight > 0.0 { self.sum / self.weight } else { 0.0 }
    }

    /// Infinite below two observations.
    pub(super) fn variance(&self) -> f64 {
        self.error_squared() * (self.weight - 1.0)
    }

    /// Square of the standard error of the mean. Infinite below two observations.
    pub(super) fn error_squared(&self) -> f64 {
        if self.weight < 2.0 {
            return f64::INFINITY;
        }
        let mean = self.mean();
        (self.squares / self.weight - mean * mean).max(0.0) / (self.weight - 1.0)
    }

    /// Square of the coefficient of variation. Infinite below two observations.
    pub(super) fn variation_squared(&self) -> f64 {
        let mean = self.mean();
        if mean > 0.0 { self.variance() / (mean * mean) } else { f64::INFINITY }
    }
}

/// Moments of latencies and of their logarithms.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latencies {
    /// In seconds.
    pub(super) plain: Moments,
    /// Logarithms of seconds: what stretches all alike moves their mean, and rare long ones hardly
    /// widen their spread.
    pub(super) logs: Moments,
}

impl Latencies {
    pub(super) fn add(&mut self, seconds: f64, memory: f64) {
        self.plain.add(seconds, memory);
        self.logs.add(seconds.max(1e-9).ln(), memory);
    }

    pub(super) fn merge(&mut self, other: &Latencies) {
        self.plain.merge(&other.plain);
        self.logs.merge(&other.logs);
    }

    pub(super) fn fade(&mut self, weight: f64) {
        self.plain.fade(weight);
        self.logs.fade(weight);
    }

    pub(super) fn weight(&self) -> f64 {
        self.plain.weight()
    }
}
