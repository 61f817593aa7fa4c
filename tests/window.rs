//! The preview window on a display without a screen: the right pixels, keys, mouse, sizes, ends.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/display.rs"]
mod display;

use common::{cpu, render, resized};
use display::Display;
use image::RgbImage;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const CORNELL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/cornell.toml");
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
const SMALL: [&str; 7] = [CORNELL, "--width", "320", "--height", "180", "--spp", "2"];
const LONG: [&str; 3] = [CORNELL, "--spp", "1000000"];
/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(60);
const ESCAPE: u32 = 0xff1b;
const LEFT: u32 = 0xff51;

/// `rayq preview` on a display, or on none.
fn preview(display: Option<&str>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rayq"));
    command.args(["preview", "--device", "cpu", "--workers", "2"]).env_remove("WAYLAND_DISPLAY");
    match display {
        Some(name) => command.env("DISPLAY", name),
        None => command.env_remove("DISPLAY"),
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A window that is killed if a test fails before it has ended.
struct Opened(Option<Child>);

impl Opened {
    fn start(command: &mut Command) -> Opened {
        Opened(Some(command.spawn().expect("rayq starts")))
    }

    fn id(&self) -> String {
        self.0.as_ref().expect("running").id().to_string()
    }

    /// Waits for its end.
    fn end(mut self, within: Duration) -> Output {
        let mut child = self.0.take().expect("running");
        let end = Instant::now() + within;
        while child.try_wait().expect("ours").is_none() {
            if Instant::now() >= end {
                child.kill().expect("ours");
                panic!("still open after {within:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.wait_with_output().expect("ours")
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What the renderer makes of Cornell at the small size.
fn cornell() -> RgbImage {
    let film = render(&cpu(2), &resized("scenes/cornell.toml", 320, 180, 2), &Default::default());
    image::load_from_memory(&film.to_png8().expect("small")).expect("a PNG").into_rgb8()
}

fn same(seen: &RgbImage, wanted: &RgbImage) -> bool {
    seen == wanted
}

#[test]
fn the_window_shows_the_renderers_picture_and_obeys() {
    let display = Display::start(800, 600);
    let opened = Opened::start(preview(Some(&display.name)).args(SMALL).arg("--bare"));
    let window = display.window("cornell.toml");
    let home = cornell();
    display.until(window, "the picture", |seen| same(seen, &home));

    // Keys go to the window under the pointer.
    display.point(window, (200, 100));
    for key in ['g', 'g', 'k', 'g', 'k', 'p'] {
        display.tap(key.into());
        std::thread::sleep(Duration::from_millis(150));
        display.until(window, "the same picture from other engines and queues", |seen| same(seen, &home));
    }
    display.tap('h'.into());
    display.until(window, "the keys", |seen| !same(seen, &home));
    display.tap('h'.into());
    display.until(window, "the picture", |seen| same(seen, &home));
    display.tap('v'.into());
    let rays = display.until(window, "false colours", |seen| !same(seen, &home));
    display.tap('v'.into());
    display.until(window, "queues", |seen| !same(seen, &home) && !same(seen, &rays));
    display.tap('v'.into());
    display.until(window, "the picture", |seen| same(seen, &home));
    display.tap('='.into());
    display.until(window, "a brighter picture", |seen| !same(seen, &home));
    display.tap('-'.into());
    display.until(window, "the picture", |seen| same(seen, &home));
    display.tap(LEFT);
    display.until(window, "a movement", |seen| !same(seen, &home));
    display.tap('r'.into());
    display.until(window, "the picture", |seen| same(seen, &home));
    display.drag(window, (100, 100), (160, 110));
    display.until(window, "a drag", |seen| !same(seen, &home));
    display.tap('r'.into());
    display.until(window, "the picture", |seen| same(seen, &home));
    display.tap('o'.into());
    display.until(window, "the figures", |seen| !same(seen, &home));
    display.tap(ESCAPE);
    let done = opened.end(Duration::from_secs(5));
    assert!(done.status.success() && errors(&done).is_empty(), "{}", errors(&done));
}

/// The largest part of the window that has the picture's proportions shows it; the rest is black.
#[test]
fn any_size_will_do() {
    let display = Display::start(1600, 1000);
    let opened = Opened::start(preview(Some(&display.name)).args(SMALL).arg("--bare"));
    let window = display.window("cornell.toml");
    let picture = cornell();
    display.until(window, "the picture", |seen| same(seen, &picture));
    for (width, height) in [(1, 1), (1600, 20), (1, 700), (3, 2), (777, 777), (640, 360), (320, 180)] {
        display.resize(window, width, height);
        let (w, h) = (width.min(height * 320 / 180).max(1), height.min(width * 180 / 320).max(1));
        let (left, top) = ((width - w) / 2, (height - h) / 2);
        display.until(window, &format!("{width} x {height}"), |seen| {
            seen.dimensions() == (width, height)
                && seen.enumerate_pixels().all(|(x, y, pixel)| {
                    let inside = (left..left + w).contains(&x) && (top..top + h).contains(&y);
                    let (px, py) = (x.saturating_sub(left) * 320 / w, y.saturating_sub(top) * 180 / h);
                    *pixel == if inside { *picture.get_pixel(px, py) } else { image::Rgb([0; 3]) }
                })
        });
    }
    display.hide(window, true);
    std::thread::sleep(Duration::from_millis(300));
    display.hide(window, false);
    display.until(window, "the picture again", |seen| same(seen, &picture));
    display.close(window);
    let done = opened.end(Duration::from_secs(5));
    assert!(done.status.success() && errors(&done).is_empty(), "{}", errors(&done));
}

#[test]
fn signals_and_closing_end_it_soon_though_it_is_busy() {
    let display = Display::start(1400, 800);
    let opened = Opened::start(preview(Some(&display.name)).args(LONG));
    let window = display.window("cornell.toml");
    display.until(window, "something", |seen| seen.pixels().any(|p| p.0 != [0; 3]));
    assert!(Command::new("kill").args(["-INT", &opened.id()]).status().expect("there is kill").success());
    let done = opened.end(Duration::from_secs(2));
    assert_eq!(done.status.code(), Some(130), "{}", errors(&done));

    let opened = Opened::start(preview(Some(&display.name)).args(LONG));
    let window = display.window("cornell.toml");
    display.until(window, "something", |seen| seen.pixels().any(|p| p.0 != [0; 3]));
    display.close(window);
    let done = opened.end(Duration::from_secs(2));
    assert!(done.status.success(), "{}", errors(&done));
}

#[test]
fn a_scene_that_is_saved_shows_at_once() {
    let display = Display::start(800, 600);
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let scene = folder.path().join("cornell.toml");
    let text = std::fs::read_to_string(CORNELL).expect("there");
    std::fs::write(&scene, &text).expect("writable");
    let mut command = preview(Some(&display.name));
    let opened =
        Opened::start(command.arg(&scene).args(&SMALL[1..]).arg("--bare").current_dir(folder.path()));
    let window = display.window("cornell.toml");
    let home = cornell();
    display.until(window, "the picture", |seen| same(seen, &home));
    std::fs::write(&scene, "nonsense").expect("writable");
    let told = display.until(window, "a message over the picture", |seen| !same(seen, &home));
    assert!(
        (0..100).all(|y| told.get_pixel(300, y) == home.get_pixel(300, y)),
        "the last good picture stays"
    );
    std::fs::write(&scene, &text).expect("writable");
    display.until(window, "the picture", |seen| same(seen, &home));

    display.point(window, (200, 100));
    display.tap('x'.into());
    display.tap('l'.into());
    display.tap('c'.into());
    let light = folder.path().join("output/cornell.exr");
    let (picture, copy) = (folder.path().join("output/cornell.png"), folder.path().join("cornell-view.toml"));
    let end = Instant::now() + PATIENCE;
    while !(picture.exists() && light.exists() && copy.exists()) {
        assert!(Instant::now() < end, "nothing was saved");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(same(&image::open(&picture).expect("a whole picture").into_rgb8(), &home));
    let light = exr::prelude::read_first_flat_layer_from_file(&light).expect("a whole EXR");
    assert_eq!(light.layer_data.size, (320, 180).into());
    rayq::scene::Scene::load(&copy).expect("a scene");
    drop(opened);
}

/// Case E46.
#[test]
fn without_a_display_one_line_says_what_else_there_is() {
    let scene = format!("{CASES}/E46/scene.json");
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let picture = folder.path().join("out.png");
    for display in [None, Some(":4242"), Some("nonsense")] {
        let opened = Opened::start(preview(display).arg(&scene).arg("-o").arg(&picture));
        let done = opened.end(Duration::from_secs(20));
        let said = errors(&done);
        assert_eq!((done.status.code(), said.lines().count()), (Some(3), 1), "{said}");
        for word in ["DISPLAY", "rayq serve", "rayq render", display.unwrap_or("WAYLAND_DISPLAY")] {
            assert!(said.contains(word), "{word} is not in {said}");
        }
    }
    let mut render = Command::new(env!("CARGO_BIN_EXE_rayq"));
    render.args(["render", "--device", "cpu", "--quiet", &scene, "-o"]).arg(&picture);
    assert!(
        render.env_remove("DISPLAY").status().expect("rayq starts").success(),
        "rendering needs no display"
    );
    assert!(picture.exists());
}

/// Case E48.
#[test]
fn it_finishes_without_any_event() {
    let display = Display::start(800, 600);
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let (scene, picture) = (format!("{CASES}/E48/scene.json"), folder.path().join("out.png"));
    let mut command = preview(Some(&display.name));
    let opened = Opened::start(command.arg(&scene).arg("-o").arg(&picture).args(["--frames", "1000000"]));
    let done = opened.end(Duration::from_secs(30));
    assert!(done.status.success() && errors(&done).is_empty(), "{}", errors(&done));
    let seen = image::open(&picture).expect("a picture").into_rgb8();
    let scene = rayq::scene::Scene::load(Path::new(&scene)).expect("a scene");
    let film = render(&cpu(2), &scene, &Default::default());
    assert!(same(
        &seen,
        &image::load_from_memory(&film.to_png8().expect("small")).expect("a PNG").into_rgb8()
    ));
}

#[test]
fn so_many_frames_are_enough() {
    let display = Display::start(1400, 800);
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let picture = folder.path().join("out.png");
    let mut command = preview(Some(&display.name));
    let opened = Opened::start(command.args(LONG).arg("-o").arg(&picture).args(["--frames", "3"]));
    let done = opened.end(PATIENCE);
    assert!(done.status.success() && errors(&done).is_empty(), "{}", errors(&done));
    assert_eq!(image::open(&picture).expect("a picture").into_rgb8().dimensions(), (1280, 720));
}

/// Case E50.
#[test]
fn small_pictures_with_large_pixels() {
    let display = Display::start(2100, 1100);
    for (name, (width, height)) in [("tiny", (64, 32)), ("one", (1, 1)), ("odd", (333, 77))] {
        let scene = format!("{CASES}/E50/{name}.json");
        for scale in [1, 2, 4, 8, 16, 32] {
            let mut command = preview(Some(&display.name));
            let opened = Opened::start(command.args([&scene, "--bare", "--scale", &scale.to_string()]));
            let window = display.window(name);
            // The window may lie partly beyond the screen.
            let (seen_width, seen_height) = (width * scale, height * scale);
            if seen_width <= 2100 && seen_height <= 1100 {
                display.resize(window, seen_width, seen_height);
                display.until(window, &format!("{name} x {scale}"), |seen| {
                    seen.dimensions() == (seen_width, seen_height)
                        && seen.pixels().all(|p| p.0 == [137, 188, 225])
                });
            }
            display.close(window);
            let done = opened.end(Duration::from_secs(10));
            assert!(done.status.success() && errors(&done).is_empty(), "{name} x {scale}: {}", errors(&done));
        }
    }
}

#[test]
fn scales_that_cannot_be() {
    for (scene, scale, words) in [
        (format!("{CASES}/E50/tiny.json"), "3", "1, 2, 4, 8, 16, 32"),
        (format!("{CASES}/E50/tiny.json"), "0", "1, 2, 4, 8, 16, 32"),
        (CORNELL.to_owned(), "32", "up to 12"),
    ] {
        let done = Opened::start(preview(Some(":4242")).args([&scene, "--scale", scale])).end(PATIENCE);
        assert_eq!(done.status.code(), Some(2), "{}", errors(&done));
        assert!(errors(&done).contains(words), "{}", errors(&done));
    }
}
