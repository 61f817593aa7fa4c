//! Materials and the textures they wear.

use super::json::{Index, Info, Material};
use super::source::Source;
use super::trigonometry::sine_and_cosine;
use crate::error::Result;
use crate::model::image::{Images, decode};
use crate::model::{Surface, Texture, Warnings, Wrap};
use glam::Vec3;
use std::ops::RangeInclusive;

/// Emission of any size, as in scenes.
const RADIANCES: RangeInclusive<f32> = 0.0..=1e9;
const SHARES: RangeInclusive<f32> = 0.0..=1.0;
/// Indices of refraction.
const INDICES: RangeInclusive<f32> = 1.0..=100.0;
/// Offsets and scales of texture coordinates, scales of normals.
const FACTORS: RangeInclusive<f32> = -1e6..=1e6;
/// The alpha below which blended surfaces are left out.
const BLEND_CUTOFF: f32 = 0.5;

/// Makes surfaces of materials, and keeps their images.
pub struct Materials<'a> {
    source: &'a Source<'a>,
    /// Images that surfaces wear.
    pub images: Images,
}

impl<'a> Materials<'a> {
    /// Of this file, without images so far.
    pub fn new(source: &'a Source<'a>) -> Self {
        Materials { source, images: Images::default() }
    }

    /// A material as a surface, and the set of texture coordinates that its textures read.
    pub fn surface(&mut self, index: Index, warnings: &mut Warnings) -> Result<(Surface, u32)> {
        let source = self.source;
        let material = &source.root.materials[index];
        let place = format!("materials[{index}]");
        let pbr = &material.pbr_metallic_roughness;
        let extensions = &material.extensions;
        let check = |value: f32, allowed: RangeInclusive<f32>, key: &str| match allowed.contains(&value) {
            true => Ok(value),
            false => {
                let (least, most) = allowed.into_inner();
                let text = format!("{place}: {key}: {value:?} is out of range; allowed: {least} to {most}");
                Err(source.fault(text))
            }
        };
        let color = |[r, g, b]: [f32; 3], allowed: RangeInclusive<f32>, key| {
            let [r, g, b] =
                [check(r, allowed.clone(), key)?, check(g, allowed.clone(), key)?, check(b, allowed, key)?];
            Ok(Vec3::new(r, g, b))
        };
        let [r, g, b, alpha] = pbr.base_color_factor.unwrap_or([1.0; 4]);
        let strength = extensions.emissive.as_ref().and_then(|e| e.emissive_strength).unwrap_or(1.0);
        let strength = check(strength, RADIANCES, "emissiveStrength")?;
        let emission = material.emissive_factor.unwrap_or([0.0; 3]).map(|e| e * strength);
        let specular = extensions.specular.as_ref();
        let ior = extensions.ior.as_ref().and_then(|i| i.ior).unwrap_or(1.5);
        let mut sets = Sets::default();
        let mut texture = |info: &Option<Info>, key: &str| match info {
            Some(info) => self.texture(info, &format!("{place}: {key}"), &mut sets, warnings),
            None => Ok(None),
        };
        let surface = Surface {
            name: material.name.clone(),
            base_color: color([r, g, b], SHARES, "baseColorFactor")?,
            base_texture: texture(&pbr.base_color_texture, "baseColorTexture")?,
            metallic: check(pbr.metallic_factor.unwrap_or(1.0), SHARES, "metallicFactor")?,
            roughness: check(pbr.roughness_factor.unwrap_or(1.0), SHARES, "roughnessFactor")?,
            roughness_texture: texture(&pbr.metallic_roughness_texture, "metallicRoughnessTexture")?,
            normal_texture: texture(&material.normal_texture, "normalTexture")?,
            normal_scale: check(
                material.normal_texture.as_ref().and_then(|n| n.scale).unwrap_or(1.0),
                FACTORS,
                "normalTexture.scale",
            )?,
            emission: color(emission, RADIANCES, "emissiveFactor")?,
            emission_texture: texture(&material.emissive_texture, "emissiveTexture")?,
            specular: check(
                specular.and_then(|s| s.specular_factor).unwrap_or(1.0),
                SHARES,
                "specularFactor",
            )?,
            specular_color: color(
                specular.and_then(|s| s.specular_color_factor).unwrap_or([1.0; 3]),
                RADIANCES,
                "specularColorFactor",
            )?,
            ior: check(ior, INDICES, "ior")?,
            glass: is_glass(material, &place, warnings),
            alpha: check(alpha, SHARES, "baseColorFactor")?,
            alpha_cutoff: match material.alpha_mode.as_deref() {
                None | Some("OPAQUE") => None,
                Some("MASK") => Some(check(material.alpha_cutoff.unwrap_or(0.5), RADIANCES, "alphaCutoff")?),
                Some("BLEND") => {
                    let text = || {
                        format!("{place}: is to be blended, and is cut out at alpha {BLEND_CUTOFF} instead")
                    };
                    warnings.add("blend", text);
                    Some(BLEND_CUTOFF)
                }
                Some(other) => {
                    let text = format!("{place}: unknown alphaMode `{other}`; allowed: OPAQUE, MASK, BLEND");
                    return Err(source.fault(text));
                }
            },
            double_sided: material.double_sided,
        };
        if specular.is_some_and(|s| s.specular_texture.is_some() || s.specular_color_texture.is_some()) {
            warnings
                .add("specular textures", || format!("{place}: the textures of its specular are left out"));
        }
        if sets.several {
            let text = || format!("{place}: all its textures use TEXCOORD_{}", sets.first.unwrap_or(0));
            warnings.add("texture coordinates", text);
        }
        Ok((surface, sets.first.unwrap_or(0)))
    }

