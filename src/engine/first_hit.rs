//! What pixels see first, for layers beside a picture: one ray through the centre of each, the same for every engine.

use super::Target;
use super::target::CHUNK;
use crate::device::{Buffer, Shape, cover, launch};
use crate::error::Result;
use crate::layout::{FirstHit, FirstHitParams, SceneView};
use crate::programs::FIRST_HIT;

/// The first hit of each pixel's centre, row by row.
pub(super) fn first_hits(target: &Target) -> Result<Vec<FirstHit>> {
    let kernel = target.device.kernel(&FIRST_HIT.unit(&[target.integrator]), "first_hit")?;
    let hits = Buffer::new(&target.device, target.film.pixels as usize, "first hits")?;
    let scene = SceneView { jitter: 0.0, ..target.scene };
    let params = FirstHitParams { scene, hits: hits.ptr(), chunks: target.chunks() };
    let shape = Shape { shared: target.shared, ..cover(&*target.device, target.chunks() * CHUNK) };
    // SAFETY: the parameters are this kernel's, and `hits` and `target` hold what they point to.
    unsafe { launch(&target.device, &kernel, shape, &params)? };
    hits.to_vec()
}
