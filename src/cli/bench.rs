//! `rayq bench ...`: measurements.

use super::progress::Status;
use super::report::Origin;
use crate::bench::render::{Plan, Row, every_engine, measure};
use crate::device::DeviceInfo;
use crate::engine::Settings;
use crate::error::Result;
use crate::film::Output;
use crate::queue::QueueKind;
use crate::scene::{Overrides, Scene};
use clap::value_parser;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// What to measure.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Engines against each other on the same scenes
    Render(RenderArgs),
    /// Queues against each other: the two micro-benchmarks, balanced and split
    Queue(Box<super::bench_queue::Args>),
    /// The paper's study on this device: a report with figures, beside what was published
    Paper(super::bench_paper::Args),
}

/// Arguments of `rayq bench render`.
#[derive(Debug, clap::Args)]
pub struct RenderArgs {
    /// Scene files
    #[arg(default_values = ["scenes/complex.toml", "scenes/cornell.toml"])]
    scenes: Vec<PathBuf>,
    /// Width in pixels
    #[arg(long, default_value_t = 3840, value_parser = value_parser!(u32).range(1..))]
    width: u32,
    /// Height in pixels
    #[arg(long, default_value_t = 2160, value_parser = value_parser!(u32).range(1..))]
    height: u32,
    /// Samples a pixel
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    spp: u32,
    /// Where to run: auto, cpu, cuda, cuda:N, hip or hip:N
    #[arg(long, default_value = "auto")]
    device: String,
    /// Threads of the CPU device
    #[arg(long)]
    workers: Option<usize>,
    /// Queues of the tile-queue engine
    #[arg(long, value_parser = QueueKind::tile_queue_parser(), value_delimiter = ',', default_values = ["glfq"])]
    queues: Vec<QueueKind>,
    /// Interleaved rounds; the median counts
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Pictures in a row for each figure
    #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(1..=1000))]
    frames: u32,
    /// Tile size of the tile-queue engine: WxH or N
    #[arg(long, value_parser = super::work::parse_tile)]
    tile: Option<(u32, u32)>,
    /// Write everything as JSON, too
    #[arg(long, value_name = "FILE.json")]
    json: Option<PathBuf>,
    /// No progress
    #[arg(long)]
    quiet: bool,
}

/// The JSON form.
#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    #[serde(flatten)]
    origin: Origin,
    device: &'a DeviceInfo,
    plan: Plan,
    scenes: Vec<SceneRows>,
}

#[derive(Serialize)]
struct SceneRows {
    scene: String,
    width: u32,
    height: u32,
    spp: u32,
    rows: Vec<Row>,
}

/// Measures and reports.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Render(args) => render(&args),
        Command::Queue(args) => super::bench_queue::run(&args),
        Command::Paper(args) => super::bench_paper::run(&args),
    }
}

fn render(args: &RenderArgs) -> Result<()> {
    let json = args.json.as_deref().map(Output::prepare).transpose()?;
    let size = Overrides {
        width: Some(args.width),
        height: Some(args.height),
        spp: Some(args.spp),
        ..Overrides::default()
    };
    let scenes = args.scenes.iter().map(|path| Scene::load(path)?.with_overrides(&size));
    let scenes = scenes.collect::<Result<Vec<_>>>()?;
    let device = super::open_device(&args.device, args.workers, args.quiet)?;
    let base = Settings { slice: None, tile: args.tile, ..Settings::default() };
    let plan = Plan { rounds: args.rounds, frames: args.frames };
    let mut report =
        Report { schema_version: 1, origin: Origin::here(), device: device.info(), plan, scenes: vec![] };
    for (path, scene) in args.scenes.iter().zip(&scenes) {
        let status = Status::new(args.quiet);
        let contenders = every_engine(&base, &args.queues);
        let rows = measure(&device, scene, &contenders, plan, |text| status.show(text))?;
        drop(status);
        let rows = SceneRows {
            scene: path.display().to_string(),
            width: args.width,
            height: args.height,
            spp: args.spp,
            rows,
        };
        super::print(&table(&rows, device.info()))?;
        report.scenes.push(rows);
    }
    match json {
        Some(json) => json.write(serde_json::to_string_pretty(&report).expect("plain data").as_bytes()),
        None => Ok(()),
    }
}

/// A scene's rows for a terminal.
fn table(scene: &SceneRows, device: &DeviceInfo) -> String {
    let mut text = format!(
        "{}, {}x{}, {} samples a pixel, on {} ({}); film {}\n",
        scene.scene, scene.width, scene.height, scene.spp, device.id, device.name, scene.rows[0].film_hash
    );
    let _ =
        writeln!(text, "{:28} {:>10} {:>21} {:>12} {:>10}", "", "MRays/s", "min .. max", "trace only", "ms");
    for row in &scene.rows {
        let (all, trace) = (row.mrays_per_s, row.mrays_per_s_trace);
        let range = format!("{:.0} .. {:.0}", all.min, all.max);
        let _ = writeln!(
            text,
            "{:28} {:>10.0} {range:>21} {:>12.0} {:>10.4}",
            row.name, all.median, trace.median, row.ms.median
        );
    }
    text
}
