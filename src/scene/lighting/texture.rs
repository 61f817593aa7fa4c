//! Images and textures as kernels read them: kernels/trace/texture.h.

use crate::film::decode_srgb;
use crate::layout::TextureView;
use crate::model::{Image, Texels, Texture, Wrap};
use std::collections::HashMap;
use std::sync::Arc;

/// [`TextureView::flags`]: texels are four floats.
const FLOATS: u32 = 1;
/// Bilinear.
const SMOOTH: u32 = 2;
/// Colours are 8-bit sRGB codes.
const SRGB: u32 = 4;
/// Where the wrap modes are.
const WRAP_SHIFTS: [u32; 2] = [4, 6];
/// Where there is no texture.
pub const NO_TEXTURE: u32 = u32::MAX;

/// What a texture's colours mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Use {
    /// sRGB, where the image has codes; images of floats are linear anyway.
    Color,
    /// Numbers as they are.
    Data,
}

/// The textures of a scene and their texels.
#[derive(Clone, Debug, Default)]
pub struct Textures {
    /// Textures, in the order in which they were added.
    pub views: Vec<TextureView>,
    /// Texels of all of them.
    pub texels: Vec<u32>,
    /// Where an image's texels are, if they are there: 8-bit ones do for both uses.
    places: HashMap<(u32, Option<Use>), u32>,
}

impl Textures {
    /// The number of a texture of `images`, which is new.
    pub fn add(&mut self, texture: &Option<Texture>, images: &[Arc<Image>], usage: Use) -> u32 {
        let Some(texture) = texture else { return NO_TEXTURE };
        let image = &images[texture.image as usize];
        let coded = matches!(image.texels, Texels::Bytes(_));
        let texels = &mut self.texels;
        let first = self.places.entry((texture.image, (!coded).then_some(usage)));
        let first = *first.or_insert_with(|| put(texels, image, usage));
        let [[a, b, c], [d, e, f]] = texture.transform;
        self.views.push(TextureView {
            map: [a, b, c, d, e, f],
            width: image.width,
            height: image.height,
            first,
            flags: flags(texture, coded, usage),
            reserved: [0; 2],
        });
        self.views.len() as u32 - 1
    }
}

/// Appends an image's texels; returns where they start, in units of 16 bytes.
fn put(texels: &mut Vec<u32>, image: &Image, usage: Use) -> u32 {
    let first = texels.len() / 4;
    match &image.texels {
        Texels::Bytes(codes) => texels.extend(codes.iter().map(|c| u32::from_le_bytes(*c))),
        _ => texels
            .extend(linear_texels(image, usage == Use::Color).as_flattened().iter().map(|f| f.to_bits())),
    }
    texels.resize(texels.len().next_multiple_of(4), 0);
    first as u32
}

fn flags(texture: &Texture, coded: bool, usage: Use) -> u32 {
    let mode = |wrap: Wrap| match wrap {
        Wrap::Repeat => 0,
        Wrap::Mirror => 1,
        Wrap::Clamp => 2,
    };
    let wraps = texture.wrap.iter().zip(WRAP_SHIFTS).map(|(wrap, shift)| mode(*wrap) << shift);
    let smooth = if texture.smooth { SMOOTH } else { 0 };
    let colors = match (coded, usage) {
        (false, _) => FLOATS,
        (true, Use::Color) => SRGB,
        (true, Use::Data) => 0,
    };
    wraps.fold(smooth | colors, |flags, wrap| flags | wrap)
}

/// Linear red, green, blue, and alpha, of every texel. `srgb`: codes are sRGB, alpha apart.
pub fn linear_texels(image: &Image, srgb: bool) -> Vec<[f32; 4]> {
    let linear = |code: f64| if srgb { decode_srgb(code) as f32 } else { code as f32 };
    match &image.texels {
        Texels::Floats(texels) => texels.iter().map(|&[r, g, b]| [r, g, b, 1.0]).collect(),
        Texels::Bytes(texels) => {
            let table: Vec<f32> = (0..=u8::MAX).map(|code| linear(f64::from(code) / 255.0)).collect();
            let decoded = |[r, g, b, a]: &[u8; 4]| {
                let [r, g, b] = [r, g, b].map(|c| table[usize::from(*c)]);
                [r, g, b, f32::from(*a) / 255.0]
            };
            texels.iter().map(decoded).collect()
        }
        Texels::Words(texels) => {
            let table: Vec<f32> = (0..=u16::MAX).map(|code| linear(f64::from(code) / 65535.0)).collect();
            let decoded = |[r, g, b, a]: &[u16; 4]| {
                let [r, g, b] = [r, g, b].map(|c| table[usize::from(*c)]);
                [r, g, b, f32::from(*a) / 65535.0]
            };
            texels.iter().map(decoded).collect()
        }
    }
}

/// Linear light of each 8-bit sRGB code.
pub fn srgb_table() -> Vec<f32> {
    (0..=u8::MAX).map(|code| decode_srgb(f64::from(code) / 255.0) as f32).collect()
}
