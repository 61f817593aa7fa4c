//! What a session shows: pictures with their figures, of which only the latest counts.

use super::command::View;
use super::picture;
use crate::engine::{EngineKind, Policy};
use crate::error::Result;
use crate::queue::QueueKind;
use crate::scene::Integrator;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A picture and what there is to say about it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Grows by one from frame to frame, from 1.
    pub number: u64,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Red, green, blue of each pixel, row by row from the top, sRGB. Shared by frames that differ in words only.
    pub pixels: Arc<Vec<u8>>,
    /// The figures.
    pub status: Status,
}

impl Frame {
    /// The picture as a PNG file, packed quickly rather than well.
    pub fn png(&self) -> Result<Vec<u8>> {
        picture::png(&self.pixels, (self.width, self.height))
    }
}

/// The figures beside a picture.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Status {
    /// The scene file.
    pub scene: String,
    /// The device: its id and name.
    pub device: String,
    /// Engine.
    pub engine: EngineKind,
    /// Queue of the tile-queue engine.
    pub queue: QueueKind,
    /// Policy of the tile-queue engine.
    pub policy: Policy,
    /// How light is carried.
    pub integrator: Integrator,
    /// What the picture shows.
    pub view: View,
    /// Exposure in stops.
    pub exposure: f32,
    /// Samples in the film.
    pub samples: u64,
    /// Samples of the finished film.
    pub samples_total: u64,
    /// Rays in the film's making since the view last changed.
    pub rays: u64,
    /// Millions of rays a second in the last slice, by the device's clock.
    pub mrays_per_s: f64,
    /// Milliseconds of the last slice, by the host's clock.
    pub slice_ms: f64,
    /// Milliseconds from film to picture, reading it from the device included.
    pub picture_ms: f64,
    /// Nobody wants more samples.
    pub paused: bool,
    /// The film has all its samples.
    pub finished: bool,
    /// The picture is a quick one of few pixels, until there is a better one.
    pub coarse: bool,
    /// Commands that this picture has obeyed.
    pub commands: u64,
    /// What went wrong, in one line; the picture is the last good one.
    pub message: Option<String>,
    /// How often the scene was read, from 1: with another number, `warnings` are news.
    pub loads: u64,
    /// What the scene's files ask for and do not get, one line each.
    pub warnings: Vec<String>,
}

/// Where the render thread leaves its latest frame. Nobody who looks slowly holds it up, and a frame that
/// nobody looked at is gone when the next one comes.
#[derive(Debug, Default)]
pub(super) struct Latest {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    frame: Option<Arc<Frame>>,
    closed: bool,
}

impl Latest {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn put(&self, frame: Frame) {
        self.lock().frame = Some(Arc::new(frame));
        self.changed.notify_all();
    }

    /// There will be no more frames.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub fn get(&self) -> Option<Arc<Frame>> {
        self.lock().frame.clone()
    }

    pub fn newer_than(&self, number: u64, patience: Duration) -> Option<Arc<Frame>> {
        let end = Instant::now() + patience;
        let mut state = self.lock();
        loop {
            if let Some(frame) = state.frame.as_ref().filter(|f| f.number > number) {
                return Some(Arc::clone(frame));
            }
            let left = end.saturating_duration_since(Instant::now());
            if state.closed || left.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
