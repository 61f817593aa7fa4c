//! The window's pixels: a picture as large as fits, and words over it.

use crate::session::Frame;

/// Side of a letter before enlarging, in pixels, and the height of a line.
const LETTER: usize = 8;
const LINE: usize = 11;
/// Around the words.
const MARGIN: usize = 6;

/// Pixels of a window as 0x00RRGGBB, row by row.
#[derive(Debug, Default)]
pub struct Canvas {
    /// Width * height pixels.
    pub pixels: Vec<u32>,
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
}

/// Where a picture lies in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Left edge.
    pub x: usize,
    /// Upper edge.
    pub y: usize,
    /// Width, at least 1.
    pub width: usize,
    /// Height, at least 1.
    pub height: usize,
}

impl Area {
    /// The largest area of a window, in its middle, that has a picture's proportions.
    pub fn of(picture: (u32, u32), window: (usize, usize)) -> Area {
        let (w, h) = (picture.0 as usize, picture.1 as usize);
        let (width, height) = if window.0 * h <= window.1 * w {
            (window.0, (window.0 * h / w).clamp(1, window.1))
        } else {
            ((window.1 * w / h).clamp(1, window.0), window.1)
        };
        Area { x: (window.0 - width) / 2, y: (window.1 - height) / 2, width, height }
    }
}

impl Canvas {
    /// Black, of this size.
    pub fn clear(&mut self, width: usize, height: usize) {
        (self.width, self.height) = (width, height);
        self.pixels.clear();
        self.pixels.resize(width * height, 0);
    }

    /// The picture, as large as fits; each of its pixels is a rectangle.
    pub fn picture(&mut self, frame: &Frame) {
        if self.width == 0 || self.height == 0 {
            return;
        }
        let (w, h) = (frame.width as usize, frame.height as usize);
        let area = Area::of((frame.width, frame.height), (self.width, self.height));
        let columns: Vec<usize> = (0..area.width).map(|x| 3 * (x * w / area.width)).collect();
        for y in 0..area.height {
            let source = &frame.pixels[3 * w * (y * h / area.height)..][..3 * w];
            let row = &mut self.pixels[(area.y + y) * self.width + area.x..][..area.width];
            for (pixel, &at) in row.iter_mut().zip(&columns) {
                *pixel = u32::from_be_bytes([0, source[at], source[at + 1], source[at + 2]]);
            }
        }
    }

    /// Lines of words on a dark ground, each letter enlarged `scale` times, from the top (`upper`) or to the
    /// bottom. What does not fit is cut off.
    pub fn words(&mut self, text: &str, scale: usize, upper: bool) {
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let lines = text.lines().count();
        let height = (lines * LINE + 2 * MARGIN) * scale;
        let top = if upper { 0 } else { self.height.saturating_sub(height) };
        self.darken((longest * LETTER + 2 * MARGIN) * scale, top, height);
        for (i, line) in text.lines().enumerate() {
            for (j, letter) in line.chars().enumerate() {
                self.letter(letter, (MARGIN + j * LETTER) * scale, top + (MARGIN + i * LINE) * scale, scale);
            }
        }
    }

    fn darken(&mut self, width: usize, top: usize, height: usize) {
        let width = width.min(self.width);
        for row in self.pixels.chunks_mut(self.width.max(1)).skip(top).take(height) {
            // A quarter of the light stays: no bit moves into a neighbouring channel.
            row[..width].iter_mut().for_each(|pixel| *pixel = (*pixel >> 2) & 0x003f_3f3f);
        }
    }

    fn letter(&mut self, letter: char, left: usize, top: usize, scale: usize) {
        let shapes = &font8x8::legacy::BASIC_LEGACY;
        let shape = shapes.get(letter as usize).unwrap_or(&shapes[usize::from(b'?')]);
        for (y, x) in (0..LETTER * scale).flat_map(|y| (0..LETTER * scale).map(move |x| (y, x))) {
            let inked = shape[y / scale] >> (x / scale) & 1 == 1;
            if inked && left + x < self.width && top + y < self.height {
                self.pixels[(top + y) * self.width + left + x] = 0x00ff_ffff;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_keep_proportions_and_stay_inside() {
        assert_eq!(Area::of((64, 32), (640, 320)), Area { x: 0, y: 0, width: 640, height: 320 });
        assert_eq!(Area::of((64, 32), (640, 640)), Area { x: 0, y: 160, width: 640, height: 320 });
        assert_eq!(Area::of((64, 32), (1000, 320)), Area { x: 180, y: 0, width: 640, height: 320 });
        for picture in [(1, 1), (8191, 3), (3, 8191), (1280, 720)] {
            for window in [(1, 1), (1, 999), (4000, 1), (5, 7)] {
                let area = Area::of(picture, window);
                assert!(
                    area.width >= 1 && area.x + area.width <= window.0,
                    "{picture:?} {window:?} {area:?}"
                );
                assert!(
                    area.height >= 1 && area.y + area.height <= window.1,
                    "{picture:?} {window:?} {area:?}"
                );
            }
        }
    }

    #[test]
    fn words_fit_any_canvas() {
        for (width, height) in [(0, 0), (1, 1), (3, 200), (200, 3), (100, 100)] {
            let mut canvas = Canvas::default();
            canvas.clear(width, height);
            canvas.words("MRays/s \u{e4}\nsecond", 3, true);
            canvas.words("below", 1, false);
            assert_eq!(canvas.pixels.len(), width * height);
            assert_eq!(canvas.pixels.iter().any(|&p| p > 0), width > 50 && height > 50);
        }
    }
}
