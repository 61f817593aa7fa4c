//! Engines against each other on the same picture, in one run.
//!
//! Contenders take turns, round after round, so that a device that grows warm or busy does so for all; what they are
//! compared by is the ratio within each round. Every figure's last film is compared with the megakernel's, by a digest
//! that is found on the device.

use super::Spread;
use crate::device::Device;
use crate::engine::{Compact, Counts, Effort, EngineKind, EngineMemory, Policy, Render, Settings};
use crate::error::{Error, Result};
use crate::queue::QueueKind;
use crate::scene::Scene;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How to measure.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Interleaved rounds, after a warm-up that does not count.
    pub rounds: u32,
    /// Pictures in a row for each figure; `None`: up to ten, as many as 20 ms have room for.
    pub frames: Option<u32>,
    /// Whether to count in a pass of its own, with instrumented kernels, what rays cost.
    pub effort: bool,
}

/// Asked all the while: an error ends the measurement.
pub type Stop<'a> = &'a dyn Fn() -> Result<()>;

/// What a figure lasts at least where the number of pictures is free, and the most pictures then.
const FIGURE: Duration = Duration::from_millis(20);
const MOST_FRAMES: u32 = 10;

/// One engine's figures on one picture.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Short name of the settings.
    pub name: String,
    /// The settings in full.
    pub settings: Settings,
    /// Hash of the film, the same for every row of a picture.
    pub film_hash: String,
    /// Rays of one picture.
    pub rays: Counts,
    /// Rounds that are in the figures.
    pub rounds: usize,
    /// Pictures in a row for each figure.
    pub frames: u32,
    /// Milliseconds of device time a picture, ray generation included.
    pub ms: Spread,
    /// Milliseconds of that for ray generation.
    pub ms_generate: Spread,
    /// Milliseconds a picture by the host's clock, from the first launch to the last answer.
    pub ms_wall: Spread,
    /// Millions of rays a second, ray generation included.
    pub mrays_per_s: Spread,
    /// The same without ray generation.
    pub mrays_per_s_trace: Spread,
    /// Speed over that of the compaction engine's best form, within each round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_compaction: Option<Spread>,
    /// Speed over the megakernel's, within each round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_megakernel: Option<Spread>,
    /// For slices: speed over that of the same engine without, by the host's clock, within each round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_unsliced: Option<Spread>,
    /// Device memory beside scene and film.
    pub memory: EngineMemory,
    /// Whether it traced from pools of paths, where it had the choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pools: Option<bool>,
    /// What the instrumented build counted for one picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// A contender without figures, and why.
#[derive(Clone, Debug, Serialize)]
pub struct Refused {
    /// Short name of the settings.
    pub name: String,
    /// One line.
    pub why: String,
}

/// What came of a picture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Rows {
    /// Contenders with figures, in their order.
    pub rows: Vec<Row>,
    /// Those without.
    pub refused: Vec<Refused>,
}

/// Short name of what a row measures.
pub fn name(settings: &Settings) -> String {
    let engine = match settings.engine {
        EngineKind::Megakernel => "megakernel".into(),
        EngineKind::Compaction if settings.compact == Compact::Append => "compaction append".into(),
        EngineKind::Compaction => "compaction scan".into(),
        EngineKind::TileQueue => {
            format!("tile-queue {:?} {}", settings.policy, settings.queue).to_lowercase()
        }
    };
    match settings.slice {
        Some(slice) => format!("{engine}, {} ms", slice.as_millis()),
        None => engine,
    }
}

/// Which engines take part.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Engines.
    pub engines: Vec<EngineKind>,
    /// Forms of the compaction engine.
    pub compacts: Vec<Compact>,
    /// Policies of the tile-queue engine.
    pub policies: Vec<Policy>,
    /// Its queues.
    pub queues: Vec<QueueKind>,
}

impl Choice {
    /// Every engine in every form, the tile-queue engine under both policies with each of `queues`.
    pub fn every(queues: &[QueueKind]) -> Choice {
        Choice {
            engines: vec![EngineKind::Megakernel, EngineKind::Compaction, EngineKind::TileQueue],
            compacts: vec![Compact::Append, Compact::Scan],
            policies: vec![Policy::Paper, Policy::Adaptive],
            queues: queues.to_vec(),
        }
    }

    /// All of them, with `base` for what they have in common; the baselines first.
    pub fn contenders(&self, base: &Settings) -> Vec<Settings> {
        let mut all = vec![];
        for engine in [EngineKind::Megakernel, EngineKind::Compaction, EngineKind::TileQueue] {
            let settings = Settings { engine, ..base.clone() };
            match engine {
                _ if !self.engines.contains(&engine) => {}
                EngineKind::Megakernel => all.push(settings),
                EngineKind::Compaction => {
                    all.extend(self.compacts.iter().map(|&compact| Settings { compact, ..settings.clone() }));
                }
                EngineKind::TileQueue => {
                    for &policy in &self.policies {
                        let with = |&queue| Settings { policy, queue, ..settings.clone() };
                        all.extend(self.queues.iter().map(with));
                    }
                }
            }
        }
        all
    }
}

