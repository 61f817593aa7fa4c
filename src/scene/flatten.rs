//! A scene as devices see it: the arrays of [`crate::layout`] and the scalars of [`SceneView`].

use super::{Light, Material, Scene};
use crate::layout;
use crate::layout::{SceneView, SphereBatch, SphereShade, SphereTest};
use glam::Vec3;

/// [`layout::Material::kind`] of a Lambert surface. The kernels' header has the same numbers.
pub const MATERIAL_LAMBERT: u32 = 0;
/// A metal; the parameter is its fuzz.
pub const MATERIAL_METAL: u32 = 1;
/// A dielectric; the parameter is its index of refraction.
pub const MATERIAL_DIELECTRIC: u32 = 2;
/// A partial mirror; the parameter is its reflectivity.
pub const MATERIAL_REFLECTIVE: u32 = 3;
/// A surface of a model, in general scenes alone.
pub const MATERIAL_SURFACE: u32 = 4;

/// [`layout::Light::kind`] of a directional light.
pub const LIGHT_DIRECTIONAL: u32 = 0;
/// A point light.
pub const LIGHT_POINT: u32 = 1;

/// [`SceneView::roulette_depth`] where Russian roulette never ends a path.
pub const ROULETTE_NEVER: u32 = u32::MAX;
/// Where the scene sets no offset, rays start this share (2^-20) of the hit's magnitude off the surface.
pub const RELATIVE_OFFSET: f32 = 1.0 / (1 << 20) as f32;

/// `quick_margin` of kernels/trace/intersect.h.
const QUICK_MARGIN: f64 = 1.0 / (1 << 17) as f64;
/// Spheres in a [`SphereBatch`].
const BATCH: usize = 8;
/// Bits of the film's units that a sample may use: 2^20 samples then fit 52 bits of a sum.
const SAMPLE_BITS: u32 = 32;
/// The film's finest scale, 2^this units per unit of radiance.
const FINEST_SCALE: i32 = 30;

/// The arrays behind the pointers of a [`SceneView`].
#[derive(Clone, Debug, Default)]
pub struct Arrays {
    /// Spheres, in the scene's order.
    pub spheres: Vec<SphereTest>,
    /// The same in batches of eight.
    pub sphere_batches: Vec<SphereBatch>,
    /// Per sphere: what shading asks.
    pub sphere_shades: Vec<SphereShade>,
    /// Planes, in the scene's order.
    pub planes: Vec<layout::Plane>,
    /// Per plane: its material.
    pub plane_materials: Vec<u32>,
    /// Materials, in the scene's order.
    pub materials: Vec<layout::Material>,
    /// Lights, in the scene's order.
    pub lights: Vec<layout::Light>,
}

impl Arrays {
    /// The arrays of a scene.
    pub fn new(scene: &Scene) -> Self {
        let shade = |s: &super::Sphere| SphereShade { radius: s.radius, material: s.material };
        let plane = |p: &super::Plane| layout::Plane { normal: p.normal.into(), offset: p.offset };
        Arrays {
            spheres: scene.spheres.iter().map(test).collect(),
            sphere_batches: scene.spheres.chunks(BATCH).map(batch).collect(),
            sphere_shades: scene.spheres.iter().map(shade).collect(),
            planes: scene.planes.iter().map(plane).collect(),
            plane_materials: scene.planes.iter().map(|p| p.material).collect(),
            materials: scene.materials.iter().map(material).collect(),
            lights: scene.lights.iter().map(light).collect(),
        }
    }
}

fn test(sphere: &super::Sphere) -> SphereTest {
    SphereTest { centre: sphere.center.into(), reach: reach(sphere) }
}

fn batch(spheres: &[super::Sphere]) -> SphereBatch {
    let mut batch = SphereBatch { reach: [f32::NEG_INFINITY; BATCH], ..Default::default() };
    for (i, sphere) in spheres.iter().enumerate() {
        [batch.x[i], batch.y[i], batch.z[i]] = sphere.center.into();
        batch.reach[i] = reach(sphere);
    }
    batch
}

