//! Models: what OBJ and glTF files hold, checked, in one form that the rest of the program reads.
//!
//! A loader turns a file into a [`Model`] or into one error line; it never hands on an index that points nowhere or
//! a number that is not finite. Colours are linear; angles are radians; texture coordinates have (0, 0) at the first
//! texel of the first row, as glTF has them.

mod file;
mod finish;
pub mod generate;
mod gltf;
pub mod image;
mod obj;
mod polygon;
mod summary;
mod warnings;

pub use summary::Summary;

use crate::error::Result;
use crate::file::Files;
use finish::Mended;
use glam::{Affine3A, Vec2, Vec3, Vec4};
use std::path::Path;
use std::sync::Arc;
use warnings::Warnings;

/// Largest coordinate, as in scenes: squares of squares still fit a float.
pub const MAX_COORDINATE: f32 = 1e9;
/// Most triangles of a model's meshes.
pub const MAX_TRIANGLES: usize = 1 << 26;
/// Most instances of a model.
pub const MAX_INSTANCES: usize = 1 << 20;

/// Reads and checks the OBJ, glTF or GLB file at `path`, and the files that it names.
///
/// # Errors
/// [`crate::error::Error::Input`]: one line with the file, the line or the part of it, and what is wrong there.
pub fn load(path: &Path) -> Result<Model> {
    load_noting(path, &Files::default())
}

/// The same; `files` learns of every file that decides how it goes.
///
/// # Errors
/// As [`load`].
pub fn load_noting(path: &Path, files: &Files) -> Result<Model> {
    let kind = kind(path)?;
    kind.parse(path, &file::read_model(path, files)?, files)
}

/// Checks a model that is in memory. `path` names it in errors, tells its kind, and the files that it mentions are
/// beside `path`.
///
/// # Errors
/// As [`load`].
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Model> {
    kind(path)?.parse(path, bytes, &Files::default())
}

/// Formats of models.
enum Kind {
    Obj,
    Gltf,
}

impl Kind {
    fn parse(self, path: &Path, bytes: &[u8], files: &Files) -> Result<Model> {
        match self {
            Kind::Obj => obj::parse(path, bytes, files),
            Kind::Gltf => gltf::parse(path, bytes, files),
        }
    }
}

/// What the file name's extension tells.
fn kind(path: &Path) -> Result<Kind> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("obj") => Ok(Kind::Obj),
        Some("gltf" | "glb") => Ok(Kind::Gltf),
        _ => Err(file::fault(path, "a model's name ends in .obj, .gltf or .glb")),
    }
}

/// Triangles that share vertices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Name in the file, or empty.
    pub name: String,
    /// Corners, finite.
    pub positions: Vec<Vec3>,
    /// Unit normals, one a position; empty: the faces' own.
    pub normals: Vec<Vec3>,
    /// Unit tangents and handedness (w = 1 or -1), one a position; empty: none.
    pub tangents: Vec<Vec4>,
    /// Texture coordinates, one a position; empty: none.
    pub uvs: Vec<Vec2>,
    /// Three indices into `positions`, counter-clockwise seen from the front. None is degenerate.
    pub triangles: Vec<[u32; 3]>,
    /// Index into [`Model::surfaces`] of each triangle; of one length with `triangles`.
    pub surfaces: Vec<u32>,
}

/// A mesh somewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Index into [`Model::meshes`].
    pub mesh: u32,
    /// From the mesh's space to the world's; invertible. A negative determinant turns the front side round.
    pub transform: Affine3A,
}

/// How texture coordinates outside 0..1 are taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// Again and again.
    #[default]
    Repeat,
    /// To and fro.
    Mirror,
    /// The edge goes on.
    Clamp,
}

/// An image as a surface wears it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Index into [`Model::images`].
    pub image: u32,
    /// Across and down.
    pub wrap: [Wrap; 2],
    /// Bilinear; otherwise the nearest texel.
    pub smooth: bool,
    /// Rows of the affine map (KHR_texture_transform) that takes mesh coordinates (u, v, 1) to the texture's.
    pub transform: [[f32; 3]; 2],
}

/// Texels.
#[derive(Clone, Debug, PartialEq)]
pub enum Texels {
    /// RGBA, 8 bits a channel, as stored. Whether colour channels are sRGB is the use's business, not the image's.
    Bytes(Vec<[u8; 4]>),
    /// RGBA, 16 bits a channel, as stored.
    Words(Vec<[u16; 4]>),
    /// RGB, linear.
    Floats(Vec<[f32; 3]>),
}

/// A decoded image.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// File or place in a file, for messages.
    pub name: String,
    /// Texels across.
    pub width: u32,
    /// Texels down.
    pub height: u32,
    /// Row after row from the top.
    pub texels: Texels,
}

