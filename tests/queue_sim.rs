//! Campaigns against every queue kind on the simulator: random and adversarial schedules, weak memory, stalls,
//! planted bugs. `cargo test --release --test queue_sim -- --nocapture` shows what they came to.

#[path = "queue_sim/campaign.rs"]
mod campaign;

use campaign::{Campaign, Roles, Summary};
use rayq::bench::litmus::{self, Test};
use rayq::device::Device;
use rayq::queue::{QueueKind, QueueOptions};
use rayq_sim::{MemoryModel, Model, Options, Schedule, SimDevice, Stall};
use std::ops::Range;
use std::sync::Arc;

const MODELS: [Model; 2] = [Model::Independent, Model::Lockstep];
const ROLES: [Roles; 3] = [Roles::Balanced, Roles::Split, Roles::Random];

/// What a kind promises.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// A lane that stalls may keep all others from finishing.
    Blocking,
    /// Whoever stalls, others finish.
    LockFree,
    /// Whoever stalls, each finishes within a bounded number of its own steps.
    WaitFree,
}
use Progress::{Blocking, LockFree, WaitFree};

fn progress(kind: QueueKind) -> Progress {
    match kind {
        QueueKind::Glfq | QueueKind::GlfqUnbatched => LockFree,
        QueueKind::Gwfq | QueueKind::GwfqYmc => WaitFree,
        _ => Blocking,
    }
}

/// Waves that ask for help at once: none (all do after one failed attempt), some, all. A request of G-WFQ-YMC
/// needs the ticket of a failed attempt.
fn slow_waves(kind: QueueKind) -> &'static [u32] {
    if kind == QueueKind::Gwfq { &[0, 0b101, !0] } else { &[0] }
}

/// The kind's campaign. Helping kinds ask for help after one attempt, so that the slow path is a usual one.
fn base(kind: QueueKind) -> Campaign {
    let queue = QueueOptions { patience: Some(1), help_delay: Some(1), pool_cells: Some(600) };
    Campaign { queue, ..Campaign::of(kind) }
}

/// The most steps of a wait-free operation, in the worst case. With n the capacity, L the lanes, W the waves, P the
/// patience and D the help delay:
///
/// 1. An operation makes P fast attempts, then publishes a request and works on it. Before that it works on one request
///    that it finds in the list and, each D operations, on one of a peer: with D = 1 on three requests at most.
/// 2. Once a request is published, every other lane ends what it has begun and then works on requests before it adds to a
///    counter again. What others had begun is P attempts and a request each. Each of these can take one ticket from the
///    request, by closing the slot of it; an index of an older lap can, too, and the ring has 2n slots. So a request
///    takes R = 2n + L (P + 1) rounds.
/// 3. A round needs a ticket. A try to get one fails when another moved the counter: the W P adds that had begun, and R
///    rounds of each other request. So there are R + W P + L R tries of at most 9 accesses each (`shared_ticket`).
/// 4. In a slot a compare-and-swap fails when another changed it: each other lane twice by what it had begun and once by
///    its request, and each time the slot is tried again in two accesses; 12 come on top (`try_dequeue`).
/// 5. A fast attempt makes at most 45 accesses and wave operations, and two for each change of its slot.
///
/// G-WFQ-YMC differs in step 2: a request is offered one of the next max(32, L) cells that somebody closes, and one that
/// dequeues walks the cells that hold values or are in others' hands, n + R at most. A cell takes 48 steps, 32 of which
/// are polls.
fn bound(campaign: &Campaign) -> u64 {
    let (n, waves) = (campaign.capacity, u64::from(campaign.waves));
    let lanes = waves * u64::from(campaign.wave);
    let patience = u64::from(campaign.queue.patience.expect("chosen"));
    let requests = 2 + u64::from(campaign.queue.help_delay == Some(1));
    let rounds = 2 * n + lanes * (patience + 1);
    let attempt = 45 + 2 * 3 * lanes;
    let request = if campaign.kind == QueueKind::GwfqYmc {
        48 * (lanes.max(32) + n + rounds)
    } else {
        let tries = rounds + waves * patience + lanes * rounds;
        9 * tries + rounds * (12 + 2 * 3 * lanes)
    };
    let rings = if campaign.outer { 2 } else { 1 };
    rings * (patience * attempt + requests * request)
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
    for &slow_waves in slow_waves(base.kind) {
        for model in MODELS {
            for schedule in schedules(&base, model) {
                for roles in ROLES {
                    let sim = Options { model, schedule, ..base.sim };
                    let result = Campaign { roles, sim, slow_waves, ..base }.run(seeds.clone());
                    summary.add(&result.unwrap_or_else(|failure| panic!("{}: {what}: {failure}", base.kind)));
                }
            }
        }
    }
    println!("{:15} {what:28} {summary}; {:.1} s", base.kind, start.elapsed().as_secs_f64());
    if progress(base.kind) == WaitFree {
        assert!(summary.slow > 0 && summary.helps > 0, "the slow path is taken: {summary}");
        assert!(summary.longest_operation <= bound(&base), "bound {}: {summary}", bound(&base));
    }
}

