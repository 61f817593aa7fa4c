//! The queues of kernels/queue as the host sees them: which there are, and the memory that they need.

pub mod history;
mod kind;
pub mod linearize;
pub mod probe;

pub use kind::QueueKind;

use crate::error::{Error, Result};
use crate::layout::{Ptr, QueueSpace};

/// What the helping kinds let one choose; the others ignore it. `None`: the kind's own choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueOptions {
    /// Attempts of an operation before it asks for help, at least 1.
    pub patience: Option<u32>,
    /// Operations of a lane between two looks at a peer's request, at least 1.
    pub help_delay: Option<u32>,
    /// Cells of each queue's pool (gwfq-ymc).
    pub pool_cells: Option<u32>,
}

/// Attempts before an operation asks for help, where nobody chose.
pub const PATIENCE: u32 = 64;
/// Operations between two looks at a peer's request, where nobody chose.
pub const HELP_DELAY: u32 = 64;

/// The memory of one launch's queues: all sizes checked, nothing allocated.
///
/// ```
/// use rayq::queue::{QueueKind, QueueLayout, QueueOptions};
/// let layout = QueueLayout::new(QueueKind::Glfq, 1000, 64, 256, 16384, &QueueOptions::default())?;
/// assert_eq!(layout.capacity(), 1024);
/// # Ok::<(), rayq::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct QueueLayout {
    kind: QueueKind,
    capacity: u64,
    queues: u64,
    lanes_per_queue: u32,
    resident_lanes: u32,
    queue_words: u64,
    record_words: u64,
    patience: u32,
    help_delay: u32,
    pool_cells: u32,
}

impl QueueLayout {
    /// Lays out `queues` queues that each hold at least `capacity` values, for launches of at most
    /// `resident_lanes` lanes of which at most `lanes_per_queue` work on one queue at a time.
    ///
    /// # Errors
    /// [`Error::Input`] when a number is zero or beyond what the kind's bit fields, or 64-bit sizes, allow.
    pub fn new(
        kind: QueueKind,
        capacity: u64,
        queues: u64,
        lanes_per_queue: u32,
        resident_lanes: u32,
        options: &QueueOptions,
    ) -> Result<QueueLayout> {
        let patience = options.patience.unwrap_or(PATIENCE);
        let help_delay = options.help_delay.unwrap_or(HELP_DELAY);
        let bounded = |what: &str, value: u64, max: u64| match value {
            0 => Err(Error::Input(format!("queue {kind}: {what} is 0; the least is 1"))),
            v if v > max => Err(Error::Input(format!("queue {kind}: {what} is {v}; the most is {max}"))),
            _ => Ok(()),
        };
        bounded("capacity", capacity, kind.max_capacity())?;
        bounded("number of queues", queues, u64::from(u32::MAX))?;
        bounded("number of lanes on a queue", u64::from(lanes_per_queue), u64::from(kind.max_lanes()))?;
        bounded("number of lanes", u64::from(resident_lanes), u64::from(kind.max_lanes()))?;
        bounded("patience", u64::from(patience), u64::from(u32::MAX))?;
        bounded("help delay", u64::from(help_delay), u64::from(u32::MAX))?;

        let capacity = capacity.max(kind.min_capacity()).next_power_of_two();
        let queue_words = kind.queue_words(capacity);
        let record_words = kind.record_words();
        let refused = |limit: &str| {
            Error::Input(format!(
                "queue {kind}: {queues} queues of capacity {capacity} exceed {limit}; choose a smaller capacity"
            ))
        };
        if capacity.checked_mul(queues).is_none_or(|total| total > kind.max_total_capacity()) {
            return Err(refused(&format!("{} values", kind.max_total_capacity())));
        }
        // Half the address space, so that sums of parts cannot overflow either.
        if queue_words.checked_mul(queues).and_then(|w| w.checked_mul(8)).is_none_or(|bytes| bytes > 1 << 62)
        {
            return Err(refused("2^62 bytes"));
        }
        Ok(QueueLayout {
            kind,
            capacity,
            queues,
            lanes_per_queue,
            resident_lanes,
            queue_words,
            record_words,
            patience,
            help_delay,
            pool_cells: 0,
        })
    }

    /// The kind.
    pub fn kind(&self) -> QueueKind {
        self.kind
    }

    /// Values that each queue holds: the capacity asked for, rounded up to what the kind can have.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Words from one queue to the next, whole 128-byte lines.
    pub fn queue_words(&self) -> u64 {
        self.queue_words
    }

    /// Words of all queues.
    pub fn total_words(&self) -> u64 {
        self.queue_words * self.queues
    }

    /// Words of one lane's record; 0 where lanes do not help each other.
    pub fn record_words(&self) -> u64 {
        self.record_words
    }

    /// Words of all records. They have to be zero before the first launch.
    pub fn total_record_words(&self) -> u64 {
        self.record_words * u64::from(self.resident_lanes)
    }

    /// Bytes of all this.
    pub fn bytes(&self) -> u64 {
        (self.total_words() + self.total_record_words()) * 8
    }

    /// The same, as kernels see it, once there is memory: `words` of [`Self::total_words`] and `records` of
    /// [`Self::total_record_words`] words, both aligned to 128 bytes.
    pub fn space(&self, words: Ptr<u64>, records: Ptr<u64>) -> QueueSpace {
        QueueSpace {
            words,
            records,
            queue_words: self.queue_words,
            first_ticket: 0,
            capacity: self.capacity as u32,
            order: self.capacity.trailing_zeros(),
            queues: self.queues as u32,
            record_words: self.record_words as u32,
            lanes: self.lanes_per_queue,
            patience: self.patience,
            help_delay: self.help_delay,
            pool_cells: self.pool_cells,
            resident_lanes: self.resident_lanes,
            reserved: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(capacity: u64) -> Result<QueueLayout> {
        QueueLayout::new(QueueKind::Glfq, capacity, 3, 32, 64, &QueueOptions::default())
    }

    #[test]
    fn capacities_are_rounded_up() {
        for (asked, given) in [(1, 1), (2, 2), (3, 4), (1000, 1024), (1 << 30, 1 << 30)] {
            assert_eq!(layout(asked).map(|l| l.capacity()).ok(), Some(given));
        }
    }

    #[test]
    fn impossible_capacities_are_refused_with_the_limit() {
        for asked in [0, (1 << 30) + 1, u64::MAX] {
            let message = layout(asked).expect_err("refused").to_string();
            assert!(message.contains(&asked.to_string()), "{message}");
        }
    }

    #[test]
    fn too_many_bytes_are_refused() {
        let huge =
            QueueLayout::new(QueueKind::Glfq, 1 << 30, u64::from(u32::MAX), 1, 1, &QueueOptions::default());
        assert!(huge.expect_err("refused").to_string().contains("2^62"));
    }

    #[test]
    fn queues_start_on_lines() {
        for order in 0..12 {
            let l = layout(1 << order).expect("fine");
            assert_eq!(l.queue_words() % 16, 0);
            assert!(l.queue_words() >= 48 + 2 * l.capacity());
            assert_eq!(l.bytes(), 3 * 8 * l.queue_words());
        }
    }
}
