//! The exact film on the host: integer sums, so that no order of additions can change a picture.
//!
//! A contribution of radiance `r` enters its pixel as `round(r * scale)` units, `scale` being a power of two,
//! and the film keeps per pixel the sum of units and the number of finished samples. A stopped render is
//! therefore a valid one: every pixel divides by its own count, and going on later ends in the same bits.

mod exr;
mod file;
mod tone;
mod write;

pub use file::{Aov, Format, Style};
pub use tone::{Curve, MOST_STOPS, Tone, decode_srgb, encode_srgb8, encode_srgb16, power_of_two};
pub use write::Output;

use crate::error::Result;
use sha2::{Digest, Sha256};

/// Hexadecimal digits of [`Film::hash`]: 128 of SHA-256's 256 bits.
const HASH_DIGITS: usize = 32;

/// A film as a device left it. Row 0 is the picture's top row.
#[derive(Clone, Debug, PartialEq)]
pub struct Film {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Units per unit of radiance: a power of two.
    pub scale: f32,
    /// Three planes of `width * height` sums in units: red, green, blue.
    pub sums: Vec<u64>,
    /// Finished samples of each pixel.
    pub counts: Vec<u32>,
}

impl Film {
    /// A film of these parts.
    ///
    /// # Panics
    /// If their sizes do not agree.
    pub fn new(width: u32, height: u32, scale: f32, sums: Vec<u64>, counts: Vec<u32>) -> Film {
        let pixels = width as usize * height as usize;
        assert_eq!((sums.len(), counts.len()), (3 * pixels, pixels), "three sums and a count a pixel");
        Film { width, height, scale, sums, counts }
    }

    /// The mean linear radiance of a pixel, rounded once to `f64`; black where no sample is finished.
    ///
    /// # Panics
    /// Outside the picture.
    pub fn linear(&self, x: u32, y: u32) -> [f64; 3] {
        assert!(x < self.width && y < self.height, "pixel ({x}, {y}) is outside the picture");
        self.pixel(y as usize * self.width as usize + x as usize)
    }

    fn pixel(&self, index: usize) -> [f64; 3] {
        let count = self.counts[index];
        if count == 0 {
            return [0.0; 3];
        }
        // Exact: a 32-bit count times a power of two.
        let units = f64::from(count) * f64::from(self.scale);
        [0, 1, 2].map(|plane| self.sums[plane * self.counts.len() + index] as f64 / units)
    }

    /// A channel's mean for a format of at most `digits - 2` binary digits, 53 at most: cut to `digits`, and if
    /// anything was cut off, the last one set. Whoever rounds that to nearest has rounded the exact mean, once (the
    /// "round to odd" of Boldo and Melquiond, IEEE Transactions on Computers 2008).
    fn odd_mean(&self, plane: usize, index: usize, digits: u32) -> f64 {
        let (sum, count) = (self.sums[plane * self.counts.len() + index], self.counts[index]);
        if count == 0 {
            return 0.0;
        }
        // 32 digits at least, unless the sum is 0.
        let (sum, count) = (u128::from(sum) << 64, u128::from(count));
        let quotient = sum / count;
        let excess = (128 - quotient.leading_zeros()).saturating_sub(digits);
        let kept = quotient >> excess;
        let inexact = kept << excess != quotient || quotient * count != sum;
        // Exact: a whole number below 2^53 times powers of two.
        (kept | u128::from(inexact)) as f64 * power_of_two(excess as i32 - 64) / f64::from(self.scale)
    }

    /// The number of finished samples over all pixels.
    pub fn samples(&self) -> u64 {
        self.counts.iter().map(|&c| u64::from(c)).sum()
    }

    /// The fewest and the most samples that a pixel has.
    pub fn sample_range(&self) -> (u32, u32) {
        let least = self.counts.iter().min().copied().unwrap_or(0);
        (least, self.counts.iter().max().copied().unwrap_or(0))
    }

    /// Radiance between two neighbouring sums of one sample: the film's resolution.
    pub fn resolution(&self) -> f64 {
        1.0 / f64::from(self.scale)
    }

