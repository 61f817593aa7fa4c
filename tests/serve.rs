//! `rayq serve` as its viewers meet it, the friendly ones and the others.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/serving.rs"]
mod serving;

use exr::prelude::{ReadChannels, ReadLayers};
use serving::{PATIENCE, Serving};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const CORNELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/cornell.toml");
const SMALL: [&str; 7] = [CORNELL, "--width", "96", "--height", "54", "--spp", "6"];
/// Never finished.
const LONG: [&str; 7] = [CORNELL, "--width", "320", "--height", "180", "--spp", "1000000"];

fn finished(seen: &serving::Seen) -> bool {
    seen.status["finished"] == true
}

#[test]
fn the_page_needs_nothing_else() {
    let serving = Serving::start(&SMALL);
    let page = serving.fetch("/");
    assert_eq!(page.status, 200);
    let text = String::from_utf8(page.body).expect("UTF-8");
    for foreign in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!text.contains(foreign), "{foreign}");
    }
    assert!(page.head.contains("content-security-policy: default-src 'none'"), "{}", page.head);
    for header in
        ["cache-control: no-store", "referrer-policy: no-referrer", "x-content-type-options: nosniff"]
    {
        assert!(page.head.contains(header), "{header} is not in {}", page.head);
    }
    assert_ne!(text, String::from_utf8_lossy(&serving.fetch("/").body), "another nonce each time");
}

#[test]
fn strangers_are_refused() {
    let serving = Serving::start(&SMALL);
    let (host, query) = (serving.host(), serving.query());
    let other = Serving::start(&SMALL);
    assert_ne!(query, other.query(), "every server has a token of its own");
    for path in ["/", "/live", "/picture.png", "/picture.exr", "/scene", "/nothing"] {
        for wrong in ["", "?token=", "?token=0", &format!("?{}", other.query()), &format!("?{query}0")] {
            let answer = serving.get(&format!("{path}{wrong}"), &[("Host", host)]);
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(answer.status == 403 && text.contains("token"), "{path}{wrong}: {text}");
        }
        let target = format!("{path}?{query}");
        let port = serving.address().port();
        let evil = [format!("evil.example:{port}"), format!("127.0.0.1.evil.example:{port}")];
        for name in &evil {
            assert_eq!(serving.get(&target, &[("Host", name)]).status, 403, "{name}");
        }
        for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"] {
            let answer = serving.get(&target, &[("Host", host), ("Origin", origin)]);
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            assert!(answer.status == 403 && text.contains("Origin"), "{path} from {origin}: {text}");
        }
    }
    assert_eq!(serving.fetch("/nothing").status, 404);
    // Through a tunnel the port is another one.
    assert_eq!(serving.get(&format!("/?{query}"), &[("Host", "localhost:8000")]).status, 200);
}

