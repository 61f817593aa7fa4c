//! The parts of a glTF file that are read, as its JSON writes them. Other keys are skipped, as the format wants it;
//! what must hold is checked where the values are used.
//!
//! The model is our own: the known crate's reads of 64-bit indices wrap, its checks index past the end on a bad
//! `POSITION`, and it refuses textures and accessors that the format allows.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// An index into one of the lists of [`Root`].
pub type Index = usize;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Root {
    pub asset: Asset,
    pub extensions_used: Vec<String>,
    pub extensions_required: Vec<String>,
    pub extensions: RootExtensions,
    pub scene: Option<Index>,
    pub scenes: Vec<Scene>,
    pub nodes: Vec<Node>,
    pub meshes: Vec<Mesh>,
    pub accessors: Vec<Accessor>,
    pub buffer_views: Vec<View>,
    pub buffers: Vec<Buffer>,
    pub materials: Vec<Material>,
    pub textures: Vec<Texture>,
    pub samplers: Vec<Sampler>,
    pub images: Vec<Image>,
    pub animations: Vec<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asset {
    pub version: String,
    pub min_version: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RootExtensions {
    #[serde(rename = "KHR_lights_punctual")]
    pub lights: Lights,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Lights {
    pub lights: Vec<Light>,
}

#[derive(Debug, Deserialize)]
pub struct Light {
    #[serde(rename = "type")]
    pub kind: String,
    pub color: Option<[f32; 3]>,
    pub intensity: Option<f32>,
    pub range: Option<f32>,
    #[serde(default)]
    pub spot: Spot,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spot {
    pub inner_cone_angle: Option<f64>,
    pub outer_cone_angle: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub struct Scene {
    #[serde(default)]
    pub nodes: Vec<Index>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Node {
    pub children: Vec<Index>,
    pub mesh: Option<Index>,
    pub skin: Option<Index>,
    pub matrix: Option<[f64; 16]>,
    pub translation: Option<[f64; 3]>,
    pub rotation: Option<[f64; 4]>,
    pub scale: Option<[f64; 3]>,
    pub extensions: NodeExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeExtensions {
    #[serde(rename = "KHR_lights_punctual")]
    pub light: Option<LightReference>,
}

#[derive(Debug, Deserialize)]
pub struct LightReference {
    pub light: Index,
}

#[derive(Debug, Deserialize)]
pub struct Mesh {
    #[serde(default)]
    pub name: String,
    pub primitives: Vec<Primitive>,
}

#[derive(Debug, Deserialize)]
pub struct Primitive {
    pub attributes: BTreeMap<String, Index>,
    pub indices: Option<Index>,
    pub material: Option<Index>,
    pub mode: Option<u64>,
    #[serde(default)]
    pub targets: Vec<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accessor {
    pub buffer_view: Option<Index>,
    #[serde(default)]
    pub byte_offset: u64,
    pub component_type: u64,
    #[serde(default)]
    pub normalized: bool,
    pub count: u64,
    #[serde(rename = "type")]
    pub shape: String,
    pub sparse: Option<Sparse>,
}

#[derive(Debug, Deserialize)]
pub struct Sparse {
    pub count: u64,
    pub indices: SparsePart,
    pub values: SparsePart,
}

/// Where the indices of a sparse accessor, or its values, are.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SparsePart {
    pub buffer_view: Index,
    #[serde(default)]
    pub byte_offset: u64,
    /// Of the indices alone.
    pub component_type: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    pub buffer: Index,
    #[serde(default)]
    pub byte_offset: u64,
    pub byte_length: u64,
    pub byte_stride: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Buffer {
    pub uri: Option<String>,
    pub byte_length: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub uri: Option<String>,
    pub buffer_view: Option<Index>,
}

#[derive(Debug, Deserialize)]
pub struct Texture {
    pub sampler: Option<Index>,
    pub source: Option<Index>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sampler {
    pub mag_filter: Option<u64>,
    pub min_filter: Option<u64>,
    pub wrap_s: Option<u64>,
    pub wrap_t: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Material {
    pub name: String,
    pub pbr_metallic_roughness: MetallicRoughness,
    pub normal_texture: Option<Info>,
    pub emissive_texture: Option<Info>,
    pub emissive_factor: Option<[f32; 3]>,
    pub alpha_mode: Option<String>,
    pub alpha_cutoff: Option<f32>,
    pub double_sided: bool,
    pub extensions: MaterialExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetallicRoughness {
    pub base_color_factor: Option<[f32; 4]>,
    pub base_color_texture: Option<Info>,
    pub metallic_factor: Option<f32>,
    pub roughness_factor: Option<f32>,
    pub metallic_roughness_texture: Option<Info>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct MaterialExtensions {
    #[serde(rename = "KHR_materials_specular")]
    pub specular: Option<Specular>,
    #[serde(rename = "KHR_materials_ior")]
    pub ior: Option<Ior>,
    #[serde(rename = "KHR_materials_emissive_strength")]
    pub emissive: Option<EmissiveStrength>,
    #[serde(rename = "KHR_materials_transmission")]
    pub transmission: Option<Transmission>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Specular {
    pub specular_factor: Option<f32>,
    pub specular_color_factor: Option<[f32; 3]>,
    pub specular_texture: Option<IgnoredAny>,
    pub specular_color_texture: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub struct Ior {
    pub ior: Option<f32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmissiveStrength {
    pub emissive_strength: Option<f32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Transmission {
    pub transmission_factor: Option<f32>,
    pub transmission_texture: Option<IgnoredAny>,
}

/// A use of a texture.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Info {
    pub index: Index,
    #[serde(default)]
    pub tex_coord: u32,
    /// Of normal textures alone.
    pub scale: Option<f32>,
    #[serde(default)]
    pub extensions: InfoExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct InfoExtensions {
    #[serde(rename = "KHR_texture_transform")]
    pub transform: Option<TextureTransform>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TextureTransform {
    pub offset: [f32; 2],
    pub rotation: f64,
    pub scale: Option<[f32; 2]>,
    pub tex_coord: Option<u32>,
}
