//! What the picture tests share: cases, renders, devices.
#![allow(dead_code)] // Each test file uses a part of this.

use rayq::device::{Device, cpu::CpuDevice};
use rayq::engine::{Compact, EngineKind, Policy, Render, Settings};
use rayq::film::Film;
use rayq::queue::QueueKind;
use rayq::scene::{Overrides, Scene};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of the repository.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A scene file of the repository.
pub fn scene(path: &str) -> Scene {
    Scene::load(&file(path)).expect("a scene that loads")
}

/// The scene at another size and number of samples.
pub fn resized(path: &str, width: u32, height: u32, spp: u32) -> Scene {
    let size = Overrides { width: Some(width), height: Some(height), spp: Some(spp), ..Default::default() };
    scene(path).with_overrides(&size).expect("a size within the limits")
}

/// The CPU with so many workers.
pub fn cpu(workers: usize) -> Arc<dyn Device> {
    Arc::new(CpuDevice::new(Some(workers)).expect("worker threads"))
}

/// Renders to the end.
pub fn render(device: &Arc<dyn Device>, scene: &Scene, settings: &Settings) -> Film {
    let mut render = Render::new(device.clone(), scene, settings).expect("a render that starts");
    while !render.advance().expect("a slice that works").finished {}
    render.film().expect("a film")
}

/// Settings for an engine, all else as by default.
pub fn engine(engine: EngineKind) -> Settings {
    Settings { engine, ..Settings::default() }
}

/// Every engine in every form, under every policy and with every queue.
pub fn every_engine() -> Vec<Settings> {
    let tiles = [Policy::Paper, Policy::Adaptive].into_iter().flat_map(|policy| {
        let tile = Settings { policy, ..engine(EngineKind::TileQueue) };
        QueueKind::TILE_QUEUES.into_iter().map(move |queue| Settings { queue, ..tile.clone() })
    });
    [
        engine(EngineKind::Megakernel),
        engine(EngineKind::Compaction),
        Settings { compact: Compact::Scan, ..engine(EngineKind::Compaction) },
    ]
    .into_iter()
    .chain(tiles)
    .collect()
}

/// Every engine, with pools and without where it has the choice.
pub fn every_way() -> Vec<Settings> {
    let pooled = every_engine()
        .into_iter()
        .filter(|s| s.engine == EngineKind::TileQueue && s.policy == Policy::Adaptive);
    let pooled = pooled.map(|s| Settings { pools: Some(true), ..s });
    every_engine().into_iter().map(|s| Settings { pools: Some(false), ..s }).chain(pooled).collect()
}
