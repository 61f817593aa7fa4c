//! The megakernel engine: one lane per pixel; the baseline without any queue.

use super::pace::Pace;
use super::target::CHUNK;
use super::{Counts, Engine, Phase, Target, Timeline};
use crate::device::{Kernel, Shape, cover, launch};
use crate::error::Result;
use crate::layout::MegakernelParams;
use crate::programs::MEGAKERNEL;
use std::time::Duration;

/// Where the engine is: every pixel has `upto` samples but those from `chunk` on, which may lack some.
pub(crate) struct Megakernel {
    kernel: Kernel,
    pace: Pace,
    upto: u32,
    chunk: u64,
}

impl Megakernel {
    pub(crate) fn new(target: &Target) -> Result<Self> {
        let kernel = target.device.kernel(&MEGAKERNEL.unit(&[target.integrator]), "megakernel")?;
        Ok(Megakernel { kernel, pace: Pace::new(&*target.device), upto: 0, chunk: target.chunks() })
    }
}

impl Engine for Megakernel {
    fn slice(
        &mut self,
        target: &Target,
        budget: Option<Duration>,
        timeline: &mut Timeline,
    ) -> Result<Counts> {
        let chunks = target.chunks();
        let paths = self.pace.begin(budget);
        if self.chunk == chunks {
            if self.upto == target.samples {
                return target.counters.read();
            }
            // As many samples in one go as the budget has room for: the film is then touched once.
            let samples = paths / (chunks * CHUNK);
            self.upto = u64::from(self.upto).saturating_add(samples.max(1)).min(target.samples.into()) as u32;
            self.chunk = 0;
        }
        let count = (paths / CHUNK).clamp(1, chunks - self.chunk);
        let params = MegakernelParams {
            scene: target.scene,
            film: target.film,
            counters: target.counters.view(),
            first_chunk: self.chunk,
            chunks: count,
            samples: self.upto,
            reserved: 0,
        };
        timeline.enter(&target.device, Phase::Trace)?;
        self.pace.launched(count * CHUNK);
        let shape = Shape { shared: target.shared, ..cover(&*target.device, count * CHUNK) };
        // SAFETY: the parameters are this kernel's, and the target holds what they point to.
        unsafe { launch(&target.device, &self.kernel, shape, &params)? };
        self.chunk += count;
        timeline.leave(&target.device)?;
        target.counters.read()
    }

    fn restart(&mut self, target: &Target) {
        self.upto = 0;
        self.chunk = target.chunks();
    }
}
