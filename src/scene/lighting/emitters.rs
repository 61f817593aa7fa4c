//! What can be asked for light, and with what chance.
//!
//! Three sorts of light are asked equally often, those that a scene has: the sky's image, lights that are infinitely
//! far away, and lights that have a place. Within a sort chances go with power. Emitting surfaces have one density per
//! area for each material, so that kernels need no look-up when a ray has found such a surface by itself.

use super::texture::linear_texels;
use crate::accel::World;
use crate::layout::{Emitter, MeshInstance, TriangleTest};
use crate::model::{Light, Surface};
use crate::scene::{Material, Scene};
use glam::{DVec3, Vec3};
use std::f64::consts::PI;

/// [`Emitter::kind`], as in kernels/trace/light.h.
const DIRECTIONAL: u32 = 0;
const POINT: u32 = 1;
const SPOT: u32 = 2;
const SPHERE: u32 = 3;
const TRIANGLE: u32 = 4;
/// [`Emitter::surface`] of what is no model's surface.
const NO_SURFACE: u32 = u32::MAX;
/// [`MeshInstance::material`] where each triangle has its own.
const OWN_MATERIALS: u32 = u32::MAX;
/// Bit of [`crate::layout::TriangleTest::flags`]: the back lets rays pass.
const SINGLE_SIDED: u32 = 1;
/// Bit of [`crate::layout::TriangleCorners::flags`]: the vertices have texture coordinates.
const WITH_UVS: u32 = 4;

/// With what chance lights are asked.
pub struct Chances {
    /// The sky.
    pub sky: f64,
    /// A light infinitely far away, per unit of irradiance.
    far: f64,
    /// A light with a place, per unit of power.
    near: f64,
    /// Density per area of each material's surfaces.
    pub per_area: Vec<f32>,
}

/// A light without size, of a scene or a model, before it has its chance.
struct Point {
    emitter: Emitter,
    /// Irradiance or power.
    strength: f64,
}

impl Chances {
    /// The chances in a scene. `sky`: whether its image gives light.
    pub fn new(scene: &Scene, world: &World, sky: bool) -> Chances {
        let points = points(scene);
        let total = |far: bool| {
            let sort = points.iter().filter(|p| (p.emitter.kind == DIRECTIONAL) == far);
            sort.map(|p| p.strength).sum::<f64>()
        };
        let far = total(true);
        let glows: Vec<f64> = scene.materials.iter().map(|m| glow(m, scene)).collect();
        let spheres: f64 =
            scene.spheres.iter().map(|s| glows[s.material as usize] * sphere_area(s.radius)).sum();
        let mut triangles = 0.0;
        each_glowing_triangle(world, &glows, |t| triangles += glows[t.material] * t.area());
        let near = total(false) + spheres + triangles;
        let sorts = [sky, far > 0.0, near > 0.0].iter().filter(|sort| **sort).count().max(1) as f64;
        let per = |total: f64| if total > 0.0 { 1.0 / (sorts * total) } else { 0.0 };
        let near = per(near);
        let per_area = glows.iter().map(|glow| (glow * near) as f32).collect();
        Chances { sky: if sky { 1.0 / sorts } else { 0.0 }, far: per(far), near, per_area }
    }
}

/// Every light but the sky.
pub fn emitters(scene: &Scene, world: &World, chances: &Chances) -> Vec<Emitter> {
    let lamps = points(scene).into_iter().map(|p| {
        let per = if p.emitter.kind == DIRECTIONAL { chances.far } else { chances.near };
        Emitter { chance: (p.strength * per) as f32, ..p.emitter }
    });
    let spheres = scene.spheres.iter().map(|sphere| Emitter {
        place: sphere.center.into(),
        kind: SPHERE,
        chance: (f64::from(chances.per_area[sphere.material as usize]) * sphere_area(sphere.radius)) as f32,
        surface: NO_SURFACE,
        uv: [sphere.radius, 0.0, 0.0, 0.0, 0.0, 0.0],
        both_sides: 1,
        radiance: emission(&scene.materials[sphere.material as usize]).into(),
        ..Emitter::default()
    });
    let mut emitters: Vec<Emitter> = lamps.chain(spheres).filter(|e| e.chance > 0.0).collect();
    let numbers = surface_numbers(&scene.materials);
    let glows: Vec<f64> = chances.per_area.iter().map(|p| f64::from(*p)).collect();
    each_glowing_triangle(world, &glows, |t| {
        let [a, b, c] = t.corners;
        emitters.push(Emitter {
            place: a.into(),
            kind: TRIANGLE,
            first: (b - a).into(),
            chance: (glows[t.material] * t.area()) as f32,
            second: (c - a).into(),
            surface: numbers[t.material],
            uv: t.uv,
            both_sides: u32::from(t.both_sides),
            radiance: emission(&scene.materials[t.material]).into(),
            ..Emitter::default()
        });
    });
    emitters
}

fn sphere_area(radius: f32) -> f64 {
    4.0 * PI * f64::from(radius) * f64::from(radius)
}

fn mean(color: Vec3) -> f64 {
    f64::from(color.element_sum()) / 3.0
}

fn emission(material: &Material) -> Vec3 {
    match material {
        Material::Lambert { emission, .. } => *emission,
        Material::Surface(surface) if !surface.glass => surface.emission,
        _ => Vec3::ZERO,
    }
}

