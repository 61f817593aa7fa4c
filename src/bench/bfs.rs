//! Breadth-first search: engines and queues against each other on the same graphs, in interleaved rounds.
//!
//! No time is kept before its levels were compared with those of a search on the host.

use super::Spread;
use crate::bfs::check::{arcs_of_reached, serial};
use crate::bfs::{DeviceGraph, Engine, Form, Run, Search, Settings, UNREACHED};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::graph::{Facts, Graph};
use crate::queue::QueueKind;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// What a rate counts, in words that a report can print.
pub const TEPS: &str =
    "TEPS = arcs that leave the reached vertices (an undirected edge is two) / time, for every engine alike";

/// A graph to search, and what the host knows of the result.
pub struct Subject {
    /// How the graph was asked for.
    pub name: String,
    /// The graph.
    pub graph: Graph,
    /// Where searches start.
    pub source: u32,
    /// The right levels.
    levels: Vec<u32>,
    facts: SubjectFacts,
}

/// What is the same for every row of a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SubjectFacts {
    /// How the graph was asked for.
    pub graph: String,
    /// Number of vertices.
    pub vertices: u32,
    /// Number of arcs; an undirected edge is two.
    pub arcs: u32,
    /// What was found on the way to the graph.
    pub read: Facts,
    /// Where searches start, by the file's number.
    pub source: u64,
    /// Vertices that are reached, the source included.
    pub visited: u64,
    /// The largest level.
    pub depth: u32,
    /// Arcs that leave the reached vertices: the numerator of TEPS.
    pub traversed: u64,
}

/// One engine's figures on one graph.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What was searched.
    #[serde(flatten)]
    pub subject: SubjectFacts,
    /// What holds the frontier.
    pub engine: Engine,
    /// The queue, if it is one.
    pub queue: Option<QueueKind>,
    /// `glfq`, `append`, `direction`, ...
    pub name: &'static str,
    /// How the search is cut into launches.
    pub form: Form,
    /// Lanes of a launch.
    pub lanes: u32,
    /// Whether these are all that the device holds.
    pub all_lanes: bool,
    /// Lanes of a block.
    pub block: u32,
    /// Milliseconds of device time.
    pub ms: Spread,
    /// Thousands of millions of traversed arcs a second.
    pub gteps: Spread,
    /// Milliseconds of each run that counts.
    pub runs_ms: Vec<f64>,
    /// Milliseconds of the first run, which does not.
    pub warmup_ms: f64,
    /// Arcs that were looked at.
    pub scanned: u64,
    /// Launches of a run.
    pub launches: u32,
}

impl Subject {
    /// Searches the graph on the host.
    pub fn new(name: &str, graph: Graph, source: u32) -> Subject {
        let levels = serial(&graph, source);
        let reached = || levels.iter().filter(|&&level| level != UNREACHED);
        let facts = SubjectFacts {
            graph: name.into(),
            vertices: graph.vertices(),
            arcs: graph.arcs(),
            read: graph.facts(),
            source: graph.name(source),
            visited: reached().count() as u64,
            depth: reached().copied().max().unwrap_or(0),
            traversed: arcs_of_reached(&graph, &levels),
        };
        Subject { name: name.into(), graph, source, levels, facts }
    }

    /// What is known of it.
    pub fn facts(&self) -> &SubjectFacts {
        &self.facts
    }

    /// Whether a run found what there is to find.
    fn check(&self, search: &Search, run: &Run) -> Result<()> {
        let wrong = |why: String| {
            let (name, lanes) = (search.settings().name(), search.lanes());
            let device = format!("{name}, {lanes} lanes on {}", self.name);
            Err(Error::Device(format!("{device}: {why}; no time is worth printing, please report this")))
        };
        let levels = search.levels()?;
        if let Some(v) = levels.iter().zip(&self.levels).position(|(found, right)| found != right) {
            let shown = |level: u32| if level == UNREACHED { "none".into() } else { level.to_string() };
            let (found, right) = (shown(levels[v]), shown(self.levels[v]));
            return wrong(format!("vertex {} has level {found}, not {right}", self.graph.name(v as u32)));
        }
        let facts = &self.facts;
        if (run.visited, run.depth) != (facts.visited, facts.depth) {
            return wrong(format!(
                "it counted {} vertices to level {}, not {} to {}",
                run.visited, run.depth, facts.visited, facts.depth
            ));
        }
        // From below, a vertex looks no further than its first neighbour with a level.
        if search.settings().engine != Engine::Direction && run.scanned != facts.traversed {
            return wrong(format!("it scanned {} arcs, not {}", run.scanned, facts.traversed));
        }
        Ok(())
    }
}

/// Measures every one of `contenders` on the subject: a run each that is reported apart, then `rounds` rounds in which
/// each has its turn. The levels of every run are compared. `stop` is asked between runs, `tell` hears what is next.
///
/// # Errors
/// The device's and `stop`'s; levels that differ: then there are no figures at all.
pub fn measure(
    device: &Arc<dyn Device>,
    subject: &Subject,
    contenders: &[Settings],
    rounds: u32,
    stop: impl Fn() -> Result<()>,
    mut tell: impl FnMut(&str),
) -> Result<Vec<Row>> {
    tell(&format!("{}: copying the graph", subject.name));
    let from_below = contenders.iter().any(|s| s.engine == Engine::Direction);
    let graph = Arc::new(DeviceGraph::new(device, &subject.graph, from_below)?);
    let searches = contenders.iter().map(|settings| Search::new(&graph, settings));
    let mut searches = searches.collect::<Result<Vec<_>>>()?;
    let mut runs: Vec<Vec<Run>> = vec![vec![]; searches.len()];
    for round in 0..=rounds {
        for (search, runs) in searches.iter_mut().zip(&mut runs) {
            stop()?;
            tell(&format!("{}, round {round} of {rounds}: {}", subject.name, search.settings().name()));
            let run = search.run(subject.source, &stop)?;
            subject.check(search, &run)?;
            runs.push(run);
        }
    }
    Ok(searches.iter().zip(runs).map(|(search, runs)| row(subject, search, &runs)).collect())
}

fn row(subject: &Subject, search: &Search, runs: &[Run]) -> Row {
    let settings = search.settings();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let runs_ms: Vec<_> = runs[1..].iter().map(|run| ms(run.time)).collect();
    let rates: Vec<_> =
        runs_ms.iter().map(|ms| subject.facts.traversed as f64 / ms.max(1e-6) / 1e6).collect();
    Row {
        subject: subject.facts.clone(),
        engine: settings.engine,
        queue: (settings.engine == Engine::Queue).then_some(settings.queue),
        name: settings.name(),
        form: settings.form,
        lanes: search.lanes(),
        all_lanes: settings.lanes.is_none(),
        block: search.block(),
        ms: Spread::of(&runs_ms),
        gteps: Spread::of(&rates),
        runs_ms,
        warmup_ms: ms(runs[0].time),
        scanned: runs[0].scanned,
        launches: runs[0].launches,
    }
}

/// Every queue of `queues` and both baselines.
pub fn every_engine(base: &Settings, queues: &[QueueKind]) -> Vec<Settings> {
    let queues = queues.iter().map(|&queue| Settings { engine: Engine::Queue, queue, ..base.clone() });
    let baselines = [Engine::Append, Engine::Direction];
    queues.chain(baselines.map(|engine| Settings { engine, ..base.clone() })).collect()
}
