//! Queues with one planted bug each: a judge that does not find them all is no judge.
//!
//! A mutant is a text of a kernel header and what to put in its place, so the kernels that ship know nothing of
//! this. A text that is no longer there once is a warning of the build, and the mutant's test fails.

/// A planted bug.
#[derive(Debug)]
pub struct Mutant {
    /// What was done: a C identifier. The unit's name is the queue's and this one, with `_` between.
    pub name: &'static str,
    /// The queue: a value of the axis `QUEUE`.
    pub queue: &'static str,
    /// Path under kernels/.
    pub file: &'static str,
    /// A text that occurs there once.
    pub text: &'static str,
    /// What takes its place.
    pub planted: &'static str,
}

macro_rules! mutants {
    ($( $queue:literal $name:literal in $file:literal: $text:literal => $planted:literal; )*) => {
        /// Every mutant.
        pub static MUTANTS: &[Mutant] = &[
            $( Mutant { name: $name, queue: $queue, file: $file, text: $text, planted: $planted }, )*
        ];
    };
}

mutants! {
    // What a fence is for.
    "glfq" "relaxed_publication" in "queue/order.h":
        "release_payload() { fence<Order::release>(); }" => "release_payload() {}";
    "glfq" "no_acquire_fence" in "queue/order.h":
        "acquire_payload() { fence<Order::acquire>(); }" => "acquire_payload() {}";
    "glfq" "relaxed_tickets" in "queue/order.h":
        "constexpr Order ticket_rmw = Order::acq_rel;\nconstexpr Order ticket_load = Order::acquire;"
        => "constexpr Order ticket_rmw = Order::relaxed;\nconstexpr Order ticket_load = Order::relaxed;";
    // What the leader learns has to reach its wave, and the other way round.
    "glfq" "leader_only_head" in "queue/glfq.h":
        "count = wave_broadcast(count, leader);\n            wave_sync();" => "count = wave_broadcast(count, leader);";
    "glfq" "leader_only_raise" in "queue/glfq.h":
        "wave_sync();\n        if (wave_lane() == 0) atomic_max" => "if (wave_lane() == 0) atomic_max";
    // What a dequeuer owes to the enqueuer of its ticket.
    "glfq" "dropped_ticket" in "queue/glfq.h":
        "if (closed == word) return false;" => "return false;";
    "glfq" "occupant_stays_safe" in "queue/glfq.h":
        ": word & ~safe;" => ": word;";
    "glfq" "unsafe_slot_used" in "queue/glfq.h":
        "if ((word & safe) == 0 &&" => "if (false &&";
    // What makes EMPTY true.
    "glfq" "threshold_not_raised" in "queue/glfq.h":
        "if (wave_lane() == 0) atomic_max<ticket_rmw>(threshold(q), q.fresh);" => "";
    "glfq" "small_threshold" in "queue/glfq.h":
        "threshold_zero + 2 * n + dequeuers - 1}" => "threshold_zero + dequeuers - n + 1}";
    // Laps and tickets.
    "glfq" "lap_ignored" in "queue/glfq.h":
        "if (age(q, word, ticket) == 0) {" => "if (!is_free(q, word)) {";
    "glfq" "same_ticket_twice" in "queue/glfq.h":
        "ticket = base + wave_rank(wanting);" => "ticket = base + wave_rank(wanting) / 2;";
}
