//! The render thread: takes commands, adds samples, leaves pictures.

use super::command::{self, Command, Dial, View};
use super::frame::{Frame, Latest, Status};
use super::rig::Rig;
use super::watch::Watch;
use super::{Options, copy, picture};
use crate::device::Device;
use crate::engine::{EngineKind, Policy, Render, Settings};
use crate::error::Result;
use crate::file::Files;
use crate::film::{Aov, Film, Format, MOST_STOPS, Style, Tone};
use crate::queue::QueueKind;
use crate::scene::{Integrator, Scene};
use clap::ValueEnum;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

/// Time between two looks at the files.
const LOOK: Duration = Duration::from_millis(250);
/// Slices after a command are this long at first, so that the next command need not wait...
const FIRST_SLICE: Duration = Duration::from_millis(8);
/// ... and grow to this, which wastes less between slices.
const LAST_SLICE: Duration = Duration::from_millis(40);
/// A view whose first sample takes longer begins with a coarse picture.
const QUICK: Duration = Duration::from_millis(20);
/// A coarse pixel is so many pixels wide and high.
const COARSE: u32 = 4;
/// Making pictures takes about one part in so many of the time.
const SHOWING_SHARE: u32 = 4;
/// Rays a pixel that false colours can tell apart.
const MOST_RAYS: u32 = 16;

/// What the render thread is asked.
pub(super) enum Request {
    Command(Command),
    Film(Sender<Result<Film>>),
    Picture(Format, Sender<Result<Vec<u8>>>),
    SceneText(Sender<Result<String>>),
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A picture of few pixels, to see something at once.
    Coarse,
    /// Samples for the film.
    Fine,
    /// Nothing: the film is finished, or the device failed.
    Done,
}

pub(super) struct Worker {
    device: Arc<dyn Device>,
    options: Options,
    watch: Watch,
    scene: Scene,
    loads: u64,
    rig: Rig,
    view: View,
    exposure: f32,
    paused: bool,
    message: Option<String>,
    renders: Renders,
    stage: Stage,
    figures: Figures,
    latest: Arc<Latest>,
    shown: Shown,
}

/// The film in the making, and the coarse picture that stands in for it.
struct Renders {
    fine: Render,
    coarse: Render,
    coarse_film: Option<Film>,
    slice: Duration,
    /// Samples that each pixel gets first: the picture is whole before it is fine.
    aim: u32,
    /// What a view took until each pixel had a sample, where that is known.
    first_sample: Option<Duration>,
    began: Instant,
}

/// Figures of the last slice.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    samples: u64,
    rays: u64,
    mrays_per_s: f64,
    slice: Duration,
    picture: Duration,
}

/// What was shown last.
struct Shown {
    number: u64,
    commands: u64,
    pixels: Arc<Vec<u8>>,
    size: picture::Size,
    when: Instant,
    /// Samples came since, or the words have changed.
    stale: bool,
    /// It is of another view: the first picture of this one is urgent.
    old_view: bool,
}

impl Renders {
    fn new(device: &Arc<dyn Device>, scene: &Scene, settings: &Settings) -> Result<Renders> {
        let mut small = scene.clone();
        small.image.width = scene.image.width.div_ceil(COARSE);
        small.image.height = scene.image.height.div_ceil(COARSE);
        small.image.spp = 1;
        // Every engine makes the same picture; this one is the quickest to begin.
        let quickest = Settings { engine: EngineKind::Megakernel, slice: None, ..Settings::default() };
        Ok(Renders {
            fine: Render::new(device.clone(), scene, settings)?,
            coarse: Render::new(device.clone(), &small, &quickest)?,
            coarse_film: None,
            slice: FIRST_SLICE,
            aim: 1,
            first_sample: None,
            began: Instant::now(),
        })
    }
}

impl Worker {
    pub fn new(device: Arc<dyn Device>, options: Options, latest: Arc<Latest>) -> Result<Worker> {
        let files = Files::default();
        let scene = Scene::load_noting(&options.scene, &files)?.with_overrides(&options.overrides)?;
        let renders = Renders::new(&device, &scene, &options.settings)?;
        let size = (scene.image.width, scene.image.height);
        let pixels = vec![0; 3 * size.0 as usize * size.1 as usize];
        let shown = Shown {
            number: 0,
            commands: 0,
            pixels: Arc::new(pixels),
            size,
            when: Instant::now(),
            stale: true,
            old_view: true,
        };
        Ok(Worker {
            watch: Watch::new(files),
            rig: Rig::new(&scene),
            loads: 1,
            view: View::Picture,
            exposure: 0.0,
            paused: false,
            message: None,
            stage: Stage::Coarse,
            figures: Figures::default(),
            device,
            options,
            scene,
            renders,
            latest,
            shown,
        })
    }