/// What a surface of a model does with light: glTF's metallic-roughness model, or clear glass.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Name in the file, or empty.
    pub name: String,
    /// Base colour, linear, 0..=1 a channel.
    pub base_color: Vec3,
    /// sRGB colour that multiplies `base_color`; its alpha is read where `alpha_cutoff` is set.
    pub base_texture: Option<Texture>,
    /// 0 dielectric .. 1 metal.
    pub metallic: f32,
    /// Perceptual roughness, 0..=1; the microfacets' alpha is its square.
    pub roughness: f32,
    /// Linear: green multiplies `roughness`, blue `metallic`.
    pub roughness_texture: Option<Texture>,
    /// Linear: a normal in tangent space, 2 * texel - 1.
    pub normal_texture: Option<Texture>,
    /// Factor of the normal texture's x and y.
    pub normal_scale: f32,
    /// Radiance given off, any size.
    pub emission: Vec3,
    /// sRGB colour that multiplies `emission`.
    pub emission_texture: Option<Texture>,
    /// Strength of the dielectric specular, 0..=1: 1 is the 4 % of `ior` 1.5, 0 switches it off.
    pub specular: f32,
    /// Colour of the dielectric specular at normal incidence.
    pub specular_color: Vec3,
    /// Index of refraction.
    pub ior: f32,
    /// Clear glass of that `ior` (KHR_materials_transmission at 1), nothing else.
    pub glass: bool,
    /// Factor of the base texture's alpha.
    pub alpha: f32,
    /// Where the alpha is less than this, there is no surface; `None`: opaque.
    pub alpha_cutoff: Option<f32>,
    /// Whether the back side shows. The back of a single-sided surface lets rays pass.
    pub double_sided: bool,
}

impl Default for Surface {
    /// glTF's default material: white, fully metallic and rough as its specification says.
    fn default() -> Self {
        Surface {
            name: String::new(),
            base_color: Vec3::ONE,
            base_texture: None,
            metallic: 1.0,
            roughness: 1.0,
            roughness_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
            emission: Vec3::ZERO,
            emission_texture: None,
            specular: 1.0,
            specular_color: Vec3::ONE,
            ior: 1.5,
            glass: false,
            alpha: 1.0,
            alpha_cutoff: None,
            double_sided: false,
        }
    }
}

/// A light without size, in the world's space. In models (KHR_lights_punctual) lux and candela of colour 1 count as 1;
/// a scene file's colours are these over pi, as its format says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Light {
    /// Infinitely far away.
    Directional {
        /// Unit, from the scene to the light.
        direction: Vec3,
        /// Irradiance on a surface that faces it.
        color: Vec3,
    },
    /// A point.
    Point {
        /// Where.
        position: Vec3,
        /// Radiant intensity: irradiance at distance 1.
        color: Vec3,
    },
    /// A cone, full inside the inner angle, fading to nothing at the outer one.
    Spot {
        /// Where.
        position: Vec3,
        /// Unit, the way the light travels.
        direction: Vec3,
        /// Radiant intensity along the axis.
        color: Vec3,
        /// Cosines of the inner and the outer angle, from the axis; inner > outer.
        cosines: [f32; 2],
    },
}

impl Light {
    /// The same in another unit: its colour times `factor`.
    pub fn times(self, factor: f32) -> Light {
        let mut light = self;
        match &mut light {
            Light::Directional { color, .. } | Light::Point { color, .. } | Light::Spot { color, .. } => {
                *color *= factor;
            }
        }
        light
    }

    /// The most irradiance on any surface, no nearer to it than `reach`.
    pub fn irradiance(&self, reach: f32) -> Vec3 {
        match *self {
            Light::Directional { color, .. } => color,
            Light::Point { color, .. } | Light::Spot { color, .. } => color / (reach * reach),
        }
    }
}

/// A file's contents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Meshes that instances share.
    pub meshes: Vec<Arc<Mesh>>,
    /// Where they are.
    pub instances: Vec<Instance>,
    /// What their triangles are made of.
    pub surfaces: Vec<Surface>,
    /// Images that surfaces wear.
    pub images: Vec<Arc<Image>>,
    /// Lights.
    pub lamps: Vec<Light>,
    /// Triangles that were left out because their corners lie on a line or a point.
    pub degenerate: u64,
    /// What the file asks for and does not get, one line each.
    pub warnings: Vec<String>,
}

impl Mesh {
    /// Whether a triangle wears a normal texture for which the mesh has all but tangents.
    fn wants_tangents(&self, surfaces: &[Surface]) -> bool {
        let mapped = |s: &u32| surfaces[*s as usize].normal_texture.is_some();
        self.tangents.is_empty()
            && !self.normals.is_empty()
            && !self.uvs.is_empty()
            && self.surfaces.iter().any(mapped)
    }
}

impl Model {
    /// Takes over what was noticed while `file` was read.
    fn tell(&mut self, file: &Path, warnings: Warnings, mended: Mended) {
        self.degenerate = mended.degenerate;
        self.warnings = warnings.into_lines(file, mended);
    }
}
