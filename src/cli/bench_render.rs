//! `rayq bench render`: engines against each other.

use super::bench_table::{self, Group, Report};
use super::progress::Status;
use super::report::Origin;
use super::usual::{Tables, TimeLimit, Usual};
use super::watchdog::{BENCH_WAY_OUT, Guard};
use super::work::{parse_tile, parse_yes_no};
use crate::bench::render::{Choice, Plan, measure};
use crate::bench::sweep::Sweep;
use crate::device::Device;
use crate::engine::{Compact, EngineKind, Policy, Settings};
use crate::error::{Error, Result};
use crate::queue::QueueKind;
use crate::scene::{MAX_PIXELS, Overrides, SIDES, Scene};
use clap::value_parser;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Arguments of `rayq bench render`.
///
/// Every film is compared with the megakernel's before a figure is printed. Engines take turns, round after round, and
/// ratios are taken within each round.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Scene files
    #[arg(default_values = ["scenes/complex.toml", "scenes/cornell.toml"])]
    scenes: Vec<PathBuf>,
    /// Sizes of the picture in pixels
    #[arg(long, value_name = "WxH", value_delimiter = ',', value_parser = parse_size, conflicts_with_all = ["width", "height"])]
    sizes: Vec<(u32, u32)>,
    /// Width in pixels, for a single size
    #[arg(long, default_value_t = 3840, value_parser = value_parser!(u32).range(1..))]
    width: u32,
    /// Height in pixels, for a single size
    #[arg(long, default_value_t = 2160, value_parser = value_parser!(u32).range(1..))]
    height: u32,
    /// Samples a pixel
    #[arg(long, value_delimiter = ',', default_values = ["1"], value_parser = value_parser!(u32).range(1..))]
    spp: Vec<u32>,
    /// Threads of the CPU device
    #[arg(long)]
    workers: Option<usize>,
    /// Engines
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["megakernel", "compaction", "tile-queue"])]
    engines: Vec<EngineKind>,
    /// Forms of the compaction engine
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["append", "scan"])]
    compacts: Vec<Compact>,
    /// Policies of the tile-queue engine
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["paper", "adaptive"])]
    policies: Vec<Policy>,
    /// Queues of the tile-queue engine
    #[arg(long, value_parser = QueueKind::tile_queue_parser(), value_delimiter = ',', default_values = ["glfq"])]
    queues: Vec<QueueKind>,
    /// Tile size of the tile-queue engine: WxH or N
    #[arg(long, value_parser = parse_tile)]
    tile: Option<(u32, u32)>,
    /// Lanes of the tile-queue engine
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    lanes: Option<u32>,
    /// Rays that the compaction engine traces together, rounded up to a multiple of 32
    #[arg(long, value_parser = value_parser!(u32).range(1..))]
    batch: Option<u32>,
    /// Whether the adaptive policy traces scenes with trees (meshes, many spheres) from pools of paths in memory
    /// [default: both ways are tried before the first round, and the faster stays]
    #[arg(long, value_name = "yes|no", value_parser = parse_yes_no)]
    pools: Option<bool>,
    /// Interleaved rounds; the median counts
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Pictures in a row for each figure; by default up to ten, as many as 20 ms have room for
    #[arg(long, value_parser = value_parser!(u32).range(1..=1000))]
    frames: Option<u32>,
    /// Measure a cost curve instead: each scene at many values of one parameter
    #[arg(long, value_enum)]
    sweep: Option<Sweep>,
    /// The sweep's values, instead of its own
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', requires = "sweep")]
    values: Vec<f64>,
    /// Also in slices of so many milliseconds, compared by the host's clock with one launch for all
    #[arg(long, value_name = "MS", value_delimiter = ',', value_parser = value_parser!(u64).range(1..=60_000))]
    slices: Vec<u64>,
    /// Also count, with instrumented kernels in a pass of its own, active lanes a step, and queue operations, atomics
    /// and bytes a ray
    #[arg(long)]
    effort: bool,
    /// Also measure the device's limits, and print each speed as a share of the limit that binds it; goes with --effort
    #[arg(long)]
    limits: bool,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    usual: Usual,
    #[command(flatten)]
    tables: Tables,
}

/// A picture to measure.
struct Picture {
    scene: String,
    /// The sweep's value.
    value: Option<f64>,
    picture: Scene,
    contenders: Vec<Settings>,
}

impl Args {
    fn plan(&self) -> Plan {
        Plan { rounds: self.rounds, frames: self.frames, effort: self.effort || self.limits }
    }

    /// Who takes part: each whole, and then once for each slice.
    fn contenders(&self) -> Vec<Settings> {
        let choice = Choice {
            engines: self.engines.clone(),
            compacts: self.compacts.clone(),
            policies: self.policies.clone(),
            queues: self.queues.clone(),
        };
        let slices = self.slices.iter().map(|&ms| Some(Duration::from_millis(ms)));
        let base = Settings {
            slice: None,
            tile: self.tile,
            lanes: self.lanes,
            batch: self.batch,
            pools: self.pools,
            ..Settings::default()
        };
        let sliced = |slice| choice.contenders(&Settings { slice, ..base.clone() });
        [None].into_iter().chain(slices).flat_map(sliced).collect()
    }

