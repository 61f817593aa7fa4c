//! Scenes: what to draw, from which eye, how finely.
//!
//! A TOML or JSON file (docs/scene-format.md) goes through one serde model (`format`), is checked against every
//! rule (`validate`) and becomes a [`Scene`]: plain numbers that need no further check. [`flatten`] turns that
//! into the arrays that devices read. What is wrong in a file is told as `file:line:column: key: what`.
//!
//! Every number that reaches a device is made with `+ - * /` and square roots alone, which IEEE 754 rounds the
//! same way everywhere: the same file gives the same bits on every host.

mod camera;
mod fault;
pub mod flatten;
mod format;
mod light;
pub mod lighting;
mod locate;
mod mesh;
mod principled;
mod source;
mod validate;

pub use crate::model::Light;
pub use camera::Camera;
pub use source::MAX_FILE_BYTES;

use crate::accel::Shape;
use crate::error::{Error, Result};
use crate::file::Files;
use crate::model;
use glam::{Affine3A, Vec3};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pixels along one side of the image.
pub const SIDES: RangeInclusive<u32> = 1..=65536;
/// Most pixels of an image.
pub const MAX_PIXELS: u64 = 1 << 31;
/// Samples a pixel: a sample's number has 20 bits.
pub const SAMPLES: RangeInclusive<u32> = 1..=(1 << 20) - 1;
/// Surface interactions of a path: a depth has 12 bits.
pub const DEPTHS: RangeInclusive<u32> = 0..=(1 << 12) - 1;
/// Most spheres of a scene.
pub const MAX_SPHERES: usize = 1_000_000;
/// Most spheres that paths test one by one; of more they look for those at hand in a tree. With 551 testing all is the
/// faster way, with 1000 the slower one, on an H200 and on a CPU alike.
pub const MOST_TESTED_SPHERES: usize = 700;
/// Most planes of a scene.
pub const MAX_PLANES: usize = 1024;
/// Most lights of a scene.
pub const MAX_LIGHTS: usize = 64;
/// Most materials of a scene.
pub const MAX_MATERIALS: usize = 65536;

/// Closer to a point light than this, [`Scene::largest_contribution`] stops counting: what a surface there
/// sends back may be clamped by the film, which counts and reports such contributions.
pub const POINT_LIGHT_REACH: f32 = 0.1;

/// What [`Scene::largest_contribution`] allows for path weights in general scenes: rough metals may send on more in one
/// direction than comes from there, and a path's way may have been unlikely.
pub const MOST_WEIGHT: f32 = 4.0;
/// Texels of a sky's image that are brighter than the mean by more than this factor may be clamped by the film.
pub const MOST_OF_MEAN: f32 = 4096.0;

/// How a scene file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `*.toml`
    Toml,
    /// `*.json`
    Json,
}

impl Format {
    /// The format that the file name's extension tells.
    pub fn of(path: &Path) -> Result<Format> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("toml") => Ok(Format::Toml),
            Some("json") => Ok(Format::Json),
            _ => Err(Error::Input(format!("{}: a scene file's name ends in .toml or .json", path.display()))),
        }
    }
}

/// The picture's size and effort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Image {
    /// Pixels across, within [`SIDES`].
    pub width: u32,
    /// Pixels down, within [`SIDES`]; width * height is at most [`MAX_PIXELS`].
    pub height: u32,
    /// Samples a pixel, within [`SAMPLES`].
    pub spp: u32,
    /// Surface interactions that a path sums at most, within [`DEPTHS`]; 0 gives a black picture.
    pub max_depth: u32,
    /// Seed of every random number.
    pub seed: u64,
    /// Whether samples lie anywhere in their pixel, or all in its centre.
    pub jitter: bool,
}

/// Radiance from where nothing is: mixed from `down` to `up` by 0.5 * (direction.y + 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Background {
    /// Straight down.
    pub down: Vec3,
    /// Straight up.
    pub up: Vec3,
}

/// An image that is the background: latitude and longitude, its middle the direction -z, its right half +x.
#[derive(Clone, Debug, PartialEq)]
pub struct SkyImage {
    /// Radiance, before `scale`.
    pub image: Arc<model::Image>,
    /// By how much of a turn it is turned about y, counter-clockwise seen from above, 0..1.
    pub turn: f32,
    /// Factor of its radiance.
    pub scale: f32,
}

/// How light is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Integrator {
    /// Direct light of the `lights` list and mirror bounces; always the same ray for the same pixel.
    Whitted,
    /// Path tracing: light from emission and the background, by random walks.
    Path,
}

impl Integrator {
    /// Its name in scene files and kernels.
    pub fn name(self) -> &'static str {
        match self {
            Integrator::Whitted => "whitted",
            Integrator::Path => "path",
        }
    }
}

/// How paths find the light of what has a size: of emitting surfaces and of the sky's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LightSampling {
    /// By shadow rays and by rays that happen to hit it, each with its weight.
    Both,
    /// By shadow rays, wherever one could have found it.
    Lights,
    /// By rays that happen to hit it.
    Surfaces,
}

