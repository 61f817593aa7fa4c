//! `rayq bench bfs`: frontiers against each other.

use super::bfs::source_of;
use super::progress::Status;
use super::report::Origin;
use super::usual::{Tables, TimeLimit, Usual};
use super::watchdog::{BENCH_WAY_OUT, Guard};
use super::work::{Lanes, parse_lanes};
use crate::bench::bfs::{Row, Subject, TEPS, every_engine, measure};
use crate::bench::plot::{Plot, Series};
use crate::bfs::{Form, Settings};
use crate::device::{Device, DeviceInfo};
use crate::error::{Error, Result};
use crate::file;
use crate::graph::Graph;
use crate::queue::QueueKind;
use clap::value_parser;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `rayq bench bfs`.
///
/// Every engine has its turn in each round, and no time is printed before its levels were compared with those of a
/// search on the host. Marks and queues are cleared before a run; its time is the device's, from the first launch to
/// the last level.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Graph files and generators, as `rayq bfs` takes them
    #[arg(default_values = ["rmat:scale=20,degree=16", "grid:1024x1024", "star:20", "path:14"])]
    graphs: Vec<String>,
    /// Where to start: a vertex by the file's number, or random
    #[arg(long, default_value = "0", allow_hyphen_values = true)]
    source: String,
    /// Seed of random sources
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Queues; the two baselines, append and direction, are always there
    #[arg(long, value_parser = QueueKind::bfs_queue_parser(), value_delimiter = ',', alias = "queue",
        default_values = ["glfq", "gwfq", "gwfq-ymc", "sfq", "sfq-waiting", "bwd"])]
    queues: Vec<QueueKind>,
    /// Numbers of lanes, or `max` for all that the device holds; by default 512..8192 and max on GPUs, max on the CPU
    #[arg(long, value_delimiter = ',', value_parser = parse_lanes)]
    lanes: Vec<Lanes>,
    /// Lanes of a block
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..=512))]
    block: u32,
    /// One launch for all levels, or a launch a level
    #[arg(long, value_enum, default_value = "persistent")]
    form: Form,
    /// Rounds that count, after one that is reported apart; the median counts
    #[arg(long, alias = "rounds", default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Follow arcs of directed files in both directions
    #[arg(long)]
    undirected: bool,
    /// Keep graphs of files in binary form beside them
    #[arg(long)]
    cache: bool,
    /// Threads of the CPU device
    #[arg(long, value_parser = value_parser!(u16).range(1..=4096))]
    workers: Option<u16>,
    /// Times of other programs, lines of GRAPH,NAME,MILLISECONDS, to put into the table (docs/gunrock.md)
    #[arg(long, value_name = "FILE.csv")]
    compare: Option<PathBuf>,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    usual: Usual,
    #[command(flatten)]
    tables: Tables,
}

/// The JSON form.
#[derive(Clone, Serialize)]
struct Report {
    schema_version: u32,
    #[serde(flatten)]
    origin: Origin,
    device: DeviceInfo,
    /// What `gteps` means.
    teps_is: &'static str,
    rounds: u32,
    rows: Vec<Row>,
    /// Other programs' times of the same graphs.
    compared: Vec<Other>,
}

/// Another program's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Other {
    graph: String,
    name: String,
    ms: f64,
}

