//! Picture files: which formats there are, what can be chosen about them, and their bytes.

use super::{Film, Tone, encode_srgb8, encode_srgb16, exr, power_of_two};
use crate::error::{Error, Result};
use crate::layout::FirstHit;
use image::codecs::hdr::HdrEncoder;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use rayon::prelude::*;
use std::path::Path;

/// What a picture can be written as; a file's extension says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// sRGB, 8 or 16 bits a channel, without loss.
    Png,
    /// sRGB, 8 bits a channel, small.
    Jpeg,
    /// OpenEXR: linear light in floats, and layers beside it.
    Exr,
    /// Radiance: linear light in 8 bits a channel and an exponent.
    Hdr,
}

/// Extensions that can be written, as errors list them.
const EXTENSIONS: &str = ".png, .jpg, .jpeg, .exr or .hdr";

impl Format {
    /// The format that the extension of `path` names, in any case.
    ///
    /// # Errors
    /// [`Error::Input`] for another extension; it lists those that there are.
    pub fn of(path: &Path) -> Result<Format> {
        let Some(extension) = path.extension() else {
            return Err(Error::Input(format!(
                "{}: has no extension; name a {EXTENSIONS} file",
                path.display()
            )));
        };
        match extension.to_string_lossy().to_lowercase().as_str() {
            "png" => Ok(Format::Png),
            "jpg" | "jpeg" => Ok(Format::Jpeg),
            "exr" => Ok(Format::Exr),
            "hdr" => Ok(Format::Hdr),
            other => Err(Error::Input(format!(
                "{}: cannot write .{other} pictures; name a {EXTENSIONS} file",
                path.display()
            ))),
        }
    }

    /// Refuses pictures that the format has no room for.
    ///
    /// # Errors
    /// [`Error::Input`] with the format's limit.
    pub fn check(self, width: u32, height: u32) -> Result<()> {
        const MOST: u32 = u16::MAX as u32;
        if self == Format::Jpeg && width.max(height) > MOST {
            return Err(Error::Input(format!(
                "{width} x {height} pixels do not fit a JPEG, whose sides have {MOST} at most; write a .png or .exr"
            )));
        }
        Ok(())
    }
}

/// A layer beside the picture in an EXR: what the centre of each pixel sees first, unfiltered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Aov {
    /// Channels albedo.R, .G, .B: share of light reflected, textures included; 1 for glass, 0 where nothing is.
    Albedo,
    /// Channels normal.X, .Y, .Z: unit, in the world's space, on the eye's side; 0 where nothing is.
    Normal,
    /// Channel Z: distance from the eye along the ray; infinite where nothing is. Always 32 bits.
    Depth,
    /// Channel id: the object's number from 1, spheres, then planes, then meshes, each as the scene lists them; 0
    /// where nothing is.
    Id,
    /// All of them.
    All,
}

/// What can be chosen about a file beyond its format.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// PNG: 16 bits a channel.
    pub png16: bool,
    /// EXR: 16-bit floats; what is beyond their range of 65504 becomes that.
    pub half: bool,
    /// JPEG: 1, smallest, to 100, best.
    pub quality: u8,
    /// PNG and JPEG: exposure and curve.
    pub tone: Tone,
    /// EXR: layers beside the picture.
    pub aovs: Vec<Aov>,
}

impl Default for Style {
    fn default() -> Self {
        Style { png16: false, half: false, quality: 90, tone: Tone::default(), aovs: vec![] }
    }
}

impl Style {
    /// Whether the layer is wanted.
    pub fn wants(&self, aov: Aov) -> bool {
        self.aovs.iter().any(|wanted| [aov, Aov::All].contains(wanted))
    }
}

