//! How much work to launch at a time, learnt from what launches took.

use crate::device::Device;
use std::time::{Duration, Instant};

/// Aims slices at a given time.
pub struct Pace {
    paths: u64,
    /// When the last slice began, and what it launched.
    last: Option<(Instant, u64)>,
}

/// First slices: enough to fill the device, little enough to end soon on a slow one.
const FIRST_WIDE: u64 = 1 << 24;
const FIRST_NARROW: u64 = 1 << 13;
/// The next slice is at most this much larger or smaller than the last.
const STEP: f64 = 8.0;

impl Pace {
    /// A first guess for the device.
    pub fn new(device: &dyn Device) -> Self {
        Pace { paths: if device.is_wide() { FIRST_WIDE } else { FIRST_NARROW }, last: None }
    }

    /// Begins a slice: paths to launch, at least 1. The last slice is over, its time included.
    pub fn begin(&mut self, budget: Option<Duration>) -> u64 {
        let Some(budget) = budget else { return u64::MAX };
        if let Some((start, paths)) = self.last {
            let ratio = budget.as_secs_f64() / start.elapsed().as_secs_f64().max(1e-6);
            self.paths = (paths as f64 * ratio.clamp(1.0 / STEP, STEP)).max(1.0) as u64;
        }
        self.last = Some((Instant::now(), self.paths));
        self.paths
    }

    /// The slice launched so many paths.
    pub fn launched(&mut self, paths: u64) {
        if let Some(last) = &mut self.last {
            last.1 = paths.max(1);
        }
    }
}
