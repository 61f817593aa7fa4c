//! `rayq profile ...`: costs for each successful operation.

use super::progress::Status;
use super::report::Origin;
use super::usual::{TimeLimit, Usual};
use super::watchdog::{BENCH_WAY_OUT, Guard};
use super::work::parse_tile;
use crate::bench::bfs;
use crate::bench::plot::{Plot, Series};
use crate::bench::queue::Workload;
use crate::bench::render::{self, Choice};
use crate::device::{Device, DeviceInfo};
use crate::engine::Settings;
use crate::error::{Error, Result};
use crate::film::Output;
use crate::profile::work::{BfsWork, QueueWork, RenderWork};
use crate::profile::{Costs, Measured, Row, Wish, Work, child, measure};
use crate::queue::QueueKind;
use crate::scene::Scene;
use clap::value_parser;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What to measure.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Queue operations: every queue, balanced by default
    Queue(QueueArgs),
    /// Rays: every engine on a scene
    Render(RenderArgs),
    /// Searches: every frontier on a graph, from vertex 0
    Bfs(BfsArgs),
}

/// Where to run and where the figures go.
#[derive(Debug, clap::Args)]
struct Common {
    /// The vendor's profiler, ncu or rocprofv3; by default the one that is installed, and the device's clock where there
    /// is none or it fails
    #[arg(long, value_name = "PROGRAM")]
    profiler: Option<PathBuf>,
    /// Take the device's clock even where there is a profiler
    #[arg(long, conflicts_with = "profiler")]
    no_profiler: bool,
    /// Write plots of the costs over lanes here, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    usual: Usual,
}

/// Arguments of `rayq profile queue`.
///
/// Every lane does a fixed number of successful operations, so that all passes of a profiler do the same.
#[derive(Debug, clap::Args)]
pub struct QueueArgs {
    /// Queues; sfq-waiting is left out of splits, where its consumers would wait for ever
    #[arg(long, value_enum, value_delimiter = ',', alias = "queue", default_values = QueueKind::ALL.map(QueueKind::name))]
    queues: Vec<QueueKind>,
    /// `balanced`, or the percentage of lanes that put values in
    #[arg(long, value_delimiter = ',', value_parser = super::verify::parse_split, default_values = ["balanced"])]
    split: Vec<super::verify::Split>,
    /// Numbers of lanes; by default 4096 and 32768, on the CPU 4
    #[arg(long, value_delimiter = ',', value_parser = value_parser!(u32).range(2..))]
    lanes: Vec<u32>,
    /// Lanes of a block
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..=512))]
    block: u32,
    /// Values that the queue holds at least
    #[arg(long, default_value_t = 65536, value_parser = value_parser!(u64).range(1..))]
    capacity: u64,
    /// Values that each producer puts in, by default 64, on the CPU 4096; fewer where these would take longer than 20 ms
    #[arg(long, value_parser = value_parser!(u32).range(1..=65536))]
    turns: Option<u32>,
    #[command(flatten)]
    common: Common,
}

/// Arguments of `rayq profile render`.
#[derive(Debug, clap::Args)]
pub struct RenderArgs {
    /// Scene file
    #[arg(default_value = "scenes/cornell.toml")]
    scene: PathBuf,
    /// Width in pixels
    #[arg(long, default_value_t = 1920, value_parser = value_parser!(u32).range(1..))]
    width: u32,
    /// Height in pixels
    #[arg(long, default_value_t = 1080, value_parser = value_parser!(u32).range(1..))]
    height: u32,
    /// Samples a pixel
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    spp: u32,
    /// Queues of the tile-queue engine
    #[arg(long, value_parser = QueueKind::tile_queue_parser(), value_delimiter = ',', default_values = ["glfq", "gwfq"])]
    queues: Vec<QueueKind>,
    /// Tile size of the tile-queue engine: WxH or N
    #[arg(long, value_parser = parse_tile)]
    tile: Option<(u32, u32)>,
    #[command(flatten)]
    common: Common,
}

