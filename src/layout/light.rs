//! Light in general scenes: surfaces of models and their textures, lights, the sky.

use super::{CType, Ptr};
use bytemuck::{Pod, Zeroable};

layout! {
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
}
