//! The queues' micro-benchmarks: one persistent launch for each figure, and no figure before the queue has
//! given back what was put in.

mod books;
pub mod workload;

pub use workload::Workload;

use super::Spread;
use crate::device::{Buffer, Device, Kernel, Shape, launch};
use crate::error::{Error, Result};
use crate::layout::{BenchRecord, QueueBenchParams};
use crate::programs::{QUEUE_BENCH, QUEUE_BENCH_OUTER, QUEUE_JUDGE, QUEUE_JUDGE_OUTER};
use crate::queue::{QueueKind, QueueLayout, QueueOptions};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// How long and how often to measure.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Start of each launch, which does not count.
    #[serde(serialize_with = "seconds")]
    pub warmup: Duration,
    /// What counts of each launch.
    #[serde(serialize_with = "seconds")]
    pub interval: Duration,
    /// Launches that count, after one that is reported apart.
    pub runs: u32,
}

fn seconds<S: serde::Serializer>(time: &Duration, s: S) -> std::result::Result<S::Ok, S::Error> {
    s.serialize_f64(time.as_secs_f64())
}

fn workload_name<S: serde::Serializer>(workload: &Workload, s: S) -> std::result::Result<S::Ok, S::Error> {
    s.serialize_str(workload.name())
}

/// What is measured.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The queue.
    pub queue: QueueKind,
    /// Whether two rings of indices carry 64-bit payloads, instead of one ring that carries slot numbers.
    pub outer: bool,
    /// Who puts in and who takes out.
    #[serde(serialize_with = "workload_name")]
    pub workload: Workload,
    /// Lanes of a block; of no account on the CPU, where a block is a lane.
    pub block: u32,
    /// Values that the queue holds at least.
    pub capacity: u64,
    /// The queue's own options.
    #[serde(skip)]
    pub options: QueueOptions,
    /// Whether lanes count retries, spins, slow paths, helps and cycles, which costs time.
    pub counters: bool,
    /// Whether lanes ask for the queue's length now and then, which costs time.
    pub occupancy: bool,
    /// Instead of an interval: the items 0.. of this number, each once through the queue.
    pub items: Option<u64>,
}

/// What one launch came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Run {
    /// Millions of successful operations a second: enqueues and dequeues that were ok.
    pub mops: f64,
    /// Seconds that counted.
    pub seconds: f64,
    /// Enqueues that were ok.
    pub enqueued: u64,
    /// Dequeues that were ok.
    pub dequeued: u64,
    /// Enqueues that found no room; in the raw form, turns of producers whose slots were all out.
    pub full: u64,
    /// Dequeues that found nothing.
    pub empty: u64,
    /// Calls that came to nothing or have to go on, because a slot was in another lane's hands.
    pub busy: u64,
    /// Whether the queue's pool of cells was used up before the interval was over.
    pub exhausted: bool,
    /// Successful operations of the lane that had fewest and of the one that had most.
    pub per_lane: (u64, u64),
    /// What the instrumented build counts, for each successful operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Counters>,
    /// What the queue said of its length while lanes worked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// The books of the whole launch.
    pub books: Books,
}

/// Counts per successful operation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Counters {
    /// Attempts beyond each operation's first.
    pub retries: f64,
    /// Polls of words in other lanes' hands.
    pub spins: f64,
    /// Operations that asked for help.
    pub slow: f64,
    /// Requests of peers that lanes worked on.
    pub helps: f64,
    /// Device cycles inside operations (nanoseconds on the CPU).
    pub cycles: f64,
}

/// Lengths that the queue reported.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Occupancy {
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
    /// How many reports there were.
    pub samples: u64,
    /// Before the drain that ends the launch, and after it.
    pub before_and_after_drain: (u64, u64),
}

