//! `rayq serve` as a process, and plain clients for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tungstenite::WebSocket;

/// Far longer than anything here takes.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A server, until it is dropped.
pub struct Serving {
    pub child: Child,
    pub url: String,
}

/// The answer to a request.
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Serving {
    /// Starts `rayq serve` on the CPU at a free port, with more arguments.
    pub fn start(arguments: &[&str]) -> Serving {
        Serving::start_at("127.0.0.1:0", arguments)
    }

    pub fn start_at(listen: &str, arguments: &[&str]) -> Serving {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rayq"))
            .args(["serve", "--device", "cpu", "--workers", "2", "--listen", listen])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("rayq starts");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut url).expect("a line");
        assert!(url.starts_with("http://"), "an address, not {url:?}");
        Serving { child, url: url.trim().to_owned() }
    }

    /// `ADDRESS:PORT`.
    pub fn host(&self) -> &str {
        self.url.trim_start_matches("http://").split('/').next().expect("a host")
    }

    pub fn address(&self) -> SocketAddr {
        self.host().parse().expect("an address")
    }

    /// `token=...`
    pub fn query(&self) -> &str {
        self.url.split_once('?').expect("a token").1
    }

    /// GETs a path with its query, with these headers in place of a good Host.
    pub fn get(&self, target: &str, headers: &[(&str, &str)]) -> Answer {
        let mut stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        write!(stream, "GET {target} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").expect("it listens");
        let mut answer = vec![];
        stream.read_to_end(&mut answer).expect("an answer");
        let split = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&answer[..split]).to_lowercase();
        let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
        Answer { status, head, body: answer[split + 4..].to_vec() }
    }

    /// GETs a path with the token.
    pub fn fetch(&self, path: &str) -> Answer {
        self.get(&format!("{path}?{}", self.query()), &[("Host", self.host())])
    }

    /// A viewer of the live picture.
    pub fn viewer(&self) -> Viewer {
        let stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let url = format!("ws://{}/live?{}", self.host(), self.query());
        let (socket, _) = tungstenite::client(url, stream).expect("admitted");
        Viewer { socket, role: serde_json::Value::Null }
    }

    /// Bytes of memory that the server has.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("Linux");
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).expect("a size");
        1024 * line.split_whitespace().nth(1).expect("a number").parse::<u64>().expect("a number")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A viewer that looks at frames as they come.
pub struct Viewer {
    pub socket: WebSocket<TcpStream>,
    /// What it was told last of its role.
    pub role: serde_json::Value,
}

/// A frame as it travels.
pub struct Seen {
    pub status: serde_json::Value,
    pub png: Vec<u8>,
}

impl Viewer {
    /// The next frame; tells the server that it was shown.
    pub fn frame(&mut self) -> Seen {
        loop {
            match self.socket.read().expect("a message") {
                tungstenite::Message::Text(text) => {
                    self.role = serde_json::from_str(&text).expect("JSON");
                }
                tungstenite::Message::Binary(bytes) => {
                    self.say("\"shown\"");
                    let (length, rest) = bytes.split_at(4);
                    let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
                    let status = serde_json::from_slice(&rest[..length]).expect("JSON");
                    return Seen { status, png: rest[length..].to_vec() };
                }
                _ => {}
            }
        }
    }

    /// Looks until a frame is as wanted.
    pub fn until(&mut self, wanted: impl Fn(&Seen) -> bool) -> Seen {
        let end = Instant::now() + PATIENCE;
        loop {
            let seen = self.frame();
            if wanted(&seen) {
                return seen;
            }
            assert!(Instant::now() < end, "no such frame; the last one: {}", seen.status);
        }
    }

    pub fn say(&mut self, text: &str) {
        self.socket.send(tungstenite::Message::Text(text.into())).expect("connected");
    }

    /// Waits for the next word on roles.
    pub fn next_role(&mut self) -> serde_json::Value {
        loop {
            match self.socket.read().expect("a message") {
                tungstenite::Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
                tungstenite::Message::Binary(_) => self.say("\"shown\""),
                _ => {}
            }
        }
    }
}