    pub fn latest(&self) -> Arc<Latest> {
        Arc::clone(&self.latest)
    }

    /// Works until nobody can ask for anything any more.
    pub fn run(&mut self, inbox: &Receiver<Request>) {
        let mut looked = Instant::now();
        loop {
            let Ok(()) = self.take_requests(inbox) else { return };
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if self.watch.changed() {
                    self.obey(Command::Reload);
                }
            }
            if let Err(error) = self.work() {
                // A device that fails once is not asked again by itself; the next change of view tries.
                self.message = Some(error.to_string());
                self.stage = Stage::Done;
                self.put();
            }
        }
    }

    /// Whether there is nothing to do but to wait.
    fn is_idle(&self) -> bool {
        !self.shown.stale && (self.stage == Stage::Done || self.paused && self.stage == Stage::Fine)
    }

    /// Does all that was asked; waits for something if there is nothing else to do. An error when nobody can
    /// ask any more.
    fn take_requests(&mut self, inbox: &Receiver<Request>) -> std::result::Result<(), RecvTimeoutError> {
        if self.is_idle() {
            match inbox.recv_timeout(LOOK) {
                Ok(request) => self.answer(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(gone) => return Err(gone),
            }
        }
        loop {
            match inbox.try_recv() {
                Ok(request) => self.answer(request),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
            }
        }
    }

    fn answer(&mut self, request: Request) {
        // Whoever asked may have gone: then nobody misses the answer.
        match request {
            Request::Command(command) => {
                self.shown.commands += 1;
                self.shown.stale = true;
                self.obey(command);
            }
            Request::Film(to) => drop(to.send(self.renders.fine.film())),
            Request::Picture(format, to) => drop(to.send(self.picture(format))),
            Request::SceneText(to) => drop(to.send(self.scene_text())),
        }
    }

    fn picture(&mut self, format: Format) -> Result<Vec<u8>> {
        let film = self.renders.fine.film()?;
        if format == Format::Png {
            return picture::png(&picture::tone(Some(&film), None, self.size(), self.tone()), self.size());
        }
        format.check(film.width, film.height)?;
        let (aovs, hits) = match format {
            Format::Exr => (vec![Aov::All], self.renders.fine.first_hits()?),
            _ => (vec![], vec![]),
        };
        let name = self.options.scene.file_name().unwrap_or_default().to_string_lossy().into_owned();
        film.to_file(format, &Style { tone: self.tone(), aovs, ..Style::default() }, &name, &hits)
    }

    fn scene_text(&self) -> Result<String> {
        copy::with_camera(&self.options.scene, &self.rig.camera(), self.rig.distance())
    }

    // ---- commands

    fn obey(&mut self, command: Command) {
        if let Err(error) = self.try_to(command) {
            self.message = Some(error.to_string());
            self.shown.stale = true;
        }
    }

    fn try_to(&mut self, command: Command) -> Result<()> {
        let settings = self.options.settings.clone();
        match command {
            Command::Orbit { right, up } => self.rig.orbit(right, up),
            Command::Turn { right, up } => self.rig.turn(right, up),
            Command::Pan { right, up } => self.rig.pan(right, up),
            Command::Zoom(factor) => self.rig.zoom(factor),
            Command::Fly { right, up, forward } => self.rig.fly(right, up, forward),
            Command::Reset => {
                self.rig.reset();
                self.exposure = 0.0;
            }
            Command::Engine(engine) => return self.switch(Settings { engine, ..settings }),
            Command::Queue(queue) => return self.switch(Settings { queue, ..settings }),
            Command::Policy(policy) => return self.switch(Settings { policy, ..settings }),
            Command::Compact(compact) => return self.switch(Settings { compact, ..settings }),
            Command::Integrator(integrator) => return self.draw(Scene { integrator, ..self.scene.clone() }),
            Command::Next(dial) => return self.try_to(self.next(dial)),
            Command::Expose(stops) => {
                self.exposure = (self.exposure + stops).clamp(-MOST_STOPS, MOST_STOPS);
                return Ok(());
            }
            Command::View(view) => {
                self.view = view;
                return Ok(());
            }
            Command::Pause(paused) => {
                self.paused = paused;
                return Ok(());
            }
            Command::Reload => return self.reload(),
        }
        self.look();
        Ok(())
    }

    fn next(&self, dial: Dial) -> Command {
        use EngineKind::{Compaction, Megakernel, TileQueue};
        let settings = &self.options.settings;
        match dial {
            Dial::Engine => {
                Command::Engine(command::next(&[TileQueue, Compaction, Megakernel], settings.engine))
            }
            Dial::Queue => Command::Queue(command::next(&QueueKind::TILE_QUEUES, settings.queue)),
            Dial::Policy => Command::Policy(command::next(Policy::value_variants(), settings.policy)),
            Dial::Integrator => {
                let both = [Integrator::Whitted, Integrator::Path];
                Command::Integrator(command::next(&both, self.scene.integrator))
            }
            Dial::View => Command::View(command::next(View::value_variants(), self.view)),
        }
    }

    /// Another engine goes on with the film.
    fn switch(&mut self, settings: Settings) -> Result<()> {
        self.renders.fine.switch(&settings)?;
        self.options.settings = settings;
        self.message = None;
        if self.stage == Stage::Done {
            self.stage = Stage::Fine;
        }
        Ok(())
    }

    /// The camera has moved: the film begins anew with the next slice.
    fn look(&mut self) {
        self.message = None;
        self.stage = Stage::Coarse;
    }

    /// Another scene. If the device cannot take it, the old one stays.
    fn draw(&mut self, scene: Scene) -> Result<()> {
        self.renders = Renders::new(&self.device, &scene, &self.options.settings)?;
        self.scene = scene;
        self.look();
        Ok(())
    }

    /// The scene file as it is now. The view stays, unless the file has moved the camera.
    fn reload(&mut self) -> Result<()> {
        let files = Files::default();
        let loaded = Scene::load_noting(&self.options.scene, &files);
        self.watch = Watch::new(files);
        let scene = loaded?.with_overrides(&self.options.overrides)?;
        let moved = scene.camera != self.scene.camera;
        self.draw(scene)?;
        self.loads += 1;
        if moved {
            self.rig = Rig::new(&self.scene);
        }
        Ok(())
    }

    // ---- work

    /// One step towards the finished picture: a coarse one or a slice, and a new frame if it is time.
    fn work(&mut self) -> Result<()> {
        match self.stage {
            Stage::Coarse => {
                self.begin()?;
                self.stage = Stage::Fine;
            }
            Stage::Fine if !self.paused => self.slice()?,
            Stage::Fine | Stage::Done => {}
        }
        let whole = self.renders.coarse_film.is_some() || self.renders.aim > 1;
        let rested = self.shown.when.elapsed() >= self.figures.picture * (SHOWING_SHARE - 1);
        let due = whole && (rested || self.shown.old_view);
        let over = self.stage == Stage::Done || self.paused;
        if self.shown.stale && (due || over) { self.show() } else { Ok(()) }
    }

    /// Begins a view: empties the film, and draws a coarse picture unless the first sample comes soon anyway.
    fn begin(&mut self) -> Result<()> {
        let camera = self.rig.camera();
        let renders = &mut self.renders;
        renders.fine.look(&camera)?;
        renders.fine.aim(1)?;
        renders.aim = 1;
        renders.slice = FIRST_SLICE;
        renders.began = Instant::now();
        self.figures = Figures { picture: self.figures.picture, ..Figures::default() };
        self.shown.old_view = true;
        if !self.paused && renders.first_sample.is_some_and(|time| time < QUICK) {
            renders.coarse_film = None;
            return Ok(());
        }
        renders.coarse.look(&camera)?;
        while !renders.coarse.advance()?.finished {}
        renders.coarse_film = Some(renders.coarse.film()?);
        self.show()
    }

    fn slice(&mut self) -> Result<()> {
        let renders = &mut self.renders;
        let (start, before) = (Instant::now(), device_time(&renders.fine));
        renders.fine.set_slice(Some(renders.slice));
        let progress = renders.fine.advance()?;
        renders.slice = (renders.slice * 2).min(LAST_SLICE);
        let time = device_time(&renders.fine).saturating_sub(before).as_secs_f64();
        let rays = progress.rays.saturating_sub(self.figures.rays);
        self.figures = Figures {
            samples: progress.samples_done,
            rays: progress.rays,
            mrays_per_s: if time > 0.0 { rays as f64 / time / 1e6 } else { 0.0 },
            slice: start.elapsed(),
            ..self.figures
        };
        if progress.finished {
            self.pass_over()?;
        }
        self.shown.stale = true;
        Ok(())
    }

    /// Every pixel has the samples that were aimed at: twice as many come next.
    fn pass_over(&mut self) -> Result<()> {
        let (renders, spp) = (&mut self.renders, self.scene.image.spp);
        if renders.aim == 1 {
            renders.first_sample = Some(renders.began.elapsed());
        }
        if renders.aim == spp {
            self.stage = Stage::Done;
        } else {
            renders.aim = (renders.aim * 2).min(spp);
            renders.fine.aim(renders.aim)?;
        }
        Ok(())
    }

    // ---- pictures

    fn size(&self) -> picture::Size {
        (self.scene.image.width, self.scene.image.height)
    }

    fn tone(&self) -> Tone {
        Tone { exposure: self.exposure, ..Tone::default() }
    }

    /// Makes the picture of what there is, and leaves it for who looks.
    fn show(&mut self) -> Result<()> {
        let start = Instant::now();
        self.shown.pixels = Arc::new(self.pixels()?);
        self.shown.size = self.size();
        self.figures.picture = start.elapsed();
        self.put();
        Ok(())
    }

    fn pixels(&mut self) -> Result<Vec<u8>> {
        let size = self.size();
        if self.view == View::Rays {
            return Ok(picture::heat(&self.renders.fine.rays_per_pixel()?, MOST_RAYS, size));
        }
        let fine = if self.figures.samples > 0 { Some(self.renders.fine.film()?) } else { None };
        let picture = picture::tone(fine.as_ref(), self.renders.coarse_film.as_ref(), size, self.tone());
        match (self.view, self.renders.fine.occupancy()?) {
            (View::Queues, Some(queues)) => Ok(picture::occupancy(&picture, &queues, size)),
            _ => Ok(picture),
        }
    }

    /// Leaves a frame with the last picture and the current words.
    fn put(&mut self) {
        self.shown.number += 1;
        self.shown.when = Instant::now();
        self.shown.stale = false;
        self.shown.old_view = false;
        let (width, height) = self.shown.size;
        let frame = Frame {
            number: self.shown.number,
            width,
            height,
            pixels: Arc::clone(&self.shown.pixels),
            status: self.status(),
        };
        self.latest.put(frame);
    }

    fn status(&self) -> Status {
        let (info, settings, image) = (self.device.info(), &self.options.settings, &self.scene.image);
        let figures = &self.figures;
        let samples_total = u64::from(image.spp) * u64::from(image.width) * u64::from(image.height);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        Status {
            scene: self.options.scene.display().to_string(),
            device: format!("{} ({})", info.id, info.name),
            engine: settings.engine,
            queue: settings.queue,
            policy: settings.policy,
            integrator: self.scene.integrator,
            view: self.view,
            exposure: self.exposure,
            samples: figures.samples,
            samples_total,
            rays: figures.rays,
            mrays_per_s: figures.mrays_per_s,
            slice_ms: ms(figures.slice),
            picture_ms: ms(figures.picture),
            paused: self.paused,
            finished: figures.samples == samples_total,
            coarse: figures.samples == 0,
            commands: self.shown.commands,
            message: self.message.clone().or_else(|| self.hint()),
            loads: self.loads,
            warnings: self.scene.warnings.clone(),
        }
    }

    /// Why the picture is not what was asked for, though nothing went wrong.
    fn hint(&self) -> Option<String> {
        let none = self.view == View::Queues && self.options.settings.engine != EngineKind::TileQueue;
        none.then(|| "only the tile-queue engine has queues to show".into())
    }
}

fn device_time(render: &Render) -> Duration {
    let statistics = render.statistics();
    statistics.generate + statistics.trace
}
