//! The queues of kernels/queue as the host sees them: which there are, and the memory that they need.

pub mod history;
pub mod judge;
mod kind;
pub mod linearize;
pub mod probe;

pub use kind::QueueKind;

use crate::error::{Error, Result};
use crate::layout::{Ptr, QueueSpace};

/// What some kinds let one choose; the others ignore it. `None`: the kind's own choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueOptions {
    /// Attempts of an operation before it asks for help, at least 1 (gwfq, gwfq-ymc).
    pub patience: Option<u32>,
    /// Operations of a lane between two looks at a peer's request, at least 1 (gwfq, gwfq-ymc).
    pub help_delay: Option<u32>,
    /// Cells of each queue's pool, at most 2^31 (gwfq-ymc).
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
    total_words: u64,
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
        Self::with_rings(kind, capacity, queues, 1, lanes_per_queue, resident_lanes, options)
    }

    /// The same for queues of 64-bit payloads, each of two index rings (`Outer` of outer.h).
    ///
    /// # Errors
    /// As for [`Self::new`], and when the kind is no index ring.
    pub fn outer(
        kind: QueueKind,
        capacity: u64,
        queues: u64,
        lanes_per_queue: u32,
        resident_lanes: u32,
        options: &QueueOptions,
    ) -> Result<QueueLayout> {
        if !kind.is_index_ring() {
            return Err(Error::Input(format!(
                "queue {kind}: not an index ring, so it has no form that carries payloads; use glfq or gwfq"
            )));
        }
        Self::with_rings(kind, capacity, queues, 2, lanes_per_queue, resident_lanes, options)
    }

    fn with_rings(
        kind: QueueKind,
        capacity: u64,
        queues: u64,
        rings: u64,
        lanes_per_queue: u32,
        resident_lanes: u32,
        options: &QueueOptions,
    ) -> Result<QueueLayout> {
        let bounded = |what: &str, value: u64, max: u64| match value {
            0 => Err(Error::Input(format!("queue {kind}: {what} is 0; the least is 1"))),
            v if v > max => Err(Error::Input(format!("queue {kind}: {what} is {v}; the most is {max}"))),
            _ => Ok(()),
        };
        bounded("capacity", capacity, kind.max_capacity())?;
        bounded("number of queues", queues, u64::from(u32::MAX) / rings)?;
        bounded("number of lanes on a queue", u64::from(lanes_per_queue), u64::from(kind.max_lanes()))?;
        bounded("number of lanes", u64::from(resident_lanes), u64::from(kind.max_lanes()))?;
        let patience = options.patience.unwrap_or(PATIENCE);
        bounded("patience", u64::from(patience), u64::from(u32::MAX))?;
        let help_delay = options.help_delay.unwrap_or(HELP_DELAY);
        bounded("help delay", u64::from(help_delay), u64::from(u32::MAX))?;

        let capacity = capacity.max(kind.min_capacity()).next_power_of_two();
        let mut pool_cells = kind.default_pool(capacity);
        if pool_cells > 0 {
            pool_cells = options.pool_cells.map_or(pool_cells, u64::from);
            bounded("number of cells", pool_cells, 1 << 31)?;
        }
        let queue_words = kind.queue_words(capacity, pool_cells);
        let payload_words = if rings == 2 { capacity } else { 0 };

        let refused = |limit: &str| {
            Error::Input(format!(
                "queue {kind}: {queues} queues of capacity {capacity} exceed {limit}; choose a smaller capacity"
            ))
        };
        if capacity.checked_mul(queues * rings).is_none_or(|total| total > kind.max_total_capacity()) {
            return Err(refused(&format!("{} values", kind.max_total_capacity())));
        }
        // Far below 64 bits, so that bytes, and sums with other memory, cannot overflow either.
        let total_words = (queue_words * rings + payload_words).checked_mul(queues);
        let total_words = total_words.filter(|w| *w <= 1 << 58).ok_or_else(|| refused("2^58 words"))?;
        Ok(QueueLayout {
            kind,
            capacity,
            queues,
            lanes_per_queue,
            resident_lanes,
            queue_words,
            total_words,
            patience,
            help_delay,
            pool_cells: pool_cells as u32,
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

    /// Cells of each queue's pool; 0 where there is none.
    pub fn pool_cells(&self) -> u32 {
        self.pool_cells
    }

    /// Words from one queue (or ring) to the next, whole 128-byte lines.
    pub fn queue_words(&self) -> u64 {
        self.queue_words
    }

    /// Words of all queues.
    pub fn total_words(&self) -> u64 {
        self.total_words
    }

    /// Words of one lane's record; 0 where lanes do not help each other.
    pub fn record_words(&self) -> u64 {
        self.kind.record_words()
    }

    /// Words of all records. They have to be zero before the first launch.
    pub fn total_record_words(&self) -> u64 {
        self.record_words() * u64::from(self.resident_lanes)
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
            record_words: self.record_words() as u32,
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

    fn layout(kind: QueueKind, capacity: u64, queues: u64) -> Result<QueueLayout> {
        QueueLayout::new(kind, capacity, queues, 32, 64, &QueueOptions::default())
    }

    #[test]
    fn capacities_are_rounded_up_to_what_the_kind_can_have() {
        for kind in QueueKind::ALL {
            for asked in [1, 2, 3, 1000, 1 << 20] {
                let given = layout(kind, asked, 1).expect("fine").capacity();
                assert_eq!(given, asked.max(kind.min_capacity()).next_power_of_two());
            }
        }
    }

    #[test]
    fn impossible_capacities_are_refused_with_value_and_limit() {
        for kind in QueueKind::ALL {
            for (asked, limit) in
                [(0, 1), (kind.max_capacity() + 1, kind.max_capacity()), (u64::MAX, kind.max_capacity())]
            {
                let message = layout(kind, asked, 1).expect_err("refused").to_string();
                assert!(
                    message.contains(&asked.to_string()) && message.contains(&limit.to_string()),
                    "{message}"
                );
            }
        }
    }

    #[test]
    fn too_much_memory_is_refused_before_it_overflows() {
        for kind in QueueKind::ALL.into_iter().filter(|k| *k != QueueKind::FaaCeiling) {
            let huge = layout(kind, kind.max_capacity(), u64::from(u32::MAX));
            assert!(huge.expect_err("refused").to_string().contains("smaller capacity"));
        }
    }

    #[test]
    fn queues_start_on_lines_and_have_room_for_their_values() {
        for kind in QueueKind::ALL {
            for order in 0..12 {
                let l = layout(kind, 1 << order, 3).expect("fine");
                assert_eq!(l.queue_words() % 16, 0);
                assert!(kind == QueueKind::FaaCeiling || l.queue_words() >= 48 + l.capacity());
                assert_eq!(l.bytes(), 8 * (3 * l.queue_words() + 64 * l.record_words()));
            }
        }
    }

    #[test]
    fn two_rings_and_payloads_make_an_outer_queue() {
        let options = QueueOptions::default();
        let ring = layout(QueueKind::Gwfq, 256, 5).expect("fine");
        let outer = QueueLayout::outer(QueueKind::Gwfq, 256, 5, 32, 64, &options).expect("fine");
        assert_eq!(outer.total_words(), 5 * (2 * ring.queue_words() + 256));
        assert!(QueueLayout::outer(QueueKind::Sfq, 256, 5, 32, 64, &options).is_err());
    }

    #[test]
    fn pools_follow_the_capacity_or_the_wish() {
        let own = layout(QueueKind::GwfqYmc, 4096, 1).expect("fine");
        assert!(u64::from(own.pool_cells()) > own.capacity());
        let options = QueueOptions { pool_cells: Some(100), ..Default::default() };
        let asked = QueueLayout::new(QueueKind::GwfqYmc, 4096, 1, 1, 1, &options).expect("fine");
        assert_eq!(asked.pool_cells(), 100);
        let none = QueueOptions { pool_cells: Some(0), ..Default::default() };
        assert!(QueueLayout::new(QueueKind::GwfqYmc, 4096, 1, 1, 1, &none).is_err());
    }
}
