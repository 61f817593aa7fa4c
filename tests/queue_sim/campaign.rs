//! Many seeded runs of the queue probe on the simulator, judged.

use rayq::device::Device;
use rayq::queue::history::{Action, Operation, Outcome};
use rayq::queue::linearize;
use rayq::queue::probe::{Plan, Probe, ProbeKernels, Record};
use rayq::queue::{QueueKind, QueueLayout, QueueOptions};
use rayq_sim::{MemoryModel, Options, Report, Rng, SimDevice};
use std::ops::Range;
use std::sync::Arc;

/// Who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Roles {
    /// Every lane enqueues and dequeues in turn.
    Balanced,
    /// The first half of the waves enqueue, the others dequeue.
    Split,
    /// Every lane does anything at any time, or nothing.
    Random,
    /// Nobody dequeues.
    Producers,
    /// Nobody enqueues.
    Consumers,
}

/// A family of runs: one for each seed.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    pub kind: QueueKind,
    pub wave: u32,
    pub waves: u32,
    pub capacity: u64,
    pub fill: u32,
    pub first_ticket: u64,
    pub slow_waves: u32,
    pub length: u32,
    pub roles: Roles,
    pub slots: bool,
    /// Two rings that make a queue of payloads, which can be full.
    pub outer: bool,
    pub fenced: bool,
    pub queue: QueueOptions,
    pub sim: Options,
    /// A planted bug of tests/sim/mutants.rs.
    pub plant: Option<&'static str>,
}

/// What the runs came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    pub runs: u64,
    pub operations: u64,
    pub steps: u64,
    pub retries: u64,
    pub spins: u64,
    pub slow: u64,
    pub helps: u64,
    pub refused: u64,
    pub longest_operation: u64,
    pub stalled: u64,
}

impl Summary {
    pub fn add(&mut self, other: &Summary) {
        self.runs += other.runs;
        self.operations += other.operations;
        self.steps += other.steps;
        self.retries += other.retries;
        self.spins += other.spins;
        self.slow += other.slow;
        self.helps += other.helps;
        self.refused += other.refused;
        self.longest_operation = self.longest_operation.max(other.longest_operation);
        self.stalled += other.stalled;
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:6} schedules {:8} operations {:9} steps; longest operation {:5} steps, retries {}, spins {}, slow {}, \
             helps {}, refused {}, stalled {}",
            self.runs,
            self.operations,
            self.steps,
            self.longest_operation,
            self.retries,
            self.spins,
            self.slow,
            self.helps,
            self.refused,
            self.stalled
        )
    }
}

impl Campaign {
    /// Three waves of four lanes on a ring of eight, a few turns each.
    pub fn of(kind: QueueKind) -> Self {
        Campaign {
            kind,
            wave: 4,
            waves: 3,
            capacity: 8,
            fill: 0,
            first_ticket: 0,
            slow_waves: 0,
            length: 8,
            roles: Roles::Balanced,
            slots: true,
            outer: false,
            fenced: true,
            queue: QueueOptions::default(),
            sim: Options { max_steps: 10_000_000, ..Options::default() },
            plant: None,
        }
    }

    fn script(&self, seed: u64) -> Vec<Option<Action>> {
        let mut rng = Rng::new(seed ^ 0x5c21_b7f3);
        let mut action = |lane: u32, turn: u32| {
            let enqueues = match self.roles {
                Roles::Balanced => turn.is_multiple_of(2),
                Roles::Split => lane / self.wave < self.waves / 2,
                Roles::Producers => true,
                Roles::Consumers => false,
                Roles::Random => match rng.below(8) {
                    0 => return None,
                    n => n.is_multiple_of(2),
                },
            };
            Some(if enqueues { Action::Enqueue } else { Action::Dequeue })
        };
        let lanes = self.wave * self.waves;
        (0..lanes)
            .flat_map(|lane| (0..self.length).map(move |turn| (lane, turn)))
            .map(|(l, t)| action(l, t))
            .collect()
    }

