//! `rayq render`: a scene file in, a picture and honest figures out.

use super::progress::Meter;
use super::report::{Picture, Report, word};
use super::signals::Signals;
use super::watchdog::Watchdog;
use crate::engine::{Compact, EngineKind, Policy, Progress, Render, Settings};
use crate::error::{Error, Result};
use crate::film::{Film, Output};
use crate::queue::QueueKind;
use crate::scene::{Overrides, Scene};
use clap::value_parser;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a slice may outlast the deadline before the device counts as hung.
pub(super) const GRACE: Duration = Duration::from_secs(5);
/// Time between two films that are kept for the case that the device hangs; only with a time limit.
const KEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Arguments of `rayq render`.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub struct Args {
    /// The scene, a .toml or .json file
    scene: PathBuf,
    /// The picture, a .png file; its folder is made if missing [default: output/NAME.png, NAME as the scene file's]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
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
    /// Write the report as JSON, too
    #[arg(long, value_name = "FILE.json")]
    stats: Option<PathBuf>,
    /// 16 bits a channel instead of 8
    #[arg(long)]
    png16: bool,
    /// No progress and no report: errors only
    #[arg(long)]
    quiet: bool,
    /// End after this time with what is finished, exit code 3
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,
}

/// Renders and reports.
pub fn run(args: Args) -> Result<()> {
    let start = Instant::now();
    let signals = Signals::install()?;
    let scene = Scene::load(&args.scene)?.with_overrides(&args.overrides())?;
    let output = Arc::new(Output::picture(&args.output_path())?);
    let stats = args.stats.as_deref().map(|path| args.prepare_stats(path, &output)).transpose()?;
    let deadline = args.timeout.map(|limit| start + limit);
    let watchdog = deadline.map(|deadline| watch(deadline, &args, scene.image.spp, &output));

    let device = super::open_device(&args.device, args.workers.map(|n| n as usize), args.quiet)?;
    let settings = args.settings();
    let mut render = Render::new(device.clone(), &scene, &settings)?;
    let mut meter = Meter::new(args.quiet);
    let mut kept = Instant::now();
    let slice = || {
        let progress = render.advance()?;
        if let Some(watchdog) = watchdog.as_ref().filter(|_| kept.elapsed() >= KEEP_INTERVAL) {
            watchdog.keep(render.film()?);
            kept = Instant::now();
        }
        Ok(progress)
    };
    let end = drive(slice, |p| meter.update(p), || signals.received(), deadline)?;
    drop(meter);
    let film = render.film()?;
    drop(watchdog);

    let saved = save(&film, args.png16, &output)?;
    let picture = Picture {
        scene: args.scene.display().to_string(),
        output: saved.then(|| output.path().display().to_string()),
        width: film.width,
        height: film.height,
        spp: scene.image.spp,
        depth: scene.image.max_depth,
        seed: scene.image.seed,
        samples: film.samples(),
        finished: end == End::Finished,
    };
    let report = Report::new(picture, settings, device.info(), &film, render.statistics(), start.elapsed());
    if let Some(stats) = stats {
        stats.write(report.json().as_bytes())?;
    }
    if !args.quiet {
        super::print(&report.to_string())?;
    }
    end.into_result(&args, &film, scene.image.spp, &output)
}

/// Writes the picture, unless there is not a sample in it: then an older picture is left alone.
fn save(film: &Film, png16: bool, output: &Output) -> Result<bool> {
    let worth = film.samples() > 0;
    if worth {
        let picture = if png16 { film.to_png16()? } else { film.to_png8()? };
        output.write(&picture)?;
    }
    Ok(worth)
}

/// Ends the command if the device does not come back soon after the deadline, with the film that was kept last.
fn watch(deadline: Instant, args: &Args, spp: u32, output: &Arc<Output>) -> Watchdog<Film> {
    let (words, png16, output) = (args.words(), args.png16, Arc::clone(output));
    Watchdog::start(deadline + GRACE, move |film| {
        let saved = match film.map(|film| (save(&film, png16, &output), film)) {
            None => "nothing could be saved".into(),
            Some((Err(error), _)) => format!("saving what was finished failed, too: {error}"),
            Some((Ok(_), film)) => saved_words(&film, spp, &output),
        };
        let grace = GRACE.as_secs();
        let error = Error::Device(format!(
            "the device does not answer, {grace} s beyond the time limit ({words}); {saved}"
        ));
        super::complain(&error);
        // No destructors and no exit handlers: a driver's would wait for the kernel, too.
        signal_hook::low_level::exit(error.exit_code().into());
    })
}

/// How a render ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Finished,
    Signal(i32),
    Deadline,
}

/// Takes slice after slice until the render is finished or somebody wants it to stop.
fn drive(
    mut advance: impl FnMut() -> Result<Progress>,
    mut show: impl FnMut(&Progress),
    signal: impl Fn() -> Option<i32>,
    deadline: Option<Instant>,
) -> Result<End> {
    loop {
        if let Some(signal) = signal() {
            return Ok(End::Signal(signal));
        }
        let progress = advance()?;
        show(&progress);
        if progress.finished {
            return Ok(End::Finished);
        }
        if deadline.is_some_and(|d| Instant::now() >= d) {
            return Ok(End::Deadline);
        }
    }
}

