//! Campaigns against every queue kind on the simulator: random and adversarial schedules, weak memory, stalls,
//! planted bugs. `cargo test --release --test queue_sim -- --nocapture` shows what they came to.

#[path = "queue_sim/campaign.rs"]
mod campaign;

use campaign::{Campaign, Roles, Summary};
use rayq::queue::{QueueKind, QueueOptions};
use rayq_sim::{MemoryModel, Model, Options, Schedule, Stall};
use std::ops::Range;

const MODELS: [Model; 2] = [Model::Independent, Model::Lockstep];
const ROLES: [Roles; 3] = [Roles::Balanced, Roles::Split, Roles::Random];

/// The kind's campaign. Helping kinds ask for help at once, so that the slow path is the usual one.
fn base(kind: QueueKind) -> Campaign {
    let queue = QueueOptions { patience: Some(1), help_delay: Some(1), ..QueueOptions::default() };
    Campaign { queue, ..Campaign::of(kind) }
}

/// Random schedules, and ones with three changes of priority in the course of the run.
fn schedules(base: &Campaign, model: Model) -> [Schedule; 2] {
    let lanes = u64::from(if model == Model::Lockstep { base.waves } else { base.waves * base.wave });
    [Schedule::Random, Schedule::Pct { changes: 3, horizon: lanes * u64::from(base.length) * 12 }]
}

/// Runs a campaign under both models, all schedules and all roles.
fn under_all_schedules(what: &str, base: Campaign, seeds: Range<u64>) {
    let mut summary = Summary::default();
    let start = std::time::Instant::now();
    for model in MODELS {
        for schedule in schedules(&base, model) {
            for roles in ROLES {
                let sim = Options { model, schedule, ..base.sim };
                let result = Campaign { roles, sim, ..base }.run(seeds.clone());
                summary.add(&result.unwrap_or_else(|failure| panic!("{}: {what}: {failure}", base.kind)));
            }
        }
    }
    println!("{:15} {what:28} {summary}; {:.1} s", base.kind, start.elapsed().as_secs_f64());
}

fn is_linearizable(kind: QueueKind) {
    let base = base(kind);
    for capacity in [2, 8] {
        let what = format!("3 waves of 4, capacity {capacity}");
        under_all_schedules(&what, Campaign { capacity, ..base }, 0..1500);
    }
    under_all_schedules("filled at first", Campaign { fill: 8, ..base }, 0..500);
    let wide = Campaign { waves: 2, length: 4, ..base };
    under_all_schedules("2 waves of 32, capacity 16", Campaign { wave: 32, capacity: 16, ..wide }, 0..60);
    under_all_schedules("2 waves of 64, capacity 128", Campaign { wave: 64, capacity: 128, ..wide }, 0..30);
}

fn bears_weak_memory(kind: QueueKind) {
    let base = base(kind);
    let sim = Options { memory: MemoryModel::Weak, ..base.sim };
    for fenced in [true, false] {
        for capacity in [2, 8] {
            let what = format!("weak memory, capacity {capacity}{}", if fenced { ", fenced" } else { "" });
            under_all_schedules(&what, Campaign { capacity, fenced, sim, ..base }, 0..500);
        }
    }
    let wide = Campaign { waves: 2, length: 4, wave: 32, capacity: 16, sim, ..base };
    under_all_schedules("weak memory, 2 waves of 32", wide, 0..15);
}

/// Stops one wave after each number of moves in turn; the others shall finish, and rightly.
fn stalls(base: Campaign, moves: u64, mut verdict: impl FnMut(Result<Summary, String>)) {
    for model in MODELS {
        for roles in [Roles::Balanced, Roles::Random] {
            for after in 1..moves {
                let stall = Some(Stall { wave: 0, after });
                let sim = Options { model, stall, max_steps: 20_000, ..base.sim };
                verdict(Campaign { roles, sim, ..base }.run(after..after + 2));
            }
        }
    }
}

fn others_finish_when_a_wave_stalls(kind: QueueKind) {
    let mut summary = Summary::default();
    for capacity in [4, 16] {
        stalls(Campaign { capacity, ..base(kind) }, 400, |result| {
            summary.add(&result.unwrap_or_else(|failure| panic!("{kind}: {failure}")));
        });
    }
    println!("{kind:15} {:28} {summary}", "a wave stalls");
    assert!(summary.stalled > summary.runs / 4, "most stalls take place");
}

