//! The tile-queue engine: tiles that each own a concurrent queue, served by a persistent kernel, under one of
//! two policies (kernels/engine/tile_paper.h and tile_adaptive.h).

use super::pace::Pace;
use super::tiling::Tiling;
use super::trial::Trial;
use super::waves::{Hands, Persistent, Pools, STASHED, turn_slots};
use super::{Counts, Engine, EngineMemory, Occupancy, Phase, Policy, Settings, Target, Timeline};
use crate::device::{BLOCK_THREADS, Buffer, Kernel, Shape, cover, launch};
use crate::error::{Error, Result};
use crate::layout::{Ptr, Quad, QueueInitParams, RayStore, TileParams};
use crate::programs::{TILE_QUEUE, TILE_QUEUE_COUNTED};
use crate::queue::{QueueKind, QueueLayout, QueueOptions};
use std::time::{Duration, Instant};

/// Paper policy: lanes that serve a tile together on a wide device. Measured on an H200 at 3840x2160 with tiles of
/// 64x64, from 64 to 2048 lanes: up to 512 (Complex) and 2048 (Cornell) more gain, since fewer tiles' rays are under
/// way at a time and they stay in the L2 cache; beyond that lanes get into each other's way.
const TILE_LANES: u32 = 1024;
/// `info` of a slot without a path (tile.h).
const NO_PATH: u32 = 0;
/// `known_samples` where pixels have different numbers of samples.
const UNKNOWN: u32 = u32::MAX;

/// The engine's memory and kernels.
pub(crate) struct TileQueue {
    policy: Policy,
    initialise: Kernel,
    generate: Kernel,
    /// Launches of limited time.
    slice: Persistent,
    /// Adaptive policy: launches without limit, of paths that may have hits.
    whole: Option<Persistent>,
    /// Adaptive policy: what is between the queues and waves.
    hands: Option<Hands>,
    /// Adaptive policy, scenes with trees: another way to trace.
    pools: Option<Pools>,
    tiling: Tiling,
    layout: QueueLayout,
    words: Buffer<u64>,
    records: Buffer<u64>,
    quads: Buffer<Quad>,
    info: Buffer<u32>,
    /// Adaptive policy: turns that were handed out in this pass.
    given: Buffer<u32>,
    given_is_zero: bool,
    /// Adaptive policy: bytes of a block's copy of the scene.
    stash_offset: u32,
    pace: Pace,
    /// Samples that each pixel shall have when the pass is over.
    upto: u32,
    /// Samples that each pixel has when it begins, or `UNKNOWN`.
    known_samples: u32,
    /// Between passes each pixel has `upto` samples; not so when the film is another engine's.
    even: bool,
    work: Work,
    /// Rays and samples when the last slice was over.
    rays: u64,
    finished: u64,
}

/// Where the paths are that a pass still has to trace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// No pass has begun.
    None,
    /// In their slots; the queues have to be filled with the slots' numbers.
    InSlots,
    /// In their slots, whose numbers are in the queues.
    InQueues,
}

impl TileQueue {
    pub(crate) fn new(target: &Target, settings: &Settings) -> Result<Self> {
        let device = &target.device;
        let tiling = Tiling::new(target, settings.tile)?;
        if !QueueKind::TILE_QUEUES.contains(&settings.queue) {
            let offered = QueueKind::TILE_QUEUES.map(QueueKind::name).join(", ");
            let why = format!("queue {}: only benches have it; tiles can have {offered}", settings.queue);
            return Err(Error::Input(why));
        }
        let queue = settings.queue.axis_value();
        let unit = match settings.counted {
            false => TILE_QUEUE.unit(&[queue, target.integrator]),
            true => TILE_QUEUE_COUNTED.unit(&["effort", queue, target.integrator]),
        };
        let threads = if device.is_wide() { BLOCK_THREADS } else { 1 };
        let stash_offset = target.shared.next_multiple_of(16);
        let shared = match settings.policy {
            Policy::Paper => target.shared,
            Policy::Adaptive => stash_offset + threads * STASHED,
        };
        let persistent = |kernel| Persistent::new(target, &unit, kernel, threads, shared, settings.lanes);
        let (slice, whole) = match settings.policy {
            Policy::Paper => (persistent("paper_trace")?, None),
            Policy::Adaptive => (persistent("adaptive_slice")?, Some(persistent("adaptive_whole")?)),
        };
        let lanes = slice.lanes().max(whole.as_ref().map_or(0, Persistent::lanes));
        let may_pool = settings.policy == Policy::Adaptive && target.has_trees();
        let hands = match settings.policy {
            Policy::Paper => None,
            Policy::Adaptive => Some(Hands::new(target, &unit, lanes, may_pool)?),
        };
        let pools = match settings.pools {
            None | Some(true) if may_pool => {
                Some(Pools::new(target, lanes, threads, stash_offset, settings.pools)?)
            }
            _ => None,
        };
        let options = QueueOptions {
            patience: settings.patience,
            help_delay: settings.help_delay,
            ..QueueOptions::default()
        };
        let layout =
            QueueLayout::new(settings.queue, tiling.slots.into(), tiling.count(), lanes, lanes, &options)?;
        let slots = tiling.count() * u64::from(tiling.slots);
        Ok(TileQueue {
            policy: settings.policy,
            initialise: device.kernel(&unit, "queue_initialise")?,
            generate: device.kernel(&unit, "paper_generate")?,
            slice,
            whole,
            hands,
            pools,
            words: Buffer::new(device, layout.total_words() as usize, "tile queues")?,
            records: Buffer::zeroed(device, layout.total_record_words() as usize, "queue records")?,
            quads: Buffer::new(device, 3 * slots as usize, "ray slots")?,
            info: Buffer::zeroed(device, slots as usize, "ray slots")?,
            given: Buffer::zeroed(device, 1, "tiles")?,
            given_is_zero: true,
            stash_offset,
            tiling,
            layout,
            pace: Pace::new(&**device),
            upto: 0,
            known_samples: 0,
            even: true,
            work: Work::None,
            rays: 0,
            finished: 0,
        })
    }

