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
    ($( $queue:literal in $file:literal { $( $name:literal: $text:literal => $planted:literal; )* } )*) => {
        /// Every mutant.
        pub static MUTANTS: &[Mutant] = &[
            $($( Mutant { name: $name, queue: $queue, file: $file, text: $text, planted: $planted }, )*)*
        ];
    };
}

mutants! {
    "glfq" in "queue/order.h" {
        "relaxed_install": "#define RQ_PLANT none" => "#define RQ_PLANT relaxed_install";
        "relaxed_take": "#define RQ_PLANT none" => "#define RQ_PLANT relaxed_take";
        "dropped_ticket": "#define RQ_PLANT none" => "#define RQ_PLANT dropped_ticket";
        "relaxed_tickets":
            "constexpr Order ticket_rmw = Order::acq_rel;\nconstexpr Order ticket_load = Order::acquire;"
            => "constexpr Order ticket_rmw = Order::relaxed;\nconstexpr Order ticket_load = Order::relaxed;";
    }
    "glfq" in "queue/ring.h" {
        "threshold_not_raised": "if (wave_lane() == 0) reduce_max<ticket_rmw>(threshold(q), to);" => "(void)q, (void)to;";
        "small_threshold": "2 * (u64)s.capacity + max_of(s.capacity, lanes) - 1" => "max_of(s.capacity, lanes) - s.capacity + 1";
    }
    "glfq" in "queue/glfq.h" {
        // What a dequeuer owes to the enqueuer of its ticket.
        "occupant_stays_safe": ": word & ~safe;" => ": word;";
        "unsafe_slot_used": "if ((word & safe) == 0 &&" => "if (false &&";
        "lap_ignored": "if (ahead(q, word, ticket) == 0) {" => "if (!is_free(q, word)) {";
    }
    "gwfq" in "queue/order.h" {
        "dropped_ticket": "#define RQ_PLANT none" => "#define RQ_PLANT dropped_ticket";
        "reused_ticket": "#define RQ_PLANT none" => "#define RQ_PLANT reused_ticket";
        "closed_is_done": "#define RQ_PLANT none" => "#define RQ_PLANT closed_is_done";
        "stale_note": "#define RQ_PLANT none" => "#define RQ_PLANT stale_note";
        "owner_says_empty": "#define RQ_PLANT none" => "#define RQ_PLANT owner_says_empty";
    }
    "gwfq_ymc" in "queue/order.h" {
        "missing_commit": "#define RQ_PLANT none" => "#define RQ_PLANT missing_commit";
        "relaxed_install": "#define RQ_PLANT none" => "#define RQ_PLANT relaxed_install";
    }
    "sfq" in "queue/order.h" {
        "relaxed_install": "#define RQ_PLANT none" => "#define RQ_PLANT relaxed_install";
        "relaxed_take": "#define RQ_PLANT none" => "#define RQ_PLANT relaxed_take";
    }
    "bwd" in "queue/order.h" {
        "relaxed_install": "#define RQ_PLANT none" => "#define RQ_PLANT relaxed_install";
    }
    "gwfq" in "queue/gwfq.h" {
        "nobody_helps": "if (!due && l.waiting == 0) return;" => "if (due || l.waiting != 0 || true) return;";
        "slow_add_of_nothing": "const u64 added = next(count, 1) << lane_bits;" => "const u64 added = count << lane_bits;";
        "add_confirmed_early": "distance(ticket_of(word), local_count(l)) > 0" => "true";
        "request_not_checked": "if (local_seq(l) != seq || (l & fin) != 0) return finished;" => "if ((l & fin) != 0) return finished;";
        "narrow_laps": "return (62 - index_bits(q)) / 2;" => "return (void)q, 2;";
        "request_relaxed": "atomic_store<Order::release>(record(q, me, request_word), request);"
            => "atomic_store(record(q, me, request_word), request);";
    }
}
