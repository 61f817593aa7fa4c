//! `rayq bfs GRAPH`: levels of a graph's vertices, by the queues or a baseline.

use super::progress::Status;
use super::report::{Origin, word};
use super::usual::{TimeLimit, Usual};
use super::watchdog::Guard;
use crate::bench::Spread;
use crate::bench::bfs::TEPS;
use crate::bfs::check::{arcs_of_reached, prove, serial};
use crate::bfs::{DeviceGraph, Engine, Form, Run, Search, Settings, UNREACHED};
use crate::device::DeviceInfo;
use crate::error::{Error, Result};
use crate::film::Output;
use crate::graph::{Facts, Graph, export};
use crate::queue::QueueKind;
use clap::value_parser;
use serde::Serialize;
use std::fmt::{self, Display, Formatter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `rayq bfs`.
///
/// GRAPH is a file (Matrix Market .mtx, DIMACS .gr, SNAP edge list .txt, or these packed as .gz) or a generator:
/// rmat:scale=18,degree=16,seed=1,permute=1; er:scale=18,degree=16,seed=1; grid:1000x1000; path:20 or path:n=5000;
/// star:20 or star:n=5000 (a bare number is the scale, log2 of the number of vertices).
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A graph file, or a generator such as rmat:scale=18,degree=16
    graph: String,
    /// Where to start: a vertex by the file's number (from 0 in Matrix Market and DIMACS files), or random
    #[arg(long, default_value = "0", allow_hyphen_values = true)]
    source: String,
    /// Seed of a random source
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// What holds the frontier
    #[arg(long, value_enum, default_value = "queue")]
    engine: Engine,
    /// The queue
    #[arg(long, value_parser = QueueKind::bfs_queue_parser(), default_value = "glfq")]
    queue: QueueKind,
    /// Values that each queue holds at least; by default what the graph needs
    #[arg(long, value_parser = value_parser!(u64).range(1..))]
    queue_capacity: Option<u64>,
    /// One launch for all levels, or a launch a level
    #[arg(long, value_enum, default_value = "persistent")]
    form: Form,
    /// Follow arcs of a directed file in both directions
    #[arg(long)]
    undirected: bool,
    /// Threads of the CPU device
    #[arg(long, value_parser = value_parser!(u16).range(1..=4096))]
    workers: Option<u16>,
    /// Lanes of a launch; by default as many as the device holds
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    lanes: Option<u32>,
    /// Lanes of a block
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..=512))]
    block: u32,
    /// Runs that count, after one that is reported apart
    #[arg(long, alias = "repeat", default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Compare with a search on the host, too. Levels are proved right in any case before a time is printed
    #[arg(long)]
    validate: bool,
    /// Keep the graph in binary form beside its file, and read that next time
    #[arg(long)]
    cache: bool,
    /// Write each vertex and its level, -1 if it was not reached, one a line
    #[arg(long, value_name = "FILE")]
    levels: Option<PathBuf>,
    /// Write the graph as a Matrix Market file, for other programs
    #[arg(long, value_name = "FILE.mtx")]
    write_graph: Option<PathBuf>,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    usual: Usual,
}

/// Everything that is said of a search.
#[derive(Serialize)]
struct Report {
    schema_version: u32,
    #[serde(flatten)]
    origin: Origin,
    device: DeviceInfo,
    graph: String,
    vertices: u32,
    arcs: u32,
    read: Facts,
    /// Seconds that reading, or making, the graph took.
    read_seconds: f64,
    /// Bytes of the file; none for a generator.
    file_bytes: Option<u64>,
    source: u64,
    /// Arcs that leave the source.
    source_arcs: u32,
    #[serde(flatten)]
    settings: Settings,
    real_lanes: u32,
    real_block: u32,
    real_capacity: Option<u64>,
    launches: u32,
    /// How the levels were checked.
    checked: &'static str,
    depth: u32,
    levels: u32,
    visited: u64,
    unreached: u64,
    scanned: u64,
    /// The numerator of TEPS.
    traversed: u64,
    teps_is: &'static str,
    /// Arcs a second; null when nothing was traversed.
    teps: Option<f64>,
    ms: Spread,
    runs_ms: Vec<f64>,
    warmup_ms: f64,
}

