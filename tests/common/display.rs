//! A display without a screen, and hands and eyes for it.

use image::RgbImage;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT,
};
use x11rb::protocol::xproto::{
    ButtonIndex, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _, EventMask, ImageFormat, Window,
};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// An X server of its own (Xvfb), and a connection to it.
pub struct Display {
    server: Child,
    pub name: String,
    connection: RustConnection,
    root: Window,
}

impl Display {
    /// Starts one with a screen of this size.
    pub fn start(width: u32, height: u32) -> Display {
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", &format!("{width}x{height}x24")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb starts (on Debian: apt install xvfb)");
        let mut number = String::new();
        let mut output = BufReader::new(server.stdout.take().expect("piped"));
        output.read_line(&mut number).expect("Xvfb says its number");
        let name = format!(":{}", number.trim());
        let (connection, screen) = x11rb::connect(Some(&name)).expect("Xvfb answers");
        let root = connection.setup().roots[screen].root;
        Display { server, name, connection, root }
    }

    /// Waits for a window whose title has these words.
    pub fn window(&self, words: &str) -> Window {
        let end = Instant::now() + PATIENCE;
        loop {
            let tree = self.connection.query_tree(self.root).expect("asked").reply().expect("answered");
            let titled = |window: &&Window| {
                let name = x11rb::protocol::xproto::AtomEnum::WM_NAME;
                let asked = self.connection.get_property(false, **window, name, 0u8, 0, 64).expect("asked");
                asked.reply().is_ok_and(|title| String::from_utf8_lossy(&title.value).contains(words))
            };
            if let Some(window) = tree.children.iter().find(titled) {
                return *window;
            }
            assert!(Instant::now() < end, "no window called {words}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the window shows now; nothing while it is changing its size or place.
    fn screenshot(&self, window: Window) -> Option<RgbImage> {
        let area = self.connection.get_geometry(window).expect("asked").reply().expect("answered");
        let (width, height) = (area.width, area.height);
        let asked = self.connection.get_image(ImageFormat::Z_PIXMAP, window, 0, 0, width, height, !0);
        let image = asked.expect("asked").reply().ok()?;
        let pixels = image.data.chunks(4).flat_map(|p| [p[2], p[1], p[0]]).collect();
        RgbImage::from_raw(width.into(), height.into(), pixels)
    }

    /// Looks until the window is as wanted.
    pub fn until(&self, window: Window, what: &str, wanted: impl Fn(&RgbImage) -> bool) -> RgbImage {
        let end = Instant::now() + PATIENCE;
        loop {
            let seen = self.screenshot(window);
            if let Some(seen) = seen.as_ref().filter(|seen| wanted(seen)) {
                return seen.clone();
            }
            if Instant::now() >= end {
                let kept = std::env::temp_dir().join("rayq-window.png");
                let kept = seen.and_then(|seen| seen.save(&kept).ok()).map(|()| kept);
                panic!("never saw {what}; what there was: {kept:?}");
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    fn input(&self, kind: u8, detail: u8, (x, y): (i16, i16)) {
        let sent = self.connection.xtest_fake_input(kind, detail, 0, self.root, x, y, 0);
        sent.expect("sent").check().expect("obeyed");
    }

    /// Moves the pointer to a place of the window, which then has the keys.
    pub fn point(&self, window: Window, (x, y): (i16, i16)) {
        let area = self.connection.get_geometry(window).expect("asked").reply().expect("answered");
        self.input(MOTION_NOTIFY_EVENT, 0, (area.x + x, area.y + y));
    }

    /// Presses and lets go of the key with this keysym (ASCII for letters).
    pub fn tap(&self, keysym: u32) {
        let setup = self.connection.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let asked = self.connection.get_keyboard_mapping(first, last - first + 1).expect("asked");
        let mapping = asked.reply().expect("answered");
        let mut keys = mapping.keysyms.chunks(mapping.keysyms_per_keycode.into());
        let at = keys.position(|symbols| symbols.contains(&keysym)).expect("the keyboard has it");
        let code = first + at as u8;
        self.input(KEY_PRESS_EVENT, code, (0, 0));
        self.input(KEY_RELEASE_EVENT, code, (0, 0));
    }

    /// Drags with the left button.
    pub fn drag(&self, window: Window, from: (i16, i16), to: (i16, i16)) {
        let left = u8::from(ButtonIndex::M1);
        self.point(window, from);
        std::thread::sleep(Duration::from_millis(100));
        self.input(BUTTON_PRESS_EVENT, left, (0, 0));
        for step in 1..=10 {
            let between = |a: i16, b: i16| a + (b - a) * step / 10;
            self.point(window, (between(from.0, to.0), between(from.1, to.1)));
            std::thread::sleep(Duration::from_millis(30));
        }
        self.input(BUTTON_RELEASE_EVENT, left, (0, 0));
    }

    /// Gives the window another size, and moves it to the screen's corner.
    pub fn resize(&self, window: Window, width: u32, height: u32) {
        let wanted = ConfigureWindowAux::new().x(0).y(0).width(width).height(height);
        self.connection.configure_window(window, &wanted).expect("sent").check().expect("obeyed");
    }

    /// Hides the window, or shows it again.
    pub fn hide(&self, window: Window, hidden: bool) {
        let sent =
            if hidden { self.connection.unmap_window(window) } else { self.connection.map_window(window) };
        sent.expect("sent").check().expect("obeyed");
    }

    /// Asks the window to close, as a window manager does.
    pub fn close(&self, window: Window) {
        let atom = |name: &[u8]| {
            self.connection.intern_atom(false, name).expect("asked").reply().expect("answered").atom
        };
        let data = [atom(b"WM_DELETE_WINDOW"), 0, 0, 0, 0];
        let event = ClientMessageEvent::new(32, window, atom(b"WM_PROTOCOLS"), data);
        let sent = self.connection.send_event(false, window, EventMask::NO_EVENT, event);
        sent.expect("sent").check().expect("obeyed");
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}
