//! Choosing between two ways to trace by trying both: which is faster depends on the scene and on the device.

use std::time::Duration;

/// Launches that each way is tried for. The faster one counts, so that what a first launch costs once does not.
const TRIES: u32 = 2;

/// Which of two ways launches take.
#[derive(Clone, Debug)]
pub struct Trial {
    fixed: Option<bool>,
    /// Of each way: its launches so far, and the most rays a second that one of them has traced.
    tried: [(u32, f64); 2],
}

impl Trial {
    /// Nothing is known yet, unless the way is `fixed`.
    pub fn new(fixed: Option<bool>) -> Self {
        Trial { fixed, tried: [(0, 0.0); 2] }
    }

    /// Whether the next launch takes the second way: in turns with the first as long as both are tried, then if it is the
    /// faster one.
    pub fn second(&self) -> bool {
        let [(first, first_rate), (second, second_rate)] = self.tried;
        self.fixed.unwrap_or(if self.is_over() { second_rate > first_rate } else { second < first })
    }

    /// A launch has taken the way of [`Self::second`].
    pub fn launched(&mut self, rays: u64, time: Duration) {
        if !self.is_over() {
            let (launches, rate) = &mut self.tried[usize::from(self.second())];
            *launches += 1;
            *rate = rate.max(rays as f64 / time.as_secs_f64().max(1e-9));
        }
    }

    /// Whether the way will stay.
    pub fn is_over(&self) -> bool {
        self.fixed.is_some() || self.tried.iter().all(|&(launches, _)| launches >= TRIES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_are_tried_and_the_faster_stays() {
        let second = Duration::from_secs(1);
        for (rates, wanted) in [([10, 30, 20, 15], true), ([10, 30, 40, 15], false), ([5, 5, 5, 5], false)] {
            let mut trial = Trial::new(None);
            for (launch, rays) in rates.into_iter().enumerate() {
                assert!(!trial.is_over());
                assert_eq!(trial.second(), launch % 2 == 1);
                trial.launched(rays, second);
            }
            assert!(trial.is_over());
            assert_eq!(trial.second(), wanted, "{rates:?}");
            trial.launched(1000, second);
            assert_eq!(trial.second(), wanted, "what comes later changes nothing");
        }
    }

    #[test]
    fn a_fixed_way_needs_no_trial() {
        for way in [false, true] {
            let trial = Trial::new(Some(way));
            assert!(trial.is_over());
            assert_eq!(trial.second(), way);
        }
    }
}
