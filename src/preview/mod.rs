//! A session in a window.
//!
//! The window's thread reads mouse and keys, and copies the session's latest picture. It never renders, and waits
//! for the render thread only to save the last picture.

mod canvas;
mod input;

use crate::engine::EngineKind;
use crate::error::{Error, Result};
use crate::film::{Format, Output};
use crate::session::{Command, Frame, Session};
use canvas::Canvas;
use input::{Input, KEYS, Wish};
use minifb::{ScaleMode, Window, WindowOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Pictures a second that the window shows at most.
const RATE: usize = 60;
/// The window is drawn again after so long though nothing has changed: it may have been covered or hidden.
const REFRESH: Duration = Duration::from_millis(250);
/// How long a notice stays, and one of what a scene does not get.
const NOTICE: Duration = Duration::from_secs(4);
const WARNING: Duration = Duration::from_secs(12);
/// Warnings that a window has room for.
const MOST_WARNINGS: usize = 6;
/// No window system has windows that are larger, in pixels.
const MOST_PIXELS: u32 = 16384;

/// How to show.
#[derive(Clone, Debug)]
pub struct Options {
    /// Window pixels along a picture's pixel, to begin with; letters grow with it.
    pub scale: u32,
    /// Begin without the figures.
    pub bare: bool,
    /// End after so many frames, or when the picture is finished.
    pub frames: Option<u64>,
    /// Where the picture goes.
    pub output: PathBuf,
    /// Save the picture once it is finished.
    pub save: bool,
}

/// An open window, still empty.
pub struct Preview {
    window: Window,
    options: Options,
    drawn: Instant,
}

impl Preview {
    /// Opens a window for a picture of this size.
    ///
    /// # Errors
    /// [`Error::Device`] without a display that can be reached, [`Error::Input`] for a scale that is too large.
    pub fn open(title: &str, size: (u32, u32), options: Options) -> Result<Preview> {
        let most = MOST_PIXELS / size.0.max(size.1);
        if options.scale > most.max(1) {
            return Err(Error::Input(format!(
                "--scale {} makes a window of more than {MOST_PIXELS} pixels; a picture of {} x {} can have up to {}",
                options.scale,
                size.0,
                size.1,
                most.max(1)
            )));
        }
        let length = |side: u32| side.saturating_mul(options.scale).clamp(1, MOST_PIXELS) as usize;
        let wanted =
            WindowOptions { resize: true, scale_mode: ScaleMode::UpperLeft, ..WindowOptions::default() };
        if let Some(why) = no_display() {
            return Err(no_window(&why));
        }
        let mut window = Window::new(title, length(size.0), length(size.1), wanted)
            .map_err(|e| no_window(&e.to_string()))?;
        window.set_target_fps(RATE);
        Ok(Preview { window, options, drawn: Instant::now() })
    }

    /// Shows `session` until the window is closed, Esc is pressed, `stop` says so or the wanted frames are shown.
    ///
    /// # Errors
    /// A window that fails, a picture that cannot be written at the end, a render thread that has ended.
    pub fn run(mut self, session: Arc<Session>, stop: impl Fn() -> bool) -> Result<()> {
        let format = Format::of(&self.options.output)?;
        let output = Arc::new(Output::prepare(&self.options.output)?);
        let (tell, told) = channel();
        let mut view = View::new(self.options.bare, told);
        let mut input = Input::new(&mut self.window);
        let mut saved = !self.options.save;
        let mut shown = 0;
        while self.window.is_open() && !stop() {
            shown += u64::from(view.update(&session));
            self.draw(&mut view)?;
            let (commands, wishes) = input.read(&self.window, view.frame.as_deref());
            commands.into_iter().for_each(|command: Command| session.send(command));
            for wish in wishes {
                match wish {
                    Wish::End => return Ok(()),
                    Wish::Figures => view.toggle_figures(),
                    Wish::Keys => view.toggle_keys(),
                    Wish::Picture => save_picture(&session, &output, format, &tell),
                    Wish::Light => save_light(&session, &self.options.output, &tell),
                    Wish::Scene => save_scene(&session, &tell),
                }
            }
            let finished = view.frame.as_ref().is_some_and(|f| f.status.finished);
            let enough = self.options.frames.is_some_and(|frames| shown >= frames || finished);
            if !saved && (finished || enough) {
                saved = true;
                output.write(&session.picture(format)?)?;
                view.notice(format!("saved {}", output.path().display()));
            }
            if enough {
                return Ok(());
            }
            if session.is_over() {
                return Err(Error::Device("the render thread has ended; please report this".into()));
            }
        }
        Ok(())
    }

    /// Puts the view into the window, where either has changed, and takes the window's events.
    fn draw(&mut self, view: &mut View) -> Result<()> {
        let size = self.window.get_size();
        let visible = size.0 > 0 && size.1 > 0;
        let changed = visible && view.paint(size, self.options.scale as usize);
        if !visible || !(changed || self.drawn.elapsed() >= REFRESH) {
            self.window.update();
            return Ok(());
        }
        self.drawn = Instant::now();
        let canvas = &view.canvas;
        let drawn = self.window.update_with_buffer(&canvas.pixels, canvas.width, canvas.height);
        drawn.map_err(|e| Error::Device(format!("the window failed: {e}")))
    }
}

/// What `--scale` can be.
pub const SCALES: [&str; 6] = ["1", "2", "4", "8", "16", "32"];

/// Why no display can be reached, where that is known beforehand.
fn no_display() -> Option<String> {
    let unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    let x11 = cfg!(all(unix, not(target_os = "macos")));
    let neither = x11 && unset("DISPLAY") && unset("WAYLAND_DISPLAY");
    neither.then(|| "neither DISPLAY nor WAYLAND_DISPLAY is set".into())
}

fn no_window(why: &str) -> Error {
    let set = ["DISPLAY", "WAYLAND_DISPLAY"].into_iter().filter_map(|name| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
        Some(format!("{name}=\"{}\"", value.to_string_lossy()))
    });
    let set: Vec<_> = set.collect();
    let set = if set.is_empty() { String::new() } else { format!(" with {}", set.join(" and ")) };
    let why: String = why.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Error::Device(format!(
        "cannot open a window{set}: {}; `rayq serve` shows the same in a browser, `rayq render` needs no display",
        why.trim()
    ))
}