/// What a surface does with light. Albedos are 0..=1 a channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Material {
    /// Scatters evenly, and may glow.
    Lambert {
        /// Share reflected.
        albedo: Vec3,
        /// Radiance given off.
        emission: Vec3,
    },
    /// Mirrors, blurred by `fuzz`.
    Metal {
        /// Share reflected.
        albedo: Vec3,
        /// Radius of the blur, 0..=1.
        fuzz: f32,
    },
    /// Clear glass.
    Dielectric {
        /// Index of refraction inside, over that outside.
        ior: f32,
    },
    /// Partly diffuse, partly a mirror.
    Reflective {
        /// Share reflected, either way.
        albedo: Vec3,
        /// Part of that which is mirrored, 0..=1.
        reflectivity: f32,
    },
    /// As a model's file has it; its textures are [`Scene::images`].
    Surface(Box<model::Surface>),
}

/// A ball.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Centre.
    pub center: Vec3,
    /// Radius, more than 0.
    pub radius: f32,
    /// Index into [`Scene::materials`].
    pub material: u32,
}

/// The points p with dot(normal, p) + offset = 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// Unit normal.
    pub normal: Vec3,
    /// Distance term.
    pub offset: f32,
    /// Index into [`Scene::materials`].
    pub material: u32,
}

/// A mesh somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Index into [`Scene::meshes`].
    pub mesh: u32,
    /// From the mesh's space to the world's; invertible.
    pub transform: Affine3A,
    /// Index into [`Scene::materials`] for all its triangles; `None`: each has its own.
    pub material: Option<u32>,
    /// Where in [`Scene::materials`] the surfaces of the mesh's model start.
    pub first_material: u32,
}

/// A checked scene: every number is finite and within its limits, every index points at something.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Size and effort.
    pub image: Image,
    /// The eye.
    pub camera: Camera,
    /// What rays that hit nothing see.
    pub background: Background,
    /// An image that takes the background's place.
    pub sky: Option<SkyImage>,
    /// How light is carried.
    pub integrator: Integrator,
    /// Whether the whitted integrator asks if something stands before a light.
    pub shadows: bool,
    /// Distance that a new ray starts off its surface; `None`: a share of the hit's magnitude.
    pub ray_offset: Option<f32>,
    /// Depth from which Russian roulette may end paths; `None`: never.
    pub roulette_depth: Option<u32>,
    /// Radiance that the film must be able to hold, instead of [`Scene::largest_contribution`].
    pub max_radiance: Option<f32>,
    /// How light is found in general scenes; `None`: in both ways, and the scene need not be general.
    pub light_sampling: Option<LightSampling>,
    /// Light from everywhere, for the whitted integrator.
    pub ambient: Vec3,
    /// Lights.
    pub lights: Vec<Light>,
    /// Materials.
    pub materials: Vec<Material>,
    /// Spheres.
    pub spheres: Vec<Sphere>,
    /// Planes.
    pub planes: Vec<Plane>,
    /// Meshes that instances share, and their trees.
    pub meshes: Vec<Arc<Shape>>,
    /// Where they are.
    pub instances: Vec<Instance>,
    /// What surfaces wear.
    pub images: Vec<Arc<model::Image>>,
    /// Lights of models.
    pub lamps: Vec<Light>,
    /// Files that the scene was read from: its own, pictures, models, and the files that models name. Some may be
    /// missing.
    pub files: Vec<PathBuf>,
    /// What files ask for and do not get, one line each.
    pub warnings: Vec<String>,
}

/// What the command line may change in a scene.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overrides {
    /// Pixels across.
    pub width: Option<u32>,
    /// Pixels down.
    pub height: Option<u32>,
    /// Samples a pixel.
    pub spp: Option<u32>,
    /// Surface interactions of a path.
    pub depth: Option<u32>,
    /// Seed.
    pub seed: Option<u64>,
}

impl Scene {
    /// Reads and checks the file at `path`.
    ///
    /// # Errors
    /// [`Error::Input`]: one line with the file, line, column and key that is wrong, and what is allowed.
    pub fn load(path: &Path) -> Result<Scene> {
        Scene::load_noting(path, &Files::default())
    }

    /// The same; `files` learns of every file that decides how it goes.
    ///
    /// # Errors
    /// As [`Scene::load`].
    pub fn load_noting(path: &Path, files: &Files) -> Result<Scene> {
        let format = Format::of(path)?;
        Scene::parse_noting(&source::read(path, files)?, format, path, files)
    }

    /// Checks the text of a scene. `path` names it in errors, and the files it mentions are relative to `path`.
    ///
    /// # Errors
    /// As [`Scene::load`].
    pub fn parse(text: &str, format: Format, path: &Path) -> Result<Scene> {
        Scene::parse_noting(text, format, path, &Files::default())
    }

