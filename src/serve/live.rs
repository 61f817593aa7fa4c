//! One viewer's WebSocket: frames out, as many as it can take; commands in, if it drives.

use super::stream::Latest;
use super::viewers::Viewer;
use crate::session::{Command, Session};
use axum::extract::ws::{Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Frames under way to a viewer that it has not shown yet. One is being shown while the next travels; more
/// would only wait in the buffers of a slow line, and be old when they arrive.
const UNDER_WAY: usize = 2;
/// A viewer that takes nothing for so long has gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// A viewer that has nothing to be shown is asked so often whether it is still there; its browser answers.
const CALL: Duration = Duration::from_secs(15);
/// A viewer that has said nothing for so long, not even that it is there, has gone: it shall not keep the wheel.
const SILENCE: Duration = Duration::from_secs(60);
/// Longest message of a viewer in bytes.
pub const MOST_BYTES: usize = 4096;

/// What a viewer says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    /// Do this; who does not drive is not heard.
    Do(Command),
    /// I want to drive.
    Drive,
    /// I have shown a frame: send another.
    Shown,
}

/// Talks to a viewer until it leaves, makes no sense or takes nothing any more.
pub async fn talk(socket: WebSocket, session: &Session, viewer: &Viewer<'_>, latest: Latest) {
    let room = Semaphore::new(UNDER_WAY);
    let (out, inward) = socket.split();
    tokio::select! {
        () = show(out, viewer, latest, &room) => {}
        () = listen(inward, session, viewer, &room) => {}
    }
}

async fn show(
    mut out: SplitSink<WebSocket, Message>,
    viewer: &Viewer<'_>,
    mut latest: Latest,
    room: &Semaphore,
) {
    let mut changes = viewer.changes();
    let mut news = Some(role(viewer));
    latest.mark_changed();
    loop {
        let message = match news.take() {
            Some(news) => Some(news),
            None => tokio::select! {
                changed = changes.changed() => changed.ok().map(|()| role(viewer)),
                frame = next_frame(&mut latest, room) => frame,
                () = tokio::time::sleep(CALL) => Some(Message::Ping(Default::default())),
            },
        };
        let Some(message) = message else { return };
        match tokio::time::timeout(PATIENCE, out.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
}

fn role(viewer: &Viewer<'_>) -> Message {
    let role = serde_json::to_string(&viewer.role()).expect("plain data");
    Message::Text(role.into())
}

/// The next frame that this viewer has room for; `None` when there will be none.
async fn next_frame(latest: &mut Latest, room: &Semaphore) -> Option<Message> {
    loop {
        let permit = room.acquire().await.ok()?;
        latest.changed().await.ok()?;
        let frame = latest.borrow_and_update().clone();
        if !frame.is_empty() {
            permit.forget();
            return Some(Message::Binary(frame));
        }
    }
}

async fn listen(
    mut inward: SplitStream<WebSocket>,
    session: &Session,
    viewer: &Viewer<'_>,
    room: &Semaphore,
) {
    while let Ok(Some(Ok(message))) = tokio::time::timeout(SILENCE, inward.next()).await {
        let Message::Text(text) = message else { continue };
        match serde_json::from_str(&text) {
            Ok(Word::Do(command)) if viewer.role().driving => session.send(command),
            Ok(Word::Do(_)) => {}
            Ok(Word::Drive) => viewer.drive(),
            Ok(Word::Shown) if room.available_permits() < UNDER_WAY => room.add_permits(1),
            Ok(Word::Shown) => {}
            // A page of ours makes sense.
            Err(_) => return,
        }
    }
}
