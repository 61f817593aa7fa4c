//! Cost curves: the same race at many values of one parameter.

use crate::engine::{EngineKind, Settings};
use crate::error::{Error, Result};
use crate::scene::{Format, Material, Overrides, Scene, Sphere};
use glam::Vec3;
use serde::Serialize;
use std::path::Path;

/// What varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sweep {
    /// Side of the tiles in pixels (tile-queue; the others stay as they are)
    Tile,
    /// Lanes of the persistent kernel (tile-queue)
    Lanes,
    /// Rays of a batch (compaction)
    Batch,
    /// Pixels of the image, in millions, at the ratio 16:9
    Size,
    /// Spheres of a generated scene; the scene files are not used
    Spheres,
    /// Surface interactions of a path at most
    Depth,
}

impl Sweep {
    /// What the parameter is called on a plot's axis.
    pub fn axis(self) -> &'static str {
        match self {
            Sweep::Tile => "side of a tile, pixels",
            Sweep::Lanes => "lanes",
            Sweep::Batch => "rays of a batch",
            Sweep::Size => "image, million pixels",
            Sweep::Spheres => "spheres",
            Sweep::Depth => "surface interactions at most",
        }
    }

    /// Values where nobody chose.
    pub fn values(self, is_wide: bool) -> Vec<f64> {
        let powers = |range: std::ops::RangeInclusive<i32>| range.map(|p| f64::from(p).exp2()).collect();
        match self {
            Sweep::Tile => powers(3..=8),
            Sweep::Lanes if is_wide => powers(10..=18),
            Sweep::Lanes => powers(0..=1),
            Sweep::Batch if is_wide => powers(17..=24),
            Sweep::Batch => powers(10..=17),
            Sweep::Size if is_wide => powers(-2..=6),
            Sweep::Size => powers(-2..=2),
            Sweep::Spheres => (2..=6).map(|p| 10f64.powi(p)).collect(),
            Sweep::Depth => powers(0..=6),
        }
    }

    /// The scene at a value.
    ///
    /// # Errors
    /// A value that the scene cannot have.
    pub fn scene(self, scene: &Scene, value: f64) -> Result<Scene> {
        let wrong = |why: String| Error::Input(format!("--values {value}: {why}"));
        let set = |o: Overrides| scene.clone().with_overrides(&o).map_err(|e| wrong(e.to_string()));
        match self {
            Sweep::Tile | Sweep::Lanes | Sweep::Batch => Ok(scene.clone()),
            // Not a number is in no range.
            Sweep::Size if !SIZES.contains(&value) => {
                Err(wrong(format!("an image has {} to {} million pixels", SIZES.start(), SIZES.end())))
            }
            Sweep::Size => {
                let (width, height) = wide_screen(value);
                set(Overrides { width: Some(width), height: Some(height), ..Overrides::default() })
            }
            Sweep::Depth => set(Overrides { depth: Some(whole(value)?), ..Overrides::default() }),
            Sweep::Spheres => {
                let mut cloud = sphere_cloud(whole(value)?)?;
                cloud.image = scene.image;
                Ok(cloud)
            }
        }
    }

    /// The contenders at a value.
    ///
    /// # Errors
    /// A value that settings cannot have.
    pub fn contenders(self, contenders: &[Settings], value: f64) -> Result<Vec<Settings>> {
        let whole = match self {
            Sweep::Tile | Sweep::Lanes | Sweep::Batch => Some(whole(value)?),
            Sweep::Size | Sweep::Spheres | Sweep::Depth => None,
        };
        let with = |settings: &Settings| {
            let mut settings = settings.clone();
            match (self, settings.engine) {
                (Sweep::Tile, EngineKind::TileQueue) => settings.tile = whole.map(|side| (side, side)),
                (Sweep::Lanes, EngineKind::TileQueue) => settings.lanes = whole,
                (Sweep::Batch, EngineKind::Compaction) => settings.batch = whole,
                _ => {}
            }
            settings
        };
        Ok(contenders.iter().map(with).collect())
    }
}

/// Millions of pixels: 65520x36855 are the most at this ratio.
const SIZES: std::ops::RangeInclusive<f64> = 1e-4..=2400.0;

fn whole(value: f64) -> Result<u32> {
    if value.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&value) {
        return Ok(value as u32);
    }
    Err(Error::Input(format!("--values {value}: this sweep takes whole numbers from 1 up")))
}

/// Width and height of about so many million pixels, whole tiles of 8 across, 16:9.
pub fn wide_screen(megapixels: f64) -> (u32, u32) {
    let across = (megapixels.max(1e-6) * 1e6 * 16.0 / 9.0).sqrt();
    let width = ((across / 16.0).round() as u32 * 16).max(16);
    (width, width / 16 * 9)
}

