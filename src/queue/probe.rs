//! The queue probe's host side: scripted operations on a device, and their history.

use super::QueueLayout;
use super::history::{Action, Operation, Outcome};
use crate::device::{Buffer, Device, Kernel, Shape, launch};
use crate::error::Result;
use crate::layout::{ProbeRecord, QueueProbeParams, QueueSpace};
use crate::programs::{Program, QUEUE_PROBE, QUEUE_PROBE_OUTER};
use std::sync::Arc;

/// What the lanes of a launch shall do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Blocks.
    pub blocks: u32,
    /// Lanes of a block.
    pub threads: u32,
    /// For each lane one after the other, the same number of actions: `None` to sit a turn out.
    pub script: Vec<Option<Action>>,
    /// Values that the queue holds at first.
    pub fill: u32,
    /// Where tickets start, rounded down to a lap; see `QueueSpace`.
    pub first_ticket: u64,
    /// Bit w: waves w, w + 32, .. ask for help at once, in kinds that help.
    pub slow_waves: u32,
    /// Whether values are slots that lanes own and hand on, so that the queue can never be full. Else each
    /// enqueue has a new value.
    pub slots: bool,
    /// Whether fences keep operations within their stamps. Without, real time means little on weak memory, and
    /// only the values can be judged; with, the fences may cover up for ones that the queue lacks.
    pub fenced: bool,
}

impl Plan {
    /// Lanes.
    pub fn lanes(&self) -> u32 {
        self.blocks * self.threads
    }

    /// Actions of each lane.
    pub fn length(&self) -> u32 {
        self.script.len() as u32 / self.lanes()
    }
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Every operation that could take effect, those of the initial values included.
    pub history: Vec<Operation>,
    /// Where in it the dequeues begin that emptied the queue in the end.
    pub drain: usize,
    /// Enqueues that the queue refused without a claim to be full (busy, exhausted), and such dequeues.
    pub refused: u64,
    /// Sums of the lanes' counters.
    pub tallies: Tallies,
}

/// What lanes count about their operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tallies {
    /// Tickets that came to nothing, but for the last of an operation.
    pub retries: u64,
    /// Polls of a word in another lane's hands.
    pub spins: u64,
    /// Operations that asked for help.
    pub slow: u64,
    /// Requests of peers that lanes worked on.
    pub helps: u64,
}

/// Entry points of the probe.
#[derive(Clone, Debug)]
pub struct ProbeKernels {
    /// Sets the queue up.
    pub initialise: Kernel,
    /// Runs the scripts.
    pub probe: Kernel,
}

impl ProbeKernels {
    /// Those for a layout's kind of queue.
    ///
    /// # Errors
    /// The device's, if they do not compile.
    pub fn new(device: &Arc<dyn Device>, layout: &QueueLayout) -> Result<Self> {
        Self::of(device, &QUEUE_PROBE, layout)
    }

    /// Those for a queue of payloads, laid out by [`QueueLayout::outer`]. It starts empty, and the plan has no
    /// `slots`, which it would hide.
    ///
    /// # Errors
    /// The device's, if they do not compile.
    pub fn outer(device: &Arc<dyn Device>, layout: &QueueLayout) -> Result<Self> {
        Self::of(device, &QUEUE_PROBE_OUTER, layout)
    }

    fn of(device: &Arc<dyn Device>, program: &'static Program, layout: &QueueLayout) -> Result<Self> {
        let unit = program.unit(&[layout.kind().axis_value()]);
        let kernel = |name| device.kernel(&unit, name);
        Ok(ProbeKernels { initialise: kernel("probe_initialise")?, probe: kernel("probe")? })
    }
}

/// A queue in a device's memory, with scripts for its lanes.
pub struct Probe {
    device: Arc<dyn Device>,
    kernels: ProbeKernels,
    plan: Plan,
    space: QueueSpace,
    records: Buffer<u64>,
    payload: Buffer<u64>,
    tallies: Buffer<u64>,
    work: Pass,
    drain: Pass,
    _words: Buffer<u64>,
}

/// A launch's scripts and records.
struct Pass {
    shape: Shape,
    length: u32,
    script: Buffer<u32>,
    records: Buffer<ProbeRecord>,
}

/// `ProbeRecord::status` beyond QueueStatus.
const IDLE: u32 = 5;
const PENDING: u32 = 6;

impl Pass {
    fn new(device: &Arc<dyn Device>, blocks: u32, threads: u32, script: &[u32]) -> Result<Self> {
        Ok(Pass {
            shape: Shape { blocks, threads, shared: 0 },
            length: script.len() as u32 / (blocks * threads),
            script: Buffer::from_slice(device, script, "scripts")?,
            records: Buffer::new(device, script.len(), "records")?,
        })
    }
}

impl Probe {
    /// Takes the memory. `layout` allows for the plan's lanes.
    ///
    /// # Errors
    /// The device's.
    pub fn new(
        device: &Arc<dyn Device>,
        kernels: ProbeKernels,
        layout: &QueueLayout,
        plan: Plan,
    ) -> Result<Self> {
        let words = Buffer::new(device, layout.total_words() as usize, "queue")?;
        let records = Buffer::new(device, layout.total_record_words() as usize, "lanes' records")?;
        let values = layout.capacity() as usize + plan.fill as usize + plan.script.len();
        let code = |action: &Option<Action>| action.map_or(0, |a| 1 + a as u32);
        let script: Vec<u32> = plan.script.iter().map(code).collect();
        // One wave empties the queue in the end: each of its lanes until it has seen that nothing is left.
        let threads = device.info().wave_size;
        let turns = (layout.capacity() as u32).div_ceil(threads) + 1;
        let dequeues = vec![1 + Action::Dequeue as u32; (turns * threads) as usize];
        Ok(Probe {
            device: device.clone(),
            kernels,
            space: QueueSpace { first_ticket: plan.first_ticket, ..layout.space(words.ptr(), records.ptr()) },
            records,
            payload: Buffer::new(device, values, "payload")?,
            tallies: Buffer::new(device, 4, "tallies")?,
            work: Pass::new(device, plan.blocks, plan.threads, &script)?,
            drain: Pass::new(device, 1, threads, &dequeues)?,
            plan,
            _words: words,
        })
    }

