//! A session in a web page, for machines without a display.
//!
//! One thread runs the server, another packs frames; the render thread knows of neither. A frame is packed once
//! and shared by all viewers, and each viewer gets the latest one whenever it has shown what it had: a slow one
//! sees fewer frames, and holds up nothing and nobody.

mod door;
mod guard;
mod live;
mod stream;
mod viewers;

use crate::error::{Error, Result};
use crate::film::Format;
use crate::session::Session;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State, WebSocketUpgrade};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use guard::{Guard, Token};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use viewers::Viewers;

/// How often the server looks whether it shall stop.
const LOOK: Duration = Duration::from_millis(50);
/// The whole page: no other file, nothing from elsewhere. `NONCE` stands for a number of the response, which the
/// browser wants on every script.
const PAGE: &str = include_str!("page.html");

/// A place to listen, and the token that visitors need.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    guard: Guard,
}

/// What requests work on.
struct House {
    guard: Guard,
    session: Arc<Session>,
    frames: Arc<watch::Sender<Bytes>>,
    viewers: Viewers,
}

impl Server {
    /// Listens at `address`; port 0 takes any that is free. Visitors may also call this machine by `names`.
    ///
    /// # Errors
    /// [`Error::Input`] if nothing can listen there.
    pub fn bind(address: SocketAddr, names: Vec<String>) -> Result<Server> {
        let fail = |why: std::io::Error| {
            Error::Input(format!("cannot listen on {address}: {why}; --listen 127.0.0.1:0 takes a free port"))
        };
        let listener = TcpListener::bind(address).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let guard = Guard { token: Token::random()?, address: address.ip(), names };
        Ok(Server { listener, address, guard })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to open, token included. For every interface, the loopback one.
    pub fn url(&self) -> String {
        let mut address = self.address;
        match address.ip() {
            std::net::IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip([127, 0, 0, 1].into()),
            std::net::IpAddr::V6(ip) if ip.is_unspecified() => {
                address.set_ip(std::net::Ipv6Addr::LOCALHOST.into());
            }
            _ => {}
        }
        format!("http://{address}/?token={}", self.guard.token.text())
    }

    /// Serves `session` until `stop` says so, or the session is over.
    ///
    /// # Errors
    /// [`Error::Device`] if the operating system or the render thread fails.
    pub fn run(self, session: Arc<Session>, stop: impl Fn() -> bool) -> Result<()> {
        let fail = |why: std::io::Error| Error::Device(format!("the server cannot run: {why}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail)?;
        let frames = stream::start(Arc::clone(&session)).map_err(fail)?;
        let viewers = Viewers::default();
        let house = Arc::new(House { guard: self.guard, session: Arc::clone(&session), frames, viewers });
        let done = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = door::keep(listener, router(house)) => Ok(()),
                () = until(|| stop() || session.is_over()) => Ok(()),
            }
        });
        // Open connections are no reason to stay.
        runtime.shutdown_background();
        done.map_err(fail)?;
        match session.is_over() {
            true => Err(Error::Device("the render thread has ended; please report this".into())),
            false => Ok(()),
        }
    }
}

async fn until(stop: impl Fn() -> bool) {
    while !stop() {
        tokio::time::sleep(LOOK).await;
    }
}

fn router(house: Arc<House>) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/live", get(live))
        .route("/picture.png", get(async |house| picture(house, Format::Png, "png", "image/png").await))
        .route("/picture.exr", get(async |house| picture(house, Format::Exr, "exr", "image/x-exr").await))
        .route("/scene", get(scene))
        .layer(from_fn_with_state(Arc::clone(&house), admit))
        .with_state(house)
}

/// Lets in who may look, and tells browsers to keep what they see to themselves.
async fn admit(State(house): State<Arc<House>>, request: Request, next: Next) -> Response {
    let mut response = match house.guard.refusal(request.uri(), request.headers()) {
        Some(why) => (StatusCode::FORBIDDEN, format!("rayq: refused: {why}\n")).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// An answer for an error of ours.
fn failed(error: &Error) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, format!("rayq: {error}\n")).into_response()
}

async fn page() -> Response {
    let nonce = match Token::random() {
        Ok(nonce) => nonce,
        Err(error) => return failed(&error),
    };
    let nonce = nonce.text();
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(PAGE.replace("NONCE", nonce))).into_response()
}

async fn live(State(house): State<Arc<House>>, upgrade: WebSocketUpgrade) -> Response {
    let upgrade = upgrade.max_message_size(live::MOST_BYTES).max_frame_size(live::MOST_BYTES);
    upgrade.on_upgrade(async move |socket| {
        // Those who come too late find a closed door, and try again later.
        if let Some(viewer) = house.viewers.join() {
            live::talk(socket, &house.session, &viewer, house.frames.subscribe()).await;
        }
    })
}

/// Asks the session, which may take a slice's time, without holding up the server.
async fn ask<T: Send + 'static>(
    house: Arc<House>,
    what: impl FnOnce(&Session) -> Result<T> + Send + 'static,
) -> Result<T> {
    let asked = tokio::task::spawn_blocking(move || what(&house.session)).await;
    asked.unwrap_or_else(|e| Err(Error::Device(format!("the server failed: {e}"))))
}

fn download(name: &str, kind: &'static str, bytes: Vec<u8>) -> Response {
    // A name in quotes has neither quotes nor anything beyond ASCII.
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    let attached = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, attached)], bytes)
        .into_response()
}

async fn picture(
    State(house): State<Arc<House>>,
    format: Format,
    extension: &'static str,
    kind: &'static str,
) -> Response {
    let name = house.session.scene().with_extension(extension);
    match ask(house, move |session| session.picture(format)).await {
        Ok(picture) => download(&file_name(&name), kind, picture),
        Err(error) => failed(&error),
    }
}

async fn scene(State(house): State<Arc<House>>) -> Response {
    let name = house.session.view_file();
    match ask(house, Session::scene_text).await {
        Ok(text) => download(&file_name(&name), "text/plain; charset=utf-8", text.into_bytes()),
        Err(error) => failed(&error),
    }
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
