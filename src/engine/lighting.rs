//! Light in general scenes, in a device's memory.

use crate::device::{Buffer, Device};
use crate::error::Result;
use crate::layout::{Alias, Emitter, LightingView, SkyTexel, SurfaceShade, TextureView};
use crate::scene::lighting::{Lighting, albedo_table, srgb_table};
use crate::scene::{LightSampling, Scene};
use std::sync::Arc;

/// The arrays that a [`LightingView`] points to.
pub(super) struct LightingBuffers {
    surfaces: Buffer<SurfaceShade>,
    textures: Buffer<TextureView>,
    texels: Buffer<u32>,
    srgb: Buffer<f32>,
    albedos: Buffer<f32>,
    emitters: Buffer<Emitter>,
    emitter_aliases: Buffer<Alias>,
    sky: Buffer<SkyTexel>,
    sky_aliases: Buffer<Alias>,
    sky_rows: Buffer<f32>,
}

impl LightingBuffers {
    /// Uploads everything.
    pub fn new(device: &Arc<dyn Device>, lighting: &Lighting) -> Result<LightingBuffers> {
        let albedos = if lighting.surfaces.is_empty() { &[] } else { albedo_table() };
        Ok(LightingBuffers {
            surfaces: Buffer::from_slice(device, &lighting.surfaces, "surfaces")?,
            textures: Buffer::from_slice(device, &lighting.textures.views, "textures")?,
            texels: Buffer::from_slice(device, &lighting.textures.texels, "textures")?,
            srgb: Buffer::from_slice(device, &srgb_table(), "textures")?,
            albedos: Buffer::from_slice(device, albedos, "surfaces")?,
            emitters: Buffer::from_slice(device, &lighting.emitters, "lights")?,
            emitter_aliases: Buffer::from_slice(device, &lighting.emitter_aliases, "lights")?,
            sky: Buffer::from_slice(device, &lighting.sky.texels, "the background's image")?,
            sky_aliases: Buffer::from_slice(device, &lighting.sky.aliases, "the background's image")?,
            sky_rows: Buffer::from_slice(device, &lighting.sky.rows, "the background's image")?,
        })
    }

    /// What kernels are told.
    pub fn view(&self, scene: &Scene, lighting: &Lighting) -> LightingView {
        let sky = scene.sky.as_ref();
        LightingView {
            surfaces: self.surfaces.ptr(),
            textures: self.textures.ptr(),
            texels: self.texels.ptr(),
            srgb: self.srgb.ptr(),
            albedos: self.albedos.ptr(),
            emitters: self.emitters.ptr(),
            emitter_aliases: self.emitter_aliases.ptr(),
            sky: self.sky.ptr(),
            sky_aliases: self.sky_aliases.ptr(),
            sky_rows: self.sky_rows.ptr(),
            emitter_count: lighting.emitters.len() as u32,
            sky_width: sky.map_or(0, |sky| sky.image.width),
            sky_height: sky.map_or(0, |sky| sky.image.height),
            sky_turn: sky.map_or(0.0, |sky| sky.turn),
            sky_chance: lighting.sky_chance,
            sampling: match scene.light_sampling {
                None | Some(LightSampling::Both) => 0,
                Some(LightSampling::Lights) => 1,
                Some(LightSampling::Surfaces) => 2,
            },
        }
    }
}
