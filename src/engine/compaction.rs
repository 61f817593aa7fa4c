//! The compaction engine: a wavefront of rays, traced bounce by bounce, survivors brought together in between.
//!
//! Ray counts stay on the device; the host launches all bounces of a batch without asking, and looks only every
//! few bounces whether any ray is left.

use super::pace::Pace;
use super::target::CHUNK;
use super::{Compact, Counts, Engine, EngineMemory, Phase, Settings, Target, Timeline};
use crate::device::{BLOCK_THREADS, Buffer, Device, Kernel, Shape, launch};
use crate::error::Result;
use crate::layout::{CompactionParams, Ptr, Quad, RayStore};
use crate::programs::{COMPACTION, COMPACTION_COUNTED};
use std::sync::Arc;
use std::time::Duration;

/// Rays that one wave counts and scatters in scan form (`stretch` of compaction.cpp).
const STRETCH: u64 = 256;
/// Most rays of a batch on a wide device, and on the CPU, where they should stay in its caches.
const BATCH_WIDE: u64 = 1 << 24;
const BATCH_NARROW: u64 = 1 << 14;
/// Bounces launched before the host looks whether any ray is left.
const BOUNCES_UNSEEN: u32 = 8;

/// One side of the double buffer.
struct Rays {
    quads: Buffer<Quad>,
    info: Buffer<u32>,
    pixel: Buffer<u32>,
    capacity: u64,
}

impl Rays {
    fn new(device: &Arc<dyn Device>, capacity: u64) -> Result<Rays> {
        let n = capacity as usize;
        Ok(Rays {
            quads: Buffer::new(device, 3 * n, "rays")?,
            info: Buffer::new(device, n, "rays")?,
            pixel: Buffer::new(device, n, "rays")?,
            capacity,
        })
    }

    fn bytes(&self) -> u64 {
        self.quads.bytes() + self.info.bytes() + self.pixel.bytes()
    }

    fn store(&self) -> RayStore {
        RayStore {
            quads: self.quads.ptr(),
            info: self.info.ptr(),
            pixel: self.pixel.ptr(),
            capacity: self.capacity,
        }
    }
}

struct Kernels {
    trace: Kernel,
    scan_sums: Kernel,
    scatter: Kernel,
}

/// Where the engine is: sample `sample` of the pixels from `chunk` on comes next.
pub(crate) struct Compaction {
    form: Compact,
    kernels: Kernels,
    rays: [Rays; 2],
    counts: Buffer<u32>,
    flags: Buffer<u8>,
    sums: Buffer<u32>,
    persistent: Shape,
    pace: Pace,
    batch_chunks: u64,
    sample: u32,
    chunk: u64,
}

impl Compaction {
    pub(crate) fn new(target: &Target, settings: &Settings) -> Result<Self> {
        let form = settings.compact;
        let device = &target.device;
        let unit = match settings.counted {
            false => COMPACTION.unit(&[target.integrator]),
            true => COMPACTION_COUNTED.unit(&["effort", target.integrator]),
        };
        let trace = if form == Compact::Append { "trace_append" } else { "trace_flag" };
        let kernels = Kernels {
            trace: device.kernel(&unit, trace)?,
            scan_sums: device.kernel(&unit, "scan_sums")?,
            scatter: device.kernel(&unit, "scatter")?,
        };
        let most =
            if device.is_wide() { BATCH_WIDE } else { BATCH_NARROW * u64::from(device.info().compute_units) };
        let most = settings.batch.map_or(most, u64::from);
        let batch_chunks = target.chunks().min(most.div_ceil(CHUNK));
        let capacity = batch_chunks * CHUNK;
        let threads = if device.is_wide() { BLOCK_THREADS } else { 1 };
        let blocks = device.resident_blocks(&kernels.trace, threads, target.shared)?;
        // Runs of rays on the CPU: several a worker, so that the work spreads evenly.
        let blocks = if device.is_wide() { blocks } else { blocks * 16 };
        Ok(Compaction {
            form,
            kernels,
            rays: [Rays::new(device, capacity)?, Rays::new(device, capacity)?],
            counts: Buffer::zeroed(device, target.scene.max_depth as usize + 2, "ray counts")?,
            flags: Buffer::new(
                device,
                if form == Compact::Scan { capacity as usize } else { 0 },
                "ray flags",
            )?,
            sums: Buffer::new(device, capacity.div_ceil(STRETCH) as usize, "ray counts")?,
            persistent: Shape { blocks, threads, shared: target.shared },
            pace: Pace::new(&**device),
            batch_chunks,
            sample: 0,
            chunk: 0,
        })
    }

