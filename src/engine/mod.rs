//! Engines: three ways to trace the same scene into the same film.
//!
//! A [`Render`] is one picture in the making. It advances by slices: bounded launches, between which the host
//! reports progress, saves what is finished or stops. Every pixel's sums are exact and every random number
//! belongs to its pixel and sample, so neither the engine nor the slices show in the film.

mod compaction;
pub mod counters;
mod digest;
mod first_hit;
mod lighting;
mod megakernel;
mod pace;
mod ray_count;
pub mod ray_probe;
mod target;
mod tile_queue;
mod tiling;
mod trial;
mod waves;
mod world;

pub use counters::{Counts, Effort};
pub use target::Target;
use trial::Trial;

use crate::device::{Device, Mark};
use crate::error::Result;
use crate::film::Film;
use crate::layout::FirstHit;
use crate::queue::QueueKind;
use crate::scene::{Camera, Scene};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How rays are scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// Tiles that each own a concurrent queue, and a persistent kernel.
    TileQueue,
    /// A wavefront with stream compaction after each bounce.
    Compaction,
    /// One lane per pixel, bounces in a loop.
    Megakernel,
}

/// How the compaction engine brings survivors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compact {
    /// Each wave reserves room behind one counter.
    Append,
    /// Flags, a device-wide prefix sum, scatter.
    Scan,
}

/// What the tile-queue engine does with a ray that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Bounces stay in registers and on-chip memory; the queues take what a wave cannot keep.
    Adaptive,
    /// As in the paper: primaries are enqueued first, every bounce goes through the tile's queue.
    Paper,
}

/// How to render.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Engine.
    pub engine: EngineKind,
    /// Queue of the tile-queue engine.
    pub queue: QueueKind,
    /// Policy of the tile-queue engine.
    pub policy: Policy,
    /// Form of the compaction engine.
    pub compact: Compact,
    /// Tile size in pixels (tile-queue), at least 1x1; `None`: chosen for the device.
    pub tile: Option<(u32, u32)>,
    /// Lanes of the persistent kernel; `None`: as many as are resident.
    pub lanes: Option<u32>,
    /// Rays of a batch (compaction), in whole chunks of 32 and at least one; `None`: chosen for the device.
    pub batch: Option<u32>,
    /// What a slice aims at; `None`: all in one.
    pub slice: Option<Duration>,
    /// Fast attempts of a wait-free queue before it asks for help; `None`: the kind's default.
    pub patience: Option<u32>,
    /// Operations of a wait-free queue between two looks at a peer; `None`: the kind's default.
    pub help_delay: Option<u32>,
    /// Whether waves trace from pools of paths in memory (tile-queue under the adaptive policy, scenes with trees);
    /// `None`: both ways are tried, and the faster stays.
    pub pools: Option<bool>,
    /// Whether kernels count their [`Effort`], which costs time.
    #[serde(skip)]
    pub counted: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            engine: EngineKind::TileQueue,
            queue: QueueKind::Glfq,
            policy: Policy::Adaptive,
            compact: Compact::Append,
            tile: None,
            lanes: None,
            batch: None,
            slice: Some(Duration::from_millis(50)),
            patience: None,
            help_delay: None,
            pools: None,
            counted: false,
        }
    }
}

/// How far a render is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Pixel samples in the film.
    pub samples_done: u64,
    /// Pixel samples of the whole picture.
    pub samples_total: u64,
    /// Rays traced.
    pub rays: u64,
    /// Nothing is left to do.
    pub finished: bool,
}

/// What a render took.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// What launches counted.
    pub counts: Counts,
    /// Compiling kernels, or loading them from the cache.
    pub compile: Duration,
    /// Uploading the scene and taking memory.
    pub upload: Duration,
    /// Making primary rays and filling queues, where that is a launch of its own; by the device's clock.
    pub generate: Duration,
    /// Everything else on the device; by its clock.
    pub trace: Duration,
    /// Reading the film back.
    pub resolve: Duration,
    /// Slices so far.
    pub slices: u64,
}