fn is_linearizable(kind: QueueKind) {
    let base = base(kind);
    let runs = 1000 / slow_waves(kind).len() as u64;
    for capacity in [2, 8] {
        let what = format!("3 waves of 4, capacity {capacity}");
        under_all_schedules(&what, Campaign { capacity, ..base }, 0..runs);
    }
    under_all_schedules("filled at first", Campaign { fill: 8, ..base }, 0..runs / 3);
    let wrapping = Campaign { first_ticket: u64::MAX - 40, ..base };
    under_all_schedules("tickets wrap", wrapping, 0..runs / 3);
    for roles in [Roles::Producers, Roles::Consumers] {
        let alone = Campaign { roles, fill: if roles == Roles::Consumers { 8 } else { 0 }, ..base };
        let summary = alone.run(0..runs).unwrap_or_else(|failure| panic!("{kind}: {roles:?}: {failure}"));
        println!("{kind:15} {:28} {summary}", format!("{roles:?} alone"));
    }
    let wide = Campaign { waves: 2, length: 4, ..base };
    under_all_schedules(
        "2 waves of 32, capacity 16",
        Campaign { wave: 32, capacity: 16, ..wide },
        0..runs / 20,
    );
    under_all_schedules(
        "2 waves of 64, capacity 128",
        Campaign { wave: 64, capacity: 128, ..wide },
        0..runs / 40,
    );
}

fn bears_weak_memory(kind: QueueKind) {
    let base = base(kind);
    let runs = 450 / slow_waves(kind).len() as u64;
    let sim = Options { memory: MemoryModel::Weak, ..base.sim };
    for fenced in [true, false] {
        for capacity in [2, 8] {
            let what = format!("weak memory, capacity {capacity}{}", if fenced { ", fenced" } else { "" });
            under_all_schedules(&what, Campaign { capacity, fenced, sim, ..base }, 0..runs);
        }
    }
    let wide = Campaign { waves: 2, length: 4, wave: 32, capacity: 16, sim, ..base };
    under_all_schedules("weak memory, 2 waves of 32", wide, 0..runs / 30);
}

/// Two rings as a bounded queue of payloads: here FULL is judged too, and the payloads race if they can.
fn holds_payloads(kind: QueueKind) {
    let base = Campaign { slots: false, outer: true, ..base(kind) };
    let weak = Options { memory: MemoryModel::Weak, ..base.sim };
    for capacity in [2, 8] {
        under_all_schedules(&format!("payloads, capacity {capacity}"), Campaign { capacity, ..base }, 0..120);
        let campaign = Campaign { capacity, sim: weak, ..base };
        under_all_schedules(&format!("payloads, capacity {capacity}, weak"), campaign, 0..60);
    }
}

/// Cells are used once: when they are used up operations change nothing, and say so.
#[test]
fn used_up_pools_are_told() {
    let queue = QueueOptions { pool_cells: Some(32), ..base(QueueKind::GwfqYmc).queue };
    let campaign = Campaign { queue, ..base(QueueKind::GwfqYmc) };
    let summary = campaign.run(0..2000).unwrap_or_else(|failure| panic!("{failure}"));
    println!("{:15} {:28} {summary}", campaign.kind, "a pool of 32 cells");
    assert!(summary.refused > 0);
}

