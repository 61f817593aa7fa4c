//! How the tile-queue engine cuts an image into tiles.

use super::Target;
use super::target::CHUNK;
use crate::error::{Error, Result};

/// Side of the default tile on a wide device: a power of two, so that slots and pixels agree.
const TILE_WIDE: u32 = 64;
/// Side of the default tile on the CPU: a tile's rays stay in the nearest caches.
const TILE_NARROW: u32 = 32;
/// Most tiles: their number is a kernel's 32-bit index with room to add.
const MOST_TILES: u64 = 1 << 28;

/// Tiles of an image.
pub(super) struct Tiling {
    pub width: u32,
    pub height: u32,
    pub across: u32,
    pub down: u32,
    /// Slots of a tile: its pixels, padded to whole chunks unless the tile is smaller than one.
    pub slots: u32,
}

impl Tiling {
    pub fn new(target: &Target, tile: Option<(u32, u32)>) -> Result<Tiling> {
        let side = if target.device.is_wide() { TILE_WIDE } else { TILE_NARROW };
        let (width, height) = tile.unwrap_or((side, side));
        let (image_width, image_height) = (target.scene.width, target.scene.height);
        if width == 0 || height == 0 {
            return Err(Error::Input(format!("tile {width}x{height}: a tile has at least 1x1 pixels")));
        }
        // A tile larger than the image is the image.
        let (width, height) = (width.min(image_width), height.min(image_height));
        let (across, down) = (image_width.div_ceil(width), image_height.div_ceil(height));
        let slots = if width < 8 || height < 4 {
            u64::from(width) * u64::from(height)
        } else {
            u64::from(width.div_ceil(8)) * u64::from(height.div_ceil(4)) * CHUNK
        };
        let tiles = u64::from(across) * u64::from(down);
        if tiles > MOST_TILES {
            let why =
                format!("tile {width}x{height}: makes {tiles} tiles of the image; the limit is {MOST_TILES}");
            return Err(Error::Input(why));
        }
        let slots = u32::try_from(slots).map_err(|_| {
            Error::Input(format!("tile {width}x{height}: too large, a tile has at most 2^32 slots"))
        })?;
        Ok(Tiling { width, height, across, down, slots })
    }

    pub fn count(&self) -> u64 {
        u64::from(self.across) * u64::from(self.down)
    }
}