/// Most spheres of a cloud: as many as a scene can have.
const MOST: u32 = crate::scene::MAX_SPHERES as u32;

/// `count` small spheres in a block of the same density whatever their number, seen from its front: mirrors and
/// diffuse ones, one mirror in four, each moved off its place in the lattice by a hash of its number.
///
/// # Errors
/// More spheres than a scene can have.
pub fn sphere_cloud(count: u32) -> Result<Scene> {
    if count > MOST {
        return Err(Error::Input(format!("--values {count}: a scene has at most {MOST} spheres")));
    }
    let side = (1..).find(|n: &u32| n.pow(3) >= count).unwrap_or(1);
    let edge = side as f32;
    let frame = format!(
        "image = {{ max_depth = 3, jitter = false, spp = 1 }}\n\
         render = {{ integrator = 'whitted' }}\n\
         ambient = [0.05, 0.05, 0.05]\n\
         lights = [{{ type = 'directional', direction = [-0.5, 1.0, 0.6] }}]\n\
         camera = {{ from = [0.0, 0.0, {:?}], at = [0.0, 0.0, 0.0], vfov_deg = 40.0 }}\n\
         objects = []\n",
        2.0 * edge
    );
    let mut scene = Scene::parse(&frame, Format::Toml, Path::new("generated spheres"))?;
    scene.materials = vec![
        Material::Reflective { albedo: Vec3::new(0.9, 0.9, 0.9), reflectivity: 0.8 },
        Material::Reflective { albedo: Vec3::new(0.8, 0.3, 0.2), reflectivity: 0.0 },
        Material::Reflective { albedo: Vec3::new(0.2, 0.5, 0.7), reflectivity: 0.0 },
        Material::Reflective { albedo: Vec3::new(0.8, 0.7, 0.3), reflectivity: 0.0 },
    ];
    scene.spheres = (0..count)
        .map(|n| {
            let place = [n % side, n / side % side, n / side / side];
            let moved =
                |axis: u32| place[axis as usize] as f32 + 0.5 * noise(3 * n + axis) - edge / 2.0 + 0.25;
            Sphere { center: Vec3::new(moved(0), moved(1), moved(2)), radius: 0.2, material: n % 4 }
        })
        .collect();
    Ok(scene)
}

/// A number of 0..1 that belongs to `n` (the finaliser of MurmurHash3).
fn noise(n: u32) -> f32 {
    let mut h = n ^ 0x5bd1_e995;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    ((h ^ (h >> 16)) >> 8) as f32 / (1 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clouds_have_all_their_spheres_within_the_block() {
        for count in [1, 100, 1000, 1001] {
            let cloud = sphere_cloud(count).expect("a scene");
            assert_eq!(cloud.spheres.len(), count as usize);
            let half = (f64::from(count).cbrt().ceil() / 2.0) as f32;
            assert!(cloud.spheres.iter().all(|s| s.center.abs().max_element() <= half), "{count}");
        }
        assert!(sphere_cloud(MOST + 1).is_err());
        assert_eq!(sphere_cloud(1000).expect("a scene"), sphere_cloud(1000).expect("the same"));
    }

    #[test]
    fn sizes_are_about_what_was_asked_for() {
        for megapixels in [0.25, 1.0, 8.0, 33.0, 64.0] {
            let (width, height) = wide_screen(megapixels);
            let made = f64::from(width) * f64::from(height) / 1e6;
            assert!((made / megapixels - 1.0).abs() < 0.05, "{width}x{height}");
            assert_eq!(width * 9, height * 16);
        }
    }

    #[test]
    fn a_value_changes_what_it_should() {
        let scene = sphere_cloud(10).expect("a scene");
        assert_eq!(Sweep::Depth.scene(&scene, 7.0).expect("a scene").image.max_depth, 7);
        assert_eq!(Sweep::Spheres.scene(&scene, 20.0).expect("a scene").spheres.len(), 20);
        assert!(Sweep::Depth.scene(&scene, 0.5).is_err());
        let base = Settings::default();
        let tiles = Sweep::Tile.contenders(std::slice::from_ref(&base), 16.0).expect("settings");
        assert_eq!(tiles[0].tile, Some((16, 16)));
        let lanes = Sweep::Lanes.contenders(std::slice::from_ref(&base), 512.0).expect("settings");
        assert_eq!((lanes[0].tile, lanes[0].lanes), (None, Some(512)));
        let compaction = Settings { engine: EngineKind::Compaction, ..base.clone() };
        let batches = Sweep::Batch.contenders(&[base, compaction], 64.0).expect("settings");
        assert_eq!((batches[0].batch, batches[1].batch), (None, Some(64)));
    }
}