/// Searches and reports.
pub fn run(args: &Args) -> Result<()> {
    let began = Instant::now();
    let guard = Guard::new(began, args.limit.timeout, WAY_OUT, |()| Ok(()))?;
    let stop = || guard.go_on();
    let writes = [
        ("--levels", args.levels.as_deref()),
        ("--write-graph", args.write_graph.as_deref()),
        ("--json", args.usual.json_path()),
    ];
    super::outputs::spare(writes, [Path::new(&args.graph)])?;
    let prepare = |path: &Option<PathBuf>| path.as_deref().map(Output::prepare).transpose();
    let (levels_out, graph_out, json) =
        (prepare(&args.levels)?, prepare(&args.write_graph)?, args.usual.json()?);
    let status = Status::new(args.usual.quiet);
    status.show("reading the graph");
    guard.at(format!("{}, reading it", args.graph));
    let graph = Graph::load(&args.graph, args.undirected, args.cache)?;
    let read_seconds = began.elapsed().as_secs_f64();
    let source = pick_source(&graph, args)?;
    if let Some(out) = graph_out {
        out.write(&export::matrix_market(&graph))?;
    }
    let device = args.usual.open(args.workers.map(usize::from))?;
    let settings = args.settings();
    let on_device = Arc::new(DeviceGraph::new(&device, &graph, args.engine == Engine::Direction)?);
    let mut search = Search::new(&on_device, &settings)?;
    let mut runs = vec![];
    let mut first_levels = vec![];
    for round in 0..=args.runs {
        let what = format!("{}, {}, run {round} of {}", args.graph, settings.name(), args.runs);
        status.show(&what);
        guard.at(what);
        stop()?;
        runs.push(search.run(source, stop)?);
        let levels = search.levels()?;
        if round == 0 {
            check(args, &graph, source, &levels)?;
            first_levels = levels;
        } else if levels != first_levels {
            return Err(Error::Device(format!(
                "run {round} found other levels than the one before; {NO_TIME}"
            )));
        }
    }
    drop(status);
    let report = args.report(&graph, source, &search, device.info(), &runs, &first_levels, read_seconds)?;
    super::print(&report.to_string())?;
    if let Some(out) = levels_out {
        out.write(levels_text(&graph, &first_levels).as_bytes())?;
    }
    match json {
        Some(json) => json.write(super::outputs::json(&report).as_bytes()),
        None => Ok(()),
    }
}

/// Of a search that takes too long.
const WAY_OUT: &str = "give a longer --timeout or a smaller graph";
const NO_TIME: &str = "no time is worth printing, please report this";

/// Proves the levels.
fn check(args: &Args, graph: &Graph, source: u32, levels: &[u32]) -> Result<()> {
    let wrong = |why: String| {
        Error::Device(format!("{}, {}: wrong levels: {why}; {NO_TIME}", args.graph, args.settings().name()))
    };
    prove(graph, source, levels).map_err(wrong)?;
    if args.validate && serial(graph, source) != levels {
        return Err(wrong("a search on the host found others".into()));
    }
    Ok(())
}

/// The source, a vertex with arcs if it is drawn.
pub(super) fn pick_source(graph: &Graph, args: &Args) -> Result<u32> {
    source_of(graph, &args.graph, &args.source, args.seed)
}

/// A vertex by its number, or a random one with arcs.
pub(super) fn source_of(graph: &Graph, name: &str, source: &str, seed: u64) -> Result<u32> {
    let vertices = graph.vertices();
    if vertices == 0 {
        return Err(Error::Input(format!(
            "{name}: the graph has no vertices, so there is nothing to search"
        )));
    }
    if source != "random" {
        let number = source.parse::<u64>().map_err(|_| {
            let (first, last) = (graph.name(0), graph.name(vertices - 1));
            Error::Input(format!(
                "--source {source}: not a vertex; give a number in {first}..{last}, or random"
            ))
        })?;
        return graph.vertex(number).map_err(|why| Error::Input(format!("--source: {why}")));
    }
    // The first from a random place on.
    let start = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % u64::from(vertices);
    let mut all = (0..u64::from(vertices)).map(|i| ((start + i) % u64::from(vertices)) as u32);
    all.find(|&v| graph.degree(v) > 0).ok_or_else(|| {
        Error::Input(format!(
            "{name}: no vertex has arcs, so no random source is worth searching from; give --source"
        ))
    })
}