    fn params(&self, target: &Target, budget: Option<Duration>) -> TileParams {
        let ticks_per_second = target.device.info().ticks_per_second as f64;
        let ticks = budget.map_or(0, |b| ((b.as_secs_f64() * ticks_per_second) as u64).max(1));
        let slots = self.info.len() as u64;
        let tile_turns = self.tiling.slots.div_ceil(turn_slots(target));
        TileParams {
            scene: target.scene,
            film: target.film,
            counters: target.counters.view(),
            rays: RayStore {
                quads: self.quads.ptr(),
                info: self.info.ptr(),
                pixel: Ptr::null(),
                capacity: slots,
            },
            space: self.layout.space(self.words.ptr(), self.records.ptr()),
            given: self.given.ptr(),
            hands: self.hands.as_ref().map_or(Ptr::null(), |h| h.places.ptr()),
            pools: self.pools_in_use().map_or(Ptr::null(), |pools| pools.memory.ptr()),
            budget_ticks: ticks,
            tiles_x: self.tiling.across,
            tiles_y: self.tiling.down,
            tile_width: self.tiling.width,
            tile_height: self.tiling.height,
            tile_slots: self.tiling.slots,
            samples: self.upto,
            stash_offset: self.stash_offset,
            hand_size: self.hands.as_ref().map_or(0, |h| h.size),
            parked: u32::from(self.work != Work::None),
            first_slice: u32::from(self.work == Work::None),
            refill_price: refill_price(target),
            known_samples: self.known_samples,
            reserved: 0,
            tile_turns,
            turns: tile_turns * self.tiling.count() as u32,
            tile_waves: if target.device.is_wide() { TILE_LANES / target.device.info().wave_size } else { 1 },
        }
    }

    /// Fills the queues with every slot; slots without a path drop out when they are drawn.
    fn fill_queues(&mut self, target: &Target, fill: u32) -> Result<()> {
        let device = &target.device;
        let init = QueueInitParams { space: self.params(target, None).space, fill, reserved: 0 };
        self.records.zero()?;
        // A wave a queue.
        let shape = cover(&**device, self.tiling.count() * u64::from(device.info().wave_size));
        // SAFETY: the parameters are this kernel's, and self holds what they point to.
        unsafe { launch(device, &self.initialise, shape, &init) }
    }

    /// Begins a pass: the samples that it adds, and the policy's way to hand them out.
    fn begin_pass(&mut self, target: &Target, paths: u64, limited: bool) -> Result<()> {
        let samples = match self.policy {
            _ if !self.even => u64::from(target.samples),
            Policy::Paper => u64::from(target.samples),
            // As many in one go as the budget has room for: the film is then touched once.
            Policy::Adaptive => u64::from(self.upto).saturating_add((paths / target.film.pixels).max(1)),
        };
        self.known_samples = if self.even { self.upto } else { UNKNOWN };
        self.upto = samples.min(target.samples.into()) as u32;
        match self.policy {
            Policy::Paper => {
                let shape = cover(&*target.device, self.info.len() as u64);
                // SAFETY: the parameters are this kernel's, and self and target hold what they point to.
                unsafe { launch(&target.device, &self.generate, shape, &self.params(target, None))? };
                self.fill_queues(target, self.tiling.slots)
            }
            Policy::Adaptive => {
                if !std::mem::take(&mut self.given_is_zero) {
                    self.given.zero()?;
                }
                // Without a limit no ray is ever parked.
                if !limited {
                    return Ok(());
                }
                // A pass that was given up has left paths in their slots.
                self.info.zero()?;
                self.fill_queues(target, 0)
            }
        }
    }

    /// The pools, if the next launch is by pools.
    fn pools_in_use(&self) -> Option<&Pools> {
        self.pools.as_ref().filter(|pools| pools.trial.second())
    }

