//! A film's digest, found on the device: films that differ have different ones, but for a chance of 2^-64.

use super::Target;
use crate::device::{Buffer, cover, launch};
use crate::error::Result;
use crate::layout::FilmDigestParams;
use crate::programs::FILM_DIGEST;

/// The digest of the target's film. Says nothing about films of other sizes.
pub(super) fn digest(target: &Target) -> Result<u64> {
    let device = &target.device;
    let kernel = device.kernel(&FILM_DIGEST.unit(&[]), "film_digest")?;
    let sum = Buffer::<u64>::zeroed(device, 1, "a digest")?;
    let params = FilmDigestParams { film: target.film, digest: sum.ptr() };
    // Some pixels a lane, so that sums meet less often.
    let shape = cover(&**device, target.film.pixels.div_ceil(16));
    // SAFETY: the parameters are this kernel's, and the target and `sum` hold what they point to.
    unsafe { launch(device, &kernel, shape, &params)? };
    Ok(sum.to_vec()?[0])
}
