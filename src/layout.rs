//! The structures that host and kernels share, declared once.
//!
//! `layout!` makes each a `#[repr(C)]` Rust type and remembers its C++ form; the build script compiles this
//! very file, prints [`header`] and gives it to every kernel compiler as `layout.h`, with a `static_assert`
//! for each size and offset as Rust sees them. Sizes are the same on every target: only fixed-width numbers,
//! arrays of them, and 64-bit device addresses.

use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;

/// A type that a kernel knows too.
pub trait CType {
    /// The C++ declaration of a member of this type called `name`.
    fn member(name: &str) -> String;
}

macro_rules! scalar {
    ($($rust:ty => $c:literal),*) => { $(impl CType for $rust {
        fn member(name: &str) -> String { format!("{} {name}", $c) }
    })* };
}
scalar!(u8 => "u8", u32 => "u32", u64 => "u64", i64 => "i64", f32 => "float");

impl<T: CType, const N: usize> CType for [T; N] {
    fn member(name: &str) -> String {
        T::member(&format!("{name}[{N}]"))
    }
}

/// The address of an array of `T` in a device's memory. The host passes it on and never follows it.
#[repr(transparent)]
pub struct Ptr<T>(pub u64, PhantomData<T>);

impl<T> Ptr<T> {
    /// The address `addr` as a pointer to `T`.
    pub const fn new(addr: u64) -> Self {
        Ptr(addr, PhantomData)
    }
    /// No array: for members that the kernel does not read.
    pub const fn null() -> Self {
        Ptr::new(0)
    }
}
impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Ptr<T> {}
impl<T> std::fmt::Debug for Ptr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
impl<T> Default for Ptr<T> {
    fn default() -> Self {
        Ptr::null()
    }
}
// SAFETY: a transparent u64 for any T.
unsafe impl<T> Zeroable for Ptr<T> {}
// SAFETY: a transparent u64 for any T: no padding, every bit pattern valid.
unsafe impl<T: 'static> Pod for Ptr<T> {}
impl<T: CType> CType for Ptr<T> {
    fn member(name: &str) -> String {
        T::member(&format!("*{name}"))
    }
}

/// 16 bytes that a lane moves in one access (`Quad` of platform.h).
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub struct Quad {
    /// First word.
    pub x: u32,
    /// Second word.
    pub y: u32,
    /// Third word.
    pub z: u32,
    /// Fourth word.
    pub w: u32,
}
impl CType for Quad {
    fn member(name: &str) -> String {
        format!("Quad {name}")
    }
}

