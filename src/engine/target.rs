//! What every engine works on: a scene and a film in a device's memory.

use super::counters::Counters;
use super::world::WorldBuffers;
use crate::device::{Buffer, Device};
use crate::error::{Error, Result};
use crate::film::Film;
use crate::layout::{FilmView, Light, Material, Plane, Ptr, SceneView, SphereBatch, SphereShade, SphereTest};
use crate::scene::flatten::{self, Arrays};
use crate::scene::{Camera, Integrator, Scene};
use std::sync::Arc;

/// Pixels of a chunk (8x4), the unit in which engines hand out pixels (`chunk_lanes` of path.h).
pub const CHUNK: u64 = 32;

/// Largest scene that launches copy to on-chip memory, in bytes: four blocks a multiprocessor then still fit the
/// smallest such memory of current GPUs (64 KiB).
const MOST_ON_CHIP: usize = 16 << 10;

/// A scene, a film and counters on one device.
pub struct Target {
    /// Where everything lives.
    pub device: Arc<dyn Device>,
    /// The scene, for launches.
    pub scene: SceneView,
    /// The film, for launches.
    pub film: FilmView,
    /// The counters.
    pub counters: Counters,
    /// Samples that each pixel shall have.
    pub samples: u32,
    /// Which kernels trace it: a value of [`crate::programs::INTEGRATOR`].
    pub integrator: &'static str,
    /// Bytes of on-chip memory that a block of a tracing kernel needs for its copy of the scene.
    pub shared: u32,
    sums: Buffer<u64>,
    counts: Buffer<u32>,
    // Kept for their memory, which `scene` points into.
    _spheres: Buffer<SphereTest>,
    _sphere_batches: Buffer<SphereBatch>,
    _sphere_shades: Buffer<SphereShade>,
    _planes: Buffer<Plane>,
    _plane_materials: Buffer<u32>,
    _materials: Buffer<Material>,
    _lights: Buffer<Light>,
    world: Option<WorldBuffers>,
}

impl Target {
    /// Whether rays walk through trees.
    pub fn has_trees(&self) -> bool {
        self.world.is_some()
    }

    /// Uploads `scene` and makes an empty film for it.
    pub fn new(device: &Arc<dyn Device>, scene: &Scene) -> Result<Target> {
        Target::for_kernels(device, scene, kernel_integrator(scene)?)
    }

    /// The same for the kernels for general scenes, whatever the scene.
    pub(super) fn general(device: &Arc<dyn Device>, scene: &Scene) -> Result<Target> {
        Target::for_kernels(device, scene, GENERAL)
    }

    fn for_kernels(device: &Arc<dyn Device>, scene: &Scene, integrator: &'static str) -> Result<Target> {
        let mut flat = Arrays::new(scene);
        // The kernels add the seed to small numbers: spread it over all bits first.
        let seed = spread(scene.image.seed);
        let spheres = Buffer::from_slice(device, &flat.spheres, "spheres")?;
        let sphere_batches = Buffer::from_slice(device, &flat.sphere_batches, "spheres")?;
        let sphere_shades = Buffer::from_slice(device, &flat.sphere_shades, "spheres")?;
        let planes = Buffer::from_slice(device, &flat.planes, "planes")?;
        let plane_materials = Buffer::from_slice(device, &flat.plane_materials, "planes")?;
        let world = match integrator {
            GENERAL => Some(WorldBuffers::new(device, scene, &mut flat.materials)?),
            _ => None,
        };
        let materials = Buffer::from_slice(device, &flat.materials, "materials")?;
        let lights = Buffer::from_slice(device, &flat.lights, "lights")?;
        let on_chip = chip_bytes(&flat);
        let on_chip = device.is_wide() && world.is_none() && on_chip <= MOST_ON_CHIP;
        let on_chip = if on_chip { chip_bytes(&flat) } else { 0 };
        let pixels = scene.image.width as usize * scene.image.height as usize;
        let sums = Buffer::new(device, 3 * pixels, "the film")?;
        let counts = Buffer::zeroed(device, pixels, "the film")?;
        Ok(Target {
            device: device.clone(),
            scene: SceneView {
                spheres: spheres.ptr(),
                sphere_batches: sphere_batches.ptr(),
                sphere_shades: sphere_shades.ptr(),
                planes: planes.ptr(),
                plane_materials: plane_materials.ptr(),
                materials: materials.ptr(),
                lights: lights.ptr(),
                world: world.as_ref().map_or(Ptr::null(), WorldBuffers::ptr),
                seed_low: seed as u32,
                seed_high: (seed >> 32) as u32,
                on_chip: u32::from(on_chip > 0),
                pixel_size: 2.0 / scene.image.height as f32,
                ..flatten::view(scene)
            },
            film: FilmView { sums: sums.ptr(), counts: counts.ptr(), pixels: pixels as u64 },
            counters: Counters::new(device)?,
            samples: scene.image.spp,
            integrator,
            shared: on_chip as u32,
            sums,
            counts,
            _spheres: spheres,
            _sphere_batches: sphere_batches,
            _sphere_shades: sphere_shades,
            _planes: planes,
            _plane_materials: plane_materials,
            _materials: materials,
            _lights: lights,
            world,
        })
    }