    /// Parameters for bounce `bounce` of the batch that starts at the current chunk.
    fn params(&self, target: &Target, chunks: u64, bounce: u32) -> CompactionParams {
        let side = bounce as usize % 2;
        CompactionParams {
            scene: target.scene,
            film: target.film,
            counters: target.counters.view(),
            rays: self.rays[side].store(),
            next: self.rays[1 - side].store(),
            count: self.counts.ptr_at(bounce as usize),
            next_count: self.counts.ptr_at(bounce as usize + 1),
            flags: if self.flags.is_empty() { Ptr::null() } else { self.flags.ptr() },
            sums: self.sums.ptr(),
            first_chunk: self.chunk,
            chunks,
            sample: self.sample,
            fresh: u32::from(bounce == 0),
        }
    }

    /// Traces every ray of the batch and brings the survivors together.
    fn bounce(&self, target: &Target, params: &CompactionParams) -> Result<()> {
        let device = &target.device;
        // SAFETY: the parameters are these kernels', and self and target hold what they point to.
        unsafe {
            launch(device, &self.kernels.trace, self.persistent, params)?;
            if self.form == Compact::Scan {
                let threads = if device.is_wide() { 1024 } else { 1 };
                let one_block = Shape { blocks: 1, threads, shared: 4 * threads };
                launch(device, &self.kernels.scan_sums, one_block, params)?;
                launch(device, &self.kernels.scatter, Shape { shared: 0, ..self.persistent }, params)?;
            }
        }
        Ok(())
    }

    /// One sample of `chunks` chunks, from camera to the last bounce.
    fn batch(&self, target: &Target, chunks: u64, timeline: &mut Timeline) -> Result<()> {
        let device = &target.device;
        timeline.enter(device, Phase::Trace)?;
        self.counts.zero()?;
        for bounce in 0..target.scene.max_depth.max(1) {
            // The CPU's counts cost nothing to read.
            if bounce > 0 && (!device.is_wide() || bounce % BOUNCES_UNSEEN == 0) {
                let mut left = [0];
                self.counts.read(bounce as usize, &mut left)?;
                if left[0] == 0 {
                    break;
                }
            }
            self.bounce(target, &self.params(target, chunks, bounce))?;
        }
        Ok(())
    }
}

impl Engine for Compaction {
    fn slice(
        &mut self,
        target: &Target,
        budget: Option<Duration>,
        timeline: &mut Timeline,
    ) -> Result<Counts> {
        let mut left = self.pace.begin(budget);
        let mut launched = 0;
        while left > 0 && self.sample < target.samples {
            let chunks = self.batch_chunks.min(target.chunks() - self.chunk).min((left / CHUNK).max(1));
            self.batch(target, chunks, timeline)?;
            launched += chunks * CHUNK;
            left = left.saturating_sub(chunks * CHUNK);
            self.chunk += chunks;
            if self.chunk == target.chunks() {
                self.chunk = 0;
                self.sample += 1;
            }
        }
        timeline.leave(&target.device)?;
        self.pace.launched(launched);
        target.counters.read()
    }

    fn restart(&mut self, _: &Target) {
        self.sample = 0;
        self.chunk = 0;
    }

    fn memory(&self) -> EngineMemory {
        EngineMemory {
            payload: self.rays.iter().map(Rays::bytes).sum(),
            scheduling: self.counts.bytes() + self.flags.bytes() + self.sums.bytes(),
        }
    }
}