/// What the window shows.
struct View {
    frame: Option<Arc<Frame>>,
    canvas: Canvas,
    figures: bool,
    keys: bool,
    /// A notice, and until when it stays.
    notice: Option<(String, Instant)>,
    told: Receiver<String>,
    stale: bool,
}

impl View {
    fn new(bare: bool, told: Receiver<String>) -> View {
        View {
            frame: None,
            canvas: Canvas::default(),
            figures: !bare,
            keys: false,
            notice: None,
            told,
            stale: true,
        }
    }

    /// Takes what is new. Returns whether there is another frame.
    fn update(&mut self, session: &Session) -> bool {
        if let Ok(notice) = self.told.try_recv() {
            self.notice(notice);
        }
        if self.notice.as_ref().is_some_and(|(_, until)| Instant::now() >= *until) {
            self.notice = None;
            self.stale = true;
        }
        let number = self.frame.as_ref().map_or(0, |f| f.number);
        let newer = session.latest().filter(|f| f.number > number);
        let Some(newer) = newer else { return false };
        let loads = self.frame.as_ref().map_or(0, |f| f.status.loads);
        if newer.status.loads != loads && !newer.status.warnings.is_empty() {
            self.notice_for(warnings(&newer.status.warnings), WARNING);
        }
        self.frame = Some(newer);
        self.stale = true;
        true
    }

    fn notice(&mut self, text: String) {
        self.notice_for(text, NOTICE);
    }

    fn notice_for(&mut self, text: String, time: Duration) {
        self.notice = Some((text, Instant::now() + time));
        self.stale = true;
    }

    fn toggle_figures(&mut self) {
        self.figures = !self.figures;
        self.stale = true;
    }

    fn toggle_keys(&mut self) {
        self.keys = !self.keys;
        self.stale = true;
    }

    /// Paints the canvas anew if anything has changed. Returns whether it did.
    fn paint(&mut self, (width, height): (usize, usize), scale: usize) -> bool {
        if !self.stale && (self.canvas.width, self.canvas.height) == (width, height) {
            return false;
        }
        self.stale = false;
        self.canvas.clear(width, height);
        let Some(frame) = &self.frame else { return true };
        self.canvas.picture(frame);
        // Letters of a large picture pixel would hide a small picture.
        let scale = scale.min(2);
        if self.keys {
            self.canvas.words(KEYS, scale, true);
        } else if self.figures {
            self.canvas.words(&figures(frame), scale, true);
        }
        let notice = self.notice.as_ref().map(|(text, _)| text.as_str());
        if let Some(words) = frame.status.message.as_deref().or(notice) {
            self.canvas.words(&wrapped(words, width / (8 * scale)), scale, false);
        }
        true
    }
}

