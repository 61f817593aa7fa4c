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
}

/// Words of a 128-byte line: counters live a line apart (`line_words` of queue.h).
const LINE: u64 = 16;

impl QueueKind {
    /// Its name, as options and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            QueueKind::Glfq => "glfq",
            QueueKind::GlfqUnbatched => "glfq-unbatched",
        }
    }

    /// The value of the programs' axis `QUEUE` that compiles it.
    pub fn axis_value(self) -> &'static str {
        match self {
            QueueKind::Glfq => "glfq",
            QueueKind::GlfqUnbatched => "glfq_unbatched",
        }
    }

    /// The smallest capacity that it can have: smaller wishes are rounded up to it.
    pub fn min_capacity(self) -> u64 {
        match self {
            QueueKind::Glfq | QueueKind::GlfqUnbatched => 1,
        }
    }

    /// The largest capacity that it can have.
    pub fn max_capacity(self) -> u64 {
        match self {
            QueueKind::Glfq | QueueKind::GlfqUnbatched => 1 << 30,
        }
    }

    /// Words of one queue whose capacity is a power of two within the bounds above.
    pub(super) fn queue_words(self, capacity: u64) -> u64 {
        let words = match self {
            // Tail, Head and threshold, then 2n slots.
            QueueKind::Glfq | QueueKind::GlfqUnbatched => 3 * LINE + 2 * capacity,
        };
        words.next_multiple_of(LINE)
    }

    /// Words of one resident lane's record.
    pub(super) fn record_words(self) -> u64 {
        match self {
            QueueKind::Glfq | QueueKind::GlfqUnbatched => 0,
        }
    }
}

impl std::fmt::Display for QueueKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