/// Stops one wave after each number of moves in turn; the others shall finish, and rightly.
fn others_finish_when_a_wave_stalls(kind: QueueKind) {
    let mut summary = Summary::default();
    for &slow_waves in slow_waves(kind) {
        for (model, moves) in [(Model::Independent, 400), (Model::Lockstep, 150)] {
            for (capacity, roles) in [(4, Roles::Balanced), (4, Roles::Random), (16, Roles::Balanced)] {
                for after in 1..moves {
                    let stall = Some(Stall { wave: 0, after });
                    let sim = Options { model, stall, max_steps: 20_000, ..base(kind).sim };
                    let campaign = Campaign { capacity, roles, sim, slow_waves, ..base(kind) };
                    summary.add(
                        &campaign.run(after..after + 2).unwrap_or_else(|failure| panic!("{kind}: {failure}")),
                    );
                }
            }
        }
    }
    println!("{kind:15} {:28} {summary}", "a wave stalls");
    assert!(summary.stalled > summary.runs / 3, "most stalls take place");
}

/// The control of the test above: the others of a blocking queue do not finish.
fn others_hang_when_a_wave_stalls(kind: QueueKind) {
    let hangs = |after: &u64| {
        let sim =
            Options { stall: Some(Stall { wave: 0, after: *after }), max_steps: 20_000, ..base(kind).sim };
        let failure = Campaign { sim, ..base(kind) }.run(*after..after + 1).err();
        failure.is_some_and(|failure| failure.contains("no progress"))
    };
    let hung = (1..300).filter(hangs).count();
    println!("{kind:15} {:28} {hung:6} of 299 stalls hang the others", "a wave stalls");
    assert!(hung > 0, "{kind} never hangs");
}

/// One of two lanes moves 200 times more seldom than the other, which is always in its way. Gives the steps of the longest
/// operation, and their bound.
fn starve_a_lane(plant: Option<&'static str>, seed: u64) -> (u64, u64) {
    let campaign = Campaign {
        wave: 1,
        waves: 2,
        capacity: 4,
        // The other lane shall not be done before the starved one has taken more steps than it may.
        length: 30_000,
        slow_waves: 1,
        sim: Options { schedule: Schedule::Starve { wave: 0, odds: 200 }, ..base(QueueKind::Gwfq).sim },
        plant,
        ..base(QueueKind::Gwfq)
    };
    let summary = campaign.run(seed..seed + 1).unwrap_or_else(|failure| panic!("{failure}"));
    println!(
        "{:15} {:28} {summary}",
        campaign.kind,
        format!("a starved lane, {}", plant.unwrap_or("helped"))
    );
    (summary.longest_operation, bound(&campaign))
}

/// The bound on steps rests on help: without it, the same schedule goes beyond. (Such a schedule for G-WFQ-YMC is not
/// known: there a lane gets a cell soon when others close theirs.)
#[test]
fn help_bounds_a_starved_operation_of_gwfq() {
    for seed in 0..2 {
        let (longest, bound) = starve_a_lane(None, seed);
        assert!(longest <= bound, "{longest} steps, {bound} allowed");
    }
    let exceeds = |seed| {
        let (longest, bound) = starve_a_lane(Some("nobody_helps"), seed);
        longest > bound
    };
    assert!((0..5).any(exceeds), "the bound holds without help, so it says nothing");
}

/// Litmus tests under weak memory: the forms that queues rely on hold, and the weakened ones do not, be it by their
/// outcomes or by a race.
#[test]
fn litmus_tests_hold_and_their_weakened_forms_fail() {
    for test in Test::ALL {
        let run = |weakened, seed| {
            let sim = Options { memory: MemoryModel::Weak, seed, max_steps: 1_000_000, ..Options::default() };
            let device: Arc<dyn Device> = Arc::new(SimDevice::new(4, sim));
            let plan =
                litmus::Plan { lanes: 16, block: 4, rounds: 4, launches: 1, patience: 2, seed: seed as u32 };
            litmus::run(&device, test, weakened, plan)
        };
        let mut ordered = 0;
        for seed in 0..60 {
            let counts = run(false, seed).unwrap_or_else(|e| panic!("{}: {e}", test.name()));
            assert_eq!(counts.forbidden, 0, "{} with seed {seed}: {counts:?}", test.name());
            ordered += counts.ordered;
        }
        let fails = |seed: &u64| match run(true, *seed) {
            Ok(counts) => counts.forbidden > 0,
            Err(error) => error.to_string().contains("data race"),
        };
        let failed = (0..60).filter(fails).count();
        println!(
            "litmus {:15} {ordered} ordered; the weakened form fails in {failed} of 60 runs",
            test.name()
        );
        assert!(ordered > 0 && failed > 0, "{}", test.name());
    }
}