/// Times of one figure: means over its pictures, in milliseconds.
#[derive(Clone, Copy)]
struct Sample {
    ms: f64,
    ms_generate: f64,
    ms_wall: f64,
}

/// An engine that is being measured.
struct Contender {
    settings: Settings,
    render: Render,
    frames: u32,
    samples: Vec<Sample>,
    effort: Option<Effort>,
}

impl Contender {
    fn new(device: &Arc<dyn Device>, scene: &Scene, settings: &Settings) -> Result<Contender> {
        let render = Render::new(device.clone(), scene, settings)?;
        Ok(Contender { settings: settings.clone(), render, frames: 1, samples: vec![], effort: None })
    }

    /// One figure's worth of pictures.
    fn measure(&mut self, stop: Stop) -> Result<Sample> {
        let (mut trace, mut generate, mut wall) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for _ in 0..self.frames {
            self.render.restart()?;
            let start = Instant::now();
            while !self.render.advance()?.finished {
                stop()?;
            }
            wall += start.elapsed();
            trace += self.render.statistics().trace;
            generate += self.render.statistics().generate;
        }
        let ms = |time: Duration| time.as_secs_f64() * 1e3 / f64::from(self.frames);
        Ok(Sample { ms: ms(trace + generate), ms_generate: ms(generate), ms_wall: ms(wall) })
    }

    /// Warms up, and finds how many pictures make a figure.
    fn warm_up(&mut self, plan: Plan, stop: Stop) -> Result<()> {
        let first = self.measure(stop)?;
        let fit = FIGURE.as_secs_f64() * 1e3 / first.ms.max(1e-6);
        self.frames = plan.frames.unwrap_or((fit as u32).clamp(1, MOST_FRAMES));
        self.measure(stop)?;
        while !self.render.is_settled() {
            self.measure(stop)?;
        }
        Ok(())
    }

    /// Film and rays have to be the reference's.
    fn check(&self, wanted: &Reference) -> Result<()> {
        let counts = self.render.statistics().counts;
        if counts != wanted.rays {
            return Err(Error::Device(format!("counts {counts:?} and should count {:?}", wanted.rays)));
        }
        let digest = self.render.digest()?;
        if digest != wanted.digest {
            return Err(Error::Device(format!(
                "the film's digest is {digest:016x} and should be {:016x}; no figure is worth printing",
                wanted.digest
            )));
        }
        Ok(())
    }

    fn row(&self, film_hash: &str) -> Row {
        let counts = self.render.statistics().counts;
        let figures =
            |f: &dyn Fn(&Sample) -> f64| Spread::of(&self.samples.iter().map(f).collect::<Vec<_>>());
        let rate = |ms: f64| counts.rays() as f64 / ms.max(1e-9) / 1e3;
        Row {
            name: name(&self.settings),
            settings: self.settings.clone(),
            film_hash: film_hash.to_owned(),
            rays: counts,
            rounds: self.samples.len(),
            frames: self.frames,
            ms: figures(&|s| s.ms),
            ms_generate: figures(&|s| s.ms_generate),
            ms_wall: figures(&|s| s.ms_wall),
            mrays_per_s: figures(&|s| rate(s.ms)),
            mrays_per_s_trace: figures(&|s| rate(s.ms - s.ms_generate)),
            over_compaction: None,
            over_megakernel: None,
            over_unsliced: None,
            memory: self.render.memory(),
            pools: self.render.pools(),
            effort: self.effort,
        }
    }

    /// Speed over another's, within each round that both have.
    fn over(&self, other: &Contender, time: fn(&Sample) -> f64) -> Option<Spread> {
        let ratios: Vec<_> =
            other.samples.iter().zip(&self.samples).map(|(theirs, ours)| time(theirs) / time(ours)).collect();
        (!ratios.is_empty()).then(|| Spread::of(&ratios))
    }

    fn median_ms(&self) -> f64 {
        Spread::of(&self.samples.iter().map(|s| s.ms).collect::<Vec<_>>()).median
    }
}

/// The megakernel's film and rays, by which all others are judged.
#[derive(Clone)]
struct Reference {
    hash: String,
    digest: u64,
    rays: Counts,
}

impl Reference {
    fn new(device: &Arc<dyn Device>, scene: &Scene, stop: Stop) -> Result<Reference> {
        let settings = Settings { engine: EngineKind::Megakernel, ..Settings::default() };
        let mut render = Render::new(device.clone(), scene, &settings)?;
        while !render.advance()?.finished {
            stop()?;
        }
        let (hash, digest) = (render.film()?.hash(), render.digest()?);
        Ok(Reference { hash, digest, rays: render.statistics().counts })
    }
}