macro_rules! lock_free {
    ($($kind:ident $name:ident),*) => { $(
        mod $name {
            use super::*;

            #[test]
            fn is_linearizable() {
                super::is_linearizable(QueueKind::$kind);
            }

            #[test]
            fn bears_weak_memory() {
                super::bears_weak_memory(QueueKind::$kind);
            }

            #[test]
            fn others_finish_when_a_wave_stalls() {
                super::others_finish_when_a_wave_stalls(QueueKind::$kind);
            }
        }
    )* };
}
lock_free!(Glfq glfq, GlfqUnbatched glfq_unbatched, Gwfq gwfq);

/// Looks for a planted bug, quick ways first; gives what was found and the number of schedules until then.
fn search(kind: QueueKind, plant: &'static str, memory: MemoryModel) -> Option<(String, u64)> {
    let base = Campaign { plant: Some(plant), ..base(kind) };
    let mut tried = 0;
    for round in 0..4 {
        for slow_waves in [0, 0b101, !0] {
            for (capacity, waves) in [(8, 3), (2, 3), (8, 2), (4, 3)] {
                for model in MODELS {
                    for schedule in schedules(&base, model) {
                        for roles in [Roles::Balanced, Roles::Random] {
                            let sim = Options { model, memory, schedule, ..base.sim };
                            let campaign = Campaign { capacity, waves, roles, sim, slow_waves, ..base };
                            let seeds = round * 100..(round + 1) * 100;
                            if let Err(found) = campaign.run(seeds) {
                                return Some((found, tried));
                            }
                            tried += 100;
                        }
                    }
                }
            }
        }
    }
    None
}

fn planted_bugs_are_found(kind: QueueKind, plants: &[(&'static str, MemoryModel)]) {
    for &(plant, memory) in plants {
        let (found, tried) = search(kind, plant, memory).unwrap_or_else(|| {
            panic!("{kind}: the planted bug {plant} was not found under {memory:?} memory")
        });
        let first = found.lines().next().unwrap_or_default();
        println!("{kind:15} {plant:22} within {:5} schedules: {first}", tried + 100);
    }
}

#[test]
fn planted_bugs_of_glfq_are_found() {
    use MemoryModel::{Sequential, Weak};
    planted_bugs_are_found(
        QueueKind::Glfq,
        &[
            ("relaxed_publication", Weak),
            ("no_acquire_fence", Weak),
            ("relaxed_tickets", Weak),
            ("leader_only", Weak),
            ("dropped_ticket", Sequential),
            ("occupant_stays_safe", Sequential),
            ("unsafe_slot_used", Sequential),
            ("threshold_not_raised", Sequential),
            ("small_threshold", Sequential),
            ("lap_ignored", Sequential),
            ("same_ticket_twice", Sequential),
        ],
    );
}

#[test]
fn explore_gwfq() {
    for slow_waves in [0b001, 0b101, !0] {
        for memory in [MemoryModel::Sequential, MemoryModel::Weak] {
            for capacity in [2, 8] {
                let base = base(QueueKind::Gwfq);
                let sim = Options { memory, ..base.sim };
                under_all_schedules(
                    &format!("slow {slow_waves:x} {memory:?}"),
                    Campaign { slow_waves, sim, capacity, ..base },
                    0..300,
                );
            }
        }
    }
}
#[test]
fn explore_mut_gwfq() {
    for name in [
        "slow_add_of_nothing",
        "stale_note",
        "note_of_dequeuers_lost",
        "done_on_closed_slot",
        "owner_not_told",
        "taken_reads_as_empty",
        "enq_set_by_or",
        "add_confirmed_early",
        "foreign_add_confirmed",
        "request_not_checked",
        "narrow_laps",
        "request_relaxed",
    ] {
        let r = search(
            QueueKind::Gwfq,
            name,
            if name == "request_relaxed" { MemoryModel::Weak } else { MemoryModel::Sequential },
        );
        println!("{name} {r:?}");
    }
}