    fn texture(
        &mut self,
        info: &Info,
        place: &str,
        sets: &mut Sets,
        warnings: &mut Warnings,
    ) -> Result<Option<Texture>> {
        let source = self.source;
        let root = &source.root;
        let texture = source.get(&root.textures, info.index, "textures", place)?;
        let Some(image) = texture.source else {
            let text = || format!("textures[{}]: names no picture that rayq reads; left out", info.index);
            warnings.add("texture without a picture", text);
            return Ok(None);
        };
        let sampler = match texture.sampler {
            Some(index) => Some(source.get(&root.samplers, index, "samplers", place)?),
            None => None,
        };
        let wrap = |mode: Option<u64>| match mode {
            None | Some(10497) => Ok(Wrap::Repeat),
            Some(33648) => Ok(Wrap::Mirror),
            Some(33071) => Ok(Wrap::Clamp),
            Some(other) => {
                Err(source.fault(format_args!("{place}: its sampler has the unknown wrap mode {other}")))
            }
        };
        // Textures are not filtered across several texels: of the filter for shrinking only its kind counts, where
        // there is none for growing.
        let smooth = match sampler.map(|s| (s.mag_filter, s.min_filter)) {
            None | Some((None, None | Some(9729 | 9985 | 9987))) | Some((Some(9729), _)) => true,
            Some((Some(9728), _)) | Some((None, Some(9728 | 9984 | 9986))) => false,
            Some((mag, min)) => {
                let filter = mag.or(min).unwrap_or(0);
                return Err(
                    source.fault(format_args!("{place}: its sampler has the unknown filter {filter}"))
                );
            }
        };
        let moved = info.extensions.transform.as_ref();
        sets.note(moved.and_then(|t| t.tex_coord).unwrap_or(info.tex_coord));
        let transform = match moved {
            None => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            Some(moved) => {
                let [[su, sv], [ou, ov]] = [moved.scale.unwrap_or([1.0; 2]), moved.offset];
                let known =
                    [su, sv, ou, ov].iter().all(|n| FACTORS.contains(n)) && moved.rotation.abs() <= 1e6;
                if !known {
                    return Err(source.fault(format_args!("{place}: KHR_texture_transform is out of range")));
                }
                let (sine, cosine) = sine_and_cosine(moved.rotation);
                let product = |a: f64, b: f32| (a * f64::from(b)) as f32;
                [[product(cosine, su), product(sine, sv), ou], [product(-sine, su), product(cosine, sv), ov]]
            }
        };
        let name = source.picture_name(image, place)?;
        let image = self.images.index(&name, || decode(&name, &source.picture(image)?))?;
        let wrap = [wrap(sampler.and_then(|s| s.wrap_s))?, wrap(sampler.and_then(|s| s.wrap_t))?];
        Ok(Some(Texture { image, wrap, smooth, transform }))
    }
}

/// Sets of texture coordinates in use: a mesh carries one.
#[derive(Default)]
struct Sets {
    first: Option<u32>,
    several: bool,
}

impl Sets {
    fn note(&mut self, set: u32) {
        self.several |= *self.first.get_or_insert(set) != set;
    }
}

/// Whether light goes through: glass or not, nothing between.
fn is_glass(material: &Material, place: &str, warnings: &mut Warnings) -> bool {
    let Some(transmission) = &material.extensions.transmission else { return false };
    let factor = transmission.transmission_factor.unwrap_or(0.0);
    let glass = factor >= 0.5;
    if factor != 0.0 && (factor != 1.0 || transmission.transmission_texture.is_some()) {
        let taken = if glass { "clear glass" } else { "opaque" };
        warnings
            .add("transmission", || format!("{place}: lets light through in part, and counts as {taken}"));
    }
    glass
}
