//! A live session: a scene, a camera, an engine and a film that refine on a thread of their own, commands in,
//! frames out. The window and the web page are thin faces over it, and tests drive it without either.
//!
//! The render thread looks at its commands between slices, so that a command waits for one slice at most, and
//! leaves each picture in one place, where only the latest counts: who looks slowly misses pictures and holds
//! nothing up.

mod command;
mod copy;
mod frame;
mod picture;
mod rig;
mod watch;
mod worker;

pub use command::{Command, Dial, View};
pub use frame::{Frame, Status};
pub use rig::Rig;

use crate::device::Device;
use crate::engine::Settings;
use crate::error::{Error, Result};
use crate::film::{Film, Format};
use crate::scene::Overrides;
use frame::Latest;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use worker::{Request, Worker};

/// Commands that may wait for the render thread. It takes all of them after each slice.
const MOST_WAITING: usize = 1024;

/// What to show, and how to begin.
#[derive(Clone, Debug)]
pub struct Options {
    /// The scene file; it is read again whenever it changes.
    pub scene: PathBuf,
    /// What is to be replaced in it.
    pub overrides: Overrides,
    /// The engine to begin with.
    pub settings: Settings,
}

/// A running session. It ends when it is dropped.
pub struct Session {
    requests: Option<SyncSender<Request>>,
    latest: Arc<Latest>,
    scene: PathBuf,
    thread: Option<JoinHandle<()>>,
}

impl Session {
    /// Reads the scene, takes the device's memory and starts.
    ///
    /// # Errors
    /// A scene, an option or a device that cannot be used.
    pub fn start(device: Arc<dyn Device>, options: Options) -> Result<Session> {
        let scene = options.scene.clone();
        let (requests, inbox) = sync_channel(MOST_WAITING);
        let latest = Arc::new(Latest::default());
        let worker = Worker::new(device, options, Arc::clone(&latest))?;
        let run = move || run(worker, &inbox);
        let thread = std::thread::Builder::new().name("render".into()).spawn(run);
        let thread = thread.map_err(|e| Error::Device(format!("cannot start the render thread: {e}")))?;
        Ok(Session { requests: Some(requests), latest, scene, thread: Some(thread) })
    }

    /// The scene file.
    pub fn scene(&self) -> &Path {
        &self.scene
    }

    /// Where a copy of the scene with another view goes: `NAME-view.toml` beside `NAME.toml`.
    pub fn view_file(&self) -> PathBuf {
        let mut name = self.scene.file_stem().unwrap_or_default().to_owned();
        name.push("-view.");
        name.push(self.scene.extension().unwrap_or_default());
        self.scene.with_file_name(name)
    }

    /// Asks for something. It shows in a later frame; what cannot be done shows as that frame's message. Never
    /// waits: a command is dropped when more than a thousand are waiting already.
    pub fn send(&self, command: Command) {
        if let Some(requests) = &self.requests {
            match requests.try_send(Request::Command(command)) {
                // An ended session shows that it has ended; see `is_over`.
                Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
            }
        }
    }

    /// The latest frame, if there is one already.
    pub fn latest(&self) -> Option<Arc<Frame>> {
        self.latest.get()
    }

    /// The latest frame if it is newer than frame `number`, waiting for it for at most `patience`.
    pub fn newer_than(&self, number: u64, patience: Duration) -> Option<Arc<Frame>> {
        self.latest.newer_than(number, patience)
    }

    /// Whether the render thread has ended: there will be no more frames.
    pub fn is_over(&self) -> bool {
        self.latest.is_closed()
    }

    /// The film as it is after every command before this one.
    pub fn film(&self) -> Result<Film> {
        self.ask(Request::Film)?
    }

    /// The film as a file. PNG and JPEG have the session's exposure; an EXR has every layer.
    pub fn picture(&self, format: Format) -> Result<Vec<u8>> {
        self.ask(|to| Request::Picture(format, to))?
    }

    /// The scene file's text with the camera where it is now.
    pub fn scene_text(&self) -> Result<String> {
        self.ask(Request::SceneText)?
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Result<T> {
        let over = || Error::Device("the session has ended".into());
        let (answer, hear) = channel();
        let requests = self.requests.as_ref().ok_or_else(over)?;
        requests.send(request(answer)).map_err(|_| over())?;
        hear.recv().map_err(|_| over())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A closed inbox ends the thread after the slice that it is in.
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// The render thread. However it ends, those who wait for frames hear of it.
fn run(mut worker: Worker, inbox: &Receiver<Request>) {
    struct Close(Arc<Latest>);
    impl Drop for Close {
        fn drop(&mut self) {
            self.0.close();
        }
    }
    let _close = Close(worker.latest());
    worker.run(inbox);
}
