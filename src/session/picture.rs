//! From films and figures to pixels.

use crate::engine::Occupancy;
use crate::error::{Error, Result};
use crate::film::{Film, Tone, encode_srgb8};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use rayon::prelude::*;

/// Size of a picture in pixels.
pub type Size = (u32, u32);

/// The film's picture. A pixel without a sample shows what the coarse film has there.
pub fn tone(film: Option<&Film>, coarse: Option<&Film>, size: Size, tone: Tone) -> Vec<u8> {
    let mapping = tone.mapping();
    paint(size, |x, y| {
        let fine = film.filter(|f| f.counts[y as usize * f.width as usize + x as usize] > 0);
        let light = match (fine, coarse) {
            (Some(film), _) => film.linear(x, y),
            (None, Some(coarse)) => {
                coarse.linear(scaled(x, coarse.width, size.0), scaled(y, coarse.height, size.1))
            }
            (None, None) => [0.0; 3],
        };
        light.map(|channel| encode_srgb8(mapping(channel)))
    })
}

/// Coordinate `x` of `of` pixels among fewer pixels.
fn scaled(x: u32, among: u32, of: u32) -> u32 {
    (u64::from(x) * u64::from(among) / u64::from(of)) as u32
}

/// Numbers in false colours; `most` and more are the brightest.
pub fn heat(numbers: &[u32], most: u32, size: Size) -> Vec<u8> {
    paint(size, |x, y| {
        let number = numbers[y as usize * size.0 as usize + x as usize];
        false_color(f64::from(number) / f64::from(most.max(1)))
    })
}

/// How full the queues are, in false colours that let the picture's light and dark shine through.
pub fn occupancy(picture: &[u8], queues: &Occupancy, size: Size) -> Vec<u8> {
    paint(size, |x, y| {
        let tile = (y / queues.tile.1) * queues.across + x / queues.tile.0;
        let edge = x % queues.tile.0 == 0 || y % queues.tile.1 == 0;
        let full = f64::from(queues.waiting[tile as usize]) / f64::from(queues.capacity.max(1));
        let at = 3 * (y as usize * size.0 as usize + x as usize);
        let gray = (u16::from(picture[at]) + u16::from(picture[at + 1]) + u16::from(picture[at + 2])) / 3;
        let shade = if edge { 0.4 } else { 0.6 + f64::from(gray) / 640.0 };
        false_color(full).map(|channel| (f64::from(channel) * shade) as u8)
    })
}

fn paint(size: Size, color: impl Fn(u32, u32) -> [u8; 3] + Sync) -> Vec<u8> {
    let mut pixels = vec![0; 3 * size.0 as usize * size.1 as usize];
    pixels.par_chunks_mut(3 * size.0 as usize).zip((0..size.1).into_par_iter()).for_each(|(row, y)| {
        for (pixel, x) in row.chunks_mut(3).zip(0..) {
            pixel.copy_from_slice(&color(x, y));
        }
    });
    pixels
}

/// The pixels as a PNG file, packed quickly rather than well.
pub fn png(pixels: &[u8], size: Size) -> Result<Vec<u8>> {
    let mut file = vec![];
    PngEncoder::new_with_quality(&mut file, CompressionType::Fast, FilterType::Adaptive)
        .write_image(pixels, size.0, size.1, ExtendedColorType::Rgb8)
        .map_err(|e| {
            Error::Input(format!("a picture of {} x {} pixels does not fit a PNG: {e}", size.0, size.1))
        })?;
    Ok(file)
}

/// Dark blue, violet, orange, yellow, white: brightness grows with the value, so it reads without colours too.
fn false_color(share: f64) -> [u8; 3] {
    const STOPS: [[f64; 3]; 6] = [
        [0.0, 0.0, 24.0],
        [60.0, 10.0, 120.0],
        [170.0, 40.0, 120.0],
        [240.0, 110.0, 50.0],
        [250.0, 210.0, 60.0],
        [255.0, 255.0, 240.0],
    ];
    let place = share.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let (at, part) = ((place as usize).min(STOPS.len() - 2), place.fract());
    let part = if place >= (STOPS.len() - 1) as f64 { 1.0 } else { part };
    [0, 1, 2].map(|c| (STOPS[at][c] + (STOPS[at + 1][c] - STOPS[at][c]) * part).round() as u8)
}
