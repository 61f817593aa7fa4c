//! Given rays in a general scene: what they hit, by the trees or by testing everything. For tests and measurements.

use super::Target;
use crate::device::{Buffer, Device, Shape, cover, launch};
use crate::error::Result;
use crate::layout::{ProbeHit, ProbeRay, RayProbeParams};
use crate::programs::RAY_PROBE;
use crate::scene::Scene;
use std::sync::Arc;
use std::time::Duration;

/// How hits are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Through the trees, as pictures are traced.
    Trees,
    /// Through the trees, counting what is tested.
    TreesCounted,
    /// By testing every primitive.
    Everything,
}

/// A scene whose trees can be asked.
pub struct RayProbe {
    target: Target,
}

impl RayProbe {
    /// Uploads `scene`, any that the path integrator can trace, with its trees.
    pub fn new(device: &Arc<dyn Device>, scene: &Scene) -> Result<RayProbe> {
        Ok(RayProbe { target: Target::general(device, scene)? })
    }

    /// What each ray hits, and how long the device took. Counts are 0 but for [`By::TreesCounted`].
    pub fn trace(&self, rays: &[ProbeRay], by: By) -> Result<(Vec<ProbeHit>, Duration)> {
        let kernel = match by {
            By::Trees => "probe_rays",
            By::TreesCounted => "probe_rays_counted",
            By::Everything => "probe_rays_everything",
        };
        let device = &self.target.device;
        let kernel = device.kernel(&RAY_PROBE.unit(&["general"]), kernel)?;
        let (rays, hits) =
            (Buffer::from_slice(device, rays, "rays")?, Buffer::new(device, rays.len(), "hits")?);
        let count = rays.len() as u64;
        let params = RayProbeParams { scene: self.target.scene, rays: rays.ptr(), hits: hits.ptr(), count };
        let start = device.mark()?;
        let shape = Shape { shared: 0, ..cover(&**device, count) };
        // SAFETY: the parameters are this kernel's, and self, `rays` and `hits` hold what they point to.
        unsafe { launch(device, &kernel, shape, &params)? };
        let end = device.mark()?;
        let hits = hits.to_vec()?;
        Ok((hits, device.elapsed(&start, &end)?))
    }
}
