//! Pictures as textures: PNG of every kind, JPEG, Radiance HDR.

use super::file::{fault, read};
use super::{Image, Texels};
use crate::error::Result;
use crate::file::Files;
use crate::memory;
use image::codecs::{hdr::HdrDecoder, png::PngDecoder};
use image::{DynamicImage, ImageDecoder, Limits};
use std::collections::HashMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::JpegDecoder;

/// Most texels along a side.
pub const MAX_SIDE: u32 = 32768;
/// Most texels of one image.
pub const MAX_TEXELS: u64 = 1 << 27;
/// No format packs more texels into a byte: deflate makes 1032 bytes of one, and a PNG has 8 pixels a byte at most.
/// What claims more is broken, and is refused before memory is taken for it.
const MAX_TEXELS_A_BYTE: u64 = 8 * 1032;
/// Bytes of a Radiance head at most: the decoder keeps all of it.
const MAX_HDR_HEAD: usize = 1 << 16;
/// Bytes that a texel takes while a picture is decoded: what comes out of the decoder and what it becomes; words of a
/// PNG, three coefficients and colours of a JPEG, floats.
const PNG_BYTES: u64 = 16;
const JPEG_BYTES: u64 = 16;
const HDR_BYTES: u64 = 24;
/// A decoder's own memory, beside the image.
const MAX_DECODER_BYTES: u64 = 3 << 30;

/// Reads and decodes the file at `path`.
///
/// # Errors
/// [`crate::error::Error::Input`] with the file and the reason.
pub fn load(path: &Path) -> Result<Image> {
    load_noting(path, &Files::default())
}

/// The same; `files` learns of the file.
///
/// # Errors
/// As [`load`].
pub fn load_noting(path: &Path, files: &Files) -> Result<Image> {
    let bytes =
        read(path, files).map_err(|why| fault(path, format_args!("cannot read the picture: {why}")))?;
    decode(path, &bytes)
}

/// Decodes a picture; `name` is for messages. What kind it is, its first bytes tell.
///
/// # Errors
/// [`crate::error::Error::Input`] with the name and the reason.
pub fn decode(name: &Path, bytes: &[u8]) -> Result<Image> {
    let decoded = match bytes {
        [0x89, b'P', b'N', b'G', ..] => decode_png(bytes),
        [0xff, 0xd8, 0xff, ..] => decode_jpeg(bytes),
        [b'#', b'?', ..] => decode_hdr(bytes),
        _ => Err("is not a PNG, JPEG or Radiance HDR picture".into()),
    };
    let (width, height, texels) = decoded.map_err(|why| fault(name, why))?;
    Ok(Image { name: name.display().to_string(), width, height, texels })
}

type Decoded = std::result::Result<(u32, u32, Texels), String>;

/// Refuses sizes beyond the limits, sizes that so few bytes cannot hold, and those for whose texels, of `each` bytes
/// while they are decoded, there is no memory.
fn check_size(width: u32, height: u32, bytes: &[u8], each: u64) -> std::result::Result<(), String> {
    let (texels, held) = (u64::from(width) * u64::from(height), bytes.len() as u64);
    let refuse = |why: String| Err(format!("{width} x {height} texels are {why}"));
    match () {
        () if texels == 0 => refuse("none".into()),
        () if width.max(height) > MAX_SIDE || texels > MAX_TEXELS => {
            refuse(format!("too many; allowed: {MAX_SIDE} a side and {MAX_TEXELS} together; make it smaller"))
        }
        () if texels > MAX_TEXELS_A_BYTE * held => {
            refuse(format!("more than a picture of {held} bytes holds"))
        }
        () => memory::check(texels * each).map_err(|why| format!("{width} x {height} texels: {why}")),
    }
}

/// A PNG file without its colour profile, which nobody asks for and which decoders unpack whatever its size.
fn without_profile(bytes: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (vec![], bytes);
    let mut take = |rest: &mut &[u8], length: usize, keep: bool| {
        let (chunk, after) = rest.split_at(length.min(rest.len()));
        plain.extend_from_slice(if keep { chunk } else { &[] });
        *rest = after;
    };
    take(&mut rest, 8, true);
    // Length, kind, as many bytes, checksum.
    while let &[a, b, c, d, ref kind @ ..] = rest {
        let profile = kind.starts_with(b"iCCP");
        take(&mut rest, 12usize.saturating_add(u32::from_be_bytes([a, b, c, d]) as usize), !profile);
    }
    take(&mut rest, usize::MAX, true);
    plain
}

