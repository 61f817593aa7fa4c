//! `rayq bench queue`: queues against each other.

use super::progress::Status;
use super::report::Origin;
use super::usual::{Tables, TimeLimit, Usual};
use super::watchdog::{BENCH_WAY_OUT, Guard};
use super::work::{Lanes, parse_lanes};
use crate::bench::limits::{Demand, Limits, Share};
use crate::bench::plot::{Plot, Series};
use crate::bench::queue::{Case, Plan, Row, Workload, measure, most_lanes};
use crate::device::{self, Device, DeviceInfo};
use crate::error::{Error, Result};
use crate::queue::{QueueKind, QueueOptions};
use clap::value_parser;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Arguments of `rayq bench queue`.
///
/// Throughput is (successful enqueues + successful dequeues) / interval; the others are counted apart. What was put
/// in is compared with what came out before a figure is printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Queues; sfq-waiting is left out of splits, where its consumers would wait for ever
    #[arg(long, value_enum, value_delimiter = ',', alias = "queue", default_values = ["glfq", "glfq-unbatched", "gwfq", "gwfq-ymc", "sfq-waiting", "sfq", "bwd", "faa-ceiling"])]
    queues: Vec<QueueKind>,
    /// Each lane does both, or whole waves do one of the two
    #[arg(long, value_enum, alias = "mode", default_value = "all")]
    workload: Choice,
    /// Percentages of lanes that put in, in splits; with --consumers, a number of lanes
    #[arg(long, value_delimiter = ',', default_values = ["25", "50", "75"])]
    producers: Vec<u32>,
    /// A number of lanes that take out; --producers and this one make up the lanes
    #[arg(long)]
    consumers: Option<u32>,
    /// Numbers of lanes, or `max` for all that the device holds; by default 512..32768 on GPUs, a few on the CPU, where
    /// a lane is a thread
    #[arg(long, value_delimiter = ',', alias = "threads", value_parser = parse_lanes)]
    lanes: Vec<Lanes>,
    /// Lanes of a block: numbers up to 512
    #[arg(long, value_delimiter = ',', default_values = ["256"], value_parser = value_parser!(u32).range(1..=512))]
    block: Vec<u32>,
    /// Values that the queue holds at least
    #[arg(long, default_value_t = 65536)]
    capacity: u64,
    /// Carry 64-bit payloads by two rings, instead of slot numbers by one
    #[arg(long)]
    outer: bool,
    /// Attempts before an operation asks for help (gwfq, gwfq-ymc)
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    patience: Option<u32>,
    /// Operations between two looks at a peer's request (gwfq, gwfq-ymc)
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    help_delay: Option<u32>,
    /// Cells of the pool (gwfq-ymc); by default enough for a run, if the memory allows
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    pool_cells: Option<u32>,
    /// Milliseconds at the start of each run that do not count
    #[arg(long, default_value_t = 20, value_parser = value_parser!(u64).range(1..=10_000))]
    warmup: u64,
    /// Milliseconds of each run that count
    #[arg(long, default_value_t = 100, value_parser = value_parser!(u64).range(1..=10_000))]
    interval: u64,
    /// Runs that count, after one that is reported apart
    #[arg(long, alias = "repeat", default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Instead of an interval, send the items 0.. of this number through, each once (balanced)
    #[arg(long, value_name = "NUMBER", value_parser = value_parser!(u64).range(1..=1 << 30))]
    items: Option<u64>,
    /// Use the instrumented build: retries, spins, slow paths, helps and cycles per successful operation
    #[arg(long)]
    counters: bool,
    /// Ask for the queue's length now and then, and report its range
    #[arg(long)]
    report_occupancy: bool,
    /// Also measure the device's limits, and print each throughput as a share of the limit that binds it
    #[arg(long)]
    limits: bool,
    /// A taste: fewer lanes, shorter and fewer runs
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    usual: Usual,
    #[command(flatten)]
    tables: Tables,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Choice {
    Balanced,
    Split,
    All,
}

/// The JSON form.
#[derive(Clone, Serialize)]
struct Report {
    schema_version: u32,
    #[serde(flatten)]
    origin: Origin,
    device: DeviceInfo,
    plan: Plan,
    /// What `mops` means.
    throughput: &'static str,
    /// What the device can do at most, each a rate a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<Limits>,
    rows: Vec<Row>,
    /// Cases without a row: lanes waited for each other until their time was up.
    hung: Vec<Hung>,
}

/// A case that came to a standstill.
#[derive(Clone, Serialize)]
struct Hung {
    #[serde(flatten)]
    case: Case,
    lanes: u32,
    why: String,
}