    /// Radiance that a pixel's 64-bit sum can hold, over all its samples.
    pub fn range(&self) -> f64 {
        u64::MAX as f64 / f64::from(self.scale)
    }

    /// The film's fingerprint: the first 32 hexadecimal digits of the SHA-256 of width, height, scale (IEEE
    /// bits), sums and counts, all little-endian and in this order. Equal films, equal pictures.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.width.to_le_bytes());
        hasher.update(self.height.to_le_bytes());
        hasher.update(self.scale.to_bits().to_le_bytes());
        for some in self.sums.chunks(4096) {
            hasher.update(some.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        }
        for some in self.counts.chunks(4096) {
            hasher.update(some.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        }
        let mut digits: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        digits.truncate(HASH_DIGITS);
        digits
    }

    /// The picture as a PNG file of 8 bits a channel, sRGB.
    pub fn to_png8(&self) -> Result<Vec<u8>> {
        self.to_file(Format::Png, &Style::default(), "", &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_pixels() -> Film {
        Film::new(2, 1, 1024.0, vec![512, 0, 1024, 0, 3072, 0], vec![1, 0])
    }

    #[test]
    fn each_pixel_divides_by_its_own_count() {
        let mut film = two_pixels();
        assert_eq!(film.linear(0, 0), [0.5, 1.0, 3.0]);
        assert_eq!(film.linear(1, 0), [0.0; 3], "no sample, no light");
        film.counts = vec![2, 4];
        film.sums[1] = 1024;
        assert_eq!(film.linear(0, 0), [0.25, 0.5, 1.5]);
        assert_eq!(film.linear(1, 0), [0.25, 0.0, 0.0]);
        assert_eq!((film.samples(), film.sample_range()), (6, (2, 4)));
    }

    #[test]
    fn large_sums_are_rounded_once() {
        let film = Film::new(1, 1, (1u64 << 40) as f32, vec![u64::MAX, (1 << 53) + 1, 3], vec![1]);
        let [high, middle, low] = film.linear(0, 0);
        assert_eq!(high, (1u64 << 24) as f64);
        assert_eq!(middle, (1u64 << 13) as f64);
        assert_eq!(low, 3.0 * film.resolution());
    }

    #[test]
    fn the_hash_sees_every_part() {
        let film = two_pixels();
        let mut others = vec![film.clone(); 5];
        others[0].sums[5] = 1;
        others[1].counts[1] = 1;
        others[2].scale = 2048.0;
        (others[3].width, others[3].height) = (1, 2);
        others[4].sums.swap(0, 1);
        let mut hashes: Vec<_> = others.iter().chain([&film]).map(Film::hash).collect();
        assert!(hashes.iter().all(|h| h.len() == HASH_DIGITS));
        assert_eq!(film.hash(), film.clone().hash());
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), 6);
    }

    #[test]
    fn means_for_short_formats_are_rounded_once() {
        // 1 + 2^-24 and a little: half-way between two floats as far as an f64 can tell, but above.
        let above = (1 << 60) + (1 << 36) + 1;
        let film = Film::new(1, 1, (1u64 << 60) as f32, vec![above, above - 1, 1], vec![1]);
        assert_eq!(film.linear(0, 0)[0] as f32, 1.0, "by way of an f64 it is rounded twice");
        let float = |plane| film.odd_mean(plane, 0, 28) as f32;
        assert_eq!([float(0), float(1)], [1.0 + f32::EPSILON, 1.0], "up, and the tie to even");
        assert_eq!(film.odd_mean(2, 0, 28), 1.0 / (1u64 << 60) as f64);
        // A third has no end.
        let thirds = Film::new(1, 1, 1.0, vec![1, 2, 0], vec![3]);
        assert_eq!([0, 1, 2].map(|p| thirds.odd_mean(p, 0, 28) as f32), [1.0 / 3.0, 2.0 / 3.0, 0.0]);
        let most = Film::new(1, 1, 1.0, vec![u64::MAX, u64::MAX, 1], vec![u32::MAX]);
        assert_eq!([0, 2].map(|p| most.odd_mean(p, 0, 28) as f32), [4294967297.0, 1.0 / u32::MAX as f32]);
    }
}