    /// Sets the queue up, runs the scripts, empties the queue; gives the history of all that.
    ///
    /// # Errors
    /// The device's.
    pub fn run(&self) -> Result<Record> {
        self.initialise()?;
        let mut record = self.work()?;
        self.drain(&mut record)?;
        Ok(record)
    }

    /// Sets the queue up.
    ///
    /// # Errors
    /// The device's.
    pub fn initialise(&self) -> Result<()> {
        self.records.zero()?;
        self.tallies.zero()?;
        let shape = Shape { blocks: 1, threads: self.device.info().wave_size, shared: 0 };
        // SAFETY: the parameters' buffers are as large as the plan demands.
        unsafe {
            launch(&self.device, &self.kernels.initialise, shape, &self.params(&self.work, self.plan.fill))
        }
    }

    /// Runs the scripts on a queue that was just set up.
    ///
    /// # Errors
    /// The device's.
    pub fn work(&self) -> Result<Record> {
        let mut record = Record { history: self.initial(), ..Record::default() };
        self.run_pass(&self.work, self.plan.fill, &mut record)?;
        record.drain = record.history.len();
        let tallies = self.tallies.to_vec()?;
        record.tallies =
            Tallies { retries: tallies[0], spins: tallies[1], slow: tallies[2], helps: tallies[3] };
        Ok(record)
    }

    /// Empties the queue after the scripts, so that a lost value shows.
    ///
    /// # Errors
    /// The device's.
    pub fn drain(&self, record: &mut Record) -> Result<()> {
        // All slots are in the queue or in hands that are gone: none is to be handed out.
        self.run_pass(&self.drain, self.space.capacity.max(self.plan.fill), record)
    }

    /// The enqueues of the values that the queue holds at first.
    fn initial(&self) -> Vec<Operation> {
        let enqueue = |i| Operation {
            lane: u32::MAX,
            action: Action::Enqueue,
            value: Some(u64::from(i)),
            result: Outcome::Ok,
            begin: u64::from(i),
            end: u64::from(i),
        };
        (0..self.plan.fill).map(enqueue).collect()
    }

    fn params(&self, pass: &Pass, fill: u32) -> QueueProbeParams {
        QueueProbeParams {
            space: self.space,
            script: pass.script.ptr(),
            records: pass.records.ptr(),
            payload: self.payload.ptr(),
            tallies: self.tallies.ptr(),
            length: pass.length,
            fill,
            slots: self.plan.slots.into(),
            fenced: self.plan.fenced.into(),
            slow_waves: self.plan.slow_waves,
            // A lane may hold a ticket while it waits, so it has to come back.
            repeats: u32::MAX,
        }
    }

    fn run_pass(&self, pass: &Pass, fill: u32, record: &mut Record) -> Result<()> {
        let idle = ProbeRecord { status: IDLE, ..ProbeRecord::default() };
        pass.records.write(0, &vec![idle; pass.records.len()])?;
        // SAFETY: the parameters' buffers are as large as the plan demands.
        unsafe { launch(&self.device, &self.kernels.probe, pass.shape, &self.params(pass, fill))? };
        let mut script = vec![0; pass.script.len()];
        pass.script.read(0, &mut script)?;
        for (i, (result, code)) in pass.records.to_vec()?.into_iter().zip(script).enumerate() {
            let action = if code == 1 { Action::Enqueue } else { Action::Dequeue };
            let outcome = match result.status {
                0 => Outcome::Ok,
                1 => Outcome::Empty,
                2 => Outcome::Full,
                PENDING => Outcome::Pending,
                IDLE => continue,
                _ => {
                    record.refused += 1;
                    continue;
                }
            };
            let has_value = action == Action::Enqueue || outcome == Outcome::Ok;
            // Stamps come after those of the initial values.
            let shift = |ticks: u64| ticks + u64::from(self.plan.fill);
            record.history.push(Operation {
                lane: i as u32 / pass.length,
                action,
                value: has_value.then_some(u64::from(result.id)),
                result: outcome,
                begin: shift(result.begin),
                end: if outcome == Outcome::Pending { u64::MAX } else { shift(result.end) },
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::cpu::CpuDevice;
    use crate::queue::{QueueKind, QueueOptions, linearize};

    #[test]
    fn workers_of_the_cpu_leave_fifo_histories() {
        let device: Arc<dyn Device> = Arc::new(CpuDevice::new(Some(4)).expect("starts"));
        let layout =
            QueueLayout::new(QueueKind::Glfq, 8, 1, 4, 4, &QueueOptions::default()).expect("a fine layout");
        let turns = 2000;
        let script = (0..4 * turns).map(|i| Some(if i % 2 == 0 { Action::Enqueue } else { Action::Dequeue }));
        let plan = Plan {
            blocks: 4,
            threads: 1,
            script: script.collect(),
            fill: 2,
            slots: true,
            fenced: true,
            first_ticket: 0,
            slow_waves: 0,
        };
        let kernels = ProbeKernels::new(&device, &layout).expect("compiled in");
        let record = Probe::new(&device, kernels, &layout, plan).and_then(|p| p.run()).expect("runs");
        assert!(record.history.len() > turns, "{}", record.history.len());
        assert_eq!(linearize::check(&record.history, Some(layout.capacity())), Ok(()));
    }
}