fn decode_png(bytes: &[u8]) -> Decoded {
    let broken = |e: image::ImageError| format!("is broken: {e}");
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    // Of some sizes the decoder only says that they are too much.
    let Some([b'I', b'H', b'D', b'R', a, b, c, d, e, f, g, h]) = bytes.get(12..24) else {
        return Err("is broken: it has no head".into());
    };
    let [width, height] = [[*a, *b, *c, *d], [*e, *f, *g, *h]].map(u32::from_be_bytes);
    check_size(width, height, bytes, PNG_BYTES)?;
    let plain = without_profile(bytes);
    let decoder = PngDecoder::with_limits(Cursor::new(&plain), limits).map_err(broken)?;
    let words = decoder.color_type().bytes_per_pixel() > decoder.color_type().channel_count();
    let picture = DynamicImage::from_decoder(decoder).map_err(broken)?;
    let texels = match words {
        true => Texels::Words(picture.into_rgba16().into_raw().as_chunks().0.to_vec()),
        false => Texels::Bytes(picture.into_rgba8().into_raw().as_chunks().0.to_vec()),
    };
    Ok((width, height, texels))
}

fn decode_jpeg(bytes: &[u8]) -> Decoded {
    let broken = |e: zune_jpeg::errors::DecodeErrors| format!("is broken: {e}");
    // Any size that the format has: ours are checked below, in our words. No vector instructions: the same bits on every
    // machine, whatever features other crates ask of the decoder.
    let options = DecoderOptions::default()
        .set_use_unsafe(false)
        .set_strict_mode(true)
        .set_max_width(u16::MAX.into())
        .set_max_height(u16::MAX.into())
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(broken)?;
    let info = decoder.info().ok_or("is broken: it has no size")?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    check_size(width, height, bytes, JPEG_BYTES)?;
    let channels = decoder.decode().map_err(broken)?;
    let texels: Vec<_> = channels.as_chunks::<3>().0.iter().map(|&[r, g, b]| [r, g, b, 255]).collect();
    if texels.len() as u64 != u64::from(width) * u64::from(height) {
        return Err("has colours that are not supported; save it as RGB".into());
    }
    Ok((width, height, Texels::Bytes(texels)))
}

fn decode_hdr(bytes: &[u8]) -> Decoded {
    let broken = |e: image::ImageError| format!("is broken: {e}");
    if bytes.len() > MAX_HDR_HEAD && !ends_head(&bytes[..MAX_HDR_HEAD]) {
        return Err(format!("is broken: its head does not end within {MAX_HDR_HEAD} bytes, the limit"));
    }
    // Old files call themselves RGBE instead of RADIANCE, which only the lenient reader accepts.
    let decoder = HdrDecoder::new_nonstrict(Cursor::new(bytes)).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    check_size(width, height, bytes, HDR_BYTES)?;
    let picture = DynamicImage::from_decoder(decoder).map_err(broken)?;
    let texels = picture.into_rgb32f().into_raw().as_chunks().0.to_vec();
    Ok((width, height, Texels::Floats(texels)))
}

/// Whether a Radiance file begins with a whole head: lines, an empty one, and that of the size.
fn ends_head(begin: &[u8]) -> bool {
    let empty = begin.windows(2).position(|two| two == b"\n\n");
    empty.is_some_and(|at| begin[at + 2..].contains(&b'\n'))
}

/// Most texels of all the images of a model.
const MAX_TEXELS_TOGETHER: u64 = 1 << 28;

/// A model's images, each read once.
#[derive(Debug, Default)]
pub struct Images {
    list: Vec<Arc<Image>>,
    by_key: HashMap<PathBuf, u32>,
    texels: u64,
}

impl Images {
    /// The index of the image that `key` stands for; `read` makes it when it is new.
    pub fn index(&mut self, key: &Path, read: impl FnOnce() -> Result<Image>) -> Result<u32> {
        if let Some(&index) = self.by_key.get(key) {
            return Ok(index);
        }
        let image = read()?;
        self.texels += u64::from(image.width) * u64::from(image.height);
        if self.texels > MAX_TEXELS_TOGETHER {
            return Err(fault(
                key,
                format_args!("with it the model has more than {MAX_TEXELS_TOGETHER} texels, the limit"),
            ));
        }
        let index = self.list.len() as u32;
        self.list.push(Arc::new(image));
        self.by_key.insert(key.to_owned(), index);
        Ok(index)
    }

    /// All images, in the order of their indices.
    pub fn into_list(self) -> Vec<Arc<Image>> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_left_out_and_nothing_else() {
        let chunk =
            |kind: &[u8], data: &[u8]| [&(data.len() as u32).to_be_bytes(), kind, data, b"crc!"].concat();
        let [head, profile, end] =
            [(b"IHDR", 13), (b"iCCP", 1000), (b"IEND", 0)].map(|(k, n)| chunk(k, &vec![7; n]));
        let with = [b"\x89PNG\r\n\x1a\n", &*head, &profile, &end].concat();
        let without = [b"\x89PNG\r\n\x1a\n", &*head, &end].concat();
        assert_eq!(without_profile(&with), without);
        assert_eq!(without_profile(&without), without);
        for length in 0..without.len() {
            assert_eq!(without_profile(&without[..length]), without[..length]);
        }
    }
}
