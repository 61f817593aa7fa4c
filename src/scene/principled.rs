//! The rules of `principled` materials, and the pictures that they wear.

use super::fault::{Checked, Fault, Within};
use super::format::{MaterialEntry, Real, Triple};
use super::validate::{INDICES, RADIANCES, SHARES, in_range, optional, triple};
use crate::file::Files;
use crate::model::{Image, Surface, Texture, Wrap, image};
use glam::Vec3;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Factors of a normal texture's slopes.
const NORMAL_SCALES: std::ops::RangeInclusive<f64> = 0.0..=100.0;

/// Pictures that scene files name, each read once.
pub struct Pictures<'a> {
    /// What paths are relative to.
    pub folder: &'a Path,
    /// Learns of what is read.
    pub files: &'a Files,
    /// In the order of their indices.
    pub list: Vec<Arc<Image>>,
    indices: HashMap<PathBuf, u32>,
}

impl<'a> Pictures<'a> {
    /// None yet.
    pub fn new(folder: &'a Path, files: &'a Files) -> Self {
        Pictures { folder, files, list: vec![], indices: HashMap::new() }
    }

    /// The index of the picture in `file`.
    pub fn index(&mut self, file: &str) -> Checked<u32> {
        let path = self.folder.join(file);
        if let Some(&index) = self.indices.get(&path) {
            return Ok(index);
        }
        let picture = image::load_noting(&path, self.files).map_err(|e| Fault::new(e.to_string()))?;
        let index = self.list.len() as u32;
        self.list.push(Arc::new(picture));
        self.indices.insert(path, index);
        Ok(index)
    }

    /// The texture that a key names: repeated, bilinear.
    fn texture(&mut self, file: Option<String>, key: &str) -> Checked<Option<Texture>> {
        let Some(file) = file else { return Ok(None) };
        let image = self.index(&file).within(key)?;
        let transform = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        Ok(Some(Texture { image, wrap: [Wrap::Repeat; 2], smooth: true, transform }))
    }
}

/// A material in glTF's metallic-roughness model.
pub fn surface(entry: &mut MaterialEntry, pictures: &mut Pictures) -> Checked<Surface> {
    let color = |value: Option<Triple>, default: f64, allowed, key: &str| {
        triple(value.unwrap_or(Triple::of(default)), allowed).within(key)
    };
    let number = |value: Option<Real>, default: f64, allowed, key: &str| {
        in_range(value.unwrap_or(Real(default)), allowed).within(key)
    };
    let emission_texture = entry.emission_texture.take();
    // A texture alone glows as it is.
    let glow = if emission_texture.is_some() { 1.0 } else { 0.0 };
    Ok(Surface {
        base_color: color(entry.base_color.take(), 1.0, SHARES, "base_color")?,
        base_texture: pictures.texture(entry.base_color_texture.take(), "base_color_texture")?,
        metallic: number(entry.metallic.take(), 0.0, SHARES, "metallic")?,
        roughness: number(entry.roughness.take(), 1.0, SHARES, "roughness")?,
        roughness_texture: pictures
            .texture(entry.metallic_roughness_texture.take(), "metallic_roughness_texture")?,
        normal_texture: pictures.texture(entry.normal_texture.take(), "normal_texture")?,
        normal_scale: number(entry.normal_scale.take(), 1.0, NORMAL_SCALES, "normal_scale")?,
        emission: color(entry.emission.take(), glow, RADIANCES, "emission")?,
        emission_texture: pictures.texture(emission_texture, "emission_texture")?,
        specular: number(entry.specular.take(), 1.0, SHARES, "specular")?,
        specular_color: Vec3::ONE,
        ior: number(entry.ior.take(), 1.5, INDICES, "ior")?,
        alpha_cutoff: optional(entry.alpha_cutoff.take(), SHARES).within("alpha_cutoff")?,
        double_sided: true,
        ..Surface::default()
    })
}
