//! The sky's image as kernels read it: kernels/trace/environment.h.

use super::alias::aliases;
use crate::layout::{Alias, SkyTexel};
use crate::model::{Image, Texels};
use crate::scene::SkyImage;
use crate::scene::camera::cosine_and_sine;
use glam::Vec3;
use rayon::prelude::*;
use std::f64::consts::TAU;

/// The arrays of a sky; empty without an image.
#[derive(Clone, Debug, Default)]
pub struct Sky {
    /// Texels, row by row from the top.
    pub texels: Vec<SkyTexel>,
    /// One a texel.
    pub aliases: Vec<Alias>,
    /// Cosines of the rows' edges from straight up, one more than rows.
    pub rows: Vec<f32>,
}

impl Sky {
    /// The arrays for an image in latitude and longitude.
    pub fn new(sky: &SkyImage) -> Sky {
        let (width, height) = (sky.image.width as usize, sky.image.height as usize);
        let radiances = radiances(&sky.image, sky.scale);
        let edge = |row: usize| cosine_and_sine(row as f64 / height as f64 * 180.0).0 as f32;
        let rows: Vec<f32> = (0..=height).map(edge).collect();
        let angle = |row: usize| f64::from(rows[row] - rows[row + 1]) * TAU / width as f64;
        let light = smoothed(&radiances, width, height);
        let weights: Vec<f64> = light.par_iter().enumerate().map(|(i, l)| l * angle(i / width)).collect();
        let total: f64 = weights.iter().sum();
        let density = |i: usize| if total > 0.0 { (light[i] / total) as f32 } else { 0.0 };
        let texel = |(i, r): (usize, &Vec3)| SkyTexel { radiance: (*r).into(), density: density(i) };
        Sky { texels: radiances.iter().enumerate().map(texel).collect(), aliases: aliases(&weights), rows }
    }

    /// Whether any light comes from it.
    pub fn shines(&self) -> bool {
        self.texels.iter().any(|t| t.density > 0.0)
    }
}

/// Radiances of an image's texels.
pub fn radiances(image: &Image, scale: f32) -> Vec<Vec3> {
    match &image.texels {
        Texels::Floats(texels) => texels.iter().map(|t| Vec3::from(*t) * scale).collect(),
        Texels::Bytes(_) | Texels::Words(_) => {
            let linear = super::texture::linear_texels(image, true);
            linear.iter().map(|[r, g, b, _]| Vec3::new(*r, *g, *b) * scale).collect()
        }
    }
}

/// For each texel, the mean over it of the smoothed image's brightness: kernels mix the texels next to a direction,
/// which gives a texel's row and column neighbours an eighth each. So no direction with light has density 0.
fn smoothed(radiances: &[Vec3], width: usize, height: usize) -> Vec<f64> {
    let brightness: Vec<f64> = radiances.iter().map(|r| f64::from(r.element_sum()) / 3.0).collect();
    let mix = |before: f64, here: f64, after: f64| (before + 6.0 * here + after) / 8.0;
    let across: Vec<f64> = (0..brightness.len())
        .map(|i| {
            let (row, column) = (i / width * width, i % width);
            let at = |c: usize| brightness[row + c % width];
            mix(at(column + width - 1), at(column), at(column + 1))
        })
        .collect();
    let down = |i: usize| {
        let (row, column) = (i / width, i % width);
        let at = |r: usize| across[r.min(height - 1) * width + column];
        mix(at(row.saturating_sub(1)), at(row), at(row + 1))
    };
    (0..across.len()).map(down).collect()
}
