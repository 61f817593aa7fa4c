//! Queues, and the launches that probe, measure and judge them.

use super::{CType, Ptr};
use bytemuck::{Pod, Zeroable};

layout! {
    /// Where the queues of one launch live. Words per queue and per lane are the queue kind's own (src/queue).
    pub struct QueueSpace {
        /// `queues` stretches of `queue_words`.
        pub words: Ptr<u64>,
        /// Per-lane records of the launch, `record_words` each; unused by queues without helping.
        pub records: Ptr<u64>,
        /// Words from one queue to the next.
        pub queue_words: u64,
        /// Where tickets start, rounded down to a lap: 0, but for tests of counters that wrap.
        pub first_ticket: u64,
        /// Live values that each queue holds at most; a power of two.
        pub capacity: u32,
        /// log2 of `capacity`.
        pub order: u32,
        /// Number of queues.
        pub queues: u32,
        /// Words of one lane's record.
        pub record_words: u32,
        /// Lanes that may operate on one queue at a time: thresholds use it.
        pub lanes: u32,
        /// Fast attempts before an operation asks for help (wait-free kinds).
        pub patience: u32,
        /// Operations between two looks at a peer's request (wait-free kinds).
        pub help_delay: u32,
        /// Cells of a segment pool (gwfq-ymc), 0 elsewhere.
        pub pool_cells: u32,
        /// Lanes that have a record.
        pub resident_lanes: u32,
        /// Unused.
        pub reserved: u32,
    }

    /// Sets queues up: every queue empty, or holding 0..fill-1.
    pub struct QueueInitParams {
        /// The queues.
        pub space: QueueSpace,
        /// Values that each queue holds at first, at most its capacity.
        pub fill: u32,
        /// Unused.
        pub reserved: u32,
    }

    /// What the queue probe writes down about one operation.
    pub struct ProbeRecord {
        /// Device ticks before it.
        pub begin: u64,
        /// Device ticks after it.
        pub end: u64,
        /// The operation that put the value in: this one, or the one whose value a dequeue took out.
        pub id: u32,
        /// A QueueStatus, 6 if it has not returned, 5 if it did not take place.
        pub status: u32,
    }

    /// The queue probe's launches.
    pub struct QueueProbeParams {
        /// The queue, number 0.
        pub space: QueueSpace,
        /// `length` actions a lane: 0 nothing, 1 enqueue, 2 dequeue.
        pub script: Ptr<u32>,
        /// One record an action.
        pub records: Ptr<ProbeRecord>,
        /// One word a value: a slot, or else an operation's number.
        pub payload: Ptr<u64>,
        /// Sums of the lanes' tallies: retries, spins, slow operations, helps.
        pub tallies: Ptr<u64>,
        /// Actions of each lane.
        pub length: u32,
        /// Values that the queue holds at first: 0..fill, put in by operations of these numbers.
        pub fill: u32,
        /// 1: values are slots that lanes own and hand on; 0: each enqueue has a new value.
        pub slots: u32,
        /// 1: sequentially consistent fences keep the operations within their stamps.
        pub fenced: u32,
        /// Bit w: waves w, w + 32, .. ask for help at once (patience 0).
        pub slow_waves: u32,
        /// How often an operation is repeated while it says queue_busy.
        pub repeats: u32,
    }

    /// Who plays which part in a launch of the queues' bench or judge: kernels/bench/workload.h.
    pub struct QueueRoles {
        /// Lanes that put values in; with no consumers, they take values out, too.
        pub producers: u32,
        /// Lanes that only take values out.
        pub consumers: u32,
    }

    /// What a lane of the queue bench tells at the end.
    pub struct BenchRecord {
        /// Values put in during the whole launch.
        pub put: u64,
        /// Values taken out during the whole launch.
        pub taken: u64,
        /// Sum of those put in.
        pub put_sum: u64,
        /// Sum of those taken out.
        pub taken_sum: u64,
        /// Exclusive or of all of them.
        pub mix: u64,
        /// Cycles inside operations; of the measured interval, as all below. 0 without counters.
        pub cycles: u64,
        /// Smallest length that the queue reported; u64::MAX if it was not asked.
        pub least_length: u64,
        /// Largest length that the queue reported.
        pub most_length: u64,
        /// Number of such reports.
        pub samples: u32,
        /// Enqueues that were ok.
        pub enqueued: u32,
        /// Dequeues that were ok.
        pub dequeued: u32,
        /// Enqueues that found no room.
        pub full: u32,
        /// Dequeues that found nothing.
        pub empty: u32,
        /// Calls that came to nothing, or have to go on, because a slot was in another lane's hands.
        pub busy: u32,
        /// 1: the lane's last call never came to an end.
        pub stuck: u32,
        /// Attempts beyond each operation's first. 0 without counters, as all below.
        pub retries: u32,
        /// Polls of words in other lanes' hands.
        pub spins: u32,
        /// Operations that asked for help.
        pub slow: u32,
        /// Requests of peers that the lane worked on.
        pub helps: u32,
        /// Unused; keeps the size a multiple of 8.
        pub reserved: u32,
    }

    /// A launch of one of the queue bench's kernels.
    pub struct QueueBenchParams {
        /// The queue, number 0.
        pub space: QueueSpace,
        /// One record a lane.
        pub records: Ptr<BenchRecord>,
        /// 1 for each slot that a split producer has put in and that no consumer has given back.
        pub out: Ptr<u32>,
        /// How often each value was in somebody's hands at the end, or came out if lanes have items of their own.
        pub seen: Ptr<u32>,
        /// Two words: when the launch began, and when the queue's pool was used up; 0 before that.
        pub clock: Ptr<u64>,
        /// Length of `seen`.
        pub seen_length: u64,
        /// 0: values are slots; else lanes have items of their own, those below this number.
        pub items: u64,
        /// Ticks before the measured interval.
        pub warmup_ticks: u64,
        /// Ticks of the measured interval.
        pub interval_ticks: u64,
        /// Ticks that calls have to come to an end after it.
        pub settle_ticks: u64,
        /// Who does what.
        pub roles: QueueRoles,
        /// 1: lanes ask for the queue's length now and then.
        pub occupancy: u32,
        /// Launches of fixed work: values that each producer puts in.
        pub turns: u32,
    }

    /// A launch that writes down what operations did: kernels/bench/queue_judge.cpp.
    pub struct QueueJudgeParams {
        /// The queue, number 0.
        pub space: QueueSpace,
        /// One word an operation, row by row: item | status << 32 | action << 40; 0: there was none.
        pub words: Ptr<u64>,
        /// Begin and end of each wave's row.
        pub stamps: Ptr<u64>,
        /// The item in each slot.
        pub payload: Ptr<u64>,
        /// As in `QueueBenchParams`.
        pub out: Ptr<u32>,
        /// The clock that counts stamps.
        pub counter: Ptr<u64>,
        /// Sums of the lanes' retries, spins, slow operations and helps.
        pub tallies: Ptr<u64>,
        /// Waves that have come.
        pub arrived: Ptr<u32>,
        /// Ticks after which lanes give up.
        pub limit_ticks: u64,
        /// Ticks that waves wait for each other at the start.
        pub meet_ticks: u64,
        /// Who does what.
        pub roles: QueueRoles,
        /// Rows of operations.
        pub rows: u32,
        /// 1: stamps count up one word; 0: they are the device's clock.
        pub counter_stamps: u32,
        /// Looks at slots that are out before a producer sits a row out.
        pub tries: u32,
        /// Waves that work.
        pub waves: u32,
    }

    /// A launch that measures the device's clock.
    pub struct QueueClockParams {
        /// The latest reading of all lanes.
        pub latest: Ptr<u64>,
        /// Per wave, the smallest step between two of its readings.
        pub steps: Ptr<u64>,
        /// Per wave, how far another's earlier reading was ahead of its own.
        pub aheads: Ptr<u64>,
        /// Readings of each wave.
        pub rounds: u32,
        /// Unused; keeps the size a multiple of 8.
        pub reserved: u32,
    }
}
