//! `rayq render`: a scene file in, a picture and honest figures out.

use super::picture::PictureFile;
use super::progress::Meter;
use super::report::{Picture, Report, word};
use super::signals::Signals;
use super::watchdog::{GRACE, Watchdog};
use super::{picture, work};
use crate::engine::{Progress, Render};
use crate::error::{Error, Result};
use crate::film::{Film, Output};
use crate::scene::Scene;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two films that are kept for the case that the device hangs; only with a time limit.
const KEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Arguments of `rayq render`.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub struct Args {
    #[command(flatten)]
    picture: picture::Args,
    #[command(flatten)]
    work: work::Args,
    /// Write the report as JSON, too
    #[arg(long, value_name = "FILE.json")]
    stats: Option<PathBuf>,
    /// No progress and no report: errors only
    #[arg(long)]
    quiet: bool,
    /// End after this time with what is finished, exit code 3. A launch on the device cannot be broken off: it has 5 s
    /// more to come back, then it is left to the driver
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    timeout: Option<Duration>,
}

/// Renders and reports.
pub fn run(args: Args) -> Result<()> {
    let start = Instant::now();
    let signals = Signals::install()?;
    let scene = Scene::load(&args.work.scene)?.with_overrides(&args.work.overrides())?;
    if !args.quiet {
        scene.warnings.iter().for_each(super::complain);
    }
    let file = Arc::new(args.picture.prepare(&args.work.scene, (scene.image.width, scene.image.height))?);
    let writes = [("--output", Some(file.output.path())), ("--stats", args.stats.as_deref())];
    super::outputs::spare(writes, scene.files.iter().map(PathBuf::as_path))?;
    let stats = args.stats.as_deref().map(Output::prepare).transpose()?;
    let deadline = args.timeout.map(|limit| start + limit);
    let watchdog = deadline.map(|deadline| watch(deadline, &args, scene.image.spp, &file)).transpose()?;

    let device = args.work.open_device(args.quiet)?;
    let settings = args.work.settings();
    let mut render = Render::new(device.clone(), &scene, &settings)?;
    file.look(&render)?;
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

    let saved = file.save(&film)?;
    let picture = Picture {
        scene: args.work.scene.display().to_string(),
        output: saved.then(|| file.output.path().display().to_string()),
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
    end.into_result(&args, &film, scene.image.spp, &file.output)
}

/// Ends the command if the device does not come back soon after the deadline, with the film that was kept last.
fn watch(deadline: Instant, args: &Args, spp: u32, file: &Arc<PictureFile>) -> Result<Watchdog<Film>> {
    let (words, file) = (args.words(), Arc::clone(file));
    Watchdog::start(deadline + GRACE, move |film| {
        let saved = match film.map(|film| (file.save(&film), film)) {
            None => "nothing could be saved".into(),
            Some((Err(error), _)) => format!("saving what was finished failed, too: {error}"),
            Some((Ok(_), film)) => saved_words(&film, spp, &file.output),
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
    /// What runs, for messages.
    fn words(&self) -> String {
        let how = self.work.settings();
        let lanes = how.lanes.map_or_else(|| "as many lanes as fit".into(), |n| format!("{n} lanes"));
        format!("{} engine, {} queue, {lanes}", word(&how.engine), word(&how.queue))
    }
}

pub(super) fn parse_seconds(text: &str) -> std::result::Result<Duration, String> {
    // A nanosecond to a century: sums of instants and durations stay within their range.
    let usable = text.parse().ok().filter(|s| (1e-9..=3e9).contains(s));
    usable.map(Duration::from_secs_f64).ok_or_else(|| {
        "give a number of seconds from 1e-9 to 3e9; without the option there is no limit".to_owned()
    })
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
    fn seconds() {
        assert_eq!(parse_seconds("0.5"), Ok(Duration::from_millis(500)));
        for bad in ["", "0", "-1", "nan", "inf", "1e300", "1e-300", "1e-10", "x"] {
            assert!(parse_seconds(bad).is_err_and(|why| why.contains("from 1e-9 to 3e9")), "{bad}");
        }
    }
}
