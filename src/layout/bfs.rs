//! Breadth-first search.

use super::{CType, Ptr, QueueSpace};
use bytemuck::{Pod, Zeroable};

layout! {
    /// A launch of one of the traversal's kernels: kernels/bfs/traverse.h. Arcs are grouped in rows of bounded
    /// length, one or more a vertex; a frontier is a set of rows.
    pub struct BfsParams {
        /// The two queues of rows that alternate; unused by the append frontier.
        pub space: QueueSpace,
        /// Where the arcs of each row begin in `targets`; one more at the end.
        pub offsets: Ptr<u32>,
        /// Where each arc leads.
        pub targets: Ptr<u32>,
        /// The first row of each vertex, one more at the end; null: row v is vertex v.
        pub first_row: Ptr<u32>,
        /// A bit a vertex: it has a level.
        pub visited: Ptr<u32>,
        /// Level + 1 of each vertex; 0: not reached.
        pub levels: Ptr<u32>,
        /// The append frontier: every row that was ever put in, in that order.
        pub frontier: Ptr<u32>,
        /// How far the traversal is: words on lines of their own.
        pub control: Ptr<u64>,
        /// Sums over waves, in stripes: arcs walked, vertices reached.
        pub tallies: Ptr<u64>,
        /// Ticks after which waves leave when their work in hand is done; 0: never.
        pub budget_ticks: u64,
        /// Ticks that a wave waits for a row that must be in the queue.
        pub patience_ticks: u64,
        /// Number of vertices.
        pub vertices: u32,
        /// Where the traversal starts.
        pub source: u32,
        /// Rows that earlier launches took out.
        pub first_claim: u32,
        /// Rows that a wave claims at least.
        pub least_bite: u32,
        /// Rows that a wave claims at most.
        pub most_bite: u32,
        /// The launch ends before it gives vertices a level beyond this.
        pub last_level: u32,
        /// The launch ends before a level of more rows than this.
        pub most_rows: u32,
        /// Unused; keeps the size a multiple of 8.
        pub reserved: u32,
    }

    /// A level from below: each vertex without a level looks for a neighbour that has one. kernels/bfs/append.cpp.
    pub struct BfsPullParams {
        /// Where the arcs into each vertex, or row, begin in `sources`; one more at the end.
        pub offsets: Ptr<u32>,
        /// Where each of these arcs comes from.
        pub sources: Ptr<u32>,
        /// The first row of each vertex; null: row v is vertex v.
        pub first_row: Ptr<u32>,
        /// Who had a level before.
        pub visited: Ptr<u32>,
        /// Who has one afterwards.
        pub next_visited: Ptr<u32>,
        /// Level + 1 of each vertex.
        pub levels: Ptr<u32>,
        /// As in `BfsParams`.
        pub tallies: Ptr<u64>,
        /// Number of vertices.
        pub vertices: u32,
        /// The level that is given.
        pub level: u32,
    }
}
