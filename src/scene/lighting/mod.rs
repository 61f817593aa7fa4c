//! Light in general scenes as kernels read it: surfaces, textures, what can be asked for light, and with what chance.
//!
//! The arrays are those of [`crate::layout::LightingView`].

mod albedo;
mod alias;
mod emitters;
mod sky;
mod texture;

pub use albedo::table as albedo_table;
pub use sky::{Sky, radiances};
pub use texture::{Textures, Use, srgb_table};

use super::{Material, Scene};
use crate::accel::World;
use crate::layout::{self, Alias, Emitter, SurfaceShade};
use crate::model::Surface;
use emitters::Chances;

/// Everything that [`layout::LightingView`] points to.
#[derive(Clone, Debug)]
pub struct Lighting {
    /// Surfaces of models, in the order of the scene's materials.
    pub surfaces: Vec<SurfaceShade>,
    /// What they wear.
    pub textures: Textures,
    /// Lights.
    pub emitters: Vec<Emitter>,
    /// One a light.
    pub emitter_aliases: Vec<Alias>,
    /// The sky's image.
    pub sky: Sky,
    /// That the sky is asked.
    pub sky_chance: f32,
}

impl Lighting {
    /// The lighting of a scene. `materials` are its materials as kernels read them: each is told what
    /// [`layout::Material`]'s `parameter` means in general scenes.
    pub fn new(scene: &Scene, world: &World, materials: &mut [layout::Material]) -> Lighting {
        let sky = scene.sky.as_ref().map(Sky::new).unwrap_or_default();
        let chances = Chances::new(scene, world, sky.shines());
        let (mut surfaces, mut textures) = (vec![], Textures::default());
        for ((material, flat), asked) in scene.materials.iter().zip(materials).zip(&chances.per_area) {
            match material {
                Material::Surface(surface) => {
                    flat.parameter =
                        if surface.glass { surface.ior } else { f32::from_bits(surfaces.len() as u32) };
                    surfaces.push(shade(surface, scene, *asked, &mut textures));
                }
                Material::Lambert { .. } => flat.parameter = *asked,
                _ => {}
            }
        }
        let emitters = emitters::emitters(scene, world, &chances);
        let weights: Vec<f64> = emitters.iter().map(|e| f64::from(e.chance)).collect();
        let emitter_aliases = alias::aliases(&weights);
        Lighting { surfaces, textures, emitters, emitter_aliases, sky, sky_chance: chances.sky as f32 }
    }
}

/// A surface as kernels read it.
fn shade(surface: &Surface, scene: &Scene, asked: f32, textures: &mut Textures) -> SurfaceShade {
    let mut wear = |texture, usage| textures.add(texture, &scene.images, usage);
    // Fresnel at normal incidence, times strength and colour (KHR_materials_specular).
    let ratio = (surface.ior - 1.0) / (surface.ior + 1.0);
    let f0 = (surface.specular_color * (ratio * ratio)).min(glam::Vec3::ONE) * surface.specular;
    SurfaceShade {
        base: surface.base_color.into(),
        metallic: surface.metallic,
        emission: surface.emission.into(),
        roughness: surface.roughness,
        f0: f0.into(),
        f90: surface.specular,
        base_texture: wear(&surface.base_texture, Use::Color),
        roughness_texture: wear(&surface.roughness_texture, Use::Data),
        normal_texture: wear(&surface.normal_texture, Use::Data),
        emission_texture: wear(&surface.emission_texture, Use::Color),
        normal_scale: surface.normal_scale,
        glass: if surface.glass { surface.ior } else { 0.0 },
        alpha: surface.alpha,
        alpha_cutoff: surface.alpha_cutoff.unwrap_or(0.0),
        asked,
        reserved: [0.0; 3],
    }
}
