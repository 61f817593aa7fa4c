//! The door: connections come in, and none of them can keep others out.
//!
//! Everybody on the machine can connect, token or not. So a connection has a few seconds to ask for something, and
//! of too many the oldest has to go: whoever comes now and asks at once is served, however many just stand there.
//! A viewer's WebSocket is counted by [`super::viewers`] and no more here.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

/// Connections that are no viewers, at a time. With the viewers they stay below the 1024 files that a process
/// usually may have.
const MOST: usize = 256;
/// A request's head must be there after so long, the first one and the next.
const PATIENCE: Duration = Duration::from_secs(5);
/// A request's head in bytes, at most.
const MOST_BYTES: usize = 16 << 10;
/// When the system has no room for another connection, it is asked again after so long.
const REST: Duration = Duration::from_millis(50);

/// Lets in whoever comes, for ever.
pub async fn keep(listener: TcpListener, router: Router) {
    let mut inside: VecDeque<AbortHandle> = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(REST).await;
            continue;
        };
        inside.retain(|talk| !talk.is_finished());
        if inside.len() >= MOST
            && let Some(oldest) = inside.pop_front()
        {
            oldest.abort();
        }
        // Frames and commands are short and shall not wait for more.
        stream.set_nodelay(true).ok();
        let talk = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .max_buf_size(MOST_BYTES)
            .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()))
            .with_upgrades();
        // What goes wrong in one connection is its own business.
        inside.push_back(tokio::spawn(async move { talk.await.ok() }).abort_handle());
    }
}