macro_rules! layout {
    ($( $(#[doc = $doc:literal])* pub struct $Name:ident { $( $(#[doc = $fdoc:literal])* pub $field:ident : $ty:ty, )* } )*) => {
        $(
            $(#[doc = $doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
            pub struct $Name { $( $(#[doc = $fdoc])* pub $field: $ty, )* }
            impl CType for $Name {
                fn member(name: &str) -> String { format!("{} {name}", stringify!($Name)) }
            }
        )*
        /// The C++ text of every structure in this file, with the checks of sizes and offsets.
        pub fn header() -> String {
            let mut text = String::from(concat!(
                "// layout.h: made by the build script from src/layout.rs. Change it there.\n",
                "#pragma once\n#include \"platform/platform.h\"\nnamespace rq {\n"));
            $(
                for line in [$($doc),*] as [&str; _] { text += &format!("//{line}\n"); }
                text += &format!("struct {} {{\n", stringify!($Name));
                $(
                    for line in [$($fdoc),*] as [&str; _] { text += &format!("    //{line}\n"); }
                    text += &format!("    {};\n", <$ty as CType>::member(stringify!($field)));
                )*
                text += "};\n";
                text += &format!("static_assert(sizeof({0}) == {1}, \"size of {0}\");\n",
                    stringify!($Name), size_of::<$Name>());
                $(
                    text += &format!("static_assert(__builtin_offsetof({0}, {1}) == {2}, \"offset of {0}::{1}\");\n",
                        stringify!($Name), stringify!($field), std::mem::offset_of!($Name, $field));
                )*
            )*
            text + "}  // namespace rq\n"
        }
    };
}

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

    /// A model's surface as kernels read it: kernels/trace/substance.h. Textures are numbers in
    /// `LightingView::textures`, 0xffffffff for none.
    pub struct SurfaceShade {
        /// Base colour, linear.
        pub base: [f32; 3],
        /// 0 dielectric .. 1 metal.
        pub metallic: f32,
        /// Radiance given off.
        pub emission: [f32; 3],
        /// Perceptual roughness, 0..1.
        pub roughness: f32,
        /// Reflectance of the dielectric's coat at normal incidence.
        pub f0: [f32; 3],
        /// The same at grazing incidence.
        pub f90: f32,
        /// Colour texture of the base.
        pub base_texture: u32,
        /// Texture of roughness (green) and metallic (blue).
        pub roughness_texture: u32,
        /// Texture of normals.
        pub normal_texture: u32,
        /// Colour texture of the emission.
        pub emission_texture: u32,
        /// Factor of the normal texture's x and y.
        pub normal_scale: f32,
        /// Index of refraction, where the surface is clear glass; else 0.
        pub glass: f32,
        /// Factor of the base texture's alpha.
        pub alpha: f32,
        /// Where the alpha is less than this, there is no surface; 0: opaque.
        pub alpha_cutoff: f32,
        /// Density per area with which a hit asks for a point of the surface; 0: it is no light, or is not asked for.
        pub asked: f32,
        /// Unused; keeps the size a multiple of 16.
        pub reserved: [f32; 3],
    }

    /// An image as a surface wears it: kernels/trace/texture.h.
    pub struct TextureView {
        /// Rows of the affine map from the mesh's coordinates (u, v, 1) to the texture's.
        pub map: [f32; 6],
        /// Texels across.
        pub width: u32,
        /// Texels down.
        pub height: u32,
        /// Where the texels start in `LightingView::texels`, in units of 16 bytes.
        pub first: u32,
        /// TEXTURE_ bits, and how coordinates wrap.
        pub flags: u32,
        /// Unused; keeps the size a multiple of 16.
        pub reserved: [u32; 2],
    }

    /// A light that hits may ask for: kernels/trace/light.h.
    pub struct Emitter {
        /// Direction to it (directional), its place, centre, or first corner.
        pub place: [f32; 3],
        /// EMITTER_ number.
        pub kind: u32,
        /// Way that the light travels (spot), or the edge from the first corner to the second.
        pub first: [f32; 3],
        /// With which a hit asks for this one.
        pub chance: f32,
        /// Irradiance or intensity of a light without size, or the edge from the first corner to the third.
        pub second: [f32; 3],
        /// Index of a triangle's surface in `LightingView::surfaces`; 0xffffffff: `radiance` is all.
        pub surface: u32,
        /// Texture coordinates of the corners; of a spot, the cosines of its inner and outer angle; a sphere's radius.
        pub uv: [f32; 6],
        /// 1: both sides shine.
        pub both_sides: u32,
        /// Radiance of a sphere or a triangle.
        pub radiance: [f32; 3],
        /// Unused; keeps the size a multiple of 16.
        pub reserved: [u32; 2],
    }

    /// A place of a table from which things are picked by chance.
    pub struct Alias {
        /// That the place stands for itself.
        pub chance: f32,
        /// What it stands for otherwise.
        pub other: u32,
    }

    /// A texel of the sky.
    pub struct SkyTexel {
        /// Radiance.
        pub radiance: [f32; 3],
        /// Density per solid angle with which the texel's directions are picked, among those of the sky.
        pub density: f32,
    }

    /// What light does in general scenes, beyond plain materials.
    pub struct LightingView {
        /// Surfaces of models.
        pub surfaces: Ptr<SurfaceShade>,
        /// Textures.
        pub textures: Ptr<TextureView>,
        /// Texels of all textures: a word each of 8-bit RGBA, or four floats.
        pub texels: Ptr<u32>,
        /// Linear light of each 8-bit sRGB code.
        pub srgb: Ptr<f32>,
        /// Directional albedos: kernels/trace/ggx.h.
        pub albedos: Ptr<f32>,
        /// Lights that hits ask for.
        pub emitters: Ptr<Emitter>,
        /// For each place of `emitters`, which one it stands for.
        pub emitter_aliases: Ptr<Alias>,
        /// The sky's texels, row by row from the top.
        pub sky: Ptr<SkyTexel>,
        /// For each texel of the sky, which one it stands for.
        pub sky_aliases: Ptr<Alias>,
        /// Cosines, from straight up, of the sky's rows' edges: one more than it has rows.
        pub sky_rows: Ptr<f32>,
        /// Length of `emitters`.
        pub emitter_count: u32,
        /// Texels across the sky; 0: it is no image.
        pub sky_width: u32,
        /// Texels down the sky.
        pub sky_height: u32,
        /// Share of a turn by which the sky is turned about y.
        pub sky_turn: f32,
        /// That a hit asks for the sky rather than for an emitter.
        pub sky_chance: f32,
        /// How light is found: SAMPLING_ numbers of kernels/trace/direct.h.
        pub sampling: u32,
    }

    /// A node of a tree: the boxes of its eight children in whole steps of a grid, 80 bytes (kernels/trace/boxes.h).
    pub struct BvhNode {
        /// Where the grid starts.
        pub origin: [f32; 3],
        /// The grid's steps along x, y and z: 2^(this - 127).
        pub exponents: [u8; 3],
        /// A bit for each child that is a node.
        pub inner: u8,
        /// The first of the children that are nodes; they follow each other in the order of their slots.
        pub first_child: u32,
        /// Where the items of leaves are counted from.
        pub first_item: u32,
        /// Of each child that is a leaf: the number of its items (3 bits), and the first of them (5 bits).
        pub leaves: [u8; 8],
        /// The boxes' lower sides along x, y and z, then their upper ones.
        pub sides: [[[u8; 8]; 3]; 2],
    }

    /// A triangle as rays test it, in its mesh's space. Triangles lie in the order of their tree's leaves.
    pub struct TriangleTest {
        /// First corner.
        pub a: [f32; 3],
        /// Its number in its mesh, which settles ties and finds its `TriangleCorners`.
        pub number: u32,
        /// Second corner.
        pub b: [f32; 3],
        /// Index of its surface in its model.
        pub surface: u32,
        /// Third corner.
        pub c: [f32; 3],
        /// TRIANGLE_ bits of kernels/trace/world.h.
        pub flags: u32,
    }

    /// What shading asks of a triangle.
    pub struct TriangleCorners {
        /// Its corners in `WorldView::vertices`, where its mesh has any.
        pub vertices: [u32; 3],
        /// CORNERS_ bits of kernels/trace/world.h: what the vertices hold.
        pub flags: u32,
    }

    /// What shading asks of a corner, in its mesh's space.
    pub struct MeshVertex {
        /// Unit normal.
        pub normal: [f32; 3],
        /// Texture coordinate across.
        pub u: f32,
        /// Unit tangent.
        pub tangent: [f32; 3],
        /// Texture coordinate down.
        pub v: f32,
    }

    /// A mesh somewhere.
    pub struct MeshInstance {
        /// Rows of the affine map from the world's space to the mesh's.
        pub to_mesh: [f32; 12],
        /// Rows of the map back.
        pub to_world: [f32; 12],
        /// Root of the mesh's tree in `WorldView::nodes`.
        pub root: u32,
        /// The mesh's first triangle in `WorldView::triangles` and `WorldView::corners`.
        pub first_triangle: u32,
        /// Number of its triangles.
        pub triangles: u32,
        /// Index of the material of all its triangles; 0xffffffff: each has its own.
        pub material: u32,
        /// Index of the model's first surface among the materials.
        pub first_material: u32,
        /// TRIANGLE_ bits of all its triangles, where it has one material.
        pub flags: u32,
        /// Largest sum of a row's magnitudes in `to_world`, without the translation.
        pub stretch: f32,
        /// Largest magnitude of the translation in `to_world`.
        pub shift: f32,
    }

    /// What the general kernels know beyond spheres, planes and plain materials.
    pub struct WorldView {
        /// Nodes of all trees.
        pub nodes: Ptr<BvhNode>,
        /// What the leaves of the world's tree hold: ITEM_ numbers of kernels/trace/world.h.
        pub items: Ptr<u32>,
        /// Triangles of all meshes.
        pub triangles: Ptr<TriangleTest>,
        /// Corners of all triangles, in the order of their numbers.
        pub corners: Ptr<TriangleCorners>,
        /// Corners of all meshes.
        pub vertices: Ptr<MeshVertex>,
        /// Meshes somewhere.
        pub instances: Ptr<MeshInstance>,
        /// What light does.
        pub lighting: LightingView,
        /// Root of the world's tree.
        pub root: u32,
        /// Length of `items`.
        pub item_count: u32,
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

    /// The exact film: fixed-point sums in three planes of `pixels`, and the samples each pixel has finished.
    pub struct FilmView {
        /// Red sums, then green, then blue.
        pub sums: Ptr<u64>,
        /// Finished samples of each pixel.
        pub counts: Ptr<u32>,
        /// Number of pixels.
        pub pixels: u64,
    }

    /// Counters that launches add to, in COUNTER_STRIPES copies so that waves do not queue up for one word.
    /// The order is that of `Counter` in src/engine/counters.rs.
    pub struct CounterView {
        /// `COUNTER_STRIPES` rows of 16 words.
        pub words: Ptr<u64>,
    }

    /// Ray slots as a structure of arrays: what a path must remember between two hits (52 bytes, 56 with pixel).
    pub struct RayStore {
        /// Three planes of `capacity` quads: {origin.xyz, dir.x} {dir.yz, weight.rg} {weight.b, radiance.rgb}.
        pub quads: Ptr<Quad>,
        /// Sample number << 12 | depth.
        pub info: Ptr<u32>,
        /// Pixel of each ray, where the slot does not say it (compaction).
        pub pixel: Ptr<u32>,
        /// Slots in each plane.
        pub capacity: u64,
    }

    /// A launch of one of the kernels of kernels/probe/light_probe.cpp.
    pub struct LightProbeParams {
        /// What they look at.
        pub lighting: LightingView,
        /// `stride` numbers an item.
        pub inputs: Ptr<f32>,
        /// Four numbers an item.
        pub outputs: Ptr<f32>,
        /// Items.
        pub count: u64,
        /// Numbers of each item's input.
        pub stride: u32,
        /// Samples of an item, along one side of a square, or the number of a texture.
        pub detail: u32,
    }

    /// A launch of one of the kernels of kernels/probe.
    pub struct ProbeParams {
        /// Tickets given out.
        pub counter: Ptr<u64>,
        /// `count` words.
        pub slots: Ptr<u64>,
        /// `count` numbers.
        pub values: Ptr<f32>,
        /// Length of the arrays.
        pub count: u64,
        /// Factor of the arithmetic.
        pub factor: f32,
        /// Unused; keeps the size a multiple of 8.
        pub reserved: u32,
    }

    /// A launch of a litmus test: kernels/probe/litmus.cpp.
    pub struct LitmusParams {
        /// First word of each instance: `rounds` stretches of as many as there are lanes.
        pub x: Ptr<u64>,
        /// Second word, likewise.
        pub y: Ptr<u64>,
        /// Four words an instance.
        pub payload: Ptr<u64>,
        /// What each part saw: two words an instance.
        pub seen: Ptr<u32>,
        /// Waves that have come, of all rounds so far.
        pub arrived: Ptr<u32>,
        /// Which test.
        pub test: u32,
        /// 1: without the orders that the test is about.
        pub weakened: u32,
        /// Instances that a lane owns.
        pub rounds: u32,
        /// Looks at a word that is not there yet.
        pub looks: u32,
        /// Looks of waves for each other before a round.
        pub patience: u32,
        /// Of the placements.
        pub seed: u32,
    }

    /// A launch of one of the kernels of kernels/bench/limits.cpp; each uses a part of this.
    pub struct LimitParams {
        /// `length` quads to copy.
        pub source: Ptr<Quad>,
        /// Where they go.
        pub target: Ptr<Quad>,
        /// Words to add to or to swap.
        pub words: Ptr<u64>,
        /// A number for each lane.
        pub values: Ptr<f32>,
        /// Quads to copy, or words to swap.
        pub length: u64,
        /// How often each lane does it.
        pub rounds: u32,
        /// Factor of the multiply-adds.
        pub factor: f32,
    }

    /// The megakernel's launch.
    pub struct MegakernelParams {
        /// The scene.
        pub scene: SceneView,
        /// Where samples go.
        pub film: FilmView,
        /// Where counts go.
        pub counters: CounterView,
        /// First chunk (8x4 pixels) of this launch.
        pub first_chunk: u64,
        /// Number of chunks.
        pub chunks: u64,
        /// Samples that each pixel shall have at the end.
        pub samples: u32,
        /// Unused.
        pub reserved: u32,
    }

    /// A launch that counts each pixel's rays.
    pub struct RayCountParams {
        /// The scene.
        pub scene: SceneView,
        /// Rays of each pixel.
        pub rays: Ptr<u32>,
        /// Chunks (8x4 pixels) of the image.
        pub chunks: u64,
        /// The sample whose rays count.
        pub sample: u32,
        /// Unused.
        pub reserved: u32,
    }

    /// A ray for the probe of trees.
    pub struct ProbeRay {
        /// Where it starts.
        pub origin: [f32; 3],
        /// Hits count up to here.
        pub t_max: f32,
        /// Unit direction.
        pub direction: [f32; 3],
        /// Unused.
        pub reserved: u32,
    }

    /// What a ray has hit.
    pub struct ProbeHit {
        /// Distance; `t_max` where nothing is hit.
        pub t: f32,
        /// Instance; 0xffffffff: a sphere or a plane, or nothing.
        pub instance: u32,
        /// Number of the triangle in its mesh, of the sphere, or of the plane after all spheres; 0xffffffff: nothing.
        pub number: u32,
        /// Nodes whose boxes were tested.
        pub nodes: u32,
        /// Triangles tested.
        pub triangles: u32,
    }

    /// A launch of one of the kernels that trace given rays.
    pub struct RayProbeParams {
        /// A general scene.
        pub scene: SceneView,
        /// `count` rays.
        pub rays: Ptr<ProbeRay>,
        /// What each has hit.
        pub hits: Ptr<ProbeHit>,
        /// Length of the arrays.
        pub count: u64,
    }

    /// A launch that adds up a film's digest.
    pub struct FilmDigestParams {
        /// The film.
        pub film: FilmView,
        /// One word, 0 before.
        pub digest: Ptr<u64>,
    }

    /// What the centre of a pixel sees first. Where it sees nothing: zeros, and a distance of infinity.
    pub struct FirstHit {
        /// Share of light that the surface reflects there, as its material and its texture have it; 1 for glass.
        pub albedo: [f32; 3],
        /// Distance from the eye.
        pub distance: f32,
        /// Unit normal in the world's space, on the eye's side.
        pub normal: [f32; 3],
        /// Number of the object, from 1; 0: none.
        pub object: u32,
    }

    /// A launch that looks through each pixel's centre.
    pub struct FirstHitParams {
        /// The scene, without jitter.
        pub scene: SceneView,
        /// What each pixel sees.
        pub hits: Ptr<FirstHit>,
        /// Chunks (8x4 pixels) of the image.
        pub chunks: u64,
    }

    /// A launch of one of the compaction engine's kernels.
    pub struct CompactionParams {
        /// The scene.
        pub scene: SceneView,
        /// Where samples go.
        pub film: FilmView,
        /// Where counts go.
        pub counters: CounterView,
        /// Rays to trace.
        pub rays: RayStore,
        /// Where the survivors go.
        pub next: RayStore,
        /// How many rays there are (one word).
        pub count: Ptr<u32>,
        /// How many survive (one word).
        pub next_count: Ptr<u32>,
        /// Scan form: 1 for each ray that goes on.
        pub flags: Ptr<u8>,
        /// Scan form: survivors of each stretch of rays, then where they start.
        pub sums: Ptr<u32>,
        /// First chunk (8x4 pixels) of this batch.
        pub first_chunk: u64,
        /// Chunks in this batch.
        pub chunks: u64,
        /// The sample that the batch adds to each pixel that lacks it.
        pub sample: u32,
        /// 1: the batch's first bounce, whose rays come from the camera and not from `rays`.
        pub fresh: u32,
    }

    /// Where the queues of one launch live. Words per queue and per lane are the queue kind's own (src/queue).
    pub struct QueueSpace {
        /// `queues` stretches of `queue_words`.
        pub words: Ptr<u64>,
        /// Per-lane records of the launch, `record_words` each; unused by queues without helping.
        pub records: Ptr<u64>,
        /// Words from one queue to the next.
        pub queue_words: u64,
        /// Where tickets start, rounded down to a lap: 0, but for tests of counters that wrap.
        pub first_ticket: u64,
        /// Live values that each queue holds at most; a power of two.
        pub capacity: u32,
        /// log2 of `capacity`.
        pub order: u32,
        /// Number of queues.
        pub queues: u32,
        /// Words of one lane's record.
        pub record_words: u32,
        /// Lanes that may operate on one queue at a time: thresholds use it.
        pub lanes: u32,
        /// Fast attempts before an operation asks for help (wait-free kinds).
        pub patience: u32,
        /// Operations between two looks at a peer's request (wait-free kinds).
        pub help_delay: u32,
        /// Cells of a segment pool (gwfq-ymc), 0 elsewhere.
        pub pool_cells: u32,
        /// Lanes that have a record.
        pub resident_lanes: u32,
        /// Unused.
        pub reserved: u32,
    }

    /// Sets queues up: every queue empty, or holding 0..fill-1.
    pub struct QueueInitParams {
        /// The queues.
        pub space: QueueSpace,
        /// Values that each queue holds at first, at most its capacity.
        pub fill: u32,
        /// Unused.
        pub reserved: u32,
    }

    /// The tile-queue engine's launches.
    pub struct TileParams {
        /// The scene.
        pub scene: SceneView,
        /// Where samples go.
        pub film: FilmView,
        /// Where counts go.
        pub counters: CounterView,
        /// Ray slots: tile t owns slots t * tile_slots .. (t + 1) * tile_slots.
        pub rays: RayStore,
        /// One queue a tile.
        pub space: QueueSpace,
        /// Adaptive policy: one word, the turns that were given out in this pass.
        pub given: Ptr<u32>,
        /// Device ticks after which waves park their rays and return; 0: no limit.
        pub budget_ticks: u64,
        /// Tiles across the image.
        pub tiles_x: u32,
        /// Tiles down the image.
        pub tiles_y: u32,
        /// Tile width in pixels.
        pub tile_width: u32,
        /// Tile height in pixels.
        pub tile_height: u32,
        /// Slots of one tile: its pixels, padded to whole 8x4 chunks.
        pub tile_slots: u32,
        /// Samples that each pixel shall have at the end.
        pub samples: u32,
        /// Adaptive policy: byte of a block's on-chip memory where the stashes start.
        pub stash_offset: u32,
        /// Adaptive policy: 1 if rays may be in the queues when the launch starts.
        pub parked: u32,
        /// Adaptive policy: lane-steps that a refill costs.
        pub refill_price: u32,
        /// Adaptive policy: slots of one turn, a multiple of the wave size.
        pub turn_slots: u32,
        /// Adaptive policy: turns of one tile.
        pub tile_turns: u32,
        /// Adaptive policy: turns of all tiles.
        pub turns: u32,
        /// Paper policy: waves that serve a tile together.
        pub tile_waves: u32,
        /// Adaptive policy: samples that every pixel has when the pass begins; 0xffffffff: each has its own number.
        pub known_samples: u32,
    }

    /// What the queue probe writes down about one operation.
    pub struct ProbeRecord {
        /// Device ticks before it.
        pub begin: u64,
        /// Device ticks after it.
        pub end: u64,
        /// The operation that put the value in: this one, or the one whose value a dequeue took out.
        pub id: u32,
        /// A QueueStatus, 6 if it has not returned, 5 if it did not take place.
        pub status: u32,
    }

    /// The queue probe's launches.
    pub struct QueueProbeParams {
        /// The queue, number 0.
        pub space: QueueSpace,
        /// `length` actions a lane: 0 nothing, 1 enqueue, 2 dequeue.
        pub script: Ptr<u32>,
        /// One record an action.
        pub records: Ptr<ProbeRecord>,
        /// One word a value: a slot, or else an operation's number.
        pub payload: Ptr<u64>,
        /// Sums of the lanes' tallies: retries, spins, slow operations, helps.
        pub tallies: Ptr<u64>,
        /// Actions of each lane.
        pub length: u32,
        /// Values that the queue holds at first: 0..fill, put in by operations of these numbers.
        pub fill: u32,
        /// 1: values are slots that lanes own and hand on; 0: each enqueue has a new value.
        pub slots: u32,
        /// 1: sequentially consistent fences keep the operations within their stamps.
        pub fenced: u32,
        /// Bit w: waves w, w + 32, .. ask for help at once (patience 0).
        pub slow_waves: u32,
        /// How often an operation is repeated while it says queue_busy.
        pub repeats: u32,
    }

    /// Who plays which part in a launch of the queues' bench or judge: kernels/bench/workload.h.
    pub struct QueueRoles {
        /// Lanes that put values in; with no consumers, they take values out, too.
        pub producers: u32,
        /// Lanes that only take values out.
        pub consumers: u32,
    }

    /// What a lane of the queue bench tells at the end.
    pub struct BenchRecord {
        /// Values put in during the whole launch.
        pub put: u64,
        /// Values taken out during the whole launch.
        pub taken: u64,
        /// Sum of those put in.
        pub put_sum: u64,
        /// Sum of those taken out.
        pub taken_sum: u64,
        /// Exclusive or of all of them.
        pub mix: u64,
        /// Cycles inside operations; of the measured interval, as all below. 0 without counters.
        pub cycles: u64,
        /// Smallest length that the queue reported; u64::MAX if it was not asked.
        pub least_length: u64,
        /// Largest length that the queue reported.
        pub most_length: u64,
        /// Number of such reports.
        pub samples: u32,
        /// Enqueues that were ok.
        pub enqueued: u32,
        /// Dequeues that were ok.
        pub dequeued: u32,
        /// Enqueues that found no room.
        pub full: u32,
        /// Dequeues that found nothing.
        pub empty: u32,
        /// Calls that came to nothing, or have to go on, because a slot was in another lane's hands.
        pub busy: u32,
        /// 1: the lane's last call never came to an end.
        pub stuck: u32,
        /// Attempts beyond each operation's first. 0 without counters, as all below.
        pub retries: u32,
        /// Polls of words in other lanes' hands.
        pub spins: u32,
        /// Operations that asked for help.
        pub slow: u32,
        /// Requests of peers that the lane worked on.
        pub helps: u32,
        /// Unused; keeps the size a multiple of 8.
        pub reserved: u32,
    }

    /// A launch of one of the queue bench's kernels.
    pub struct QueueBenchParams {
        /// The queue, number 0.
        pub space: QueueSpace,
        /// One record a lane.
        pub records: Ptr<BenchRecord>,
        /// 1 for each slot that a split producer has put in and that no consumer has given back.
        pub out: Ptr<u32>,
        /// How often each value was in somebody's hands at the end, or came out if lanes have items of their own.
        pub seen: Ptr<u32>,
        /// Two words: when the launch began, and when the queue's pool was used up; 0 before that.
        pub clock: Ptr<u64>,
        /// Length of `seen`.
        pub seen_length: u64,
        /// 0: values are slots; else lanes have items of their own, those below this number.
        pub items: u64,
        /// Ticks before the measured interval.
        pub warmup_ticks: u64,
        /// Ticks of the measured interval.
        pub interval_ticks: u64,
        /// Ticks that calls have to come to an end after it.
        pub settle_ticks: u64,
        /// Who does what.
        pub roles: QueueRoles,
        /// 1: lanes ask for the queue's length now and then.
        pub occupancy: u32,
        /// Launches of fixed work: values that each producer puts in.
        pub turns: u32,
    }

    /// A launch that writes down what operations did: kernels/bench/queue_judge.cpp.
    pub struct QueueJudgeParams {
        /// The queue, number 0.
        pub space: QueueSpace,
        /// One word an operation, row by row: item | status << 32 | action << 40; 0: there was none.
        pub words: Ptr<u64>,
        /// Begin and end of each wave's row.
        pub stamps: Ptr<u64>,
        /// The item in each slot.
        pub payload: Ptr<u64>,
        /// As in `QueueBenchParams`.
        pub out: Ptr<u32>,
        /// The clock that counts stamps.
        pub counter: Ptr<u64>,
        /// Sums of the lanes' retries, spins, slow operations and helps.
        pub tallies: Ptr<u64>,
        /// Waves that have come.
        pub arrived: Ptr<u32>,
        /// Ticks after which lanes give up.
        pub limit_ticks: u64,
        /// Ticks that waves wait for each other at the start.
        pub meet_ticks: u64,
        /// Who does what.
        pub roles: QueueRoles,
        /// Rows of operations.
        pub rows: u32,
        /// 1: stamps count up one word; 0: they are the device's clock.
        pub counter_stamps: u32,
        /// Looks at slots that are out before a producer sits a row out.
        pub tries: u32,
        /// Waves that work.
        pub waves: u32,
    }

    /// A launch that measures the device's clock.
    pub struct QueueClockParams {
        /// The latest reading of all lanes.
        pub latest: Ptr<u64>,
        /// Per wave, the smallest step between two of its readings.
        pub steps: Ptr<u64>,
        /// Per wave, how far another's earlier reading was ahead of its own.
        pub aheads: Ptr<u64>,
        /// Readings of each wave.
        pub rounds: u32,
        /// Unused; keeps the size a multiple of 8.
        pub reserved: u32,
    }

    /// A launch of one of the traversal's kernels: kernels/bfs/traverse.h. Arcs are grouped in rows of bounded
    /// length, one or more a vertex; a frontier is a set of rows.
    pub struct BfsParams {
        /// The two queues of rows that alternate; unused by the append frontier.
        pub space: QueueSpace,
        /// Where the arcs of each row begin in `targets`; one more at the end.
        pub offsets: Ptr<u32>,
        /// Where each arc leads.
        pub targets: Ptr<u32>,
        /// The first row of each vertex, one more at the end; null: row v is vertex v.
        pub first_row: Ptr<u32>,
        /// A bit a vertex: it has a level.
        pub visited: Ptr<u32>,
        /// Level + 1 of each vertex; 0: not reached.
        pub levels: Ptr<u32>,
        /// The append frontier: every row that was ever put in, in that order.
        pub frontier: Ptr<u32>,
        /// How far the traversal is: words on lines of their own.
        pub control: Ptr<u64>,
        /// Sums over waves, in stripes: arcs walked, vertices reached.
        pub tallies: Ptr<u64>,
        /// Ticks after which waves leave when their work in hand is done; 0: never.
        pub budget_ticks: u64,
        /// Ticks that a wave waits for a row that must be in the queue.
        pub patience_ticks: u64,
        /// Number of vertices.
        pub vertices: u32,
        /// Where the traversal starts.
        pub source: u32,
        /// Rows that earlier launches took out.
        pub first_claim: u32,
        /// Rows that a wave claims at least.
        pub least_bite: u32,
        /// Rows that a wave claims at most.
        pub most_bite: u32,
        /// The launch ends before it gives vertices a level beyond this.
        pub last_level: u32,
        /// The launch ends before a level of more rows than this.
        pub most_rows: u32,
        /// Unused; keeps the size a multiple of 8.
        pub reserved: u32,
    }

    /// A level from below: each vertex without a level looks for a neighbour that has one. kernels/bfs/append.cpp.
    pub struct BfsPullParams {
        /// Where the arcs into each vertex, or row, begin in `sources`; one more at the end.
        pub offsets: Ptr<u32>,
        /// Where each of these arcs comes from.
        pub sources: Ptr<u32>,
        /// The first row of each vertex; null: row v is vertex v.
        pub first_row: Ptr<u32>,
        /// Who had a level before.
        pub visited: Ptr<u32>,
        /// Who has one afterwards.
        pub next_visited: Ptr<u32>,
        /// Level + 1 of each vertex.
        pub levels: Ptr<u32>,
        /// As in `BfsParams`.
        pub tallies: Ptr<u64>,
        /// Number of vertices.
        pub vertices: u32,
        /// The level that is given.
        pub level: u32,
    }
}