macro_rules! campaigns {
    ($($name:ident: $kind:ident { $($campaign:ident)* })*) => { $(
        mod $name {
            $( #[test]
            fn $campaign() {
                super::$campaign(super::QueueKind::$kind);
            } )*
        }
    )* };
}
campaigns! {
    glfq: Glfq { is_linearizable bears_weak_memory holds_payloads others_finish_when_a_wave_stalls }
    glfq_unbatched: GlfqUnbatched { is_linearizable bears_weak_memory others_finish_when_a_wave_stalls }
    gwfq: Gwfq { is_linearizable bears_weak_memory holds_payloads others_finish_when_a_wave_stalls }
    gwfq_ymc: GwfqYmc { is_linearizable bears_weak_memory others_finish_when_a_wave_stalls }
    sfq: Sfq { is_linearizable bears_weak_memory others_hang_when_a_wave_stalls }
    bwd: Bwd { is_linearizable bears_weak_memory others_hang_when_a_wave_stalls }
}

/// Looks for a planted bug; gives what was found and the number of schedules tried by then.
fn search(kind: QueueKind, plant: &'static str, memory: MemoryModel) -> Option<(String, u64)> {
    const SEEDS: u64 = 100;
    let base = Campaign { plant: Some(plant), ..base(kind) };
    let mut tried = 0;
    for round in 0..10 {
        for &slow_waves in slow_waves(kind) {
            for (capacity, waves) in [(8, 3), (2, 3), (8, 2), (4, 3)] {
                for model in MODELS {
                    for schedule in schedules(&base, model) {
                        for roles in [Roles::Balanced, Roles::Random] {
                            let sim = Options { model, memory, schedule, ..base.sim };
                            let campaign = Campaign { capacity, waves, roles, sim, slow_waves, ..base };
                            tried += SEEDS;
                            if let Err(found) = campaign.run(round * SEEDS..(round + 1) * SEEDS) {
                                return Some((found, tried));
                            }
                        }
                    }
                }
            }
        }
    }
    None
}

fn are_found(kind: QueueKind, memory: MemoryModel, plants: &[&'static str]) {
    for plant in plants {
        let (found, tried) = search(kind, plant, memory).unwrap_or_else(|| {
            panic!("{kind}: the planted bug {plant} was not found under {memory:?} memory")
        });
        let first = found.lines().next().unwrap_or_default();
        println!("{kind:15} {plant:22} within {tried:6} schedules: {first}");
    }
}

#[test]
fn planted_bugs_of_glfq_are_found() {
    let ordering = ["relaxed_install", "relaxed_take", "relaxed_tickets"];
    are_found(QueueKind::Glfq, MemoryModel::Weak, &ordering);
    let tickets = ["dropped_ticket", "lap_ignored"];
    are_found(QueueKind::Glfq, MemoryModel::Sequential, &tickets);
    let safety = ["occupant_stays_safe", "unsafe_slot_used", "threshold_not_raised", "small_threshold"];
    are_found(QueueKind::Glfq, MemoryModel::Sequential, &safety);
}

#[test]
fn planted_bugs_of_gwfq_are_found() {
    let tickets =
        ["slow_add_of_nothing", "reused_ticket", "add_confirmed_early", "request_not_checked", "narrow_laps"];
    are_found(QueueKind::Gwfq, MemoryModel::Sequential, &tickets);
    let slots = ["dropped_ticket", "closed_is_done", "stale_note", "owner_says_empty"];
    are_found(QueueKind::Gwfq, MemoryModel::Sequential, &slots);
    are_found(QueueKind::Gwfq, MemoryModel::Weak, &["request_relaxed"]);
}

#[test]
fn planted_bugs_of_other_queues_are_found() {
    are_found(QueueKind::GwfqYmc, MemoryModel::Sequential, &["missing_commit"]);
    are_found(QueueKind::GwfqYmc, MemoryModel::Weak, &["relaxed_install"]);
    are_found(QueueKind::Sfq, MemoryModel::Weak, &["relaxed_install", "relaxed_take"]);
    are_found(QueueKind::Bwd, MemoryModel::Weak, &["relaxed_install"]);
}
