//! Fixed amounts of work: what a profiler measures, and what is measured without one.

use super::Row;
use crate::bench::queue::{Case, Counters, Workload, fixed};
use crate::bfs::{self, DeviceGraph, Search, check::serial};
use crate::device::{Device, select};
use crate::engine::{EngineKind, Policy, Render, Settings};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::queue::{QueueKind, QueueOptions};
use crate::scene::{Overrides, Scene};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Something to do once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Work {
    /// Queue operations.
    Queue(QueueWork),
    /// A picture.
    Render(RenderWork),
    /// A search.
    Bfs(BfsWork),
}

/// Each producer's turns on a queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueWork {
    /// The queue.
    pub queue: QueueKind,
    /// Lanes that put values in; all of them, if nobody only takes out.
    pub producers: u32,
    /// Lanes that only take values out.
    pub consumers: u32,
    /// Lanes of a block.
    pub block: u32,
    /// Values that the queue holds at least.
    pub capacity: u64,
    /// Values that each producer puts in.
    pub turns: u32,
}

/// One picture by one engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RenderWork {
    /// The scene file.
    pub scene: PathBuf,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Samples a pixel.
    pub spp: u32,
    /// Engine, queue, policy.
    pub settings: Settings,
}

/// One search from vertex 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BfsWork {
    /// The graph, as `rayq bfs` takes it.
    pub graph: String,
    /// What holds the frontier.
    pub engine: bfs::Engine,
    /// The queue, if it is one.
    pub queue: QueueKind,
    /// Lanes; none: as many as the device holds.
    pub lanes: Option<u32>,
    /// Lanes of a block.
    pub block: u32,
}

/// What work came to.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Successful operations.
    pub operations: u64,
    /// Device time of the work itself.
    pub time: Duration,
    /// What the instrumented build counted, if that ran.
    pub counters: Option<Counters>,
}

impl QueueWork {
    fn case(&self, counters: bool) -> Case {
        let workload = match (self.producers, self.consumers) {
            (lanes, 0) => Workload::Balanced { lanes },
            (producers, consumers) => Workload::Split { producers, consumers },
        };
        Case {
            queue: self.queue,
            outer: false,
            workload,
            block: self.block,
            capacity: self.capacity,
            options: QueueOptions::default(),
            counters,
            occupancy: false,
            items: None,
        }
    }

    /// Lanes that work.
    pub fn lanes(&self) -> u32 {
        self.producers + self.consumers
    }

    /// The workload in a word or two.
    pub fn workload(&self) -> String {
        self.case(false).workload.to_string()
    }

    /// As many turns as fit into `budget`, a power of two up to those that it has: slow queues do fewer, or a
    /// profiler's passes would take minutes.
    ///
    /// # Errors
    /// The device's, as one turn is tried.
    pub fn fit(mut self, device: &Arc<dyn Device>, budget: Duration) -> Result<QueueWork> {
        let most = self.turns;
        self.turns = 1;
        let one = Work::Queue(self.clone()).run(device, false)?.time.as_secs_f64();
        while self.turns * 2 <= most && one * f64::from(self.turns * 2) <= budget.as_secs_f64() {
            self.turns *= 2;
        }
        Ok(self)
    }
}

impl BfsWork {
    /// How to search: in launches that no clock ends, as passes of a profiler take longer.
    fn settings(&self) -> bfs::Settings {
        let BfsWork { engine, queue, lanes, block, .. } = *self;
        bfs::Settings {
            engine,
            queue,
            lanes,
            block,
            slice: Duration::from_secs(3600),
            ..bfs::Settings::default()
        }
    }

    /// What holds the frontier, in a word.
    pub fn name(&self) -> &'static str {
        self.settings().name()
    }

    fn run(&self, device: &Arc<dyn Device>) -> Result<Done> {
        let graph = Graph::load(&self.graph, false, false)?;
        if graph.vertices() == 0 {
            return Err(Error::Input(format!("{}: the graph has no vertex to start from", self.graph)));
        }
        let from_below = self.engine == bfs::Engine::Direction;
        let on_device = Arc::new(DeviceGraph::new(device, &graph, from_below)?);
        let mut search = Search::new(&on_device, &self.settings())?;
        let run = search.run(0, || Ok(()))?;
        if search.levels()? != serial(&graph, 0) {
            let name = self.name();
            return Err(Error::Device(format!(
                "{name} on {}: wrong levels; no figure is worth printing",
                self.graph
            )));
        }
        Ok(Done { operations: run.visited, time: run.time, counters: None })
    }
}