    /// The scenes at every size and number of samples that is asked for.
    fn scenes(&self) -> Result<Vec<(String, Scene)>> {
        let generated = self.sweep == Some(Sweep::Spheres);
        let files = if generated { &self.scenes[..1] } else { &self.scenes[..] };
        let one = [(self.width, self.height)];
        let sizes = if self.sizes.is_empty() { &one[..] } else { &self.sizes };
        let mut all = vec![];
        for path in files {
            let name = if generated { "generated spheres".into() } else { path.display().to_string() };
            let scene = if generated { crate::bench::sweep::sphere_cloud(1)? } else { Scene::load(path)? };
            for &(width, height) in sizes {
                for &spp in &self.spp {
                    let size = Overrides {
                        width: Some(width),
                        height: Some(height),
                        spp: Some(spp),
                        ..Overrides::default()
                    };
                    all.push((name.clone(), scene.clone().with_overrides(&size)?));
                }
            }
        }
        Ok(all)
    }

    /// Everything to measure, in order; what cannot be is refused before anything runs.
    fn pictures(&self, device: &dyn Device) -> Result<Vec<Picture>> {
        let contenders = self.contenders();
        let Some(sweep) = self.sweep else {
            let whole =
                |(scene, picture)| Picture { scene, value: None, picture, contenders: contenders.clone() };
            return Ok(self.scenes()?.into_iter().map(whole).collect());
        };
        let own = sweep.values(device.is_wide());
        let values = if self.values.is_empty() { &own } else { &self.values };
        let mut all = vec![];
        for (scene, picture) in self.scenes()? {
            for &value in values {
                all.push(Picture {
                    scene: scene.clone(),
                    value: Some(value),
                    picture: sweep.scene(&picture, value)?,
                    contenders: sweep.contenders(&contenders, value)?,
                });
            }
        }
        Ok(all)
    }
}

/// Measures and reports. What is finished when a signal or the time limit ends it is kept.
pub fn run(args: &Args) -> Result<()> {
    let start = Instant::now();
    let device = args.usual.open(args.workers)?;
    let pictures = args.pictures(&*device)?;
    let files = pictures.iter().flat_map(|p| &p.picture.files);
    let outputs = Arc::new(args.tables.outputs(&args.usual, files.map(PathBuf::as_path))?);
    let kept = Arc::clone(&outputs);
    let save = move |report: Report| {
        kept.write(&report, || bench_table::csv(&report), |folder| bench_table::plots(folder, &report))
    };
    let guard = Guard::new(start, args.limit.timeout, BENCH_WAY_OUT, save)?;
    let limits =
        args.limits.then(|| super::bench_limits::told(&device, args.usual.quiet, &guard)).transpose()?;
    let mut report = Report {
        schema_version: 2,
        origin: Origin::here(),
        device: device.info().clone(),
        plan: args.plan(),
        limits,
        sweep: args.sweep,
        groups: vec![],
        worst: vec![],
    };
    let measured = pictures.iter().try_for_each(|picture| one(args, &device, picture, &mut report, &guard));
    drop(guard);
    let told = super::print(&bench_table::worst_text(&report));
    let (csv, plots) = (|| bench_table::csv(&report), |folder: &Path| bench_table::plots(folder, &report));
    let rows = report.groups.iter().map(|group| group.rows.len()).sum();
    outputs.finish(measured.and(told).and(refusals(&report)), rows, &report, csv, plots)
}

/// Measures a picture, prints its table and adds it to the report.
fn one(
    args: &Args,
    device: &Arc<dyn Device>,
    picture: &Picture,
    report: &mut Report,
    guard: &Guard<Report>,
) -> Result<()> {
    let image = picture.picture.image;
    let place = format!("{}, {}x{}, {} spp", picture.scene, image.width, image.height, image.spp);
    guard.at(place.clone());
    guard.go_on()?;
    let status = Status::new(args.usual.quiet);
    let tell = |text: &str| {
        status.show(&format!("{}, {text}", picture.scene));
        guard.at(format!("{place}, {text}"));
    };
    let (result, end) =
        measure(device, &picture.picture, &picture.contenders, args.plan(), &|| guard.go_on(), tell);
    drop(status);
    let group = Group::new(&picture.scene, picture.value, &picture.picture, result, report);
    if !group.rows.is_empty() || !group.refused.is_empty() {
        super::print(&bench_table::text(&group, report))?;
        report.groups.push(group);
        report.worst = bench_table::worst(report);
        guard.keep(report.clone());
    }
    end
}

/// A picture's size, or one number for both sides.
fn parse_size(text: &str) -> std::result::Result<(u32, u32), String> {
    let side = |s: &str| s.parse().ok().filter(|n| SIDES.contains(n));
    let (width, height) = text.split_once('x').unwrap_or((text, text));
    let size = side(width).zip(side(height));
    size.filter(|&(w, h)| u64::from(w) * u64::from(h) <= MAX_PIXELS).ok_or_else(|| {
        let most = SIDES.end();
        format!(
            "give WxH, each side 1 to {most} pixels and {MAX_PIXELS} pixels in all at most, such as 1920x1080"
        )
    })
}

/// A contender without figures is no success.
fn refusals(report: &Report) -> Result<()> {
    let refused: usize = report.groups.iter().map(|group| group.refused.len()).sum();
    match report.groups.iter().flat_map(|group| &group.refused).next() {
        None => Ok(()),
        Some(first) => Err(Error::Device(format!(
            "{refused} contenders have no figures; the first, {}: {}",
            first.name, first.why
        ))),
    }
}