impl Args {
    fn plan(&self) -> Plan {
        let cut = |ms: u64, most: u64| Duration::from_millis(if self.quick { ms.min(most) } else { ms });
        Plan {
            warmup: cut(self.warmup, 5),
            interval: cut(self.interval, 20),
            runs: if self.quick { self.runs.min(3) } else { self.runs },
        }
    }

    /// Numbers of lanes to measure.
    fn lanes(&self, device: &dyn Device) -> Vec<Lanes> {
        if !self.lanes.is_empty() {
            return self.lanes.clone();
        }
        let powers = |range: std::ops::RangeInclusive<u32>| range.map(|p| Some(1 << p)).collect();
        match (device.is_wide(), self.quick) {
            (true, false) => powers(9..=15),
            (true, true) => [9, 12, 15].map(|p| Some(1 << p)).to_vec(),
            // One lane a processor, and twice as many.
            (false, _) => {
                let most = device.info().compute_units.next_power_of_two().trailing_zeros();
                powers(1..=most.max(1) + 1)
            }
        }
    }

    /// The workloads for a number of lanes.
    fn workloads(&self, lanes: u32) -> Result<Vec<Workload>> {
        let mut all = vec![];
        if self.workload != Choice::Split && self.consumers.is_none() {
            all.push(Workload::Balanced { lanes });
        }
        if self.workload != Choice::Balanced && self.items.is_none() {
            match self.consumers {
                Some(consumers) => {
                    all.extend(
                        self.producers.iter().map(|&producers| Workload::Split { producers, consumers }),
                    );
                }
                None if lanes == 1 && self.workload == Choice::All => {}
                None => {
                    for &percent in &self.producers {
                        all.push(Workload::split(lanes, percent)?);
                    }
                }
            }
        }
        Ok(all)
    }

    /// A case without its workload.
    fn case(&self, queue: QueueKind, block: u32) -> Case {
        Case {
            queue,
            // Items are no slot numbers: index rings carry them as payloads.
            outer: self.outer || self.items.is_some() && queue.is_index_ring(),
            workload: Workload::Balanced { lanes: 1 },
            block,
            capacity: self.capacity,
            options: QueueOptions {
                patience: self.patience,
                help_delay: self.help_delay,
                pool_cells: self.pool_cells,
            },
            counters: self.counters,
            occupancy: self.report_occupancy,
            items: self.items,
        }
    }

    /// Every case, sizes that the device decides on included. What cannot be is refused before anything runs.
    fn cases(&self, device: &Arc<dyn Device>) -> Result<Vec<Case>> {
        self.queues.iter().try_for_each(|queue| queue.check_capacity("--capacity", self.capacity))?;
        if self.items.is_some() && (self.workload == Choice::Split || self.consumers.is_some()) {
            return Err(Error::Input("--items: goes with the balanced workload only".into()));
        }
        let sides = self.workload != Choice::Balanced && self.items.is_none();
        match (&self.producers[..], self.consumers) {
            (producers, _) if sides && producers.contains(&0) => {
                return Err(Error::Input(
                    "--producers 0: nothing would come out; at least 1 is needed".into(),
                ));
            }
            (_, Some(0)) => {
                return Err(Error::Input(
                    "--consumers 0: the queue would stay full; at least 1 is needed".into(),
                ));
            }
            (producers, None) if sides && producers.iter().any(|&p| p >= 100) => {
                return Err(Error::Input(
                    "--producers: 100% leave no consumers; give percentages from 1 to 99, or --consumers too"
                        .into(),
                ));
            }
            _ => {}
        }
        let queues: Vec<_> = self.queues.iter().filter(|q| self.has_form(**q)).collect();
        let mut cases = vec![];
        let lanes = if self.consumers.is_some() { vec![Some(1)] } else { self.lanes(&**device) };
        for &block in &self.block {
            for &wanted in &lanes {
                for &&queue in &queues {
                    let case = self.case(queue, block);
                    let lanes = match wanted {
                        Some(n) => n,
                        None => most_lanes(device, &case)?,
                    };
                    for workload in self.workloads(lanes)? {
                        if self.queues.len() > 1 && workload.check(queue).is_err() {
                            continue;
                        }
                        workload.check(queue)?;
                        // Of few lanes, several percentages make the same split.
                        let is_same = |c: &Case| (c.queue, c.workload, c.block) == (queue, workload, block);
                        if !cases.iter().any(is_same) {
                            cases.push(Case { workload, ..case.clone() });
                        }
                    }
                }
            }
        }
        // One table a workload, by queue, by lanes.
        cases.sort_by_key(|c| (place(c.workload), c.block, self.queues.iter().position(|q| *q == c.queue)));
        Ok(cases)
    }

