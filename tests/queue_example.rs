//! The queue of docs/adding-a-queue.md, built and judged as any other.

#[path = "queue_sim/campaign.rs"]
#[allow(dead_code)] // The campaigns of tests/queue_sim.rs use all of it.
mod campaign;

use campaign::{Campaign, Roles, Summary};
use rayq::queue::QueueKind;
use rayq_sim::{MemoryModel, Model, Options, Stall};

/// A ring of the layout that SFQ has.
fn example(name: &'static str) -> Campaign {
    Campaign { plant: Some(name), ..Campaign::of(QueueKind::Sfq) }
}

#[test]
fn is_linearizable_on_either_memory() {
    let mut summary = Summary::default();
    for model in [Model::Independent, Model::Lockstep] {
        for memory in [MemoryModel::Sequential, MemoryModel::Weak] {
            for roles in [Roles::Balanced, Roles::Split, Roles::Random] {
                // With slots it is never full, without it may be.
                for slots in [true, false] {
                    let base = example("lock_ring");
                    let sim = Options { model, memory, ..base.sim };
                    summary.add(&Campaign { roles, slots, sim, ..base }.run(0..40).unwrap_or_else(|e| panic!("{e}")));
                }
            }
        }
    }
    println!("{summary}");
    assert!(summary.operations > 20_000 && summary.spins > 0, "{summary}");
}

#[test]
fn a_lock_that_does_not_acquire_is_found() {
    let base = example("lock_ring_unacquired");
    let sim = Options { memory: MemoryModel::Weak, ..base.sim };
    let found = (0..50).any(|round| Campaign { sim, ..base }.run(round * 20..(round + 1) * 20).is_err());
    assert!(found, "the planted bug was not found");
}

#[test]
fn others_hang_when_a_wave_stalls_with_the_lock() {
    let hangs = |after: u64| {
        let base = example("lock_ring");
        let sim = Options { stall: Some(Stall { wave: 0, after }), max_steps: 20_000, ..base.sim };
        Campaign { sim, ..base }.run(after..after + 1).is_err()
    };
    assert!((1..300).any(hangs), "it blocks by design");
}
