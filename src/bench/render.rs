//! Engines against each other on the same scene, in one run.

use super::Spread;
use crate::device::Device;
use crate::engine::{Compact, Counts, EngineKind, Policy, Render, Settings};
use crate::error::{Error, Result};
use crate::queue::QueueKind;
use crate::scene::Scene;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// How to measure.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Interleaved rounds, after a warm-up round that does not count.
    pub rounds: u32,
    /// Pictures in a row for each figure.
    pub frames: u32,
}

/// One engine's figures on one scene.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Short name of the settings.
    pub name: String,
    /// The settings in full.
    pub settings: Settings,
    /// Hash of the film, the same for every row of a scene.
    pub film_hash: String,
    /// Rays of one picture.
    pub rays: Counts,
    /// Milliseconds of device time a picture, ray generation included.
    pub ms: Spread,
    /// Milliseconds of that for ray generation.
    pub ms_generate: Spread,
    /// Millions of rays a second, ray generation included.
    pub mrays_per_s: Spread,
    /// The same without ray generation.
    pub mrays_per_s_trace: Spread,
}

/// Short name of what a row measures.
pub fn name(settings: &Settings) -> String {
    match settings.engine {
        EngineKind::Megakernel => "megakernel".into(),
        EngineKind::Compaction if settings.compact == Compact::Append => "compaction append".into(),
        EngineKind::Compaction => "compaction scan".into(),
        EngineKind::TileQueue => {
            format!("tile-queue {:?} {}", settings.policy, settings.queue).to_lowercase()
        }
    }
}

/// Every engine in every form, the tile-queue engine under each policy with each of `queues`.
pub fn every_engine(base: &Settings, queues: &[QueueKind]) -> Vec<Settings> {
    let with = |engine, compact| Settings { engine, compact, ..base.clone() };
    let tiles = [Policy::Paper, Policy::Adaptive].into_iter().flat_map(|policy| {
        let tile = Settings { policy, ..with(EngineKind::TileQueue, Compact::Append) };
        queues.iter().map(move |&queue| Settings { queue, ..tile.clone() })
    });
    [
        with(EngineKind::Megakernel, Compact::Append),
        with(EngineKind::Compaction, Compact::Append),
        with(EngineKind::Compaction, Compact::Scan),
    ]
    .into_iter()
    .chain(tiles)
    .collect()
}

/// Times of one figure: the mean over its pictures.
struct Sample {
    ms: f64,
    ms_generate: f64,
}

/// An engine that is being measured.
struct Contender {
    settings: Settings,
    render: Render,
    film_hash: String,
    samples: Vec<Sample>,
}

impl Contender {
    /// One figure's worth of pictures.
    fn measure(&mut self, frames: u32) -> Result<Sample> {
        let (mut trace, mut generate) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..frames {
            self.render.restart()?;
            while !self.render.advance()?.finished {}
            trace += self.render.statistics().trace;
            generate += self.render.statistics().generate;
        }
        let ms = |time: Duration| time.as_secs_f64() * 1e3 / f64::from(frames);
        Ok(Sample { ms: ms(trace + generate), ms_generate: ms(generate) })
    }

    /// Reads the film and compares it.
    fn check(&mut self, wanted: Option<&str>) -> Result<()> {
        self.film_hash = self.render.film()?.hash();
        match wanted {
            Some(wanted) if wanted != self.film_hash => Err(Error::Device(format!(
                "{}: the film is {} and should be {wanted}; no figure is worth printing",
                name(&self.settings),
                self.film_hash
            ))),
            _ => Ok(()),
        }
    }

    fn row(&self) -> Row {
        let counts = self.render.statistics().counts;
        let figures =
            |f: &dyn Fn(&Sample) -> f64| Spread::of(&self.samples.iter().map(f).collect::<Vec<_>>());
        let rate = |ms: f64| counts.rays() as f64 / ms / 1e3;
        Row {
            name: name(&self.settings),
            settings: self.settings.clone(),
            film_hash: self.film_hash.clone(),
            rays: counts,
            ms: figures(&|s| s.ms),
            ms_generate: figures(&|s| s.ms_generate),
            mrays_per_s: figures(&|s| rate(s.ms)),
            mrays_per_s_trace: figures(&|s| rate(s.ms - s.ms_generate)),
        }
    }
}

/// Measures every one of `contenders` on `scene`: a warm-up, then rounds in which each has its turn. Every
/// film is compared, after the warm-up and after each round.
///
/// # Errors
/// A film that differs from the first contender's: then there are no figures at all.
pub fn measure(
    device: &Arc<dyn Device>,
    scene: &Scene,
    contenders: &[Settings],
    plan: Plan,
    mut tell: impl FnMut(&str),
) -> Result<Vec<Row>> {
    let mut all = vec![];
    for settings in contenders {
        let render = Render::new(device.clone(), scene, settings)?;
        all.push(Contender { settings: settings.clone(), render, film_hash: String::new(), samples: vec![] });
    }
    let mut wanted = None;
    for round in 0..=plan.rounds {
        for contender in &mut all {
            tell(&format!("round {round} of {}: {}", plan.rounds, name(&contender.settings)));
            let sample = contender.measure(plan.frames)?;
            contender.check(wanted.as_deref())?;
            wanted.get_or_insert_with(|| contender.film_hash.clone());
            if round > 0 {
                contender.samples.push(sample);
            }
        }
    }
    Ok(all.iter().map(Contender::row).collect())
}