    /// Whether a queue has the form that is asked for; among several queues those without it are left out.
    fn has_form(&self, queue: QueueKind) -> bool {
        let lacks = (self.outer && !queue.is_index_ring())
            || (self.items.is_some() && queue == QueueKind::FaaCeiling);
        !lacks || self.queues.len() == 1
    }
}

/// Where a workload's table comes: balanced, then splits by their share of producers.
fn place(workload: Workload) -> u32 {
    match workload {
        Workload::Balanced { .. } => 0,
        Workload::Split { producers, .. } => {
            1 + (u64::from(producers) * 1000 / u64::from(workload.lanes().max(1))) as u32
        }
    }
}

/// Measures and reports.
pub fn run(args: &Args) -> Result<()> {
    let start = Instant::now();
    let outputs = Arc::new(args.tables.outputs(&args.usual, [])?);
    let kept = Arc::clone(&outputs);
    let save = move |report: Report| kept.write(&report, || table(&report.rows), |f| write_plots(f, &report));
    let guard = Guard::new(start, args.limit.timeout, BENCH_WAY_OUT, save)?;
    let device = args.usual.open(None)?;
    let cases = args.cases(&device)?;
    let limits =
        args.limits.then(|| super::bench_limits::told(&device, args.usual.quiet, &guard)).transpose()?;
    let mut report = Report {
        schema_version: 1,
        origin: Origin::here(),
        device: device.info().clone(),
        plan: args.plan(),
        throughput: "(successful enqueues + successful dequeues) / measured interval, in millions a second",
        limits,
        rows: vec![],
        hung: vec![],
    };
    super::print(&head(&report))?;
    let mut shown = None;
    let end = cases.iter().try_for_each(|case| {
        guard.go_on()?;
        let status = Status::new(args.usual.quiet);
        let what = format!("{}, {}, {} lanes", case.queue, case.workload, case.workload.lanes());
        status.show(&what);
        guard.at(what);
        let device = device_for(&device, case)?;
        let measured = measure(&device, case, report.plan, || guard.go_on())?;
        drop(status);
        if shown.replace((place(case.workload), case.block)) != Some((place(case.workload), case.block)) {
            super::print(&title(case))?;
        }
        let lanes = case.workload.lanes();
        match measured {
            Ok(row) => {
                super::print(&line(&row, limits.as_ref()))?;
                report.rows.push(row);
            }
            Err(why) => {
                super::print(&format!("{:16} {lanes:>7} hung: {why}\n", case.queue))?;
                report.hung.push(Hung { case: case.clone(), lanes, why });
            }
        }
        guard.keep(report.clone());
        Ok(())
    });
    drop(guard);
    let rows = report.rows.len() + report.hung.len();
    outputs.finish(end, rows, &report, || table(&report.rows), |folder| write_plots(folder, &report))?;
    match report.hung.len() {
        0 => Ok(()),
        n => Err(Error::Device(format!("{n} of {} cases hung; the others are reported", cases.len()))),
    }
}

/// The CPU has as many workers as there are lanes: a lane is a thread.
fn device_for(device: &Arc<dyn Device>, case: &Case) -> Result<Arc<dyn Device>> {
    if device.is_wide() {
        return Ok(device.clone());
    }
    let lanes = case.workload.lanes();
    if lanes > MOST_THREADS {
        return Err(Error::Input(format!(
            "--lanes {lanes}: on the CPU a lane is a thread, and {MOST_THREADS} are the most; choose fewer"
        )));
    }
    device::select::open(&device.info().id, Some(lanes as usize))
}

/// Threads that the CPU device is given at most.
const MOST_THREADS: u32 = 4096;

fn head(report: &Report) -> String {
    let plan = report.plan;
    format!(
        "{}: {}; {} ms warm-up, {} ms measured, median of {} runs after one that does not count\n\
         M ops/s = (successful enqueues + successful dequeues) / interval / 10^6; empty, full and busy in M/s\n",
        report.device.id,
        report.device.name,
        plan.warmup.as_millis(),
        plan.interval.as_millis(),
        plan.runs
    )
}

/// The head of a workload's table.
fn title(case: &Case) -> String {
    let form = if case.outer { "payloads in two rings" } else { "raw" };
    let mut text = format!(
        "\n{}, capacity {}, blocks of {}, {form}\n{:16} {:>7} {:>10} {:>21} {:>9} {:>9} {:>9}",
        case.workload,
        case.capacity.max(case.queue.min_capacity()).next_power_of_two(),
        case.block,
        "",
        "lanes",
        "M ops/s",
        "min .. max",
        "empty",
        "full",
        "busy"
    );
    if case.counters {
        let _ = write!(text, " {:>9} {:>9} {:>9} {:>9} {:>9}", "retries", "spins", "slow", "helps", "cycles");
    }
    if case.occupancy {
        text += "  length, then when drained";
    }
    text + "\n"
}

