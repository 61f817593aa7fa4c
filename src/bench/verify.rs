//! Histories from a device: many lanes operate on one queue and write down what each operation did and when.

use super::queue::{Workload, resident_shape};
use crate::device::{Buffer, Device, Kernel, Shape, launch};
use crate::error::{Error, Result};
use crate::layout::{QueueBenchParams, QueueClockParams, QueueJudgeParams, QueueRoles};
use crate::programs::{QUEUE_JUDGE, QUEUE_JUDGE_OUTER};
use crate::queue::history::{Action, Operation, Outcome};
use crate::queue::{QueueKind, QueueLayout, QueueOptions};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// What tells the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamp {
    /// The device's clock: no traffic, but coarse.
    Timer,
    /// One word that counts: exact, but lanes meet there, which serialises what is under test.
    Counter,
}

/// What to record.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The queue.
    pub queue: QueueKind,
    /// Whether two rings carry payloads.
    pub outer: bool,
    /// Who does what.
    pub workload: Workload,
    /// Lanes of a block; of no account on the CPU.
    pub block: u32,
    /// Values that the queue holds at least.
    pub capacity: u64,
    /// The queue's own options.
    pub options: QueueOptions,
    /// Operations of all lanes together, at least.
    pub operations: u64,
    /// What tells the time.
    pub stamp: Stamp,
}

/// The device's clock, as lanes see it, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Clock {
    /// The smallest step between two readings of a lane.
    pub granularity: u64,
    /// The most by which a lane's reading was ahead of one that another took later.
    pub skew: u64,
}

/// What was recorded.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Every operation that took effect or can have, each lane's in the order of its program; last those of the
    /// lanes that emptied the queue in the end. Stamps are as read.
    pub history: Vec<Operation>,
    /// Where in it the last part begins.
    pub drain: usize,
    /// Operations that the queue refused without a claim to be full or empty (busy, exhausted).
    pub refused: u64,
    /// Lanes' retries, spins, slow operations and helps.
    pub tallies: [u64; 4],
    /// The capacity that the queue really has.
    pub capacity: u64,
    /// The clock; all 0 for counted stamps, which are exact.
    pub clock: Clock,
}

/// For the lanes of a launch, and for calls that have to be made again.
const LIMIT: Duration = Duration::from_secs(20);
/// Looks at slots that are out before a producer sits a row out.
const TRIES: u32 = 64;
/// Readings of each wave in the measurement of the clock.
const CLOCK_ROUNDS: u32 = 1000;
/// QueueStatus of queue.h: queue_ok and so on. A call that was still busy at the limit may hold a ticket.
const STATUSES: [Outcome; 4] = [Outcome::Ok, Outcome::Empty, Outcome::Full, Outcome::Pending];

/// Records a history.
///
/// # Errors
/// A plan that cannot be, and the device's.
pub fn record(device: &Arc<dyn Device>, plan: &Plan) -> Result<Recording> {
    plan.workload.check(plan.queue)?;
    let program = if plan.outer { &QUEUE_JUDGE_OUTER } else { &QUEUE_JUDGE };
    if plan.outer && !plan.queue.is_index_ring() {
        return Err(Error::Input(format!("queue {}: not an index ring; leave out --outer", plan.queue)));
    }
    let unit = program.unit(&[plan.queue.axis_value()]);
    let kernel = |name| device.kernel(&unit, name);
    let run = kernel("judge_run")?;
    let wave = device.info().wave_size;
    lay_out(plan, wave, 1)?;
    let shape = resident_shape(device, &run, plan.workload, plan.block)?;
    let lanes = shape.blocks * shape.threads;
    let layout = lay_out(plan, lanes.max(wave), rows(plan))?;
    let memory = Memory::new(device, plan, &layout, shape)?;
    memory.run(&kernel("bench_initialise")?, &run, &kernel("judge_drain")?)?;
    let clock = match plan.stamp {
        Stamp::Timer => measure_clock(device, &kernel("judge_clock")?, shape)?,
        Stamp::Counter => Clock::default(),
    };
    let mut recording = Recording { capacity: layout.capacity(), clock, ..Recording::default() };
    memory.work.read(0, &mut recording)?;
    recording.drain = recording.history.len();
    memory.drain.read(lanes, &mut recording)?;
    memory.tallies.read(0, &mut recording.tallies)?;
    Ok(recording)
}