/// The figures beside the picture.
fn figures(frame: &Frame) -> String {
    let s = &frame.status;
    let queue = match s.engine {
        EngineKind::TileQueue => format!(" {} {}", s.queue, name(&s.policy)),
        EngineKind::Compaction | EngineKind::Megakernel => String::new(),
    };
    let share = 100.0 * s.samples as f64 / s.samples_total as f64;
    let state = match (s.paused, s.coarse) {
        (true, _) => ", paused",
        (false, true) => ", coarse",
        (false, false) => "",
    };
    let exposure = if s.exposure == 0.0 { String::new() } else { format!("\nexposure {:+}", s.exposure) };
    format!(
        "{}\n{}{queue}, {}, {}\n{share:.1} % of the samples{state}\n\
         {:.1} MRays/s, slice {:.1} ms, picture {:.1} ms{exposure}",
        s.device,
        name(&s.engine),
        s.integrator.name(),
        name(&s.view),
        s.mrays_per_s,
        s.slice_ms,
        s.picture_ms
    )
}

/// A value as the command line spells it.
fn name(value: &impl clap::ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
}

/// The first of a scene's warnings, and where the others are.
fn warnings(all: &[String]) -> String {
    let mut lines: Vec<_> = all.iter().take(MOST_WARNINGS).map(|line| format!("warning: {line}")).collect();
    if all.len() > MOST_WARNINGS {
        lines.push(format!("and {} more; `rayq info` lists them", all.len() - MOST_WARNINGS));
    }
    lines.join("\n")
}

/// The words in lines of so many letters, at least 10.
fn wrapped(words: &str, letters: usize) -> String {
    let lines = words.lines().map(|line| line.chars().collect::<Vec<char>>());
    let short = lines.map(|line| line.chunks(letters.max(10)).map(String::from_iter).collect::<Vec<_>>());
    short.flatten().collect::<Vec<_>>().join("\n")
}

/// Saves the picture on a thread of its own; what became of it is told.
fn save_picture(session: &Arc<Session>, output: &Arc<Output>, format: Format, tell: &Sender<String>) {
    let output = Arc::clone(output);
    apart(session, tell, move |session| {
        output.write(&session.picture(format)?)?;
        Ok(output.path().display().to_string())
    });
}

/// Saves the picture's light beside the picture, likewise.
fn save_light(session: &Arc<Session>, picture: &Path, tell: &Sender<String>) {
    let path = picture.with_extension("exr");
    apart(session, tell, move |session| {
        Output::prepare(&path)?.write(&session.picture(Format::Exr)?)?;
        Ok(path.display().to_string())
    });
}

/// Writes a copy of the scene with this view, on a thread of its own.
fn save_scene(session: &Arc<Session>, tell: &Sender<String>) {
    apart(session, tell, |session| {
        let copy = Output::prepare(&session.view_file())?;
        copy.write(session.scene_text()?.as_bytes())?;
        Ok(copy.path().display().to_string())
    });
}

fn apart(
    session: &Arc<Session>,
    tell: &Sender<String>,
    save: impl FnOnce(&Session) -> Result<String> + Send + 'static,
) {
    let (session, tell) = (Arc::clone(session), tell.clone());
    let refused = tell.clone();
    let work = move || {
        let notice = match save(&session) {
            Ok(path) => format!("saved {path}"),
            Err(error) => error.to_string(),
        };
        // A window that was closed meanwhile needs no notice.
        tell.send(notice).ok();
    };
    if let Err(error) = std::thread::Builder::new().spawn(work) {
        refused.send(format!("not saved: no thread can be started: {error}")).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_and_short_ones_stay() {
        assert_eq!(wrapped("0123456789abc\nde", 3), "0123456789\nabc\nde");
    }

    #[test]
    fn many_warnings_are_cut_short() {
        let all: Vec<_> = (0..9).map(|i| format!("w{i}")).collect();
        let text = warnings(&all);
        assert!(text.starts_with("warning: w0\nwarning: w1\n") && text.contains("and 3 more"), "{text}");
        assert_eq!(warnings(&all[..1]), "warning: w0");
    }
}