/// What went in and came out in a whole launch, warm-up and all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Books {
    /// Values put in.
    pub put: u64,
    /// Values that lanes took out.
    pub taken: u64,
    /// Values taken out when the lanes were gone.
    pub drained: u64,
    /// Sum of the values put in.
    pub put_sum: u64,
    /// Sum of the values that came out in either way; equal to the other, or there is no row.
    pub out_sum: u64,
    /// Whether they could be compared: not for the ceiling, which carries no values.
    pub balanced: bool,
}

/// A line of the report.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was measured.
    #[serde(flatten)]
    pub case: Case,
    /// The capacity that the queue really has.
    pub real_capacity: u64,
    /// Lanes that work.
    pub lanes: u32,
    /// Lanes of these that put in; all, if balanced.
    pub producers: u32,
    /// Lanes of these that take out; all, if balanced.
    pub consumers: u32,
    /// Millions of successful operations a second over the runs that count.
    pub mops: Spread,
    /// The launch before those that count.
    pub warmup_run: Run,
    /// Those that count.
    pub runs: Vec<Run>,
    /// Seconds that the device spent compiling kernels or finding them in its cache, for this row.
    pub compile_seconds: f64,
}

impl Row {
    /// The run in the middle, for figures beside the throughput.
    pub fn typical(&self) -> &Run {
        let mut runs: Vec<_> = self.runs.iter().collect();
        runs.sort_by(|a, b| a.mops.total_cmp(&b.mops));
        runs[(runs.len() - 1) / 2]
    }
}

/// A queue on a device, with the memory that its lanes need.
struct Bench<'a> {
    device: Arc<dyn Device>,
    case: &'a Case,
    layout: QueueLayout,
    initialise: Kernel,
    run: Kernel,
    drain: Kernel,
    shape: Shape,
    params: QueueBenchParams,
    words: Buffer<u64>,
    lane_records: Buffer<u64>,
    records: Buffer<BenchRecord>,
    drained: Buffer<BenchRecord>,
    out: Buffer<u32>,
    seen: Buffer<u32>,
    clock: Buffer<u64>,
}

/// Measures a case: a run that is reported apart, then those that count. `stop` is asked between them.
///
/// # Errors
/// A case that cannot be, a device that fails, books that do not balance.
pub fn measure(
    device: &Arc<dyn Device>,
    case: &Case,
    plan: Plan,
    stop: impl Fn() -> Result<()>,
) -> Result<Row> {
    let compiled = device.compile_time();
    let bench = Bench::new(device, case, plan, TIMED)?;
    let compile_seconds = (device.compile_time() - compiled).as_secs_f64();
    let warmup_run = bench.run()?;
    let mut runs = vec![];
    for _ in 0..plan.runs {
        stop()?;
        runs.push(bench.run()?);
    }
    Ok(Row {
        case: case.clone(),
        real_capacity: bench.layout.capacity(),
        lanes: case.workload.lanes(),
        producers: case.workload.roles().producers,
        consumers: if case.workload.is_split() {
            case.workload.roles().consumers
        } else {
            case.workload.lanes()
        },
        mops: Spread::of(&runs.iter().map(|r| r.mops).collect::<Vec<_>>()),
        warmup_run,
        runs,
        compile_seconds,
    })
}

/// One launch of fixed work: each producer puts `turns` values in, and consumers take as many out. However often a
/// profiler repeats the launch, the same number of operations is successful.
///
/// # Errors
/// As for [`measure`]; work that was not finished within 30 s, or a pool of cells that was used up.
pub fn fixed(device: &Arc<dyn Device>, case: &Case, turns: u32) -> Result<Run> {
    let producers = u64::from(case.workload.roles().producers);
    let all = producers * u64::from(turns);
    let mut case = case.clone();
    if case.queue == QueueKind::GwfqYmc && case.options.pool_cells.is_none() {
        let cells = 4096 + CELLS_PER_VALUE * all;
        case.options.pool_cells = Some(cells.min(1 << 31) as u32);
    }
    let plan = Plan { warmup: Duration::ZERO, interval: FIXED_LIMIT, runs: 1 };
    let mut bench = Bench::new(device, &case, plan, FIXED)?;
    bench.params.turns = turns;
    let run = bench.run()?;
    if (run.enqueued, run.dequeued) == (all, all) {
        return Ok(run);
    }
    Err(Error::Device(format!(
        "queue {} ({}, {} lanes): {} of {} operations were done; choose fewer turns or more cells",
        case.queue,
        case.workload,
        case.workload.lanes(),
        run.enqueued + run.dequeued,
        2 * all
    )))
}