impl Film {
    /// The picture as a file: the same bytes for the same film, style and scene name. EXR and HDR name the scene file
    /// as `scene`, and `hits` are what the pixels' centres see, for the layers that `style` wants.
    ///
    /// # Errors
    /// [`Error::Input`] for a size that the format has no room for.
    ///
    /// # Panics
    /// If a layer is wanted and there is not a hit a pixel.
    pub fn to_file(&self, format: Format, style: &Style, scene: &str, hits: &[FirstHit]) -> Result<Vec<u8>> {
        let mut file = vec![];
        let light = style.tone.mapping();
        let write = match format {
            Format::Png if style.png16 => {
                let codes = self.encode(|linear| encode_srgb16(light(linear)));
                self.image(PngEncoder::new(&mut file), bytemuck::cast_slice(&codes), ExtendedColorType::Rgb16)
            }
            Format::Png => {
                let codes = self.encode(|linear| encode_srgb8(light(linear)));
                self.image(PngEncoder::new(&mut file), &codes, ExtendedColorType::Rgb8)
            }
            Format::Jpeg => {
                let codes = self.encode(|linear| encode_srgb8(light(linear)));
                let encoder = JpegEncoder::new_with_quality(&mut file, style.quality.clamp(1, 100));
                self.image(encoder, &codes, ExtendedColorType::Rgb8)
            }
            Format::Hdr => {
                let pixels = (0..self.counts.len()).into_par_iter();
                let floats: Vec<f32> = pixels.flat_map_iter(|i| shared_exponent(self.pixel(i))).collect();
                let floats = bytemuck::cast_slice(&floats);
                self.image(HdrEncoder::new(&mut file), floats, ExtendedColorType::Rgb32F)
            }
            Format::Exr => return exr::encode(self, style, scene, hits),
        };
        write?;
        if format == Format::Hdr {
            say_origin(&mut file, self, scene);
        }
        Ok(file)
    }

    fn encode<T: Send>(&self, code: impl Fn(f64) -> T + Sync) -> Vec<T> {
        let pixels = (0..self.counts.len()).into_par_iter();
        pixels.flat_map_iter(|i| self.pixel(i).map(&code)).collect()
    }

    fn image(&self, encoder: impl ImageEncoder, pixels: &[u8], color: ExtendedColorType) -> Result<()> {
        encoder.write_image(pixels, self.width, self.height, color).map_err(|e| self.misfit(&e))
    }

    pub(super) fn misfit(&self, why: &dyn std::fmt::Display) -> Error {
        Error::Input(format!(
            "a picture of {} x {} pixels does not fit its format: {why}",
            self.width, self.height
        ))
    }