#[test]
fn a_websocket_of_another_site_is_refused() {
    let serving = Serving::start(&SMALL);
    let target = format!("/live?{}", serving.query());
    let upgrade = |origin: &str| {
        let mut stream = TcpStream::connect(serving.address()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        write!(
            stream,
            "GET {target} HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            serving.host()
        )
        .expect("it listens");
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer");
        String::from_utf8_lossy(&head).into_owned()
    };
    assert_eq!(upgrade(&format!("http://{}", serving.host())), "HTTP/1.1 101");
    assert_eq!(upgrade("http://evil.example"), "HTTP/1.1 403");
}

/// Whoever just stands in the door, of the many who can connect without a token, keeps nobody out.
#[test]
fn those_who_ask_for_nothing_have_to_go() {
    let serving = Serving::start(&SMALL);
    let connect = || {
        let stream = TcpStream::connect(serving.address()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream
    };
    let gone = |mut stream: TcpStream| {
        let start = Instant::now();
        let mut rest = vec![];
        stream.read_to_end(&mut rest).ok();
        (start.elapsed(), String::from_utf8_lossy(&rest).into_owned())
    };
    let mut viewer = serving.viewer();
    viewer.until(finished);
    let first = connect();
    let mut slow = connect();
    write!(slow, "GET /?{} HTTP/1.1\r\nHost: loc", serving.query()).expect("it listens");
    let crowd: Vec<TcpStream> = (0..400).map(|_| connect()).collect();
    let (took, _) = gone(first);
    assert!(took < Duration::from_secs(4), "the oldest goes at once, not after {took:?}");
    assert_eq!(serving.fetch("/").status, 200, "who asks is served");
    viewer.say(r#"{"do": {"orbit": {"right": 0.3, "up": 0.1}}}"#);
    viewer.until(|seen| finished(seen) && seen.status["commands"] == 1);
    drop(crowd);
    // A head that never ends, and one that grows without end.
    let mut dripping = connect();
    write!(dripping, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ").expect("it listens");
    let (took, _) = gone(dripping);
    assert!(took < Duration::from_secs(20), "{took:?}");
    let mut large = connect();
    let mut sent = write!(large, "GET / HTTP/1.1\r\nHost: localhost\r\n");
    for i in 0..2000 {
        sent = sent.and_then(|()| write!(large, "X-{i}: {}\r\n", "y".repeat(100)));
    }
    let (_, answer) = gone(large);
    assert!(sent.is_err() || answer.starts_with("HTTP/1.1 431") || answer.is_empty(), "{answer}");
    assert_eq!(serving.fetch("/").status, 200);
}

/// Frames that no WebSocket has end that connection, and no other.
#[test]
fn broken_frames_end_their_connection_alone() {
    let serving = Serving::start(&SMALL);
    let mut viewer = serving.viewer();
    viewer.until(finished);
    let frames: [&[u8]; 7] = [
        &[0x81, 0x02, b'"', b'"'], // not masked
        &[0x83, 0x80, 0, 0, 0, 0], // a reserved kind
        &[0xf1, 0x80, 0, 0, 0, 0], // reserved bits
        &[0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0], // 2^63 bytes
        &[0x81, 0xfe, 0xff, 0xff, 0, 0, 0, 0], // more than a command has
        &[0x09, 0x80, 0, 0, 0, 0], // a ping in parts
        &[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe], // no UTF-8
    ];
    for frame in frames {
        let mut stream = TcpStream::connect(serving.address()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let (host, query) = (serving.host(), serving.query());
        write!(
            stream,
            "GET /live?{query} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .expect("it listens");
        stream.write_all(frame).expect("it listens");
        let mut rest = vec![];
        // The end of the connection, or a reset because there was more that nobody read.
        let end = stream.read_to_end(&mut rest);
        let timed_out = end.as_ref().is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock);
        assert!(rest.starts_with(b"HTTP/1.1 101") && !timed_out, "{frame:x?}: {end:?}");
    }
    viewer.say(r#"{"do": {"orbit": {"right": 0.3, "up": 0.1}}}"#);
    viewer.until(|seen| finished(seen) && seen.status["commands"] == 1);
}

#[test]
fn paths_lead_nowhere_else() {
    let serving = Serving::start(&SMALL);
    let query = serving.query();
    for path in
        ["/../Cargo.toml", "/..%2f..%2fetc/passwd", "//etc/passwd", "/scene/../../x", "/picture.png/", "/%00"]
    {
        let answer = serving.get(&format!("{path}?{query}"), &[("Host", serving.host())]);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
    }
}

#[test]
fn pictures_are_the_renderers() {
    let serving = Serving::start(&SMALL);
    let mut viewer = serving.viewer();
    let seen = viewer.until(finished);
    let scene = common::resized("scenes/cornell.toml", 96, 54, 6);
    let film = common::render(&common::cpu(2), &scene, &Default::default());
    let decode = |png: &[u8]| image::load_from_memory(png).expect("a PNG").into_rgb8();
    let wanted = decode(&film.to_png8().expect("small"));
    assert!(decode(&seen.png) == wanted, "the live picture");
    let answer = serving.fetch("/picture.png");
    assert!(answer.head.contains("content-type: image/png"), "{}", answer.head);
    assert!(answer.head.contains("attachment; filename=\"cornell.png\""), "{}", answer.head);
    assert!(decode(&answer.body) == wanted, "the download");
    let answer = serving.fetch("/picture.exr");
    assert!(answer.head.contains("attachment; filename=\"cornell.exr\""), "{}", answer.head);
    let read = exr::prelude::read().no_deep_data().largest_resolution_level().all_channels();
    let read = read.first_valid_layer().all_attributes().from_buffered(std::io::Cursor::new(answer.body));
    assert_eq!(read.expect("an EXR").layer_data.size, (96, 54).into());
    let scene = serving.fetch("/scene");
    assert!(scene.head.contains("cornell-view.toml"), "{}", scene.head);
    assert!(String::from_utf8_lossy(&scene.body).contains("camera"));
}

#[test]
fn many_watch_and_one_drives() {
    let serving = Serving::start(&SMALL);
    let (mut first, mut second) = (serving.viewer(), serving.viewer());
    let before = first.until(finished);
    while second.role["viewers"] != 2 {
        second.role = second.next_role();
    }
    assert_eq!(second.role["driving"], false);
    second.say(r#"{"do": "reset"}"#);
    first.say(r#"{"do": {"orbit": {"right": 0.3, "up": 0.1}}}"#);
    let moved = first.until(|seen| finished(seen) && seen.status["commands"] != 0);
    assert_eq!(moved.status["commands"], 1, "the second's order was not heard");
    assert_ne!(moved.png, before.png);
    second.until(|seen| finished(seen) && seen.png == moved.png);

    second.say("\"drive\"");
    while second.next_role()["driving"] != true {}
    second.say(r#"{"do": {"queue": "sfq"}}"#);
    second.until(|seen| seen.status["queue"] == "sfq" && finished(seen) && seen.png == moved.png);
    second.say(r#"{"do": "reset"}"#);
    second.until(|seen| finished(seen) && seen.png == before.png);

    drop(second.socket);
    while first.next_role()["viewers"] != 1 {}
    first.say(r#"{"do": {"next": "engine"}}"#);
    first.until(|seen| seen.status["engine"] == "compaction" && finished(seen) && seen.png == before.png);
}

#[test]
fn nonsense_closes_that_viewers_connection_only() {
    let serving = Serving::start(&SMALL);
    let mut good = serving.viewer();
    good.until(finished);
    let long = format!("\"{}\"", "x".repeat(100_000));
    for nonsense in ["", "{", "null", r#"{"do": "explode"}"#, r#"{"do": {"zoom": "x"}}"#, &long] {
        let mut bad = serving.viewer();
        bad.say(nonsense);
        let end = Instant::now() + PATIENCE;
        while bad.socket.read().is_ok() {
            assert!(Instant::now() < end, "{nonsense:.20}: still connected");
        }
    }
    good.say(r#"{"do": {"zoom": 0.9}}"#);
    good.until(|seen| seen.status["commands"] == 1 && finished(seen));
}

/// Fifty viewers of whom one never reads and one never says that it has shown anything: the others see as many
/// frames as before, and the server's memory stays.
#[test]
fn slow_viewers_hold_up_nobody() {
    let serving = Serving::start(&LONG);
    let mut driver = serving.viewer();
    driver.until(|seen| seen.status["samples"] != 0);
    let stuck = serving.viewer();
    let mute = serving.viewer();
    let crowd: Vec<_> = (0..47).map(|_| serving.viewer()).collect();
    let watching: Vec<_> = crowd
        .into_iter()
        .map(|mut viewer| {
            std::thread::spawn(move || {
                for _ in 0..5 {
                    viewer.frame();
                }
                viewer
            })
        })
        .collect();
    let crowd: Vec<_> = watching.into_iter().map(|thread| thread.join().expect("five frames")).collect();
    let before = serving.memory();
    let start = Instant::now();
    let samples = driver.frame().status["samples"].as_u64().expect("a number");
    for step in 1..=30 {
        driver.say(r#"{"do": {"orbit": {"right": 0.01, "up": 0.0}}}"#);
        driver.until(|seen| seen.status["commands"] == step);
    }
    assert!(start.elapsed() < Duration::from_secs(30), "thirty movements took {:?}", start.elapsed());
    let after = driver.until(|seen| seen.status["coarse"] == false);
    assert!(samples > 0 && after.status["samples"] != 0, "it goes on rendering");
    let grown = serving.memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
    drop((stuck, mute, crowd));
}

/// What a viewer feels: from sending a command to having the frame that shows it.
#[test]
fn the_answer_comes_soon() {
    let serving = Serving::start(&LONG);
    let mut driver = serving.viewer();
    driver.until(|seen| seen.status["samples"] != 0);
    let mut times = vec![];
    for step in 1..=20 {
        let start = Instant::now();
        driver.say(r#"{"do": {"orbit": {"right": 0.01, "up": 0.0}}}"#);
        driver.until(|seen| seen.status["commands"] == step);
        times.push(start.elapsed());
    }
    times.sort();
    println!("from command to frame: median {:?}, most {:?}", times[10], times[19]);
    assert!(times[10] < Duration::from_secs(1), "half of the answers took longer than {:?}", times[10]);
}

#[test]
fn a_signal_ends_it_soon_whoever_looks() {
    let mut serving = Serving::start(&LONG);
    let mut viewer = serving.viewer();
    viewer.frame();
    let stuck = TcpStream::connect(serving.address()).expect("it listens");
    let id = serving.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("there is kill").success());
    let start = Instant::now();
    let status = serving.child.wait().expect("ours");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(status.code(), Some(130));
    drop(stuck);
}

/// Runs `rayq serve` for a while; what it says.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rayq"));
    command.args(["serve", "--device", "cpu"]).args(arguments).stdin(Stdio::null());
    let done = command.output().expect("rayq starts");
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn what_cannot_be_served_is_said_in_a_line() {
    let serving = Serving::start(&SMALL);
    let (code, said) = refused(&[CORNELL, "--listen", serving.host()]);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains(serving.host()) && said.contains("--listen 127.0.0.1:0"), "{said}");
    let (code, said) = refused(&["none.toml", "--listen", "127.0.0.1:0"]);
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    assert!(said.contains("none.toml"), "{said}");
}

#[test]
fn other_addresses_are_allowed_and_named() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rayq"))
        .args(["serve", "--device", "cpu", "--listen", "0.0.0.0:0"])
        .args(SMALL)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rayq starts");
    let mut url = [0; 17];
    child.stdout.take().expect("piped").read_exact(&mut url).expect("an address");
    child.kill().expect("ours");
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
    child.wait().expect("ours");
    assert_eq!(&url, b"http://127.0.0.1:");
    assert!(said.contains("0.0.0.0:") && said.contains("watch and steer"), "{said}");
}