/// Power per area of a material's surface, its texture taken on average.
fn glow(material: &Material, scene: &Scene) -> f64 {
    let color = match material {
        Material::Surface(surface) if surface.emission != Vec3::ZERO => {
            emission(material) * average(surface, scene)
        }
        _ => emission(material),
    };
    PI * mean(color)
}

/// The average colour of a surface's emission texture.
fn average(surface: &Surface, scene: &Scene) -> Vec3 {
    let Some(texture) = &surface.emission_texture else { return Vec3::ONE };
    let texels = linear_texels(&scene.images[texture.image as usize], true);
    let sum = texels.iter().fold([0.0f64; 3], |s, t| [0, 1, 2].map(|i| s[i] + f64::from(t[i])));
    Vec3::from(sum.map(|s| (s / texels.len() as f64) as f32))
}

/// Which of the models' surfaces a material is.
fn surface_numbers(materials: &[Material]) -> Vec<u32> {
    let mut next = 0;
    let number = |material: &Material| match material {
        Material::Surface(_) => {
            next += 1;
            next - 1
        }
        _ => NO_SURFACE,
    };
    materials.iter().map(number).collect()
}

/// Lights without size. Those of the scene file give irradiance or intensity over pi, those of models as it is.
fn points(scene: &Scene) -> Vec<Point> {
    let pi = std::f32::consts::PI;
    let listed = scene.lights.iter().map(|light| light.times(pi));
    listed.chain(scene.lamps.iter().copied()).map(point).collect()
}

fn point(light: Light) -> Point {
    let emitter = |kind, place: Vec3, color: Vec3| Emitter {
        kind,
        place: place.into(),
        second: color.into(),
        surface: NO_SURFACE,
        ..Emitter::default()
    };
    match light {
        Light::Directional { direction, color } => {
            Point { emitter: emitter(DIRECTIONAL, direction, color), strength: mean(color) }
        }
        Light::Point { position, color } => {
            Point { emitter: emitter(POINT, position, color), strength: 4.0 * PI * mean(color) }
        }
        Light::Spot { position, direction, color, cosines: [inner, outer] } => {
            let uv = [inner, outer, 0.0, 0.0, 0.0, 0.0];
            let emitter = Emitter { first: direction.into(), uv, ..emitter(SPOT, position, color) };
            // Half of the ramp between the cones counts.
            let opening = 1.0 - f64::from(inner + outer) / 2.0;
            Point { emitter, strength: 2.0 * PI * opening * mean(color) }
        }
    }
}

/// A triangle in the world.
struct WorldTriangle {
    corners: [Vec3; 3],
    uv: [f32; 6],
    material: usize,
    both_sides: bool,
}

impl WorldTriangle {
    fn area(&self) -> f64 {
        let [a, b, c] = self.corners.map(|corner| corner.as_dvec3());
        let across = (b - a).cross(c - a);
        (across.x * across.x + across.y * across.y + across.z * across.z).sqrt() / 2.0
    }
}

/// Calls `body` for each triangle whose material has a glow.
fn each_glowing_triangle(world: &World, glows: &[f64], mut body: impl FnMut(WorldTriangle)) {
    if glows.iter().all(|g| *g == 0.0) {
        return;
    }
    for instance in &world.instances {
        let first = instance.first_triangle as usize;
        let own = instance.material == OWN_MATERIALS;
        let material_of = |test: &TriangleTest| {
            (if own { instance.first_material + test.surface } else { instance.material }) as usize
        };
        let triangles = &world.triangles[first..first + instance.triangles as usize];
        let mut glowing: Vec<&TriangleTest> =
            triangles.iter().filter(|t| glows[material_of(t)] != 0.0).collect();
        // As the mesh has them, not its tree: a film shall not depend on how trees are built.
        glowing.sort_unstable_by_key(|t| t.number);
        for test in glowing {
            let material = material_of(test);
            let flags = if own { test.flags } else { instance.flags };
            let mut corners = [test.a, test.b, test.c].map(|corner| to_world(instance, corner));
            let mut uv = texture_coordinates(world, first + test.number as usize);
            if is_mirrored(instance) {
                // Still counter-clockwise, seen from the front.
                corners.swap(1, 2);
                uv = [uv[0], uv[1], uv[4], uv[5], uv[2], uv[3]];
            }
            body(WorldTriangle { corners, uv, material, both_sides: flags & SINGLE_SIDED == 0 });
        }
    }
}

fn to_world(instance: &MeshInstance, corner: [f32; 3]) -> Vec3 {
    let m = instance.to_world.map(f64::from);
    let [x, y, z] = corner.map(f64::from);
    let row = |i: usize| m[i] * x + m[i + 1] * y + m[i + 2] * z + m[i + 3];
    Vec3::from([row(0), row(4), row(8)].map(|r| r as f32))
}

fn is_mirrored(instance: &MeshInstance) -> bool {
    let m = instance.to_world.map(f64::from);
    let row = |i: usize| DVec3::new(m[i], m[i + 1], m[i + 2]);
    row(0).cross(row(4)).dot(row(8)) < 0.0
}

fn texture_coordinates(world: &World, corners: usize) -> [f32; 6] {
    let corners = &world.corners[corners];
    if corners.flags & WITH_UVS == 0 {
        return [0.0; 6];
    }
    let at = |i: usize| &world.vertices[corners.vertices[i] as usize];
    [at(0).u, at(0).v, at(1).u, at(1).v, at(2).u, at(2).v]
}
