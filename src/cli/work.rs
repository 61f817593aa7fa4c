//! What every command that renders one scene is told: the scene, where to render it, and how.

use crate::device::Device;
use crate::engine::{Compact, EngineKind, Policy, Settings};
use crate::error::Result;
use crate::queue::QueueKind;
use crate::scene::Overrides;
use crate::session::{Options, Session};
use clap::value_parser;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `render`, `preview` and `serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The scene, a .toml or .json file
    pub scene: PathBuf,
    /// Width in pixels, in place of the scene's
    #[arg(long, value_name = "PIXELS")]
    width: Option<u32>,
    /// Height in pixels, in place of the scene's
    #[arg(long, value_name = "PIXELS")]
    height: Option<u32>,
    /// Samples a pixel, in place of the scene's
    #[arg(long, value_name = "N")]
    spp: Option<u32>,
    /// Surface interactions that a path sums at most, in place of the scene's max_depth
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Seed of every random number, in place of the scene's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Where to render: auto (the first usable GPU, else the CPU), cpu, cuda, cuda:N, hip or hip:N
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: String,
    /// Threads of the CPU device [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=4096))]
    workers: Option<u32>,
    /// How to trace; the picture is the same
    #[arg(long, value_enum, default_value = "tile-queue")]
    engine: EngineKind,
    /// The tile-queue engine's queue
    #[arg(long, value_parser = QueueKind::tile_queue_parser(), default_value = "glfq")]
    queue: QueueKind,
    /// What the tile-queue engine sends through its queues
    #[arg(long, value_enum, default_value = "adaptive")]
    policy: Policy,
    /// How the compaction engine closes the gaps
    #[arg(long, value_enum, default_value = "append")]
    compact: Compact,
    /// Tile size in pixels: WxH, or N for N x N [default: chosen for the device]
    #[arg(long, value_name = "WxH", value_parser = parse_tile)]
    tile: Option<(u32, u32)>,
    /// Lanes that work at once [default: as many as the device holds]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    lanes: Option<u32>,
    /// Rays that the compaction engine traces together, rounded up to a multiple of 32 [default: chosen for the device]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    batch: Option<u32>,
    /// Whether the adaptive policy traces scenes with trees (meshes, many spheres) from pools of paths in memory
    /// [default: both ways are tried, and the faster stays]
    #[arg(long, value_name = "yes|no", value_parser = parse_yes_no)]
    pools: Option<bool>,
}

impl Args {
    /// What is to be replaced in the scene.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            width: self.width,
            height: self.height,
            spp: self.spp,
            depth: self.depth,
            seed: self.seed,
        }
    }

    /// How to trace.
    pub fn settings(&self) -> Settings {
        Settings {
            engine: self.engine,
            queue: self.queue,
            policy: self.policy,
            compact: self.compact,
            tile: self.tile,
            lanes: self.lanes,
            batch: self.batch,
            pools: self.pools,
            ..Settings::default()
        }
    }

    /// Opens the device; says what `auto` took unless it is to be quiet.
    pub fn open_device(&self, quiet: bool) -> Result<Arc<dyn Device>> {
        super::open_device(&self.device, self.workers.map(|n| n as usize), quiet)
    }

    /// A live session of the scene, at work.
    pub fn start_session(&self) -> Result<Session> {
        let device = self.open_device(false)?;
        let (scene, overrides, settings) = (self.scene.clone(), self.overrides(), self.settings());
        Session::start(device, Options { scene, overrides, settings })
    }
}

pub(super) fn parse_yes_no(text: &str) -> std::result::Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("give yes or no".to_owned()),
    }
}

pub(super) fn parse_tile(text: &str) -> std::result::Result<(u32, u32), String> {
    let side = |s: &str| match s.parse() {
        Ok(n @ 1..) => Ok(n),
        _ => Err("give WxH or N, whole numbers of pixels from 1 up, such as 64 or 160x90".to_owned()),
    };
    match text.split_once('x') {
        Some((width, height)) => Ok((side(width)?, side(height)?)),
        None => side(text).map(|n| (n, n)),
    }
}

/// A number of lanes; `None`: as many as the device holds.
pub type Lanes = Option<u32>;

/// A number, or `max`.
pub fn parse_lanes(text: &str) -> std::result::Result<Lanes, String> {
    match text.parse() {
        Ok(n @ 1..=0x4000_0000) => Ok(Some(n)),
        _ if text == "max" => Ok(None),
        _ => Err("give a number from 1 to 1073741824, or max".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles() {
        assert_eq!(parse_tile("16"), Ok((16, 16)));
        assert_eq!(parse_tile("160x90"), Ok((160, 90)));
        for bad in ["", "0", "0x4", "4x", "x4", "-1", "1x2x3", "4 x 4", "99999999999"] {
            assert!(parse_tile(bad).is_err(), "{bad}");
        }
    }
}