/// The kernels' shape for so many lanes' waves, all of which have to be on the device at once: their lanes wait
/// for each other. A block is one lane on the CPU.
///
/// # Errors
/// Blocks that the device cannot have, or too many of them.
pub fn resident_shape(
    device: &Arc<dyn Device>,
    kernel: &Kernel,
    workload: Workload,
    block: u32,
) -> Result<Shape> {
    let wave = device.info().wave_size;
    let lanes = workload.waves(wave) * u64::from(wave);
    let block = if wave == 1 { 1 } else { u64::from(block).min(lanes) as u32 };
    if block == 0 || block % wave != 0 || block > MAX_BLOCK {
        return Err(Error::Input(format!(
            "--block {block}: {} has waves of {wave} lanes; give a multiple of {wave} up to {MAX_BLOCK}",
            device.info().id
        )));
    }
    let blocks = lanes.div_ceil(u64::from(block));
    let resident = u64::from(device.resident_blocks(kernel, block, 0)?);
    if blocks > resident {
        return Err(Error::Input(format!(
            "--lanes {}: {} holds {} lanes of this kernel at once, in blocks of {block}; choose fewer lanes",
            workload.lanes(),
            device.info().id,
            resident * u64::from(block),
        )));
    }
    Ok(Shape { blocks: blocks as u32, threads: block, shared: 0 })
}

/// Lanes of a block at most: the kernels are compiled for it.
const MAX_BLOCK: u32 = 512;

/// The most lanes that a case can have on the device, all at once.
///
/// # Errors
/// The device's.
pub fn most_lanes(device: &Arc<dyn Device>, case: &Case) -> Result<u32> {
    let block = if device.is_wide() { case.block } else { 1 };
    let kernel = kernels(device, case, TIMED)?.1;
    Ok(device.resident_blocks(&kernel, block, 0)? * block)
}

/// Entry points: a launch that the clock ends, and one of fixed work.
const TIMED: &str = "bench_run";
const FIXED: &str = "bench_fixed";

/// To set up, to run by way of `entry`, to drain.
fn kernels(device: &Arc<dyn Device>, case: &Case, entry: &'static str) -> Result<(Kernel, Kernel, Kernel)> {
    let program = match (case.counters, case.outer) {
        (false, false) => &QUEUE_BENCH,
        (false, true) => &QUEUE_BENCH_OUTER,
        (true, false) => &QUEUE_JUDGE,
        (true, true) => &QUEUE_JUDGE_OUTER,
    };
    if case.outer && !case.queue.is_index_ring() {
        return Err(Error::Input(format!(
            "queue {}: not an index ring, so it has no form that carries payloads; leave out --outer, or use glfq or gwfq",
            case.queue
        )));
    }
    let unit = program.unit(&[case.queue.axis_value()]);
    let kernel = |name| device.kernel(&unit, name);
    Ok((kernel("bench_initialise")?, kernel(entry)?, kernel("bench_drain")?))
}

