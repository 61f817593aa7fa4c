//! A browser to drive: chromedriver's HTTP interface (W3C WebDriver), as much of it as the tests of pages use.
#![allow(dead_code)] // Each test file uses a part of this.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A headless Chromium with one tab.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts chromedriver and a browser of the given window size.
    pub fn start(width: u32, height: u32) -> Browser {
        let profile = tempfile::tempdir().expect("there is room for temporary files");
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts (on Debian: apt install chromium chromium-driver)");
        let mut lines = BufReader::new(driver.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let said = lines
            .find_map(|l| Some(l.split_once("successfully on port ")?.1.trim_end_matches('.').to_owned()));
        let port = said.expect("chromedriver says its port").parse().expect("a port");
        // Read on, or chromedriver stops when the pipe is full.
        std::thread::spawn(move || lines.for_each(drop));
        let mut browser = Browser { driver, port, session: String::new(), _profile: profile };
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            &format!("--user-data-dir={}", browser._profile.path().display()),
            &format!("--window-size={width},{height}"),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}});
        let made = browser.call("POST", "/session", &wanted);
        browser.session = made["sessionId"].as_str().expect("a session").to_owned();
        browser
    }

    /// One command of the protocol, at `path`; its value.
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("chromedriver listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )
        .expect("chromedriver listens");
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("an answer");
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).expect("the whole answer");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let value = answer["value"].clone();
        assert!(value.get("error").is_none(), "{method} {path}: {value}");
        value
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("/session/{}/{path}", self.session), body)
    }

    /// Opens an address.
    pub fn open(&self, url: &str) {
        self.post("url", &json!({ "url": url }));
    }

    /// Runs the body of a function in the page; what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.post("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs the script until it returns something true.
    pub fn wait(&self, script: &str) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let value = self.run(script);
            if !matches!(value, Value::Null | Value::Bool(false)) && value != json!("") {
                return value;
            }
            assert!(
                Instant::now() < end,
                "never came true: {script}\n{}",
                self.run("return document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What the console has said since the last call.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.post("se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().expect("a list");
        entries.iter().map(|entry| entry["message"].as_str().unwrap_or("?").to_owned()).collect()
    }

    /// A command of the DevTools protocol, for what WebDriver cannot do.
    pub fn devtools(&self, command: &str, parameters: &Value) {
        self.post("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    /// Presses and lets go of keys, one after the other.
    pub fn keys(&self, keys: &str) {
        let actions: Vec<_> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
            })
            .collect();
        self.post(
            "actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] }),
        );
    }

    /// Drags with the left button from one point of the window to another.
    pub fn drag(&self, from: (i32, i32), to: (i32, i32)) {
        let go =
            |(x, y): (i32, i32), ms: u32| json!({ "type": "pointerMove", "x": x, "y": y, "duration": ms });
        let button = |kind: &str| json!({ "type": kind, "button": 0 });
        let actions = [go(from, 0), button("pointerDown"), go(to, 100), button("pointerUp")];
        let pointer = json!({ "type": "pointer", "id": "mouse", "actions": actions });
        self.post("actions", &json!({ "actions": [pointer] }));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Not `call`: a failing test shall not fail twice.
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let path = format!("/session/{}", self.session);
            let ask = format!("DELETE {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
            if stream.write_all(ask.as_bytes()).is_ok() {
                stream.set_read_timeout(Some(Duration::from_secs(10))).ok();
                stream.read_exact(&mut [0]).ok();
            }
        }
        self.driver.kill().ok();
        self.driver.wait().ok();
    }
}
