//! The directional albedo of a GGX surface: how much of a white one's light comes back after one bounce among its
//! microfacets. Kernels/trace/ggx.h gives back what this lacks.

use crate::scene::camera::cosine_and_sine;
use rayon::prelude::*;
use std::sync::OnceLock;

/// `albedo_steps` of kernels/trace/ggx.h.
const STEPS: usize = 32;
/// Microfacets of each entry: across a spherical cap, and around half of it.
const CAP: (usize, usize) = (96, 16);

/// For each roughness (0..=1, even steps) and each root of a cosine (0..=1, even steps) two numbers, a and b: the
/// albedo is f0 * a + f90 * b.
pub fn table() -> &'static [f32] {
    static TABLE: OnceLock<Vec<f32>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let last = (STEPS - 1) as f64;
        let entries = (0..STEPS * STEPS).into_par_iter().flat_map_iter(|i| {
            let (roughness, root) = ((i / STEPS) as f64 / last, (i % STEPS) as f64 / last);
            albedo(roughness * roughness, root * root).map(|a| a as f32)
        });
        entries.collect()
    })
}

/// The two numbers for slopes of width `alpha`, seen at this cosine from the normal. Visible microfacets are taken
/// evenly from their spherical cap, as kernels do (`visible_facet`).
fn albedo(alpha: f64, cosine: f64) -> [f64; 2] {
    let out_z = cosine.max(1e-4);
    let out_x = (1.0 - out_z * out_z).sqrt();
    let spread = |z: f64| (alpha * alpha * (1.0 - z * z) + z * z).sqrt();
    let (stretched_x, stretched_z) = (alpha * out_x / spread(out_z), out_z / spread(out_z));
    let mut sums = [0.0; 2];
    for around in 0..CAP.1 {
        let (cos, sin) = cosine_and_sine((around as f64 + 0.5) / CAP.1 as f64 * 180.0);
        for across in 0..CAP.0 {
            let z = (1.0 - (across as f64 + 0.5) / CAP.0 as f64) * (1.0 + stretched_z) - stretched_z;
            let radius = (1.0 - z * z).max(0.0).sqrt();
            let facet = [alpha * (radius * cos + stretched_x), alpha * radius * sin, z + stretched_z];
            let length = facet.iter().map(|f| f * f).sum::<f64>().sqrt();
            let toward = (out_x * facet[0] + out_z * facet[2]) / length;
            let in_z = 2.0 * toward * facet[2] / length - out_z;
            if in_z <= 0.0 {
                continue;
            }
            // Smith's G2 / G1, height-correlated.
            let seen = in_z * (out_z + spread(out_z)) / (out_z * spread(in_z) + in_z * spread(out_z));
            let grazing = schlick(1.0 - toward);
            sums[0] += seen * (1.0 - grazing);
            sums[1] += seen * grazing;
        }
    }
    sums.map(|sum| sum / (CAP.0 * CAP.1) as f64)
}

/// The fifth power.
fn schlick(m: f64) -> f64 {
    (m * m) * (m * m) * m
}