/// Rows of operations: a balanced lane has an enqueue in one and a dequeue in the next.
fn rows(plan: &Plan) -> u64 {
    let rows = plan.operations.div_ceil(u64::from(plan.workload.lanes())).max(2);
    if plan.workload.is_split() { rows } else { rows.next_multiple_of(2) }
}

fn lay_out(plan: &Plan, lanes: u32, rows: u64) -> Result<QueueLayout> {
    let mut options = plan.options;
    if plan.queue == QueueKind::GwfqYmc && options.pool_cells.is_none() {
        // Every attempt can use up a cell; most do not.
        let cells = (rows * u64::from(lanes)).saturating_mul(2).clamp(1 << 16, 1 << 31);
        options.pool_cells = Some(cells as u32);
    }
    let make = if plan.outer { QueueLayout::outer } else { QueueLayout::new };
    make(plan.queue, plan.capacity, 1, lanes, lanes, &options)
}

/// What lanes write.
struct Pass {
    shape: Shape,
    wave: u32,
    rows: u32,
    words: Buffer<u64>,
    stamps: Buffer<u64>,
}

impl Pass {
    fn new(device: &Arc<dyn Device>, shape: Shape, rows: u64) -> Result<Self> {
        let wave = device.info().wave_size;
        let (lanes, waves) =
            (u64::from(shape.blocks * shape.threads), u64::from(shape.blocks * shape.threads / wave));
        let words = rows.saturating_mul(lanes);
        if words >= u64::from(u32::MAX) {
            return Err(Error::Input(format!(
                "--ops: {words} operations on record are too many; at most {} are possible",
                u32::MAX - 1
            )));
        }
        Ok(Pass {
            shape,
            wave,
            rows: rows as u32,
            words: Buffer::zeroed(device, words as usize, "the record of operations")?,
            stamps: Buffer::zeroed(device, (2 * rows * waves) as usize, "the record of times")?,
        })
    }

    /// Appends what lanes wrote; their numbers start at `first_lane`.
    fn read(&self, first_lane: u32, recording: &mut Recording) -> Result<()> {
        let (words, stamps) = (self.words.to_vec()?, self.stamps.to_vec()?);
        let lanes = (self.shape.blocks * self.shape.threads) as usize;
        let waves = lanes / self.wave as usize;
        recording.history.reserve(words.iter().filter(|w| **w != 0).count());
        for (at, &word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
            let (row, lane) = (at / lanes, at % lanes);
            let status = word >> 32 & 0xff;
            let action = if word >> 40 == 1 { Action::Enqueue } else { Action::Dequeue };
            let Some(&result) = STATUSES.get(status as usize) else {
                recording.refused += 1;
                continue;
            };
            let stamp = 2 * (row * waves + lane / self.wave as usize);
            let has_value = action == Action::Enqueue || result == Outcome::Ok;
            recording.history.push(Operation {
                lane: first_lane + lane as u32,
                action,
                value: has_value.then_some(word & 0xffff_ffff),
                result,
                begin: stamps[stamp],
                end: if result == Outcome::Pending { u64::MAX } else { stamps[stamp + 1] },
            });
        }
        Ok(())
    }
}

/// A queue on a device, and what its lanes write down.
struct Memory {
    device: Arc<dyn Device>,
    params: QueueJudgeParams,
    work: Pass,
    drain: Pass,
    tallies: Buffer<u64>,
    words: Buffer<u64>,
    _others: (Buffer<u64>, Buffer<u64>, [Buffer<u32>; 2], Buffer<u64>),
}