impl Work {
    /// What counts as an operation.
    pub fn operation(&self) -> &'static str {
        match self {
            Work::Queue(_) => "successful enqueue or dequeue",
            Work::Render(_) => "ray",
            Work::Bfs(_) => "vertex reached",
        }
    }

    /// The kernels whose launches are the work; others set it up.
    pub(super) fn kernels(&self) -> &'static [&'static str] {
        match self {
            Work::Queue(_) => &["bench_fixed"],
            Work::Render(work) => kernels_of(work.settings.engine, work.settings.policy),
            Work::Bfs(_) => BFS_KERNELS,
        }
    }

    /// Whether it is one launch exactly, so that launches tell works apart.
    pub(super) fn is_one_launch(&self) -> bool {
        matches!(self, Work::Queue(_))
    }

    /// Does it, and checks what came out as benches do; with `counters`, by the instrumented build if there is one.
    ///
    /// # Errors
    /// The device's, the scene's, or results that are wrong.
    pub fn run(&self, device: &Arc<dyn Device>, counters: bool) -> Result<Done> {
        match self {
            Work::Queue(work) => {
                // On the CPU a lane is a thread.
                let device = match device.is_wide() {
                    true => device.clone(),
                    false => select::open(&device.info().id, Some(work.lanes() as usize))?,
                };
                let run = fixed(&device, &work.case(counters), work.turns)?;
                let time = Duration::from_secs_f64(run.seconds);
                Ok(Done { operations: run.enqueued + run.dequeued, time, counters: run.counters })
            }
            Work::Bfs(work) => work.run(device),
            Work::Render(work) => {
                let size = Overrides {
                    width: Some(work.width),
                    height: Some(work.height),
                    spp: Some(work.spp),
                    ..Overrides::default()
                };
                let scene = Scene::load(&work.scene)?.with_overrides(&size)?;
                let settings = Settings { slice: None, ..work.settings.clone() };
                let mut render = Render::new(device.clone(), &scene, &settings)?;
                while !render.advance()?.finished {}
                let done = render.statistics();
                let time = done.generate + done.trace;
                Ok(Done { operations: done.counts.rays(), time, counters: None })
            }
        }
    }

    /// Does it without a profiler: a first time that does not count, then by the plain build for the time, and by
    /// the instrumented one for its counters.
    ///
    /// # Errors
    /// As for [`Work::run`].
    pub fn clock(&self, device: &Arc<dyn Device>) -> Result<Row> {
        self.run(device, false)?;
        let timed = self.run(device, false)?;
        let counters = match self {
            Work::Queue(_) => self.run(device, true)?.counters,
            Work::Render(_) | Work::Bfs(_) => None,
        };
        Ok(Row {
            work: self.clone(),
            operation: self.operation().into(),
            operations: timed.operations,
            costs: None,
            clock: counters,
            ns: timed.time.as_secs_f64() * 1e9 / timed.operations.max(1) as f64,
            counters: BTreeMap::new(),
        })
    }
}

impl Display for Work {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Work::Queue(work) => write!(f, "{}, {}, {} lanes", work.queue, work.workload(), work.lanes()),
            Work::Bfs(work) => write!(f, "{}, {}", work.graph, work.name()),
            Work::Render(work) => {
                write!(f, "{}, {}", work.scene.display(), crate::bench::render::name(&work.settings))
            }
        }
    }
}

const BFS_KERNELS: &[&str] = &["bfs_start", "bfs_run", "bfs_pull", "bfs_gather"];

fn kernels_of(engine: EngineKind, policy: Policy) -> &'static [&'static str] {
    match (engine, policy) {
        (EngineKind::Megakernel, _) => &["megakernel"],
        (EngineKind::Compaction, _) => &["trace_append", "trace_flag", "scan_sums", "scatter"],
        (EngineKind::TileQueue, Policy::Paper) => &["paper_generate", "paper_trace"],
        (EngineKind::TileQueue, Policy::Adaptive) => {
            &["adaptive_whole", "adaptive_draw", "adaptive_slice", "adaptive_park"]
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn queue_work() -> Work {
        Work::Queue(QueueWork {
            queue: QueueKind::Glfq,
            producers: 4,
            consumers: 0,
            block: 256,
            capacity: 64,
            turns: 16,
        })
    }

    #[test]
    fn there_are_kernels_of_these_names() {
        let rendering = [EngineKind::Megakernel, EngineKind::Compaction, EngineKind::TileQueue]
            .into_iter()
            .flat_map(|engine| [Policy::Paper, Policy::Adaptive].map(|policy| kernels_of(engine, policy)));
        for kernel in rendering.chain([BFS_KERNELS, queue_work().kernels()]).flatten() {
            let exists = crate::programs::PROGRAMS.iter().any(|p| p.kernels.contains(kernel));
            assert!(exists, "{kernel}");
        }
    }

    #[test]
    fn every_pass_does_the_same_number_of_operations() {
        let device = select::open("cpu", Some(2)).expect("there is a CPU");
        for queue in QueueKind::ALL {
            for (producers, consumers) in [(3, 0), (1, 3), (3, 2)] {
                if consumers > 0 && queue == QueueKind::SfqWaiting {
                    continue;
                }
                let work = QueueWork { queue, producers, consumers, block: 1, capacity: 8, turns: 50 };
                for counters in [false, true] {
                    let done = Work::Queue(work.clone()).run(&device, counters).expect("it is done");
                    assert_eq!(
                        done.operations,
                        2 * 50 * u64::from(producers),
                        "{queue} {producers}:{consumers}"
                    );
                    assert_eq!(done.counters.is_some(), counters);
                }
            }
        }
    }

    #[test]
    fn turns_fit_the_budget() {
        let device = select::open("cpu", Some(2)).expect("there is a CPU");
        let work = QueueWork {
            queue: QueueKind::Glfq,
            producers: 2,
            consumers: 0,
            block: 1,
            capacity: 8,
            turns: 40,
        };
        let fitted = work.clone().fit(&device, Duration::from_secs(10)).expect("it is done");
        assert_eq!(fitted.turns, 32, "the power of two below what was asked for");
        let none = work.fit(&device, Duration::ZERO).expect("it is done");
        assert_eq!(none.turns, 1, "no fewer than one");
    }
}
