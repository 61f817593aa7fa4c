//! The waves of the tile-queue engine's persistent kernels, and what they have in memory.

use super::Target;
use super::target::CHUNK;
use super::trial::Trial;
use crate::device::{Buffer, Kernel, Shape};
use crate::error::Result;
use crate::layout::Quad;
use crate::programs::Unit;

/// Most turns that a wave is given at a time (`grab_size` of tile_supply.h).
const MOST_TURNS: u32 = 4;
/// Bytes of a stashed path (`Stash::words` of tile_adaptive.h).
pub(super) const STASHED: u32 = 14 * 4;
/// Adaptive policy in scenes with trees: paths of a wave's pool for each of its lanes (`pool_paths_a_lane` of
/// tile_pool.h) where a wave has many lanes, and where it has one.
const POOLED_WIDE: u32 = 6;
const POOLED_NARROW: u32 = 64;
/// Bytes of a pooled path in memory (`record_quads` and a word), and on chip (twice in `Waiting`).
const POOLED_MEMORY: u32 = 8 * 16 + 4;
const POOLED_ON_CHIP: u32 = 2 * 2;

fn pooled(target: &Target) -> u32 {
    if target.device.is_wide() { POOLED_WIDE } else { POOLED_NARROW }
}

/// What waves hold between launches, and the kernels that move it into the queues and back.
pub(super) struct Hands {
    pub draw: Kernel,
    pub park: Kernel,
    pub places: Buffer<u32>,
    /// Places of one.
    pub size: u32,
}

impl Hands {
    /// Room for what a wave can have: a ray a lane and its stash, or its pool if it `may_pool`, and the slots that it was
    /// given and did not begin.
    pub fn new(target: &Target, unit: &Unit, lanes: u32, may_pool: bool) -> Result<Self> {
        let device = &target.device;
        let wave = device.info().wave_size;
        let paths = if may_pool { pooled(target) } else { 2 };
        let size = paths * wave + (1 + MOST_TURNS) * turn_slots(target);
        let words = (lanes / wave) as usize * (1 + size as usize);
        let (draw, park) = (device.kernel(unit, "adaptive_draw")?, device.kernel(unit, "adaptive_park")?);
        Ok(Hands { draw, park, places: Buffer::new(device, words, "hands of waves")?, size })
    }
}

/// Pools of paths in memory, which waves may trace from instead of going on with what their lanes have.
pub(super) struct Pools {
    pub memory: Buffer<Quad>,
    /// Bytes of on-chip memory of a block.
    pub shared: u32,
    /// Its second way is by pools.
    pub trial: Trial,
}

impl Pools {
    /// For `lanes` in blocks of `threads`, whose on-chip memory has room from `offset` on.
    pub fn new(target: &Target, lanes: u32, threads: u32, offset: u32, wanted: Option<bool>) -> Result<Self> {
        let quads = u64::from(lanes) * u64::from(pooled(target) * POOLED_MEMORY) / size_of::<Quad>() as u64;
        let memory = Buffer::new(&target.device, quads as usize, "pools of waves")?;
        let shared = offset + threads * pooled(target) * POOLED_ON_CHIP;
        Ok(Pools { memory, shared, trial: Trial::new(wanted) })
    }
}

/// A kernel that stays: as many blocks as are resident at a time.
pub(super) struct Persistent {
    pub kernel: Kernel,
    pub shape: Shape,
}

impl Persistent {
    /// `lanes` limits their number, rounded up to whole blocks.
    pub fn new(
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

    pub fn lanes(&self) -> u32 {
        self.shape.blocks * self.shape.threads
    }
}

/// Slots of a turn (tile_supply.h).
pub(super) fn turn_slots(target: &Target) -> u32 {
    target.device.info().wave_size.max(CHUNK as u32)
}