/// Measures and reports.
pub fn run(args: &Args) -> Result<()> {
    let began = Instant::now();
    let files = args.graphs.iter().map(Path::new).chain(args.compare.as_deref());
    let outputs = Arc::new(args.tables.outputs(&args.usual, files)?);
    let kept = Arc::clone(&outputs);
    let save = move |report: Report| kept.write(&report, || table(&report.rows), |f| write_plots(f, &report));
    let guard = Guard::new(began, args.limit.timeout, BENCH_WAY_OUT, save)?;
    let compared = args.compare.as_deref().map_or(Ok(vec![]), read_compared)?;
    let device = args.usual.open(args.workers.map(usize::from))?;
    let mut report = Report {
        schema_version: 1,
        origin: Origin::here(),
        device: device.info().clone(),
        teps_is: TEPS,
        rounds: args.runs,
        rows: vec![],
        compared,
    };
    super::print(&head(&report))?;
    let end = args.graphs.iter().try_for_each(|name| {
        let what = format!("{name}: reading");
        let status = Status::new(args.usual.quiet);
        status.show(&what);
        guard.at(what);
        guard.go_on()?;
        let graph = Graph::load(name, args.undirected, args.cache)?;
        let source = source_of(&graph, name, &args.source, args.seed)?;
        status.show(&format!("{name}: searching on the host"));
        let subject = Subject::new(name, graph, source);
        drop(status);
        super::print(&title(&subject))?;
        for lanes in args.lanes(&*device) {
            let status = Status::new(args.usual.quiet);
            let base = Settings { lanes, block: args.block, form: args.form, ..Settings::default() };
            let contenders = every_engine(&base, &args.queues);
            let tell = |text: &str| {
                status.show(text);
                guard.at(format!("{text}, {} lanes", lanes.map_or("all".into(), |n| n.to_string())));
            };
            let rows = measure(&device, &subject, &contenders, args.runs, || guard.go_on(), tell)?;
            drop(status);
            super::print(&rows.iter().map(line).collect::<String>())?;
            report.rows.extend(rows);
            guard.keep(report.clone());
        }
        let others = report.compared.iter().filter(|o| o.graph == *name);
        super::print(&others.map(|o| other_line(o, subject.facts().traversed)).collect::<String>())
    });
    drop(guard);
    let rows = report.rows.len();
    outputs.finish(end, rows, &report, || table(&report.rows), |folder| write_plots(folder, &report))
}

impl Args {
    fn lanes(&self, device: &dyn Device) -> Vec<Lanes> {
        match (self.lanes.is_empty(), device.is_wide()) {
            (false, _) => self.lanes.clone(),
            (true, true) => (9..=13).map(|p| Some(1 << p)).chain([None]).collect(),
            (true, false) => vec![None],
        }
    }
}

/// Bytes of a file of times at most.
const MOST_COMPARED: u64 = 16 << 20;

/// Lines of GRAPH,NAME,MILLISECONDS. A graph's name may have commas; quotes around it are taken off.
fn read_compared(path: &Path) -> Result<Vec<Other>> {
    let wrong = |why: String| Error::Input(format!("{}: {why}", path.display()));
    let cannot = |why: String| wrong(format!("cannot read the times: {why}"));
    let text = file::read(path, MOST_COMPARED, "; give lines of GRAPH,NAME,MILLISECONDS").map_err(cannot)?;
    let text = String::from_utf8(text).map_err(|e| cannot(e.to_string()))?;
    let mut others = vec![];
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        let mut fields = line.trim().rsplitn(3, ',');
        let (ms, name, graph) = (fields.next(), fields.next(), fields.next());
        let (Some(ms), Some(name), Some(graph)) = (ms, name, graph) else {
            return Err(wrong(format!("line {}: expected GRAPH,NAME,MILLISECONDS", i + 1)));
        };
        match ms.trim().parse::<f64>() {
            Ok(ms) if ms.is_finite() && ms > 0.0 => others.push(Other {
                graph: graph.trim().trim_matches('"').into(),
                name: name.trim().into(),
                ms,
            }),
            // The first line may be the columns' names.
            Err(_) if i == 0 && ms.trim().chars().next().is_some_and(char::is_alphabetic) => {}
            _ => return Err(wrong(format!("line {}: '{ms}' is no time in milliseconds", i + 1))),
        }
    }
    Ok(others)
}

fn head(report: &Report) -> String {
    format!(
        "{}: {}; median of {} interleaved rounds after one that does not count\n{TEPS}\n",
        report.device.id, report.device.name, report.rounds
    )
}