/// A row of a workload's table.
fn line(row: &Row, limits: Option<&Limits>) -> String {
    let run = row.typical();
    let range = format!("{:.1} .. {:.1}", row.mops.min, row.mops.max);
    let rate = |count: u64| count as f64 / run.seconds / 1e6;
    let mut text = format!(
        "{:16} {:>7} {:>10.1} {range:>21} {:>9.1} {:>9.1} {:>9.1}",
        row.case.queue,
        row.lanes,
        row.mops.median,
        rate(run.empty),
        rate(run.full),
        rate(run.busy)
    );
    if let Some(Share { of, share }) = limits.map(|limits| of_limit(row, limits)) {
        let _ = write!(text, " {:>3.0}% of {}", 100.0 * share, of.name());
    }
    if let Some(c) = &run.counters {
        let _ = write!(
            text,
            " {:>9.4} {:>9.4} {:>9.6} {:>9.6} {:>9.0}",
            c.retries, c.spins, c.slow, c.helps, c.cycles
        );
    }
    if let Some(o) = &run.occupancy {
        let _ = write!(
            text,
            "  {} .. {} in {} reports, then {}",
            o.least, o.most, o.samples, o.before_and_after_drain.1
        );
    }
    if row.case.items.is_some() {
        let books = &run.books;
        let _ = write!(
            text,
            "  {} items in, {} out, sum {}",
            books.put,
            books.taken + books.drained,
            books.out_sum
        );
    }
    if run.exhausted {
        text += "  (pool used up: interval cut short)";
    }
    text + "\n"
}

/// How near a throughput is to what binds it. An operation takes at least a ticket, half of them from either of two
/// words, and a swap of its slot, which the ceiling of tickets alone does without.
fn of_limit(row: &Row, limits: &Limits) -> Share {
    let swaps = if row.case.queue == QueueKind::FaaCeiling { 0.0 } else { 1.0 };
    limits.binding(row.mops.median * 1e6, &Demand { tickets: 0.5, swaps, ..Demand::default() })
}

/// The CSV form.
fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "queue,form,workload,producers,lanes,block,capacity,mops_median,mops_min,mops_max,seconds,enqueued,dequeued,\
         empty,full,busy,exhausted,retries_per_op,spins_per_op,slow_per_op,helps_per_op,cycles_per_op\n",
    );
    for row in rows {
        let (case, run) = (&row.case, row.typical());
        let form = if case.outer { "outer" } else { "raw" };
        let counters = run.counters.map_or(",,,,".to_owned(), |c| {
            format!("{},{},{},{},{}", c.retries, c.spins, c.slow, c.helps, c.cycles)
        });
        let _ = writeln!(
            text,
            "{},{form},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{counters}",
            case.queue,
            case.workload.name(),
            row.producers,
            row.lanes,
            case.block,
            row.real_capacity,
            row.mops.median,
            row.mops.min,
            row.mops.max,
            run.seconds,
            run.enqueued,
            run.dequeued,
            run.empty,
            run.full,
            run.busy,
            run.exhausted
        );
    }
    text
}

/// One plot a workload and block size: throughput over lanes.
fn write_plots(folder: &Path, report: &Report) -> Result<()> {
    let mut kinds: Vec<(u32, u32, String)> = report
        .rows
        .iter()
        .map(|r| (place(r.case.workload), r.case.block, r.case.workload.to_string()))
        .collect();
    kinds.sort();
    kinds.dedup_by_key(|k| (k.1, k.2.clone()));
    for (_, block, workload) in kinds {
        let rows: Vec<_> = report
            .rows
            .iter()
            .filter(|r| r.case.block == block && r.case.workload.to_string() == workload)
            .collect();
        let mut queues: Vec<QueueKind> = vec![];
        rows.iter().for_each(|r| {
            if !queues.contains(&r.case.queue) {
                queues.push(r.case.queue);
            }
        });
        let series = queues.into_iter().map(|queue| Series {
            name: queue.to_string(),
            points: rows
                .iter()
                .filter(|r| r.case.queue == queue && r.mops.median > 0.0)
                .map(|r| (f64::from(r.lanes), r.mops.median))
                .collect(),
            ceiling: queue == QueueKind::FaaCeiling,
        });
        let plot = Plot {
            title: format!("{workload} on {}, blocks of {block}", report.device.name),
            x: "lanes".into(),
            y: "successful operations, millions a second".into(),
            series: series.collect(),
        };
        let name = workload.replace(' ', "-").replace('%', "");
        plot.write(&folder.join(format!("throughput-{name}-block-{block}")))?;
    }
    Ok(())
}