    fn parse_noting(text: &str, format: Format, path: &Path, files: &Files) -> Result<Scene> {
        let source = source::Source::new(text, format, path);
        let file = source.parse()?;
        let folder = path.parent().unwrap_or(Path::new(""));
        validate::scene(file, folder, files).map_err(|fault| source.error(&fault))
    }

    /// The scene with some of its numbers replaced. The picture's height always spans the field of view.
    ///
    /// # Errors
    /// [`Error::Input`] names the option that is out of range.
    pub fn with_overrides(mut self, overrides: &Overrides) -> Result<Scene> {
        let image = &mut self.image;
        for (option, asked, allowed, value) in [
            ("--width", overrides.width, SIDES, &mut image.width),
            ("--height", overrides.height, SIDES, &mut image.height),
            ("--spp", overrides.spp, SAMPLES, &mut image.spp),
            ("--depth", overrides.depth, DEPTHS, &mut image.max_depth),
        ] {
            let Some(asked) = asked else { continue };
            if !allowed.contains(&asked) {
                let (least, most) = allowed.into_inner();
                return Err(Error::Input(format!(
                    "{option} {asked} is out of range; allowed: {least} to {most}"
                )));
            }
            *value = asked;
        }
        image.seed = overrides.seed.unwrap_or(image.seed);
        image.check_pixels().map_err(Error::Input)?;
        Ok(self)
    }

    /// Whether the scene needs the kernels for general scenes: it has meshes or what comes with them, or asks for lights
    /// that others do not know.
    pub fn is_general(&self) -> bool {
        let surfaces = self.materials.iter().any(|m| matches!(m, Material::Surface(_)));
        let spots = self.lights.iter().any(|light| matches!(light, Light::Spot { .. }));
        let lit = spots || !self.lamps.is_empty() || self.sky.is_some() || self.light_sampling.is_some();
        surfaces || lit || !self.instances.is_empty() || self.has_many_spheres()
    }

    /// Whether rays had better look for spheres in a tree than test them all. Only paths know how to.
    fn has_many_spheres(&self) -> bool {
        self.integrator == Integrator::Path && self.spheres.len() > MOST_TESTED_SPHERES
    }

    /// The most radiance that one contribution to the film can carry: path weights never exceed 1, so it is the
    /// brightest of what is seen at a path's end and of what a hit adds by itself. In general scenes weights may reach
    /// [`MOST_WEIGHT`], and a light that is asked for sends a hit no more than its weighted radiance; highlights of
    /// lights without size, and of an image's few brightest texels ([`SkyImage::brightness`]), may be clamped.
    pub fn largest_contribution(&self) -> f32 {
        let emission = self.materials.iter().map(|material| match material {
            Material::Lambert { emission, .. } => emission.max_element(),
            Material::Surface(surface) => surface.emission.max_element(),
            _ => 0.0,
        });
        let emission = emission.fold(0.0, f32::max);
        let gradient = self.background.down.max_element().max(self.background.up.max_element());
        let sky = self.sky.as_ref().map_or(gradient, SkyImage::brightness);
        // Path tracing asks for the lights too, at diffuse hits; its ambient light is the background's.
        let ambient = if self.integrator == Integrator::Whitted { self.ambient } else { Vec3::ZERO };
        let direct = self.lights.iter().fold(ambient, |sum, light| sum + light.irradiance(POINT_LIGHT_REACH));
        // Theirs is not over pi.
        let lamp = |lamp: &Light| lamp.irradiance(POINT_LIGHT_REACH) * std::f32::consts::FRAC_1_PI;
        let direct = self.lamps.iter().fold(direct, |sum, light| sum + lamp(light));
        let weight = if self.is_general() { MOST_WEIGHT } else { 1.0 };
        weight * sky.max(emission + direct.max_element())
    }
}

impl SkyImage {
    /// The radiance that the film holds: that of the brightest texel, but no more than [`MOST_OF_MEAN`] times the
    /// mean. A sun a few texels wide would otherwise leave the rest of the picture no fine steps.
    pub fn brightness(&self) -> f32 {
        let texels = lighting::radiances(&self.image, self.scale);
        let brightest = texels.iter().map(|t| t.max_element()).fold(0.0, f32::max);
        let mean = texels.iter().map(|t| f64::from(t.max_element())).sum::<f64>() / texels.len() as f64;
        brightest.min(MOST_OF_MEAN * mean as f32)
    }
}

impl Image {
    /// Width over height.
    pub fn aspect(&self) -> f32 {
        self.width as f32 / self.height as f32
    }

    /// What is wrong with the number of pixels, if anything is.
    fn check_pixels(&self) -> std::result::Result<(), String> {
        let pixels = u64::from(self.width) * u64::from(self.height);
        if pixels <= MAX_PIXELS {
            return Ok(());
        }
        let (width, height) = (self.width, self.height);
        Err(format!("{width} x {height} are {pixels} pixels; allowed: at most {MAX_PIXELS}"))
    }
}