    /// Where the picture comes from, for headers: lines of `key: value`.
    pub(super) fn origin(&self, scene: &str) -> [(&'static str, String); 4] {
        let (least, most) = self.sample_range();
        let samples = if least == most { least.to_string() } else { format!("{least} to {most}") };
        [
            ("scene", scene.to_owned()),
            ("samples a pixel", samples),
            ("film units per unit of radiance", f64::from(self.scale).to_string()),
            ("film", self.hash()),
        ]
    }
}

/// The program's name and version, for headers.
pub(super) const SOFTWARE: &str = concat!("rayq ", env!("CARGO_PKG_VERSION"));

/// The nearest colour of 8 bits a channel and a common exponent, which the encoder, who cuts off, then takes as it is.
/// Below 2^-126 it is black, above the format's range that range's end.
fn shared_exponent(color: [f64; 3]) -> [f32; 3] {
    let color = color.map(|channel| channel.min(255.0 * power_of_two(119)));
    let largest = color.into_iter().fold(0.0, f64::max);
    if largest < power_of_two(-126) {
        return [0.0; 3];
    }
    let round = |exponent: i32| {
        let unit = power_of_two(exponent - 7);
        color.map(|channel| (channel / unit).round_ties_even() * unit)
    };
    // An f64 has its exponent, plus 1023, in its upper bits.
    let exponent = (largest.to_bits() >> 52) as i32 - 1023;
    let rounded = round(exponent);
    let carried = rounded.into_iter().fold(0.0, f64::max) >= power_of_two(exponent + 1);
    (if carried { round(exponent + 1) } else { rounded }).map(|channel| channel as f32)
}

/// Puts the origin behind the first line of a Radiance file, where its format has room for it.
fn say_origin(file: &mut Vec<u8>, film: &Film, scene: &str) {
    let first = file.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    let mut lines = format!("SOFTWARE={SOFTWARE}\n");
    for (key, value) in film.origin(scene) {
        // A line of its own each, whatever is in a file's name.
        let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        lines += &format!("# {key}: {value}\n");
    }
    file.splice(first..first, lines.into_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_pixels() -> Film {
        Film::new(2, 1, 1024.0, vec![512, 0, 1024, 0, 3072, 0], vec![1, 0])
    }

    fn read(format: Format, style: &Style) -> image::DynamicImage {
        let file = two_pixels().to_file(format, style, "two.toml", &[]).expect("small");
        image::load_from_memory(&file).expect("readable")
    }

    #[test]
    fn pngs_read_back() {
        let eight = read(Format::Png, &Style::default()).into_rgb8();
        assert_eq!(eight.into_raw(), [188, 255, 255, 0, 0, 0]);
        let sixteen = read(Format::Png, &Style { png16: true, ..Style::default() }).into_rgb16();
        assert_eq!(sixteen.into_raw(), [48192, 65535, 65535, 0, 0, 0]);
        let tone = Tone { exposure: -1.0, ..Tone::default() };
        let darker = read(Format::Png, &Style { tone, ..Style::default() }).into_rgb8();
        assert_eq!(darker.into_raw(), [137, 188, 255, 0, 0, 0]);
    }

    #[test]
    fn jpegs_read_back_about() {
        let film = Film::new(16, 16, 4.0, [vec![1; 256], vec![2; 256], vec![3; 256]].concat(), vec![1; 256]);
        let size = |quality| {
            let style = Style { quality, ..Style::default() };
            let file = film.to_file(Format::Jpeg, &style, "", &[]).expect("small");
            let read = image::load_from_memory(&file).expect("readable").into_rgb8();
            let near = |p: &image::Rgb<u8>| [137, 188, 225].iter().zip(p.0).all(|(a, b)| b.abs_diff(*a) <= 3);
            assert!(quality < 50 || read.pixels().all(near), "{:?}", read.get_pixel(0, 0));
            (read.dimensions(), file.len())
        };
        let (best, worst) = (size(100), size(1));
        assert_eq!((best.0, worst.0), ((16, 16), (16, 16)));
    }

    #[test]
    fn radiance_files_hold_the_nearest_colours() {
        let read = read(Format::Hdr, &Style::default()).into_rgb32f();
        assert_eq!(read.into_raw(), [0.5, 1.0, 3.0, 0.0, 0.0, 0.0]);
        for (color, nearest) in [
            ([1.0, 0.5, 0.25], [1.0, 0.5, 0.25]),
            ([255.6, 0.4, 0.6], [256.0, 0.0, 0.0]),
            ([255.4, 0.4, 0.6], [255.0, 0.0, 1.0]),
            ([129.5, 0.5, 1.5], [130.0, 0.0, 2.0]),
            ([0.0; 3], [0.0; 3]),
            ([1e-300, 0.0, 0.0], [0.0; 3]),
        ] {
            assert_eq!(shared_exponent(color), nearest, "{color:?}");
        }
        assert!(shared_exponent([1e300, 0.0, 0.0])[0].is_finite());
    }

    #[test]
    fn radiance_files_say_where_they_come_from() {
        let file = two_pixels().to_file(Format::Hdr, &Style::default(), "a\nb.toml", &[]).expect("small");
        let text = String::from_utf8_lossy(&file).into_owned();
        let hash = two_pixels().hash();
        assert!(text.starts_with(&format!(
            "#?RADIANCE\nSOFTWARE={SOFTWARE}\n# scene: a b.toml\n# samples a pixel: 0 to 1\n"
        )));
        assert!(text.contains(&format!("# film: {hash}\n")), "{text}");
    }

    #[test]
    fn formats_by_extension() {
        for (name, format) in [
            ("a.png", Format::Png),
            ("a.JPG", Format::Jpeg),
            ("a.jpeg", Format::Jpeg),
            ("b.c.Exr", Format::Exr),
            ("a.hdr", Format::Hdr),
        ] {
            assert_eq!(Format::of(Path::new(name)).expect("known"), format, "{name}");
        }
        for name in ["a", "png", ".png", "a.tiff", "a.png.gz", "a."] {
            let said = Format::of(Path::new(name)).expect_err("unknown").to_string();
            assert!(said.contains(name) && said.contains(EXTENSIONS), "{said}");
        }
        assert!(Format::Jpeg.check(65536, 1).is_err() && Format::Jpeg.check(65535, 65535).is_ok());
        assert!(Format::Exr.check(65536, 65536).is_ok());
    }
}
