//! The queue kinds: their names, their rules and the words that each of them takes.

use crate::error::{Error, Result};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A concurrent queue of kernels/queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// G-LFQ: a lock-free ring after SCQ, wave-batched.
    Glfq,
    /// G-LFQ with one ticket add a lane, to measure what batching is worth.
    GlfqUnbatched,
    /// G-WFQ: a wait-free ring after wCQ; lanes help each other.
    Gwfq,
    /// G-WFQ-YMC: Yang and Mellor-Crummey's wait-free queue on a pool of cells, each used once.
    GwfqYmc,
    /// SFQ in its non-waiting form: answers BUSY where the waiting form would wait.
    Sfq,
    /// SFQ in its waiting form; knows neither EMPTY nor FULL.
    SfqWaiting,
    /// The Broker Work Distributor; its EMPTY and FULL are not linearizable.
    Bwd,
    /// Ticket adds alone, a ceiling: carries no values.
    FaaCeiling,
}

use QueueKind::*;

/// Words of a 128-byte line: counters live a line apart (`line_words` of queue.h).
const LINE: u64 = 16;

impl QueueKind {
    /// Every kind.
    pub const ALL: [QueueKind; 8] = [Glfq, GlfqUnbatched, Gwfq, GwfqYmc, Sfq, SfqWaiting, Bwd, FaaCeiling];

    /// The kinds that the tracer offers as tile queues.
    pub const TILE_QUEUES: [QueueKind; 4] = [Glfq, Gwfq, GwfqYmc, Sfq];

    /// The kinds that can hold the frontier of a search (`BFS_QUEUES` of programs.rs).
    pub const BFS_QUEUES: [QueueKind; 6] = [Glfq, Gwfq, GwfqYmc, Sfq, SfqWaiting, Bwd];

    /// Reads the name of a kind that can hold a frontier, for the command line.
    pub fn bfs_queue_parser() -> impl clap::builder::TypedValueParser<Value = QueueKind> {
        use clap::builder::{PossibleValuesParser, TypedValueParser};
        PossibleValuesParser::new(Self::BFS_QUEUES.map(QueueKind::name))
            .map(|name| Self::BFS_QUEUES.into_iter().find(|kind| kind.name() == name).expect("one of these"))
    }

    /// Reads the name of a kind that serves tiles, for the command line.
    pub fn tile_queue_parser() -> impl clap::builder::TypedValueParser<Value = QueueKind> {
        use clap::builder::{PossibleValuesParser, TypedValueParser};
        PossibleValuesParser::new(Self::TILE_QUEUES.map(QueueKind::name))
            .map(|name| Self::TILE_QUEUES.into_iter().find(|kind| kind.name() == name).expect("one of these"))
    }

    /// Whether an enqueue within the capacity can come to nothing: a slot still in another lane's hands, a pool
    /// that is used up.
    pub fn may_refuse(self) -> bool {
        !matches!(self, Glfq | GlfqUnbatched | Gwfq)
    }

    /// Its name, as options and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Glfq => "glfq",
            GlfqUnbatched => "glfq-unbatched",
            Gwfq => "gwfq",
            GwfqYmc => "gwfq-ymc",
            Sfq => "sfq",
            SfqWaiting => "sfq-waiting",
            Bwd => "bwd",
            FaaCeiling => "faa-ceiling",
        }
    }

    /// The value of the programs' axis `QUEUE` that compiles it.
    pub fn axis_value(self) -> &'static str {
        match self {
            Glfq => "glfq",
            GlfqUnbatched => "glfq_unbatched",
            Gwfq => "gwfq",
            GwfqYmc => "gwfq_ymc",
            Sfq => "sfq",
            SfqWaiting => "sfq_waiting",
            Bwd => "bwd",
            FaaCeiling => "faa",
        }
    }

    /// Whether it is a ring of indices, of which two make a queue of payloads (outer.h).
    pub fn is_index_ring(self) -> bool {
        matches!(self, Glfq | GlfqUnbatched | Gwfq)
    }

    /// Whether EMPTY and FULL, where it says them, hold at some instant of the operation.
    pub fn is_linearizable(self) -> bool {
        !matches!(self, Bwd | FaaCeiling)
    }

    /// The smallest capacity that it can have: smaller wishes are rounded up to it.
    pub fn min_capacity(self) -> u64 {
        match self {
            // Two of a slot's 2n index values mean that it is free.
            Gwfq => 2,
            _ => 1,
        }
    }

    /// The largest capacity that it can have.
    pub fn max_capacity(self) -> u64 {
        match self {
            // A slot's index and lap, log2(2n) + (62 - log2(2n)) / 2 bits, come from a 45-bit ticket count.
            Gwfq => 1 << 27,
            _ => 1 << 30,
        }
    }

    /// Refuses a number of values that it cannot hold; `option` asked for it.
    ///
    /// # Errors
    /// [`Error::Input`] with the option and the limit.
    pub fn check_capacity(self, option: &str, capacity: u64) -> Result<()> {
        let most = self.max_capacity();
        match capacity {
            0 => Err(Error::Input(format!("{option} 0: a queue holds at least 1 value"))),
            _ if capacity > most => Err(Error::Input(format!(
                "{option} {capacity}: the queue {self} holds at most {most} values; choose fewer"
            ))),
            _ => Ok(()),
        }
    }

    /// The most lanes that a launch can have.
    pub fn max_lanes(self) -> u32 {
        match self {
            // A lane's number + 1 has 19 bits.
            Gwfq => (1 << 19) - 1,
            _ => 1 << 30,
        }
    }

    /// The most values that all queues of a launch can hold together.
    pub fn max_total_capacity(self) -> u64 {
        match self {
            // A request names queue and index in 46 bits.
            Gwfq => 1 << 46,
            _ => 1 << 62,
        }
    }

    /// Cells of a queue's pool where nobody chose: each enqueue uses one up, and so does each attempt to dequeue
    /// from a queue that is not empty.
    pub(super) fn default_pool(self, capacity: u64) -> u64 {
        match self {
            GwfqYmc => (8 * capacity + 1024).min(1 << 31),
            _ => 0,
        }
    }

    /// Words of one queue whose capacity is a power of two within the bounds above.
    pub(super) fn queue_words(self, capacity: u64, pool_cells: u64) -> u64 {
        let words = match self {
            // Tail, Head and threshold, then 2n slots.
            Glfq | GlfqUnbatched => 3 * LINE + 2 * capacity,
            // The same, the pending count, 32 announcements, and the owner of each index.
            Gwfq => 4 * LINE + 32 + 3 * capacity,
            // Counters, pending counts, two lists of 32, cells of three words.
            GwfqYmc => 4 * LINE + 64 + 3 * pool_cells,
            // Tail, Head and count, then n slots.
            Sfq | SfqWaiting | Bwd => 3 * LINE + capacity,
            FaaCeiling => 2 * LINE,
        };
        words.next_multiple_of(LINE)
    }

    /// Words of one resident lane's record: three, in a 32-byte sector.
    pub(super) fn record_words(self) -> u64 {
        if matches!(self, Gwfq | GwfqYmc) { 4 } else { 0 }
    }
}

impl std::fmt::Display for QueueKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