    /// Under the adaptive policy rays come out of the queues before, and go into them after a launch of limited time.
    fn launch_slice(&self, target: &Target, budget: Option<Duration>) -> Result<()> {
        let params = self.params(target, budget);
        let run = |kernel, shape| {
            // SAFETY: the parameters are these kernels', and self and target hold what they point to.
            unsafe { launch(&target.device, kernel, shape, &params) }
        };
        let shape = |kernel: &Persistent| Shape {
            shared: self.pools_in_use().map_or(kernel.shape.shared, |pools| pools.shared),
            ..kernel.shape
        };
        let whole = params.budget_ticks == 0 && params.parked == 0 && params.scene.max_depth != 0;
        if let Some(whole) = self.whole.as_ref().filter(|_| whole) {
            return run(&whole.kernel, shape(whole));
        }
        let by_hands = Shape { shared: 0, ..self.slice.shape };
        if let Some(hands) = self.hands.as_ref().filter(|_| params.parked != 0) {
            run(&hands.draw, by_hands)?;
        }
        run(&self.slice.kernel, shape(&self.slice))?;
        self.hands.as_ref().map_or(Ok(()), |hands| run(&hands.park, by_hands))
    }

    /// A slice that got nothing done would be followed by another for ever.
    fn check_progress(&mut self, target: &Target, rays: u64, finished: u64) -> Result<()> {
        let missing = target.total_samples() - finished;
        if missing > 0 && (rays, finished) == (self.rays, self.finished) {
            return Err(Error::Device(format!(
                "{}: {} queues of {} tiles, {} lanes: a slice traced nothing, though {missing} samples are \
                 missing; please report this",
                target.device.info().id,
                self.layout.kind(),
                self.tiling.count(),
                self.slice.lanes(),
            )));
        }
        (self.rays, self.finished) = (rays, finished);
        Ok(())
    }
}

/// What it costs to refill a wave, in steps of a lane: estimated instructions of a refill over those of a step.
fn refill_price(target: &Target) -> u32 {
    const REFILL: u32 = 120;
    let scene = &target.scene;
    let step = 200 + 10 * scene.sphere_count.min(1 << 20) + 17 * scene.plane_count + 30 * scene.light_count;
    (target.device.info().wave_size * REFILL / step).max(1)
}

impl Engine for TileQueue {
    fn slice(
        &mut self,
        target: &Target,
        budget: Option<Duration>,
        timeline: &mut Timeline,
    ) -> Result<Counts> {
        let paths = self.pace.begin(budget);
        if self.work == Work::None {
            if self.policy == Policy::Paper || budget.is_some() {
                timeline.enter(&target.device, Phase::Generate)?;
            }
            self.begin_pass(target, paths, budget.is_some())?;
        } else if self.work == Work::InSlots {
            timeline.enter(&target.device, Phase::Trace)?;
            self.fill_queues(target, self.tiling.slots)?;
        }
        timeline.enter(&target.device, Phase::Trace)?;
        let start = Instant::now();
        self.launch_slice(target, budget)?;
        timeline.leave(&target.device)?;
        let counts = target.counters.read()?;
        if let Some(pools) = &mut self.pools {
            pools.trial.launched(counts.rays() - self.rays, start.elapsed());
        }
        self.pace.launched(counts.finished - self.finished);
        self.check_progress(target, counts.rays(), counts.finished)?;
        let pass_over = counts.finished == target.film.pixels * u64::from(self.upto);
        self.work = if pass_over {
            self.even = true;
            // Now, so that the next pass need not wait for it.
            self.given.zero()?;
            self.given_is_zero = true;
            Work::None
        } else if self.layout.kind().may_refuse() {
            // Rays that a queue refused are in their slots alone: such queues start afresh with each slice.
            Work::InSlots
        } else {
            Work::InQueues
        };
        Ok(counts)
    }

    fn restart(&mut self, _: &Target) {
        self.upto = 0;
        self.even = true;
        self.work = Work::None;
        (self.rays, self.finished) = (0, 0);
    }

    fn resume(&mut self, target: &Target) -> Result<()> {
        let counts = target.counters.read()?;
        self.even = false;
        self.work = Work::None;
        (self.rays, self.finished) = (counts.rays(), counts.finished);
        Ok(())
    }

    fn memory(&self) -> EngineMemory {
        EngineMemory {
            payload: self.quads.bytes()
                + self.info.bytes()
                + self.pools.as_ref().map_or(0, |pools| pools.memory.bytes()),
            scheduling: self.words.bytes()
                + self.records.bytes()
                + self.given.bytes()
                + self.hands.as_ref().map_or(0, |h| h.places.bytes()),
        }
    }

    fn pools(&self) -> Option<&Trial> {
        self.pools.as_ref().map(|pools| &pools.trial)
    }

    fn occupancy(&self) -> Result<Option<Occupancy>> {
        let tiles = self.tiling.count() as usize;
        let mut waiting = vec![0; tiles];
        if self.work != Work::None {
            // Between slices no lane is inside a queue: every slot with a path is waiting in its tile's.
            let slots = self.info.to_vec()?;
            let live = |tile: &[u32]| tile.iter().filter(|&&info| info != NO_PATH).count() as u32;
            waiting = slots.chunks(self.tiling.slots as usize).map(live).collect();
        }
        Ok(Some(Occupancy {
            tile: (self.tiling.width, self.tiling.height),
            across: self.tiling.across,
            capacity: self.tiling.slots,
            waiting,
        }))
    }
}
