//! The queue kinds: their names, their rules and the words that each of them takes.

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
}

use QueueKind::{Glfq, GlfqUnbatched, Gwfq};

/// Words of a 128-byte line: counters live a line apart (`line_words` of queue.h).
const LINE: u64 = 16;

impl QueueKind {
    /// Its name, as options and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Glfq => "glfq",
            GlfqUnbatched => "glfq-unbatched",
            Gwfq => "gwfq",
        }
    }

    /// The value of the programs' axis `QUEUE` that compiles it.
    pub fn axis_value(self) -> &'static str {
        match self {
            Glfq => "glfq",
            GlfqUnbatched => "glfq_unbatched",
            Gwfq => "gwfq",
        }
    }

    /// The smallest capacity that it can have: smaller wishes are rounded up to it.
    pub fn min_capacity(self) -> u64 {
        match self {
            Glfq | GlfqUnbatched => 1,
            // Two of a slot's 2n index values mean that it is free.
            Gwfq => 2,
        }
    }

    /// The largest capacity that it can have.
    pub fn max_capacity(self) -> u64 {
        match self {
            Glfq | GlfqUnbatched => 1 << 30,
            // log2(2n) + (62 - log2(2n)) / 2 bits of a 45-bit ticket count are used.
            Gwfq => 1 << 27,
        }
    }

    /// The most lanes that a launch can have.
    pub fn max_lanes(self) -> u32 {
        match self {
            Glfq | GlfqUnbatched => u32::MAX,
            // A lane's number + 1 has 19 bits.
            Gwfq => (1 << 19) - 1,
        }
    }

    /// The most values that all queues of a launch can hold together.
    pub fn max_total_capacity(self) -> u64 {
        match self {
            Glfq | GlfqUnbatched => 1 << 62,
            // A request names queue and index in 46 bits.
            Gwfq => 1 << 46,
        }
    }

    /// Words of one queue whose capacity is a power of two within the bounds above.
    pub(super) fn queue_words(self, capacity: u64) -> u64 {
        let words = match self {
            // Tail, Head and threshold, then 2n slots.
            Glfq | GlfqUnbatched => 3 * LINE + 2 * capacity,
            // The same, the pending count, 32 announcements, and the owner of each index.
            Gwfq => 4 * LINE + 32 + 3 * capacity,
        };
        words.next_multiple_of(LINE)
    }

    /// Words of one resident lane's record.
    pub(super) fn record_words(self) -> u64 {
        match self {
            Glfq | GlfqUnbatched => 0,
            // Request, local, phase 2; a whole 32-byte sector.
            Gwfq => 4,
        }
    }
}

impl std::fmt::Display for QueueKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
