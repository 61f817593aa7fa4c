//! Loom models: the kernels' own queues with two or three lanes on tiny rings, in every interleaving within a bound on
//! preemptions and with every value that C11 lets a load see.
//!
//! The platform table of the kernels leads to loom's atomics here (`memory.rs`). What loom cannot express is left to the
//! simulator: waves of more than one lane, accesses of 4 and 8 bytes to one word (there are none), and read-modify-writes
//! stronger than acquire and release (there are none either). Loom keeps the last 7 stores of a word.

#[path = "loom/memory.rs"]
mod memory;

use memory::Words;
use rayq::device::Device;
use rayq::queue::history::Action::{self, Dequeue, Enqueue};
use rayq::queue::linearize;
use rayq::queue::probe::{Plan, Probe, ProbeKernels};
use rayq::queue::{QueueKind, QueueLayout, QueueOptions};
use rayq_sim::{Options, SimDevice};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A model: what each lane does, on which queue.
#[derive(Clone, Copy)]
struct Model {
    kind: QueueKind,
    capacity: u64,
    fill: u32,
    script: &'static [&'static [Action]],
    /// Whether every operation asks for help at once.
    slow: bool,
    /// Whether fences at the edges of operations give their stamps a meaning. They also cover up for orders that the queue
    /// lacks: without them only the values are judged, and races on payloads.
    fenced: bool,
    preemptions: usize,
    /// A planted bug of mutants.rs.
    plant: Option<&'static str>,
}

/// For a model that ends: a pass at the limit would say nothing.
const LIMIT: Duration = Duration::from_secs(60);

impl Model {
    fn of(kind: QueueKind, capacity: u64, script: &'static [&'static [Action]]) -> Model {
        Model { kind, capacity, fill: 0, script, slow: false, fenced: true, preemptions: 3, plant: None }
    }

    fn probe(&self, sim: &Arc<SimDevice>) -> Probe {
        let lanes = self.script.len() as u32;
        let options = QueueOptions { patience: Some(1), help_delay: Some(1), pool_cells: None };
        let layout = QueueLayout::new(self.kind, self.capacity, 1, lanes, lanes, &options).expect("it fits");
        let device: Arc<dyn Device> = sim.clone();
        let kernels = match self.plant {
            None => ProbeKernels::new(&device, &layout).expect("compiled in"),
            Some(plant) => {
                let unit = format!("{}_{plant}", self.kind.axis_value());
                let kernel = |name| sim.kernel_of(&unit, name).expect("planted by mutants.rs");
                ProbeKernels { initialise: kernel("probe_initialise"), probe: kernel("probe") }
            }
        };
        let turns = self.script.iter().map(|lane| lane.len()).max().unwrap_or(0);
        let plan = Plan {
            blocks: lanes,
            threads: 1,
            script: self.script.iter().flat_map(|lane| (0..turns).map(|t| lane.get(t).copied())).collect(),
            fill: self.fill,
            first_ticket: 0,
            slow_waves: if self.slow { !0 } else { 0 },
            slots: true,
            fenced: self.fenced,
        };
        Probe::new(&device, kernels, &layout, plan).expect("host memory")
    }

    /// One execution, within loom. The queue is set up before, and emptied by one lane alone.
    fn execute(&self, sim: &SimDevice, probe: &Probe) {
        probe.initialise().expect("it runs");
        sim.set_runner(Some(memory::run_lanes));
        let mut record = probe.work().expect("it runs");
        probe.drain(&mut record).expect("it runs");
        sim.set_runner(None);
        if memory::is_incomplete() {
            std::panic::resume_unwind(Box::new("a word was not known"));
        }
        assert_eq!(record.refused, 0);
        if !self.fenced {
            let last = record.history[record.drain].begin;
            record.history[..record.drain].iter_mut().for_each(|o| (o.begin, o.end) = (0, last));
            record.history.retain(|o| o.begin >= last || o.value.is_some());
        }
        let capacity = self.capacity.max(self.kind.min_capacity());
        if let Err(violation) = linearize::check(&record.history, Some(capacity)) {
            panic!("{violation}\n{:#?}", record.history);
        }
    }

    /// Explores all executions; gives their number.
    fn check(self) -> u64 {
        let start = Instant::now();
        // Loom wants every word made before the lanes start, and each costs time: executions show which there are.
        let words = Words::default();
        let sim = Arc::new(SimDevice::new(1, Options::default()));
        let probe = Arc::new(self.probe(&sim));
        loop {
            let executions = Arc::new(AtomicU64::new(0));
            let (counter, known, sim, probe) =
                (executions.clone(), words.clone(), sim.clone(), probe.clone());
            let mut builder = loom::model::Builder::new();
            builder.preemption_bound = Some(self.preemptions);
            builder.max_branches = 50_000;
            builder.max_threads = self.script.len() + 1;
            builder.max_duration = Some(LIMIT);
            let more = words.len();
            let explored = catch_unwind(AssertUnwindSafe(|| {
                builder.check(move || {
                    counter.fetch_add(1, Ordering::Relaxed);
                    let (sim, probe) = (sim.clone(), probe.clone());
                    memory::within(&known, move || self.execute(&sim, &probe));
                })
            }));
            if words.len() > more {
                continue;
            }
            if let Err(panic) = explored {
                std::panic::resume_unwind(panic);
            }
            let (seconds, executions) = (start.elapsed().as_secs_f64(), executions.load(Ordering::Relaxed));
            println!(
                "{:10} capacity {}, {} lanes{}{}, {} preemptions: {executions} executions, {} words, {seconds:.1} s",
                self.kind.name(),
                self.capacity,
                self.script.len(),
                if self.slow { ", all slow" } else { "" },
                if self.fenced { "" } else { ", unfenced" },
                self.preemptions,
                words.len()
            );
            assert!(start.elapsed() < LIMIT, "not explored within the limit");
            return executions;
        }
    }

    /// Whether some execution fails.
    fn fails(self) -> bool {
        let found = catch_unwind(AssertUnwindSafe(|| self.check()));
        found.is_err()
    }
}

