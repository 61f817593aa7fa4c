//! Scenes: spheres, planes, materials, lights without size, and the view that kernels trace.

use super::{CType, Ptr, WorldView};
use bytemuck::{Pod, Zeroable};

layout! {
    /// A sphere as the wide devices test it: one 16-byte access. See kernels/trace/intersect.h for `reach`.
    pub struct SphereTest {
        /// Centre.
        pub centre: [f32; 3],
        /// Radius squared less the centre's square, a little enlarged.
        pub reach: f32,
    }

    /// Eight spheres side by side, as the CPU tests them: all at once. Places beyond the last sphere have a
    /// `reach` that no ray attains.
    pub struct SphereBatch {
        /// Centres, x.
        pub x: [f32; 8],
        /// Centres, y.
        pub y: [f32; 8],
        /// Centres, z.
        pub z: [f32; 8],
        /// As in `SphereTest`.
        pub reach: [f32; 8],
    }

    /// What shading asks of a sphere once it is hit.
    pub struct SphereShade {
        /// Radius.
        pub radius: f32,
        /// Index of the material.
        pub material: u32,
    }

    /// The plane of points p with dot(normal, p) + offset = 0; `normal` has length 1.
    pub struct Plane {
        /// Unit normal.
        pub normal: [f32; 3],
        /// Distance term.
        pub offset: f32,
    }

    /// A surface. `kind` is one of the MATERIAL_ numbers of kernels/trace/material.h.
    pub struct Material {
        /// Share of light reflected, 0..1 a channel.
        pub albedo: [f32; 3],
        /// What the surface does with light.
        pub kind: u32,
        /// Radiance given off.
        pub emission: [f32; 3],
        /// Reflectivity (reflective), fuzz (metal) or index of refraction (dielectric).
        pub parameter: f32,
    }

    /// A light without size. `kind` 0: directional, `vector` points to the light (unit); 1: a point at `vector`.
    pub struct Light {
        /// Direction to the light, or its place.
        pub vector: [f32; 3],
        /// Which of the two.
        pub kind: u32,
        /// Irradiance on a facing surface (directional) or radiant intensity (point).
        pub color: [f32; 3],
        /// Unused; keeps the size a multiple of 16.
        pub reserved: f32,
    }

    /// Everything a ray asks of a scene; travels by value with each launch.
    pub struct SceneView {
        /// Spheres, for wide devices.
        pub spheres: Ptr<SphereTest>,
        /// The same spheres in batches of eight, for the CPU.
        pub sphere_batches: Ptr<SphereBatch>,
        /// Per sphere, what shading asks.
        pub sphere_shades: Ptr<SphereShade>,
        /// Planes.
        pub planes: Ptr<Plane>,
        /// Index of each plane's material.
        pub plane_materials: Ptr<u32>,
        /// Materials.
        pub materials: Ptr<Material>,
        /// Lights of the whitted integrator.
        pub lights: Ptr<Light>,
        /// What general scenes have beyond these; null in others.
        pub world: Ptr<WorldView>,
        /// Number of spheres.
        pub sphere_count: u32,
        /// Length of `planes`.
        pub plane_count: u32,
        /// Length of `lights`.
        pub light_count: u32,
        /// Largest number of surface interactions that a path sums, 0..=4095.
        pub max_depth: u32,
        /// Image width in pixels.
        pub width: u32,
        /// Image height in pixels.
        pub height: u32,
        /// Seed of every random number, low half.
        pub seed_low: u32,
        /// Seed of every random number, high half.
        pub seed_high: u32,
        /// Where camera rays start.
        pub eye: [f32; 3],
        /// Distance that a new ray starts off its surface; negative: that share of the hit's magnitude.
        pub ray_offset: f32,
        /// Direction (not unit) through the image plane's middle.
        pub forward: [f32; 3],
        /// Hits nearer than this do not count.
        pub t_min: f32,
        /// Image plane's right per unit, of half the image's height.
        pub right: [f32; 3],
        /// Width over height.
        pub aspect: f32,
        /// Image plane's up per unit, of half the image's height.
        pub up: [f32; 3],
        /// 1: a random point of the pixel; 0: its centre.
        pub jitter: f32,
        /// Background radiance straight down.
        pub background_low: [f32; 3],
        /// From this depth on paths end by Russian roulette; 0xffffffff: never.
        pub roulette_depth: u32,
        /// Background radiance straight up.
        pub background_high: [f32; 3],
        /// Unused.
        pub reserved: u32,
        /// Ambient irradiance term of the whitted integrator.
        pub ambient: [f32; 3],
        /// Fixed-point units per unit of radiance: a power of two.
        pub film_scale: f32,
        /// Contributions above this many units are clamped and counted.
        pub film_limit: f32,
        /// Two over the image's height: a pixel's size on the image plane.
        pub pixel_size: f32,
        /// Length of `materials`.
        pub material_count: u32,
        /// 1: launches have room for a copy of the scene in on-chip memory.
        pub on_chip: u32,
    }
}
