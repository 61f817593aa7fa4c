//! Rays of each pixel, for pictures of where the work is. Every engine traces the same rays, so none is asked.

use super::Target;
use super::target::CHUNK;
use crate::device::{Buffer, Kernel, Shape, cover, launch};
use crate::error::Result;
use crate::layout::RayCountParams;
use crate::programs::RAY_COUNT;

/// A kernel, and its result's memory.
pub(super) struct RayCount {
    kernel: Kernel,
    rays: Buffer<u32>,
}

impl RayCount {
    pub fn new(target: &Target) -> Result<RayCount> {
        let kernel = target.device.kernel(&RAY_COUNT.unit(&[target.integrator]), "ray_count")?;
        Ok(RayCount { kernel, rays: Buffer::new(&target.device, target.film.pixels as usize, "ray counts")? })
    }

    /// Rays that sample `sample` of each pixel takes, row by row.
    pub fn count(&self, target: &Target, sample: u32) -> Result<Vec<u32>> {
        let chunks = target.chunks();
        let params =
            RayCountParams { scene: target.scene, rays: self.rays.ptr(), chunks, sample, reserved: 0 };
        let shape = Shape { shared: target.shared, ..cover(&*target.device, chunks * CHUNK) };
        // SAFETY: the parameters are this kernel's, and self and target hold what they point to.
        unsafe { launch(&target.device, &self.kernel, shape, &params)? };
        self.rays.to_vec()
    }
}
