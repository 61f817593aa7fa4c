//! OpenEXR files: the film's exact means, each rounded once, and what pixels see first as layers beside them.
//!
//! One part of scan lines, compressed without loss, which every reader understands; a layer is a prefix of channel
//! names, as in other programs.

use super::file::SOFTWARE;
use super::{Aov, Film, Style};
use crate::error::Result;
use crate::layout::FirstHit;
use exr::image::write::WritableImage;
use exr::image::{AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer};
use exr::meta::attribute::Text;
use exr::meta::header::LayerAttributes;
use exr::prelude::f16;
use rayon::prelude::*;
use std::io::Cursor;

/// Binary digits of a mean on its way to a float of 24, or of 11: two more at least, see [`Film::odd_mean`].
const DIGITS: (u32, u32) = (28, 16);

/// The film as a file, named as from `scene`.
pub fn encode(film: &Film, style: &Style, scene: &str, hits: &[FirstHit]) -> Result<Vec<u8>> {
    let mut channels = picture(film, style.half);
    channels.extend(layers(film, style, hits));
    let comments = film.origin(scene).map(|(key, value)| format!("{key}: {value}")).join("\n");
    let attributes = LayerAttributes {
        software_name: Some(text(SOFTWARE)),
        comments: Some(text(&comments)),
        ..LayerAttributes::default()
    };
    let size = (film.width as usize, film.height as usize);
    let layer = Layer::new(size, attributes, Encoding::SMALL_LOSSLESS, AnyChannels::sort(channels.into()));
    let mut file = Cursor::new(vec![]);
    Image::from_layer(layer).write().to_buffered(&mut file).map_err(|e| film.misfit(&e))?;
    Ok(file.into_inner())
}

/// UTF-8, as other programs write it.
fn text(words: &str) -> Text {
    Text::from_slice_unchecked(words.as_bytes())
}

fn picture(film: &Film, half: bool) -> Vec<AnyChannel<FlatSamples>> {
    let pixels = || (0..film.counts.len()).into_par_iter();
    let samples = |plane| match half {
        true => FlatSamples::F16(pixels().map(|i| to_half(film.odd_mean(plane, i, DIGITS.1))).collect()),
        false => FlatSamples::F32(pixels().map(|i| film.odd_mean(plane, i, DIGITS.0) as f32).collect()),
    };
    ["R", "G", "B"]
        .into_iter()
        .enumerate()
        .map(|(plane, name)| AnyChannel::new(name, samples(plane)))
        .collect()
}

fn to_half(value: f64) -> f16 {
    f16::from_f64(value).min(f16::MAX)
}

fn layers(film: &Film, style: &Style, hits: &[FirstHit]) -> Vec<AnyChannel<FlatSamples>> {
    assert!(style.aovs.is_empty() || hits.len() == film.counts.len(), "a hit a pixel");
    let floats = |value: &(dyn Fn(&FirstHit) -> f32 + Sync)| match style.half {
        true => FlatSamples::F16(hits.par_iter().map(|hit| f16::from_f32(value(hit))).collect()),
        false => FlatSamples::F32(hits.par_iter().map(value).collect()),
    };
    let mut channels = vec![];
    if style.wants(Aov::Albedo) {
        for (i, name) in ["albedo.R", "albedo.G", "albedo.B"].into_iter().enumerate() {
            channels.push(AnyChannel::new(name, floats(&|hit| hit.albedo[i])));
        }
    }
    if style.wants(Aov::Normal) {
        for (i, name) in ["normal.X", "normal.Y", "normal.Z"].into_iter().enumerate() {
            channels.push(AnyChannel::new(name, floats(&|hit| hit.normal[i])));
        }
    }
    if style.wants(Aov::Depth) {
        let distances = hits.iter().map(|hit| hit.distance).collect();
        channels.push(AnyChannel::new("Z", FlatSamples::F32(distances)));
    }
    if style.wants(Aov::Id) {
        let objects = hits.iter().map(|hit| hit.object).collect();
        channels.push(AnyChannel::new("id", FlatSamples::U32(objects)));
    }
    channels
}