/// Counts what a picture costs, with instrumented kernels. Their film must be the same, too.
fn count_effort(
    device: &Arc<dyn Device>,
    scene: &Scene,
    settings: &Settings,
    wanted: &Reference,
    stop: Stop,
) -> Result<Effort> {
    let counted = Settings { counted: true, slice: None, ..settings.clone() };
    let mut counting = Contender::new(device, scene, &counted)?;
    counting.measure(stop)?;
    counting.check(wanted)?;
    counting.render.effort()
}

/// Contenders still in the race, those that left it, and the film that they must make.
struct Race<'a> {
    running: Vec<Contender>,
    refused: Vec<Refused>,
    reference: Reference,
    stop: Stop<'a>,
    tell: &'a mut dyn FnMut(&str),
}

impl Race<'_> {
    /// Everyone's turn at something; who fails is out.
    ///
    /// # Errors
    /// That of `stop` alone.
    fn turn(
        &mut self,
        what: &str,
        mut act: impl FnMut(&mut Contender, &Reference) -> Result<()>,
    ) -> Result<()> {
        let mut at = 0;
        while at < self.running.len() {
            (self.stop)()?;
            let contender = &mut self.running[at];
            (self.tell)(&format!("{what}: {}", name(&contender.settings)));
            match act(contender, &self.reference) {
                Ok(()) => at += 1,
                Err(error) => {
                    (self.stop)()?;
                    let name = name(&self.running.remove(at).settings);
                    self.refused.push(Refused { name, why: error.to_string() });
                }
            }
        }
        Ok(())
    }

    /// The rows of all that have figures, compared with each other.
    fn rows(mut self) -> Rows {
        self.running.retain(|c| !c.samples.is_empty());
        let unsliced = |c: &&Contender| c.settings.slice.is_none();
        let of = |kind| self.running.iter().filter(unsliced).filter(move |c| c.settings.engine == kind);
        let compaction = of(EngineKind::Compaction).min_by(|a, b| a.median_ms().total_cmp(&b.median_ms()));
        let megakernel = of(EngineKind::Megakernel).next();
        let rows = self.running.iter().map(|contender| {
            let whole = Settings { slice: None, ..contender.settings.clone() };
            let sibling = self.running.iter().filter(unsliced).find(|c| name(&c.settings) == name(&whole));
            let sibling = sibling.filter(|_| contender.settings.slice.is_some());
            Row {
                over_compaction: compaction.and_then(|c| contender.over(c, |s| s.ms)),
                over_megakernel: megakernel.and_then(|c| contender.over(c, |s| s.ms)),
                over_unsliced: sibling.and_then(|c| contender.over(c, |s| s.ms_wall)),
                ..contender.row(&self.reference.hash)
            }
        });
        Rows { rows: rows.collect(), refused: self.refused }
    }
}

/// Measures every one of `contenders` on `scene`: a warm-up, then rounds in which each has its turn. A contender
/// whose film differs, or whose memory does not suffice, is reported without figures. When `stop` ends it early, the
/// rounds so far make the rows, and the error comes back beside them.
pub fn measure(
    device: &Arc<dyn Device>,
    scene: &Scene,
    contenders: &[Settings],
    plan: Plan,
    stop: Stop,
    mut tell: impl FnMut(&str),
) -> (Rows, Result<()>) {
    tell("the reference: megakernel");
    let reference = match Reference::new(device, scene, stop) {
        Ok(reference) => reference,
        Err(error) => return (Rows::default(), Err(error)),
    };
    let mut race = Race { running: vec![], refused: vec![], reference, stop, tell: &mut tell };
    for settings in contenders {
        (race.tell)(&format!("getting ready: {}", name(settings)));
        match Contender::new(device, scene, settings) {
            Ok(contender) => race.running.push(contender),
            Err(error) => race.refused.push(Refused { name: name(settings), why: error.to_string() }),
        }
    }
    let end = run(device, scene, plan, &mut race);
    (race.rows(), end)
}

fn run(device: &Arc<dyn Device>, scene: &Scene, plan: Plan, race: &mut Race) -> Result<()> {
    let stop = race.stop;
    race.turn("warm-up", |contender, wanted| {
        contender.warm_up(plan, stop)?;
        contender.check(wanted)
    })?;
    for round in 1..=plan.rounds {
        race.turn(&format!("round {round} of {}", plan.rounds), |contender, wanted| {
            let sample = contender.measure(stop)?;
            contender.check(wanted)?;
            contender.samples.push(sample);
            Ok(())
        })?;
    }
    if !plan.effort {
        return Ok(());
    }
    race.turn("counting", |contender, wanted| {
        if contender.settings.slice.is_none() {
            // As it was measured, without a trial.
            let pools = contender.render.pools().or(contender.settings.pools);
            let settings = Settings { pools, ..contender.settings.clone() };
            contender.effort = Some(count_effort(device, scene, &settings, wanted, stop)?);
        }
        Ok(())
    })
}