    /// Chunks of the image, those at the right and lower edge reaching beyond it.
    pub fn chunks(&self) -> u64 {
        u64::from(self.scene.width.div_ceil(8)) * u64::from(self.scene.height.div_ceil(4))
    }

    /// Pixel samples of the whole picture.
    pub fn total_samples(&self) -> u64 {
        self.film.pixels * u64::from(self.samples)
    }

    /// Launches from now on look from `camera`.
    pub fn look(&mut self, camera: &Camera) {
        self.scene.eye = camera.eye.into();
        self.scene.forward = camera.forward.into();
        self.scene.right = camera.right.into();
        self.scene.up = camera.up.into();
    }

    /// Forgets every sample and count.
    pub fn clear(&self) -> Result<()> {
        self.counts.zero()?;
        self.counters.clear()
    }

    /// Waits for the device and reads the film.
    pub fn read_film(&self) -> Result<Film> {
        let (mut sums, counts) = (self.sums.to_vec()?, self.counts.to_vec()?);
        // The first sample overwrites a sum; until then its memory holds anything.
        for pixel in (0..counts.len()).filter(|&pixel| counts[pixel] == 0) {
            (0..3).for_each(|plane| sums[plane * counts.len() + pixel] = 0);
        }
        Ok(Film::new(self.scene.width, self.scene.height, self.scene.film_scale, sums, counts))
    }
}

/// Bytes of the copy that `ChipScene` (kernels/trace/scene.h) makes.
fn chip_bytes(flat: &Arrays) -> usize {
    size_of_val(&*flat.spheres)
        + size_of_val(&*flat.planes)
        + size_of_val(&*flat.materials)
        + size_of_val(&*flat.lights)
        + size_of_val(&*flat.sphere_shades)
        + size_of_val(&*flat.plane_materials)
}

/// The variant of the kernels for general scenes.
const GENERAL: &str = "general";

/// Which variant of the kernels traces the scene.
fn kernel_integrator(scene: &Scene) -> Result<&'static str> {
    match scene.integrator {
        Integrator::Whitted if scene.is_general() => {
            Err(Error::Input("render.integrator: \"whitted\" cannot trace meshes; use \"path\"".into()))
        }
        Integrator::Whitted if scene.shadows => Ok("shadowed"),
        Integrator::Whitted => Ok("whitted"),
        Integrator::Path if scene.is_general() => Ok(GENERAL),
        Integrator::Path => Ok("path"),
    }
}

/// A bijection of 64-bit numbers whose every output bit depends on every input bit (the finaliser of
/// SplitMix64, Steele, Lea and Flood 2014).
fn spread(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