/// What a stretch of device time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Generate,
    Trace,
}

/// Device times of a slice: marks, and what lies between each and the next.
#[derive(Default)]
pub(crate) struct Timeline {
    marks: Vec<Mark>,
    phases: Vec<Phase>,
}

impl Timeline {
    /// What follows on the device belongs to `phase`.
    fn enter(&mut self, device: &Arc<dyn Device>, phase: Phase) -> Result<()> {
        self.marks.push(device.mark()?);
        self.phases.push(phase);
        Ok(())
    }

    /// The slice's work on the device ends here.
    fn leave(&mut self, device: &Arc<dyn Device>) -> Result<()> {
        self.marks.push(device.mark()?);
        Ok(())
    }
}

/// An engine at work on one target.
pub(crate) trait Engine: Send {
    /// Launches work for about `budget` (`None`: all that is left), waits for it, and returns what was counted so
    /// far.
    fn slice(&mut self, target: &Target, budget: Option<Duration>, timeline: &mut Timeline)
    -> Result<Counts>;

    /// Back to the start: the film is empty again.
    fn restart(&mut self, target: &Target);

    /// On from what the film has, which may be more in one pixel than in another.
    fn resume(&mut self, target: &Target) -> Result<()> {
        self.restart(target);
        Ok(())
    }

    /// What it takes of the device's memory beside scene and film.
    fn memory(&self) -> EngineMemory {
        EngineMemory::default()
    }

    /// The choice between a lane's own paths and, the second way, pools of paths; `None` for engines without it.
    fn pools(&self) -> Option<&Trial> {
        None
    }

    /// How full the queues are; `None` for engines without any.
    fn occupancy(&self) -> Result<Option<Occupancy>> {
        Ok(None)
    }
}

/// Bytes of device memory that an engine takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct EngineMemory {
    /// Rays.
    pub payload: u64,
    /// Queues, or counts and flags.
    pub scheduling: u64,
}

/// How many rays wait in each tile's queue between two slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Size of a tile in pixels; those at the right and lower edge reach beyond the image.
    pub tile: (u32, u32),
    /// Tiles across the image.
    pub across: u32,
    /// Rays that each queue holds at most.
    pub capacity: u32,
    /// Rays in each tile's queue, row by row.
    pub waiting: Vec<u32>,
}

/// Memory and kernels of the engine that `settings` ask for. It adds to what the film already has.
fn engine(target: &Target, settings: &Settings) -> Result<Box<dyn Engine>> {
    Ok(match settings.engine {
        EngineKind::Megakernel => Box::new(megakernel::Megakernel::new(target, settings.counted)?),
        EngineKind::Compaction => Box::new(compaction::Compaction::new(target, settings)?),
        EngineKind::TileQueue => Box::new(tile_queue::TileQueue::new(target, settings)?),
    })
}

/// A picture in the making.
pub struct Render {
    target: Target,
    engine: Box<dyn Engine>,
    slice: Option<Duration>,
    finished: bool,
    statistics: Statistics,
}

impl Render {
    /// Prepares: uploads the scene, takes memory, compiles or loads the kernels.
    pub fn new(device: Arc<dyn Device>, scene: &Scene, settings: &Settings) -> Result<Render> {
        let start = Instant::now();
        let compiled = device.compile_time();
        let target = Target::new(&device, scene)?;
        let engine = engine(&target, settings)?;
        device.synchronize()?;
        let compile = device.compile_time() - compiled;
        let upload = start.elapsed().saturating_sub(compile);
        let statistics = Statistics { compile, upload, ..Statistics::default() };
        Ok(Render { target, engine, slice: settings.slice, finished: false, statistics })
    }

