//! The tile-queue engine: tiles that each own a concurrent queue, served by a persistent kernel, under one of
//! two policies (kernels/engine/tile_paper.h and tile_adaptive.h).

use super::pace::Pace;
use super::target::CHUNK;
use super::{Counts, Engine, Occupancy, Phase, Policy, Settings, Target, Timeline};
use crate::device::{BLOCK_THREADS, Buffer, Kernel, Shape, cover, launch};
use crate::error::{Error, Result};
use crate::layout::{Ptr, Quad, QueueInitParams, RayStore, TileParams};
use crate::programs::TILE_QUEUE;
use crate::queue::{QueueKind, QueueLayout, QueueOptions};
use std::time::Duration;

/// Side of the default tile on a wide device: a power of two, so that slots and pixels agree.
const TILE_WIDE: u32 = 64;
/// Side of the default tile on the CPU: a tile's rays stay in the nearest caches.
const TILE_NARROW: u32 = 32;
/// Most tiles: their number is a kernel's 32-bit index with room to add.
const MOST_TILES: u64 = 1 << 28;
/// Bytes of a stashed path (`Stash::words` of tile_adaptive.h).
const STASHED: u32 = 14 * 4;

/// `info` of a slot without a path (tile.h).
const NO_PATH: u32 = 0;
/// `known_samples` where pixels have different numbers of samples.
const UNKNOWN: u32 = u32::MAX;

/// Tiles of an image.
struct Tiling {
    width: u32,
    height: u32,
    across: u32,
    down: u32,
    /// Slots of a tile: its pixels, padded to whole chunks unless the tile is smaller than one.
    slots: u32,
}

impl Tiling {
    fn new(target: &Target, tile: Option<(u32, u32)>) -> Result<Tiling> {
        let side = if target.device.is_wide() { TILE_WIDE } else { TILE_NARROW };
        let (width, height) = tile.unwrap_or((side, side));
        let (image_width, image_height) = (target.scene.width, target.scene.height);
        if width == 0 || height == 0 {
            return Err(Error::Input(format!("tile {width}x{height}: a tile has at least 1x1 pixels")));
        }
        // A tile larger than the image is the image.
        let (width, height) = (width.min(image_width), height.min(image_height));
        let (across, down) = (image_width.div_ceil(width), image_height.div_ceil(height));
        let slots = if width < 8 || height < 4 {
            u64::from(width) * u64::from(height)
        } else {
            u64::from(width.div_ceil(8)) * u64::from(height.div_ceil(4)) * CHUNK
        };
        let tiles = u64::from(across) * u64::from(down);
        if tiles > MOST_TILES {
            let why =
                format!("tile {width}x{height}: makes {tiles} tiles of the image; the limit is {MOST_TILES}");
            return Err(Error::Input(why));
        }
        let slots = u32::try_from(slots).map_err(|_| {
            Error::Input(format!("tile {width}x{height}: too large, a tile has at most 2^32 slots"))
        })?;
        Ok(Tiling { width, height, across, down, slots })
    }

    fn count(&self) -> u64 {
        u64::from(self.across) * u64::from(self.down)
    }
}

/// The engine's memory and kernels.
pub(crate) struct TileQueue {
    policy: Policy,
    initialise: Kernel,
    generate: Kernel,
    trace: Kernel,
    persistent: Shape,
    tiling: Tiling,
    layout: QueueLayout,
    words: Buffer<u64>,
    records: Buffer<u64>,
    quads: Buffer<Quad>,
    info: Buffer<u32>,
    /// Adaptive policy: slots of each tile that were handed out in this pass.
    given: Buffer<u32>,
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
        let unit = TILE_QUEUE.unit(&[settings.queue.axis_value(), target.integrator]);
        let threads = if device.is_wide() { BLOCK_THREADS } else { 1 };
        let stash_offset = target.shared.next_multiple_of(16);
        let (name, shared) = match settings.policy {
            Policy::Paper => ("paper_trace", target.shared),
            Policy::Adaptive => ("adaptive_trace", stash_offset + threads * STASHED),
        };
        let trace = device.kernel(&unit, name)?;
        let resident = device.resident_blocks(&trace, threads, shared)?;
        let blocks = settings.lanes.map_or(resident, |lanes| lanes.div_ceil(threads).clamp(1, resident));
        let lanes = blocks * threads;
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
            trace,
            persistent: Shape { blocks, threads, shared },
            words: Buffer::new(device, layout.total_words() as usize, "tile queues")?,
            records: Buffer::zeroed(device, layout.total_record_words() as usize, "queue records")?,
            quads: Buffer::new(device, 3 * slots as usize, "ray slots")?,
            info: Buffer::zeroed(device, slots as usize, "ray slots")?,
            given: Buffer::zeroed(device, tiling.count() as usize, "tiles")?,
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
            budget_ticks: ticks,
            tiles_x: self.tiling.across,
            tiles_y: self.tiling.down,
            tile_width: self.tiling.width,
            tile_height: self.tiling.height,
            tile_slots: self.tiling.slots,
            samples: self.upto,
            stash_offset: self.stash_offset,
            parked: u32::from(self.work != Work::None || self.policy == Policy::Paper),
            refill_price: refill_price(target),
            known_samples: self.known_samples,
            grab_slots: self.grab_slots(target),
            reserved: 0,
        }
    }

    /// Slots that a wave takes at a time: up to four turns' worth, but so few that each wave comes back at least
    /// eight times, which evens out what they have to do.
    fn grab_slots(&self, target: &Target) -> u32 {
        if !target.device.is_wide() {
            return CHUNK as u32;
        }
        let lanes = u64::from(self.persistent.blocks * self.persistent.threads);
        let turns = (target.film.pixels / (8 * lanes)).clamp(1, 4);
        turns as u32 * target.device.info().wave_size
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
                self.given.zero()?;
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
                self.persistent.blocks * self.persistent.threads,
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
            timeline.enter(&target.device, Phase::Generate)?;
            self.begin_pass(target, paths, budget.is_some())?;
        } else if self.work == Work::InSlots {
            timeline.enter(&target.device, Phase::Trace)?;
            self.fill_queues(target, self.tiling.slots)?;
        }
        timeline.enter(&target.device, Phase::Trace)?;
        let params = self.params(target, budget);
        // SAFETY: the parameters are this kernel's, and self and target hold what they point to.
        unsafe { launch(&target.device, &self.trace, self.persistent, &params)? };
        timeline.leave(&target.device)?;
        let counts = target.counters.read()?;
        self.pace.launched(counts.finished - self.finished);
        self.check_progress(target, counts.rays(), counts.finished)?;
        let pass_over = counts.finished == target.film.pixels * u64::from(self.upto);
        self.work = if pass_over {
            self.even = true;
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
