//! The tile-queue engine: tiles that each own a concurrent queue, served by a persistent kernel.

use super::target::CHUNK;
use super::{Engine, Occupancy, Phase, Settings, Target, Timeline};
use crate::device::{BLOCK_THREADS, Buffer, Kernel, Shape, cover, launch};
use crate::error::{Error, Result};
use crate::layout::{Ptr, Quad, QueueInitParams, RayStore, TileParams};
use crate::programs::TILE_QUEUE;
use crate::queue::{QueueKind, QueueLayout, QueueOptions};
use std::time::Duration;

/// Side of the default tile on a wide device: 4096 slots, a whole power of two.
const TILE_WIDE: u32 = 64;
/// Side of the default tile on the CPU: a tile's rays stay in the nearest caches.
const TILE_NARROW: u32 = 32;
/// Most tiles: their number is a kernel's 32-bit index with room to add.
const MOST_TILES: u64 = 1 << 28;

/// `info` of a slot without a path (`no_path` of kernels/trace/path.h).
const NO_PATH: u32 = u32::MAX;

/// Tiles of an image.
struct Tiling {
    width: u32,
    height: u32,
    across: u32,
    down: u32,
    /// Slots of a tile: its pixels, padded to whole chunks.
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
        let slots = u64::from(width.div_ceil(8)) * u64::from(height.div_ceil(4)) * CHUNK;
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
    work: Work,
    /// Rays and samples when the last slice was over.
    rays: u64,
    finished: u64,
}

/// Where the paths are that are still to be traced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Not there yet.
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
        let trace = device.kernel(&unit, "tile_trace")?;
        let threads = if device.is_wide() { BLOCK_THREADS } else { 1 };
        let resident = device.resident_blocks(&trace, threads, target.shared)?;
        let blocks = settings.lanes.map_or(resident, |lanes| lanes.div_ceil(threads).clamp(1, resident));
        let persistent = Shape { blocks, threads, shared: target.shared };
        let options = QueueOptions {
            patience: settings.patience,
            help_delay: settings.help_delay,
            ..QueueOptions::default()
        };
        let lanes = blocks * threads;
        let layout =
            QueueLayout::new(settings.queue, tiling.slots.into(), tiling.count(), lanes, lanes, &options)?;
        let slots = tiling.count() * u64::from(tiling.slots);
        Ok(TileQueue {
            initialise: device.kernel(&unit, "queue_initialise")?,
            generate: device.kernel(&unit, "tile_generate")?,
            trace,
            persistent,
            words: Buffer::new(device, layout.total_words() as usize, "tile queues")?,
            records: Buffer::zeroed(device, layout.total_record_words() as usize, "queue records")?,
            quads: Buffer::new(device, 3 * slots as usize, "ray slots")?,
            info: Buffer::new(device, slots as usize, "ray slots")?,
            tiling,
            layout,
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
            budget_ticks: ticks,
            tiles_x: self.tiling.across,
            tiles_y: self.tiling.down,
            tile_width: self.tiling.width,
            tile_height: self.tiling.height,
            tile_slots: self.tiling.slots,
            samples: target.samples,
        }
    }

    /// Fills the queues with every slot; slots without a path drop out when they are drawn.
    fn fill_queues(&mut self, target: &Target) -> Result<()> {
        let device = &target.device;
        let space = self.params(target, None).space;
        let init = QueueInitParams { space, fill: self.tiling.slots, reserved: 0 };
        self.records.zero()?;
        // A wave a queue.
        let shape = cover(&**device, self.tiling.count() * u64::from(device.info().wave_size));
        // SAFETY: the parameters are this kernel's, and self holds what they point to.
        unsafe { launch(device, &self.initialise, shape, &init) }
    }

    /// Fills the slots with what their pixels lack.
    fn generate(&self, target: &Target) -> Result<()> {
        let device = &target.device;
        // SAFETY: the parameters are this kernel's, and self and target hold what they point to.
        unsafe {
            launch(
                device,
                &self.generate,
                cover(&**device, self.info.len() as u64),
                &self.params(target, None),
            )
        }
    }
}

impl Engine for TileQueue {
    fn slice(&mut self, target: &Target, budget: Option<Duration>, timeline: &mut Timeline) -> Result<bool> {
        if self.work == Work::None {
            timeline.enter(&target.device, Phase::Generate)?;
            self.generate(target)?;
            self.fill_queues(target)?;
        } else if self.work == Work::InSlots {
            timeline.enter(&target.device, Phase::Trace)?;
            self.fill_queues(target)?;
        }
        timeline.enter(&target.device, Phase::Trace)?;
        let params = self.params(target, budget);
        // SAFETY: the parameters are this kernel's, and self and target hold what they point to.
        unsafe { launch(&target.device, &self.trace, self.persistent, &params)? };
        let counts = target.counters.read()?;
        let finished = counts.finished == target.total_samples();
        if !finished && counts.rays() == self.rays && counts.finished == self.finished {
            return Err(Error::Device(format!(
                "{}: {} queues of {} tiles, {} lanes: a slice traced nothing, though {} samples are missing; \
                 please report this",
                target.device.info().id,
                self.layout.kind(),
                self.tiling.count(),
                self.persistent.blocks * self.persistent.threads,
                target.total_samples() - counts.finished
            )));
        }
        (self.rays, self.finished) = (counts.rays(), counts.finished);
        // Rays that a queue refused are in their slots alone: such queues start afresh with each slice.
        self.work = if self.layout.kind().may_refuse() { Work::InSlots } else { Work::InQueues };
        Ok(finished)
    }

    fn restart(&mut self, _: &Target) {
        self.work = Work::None;
        (self.rays, self.finished) = (0, 0);
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