fn levels_text(graph: &Graph, levels: &[u32]) -> String {
    let mut text = String::new();
    for (v, &level) in levels.iter().enumerate() {
        let shown = if level == UNREACHED { -1 } else { i64::from(level) };
        let _ = writeln!(text, "{} {shown}", graph.name(v as u32));
    }
    text
}

impl Args {
    fn settings(&self) -> Settings {
        Settings {
            engine: self.engine,
            queue: self.queue,
            form: self.form,
            lanes: self.lanes,
            block: self.block,
            capacity: self.queue_capacity,
            ..Settings::default()
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn report(
        &self,
        graph: &Graph,
        source: u32,
        search: &Search,
        device: &DeviceInfo,
        runs: &[Run],
        levels: &[u32],
        read_seconds: f64,
    ) -> Result<Report> {
        let traversed = arcs_of_reached(graph, levels);
        let run = runs[0];
        if self.engine != Engine::Direction && run.scanned != traversed {
            let why = format!("scanned {} arcs of {traversed}", run.scanned);
            return Err(Error::Device(format!("{}: {why}; {NO_TIME}", self.graph)));
        }
        let ms: Vec<_> = runs.iter().map(|run| run.time.as_secs_f64() * 1e3).collect();
        let spread = Spread::of(&ms[1..]);
        Ok(Report {
            schema_version: 1,
            origin: Origin::here(),
            device: device.clone(),
            graph: self.graph.clone(),
            vertices: graph.vertices(),
            arcs: graph.arcs(),
            read: graph.facts(),
            read_seconds,
            file_bytes: std::fs::metadata(&self.graph).ok().map(|facts| facts.len()),
            source: graph.name(source),
            source_arcs: graph.degree(source),
            settings: self.settings(),
            real_lanes: search.lanes(),
            real_block: search.block(),
            real_capacity: search.queue_capacity(),
            launches: run.launches,
            checked: if self.validate { "proved, and equal to a search on the host" } else { "proved" },
            depth: run.depth,
            levels: run.depth + 1,
            visited: run.visited,
            unreached: u64::from(graph.vertices()) - run.visited,
            scanned: run.scanned,
            traversed,
            teps_is: TEPS,
            teps: (traversed > 0 && spread.median > 0.0).then(|| traversed as f64 / (spread.median / 1e3)),
            ms: spread,
            runs_ms: ms[1..].to_vec(),
            warmup_ms: ms[0],
        })
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Facts { entries, self_loops, duplicates, symmetrised } = self.read;
        let ways = if symmetrised { "both ways" } else { "one way, as in the file" };
        writeln!(f, "graph    {}: {} vertices, {} arcs ({ways})", self.graph, self.vertices, self.arcs)?;
        let rate = self.file_bytes.filter(|_| self.read_seconds > 0.0);
        let rate = rate
            .map_or(String::new(), |bytes| format!(", {:.0} MB/s", bytes as f64 / self.read_seconds / 1e6));
        writeln!(
            f,
            "read     {entries} entries in {:.3} s{rate}; left out: {self_loops} self loops, {duplicates} duplicates",
            self.read_seconds
        )?;
        writeln!(f, "device   {}: {}, {}", self.device.id, self.device.name, self.device.arch)?;
        let capacity = self.real_capacity.map_or(String::new(), |c| format!(", 2 queues of {c}"));
        writeln!(
            f,
            "frontier {}{capacity}; {} lanes in blocks of {}, {} launches ({})",
            self.settings.name(),
            self.real_lanes,
            self.real_block,
            self.launches,
            word(&self.settings.form)
        )?;
        let lonely = if self.source_arcs == 0 { "; the source has no arcs" } else { "" };
        writeln!(
            f,
            "levels   0 to {} from vertex {}; {} vertices reached, {} not{lonely}; {}",
            self.depth, self.source, self.visited, self.unreached, self.checked
        )?;
        writeln!(f, "arcs     {} traversed, {} scanned", self.traversed, self.scanned)?;
        let Spread { median, min, max } = self.ms;
        writeln!(
            f,
            "time     {median:.4} ms ({min:.4} .. {max:.4}, {} runs; first {:.4}): first launch to last level on the \
             device; marks and queues are cleared before",
            self.runs_ms.len(),
            self.warmup_ms
        )?;
        let teps = self.teps.map_or("n/a".into(), |teps| format!("{:.3} M", teps / 1e6));
        writeln!(f, "rate     {teps} TEPS; {}", self.teps_is)
    }
}