/// The head of a graph's table.
fn title(subject: &Subject) -> String {
    let f = subject.facts();
    format!(
        "\n{}: {} vertices, {} arcs; from {}: {} vertices reached, levels 0 to {}, {} arcs traversed\n\
         {:16} {:>8} {:>12} {:>25} {:>10} {:>14} {:>8}\n",
        f.graph,
        f.vertices,
        f.arcs,
        f.source,
        f.visited,
        f.depth,
        f.traversed,
        "",
        "lanes",
        "ms",
        "min .. max",
        "GTEPS",
        "arcs scanned",
        "launches"
    )
}

fn line(row: &Row) -> String {
    let range = format!("{:.4} .. {:.4}", row.ms.min, row.ms.max);
    format!(
        "{:16} {:>8} {:>12.4} {range:>25} {:>10.3} {:>14} {:>8}\n",
        row.name, row.lanes, row.ms.median, row.gteps.median, row.scanned, row.launches
    )
}

fn other_line(other: &Other, traversed: u64) -> String {
    let gteps = traversed as f64 / other.ms / 1e6;
    format!("{:16} {:>8} {:>12.4} {:>25} {gteps:>10.3}\n", other.name, "", other.ms, "")
}

/// The CSV form.
fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "graph,vertices,arcs,source,visited,depth,traversed,engine,form,lanes,all_lanes,block,ms_median,ms_min,ms_max,\
         gteps_median,scanned,launches\n",
    );
    for row in rows {
        let (s, form) = (&row.subject, super::report::word(&row.form));
        let _ = writeln!(
            text,
            "\"{}\",{},{},{},{},{},{},{},{form},{},{},{},{},{},{},{},{},{}",
            s.graph.replace('"', "\"\""),
            s.vertices,
            s.arcs,
            s.source,
            s.visited,
            s.depth,
            s.traversed,
            row.name,
            row.lanes,
            row.all_lanes,
            row.block,
            row.ms.median,
            row.ms.min,
            row.ms.max,
            row.gteps.median,
            row.scanned,
            row.launches
        );
    }
    text
}

/// One plot a graph: time over lanes.
fn write_plots(folder: &Path, report: &Report) -> Result<()> {
    let mut graphs: Vec<&str> = report.rows.iter().map(|r| &*r.subject.graph).collect();
    graphs.dedup();
    for graph in graphs {
        let rows: Vec<_> = report.rows.iter().filter(|r| r.subject.graph == graph).collect();
        let mut names: Vec<&str> = vec![];
        for row in &rows {
            if !names.contains(&row.name) {
                names.push(row.name);
            }
        }
        let series = names.into_iter().map(|name| {
            let mut points: Vec<_> =
                rows.iter().filter(|r| r.name == name).map(|r| (f64::from(r.lanes), r.ms.median)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            Series { name: name.into(), points, ceiling: false }
        });
        let plot = Plot {
            title: format!("{graph} on {}", report.device.name),
            x: "lanes".into(),
            y: "milliseconds".into(),
            series: series.collect(),
        };
        let name: String = graph.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        plot.write(&folder.join(format!("bfs-{name}")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_others_are_read_whatever_their_graphs_are_called() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("g.csv");
        let text =
            "graph,name,ms\n\"rmat:scale=18,degree=16\",gunrock,0.89\n\nstar:20, best of seven ,1.16\n";
        std::fs::write(&path, text).expect("written");
        let other = |graph: &str, name: &str, ms| Other { graph: graph.into(), name: name.into(), ms };
        let wanted =
            [other("rmat:scale=18,degree=16", "gunrock", 0.89), other("star:20", "best of seven", 1.16)];
        assert_eq!(read_compared(&path).expect("fine"), wanted);
        for (text, why) in
            [("a,b,1\nx,y,z\n", "line 2: 'z'"), ("a,b,1\nc,d,-1\n", "line 2"), ("a,1\n", "line 1")]
        {
            std::fs::write(&path, text).expect("written");
            let error = read_compared(&path).expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