/// Arguments of `rayq profile bfs`.
#[derive(Debug, clap::Args)]
pub struct BfsArgs {
    /// Graph file or generator, as `rayq bfs` takes it
    #[arg(default_value = "rmat:scale=18,degree=16")]
    graph: String,
    /// Queues; the two baselines, append and direction, are always there
    #[arg(long, value_parser = QueueKind::bfs_queue_parser(), value_delimiter = ',', alias = "queue",
        default_values = QueueKind::BFS_QUEUES.map(QueueKind::name))]
    queues: Vec<QueueKind>,
    /// Number of lanes; by default as many as the device holds
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    lanes: Option<u32>,
    /// Lanes of a block
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..=512))]
    block: u32,
    #[command(flatten)]
    common: Common,
}

/// What this program tells itself to do under a profiler.
#[derive(Debug, clap::Args)]
pub struct WorkloadArgs {
    #[arg(long)]
    device: String,
    #[arg(long)]
    works: PathBuf,
    #[arg(long)]
    result: PathBuf,
}

/// Longest time of a pass of a profiler over a queue.
pub const PASS: Duration = Duration::from_millis(20);

/// The JSON form.
#[derive(Serialize)]
struct Report {
    schema_version: u32,
    #[serde(flatten)]
    origin: Origin,
    device: DeviceInfo,
    #[serde(flatten)]
    measured: Measured,
}

impl Report {
    fn new(device: &DeviceInfo, measured: &Measured) -> Report {
        Report {
            schema_version: 1,
            origin: Origin::here(),
            device: device.clone(),
            measured: measured.clone(),
        }
    }

    fn plot(&self, folder: &Path) -> Result<()> {
        write_plots(folder, &self.measured, &self.device)
    }
}

/// Measures and reports.
pub fn run(command: &Command) -> Result<()> {
    let start = Instant::now();
    match command {
        Command::Queue(args) => args.common.run(start, &[], |device| args.works(device)),
        Command::Render(args) => {
            args.common.run(start, &Scene::load(&args.scene)?.files, |_| Ok(args.works()))
        }
        Command::Bfs(args) => args.common.run(start, &[PathBuf::from(&args.graph)], |_| Ok(args.works())),
    }
}

/// Does what the parent wrote down.
pub fn run_workload(args: &WorkloadArgs) -> Result<()> {
    let text =
        std::fs::read(&args.works).map_err(|e| Error::Input(format!("{}: {e}", args.works.display())))?;
    let works: Vec<Work> =
        serde_json::from_slice(&text).map_err(|e| Error::Input(format!("{}: {e}", args.works.display())))?;
    let counts = child(&args.device, &works)?;
    Output::prepare(&args.result)?.write(&serde_json::to_vec(&counts).expect("plain data"))
}

impl QueueArgs {
    fn works(&self, device: &Arc<dyn Device>) -> Result<Vec<Work>> {
        self.queues.iter().try_for_each(|queue| queue.check_capacity("--capacity", self.capacity))?;
        let lanes = match (&self.lanes[..], device.is_wide()) {
            ([], true) => vec![1 << 12, 1 << 15],
            ([], false) => vec![4],
            (given, _) => given.to_vec(),
        };
        let mut works = vec![];
        for split in &self.split {
            for &lanes in &lanes {
                for &queue in &self.queues {
                    let workload = split.workload(lanes)?;
                    if self.queues.len() > 1 && workload.check(queue).is_err() {
                        continue;
                    }
                    workload.check(queue)?;
                    works.push(Work::Queue(self.work(queue, workload, device.is_wide()).fit(device, PASS)?));
                }
            }
        }
        Ok(works)
    }

    fn work(&self, queue: QueueKind, workload: Workload, wide: bool) -> QueueWork {
        let roles = workload.roles();
        QueueWork {
            queue,
            producers: roles.producers,
            consumers: roles.consumers,
            block: self.block,
            capacity: self.capacity,
            turns: self.turns.unwrap_or(if wide { 64 } else { 4096 }),
        }
    }
}