impl End {
    /// Success, or the error that says why there are fewer samples than asked for, and where they are.
    fn into_result(self, args: &Args, film: &Film, spp: u32, output: &Output) -> Result<()> {
        match self {
            End::Finished => Ok(()),
            End::Signal(signal) => {
                super::complain(&saved_words(film, spp, output));
                Err(Error::Interrupted(signal))
            }
            End::Deadline => {
                let limit = args.timeout.unwrap_or_default().as_secs_f64();
                let (engine, saved) = (args.words(), saved_words(film, spp, output));
                Err(Error::Device(format!("not finished within {limit} s ({engine}); {saved}")))
            }
        }
    }
}

/// What there is of an unfinished picture.
fn saved_words(film: &Film, spp: u32, output: &Output) -> String {
    let wanted = u64::from(spp) * film.counts.len() as u64;
    let (least, most) = film.sample_range();
    match film.samples() {
        0 => format!("no sample was finished, {} is as it was", output.path().display()),
        samples => format!(
            "{samples} of {wanted} samples are finished ({least} to {most} of {spp} a pixel) and saved in {}",
            output.path().display()
        ),
    }
}

impl Args {
    /// Checks that the report can be written, and would replace neither the scene nor the picture.
    fn prepare_stats(&self, path: &Path, picture: &Output) -> Result<Output> {
        let same = |other: &Path| match (path.canonicalize(), other.canonicalize()) {
            (Ok(path), Ok(other)) => path == other,
            _ => path == other,
        };
        if same(&self.scene) || same(picture.path()) {
            let why = "--stats would replace the scene or the picture; give the report a file of its own";
            return Err(Error::Input(format!("{}: {why}", path.display())));
        }
        Output::prepare(path)
    }

    fn overrides(&self) -> Overrides {
        Overrides {
            width: self.width,
            height: self.height,
            spp: self.spp,
            depth: self.depth,
            seed: self.seed,
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            engine: self.engine,
            queue: self.queue,
            policy: self.policy,
            compact: self.compact,
            tile: self.tile,
            lanes: self.lanes,
            ..Settings::default()
        }
    }

    /// The picture's path: as given, or in the folder `output` beside the current folder's files.
    fn output_path(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| picture_path(&self.scene))
    }

    /// What runs, for messages.
    fn words(&self) -> String {
        let lanes = self.lanes.map_or_else(|| "as many lanes as fit".into(), |n| format!("{n} lanes"));
        format!("{} engine, {} queue, {lanes}", word(&self.engine), word(&self.queue))
    }
}

/// Where the picture of a scene file goes unless told otherwise.
pub(super) fn picture_path(scene: &Path) -> PathBuf {
    let mut name = scene.file_stem().unwrap_or("scene".as_ref()).to_owned();
    name.push(".png");
    Path::new("output").join(name)
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

pub(super) fn parse_seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    // A century: sums of instants and durations stay within their range.
    let usable = seconds.filter(|s| !s.is_zero() && s.as_secs() < 3_000_000_000);
    usable.ok_or_else(|| "give a number of seconds above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn slices(total: u64) -> impl FnMut() -> Result<Progress> {
        let mut done = 0;
        move || {
            done += 1;
            Ok(Progress { samples_done: done, samples_total: total, rays: done, finished: done == total })
        }
    }

    #[test]
    fn runs_until_finished() {
        let shown = Cell::new(0);
        let end = drive(slices(7), |_| shown.set(shown.get() + 1), || None, None).expect("no failure");
        assert_eq!((end, shown.get()), (End::Finished, 7));
    }

    #[test]
    fn a_signal_stops_between_slices() {
        let shown = Cell::new(0);
        let signal = || (shown.get() == 3).then_some(2);
        let end = drive(slices(7), |_| shown.set(shown.get() + 1), signal, None).expect("no failure");
        assert_eq!((end, shown.get()), (End::Signal(2), 3));
    }

    #[test]
    fn a_deadline_lets_one_slice_through() {
        let end = drive(slices(7), |_| {}, || None, Some(Instant::now())).expect("no failure");
        assert_eq!(end, End::Deadline);
        let end = drive(slices(1), |_| {}, || None, Some(Instant::now())).expect("no failure");
        assert_eq!(end, End::Finished, "work done at the deadline is done");
    }

    #[test]
    fn failures_pass_through() {
        let end = drive(|| Err(Error::Device("gone".into())), |_| {}, || None, None);
        assert!(matches!(end, Err(Error::Device(_))));
    }

    #[test]
    fn tiles_and_seconds() {
        assert_eq!(parse_tile("16"), Ok((16, 16)));
        assert_eq!(parse_tile("160x90"), Ok((160, 90)));
        for bad in ["", "0", "0x4", "4x", "x4", "-1", "1x2x3", "4 x 4", "99999999999"] {
            assert!(parse_tile(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["", "0", "-1", "nan", "inf", "1e300", "x"] {
            assert!(parse_seconds(bad).is_err(), "{bad}");
        }
    }
}
