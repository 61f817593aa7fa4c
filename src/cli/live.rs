//! What `rayq preview` and `rayq serve` have in common: a scene, a device and how to begin.

use crate::engine::{EngineKind, Policy, Settings};
use crate::error::Result;
use crate::queue::QueueKind;
use crate::scene::Overrides;
use crate::session::{Options, Session};
use clap::value_parser;
use std::path::PathBuf;

/// Arguments of both.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The scene, a .toml or .json file; it is read again whenever it changes
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
    /// Where to render: auto (the first usable GPU, else the CPU), cpu, cuda, cuda:N, hip or hip:N
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: String,
    /// Threads of the CPU device [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=4096))]
    workers: Option<u32>,
    /// The engine to begin with
    #[arg(long, value_enum, default_value = "tile-queue")]
    engine: EngineKind,
    /// The tile-queue engine's queue to begin with
    #[arg(long, value_enum, default_value = "glfq")]
    queue: QueueKind,
    /// The tile-queue engine's policy to begin with
    #[arg(long, value_enum, default_value = "adaptive")]
    policy: Policy,
    /// Tile size in pixels: WxH, or N for N x N [default: chosen for the device]
    #[arg(long, value_name = "WxH", value_parser = super::render::parse_tile)]
    tile: Option<(u32, u32)>,
}

impl Args {
    /// What is to be replaced in the scene.
    pub fn overrides(&self) -> Overrides {
        Overrides { width: self.width, height: self.height, spp: self.spp, ..Overrides::default() }
    }

    /// The session, at work.
    pub fn start(&self) -> Result<Session> {
        let settings = Settings {
            engine: self.engine,
            queue: self.queue,
            policy: self.policy,
            tile: self.tile,
            ..Settings::default()
        };
        let device = super::open_device(&self.device, self.workers.map(|n| n as usize), false)?;
        let (scene, overrides) = (self.scene.clone(), self.overrides());
        Session::start(device, Options { scene, overrides, settings })
    }
}