const PAIRS: &[&[Action]] = &[&[Enqueue, Dequeue], &[Enqueue, Dequeue]];
const CROSSED: &[&[Action]] = &[&[Enqueue, Dequeue], &[Dequeue, Enqueue]];
/// A dequeuer that got what it wanted does not look at Tail before the next: only the slot orders the payload.
const SATED: &[&[Action]] = &[&[Enqueue], &[Dequeue, Dequeue]];
const THREE: &[&[Action]] = &[&[Enqueue], &[Enqueue], &[Dequeue]];

/// Both with and without fences; gives the number of executions.
fn explore(model: Model) -> u64 {
    [true, false].map(|fenced| Model { fenced, ..model }.check()).iter().sum()
}

#[test]
fn glfq_in_every_interleaving() {
    assert!(explore(Model::of(QueueKind::Glfq, 2, PAIRS)) > 500);
    explore(Model { fill: 1, ..Model::of(QueueKind::Glfq, 2, CROSSED) });
    explore(Model { fill: 1, ..Model::of(QueueKind::Glfq, 2, SATED) });
    explore(Model { preemptions: 2, ..Model::of(QueueKind::Glfq, 4, THREE) });
}

#[test]
fn gwfq_in_every_interleaving() {
    // One failed attempt, then a request; and requests at once.
    explore(Model::of(QueueKind::Gwfq, 2, PAIRS));
    let slow = Model { slow: true, preemptions: 1, ..Model::of(QueueKind::Gwfq, 2, PAIRS) };
    assert!(explore(slow) > 2000);
    explore(Model { fill: 1, script: CROSSED, ..slow });
}

#[test]
fn sfq_in_every_interleaving() {
    explore(Model::of(QueueKind::Sfq, 1, PAIRS));
    explore(Model { fill: 1, ..Model::of(QueueKind::Sfq, 1, CROSSED) });
}

#[test]
fn planted_bugs_are_found() {
    let sated = Model { fill: 1, fenced: false, ..Model::of(QueueKind::Glfq, 2, SATED) };
    for plant in ["relaxed_install", "relaxed_take"] {
        assert!(Model { plant: Some(plant), ..sated }.fails(), "glfq: {plant} was not found");
    }
    let dropped = Model { plant: Some("dropped_ticket"), ..Model::of(QueueKind::Glfq, 2, PAIRS) };
    assert!(dropped.fails(), "glfq: dropped_ticket was not found");
    let gwfq = Model { slow: true, preemptions: 1, ..Model::of(QueueKind::Gwfq, 2, PAIRS) };
    assert!(Model { plant: Some("reused_ticket"), ..gwfq }.fails(), "gwfq: reused_ticket was not found");
    let sfq = Model { plant: Some("relaxed_install"), fenced: false, ..Model::of(QueueKind::Sfq, 1, PAIRS) };
    assert!(sfq.fails(), "sfq: relaxed_install was not found");
}