impl RenderArgs {
    fn works(&self) -> Vec<Work> {
        let base = Settings { slice: None, tile: self.tile, ..Settings::default() };
        let work = |settings| {
            let (scene, width, height, spp) = (self.scene.clone(), self.width, self.height, self.spp);
            Work::Render(RenderWork { scene, width, height, spp, settings })
        };
        Choice::every(&self.queues).contenders(&base).into_iter().map(work).collect()
    }
}

impl BfsArgs {
    fn works(&self) -> Vec<Work> {
        let work = |s: crate::bfs::Settings| {
            let (graph, engine, queue, lanes, block) =
                (self.graph.clone(), s.engine, s.queue, s.lanes, s.block);
            Work::Bfs(BfsWork { graph, engine, queue, lanes, block })
        };
        let base = crate::bfs::Settings { lanes: self.lanes, block: self.block, ..Default::default() };
        bfs::every_engine(&base, &self.queues).into_iter().map(work).collect()
    }
}

impl Common {
    /// For a command that began at `start`; `reads`: files that the works read.
    fn run(
        &self,
        start: Instant,
        reads: &[PathBuf],
        works: impl FnOnce(&Arc<dyn Device>) -> Result<Vec<Work>>,
    ) -> Result<()> {
        let reads = reads.iter().map(PathBuf::as_path);
        let outputs = Arc::new(self.usual.outputs(None, self.plots.as_deref(), reads)?);
        let kept = Arc::clone(&outputs);
        let save = move |report: Report| kept.write(&report, String::new, |folder| report.plot(folder));
        let guard = Guard::new(start, self.limit.timeout, BENCH_WAY_OUT, save)?;
        let device = self.usual.open(None)?;
        let works = works(&device)?;
        let status = Status::new(self.usual.quiet);
        let tell = |text: &str, so_far: &Measured| {
            status.show(text);
            guard.at(text.to_owned());
            if !so_far.rows.is_empty() {
                guard.keep(Report::new(device.info(), so_far));
            }
        };
        let (measured, end) = measure(&device, &self.wish(), &works, &|| guard.go_on(), &tell);
        drop((status, guard));
        let (report, rows) = (Report::new(device.info(), &measured), measured.rows.len());
        if rows > 0 {
            super::print(&table(&measured, device.info()))?;
        }
        outputs.finish(end, rows, &report, String::new, |folder| report.plot(folder))
    }

    fn wish(&self) -> Wish {
        match (&self.profiler, self.no_profiler) {
            (Some(path), _) => Wish::Named(path.clone()),
            (None, true) => Wish::Clock,
            (None, false) => Wish::Auto,
        }
    }
}

/// The measured rows for a terminal.
fn table(measured: &Measured, device: &DeviceInfo) -> String {
    let mut text = format!("{}: {}", device.id, device.name);
    let _ = match (&measured.profiler, &measured.why_none) {
        (Some(profiler), _) => writeln!(text, "; counted by {profiler}"),
        (None, why) => writeln!(
            text,
            "; no counters of the hardware ({}): figures of the device's clock and the instrumented build",
            why.as_deref().unwrap_or("no profiler")
        ),
    };
    for (column, meaning) in &measured.definitions {
        let _ = writeln!(text, "  {column:12} {meaning}");
    }
    let mut shown = String::new();
    for row in &measured.rows {
        let group = group(row);
        if group != shown {
            let _ = writeln!(text, "\n{group}\n{}", head(row));
            shown = group;
        }
        text += &line(row);
    }
    text
}

/// What rows of a table have in common.
fn group(row: &Row) -> String {
    match &row.work {
        Work::Queue(work) => {
            format!(
                "{}, {} lanes in blocks of {}, for each {}",
                work.workload(),
                work.lanes(),
                work.block,
                row.operation
            )
        }
        Work::Bfs(work) => {
            let lanes = work.lanes.map_or("all".into(), |n| n.to_string());
            format!("{}, {lanes} lanes in blocks of {}, for each {}", work.graph, work.block, row.operation)
        }
        Work::Render(work) => {
            format!("{}, {}x{}, for each {}", work.scene.display(), work.width, work.height, row.operation)
        }
    }
}

