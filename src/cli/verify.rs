//! `rayq verify`: queues judged by what their operations did on a device.

use super::progress::Status;
use super::report::Origin;
use super::usual::{TimeLimit, Usual};
use super::watchdog::{BENCH_WAY_OUT, Guard};
use crate::bench::queue::Workload;
use crate::bench::verify::{Clock, Plan, Recording, Stamp, record};
use crate::device::{self, Device, DeviceInfo};
use crate::error::{Error, Result};
use crate::film::Output;
use crate::queue::history::{self, Action, Operation, Outcome};
use crate::queue::judge::{OrderedPairs, ordered_pairs, overtaken, planted_swaps, smallest_window};
use crate::queue::{QueueKind, QueueOptions, linearize};
use clap::value_parser;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `rayq verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Queues; sfq-waiting is left out of splits, where its consumers would wait for ever
    #[arg(long, value_enum, value_delimiter = ',', alias = "queues", default_values = ["glfq", "glfq-unbatched", "gwfq", "gwfq-ymc", "sfq", "sfq-waiting", "bwd"])]
    queue: Vec<QueueKind>,
    /// `balanced`, or the percentage of lanes that put values in
    #[arg(long, value_delimiter = ',', value_parser = parse_split, default_values = ["balanced", "25", "50", "75"])]
    split: Vec<Split>,
    /// Numbers of lanes; by default 4096, or on the CPU one a processor and no fewer than 4
    #[arg(long, value_delimiter = ',', alias = "threads", value_parser = value_parser!(u32).range(2..))]
    lanes: Vec<u32>,
    /// Lanes of a block
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..=512))]
    block: u32,
    /// Operations of all lanes together, at least
    #[arg(long, default_value_t = 1_000_000, value_parser = value_parser!(u64).range(1..=1 << 31))]
    ops: u64,
    /// Values that the queue holds at least
    #[arg(long, default_value_t = 65536)]
    capacity: u64,
    /// Carry payloads by two rings, instead of slot numbers by one: these can be full
    #[arg(long)]
    outer: bool,
    /// What tells the time: the device's clock, or a word that all lanes count up
    #[arg(long, value_enum, default_value = "timer")]
    stamp: Stamp,
    /// Attempts before an operation asks for help (gwfq, gwfq-ymc)
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    patience: Option<u32>,
    /// Operations between two looks at a peer's request (gwfq, gwfq-ymc)
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    help_delay: Option<u32>,
    /// Cells of the pool (gwfq-ymc)
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    pool_cells: Option<u32>,
    /// Judge this recorded history instead of running anything: JSON lines, one operation a line
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["timeout", "json"])]
    history: Option<PathBuf>,
    /// Where the smallest wrong part of a history goes, as JSON lines
    #[arg(long, value_name = "FILE.jsonl", default_value = "rayq-violation.jsonl")]
    window: PathBuf,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    usual: Usual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    Balanced,
    Percent(u32),
}

impl Split {
    /// As a workload of so many lanes.
    pub(super) fn workload(self, lanes: u32) -> Result<Workload> {
        match self {
            Split::Balanced => Ok(Workload::Balanced { lanes }),
            Split::Percent(percent) => Workload::split(lanes, percent),
        }
    }
}

pub(super) fn parse_split(text: &str) -> std::result::Result<Split, String> {
    match text.trim_end_matches('%').parse() {
        _ if text == "balanced" => Ok(Split::Balanced),
        Ok(percent @ 1..=99) => Ok(Split::Percent(percent)),
        Ok(0) => Err("0 producers: nothing would come out; give 1 to 99, or balanced".into()),
        Ok(_) => Err("0 consumers: the queue would stay full; give 1 to 99, or balanced".into()),
        _ => Err("give balanced, or the percentage of lanes that put values in".into()),
    }
}

/// The JSON form.
#[derive(Clone, Serialize)]
struct Report {
    schema_version: u32,
    #[serde(flatten)]
    origin: Origin,
    device: DeviceInfo,
    verdicts: Vec<Verdict>,
}

/// What a history says of a queue.
#[derive(Clone, Debug, Serialize)]
struct Verdict {
    queue: QueueKind,
    outer: bool,
    workload: String,
    lanes: u32,
    capacity: u64,
    stamp: Stamp,
    counts: Counts,
    /// In ticks.
    clock: Clock,
    pairs: OrderedPairs,
    /// Distances, in dequeues, at which an exchange of two values was seen; null where none was.
    planted_swaps: Vec<Option<usize>>,
    /// Seconds that the device worked, and those that the judges took.
    seconds: (f64, f64),
    /// What is wrong, if anything is.
    violation: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Counts {
    enqueues: u64,
    dequeues: u64,
    /// Of these dequeues, those of the lanes that emptied the queue in the end.
    drained: u64,
    empty: u64,
    full: u64,
    /// Not over when the lanes had to give up.
    pending: u64,
    refused: u64,
    retries: u64,
    spins: u64,
    slow: u64,
    helps: u64,
}

impl Counts {
    fn of(recording: &Recording) -> Counts {
        let [retries, spins, slow, helps] = recording.tallies;
        let mut counts =
            Counts { refused: recording.refused, retries, spins, slow, helps, ..Counts::default() };
        let is_taken = |o: &&Operation| o.result == Outcome::Ok && o.action == Action::Dequeue;
        counts.drained = recording.history[recording.drain..].iter().filter(is_taken).count() as u64;
        for o in &recording.history {
            match (o.result, o.action) {
                (Outcome::Ok, Action::Enqueue) => counts.enqueues += 1,
                (Outcome::Ok, Action::Dequeue) => counts.dequeues += 1,
                (Outcome::Empty, _) => counts.empty += 1,
                (Outcome::Full, _) => counts.full += 1,
                (Outcome::Pending, _) => counts.pending += 1,
            }
        }
        counts
    }
}

/// Places at which a swap is planted.
const PLANTED: usize = 5;

/// Records and judges.
pub fn run(args: &Args) -> Result<()> {
    let start = Instant::now();
    if let Some(file) = &args.history {
        return judge_file(file, &args.window);
    }
    let json = Arc::new(args.usual.json()?);
    let kept = Arc::clone(&json);
    // A launch or a judge may take long: neither is waited for.
    let guard =
        Guard::at_once(start, args.limit.timeout, BENCH_WAY_OUT, move |report: Report| report.write(&kept))?;
    let device = args.usual.open(None)?;
    let mut report =
        Report { schema_version: 1, origin: Origin::here(), device: device.info().clone(), verdicts: vec![] };
    let plans = args.plans(&device)?;
    guard.keep(report.clone());
    let end = plans.iter().try_for_each(|plan| {
        let status = Status::new(args.usual.quiet);
        let what = format!("{}, {}, {} lanes", plan.queue, plan.workload, plan.workload.lanes());
        status.show(&what);
        guard.at(what);
        let verdict = verify(&device, plan, &args.window)?;
        drop(status);
        super::print(&verdict.to_string())?;
        report.verdicts.push(verdict);
        guard.keep(report.clone());
        Ok(())
    });
    drop(guard);
    report.write(&json)?;
    end?;
    match report.verdicts.iter().filter(|v| v.violation.is_some()).count() {
        0 => Ok(()),
        n => {
            Err(Error::Device(format!("{n} of {} histories are not those of a queue", report.verdicts.len())))
        }
    }
}

impl Report {
    fn write(&self, json: &Option<Output>) -> Result<()> {
        let text = || super::outputs::json(self);
        json.as_ref().map_or(Ok(()), |json| json.write(text().as_bytes()))
    }
}

impl Args {
    fn plans(&self, device: &Arc<dyn Device>) -> Result<Vec<Plan>> {
        let units = device.info().compute_units;
        let usual = vec![if device.is_wide() { 4096 } else { units.max(4) }];
        let mut plans = vec![];
        for &queue in &self.queue {
            if queue == QueueKind::FaaCeiling {
                return Err(Error::Input(
                    "queue faa-ceiling: carries no values: there is nothing to judge".into(),
                ));
            }
            queue.check_capacity("--capacity", self.capacity)?;
            for &lanes in if self.lanes.is_empty() { &usual } else { &self.lanes } {
                for &split in &self.split {
                    let workload = split.workload(lanes)?;
                    let alone = self.queue.len() == 1 && self.split.len() == 1;
                    let cannot = workload.check(queue).is_err() || (self.outer && !queue.is_index_ring());
                    if !cannot || alone {
                        plans.push(self.plan(queue, workload));
                    }
                }
            }
        }
        Ok(plans)
    }

    fn plan(&self, queue: QueueKind, workload: Workload) -> Plan {
        Plan {
            queue,
            outer: self.outer,
            workload,
            block: self.block,
            capacity: self.capacity,
            options: QueueOptions {
                patience: self.patience,
                help_delay: self.help_delay,
                pool_cells: self.pool_cells,
            },
            operations: self.ops,
            stamp: self.stamp,
        }
    }
}

/// Records one history and judges it.
fn verify(device: &Arc<dyn Device>, plan: &Plan, window: &Path) -> Result<Verdict> {
    let device = match device.is_wide() {
        true => device.clone(),
        // A lane is a thread.
        false => device::select::open(&device.info().id, Some(plan.workload.lanes() as usize))?,
    };
    let start = Instant::now();
    let mut recording = record(&device, plan)?;
    let recorded = start.elapsed().as_secs_f64();
    history::widen(&mut recording.history, recording.clock.granularity + recording.clock.skew);
    let counts = Counts::of(&recording);
    let violation = violation(plan, &recording, &counts, window)?;
    let work = &recording.history[..recording.drain];
    Ok(Verdict {
        queue: plan.queue,
        outer: plan.outer,
        workload: plan.workload.to_string(),
        lanes: plan.workload.lanes(),
        capacity: recording.capacity,
        stamp: plan.stamp,
        counts,
        clock: recording.clock,
        pairs: ordered_pairs(work),
        planted_swaps: if violation.is_none() { planted_swaps(work, PLANTED) } else { vec![] },
        seconds: (recorded, start.elapsed().as_secs_f64() - recorded),
        violation,
    })
}

/// What is wrong with a history, if anything is: values that are lost, that overtook each other within one
/// producer and one consumer, or operations that have no place in time. Saves the part that shows it.
fn violation(plan: &Plan, recording: &Recording, counts: &Counts, window: &Path) -> Result<Option<String>> {
    let judged: Vec<Operation>;
    // A queue whose EMPTY and FULL hold at no one moment is judged by its values alone.
    let history = if plan.queue.is_linearizable() {
        &recording.history
    } else {
        judged = recording
            .history
            .iter()
            .copied()
            .filter(|o| o.value.is_some() && o.result != Outcome::Full)
            .collect();
        &judged
    };
    if let Err(violation) = linearize::check(history, Some(recording.capacity)) {
        let part = smallest_window(history, Some(recording.capacity), &violation);
        return Ok(Some(format!("{violation}; {}", save(&part, window)?)));
    }
    if let Some((first, second)) = overtaken(history) {
        let of = |o: &Operation| o.value == first.value || o.value == second.value;
        let part: Vec<_> = history.iter().copied().filter(of).collect();
        let (a, b) = (first.value.unwrap_or(0), second.value.unwrap_or(0));
        return Ok(Some(format!(
            "lane {} took value {a} before {b}, which its producer put in first; {}",
            first.lane,
            save(&part, window)?
        )));
    }
    if counts.pending + counts.refused == 0 && counts.enqueues != counts.dequeues {
        let taken: std::collections::HashSet<_> =
            history.iter().filter(|o| o.action == Action::Dequeue).map(|o| o.value).collect();
        let lost = |o: &&Operation| {
            o.action == Action::Enqueue && o.result == Outcome::Ok && !taken.contains(&o.value)
        };
        let part: Vec<_> = history.iter().filter(lost).copied().collect();
        return Ok(Some(format!(
            "{} values went in and never came out; {}",
            part.len(),
            save(&part, window)?
        )));
    }
    Ok(None)
}

/// Writes operations as JSON lines; says where.
fn save(part: &[Operation], path: &Path) -> Result<String> {
    let mut text = vec![];
    history::write(part, &mut text).map_err(|e| Error::output(path, e))?;
    Output::prepare(path)?.write(&text)?;
    Ok(format!("{} operations that show it are in {}", part.len(), path.display()))
}

/// Judges a history that somebody recorded.
fn judge_file(path: &Path, window: &Path) -> Result<()> {
    let file = File::open(path).map_err(|e| Error::Input(format!("{}: {e}", path.display())))?;
    let name = path.display().to_string();
    let operations = history::read(&name, BufReader::new(file))?;
    match linearize::check(&operations, None) {
        Ok(()) => super::print(&format!("{name}: {} operations, linearizable\n", operations.len())),
        Err(violation) => {
            let part = smallest_window(&operations, None, &violation);
            Err(Error::Device(format!("{name}: {violation}; {}", save(&part, window)?)))
        }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let c = &self.counts;
        let form = if self.outer { ", payloads" } else { "" };
        writeln!(
            f,
            "{}{form}, {}, {} lanes, capacity {}",
            self.queue, self.workload, self.lanes, self.capacity
        )?;
        writeln!(
            f,
            "  operations  {} enqueues and {} dequeues ok ({} of them when all was over), {} empty, {} full, {} pending, {} refused",
            c.enqueues, c.dequeues, c.drained, c.empty, c.full, c.pending, c.refused
        )?;
        writeln!(
            f,
            "  inside      {} retries, {} spins, {} slow-path entries, {} helps",
            c.retries, c.spins, c.slow, c.helps
        )?;
        let Clock { granularity, skew } = self.clock;
        let share = 100.0 * self.pairs.ordered as f64 / self.pairs.all.max(1) as f64;
        let clock = match self.stamp {
            Stamp::Timer => format!("device timer, granularity {granularity}, skew {skew} ticks"),
            Stamp::Counter => "counted stamps, exact".into(),
        };
        writeln!(
            f,
            "  time        {clock}; {} of {} pairs are in order ({share:.4}%)",
            self.pairs.ordered, self.pairs.all
        )?;
        if !self.planted_swaps.is_empty() {
            let mut distances = self.planted_swaps.clone();
            distances.sort_unstable_by_key(|d| d.unwrap_or(usize::MAX));
            let words = |d: Option<usize>| d.map_or("none".into(), |d| d.to_string());
            writeln!(
                f,
                "  sharpness   an exchange of two dequeued values is seen from a distance of {} (median; largest {}) of {} dequeues",
                words(distances[distances.len() / 2]),
                words(distances[distances.len() - 1]),
                c.dequeues - c.drained
            )?;
        }
        if !self.queue.is_linearizable() {
            writeln!(
                f,
                "  by design   its EMPTY and FULL hold at no one moment: judged by its values alone"
            )?;
        }
        let (device, judges) = self.seconds;
        match &self.violation {
            None => writeln!(
                f,
                "  verdict     nothing lost, first in first out, linearizable ({device:.2} s to record, {judges:.2} s to judge)"
            ),
            Some(why) => writeln!(f, "  verdict     WRONG: {why}"),
        }
    }
}