    /// One slice.
    pub fn advance(&mut self) -> Result<Progress> {
        if !self.finished {
            let mut timeline = Timeline::default();
            let counts = self.engine.slice(&self.target, self.slice, &mut timeline)?;
            self.finished = counts.finished >= self.target.total_samples();
            self.account(&timeline, counts)?;
        }
        let counts = self.statistics.counts;
        Ok(Progress {
            samples_done: counts.finished,
            samples_total: self.target.total_samples(),
            rays: counts.rays(),
            finished: self.finished,
        })
    }

    /// Back to an empty film, keeping memory and kernels; times and counts start again.
    pub fn restart(&mut self) -> Result<()> {
        self.target.clear()?;
        self.engine.restart(&self.target);
        self.finished = false;
        let Statistics { compile, upload, .. } = self.statistics;
        self.statistics = Statistics { compile, upload, ..Statistics::default() };
        Ok(())
    }

    /// Goes on with another engine, queue or policy, from the samples that the film has. Paths that were under
    /// way start their sample afresh. If the new engine cannot be made, the old one stays.
    pub fn switch(&mut self, settings: &Settings) -> Result<()> {
        let mut engine = engine(&self.target, settings)?;
        engine.resume(&self.target)?;
        self.engine = engine;
        self.slice = settings.slice;
        Ok(())
    }

    /// Looks from another place, with an empty film.
    pub fn look(&mut self, camera: &Camera) -> Result<()> {
        self.target.look(camera);
        self.restart()
    }

    /// Goes on until each pixel has `samples`, keeping what it has. Few at first give a whole picture early.
    pub fn aim(&mut self, samples: u32) -> Result<()> {
        self.target.samples = samples;
        self.finished = false;
        self.engine.resume(&self.target)
    }

    /// What the next slices aim at; `None`: all in one.
    pub fn set_slice(&mut self, slice: Option<Duration>) {
        self.slice = slice;
    }

    /// What the engine takes of the device's memory beside scene and film.
    pub fn memory(&self) -> EngineMemory {
        self.engine.memory()
    }

    /// Whether the next launch traces from pools of paths; `None` where there is no choice ([`Settings::pools`]).
    pub fn pools(&self) -> Option<bool> {
        self.engine.pools().map(Trial::second)
    }

    /// Whether launches stay as they are from now on: nothing is tried any more.
    pub fn is_settled(&self) -> bool {
        self.engine.pools().is_none_or(Trial::is_over)
    }

    /// How full the tile queues are; `None` for engines without queues.
    pub fn occupancy(&self) -> Result<Option<Occupancy>> {
        self.engine.occupancy()
    }

    /// Rays that the first sample of each pixel takes, row by row; traces them.
    pub fn rays_per_pixel(&self) -> Result<Vec<u32>> {
        ray_count::RayCount::new(&self.target)?.count(&self.target, 0)
    }

    /// What the centre of each pixel sees first, row by row; traces it.
    pub fn first_hits(&self) -> Result<Vec<FirstHit>> {
        first_hit::first_hits(&self.target)
    }

    /// Adds up a slice's times and counts.
    fn account(&mut self, timeline: &Timeline, counts: Counts) -> Result<()> {
        let device = &self.target.device;
        for (ends, phase) in timeline.marks.windows(2).zip(&timeline.phases) {
            let time = device.elapsed(&ends[0], &ends[1])?;
            match phase {
                Phase::Generate => self.statistics.generate += time,
                Phase::Trace => self.statistics.trace += time,
            }
        }
        self.statistics.counts = counts;
        self.statistics.slices += 1;
        Ok(())
    }

    /// What instrumented kernels counted since the start, if the settings asked for them.
    pub fn effort(&self) -> Result<Effort> {
        self.target.counters.read_effort()
    }

    /// A number that tells this film from others of its size, found without reading it.
    pub fn digest(&self) -> Result<u64> {
        digest::digest(&self.target)
    }

    /// The film as it is now.
    pub fn film(&mut self) -> Result<Film> {
        let start = Instant::now();
        let film = self.target.read_film()?;
        self.statistics.resolve += start.elapsed();
        Ok(film)
    }

    /// What it took so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }
}