impl Memory {
    fn new(device: &Arc<dyn Device>, plan: &Plan, layout: &QueueLayout, shape: Shape) -> Result<Self> {
        let wave = device.info().wave_size;
        let capacity = layout.capacity() as usize;
        let words = Buffer::new(device, layout.total_words() as usize, "the queue")?;
        let records = Buffer::zeroed(device, layout.total_record_words() as usize, "lanes' records")?;
        let payload = Buffer::zeroed(device, capacity, "payload")?;
        let out = Buffer::zeroed(device, capacity, "the slots' marks")?;
        let arrived = Buffer::zeroed(device, 1, "the waves that have come")?;
        let counter = Buffer::zeroed(device, 1, "the clock that counts")?;
        let tallies = Buffer::zeroed(device, 4, "tallies")?;
        let work = Pass::new(device, shape, rows(plan))?;
        let one_wave = Shape { blocks: 1, threads: wave, shared: 0 };
        // At most what went in is left, and at most what the queue holds; then a look that finds nothing.
        let left = layout.capacity().min(rows(plan) * u64::from(shape.blocks * shape.threads));
        let drain = Pass::new(device, one_wave, left.div_ceil(u64::from(wave)) + 2)?;
        let params = QueueJudgeParams {
            space: layout.space(words.ptr(), records.ptr()),
            words: work.words.ptr(),
            stamps: work.stamps.ptr(),
            payload: payload.ptr(),
            out: out.ptr(),
            counter: counter.ptr(),
            tallies: tallies.ptr(),
            limit_ticks: LIMIT.as_secs() * device.info().ticks_per_second,
            roles: plan.workload.roles(),
            rows: work.rows,
            counter_stamps: (plan.stamp == Stamp::Counter).into(),
            tries: TRIES,
            arrived: arrived.ptr(),
            meet_ticks: device.info().ticks_per_second / 10,
            waves: plan.workload.waves(wave) as u32,
        };
        let _others = (records, payload, [out, arrived], counter);
        Ok(Memory { device: device.clone(), params, work, drain, tallies, words, _others })
    }

    /// Sets the queue up, lets the lanes work, empties the queue.
    fn run(&self, initialise: &Kernel, run: &Kernel, drain: &Kernel) -> Result<()> {
        let setting_up = crate::device::cover(&*self.device, self.words.len() as u64);
        let setting_up = Shape { blocks: setting_up.blocks.min(1 << 13), ..setting_up };
        let space = QueueBenchParams { space: self.params.space, ..QueueBenchParams::default() };
        // Whoever takes out in the drain is balanced: nobody waits for slots to come back.
        let drain_params = QueueJudgeParams {
            words: self.drain.words.ptr(),
            stamps: self.drain.stamps.ptr(),
            roles: QueueRoles { producers: self.drain.wave, consumers: 0 },
            rows: self.drain.rows,
            ..self.params
        };
        // SAFETY: the buffers are as large as the kernels expect for these parameters; reads wait for launches.
        unsafe {
            launch(&self.device, initialise, setting_up, &space)?;
            launch(&self.device, run, self.work.shape, &self.params)?;
            launch(&self.device, drain, self.drain.shape, &drain_params)
        }
    }
}

/// Measures the device's clock with as many lanes as operate on the queue.
fn measure_clock(device: &Arc<dyn Device>, kernel: &Kernel, shape: Shape) -> Result<Clock> {
    let waves = (shape.blocks * shape.threads / device.info().wave_size) as usize;
    let latest = Buffer::zeroed(device, 1, "a reading of the clock")?;
    let steps = Buffer::zeroed(device, waves, "steps of the clock")?;
    let aheads = Buffer::zeroed(device, waves, "differences of clocks")?;
    let params = QueueClockParams {
        latest: latest.ptr(),
        steps: steps.ptr(),
        aheads: aheads.ptr(),
        rounds: CLOCK_ROUNDS,
        reserved: 0,
    };
    // SAFETY: one word a wave, as the kernel expects; the reads wait for it.
    unsafe { launch(device, kernel, shape, &params)? };
    let granularity = steps.to_vec()?.into_iter().min().unwrap_or_default();
    if granularity == u64::MAX {
        return Err(Error::Device(format!(
            "{}: its clock stood still for {CLOCK_ROUNDS} readings; use --stamp counter",
            device.info().id
        )));
    }
    Ok(Clock { granularity, skew: aheads.to_vec()?.into_iter().max().unwrap_or_default() })
}
