//! The tile-queue engine: tiles that each own a concurrent queue, served by a persistent kernel, under one of
//! two policies (kernels/engine/tile_paper.h and tile_adaptive.h).

use super::pace::Pace;
use super::target::CHUNK;
use super::{Counts, Engine, EngineMemory, Occupancy, Phase, Policy, Settings, Target, Timeline};
use crate::device::{BLOCK_THREADS, Buffer, Kernel, Shape, cover, launch};
use crate::error::{Error, Result};
use crate::layout::{Ptr, Quad, QueueInitParams, RayStore, TileParams};
use crate::programs::{TILE_QUEUE, TILE_QUEUE_COUNTED, Unit};
use crate::queue::{QueueKind, QueueLayout, QueueOptions};
use std::time::Duration;

/// Side of the default tile on a wide device: a power of two, so that slots and pixels agree.
const TILE_WIDE: u32 = 64;
/// Side of the default tile on the CPU: a tile's rays stay in the nearest caches.
const TILE_NARROW: u32 = 32;
/// Paper policy: lanes that serve a tile together on a wide device. Measured on an H200 at 3840x2160 with tiles of
/// 64x64, from 64 to 2048 lanes: up to 512 (Complex) and 2048 (Cornell) more gain, since fewer tiles' rays are under
/// way at a time and they stay in the L2 cache; beyond that lanes get into each other's way.
const TILE_LANES: u32 = 1024;
/// Most tiles: their number is a kernel's 32-bit index with room to add.
const MOST_TILES: u64 = 1 << 28;
/// Most turns that a wave is given at a time (`grab_size` of tile_adaptive.h).
const MOST_TURNS: u32 = 4;
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
    /// Launches of limited time.
    slice: Persistent,
    /// Adaptive policy: launches without limit.
    whole: Option<Persistent>,
    /// Adaptive policy: what is between the queues and waves.
    hands: Option<Hands>,
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

/// What waves hold between launches, and the kernels that move it into the queues and back.
struct Hands {
    draw: Kernel,
    park: Kernel,
    places: Buffer<u32>,
    /// Places of one.
    size: u32,
}

impl Hands {
    /// Room for what a wave can have: a ray a lane, its stash, and the slots that it was given and did not begin.
    fn new(target: &Target, unit: &Unit, lanes: u32) -> Result<Self> {
        let device = &target.device;
        let wave = device.info().wave_size;
        let size = 2 * wave + (1 + MOST_TURNS) * turn_slots(target);
        let words = (lanes / wave) as usize * (1 + size as usize);
        let (draw, park) = (device.kernel(unit, "adaptive_draw")?, device.kernel(unit, "adaptive_park")?);
        Ok(Hands { draw, park, places: Buffer::new(device, words, "hands of waves")?, size })
    }
}

/// A kernel that stays: as many blocks as are resident at a time.
struct Persistent {
    kernel: Kernel,
    shape: Shape,
}

impl Persistent {
    /// `lanes` limits their number, rounded up to whole blocks.
    fn new(
        target: &Target,
        unit: &Unit,
        kernel: &'static str,
        threads: u32,
        shared: u32,
        lanes: Option<u32>,
    ) -> Result<Self> {
        let kernel = target.device.kernel(unit, kernel)?;
        let resident = target.device.resident_blocks(&kernel, threads, shared)?;
        let blocks = lanes.map_or(resident, |lanes| lanes.div_ceil(threads).clamp(1, resident));
        Ok(Persistent { kernel, shape: Shape { blocks, threads, shared } })
    }

    fn lanes(&self) -> u32 {
        self.shape.blocks * self.shape.threads
    }
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
        let lanes = slice.lanes();
        let hands = match settings.policy {
            Policy::Paper => None,
            Policy::Adaptive => Some(Hands::new(target, &unit, lanes)?),
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

    /// Under the adaptive policy rays come out of the queues before, and go into them after a launch of limited time.
    fn launch_slice(&self, target: &Target, budget: Option<Duration>) -> Result<()> {
        let params = self.params(target, budget);
        let run = |kernel, shape| {
            // SAFETY: the parameters are these kernels', and self and target hold what they point to.
            unsafe { launch(&target.device, kernel, shape, &params) }
        };
        if let Some(whole) = self.whole.as_ref().filter(|_| params.budget_ticks == 0 && params.parked == 0) {
            return run(&whole.kernel, whole.shape);
        }
        let by_hands = Shape { shared: 0, ..self.slice.shape };
        if let Some(hands) = self.hands.as_ref().filter(|_| params.parked != 0) {
            run(&hands.draw, by_hands)?;
        }
        run(&self.slice.kernel, self.slice.shape)?;
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

/// Slots of a turn (tile_adaptive.h).
fn turn_slots(target: &Target) -> u32 {
    target.device.info().wave_size.max(CHUNK as u32)
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
        self.launch_slice(target, budget)?;
        timeline.leave(&target.device)?;
        let counts = target.counters.read()?;
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
            payload: self.quads.bytes() + self.info.bytes(),
            scheduling: self.words.bytes()
                + self.records.bytes()
                + self.given.bytes()
                + self.hands.as_ref().map_or(0, |h| h.places.bytes()),
        }
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