impl<'a> Bench<'a> {
    fn new(device: &Arc<dyn Device>, case: &'a Case, plan: Plan, entry: &'static str) -> Result<Self> {
        case.workload.check(case.queue)?;
        let (initialise, run, drain) = kernels(device, case, entry)?;
        // Numbers that cannot be are refused before there is a launch of that size to think of.
        let laid_out = |lanes: u32| lay_out(device, case, plan, lanes);
        laid_out(1)?;
        let shape = resident_shape(device, &run, case.workload, case.block)?;
        let lanes = shape.blocks * shape.threads;
        let layout = laid_out(lanes.max(device.info().wave_size))?;
        let seen = case.items.unwrap_or(if case.outer { 0 } else { layout.capacity() });
        let out = if case.workload.is_split() && !case.outer { layout.capacity() } else { 0 };
        let words = Buffer::new(device, layout.total_words() as usize, "the queue")?;
        let lane_records = Buffer::new(device, layout.total_record_words() as usize, "lanes' records")?;
        let records = Buffer::new(device, lanes as usize, "lanes' counts")?;
        let out = Buffer::new(device, out as usize, "the slots' marks")?;
        let seen = Buffer::new(device, seen as usize, "the values' counts")?;
        let clock = Buffer::new(device, 2, "clock")?;
        let ticks = |time: Duration| (time.as_secs_f64() * device.info().ticks_per_second as f64) as u64;
        let params = QueueBenchParams {
            space: layout.space(words.ptr(), lane_records.ptr()),
            records: records.ptr(),
            out: out.ptr(),
            seen: seen.ptr(),
            clock: clock.ptr(),
            seen_length: seen.len() as u64,
            // Payloads are new each time: no end to them.
            items: case.items.unwrap_or(if case.outer { 1 << 62 } else { 0 }),
            warmup_ticks: ticks(if case.items.is_some() { Duration::ZERO } else { plan.warmup }),
            interval_ticks: ticks(if case.items.is_some() { ITEMS_LIMIT } else { plan.interval }),
            settle_ticks: ticks(SETTLE_LIMIT),
            roles: case.workload.roles(),
            occupancy: case.occupancy.into(),
            turns: 0,
        };
        let drained = Buffer::new(device, device.info().wave_size as usize, "counts of the drain")?;
        Ok(Bench {
            device: device.clone(),
            case,
            layout,
            initialise,
            run,
            drain,
            shape,
            params,
            words,
            lane_records,
            records,
            drained,
            out,
            seen,
            clock,
        })
    }

    /// A launch, its drain and its books.
    fn run(&self) -> Result<Run> {
        self.lane_records.zero()?;
        self.records.zero()?;
        self.out.zero()?;
        self.seen.zero()?;
        self.clock.zero()?;
        let setting_up = crate::device::cover(&*self.device, self.words.len() as u64);
        let setting_up = Shape { blocks: setting_up.blocks.min(1 << 13), ..setting_up };
        let drain = Shape { blocks: 1, threads: self.device.info().wave_size, shared: 0 };
        let drain_params = QueueBenchParams { records: self.drained.ptr(), ..self.params };
        let (begin, end);
        // SAFETY: the buffers are as large as the kernels expect for these parameters, and live until the reads
        // below have waited for the launches.
        unsafe {
            launch(&self.device, &self.initialise, setting_up, &self.params)?;
            begin = self.device.mark()?;
            launch(&self.device, &self.run, self.shape, &self.params)?;
            end = self.device.mark()?;
            launch(&self.device, &self.drain, drain, &drain_params)?;
        }
        let lanes = self.records.to_vec()?;
        let drained = self.drained.to_vec()?;
        let books = books::check(self, &lanes, &drained)?;
        let whole_launch = self.device.elapsed(&begin, &end)?;
        self.figures(&lanes, &drained, books, whole_launch)
    }

