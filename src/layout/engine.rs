//! The film, paths, and the engines' launches.

use super::{CType, Ptr, Quad, QueueSpace, SceneView};
use bytemuck::{Pod, Zeroable};

layout! {
    /// The exact film: fixed-point sums in three planes of `pixels`, and the samples each pixel has finished.
    pub struct FilmView {
        /// Red sums, then green, then blue.
        pub sums: Ptr<u64>,
        /// Finished samples of each pixel.
        pub counts: Ptr<u32>,
        /// Number of pixels.
        pub pixels: u64,
    }

    /// Counters that launches add to, in COUNTER_STRIPES copies so that waves do not queue up for one word.
    /// The order is that of `Counter` in src/engine/counters.rs.
    pub struct CounterView {
        /// `COUNTER_STRIPES` rows of 16 words.
        pub words: Ptr<u64>,
    }

    /// Ray slots as a structure of arrays: what a path must remember between two hits (52 bytes, 56 with pixel).
    pub struct RayStore {
        /// Three planes of `capacity` quads: {origin.xyz, dir.x} {dir.yz, weight.rg} {weight.b, radiance.rgb}.
        pub quads: Ptr<Quad>,
        /// Sample number << 12 | depth.
        pub info: Ptr<u32>,
        /// Pixel of each ray, where the slot does not say it (compaction).
        pub pixel: Ptr<u32>,
        /// Slots in each plane.
        pub capacity: u64,
    }

    /// The megakernel's launch.
    pub struct MegakernelParams {
        /// The scene.
        pub scene: SceneView,
        /// Where samples go.
        pub film: FilmView,
        /// Where counts go.
        pub counters: CounterView,
        /// First chunk (8x4 pixels) of this launch.
        pub first_chunk: u64,
        /// Number of chunks.
        pub chunks: u64,
        /// Samples that each pixel shall have at the end.
        pub samples: u32,
        /// Unused.
        pub reserved: u32,
    }

    /// A launch that counts each pixel's rays.
    pub struct RayCountParams {
        /// The scene.
        pub scene: SceneView,
        /// Rays of each pixel.
        pub rays: Ptr<u32>,
        /// Chunks (8x4 pixels) of the image.
        pub chunks: u64,
        /// The sample whose rays count.
        pub sample: u32,
        /// Unused.
        pub reserved: u32,
    }

    /// A launch that adds up a film's digest.
    pub struct FilmDigestParams {
        /// The film.
        pub film: FilmView,
        /// One word, 0 before.
        pub digest: Ptr<u64>,
    }

    /// What the centre of a pixel sees first. Where it sees nothing: zeros, and a distance of infinity.
    pub struct FirstHit {
        /// Share of light that the surface reflects there, as its material and its texture have it; 1 for glass.
        pub albedo: [f32; 3],
        /// Distance from the eye.
        pub distance: f32,
        /// Unit normal in the world's space, on the eye's side.
        pub normal: [f32; 3],
        /// Number of the object, from 1; 0: none.
        pub object: u32,
    }

    /// A launch that looks through each pixel's centre.
    pub struct FirstHitParams {
        /// The scene, without jitter.
        pub scene: SceneView,
        /// What each pixel sees.
        pub hits: Ptr<FirstHit>,
        /// Chunks (8x4 pixels) of the image.
        pub chunks: u64,
    }

    /// A launch of one of the compaction engine's kernels.
    pub struct CompactionParams {
        /// The scene.
        pub scene: SceneView,
        /// Where samples go.
        pub film: FilmView,
        /// Where counts go.
        pub counters: CounterView,
        /// Rays to trace.
        pub rays: RayStore,
        /// Where the survivors go.
        pub next: RayStore,
        /// How many rays there are (one word).
        pub count: Ptr<u32>,
        /// How many survive (one word).
        pub next_count: Ptr<u32>,
        /// Scan form: 1 for each ray that goes on.
        pub flags: Ptr<u8>,
        /// Scan form: survivors of each stretch of rays, then where they start.
        pub sums: Ptr<u32>,
        /// First chunk (8x4 pixels) of this batch.
        pub first_chunk: u64,
        /// Chunks in this batch.
        pub chunks: u64,
        /// The sample that the batch adds to each pixel that lacks it.
        pub sample: u32,
        /// 1: the batch's first bounce, whose rays come from the camera and not from `rays`.
        pub fresh: u32,
    }

    /// The tile-queue engine's launches.
    pub struct TileParams {
        /// The scene.
        pub scene: SceneView,
        /// Where samples go.
        pub film: FilmView,
        /// Where counts go.
        pub counters: CounterView,
        /// Ray slots: tile t owns slots t * tile_slots .. (t + 1) * tile_slots.
        pub rays: RayStore,
        /// One queue a tile.
        pub space: QueueSpace,
        /// Adaptive policy: one word, the turns that were given out in this pass beside each wave's first.
        pub given: Ptr<u32>,
        /// Adaptive policy: for each wave how many rays it has between two launches, and their places.
        pub hands: Ptr<u32>,
        /// Adaptive policy, scenes with trees: each wave's pool of paths.
        pub pools: Ptr<Quad>,
        /// Device ticks after which waves park their rays and return; 0: no limit.
        pub budget_ticks: u64,
        /// Tiles across the image.
        pub tiles_x: u32,
        /// Tiles down the image.
        pub tiles_y: u32,
        /// Tile width in pixels.
        pub tile_width: u32,
        /// Tile height in pixels.
        pub tile_height: u32,
        /// Slots of one tile: its pixels, padded to whole 8x4 chunks.
        pub tile_slots: u32,
        /// Samples that each pixel shall have at the end.
        pub samples: u32,
        /// Adaptive policy: byte of a block's on-chip memory where the stashes start.
        pub stash_offset: u32,
        /// Adaptive policy: places that a wave's hand has room for.
        pub hand_size: u32,
        /// Adaptive policy: 1 if rays may be in hands when the launch starts.
        pub parked: u32,
        /// Adaptive policy: 1 in a pass's first launch.
        pub first_slice: u32,
        /// Adaptive policy: lane-steps that a refill costs.
        pub refill_price: u32,
        /// Nothing: keeps the size a multiple of 8.
        pub reserved: u32,
        /// Adaptive policy: turns of one tile.
        pub tile_turns: u32,
        /// Adaptive policy: turns of all tiles.
        pub turns: u32,
        /// Paper policy: waves that serve a tile together.
        pub tile_waves: u32,
        /// Adaptive policy: samples that every pixel has when the pass begins; 0xffffffff: each has its own number.
        pub known_samples: u32,
    }
}