/// r^2 - |c|^2, enlarged by the share of r^2 + |c|^2 that covers the rounding errors of the kernels' quick
/// test (kernels/trace/intersect.h, `quick_margin`).
fn reach(sphere: &super::Sphere) -> f32 {
    let (r, c) = (f64::from(sphere.radius), sphere.center.as_dvec3());
    let (r2, c2) = (r * r, c.x * c.x + c.y * c.y + c.z * c.z);
    let enlarged = r2 - c2 + QUICK_MARGIN * (r2 + c2);
    // Rounded up, not to nearest.
    (enlarged as f32).next_up()
}

fn material(material: &Material) -> layout::Material {
    let (kind, albedo, emission, parameter) = match material {
        Material::Lambert { albedo, emission } => (MATERIAL_LAMBERT, *albedo, *emission, 0.0),
        Material::Metal { albedo, fuzz } => (MATERIAL_METAL, *albedo, Vec3::ZERO, *fuzz),
        Material::Dielectric { ior } => (MATERIAL_DIELECTRIC, Vec3::ONE, Vec3::ZERO, *ior),
        Material::Reflective { albedo, reflectivity } => {
            (MATERIAL_REFLECTIVE, *albedo, Vec3::ZERO, *reflectivity)
        }
        Material::Surface(s) if s.glass => (MATERIAL_DIELECTRIC, Vec3::ONE, Vec3::ZERO, s.ior),
        Material::Surface(s) => (MATERIAL_SURFACE, s.base_color, s.emission, 0.0),
    };
    layout::Material { albedo: albedo.into(), kind, emission: emission.into(), parameter }
}

fn light(light: &Light) -> layout::Light {
    let (kind, vector, color) = match *light {
        Light::Directional { direction, color } => (LIGHT_DIRECTIONAL, direction, color),
        Light::Point { position, color } => (LIGHT_POINT, position, color),
    };
    layout::Light { vector: vector.into(), kind, color: color.into(), reserved: 0.0 }
}

/// The scalars of a scene; every pointer is null.
pub fn view(scene: &Scene) -> SceneView {
    let (image, camera) = (&scene.image, &scene.camera);
    let film = FilmRange::of(scene);
    SceneView {
        sphere_count: scene.spheres.len() as u32,
        plane_count: scene.planes.len() as u32,
        light_count: scene.lights.len() as u32,
        material_count: scene.materials.len() as u32,
        max_depth: image.max_depth,
        width: image.width,
        height: image.height,
        seed_low: image.seed as u32,
        seed_high: (image.seed >> 32) as u32,
        eye: camera.eye.into(),
        ray_offset: scene.ray_offset.unwrap_or(-RELATIVE_OFFSET),
        forward: camera.forward.into(),
        t_min: scene.ray_offset.unwrap_or(0.0),
        right: camera.right.into(),
        aspect: image.aspect(),
        up: camera.up.into(),
        jitter: if image.jitter { 1.0 } else { 0.0 },
        background_low: scene.background.down.into(),
        roulette_depth: scene.roulette_depth.unwrap_or(ROULETTE_NEVER),
        background_high: scene.background.up.into(),
        ambient: scene.ambient.into(),
        film_scale: film.scale,
        film_limit: film.limit,
        ..Default::default()
    }
}

/// How the exact film counts: radiance times `scale`, at most `limit` units a contribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilmRange {
    /// Units per unit of radiance: a power of two.
    pub scale: f32,
    /// Most units of one contribution; a whole number.
    pub limit: f32,
}

impl FilmRange {
    /// The finest range, up to 2^30 units, that holds the scene's largest contribution, and in which all
    /// contributions of a sample (each of its hits and the background) together stay below 2^32 units.
    pub fn of(scene: &Scene) -> FilmRange {
        let contributions = scene.image.max_depth + 1;
        let bits = SAMPLE_BITS - contributions.next_power_of_two().trailing_zeros();
        // 2^bits - 1, or the next float below: a float has 24 bits.
        let unit_of_last_place = power_of_two(bits.saturating_sub(24) as i32);
        let limit = power_of_two(bits as i32) - unit_of_last_place;
        let largest = scene.max_radiance.unwrap_or_else(|| scene.largest_contribution());
        let fits = |&exponent: &i32| largest * power_of_two(exponent) <= limit;
        let exponent = (-100..=FINEST_SCALE).rev().find(fits).expect("radiance is bounded far below 2^100");
        FilmRange { scale: power_of_two(exponent), limit }
    }
}

/// 2^exponent, exactly, for the exponents of normal floats.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}