    fn figures(
        &self,
        lanes: &[BenchRecord],
        drained: &[BenchRecord],
        books: Books,
        whole_launch: Duration,
    ) -> Result<Run> {
        let sum = |f: fn(&BenchRecord) -> u32| lanes.iter().map(|r| u64::from(f(r))).sum::<u64>();
        let (enqueued, dequeued) = (sum(|r| r.enqueued), sum(|r| r.dequeued));
        let done = enqueued + dequeued;
        let (seconds, exhausted) = self.measured_seconds(whole_launch)?;
        let per_op = |count: u64| count as f64 / done.max(1) as f64;
        let counters = self.case.counters.then(|| Counters {
            retries: per_op(sum(|r| r.retries)),
            spins: per_op(sum(|r| r.spins)),
            slow: per_op(sum(|r| r.slow)),
            helps: per_op(sum(|r| r.helps)),
            cycles: per_op(lanes.iter().map(|r| r.cycles).sum()),
        });
        let working = lanes.iter().filter(|r| r.enqueued + r.dequeued > 0 || r.put + r.taken > 0);
        let of_lane = |r: &BenchRecord| u64::from(r.enqueued) + u64::from(r.dequeued);
        let range = working.fold((u64::MAX, 0), |(a, b), r| (a.min(of_lane(r)), b.max(of_lane(r))));
        Ok(Run {
            mops: done as f64 / seconds / 1e6,
            seconds,
            enqueued,
            dequeued,
            full: sum(|r| r.full),
            empty: sum(|r| r.empty),
            busy: sum(|r| r.busy),
            exhausted,
            per_lane: (range.0.min(range.1), range.1),
            counters,
            occupancy: self.case.occupancy.then(|| Occupancy {
                least: lanes.iter().filter(|r| r.samples > 0).map(|r| r.least_length).min().unwrap_or(0),
                most: lanes.iter().map(|r| r.most_length).max().unwrap_or(0),
                samples: sum(|r| r.samples),
                before_and_after_drain: (drained[0].least_length, drained[0].most_length),
            }),
            books,
        })
    }

    /// The seconds that counted, and whether a pool that was used up cut them short.
    fn measured_seconds(&self, whole_launch: Duration) -> Result<(f64, bool)> {
        if self.case.items.is_some() || self.params.turns > 0 {
            return Ok((whole_launch.as_secs_f64(), false));
        }
        let clock = self.clock.to_vec()?;
        let begin = clock[0] + self.params.warmup_ticks;
        let end = begin + self.params.interval_ticks;
        let exhausted = clock[1] != 0 && clock[1] < end;
        let end = if exhausted { clock[1] } else { end };
        if end <= begin {
            return Err(Error::Input(format!(
                "queue {}: its {} cells were used up in the warm-up; choose more --pool-cells or a shorter --warmup",
                self.case.queue,
                self.layout.pool_cells()
            )));
        }
        Ok(((end - begin) as f64 / self.device.info().ticks_per_second as f64, exhausted))
    }
}

/// For calls that hold a ticket when the interval is over.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);
/// For launches of fixed work.
const FIXED_LIMIT: Duration = Duration::from_secs(30);
/// Cells for each value of a launch of fixed work: one is used up by an enqueue, and one by each attempt to dequeue.
const CELLS_PER_VALUE: u64 = 8;
/// For a run of a fixed number of items.
const ITEMS_LIMIT: Duration = Duration::from_secs(30);

/// The queue's memory. A pool of cells is made as large as a fast device uses up in a run, if the memory allows.
fn lay_out(device: &Arc<dyn Device>, case: &Case, plan: Plan, lanes: u32) -> Result<QueueLayout> {
    let mut options = case.options;
    if case.queue == QueueKind::GwfqYmc && options.pool_cells.is_none() {
        let rate = if device.is_wide() { CELLS_PER_SECOND_WIDE } else { CELLS_PER_SECOND_NARROW };
        let wanted = match case.items {
            Some(items) => 64.0 * items as f64,
            None => (plan.warmup + plan.interval).as_secs_f64() * rate,
        };
        let memory = device.info().memory as f64 / 3.0 / CELL_BYTES;
        options.pool_cells = Some(wanted.min(memory).clamp(4096.0, f64::from(1u32 << 31)) as u32);
    }
    let make = if case.outer { QueueLayout::outer } else { QueueLayout::new };
    make(case.queue, case.capacity, 1, lanes, lanes, &options)
}

const CELL_BYTES: f64 = 24.0;
/// Cells that lanes use up at most, as measured with room to spare.
const CELLS_PER_SECOND_WIDE: f64 = 6e9;
const CELLS_PER_SECOND_NARROW: f64 = 1e8;
