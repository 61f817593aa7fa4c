//! Frames as they travel: packed once on a thread of their own, then the same bytes for every viewer.

use crate::session::{Frame, Session};
use axum::body::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How often the packer looks whether anybody is looking, or everything is over.
const LOOK: Duration = Duration::from_millis(50);

/// The latest frame as a message: the length of the status (four bytes, low first), the status as JSON, and the
/// picture as a PNG file. Empty before the first frame.
pub type Latest = watch::Receiver<Bytes>;

/// Packs the frames of `session` for whoever subscribes to the result, until nobody can any more.
pub fn start(session: Arc<Session>) -> std::io::Result<Arc<watch::Sender<Bytes>>> {
    let sender = Arc::new(watch::Sender::new(Bytes::new()));
    let weak = Arc::downgrade(&sender);
    std::thread::Builder::new().name("pack".into()).spawn(move || {
        let mut packer = Packer::default();
        let mut number = 0;
        while let Some(sender) = weak.upgrade() {
            if sender.receiver_count() == 0 {
                // Nobody looks: no work. The next one to come gets the frame that is then the latest.
                drop(sender);
                std::thread::sleep(LOOK);
            } else if let Some(frame) = session.newer_than(number, LOOK) {
                number = frame.number;
                if let Some(message) = packer.pack(&frame) {
                    sender.send_replace(message);
                }
            } else if session.is_over() {
                return;
            }
        }
    })?;
    Ok(sender)
}

/// Frames that differ in words only share their picture's bytes.
#[derive(Default)]
struct Packer {
    pixels: Arc<Vec<u8>>,
    png: Vec<u8>,
}

impl Packer {
    fn pack(&mut self, frame: &Frame) -> Option<Bytes> {
        if !Arc::ptr_eq(&self.pixels, &frame.pixels) {
            self.png = frame.png().ok()?;
            self.pixels = Arc::clone(&frame.pixels);
        }
        let status = serde_json::to_vec(&frame.status).ok()?;
        let length = u32::try_from(status.len()).ok()?;
        Some([&length.to_le_bytes()[..], &status, &self.png].concat().into())
    }
}
