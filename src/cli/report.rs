//! What a render tells when it is over: the same figures as text for people and as JSON for programs.

use crate::device::DeviceInfo;
use crate::engine::{EngineKind, Settings, Statistics};
use crate::film::Film;
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::time::Duration;

/// Version of the JSON form; grows when a key changes its meaning or goes.
const SCHEMA_VERSION: u32 = 1;

/// Everything that is said of a render. Fields appear in the JSON under their names.
#[derive(Debug, Serialize)]
pub struct Report {
    schema_version: u32,
    #[serde(flatten)]
    origin: Origin,
    #[serde(flatten)]
    picture: Picture,
    /// `engine`, `queue`, `policy` and the others.
    #[serde(flatten)]
    settings: Settings,
    #[serde(flatten)]
    place: Place,
    film_hash: String,
    film: FilmFacts,
    rays: Rays,
    /// Millions of rays a second of device time, ray generation included; null when the device took no time.
    mrays_per_s: Option<f64>,
    /// The same without the time of ray generation.
    mrays_per_s_trace: Option<f64>,
    seconds: Seconds,
    /// Launches that the work was cut into.
    slices: u64,
    /// Channels of contributions that were NaN or negative, taken as 0.
    nan: u64,
    /// Channels of contributions beyond the film's range, clamped to it.
    clamped: u64,
}

/// The program that made the report.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Origin {
    version: &'static str,
    commit: &'static str,
    command_line: Vec<String>,
}

/// What was rendered.
#[derive(Debug, Serialize)]
pub struct Picture {
    /// The scene file, as given.
    pub scene: String,
    /// The picture's file; none if there was not a sample to write.
    pub output: Option<String>,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Samples a pixel that were asked for.
    pub spp: u32,
    /// Surface interactions that a path sums at most.
    pub depth: u32,
    /// Seed of every random number.
    pub seed: u64,
    /// Pixel samples in the film.
    pub samples: u64,
    /// Whether every pixel has all its samples.
    pub finished: bool,
}

/// Where it was rendered.
#[derive(Debug, Serialize)]
struct Place {
    /// How to ask for the device again.
    device: String,
    device_name: String,
    device_arch: String,
    compute_units: u32,
    wave_size: u32,
    /// Highest clock in MHz; 0 where it cannot be read.
    clock_mhz: u32,
    driver: String,
    compiler: String,
}

#[derive(Debug, Serialize)]
struct FilmFacts {
    /// Units per unit of radiance.
    scale: f32,
    /// Radiance of one unit.
    resolution: f64,
    /// Radiance that a pixel can sum up over all its samples.
    range: f64,
}

#[derive(Debug, Serialize)]
struct Rays {
    primary: u64,
    bounce: u64,
    shadow: u64,
    total: u64,
}

#[derive(Debug, Serialize)]
struct Seconds {
    compile: f64,
    upload: f64,
    generate: f64,
    trace: f64,
    resolve: f64,
    /// From the start of the command to this report.
    total: f64,
}

impl Origin {
    /// This process.
    pub(super) fn here() -> Origin {
        Origin {
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("RAYQ_COMMIT"),
            command_line: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        }
    }
}

impl Report {
    /// Puts a report together; hashes the film. `elapsed` is the time since the command began.
    pub fn new(
        picture: Picture,
        settings: Settings,
        device: &DeviceInfo,
        film: &Film,
        statistics: &Statistics,
        elapsed: Duration,
    ) -> Report {
        let Statistics { counts, generate, trace, .. } = *statistics;
        Report {
            schema_version: SCHEMA_VERSION,
            origin: Origin::here(),
            picture,
            settings,
            place: Place {
                device: device.id.clone(),
                device_name: device.name.clone(),
                device_arch: device.arch.clone(),
                compute_units: device.compute_units,
                wave_size: device.wave_size,
                clock_mhz: device.clock_mhz,
                driver: device.driver.clone(),
                compiler: device.compiler.clone(),
            },
            film_hash: film.hash(),
            film: FilmFacts { scale: film.scale, resolution: film.resolution(), range: film.range() },
            rays: Rays {
                primary: counts.primary,
                bounce: counts.bounce,
                shadow: counts.shadow,
                total: counts.rays(),
            },
            mrays_per_s: mrays_per_s(counts.rays(), generate + trace),
            mrays_per_s_trace: mrays_per_s(counts.rays(), trace),
            seconds: Seconds {
                compile: statistics.compile.as_secs_f64(),
                upload: statistics.upload.as_secs_f64(),
                generate: generate.as_secs_f64(),
                trace: trace.as_secs_f64(),
                resolve: statistics.resolve.as_secs_f64(),
                total: elapsed.as_secs_f64(),
            },
            slices: statistics.slices,
            nan: counts.bad,
            clamped: counts.clamped,
        }
    }

    /// The JSON form, ending in a newline.
    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("names and numbers always have a JSON form");
        text + "\n"
    }

    /// The engine with what matters to it.
    fn engine_words(&self) -> String {
        let settings = &self.settings;
        match settings.engine {
            EngineKind::TileQueue => {
                let (queue, policy) = (word(&settings.queue), word(&settings.policy));
                let tile = settings.tile.map_or_else(String::new, |(w, h)| format!(", tiles of {w} x {h}"));
                format!("tile-queue, {queue} queues, {policy} policy{tile}")
            }
            EngineKind::Compaction => format!("compaction by {}", word(&settings.compact)),
            EngineKind::Megakernel => "megakernel".into(),
        }
    }
}

/// Millions of rays a second; nothing where no time passed.
pub fn mrays_per_s(rays: u64, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| rays as f64 / time.as_secs_f64() / 1e6)
}

/// The name under which the command line knows a value.
pub fn word(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Report { picture, place, rays, seconds, .. } = self;
        if let Some(output) = &picture.output {
            let (width, height, spp) = (picture.width, picture.height, picture.spp);
            writeln!(f, "picture  {output}: {width} x {height} pixels, {spp} samples each")?;
        }
        writeln!(f, "device   {}: {}, {}", place.device, place.device_name, place.device_arch)?;
        writeln!(f, "engine   {}", self.engine_words())?;
        let Rays { primary, bounce, shadow, total } = rays;
        writeln!(f, "rays     {total} = {primary} primary + {bounce} bounce + {shadow} shadow")?;
        let Seconds { compile, upload, generate, trace, resolve, total } = seconds;
        writeln!(
            f,
            "seconds  {total:.3}, of which compile {compile:.3}, upload {upload:.3}, generate {generate:.3}, \
             trace {trace:.3}, resolve {resolve:.3}"
        )?;
        let rate = |rate: Option<f64>| rate.map_or_else(|| "no".into(), |rate| format!("{rate:.1}"));
        let (with, without) = (rate(self.mrays_per_s), rate(self.mrays_per_s_trace));
        writeln!(f, "speed    {with} MRays/s with ray generation, {without} without")?;
        writeln!(
            f,
            "doubtful {} contributions were no number, {} beyond the film's range",
            self.nan, self.clamped
        )?;
        writeln!(f, "film     {}", self.film_hash)
    }
}
