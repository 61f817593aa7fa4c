//! Who puts values in and who takes them out.

use crate::error::{Error, Result};
use crate::layout::QueueRoles;
use crate::queue::QueueKind;

/// The parts that lanes play: see kernels/bench/workload.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Every lane puts a value in, then takes one out, over and over.
    Balanced {
        /// How many of them.
        lanes: u32,
    },
    /// Each lane does one of the two only; whole waves do the same.
    Split {
        /// Lanes that put values in.
        producers: u32,
        /// Lanes that take values out.
        consumers: u32,
    },
}

impl Workload {
    /// A split of `lanes` with this share of producers, at least one lane of each.
    ///
    /// # Errors
    /// Shares that leave nobody on one side.
    pub fn split(lanes: u32, percent: u32) -> Result<Workload> {
        let nobody = |who: &str| Err(Error::Input(format!("a split of {lanes} lanes with {percent}% producers has 0 {who}: the others would wait for ever; at least one of each is needed")));
        match (lanes, percent) {
            (_, 0) => nobody("producers"),
            (_, 100..) => nobody("consumers"),
            (0 | 1, _) => nobody("consumers"),
            _ => {
                let share = (u64::from(lanes) * u64::from(percent) + 50) / 100;
                let producers = (share as u32).clamp(1, lanes - 1);
                Ok(Workload::Split { producers, consumers: lanes - producers })
            }
        }
    }

    /// As kernels take it.
    pub fn roles(self) -> QueueRoles {
        match self {
            Workload::Balanced { lanes } => QueueRoles { producers: lanes, consumers: 0 },
            Workload::Split { producers, consumers } => QueueRoles { producers, consumers },
        }
    }

    /// Lanes that work.
    pub fn lanes(self) -> u32 {
        let QueueRoles { producers, consumers } = self.roles();
        producers.saturating_add(consumers)
    }

    /// Waves of `width` lanes: each side fills its own.
    pub fn waves(self, width: u32) -> u64 {
        let QueueRoles { producers, consumers } = self.roles();
        u64::from(producers.div_ceil(width)) + u64::from(consumers.div_ceil(width))
    }

    /// Its name without numbers.
    pub fn name(self) -> &'static str {
        if self.is_split() { "split" } else { "balanced" }
    }

    /// Whether lanes do only one of the two.
    pub fn is_split(self) -> bool {
        matches!(self, Workload::Split { .. })
    }

    /// Whether the queue can serve it.
    ///
    /// # Errors
    /// Nobody on a side, and queues whose consumers would wait for ever once the producers are gone.
    pub fn check(self, queue: QueueKind) -> Result<()> {
        let QueueRoles { producers, consumers } = self.roles();
        if producers == 0 {
            return Err(Error::Input("0 producers: nothing would ever come out; at least 1 is needed".into()));
        }
        if self.is_split() && consumers == 0 {
            return Err(Error::Input("0 consumers: the queue would stay full; at least 1 is needed".into()));
        }
        if self.is_split() && queue == QueueKind::SfqWaiting {
            return Err(Error::Input(
                "queue sfq-waiting: consumers of a split would wait for ever; use sfq-non-waiting".into(),
            ));
        }
        Ok(())
    }
}

impl std::fmt::Display for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Workload::Balanced { .. } => f.pad("balanced"),
            Workload::Split { producers, .. } => {
                let percent = 100.0 * f64::from(producers) / f64::from(self.lanes());
                f.pad(&format!("split {percent:.0}%"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_have_somebody_on_each_side() {
        let of = |lanes, percent| Workload::split(lanes, percent).map(|w| w.roles().producers);
        assert_eq!(of(512, 25).ok(), Some(128));
        assert_eq!(of(2, 1).ok(), Some(1));
        assert_eq!(of(2, 99).ok(), Some(1));
        assert!(of(512, 0).expect_err("refused").to_string().contains("0 producers"));
        assert!(of(512, 100).expect_err("refused").to_string().contains("0 consumers"));
        assert!(of(1, 50).is_err());
    }

    #[test]
    fn each_side_fills_its_own_waves() {
        assert_eq!(Workload::Split { producers: 255, consumers: 1 }.waves(32), 9);
        assert_eq!(Workload::Balanced { lanes: 33 }.waves(32), 2);
        assert_eq!(Workload::Balanced { lanes: 33 }.waves(1), 33);
    }
}