    fn probe(&self, sim: &Arc<SimDevice>, seed: u64) -> Probe {
        let lanes = self.wave * self.waves;
        let layout = if self.outer { QueueLayout::outer } else { QueueLayout::new };
        let layout = layout(self.kind, self.capacity, 1, lanes, lanes, &self.queue).expect("sizes that fit");
        let device: Arc<dyn Device> = sim.clone();
        let kernels = match self.plant {
            None if self.outer => ProbeKernels::outer(&device, &layout).expect("compiled in"),
            None => ProbeKernels::new(&device, &layout).expect("compiled in"),
            Some(plant) => {
                let unit = format!("{}_{plant}", self.kind.axis_value());
                let kernel = |name| sim.kernel_of(&unit, name).expect("planted by mutants.rs");
                ProbeKernels { initialise: kernel("probe_initialise"), probe: kernel("probe") }
            }
        };
        let plan = Plan {
            blocks: self.waves,
            threads: self.wave,
            script: self.script(seed),
            fill: self.fill,
            first_ticket: self.first_ticket,
            slow_waves: self.slow_waves,
            slots: self.slots,
            fenced: self.fenced,
        };
        Probe::new(&device, kernels, &layout, plan).expect("host memory")
    }

    /// Whether real time orders operations: always, or because of the fences at their edges.
    fn has_real_time(&self) -> bool {
        self.sim.memory == MemoryModel::Sequential || self.fenced
    }

    /// The verdict on one run.
    fn judge(&self, record: &Record) -> Result<(), String> {
        let mut history = record.history.clone();
        let (work, drain) = history.split_at_mut(record.drain);
        if !self.has_real_time() {
            let end = drain.first().map_or(u64::MAX - 1, |o| o.begin);
            work.iter_mut()
                .filter(|o| o.result != Outcome::Pending)
                .for_each(|o| (o.begin, o.end) = (0, end));
        }
        let unjudged = |o: &Operation| {
            let claim = o.result == Outcome::Empty || o.result == Outcome::Full;
            let judged = self.has_real_time() && self.kind.is_linearizable();
            claim && o.begin < record.history[record.drain].begin && !judged
        };
        history.retain(|o| !unjudged(o));
        linearize::check(&history, Some(self.capacity)).map_err(|violation| violation.to_string())
    }

    /// Sets the queue up and empties it in order; only the work between is done in the chosen way.
    fn run_once(&self, sim: &SimDevice, probe: &Probe, seed: u64) -> rayq::error::Result<(Report, Record)> {
        let plain = Options { seed, max_steps: self.sim.max_steps, ..Options::default() };
        sim.set_options(plain);
        probe.initialise()?;
        sim.set_options(Options { resident: self.waves, seed, ..self.sim });
        let mut record = probe.work()?;
        let report = sim.report();
        sim.set_options(plain);
        probe.drain(&mut record)?;
        Ok((report, record))
    }

    /// Runs every seed; ends at the first failure, in words that let it be run again.
    pub fn run(&self, seeds: Range<u64>) -> Result<Summary, String> {
        let sim = Arc::new(SimDevice::new(self.wave, Options { resident: self.waves, ..self.sim }));
        let mut summary = Summary::default();
        let mut probe = self.probe(&sim, seeds.start);
        for seed in seeds {
            if self.roles == Roles::Random && seed.is_multiple_of(16) {
                probe = self.probe(&sim, seed);
            }
            let failed = |why: String| format!("{why}\n  seed {seed} of {self:?}");
            let (report, record) = self.run_once(&sim, &probe, seed).map_err(|e| failed(e.to_string()))?;
            self.judge(&record).map_err(failed)?;
            let tallies = record.tallies;
            summary.add(&Summary {
                runs: 1,
                operations: record.history.len() as u64,
                steps: report.steps,
                retries: tallies.retries,
                spins: tallies.spins,
                slow: tallies.slow,
                helps: tallies.helps,
                refused: record.refused,
                longest_operation: report.longest_operation,
                stalled: u64::from(report.stalled_lanes > 0),
            });
        }
        Ok(summary)
    }
}