fn name(row: &Row) -> String {
    match &row.work {
        Work::Queue(work) => work.queue.to_string(),
        Work::Render(work) => render::name(&work.settings),
        Work::Bfs(work) => work.name().into(),
    }
}

fn head(row: &Row) -> String {
    let columns = match (&row.costs, &row.clock) {
        (Some(_), _) => &["WAIT/op", "memory", "VALU/op", "atomics/op", "L2 B/op", "ns/op"][..],
        (None, Some(_)) => &["cycles/op", "retries/op", "spins/op", "helps/op", "ns/op"],
        (None, None) => &["ns/op"],
    };
    let mut text = format!("{:28} {:>12}", "", "operations");
    columns.iter().for_each(|column| {
        let _ = write!(text, " {column:>10}");
    });
    text
}

fn line(row: &Row) -> String {
    let figures = match (&row.costs, &row.clock) {
        (Some(c), _) => vec![c.wait, memory_wait(c), c.valu, c.atomics, c.l2_bytes, c.ns],
        (None, Some(c)) => vec![c.cycles, c.retries, c.spins, c.helps, row.ns],
        (None, None) => vec![row.ns],
    };
    let mut text = format!("{:28} {:>12}", name(row), row.operations);
    figures.iter().for_each(|&figure| {
        let _ = write!(text, " {:>10}", digits(figure));
    });
    text + "\n"
}

/// The part of WAIT that is for memory, as the definitions have it.
fn memory_wait(costs: &Costs) -> f64 {
    ["memory", "memory queue", "fence"].iter().filter_map(|reason| costs.wait_for.get(*reason)).sum()
}

/// Three digits or more.
fn digits(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// A kind of cost: its file's name, its title, and where a row has it.
type CostOf = (&'static str, &'static str, fn(&Row) -> Option<f64>);
const PLOTS: [CostOf; 5] = [
    ("wait", "WAIT/op", |row| row.costs.as_ref().map(|c| c.wait)),
    ("valu", "VALU/op", |row| row.costs.as_ref().map(|c| c.valu)),
    ("atomics", "atomics/op", |row| row.costs.as_ref().map(|c| c.atomics)),
    ("l2-bytes", "L2 bytes/op", |row| row.costs.as_ref().map(|c| c.l2_bytes)),
    ("cycles", "cycles/op", |row| row.clock.map(|c| c.cycles)),
];

/// One plot a cost and workload: costs over lanes, a curve a queue.
fn write_plots(folder: &Path, measured: &Measured, device: &DeviceInfo) -> Result<()> {
    let queues = || {
        measured.rows.iter().filter_map(|row| match &row.work {
            Work::Queue(work) => Some((work, row)),
            Work::Render(_) | Work::Bfs(_) => None,
        })
    };
    let mut workloads: Vec<_> = queues().map(|(work, _)| work.workload()).collect();
    workloads.dedup();
    for workload in workloads {
        for (file, title, of) in PLOTS {
            let mut series: Vec<Series> = vec![];
            for (work, row) in queues().filter(|(work, _)| work.workload() == workload) {
                let Some(cost) = of(row).filter(|cost| *cost > 0.0) else { continue };
                let (name, point) = (work.queue.to_string(), (f64::from(work.lanes()), cost));
                match series.iter_mut().find(|s| s.name == name) {
                    Some(known) => known.points.push(point),
                    None => series.push(Series {
                        name,
                        points: vec![point],
                        ceiling: work.queue == QueueKind::FaaCeiling,
                    }),
                }
            }
            let plot = Plot {
                title: format!("{title}, {workload}, on {}", device.name),
                x: "lanes".into(),
                y: format!("{title}, per successful operation"),
                series,
            };
            let words = workload.replace(' ', "-").replace('%', "");
            plot.write(&folder.join(format!("cost-{file}-{words}")))?;
        }
    }
    Ok(())
}
