//! The live session without any window: every command, films that do not care who traced them, scene files that
//! change while one looks.

mod common;

use common::{cpu, engine, file, render, resized};
use exr::prelude::{FlatSamples, ReadChannels, ReadLayers};
use rayq::engine::{Compact, EngineKind, Policy};
use rayq::film::{Film, Format};
use rayq::queue::QueueKind;
use rayq::scene::{Integrator, Overrides, Scene};
use rayq::session::{Command, Dial, Frame, Options, Rig, Session, View};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
const SIZE: (u32, u32, u32) = (96, 54, 6);

/// A session on a copy of a scene, in a folder of its own.
struct Live {
    session: Session,
    path: PathBuf,
    sent: u64,
    _folder: tempfile::TempDir,
}

impl Live {
    fn start(scene: &str, (width, height, spp): (u32, u32, u32)) -> Live {
        let text = fs::read_to_string(file(scene)).expect("there");
        let name = Path::new(scene).file_name().expect("a file").to_str().expect("plain letters");
        Live::of(&[(name, text.as_bytes())], (width, height, spp))
    }

    /// Of files written here, the scene first.
    fn of(files: &[(&str, &[u8])], (width, height, spp): (u32, u32, u32)) -> Live {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        for (name, content) in files {
            fs::write(folder.path().join(name), content).expect("writable");
        }
        let path = folder.path().join(files[0].0);
        let overrides =
            Overrides { width: Some(width), height: Some(height), spp: Some(spp), ..Overrides::default() };
        let options = Options { scene: path.clone(), overrides, settings: engine(EngineKind::TileQueue) };
        let session = Session::start(cpu(2), options).expect("a session that starts");
        Live { session, path, sent: 0, _folder: folder }
    }

    fn send(&mut self, command: Command) {
        self.sent += 1;
        self.session.send(command);
    }

    /// The first frame that has obeyed everything and is as wanted.
    fn frame(&self, wanted: impl Fn(&Frame) -> bool) -> Arc<Frame> {
        let end = Instant::now() + PATIENCE;
        let mut number = 0;
        while Instant::now() < end {
            let Some(frame) = self.session.newer_than(number, Duration::from_secs(1)) else { continue };
            number = frame.number;
            if frame.status.commands == self.sent && wanted(&frame) {
                return frame;
            }
        }
        panic!("no such frame; the last one: {:?}", self.session.latest().map(|f| f.status.clone()));
    }

    /// The finished picture after everything that was sent.
    fn finished(&self) -> Arc<Frame> {
        self.frame(|f| f.status.finished)
    }

    fn film(&self) -> Film {
        self.session.film().expect("a film")
    }

    /// Sends, and waits for the finished picture.
    fn after(&mut self, command: Command) -> Arc<Frame> {
        self.send(command);
        self.finished()
    }
}

fn cornell() -> Live {
    Live::start("scenes/cornell.toml", SIZE)
}

/// What the renderer makes of the same scene.
fn reference(scene: &str) -> Film {
    render(&cpu(2), &resized(scene, SIZE.0, SIZE.1, SIZE.2), &engine(EngineKind::Megakernel))
}

#[test]
fn the_picture_is_the_renderers() {
    let live = cornell();
    let frame = live.finished();
    let film = reference("scenes/cornell.toml");
    assert_eq!(live.film().hash(), film.hash());
    let wanted = image::load_from_memory(&film.to_png8().expect("small")).expect("a PNG").into_rgb8();
    for png in [frame.png(), live.session.picture(Format::Png)] {
        let shown = image::load_from_memory(&png.expect("small")).expect("a PNG").into_rgb8();
        assert_eq!(shown, wanted);
    }
    assert_eq!((frame.width, frame.height), (SIZE.0, SIZE.1));
    let status = &frame.status;
    assert_eq!(status.samples, film.samples());
    assert!(status.rays > status.samples && status.mrays_per_s > 0.0 && !status.coarse);
    assert!(status.device.starts_with("cpu") && status.message.is_none());
}

#[test]
fn the_light_can_be_saved_as_it_is() {
    let mut live = cornell();
    live.after(Command::Expose(3.0));
    let film = live.film();
    let read = exr::prelude::read().no_deep_data().largest_resolution_level().all_channels();
    let exr = live.session.picture(Format::Exr).expect("small");
    let read = read.first_valid_layer().all_attributes().from_buffered(std::io::Cursor::new(exr));
    let channels = read.expect("an EXR").layer_data.channel_data.list;
    let names: Vec<_> = channels.iter().map(|c| c.name.to_string()).collect();
    assert_eq!(names.join(" "), "B G R Z albedo.B albedo.G albedo.R id normal.X normal.Y normal.Z");
    let FlatSamples::F32(red) = &channels[2].sample_data else { panic!("not 32-bit floats") };
    let wanted = (0..film.height).flat_map(|y| (0..film.width).map(move |x| (x, y)));
    assert!(red.iter().zip(wanted).all(|(v, (x, y))| (f64::from(*v) - film.linear(x, y)[0]).abs() < 1e-7));
    assert!(live.session.picture(Format::Hdr).is_ok() && live.session.picture(Format::Jpeg).is_ok());
}

/// Switches whatever can be switched in the middle of the work, many times: the film must not know.
#[test]
fn engines_and_queues_can_change_while_the_film_grows() {
    let scene = "tests/cases/E96/stress.json";
    let size = (160, 90, 200);
    let wanted = render(&cpu(2), &resized(scene, size.0, size.1, size.2), &engine(EngineKind::Megakernel));
    let mut live = Live::start(scene, size);
    let mut midway = 0;
    let queues = QueueKind::TILE_QUEUES.map(Command::Queue);
    let engines =
        [EngineKind::Compaction, EngineKind::TileQueue, EngineKind::Megakernel].map(Command::Engine);
    let others = [
        Command::Compact(Compact::Scan),
        Command::Engine(EngineKind::Compaction),
        Command::Policy(Policy::Paper),
        Command::Next(Dial::Engine),
        Command::Next(Dial::Queue),
        Command::Next(Dial::Policy),
        Command::Engine(EngineKind::TileQueue),
    ];
    let adaptive = [Command::Policy(Policy::Adaptive)];
    for command in engines.into_iter().chain(others).chain(queues).chain(adaptive).chain(queues) {
        live.send(command);
        let frame = live.frame(|f| !f.status.coarse);
        assert_eq!(frame.status.message, None, "{command:?}");
        midway += u32::from(frame.status.samples > 0 && !frame.status.finished);
    }
    assert!(midway >= 3, "only {midway} switches found the film unfinished");
    let status = live.finished().status.clone();
    assert_eq!((status.engine, status.queue), (EngineKind::TileQueue, QueueKind::Sfq));
    assert_eq!(live.film().hash(), wanted.hash());
    live.after(Command::Engine(EngineKind::Megakernel));
    assert_eq!(live.film().hash(), wanted.hash(), "switching a finished film");
}

/// Each way to move shows another film, that of the renderer from there; reset brings the first one back.
#[test]
fn every_movement_moves() {
    let mut live = cornell();
    live.finished();
    let home = live.film();
    let movements = [
        Command::Orbit { right: 0.2, up: 0.1 },
        Command::Turn { right: -0.2, up: 0.1 },
        Command::Pan { right: 0.1, up: -0.1 },
        Command::Zoom(0.8),
        Command::Fly { right: 0.02, up: 0.03, forward: 0.1 },
    ];
    let mut seen = vec![home.hash()];
    for command in movements {
        live.after(command);
        let film = live.film();
        assert!(!seen.contains(&film.hash()), "{command:?} shows nothing new");
        seen.push(film.hash());
        let mut scene = resized("scenes/cornell.toml", SIZE.0, SIZE.1, SIZE.2);
        let mut rig = Rig::new(&scene);
        match command {
            Command::Orbit { right, up } => rig.orbit(right, up),
            Command::Turn { right, up } => rig.turn(right, up),
            Command::Pan { right, up } => rig.pan(right, up),
            Command::Zoom(factor) => rig.zoom(factor),
            Command::Fly { right, up, forward } => rig.fly(right, up, forward),
            _ => unreachable!("movements only"),
        }
        scene.camera = rig.camera();
        let wanted = render(&cpu(2), &scene, &engine(EngineKind::Megakernel));
        assert_eq!(film.hash(), wanted.hash(), "{command:?}");
        live.after(Command::Reset);
        assert_eq!(live.film().hash(), home.hash(), "after {command:?}");
    }
}

#[test]
fn exposure_changes_the_picture_and_not_the_film() {
    let mut live = cornell();
    let plain = live.finished();
    let film = live.film().hash();
    let bright = live.after(Command::Expose(1.0));
    assert_eq!(bright.status.exposure, 1.0);
    let light = |frame: &Frame| frame.pixels.iter().map(|&p| u64::from(p)).sum::<u64>();
    assert!(light(&bright) > light(&plain));
    let shown = image::load_from_memory(&live.session.picture(Format::Png).expect("small"))
        .expect("a PNG")
        .into_rgb8();
    assert_eq!(*bright.pixels, shown.into_raw(), "the saved picture is the one that is seen");
    let dark = live.after(Command::Expose(-1e30));
    assert!(light(&dark) == 0 && dark.status.exposure.is_finite());
    assert_eq!(live.film().hash(), film);
    assert_eq!(*live.after(Command::Reset).pixels, *plain.pixels);
}

#[test]
fn views_of_the_work() {
    let mut live = Live::start("scenes/complex.toml", (128, 64, 4000));
    live.send(Command::Queue(QueueKind::Gwfq));
    let picture = live.frame(|f| !f.status.coarse);
    live.send(Command::View(View::Queues));
    let queues = live.frame(|f| f.status.view == View::Queues && !f.status.coarse);
    live.send(Command::Next(Dial::View));
    let around = live.frame(|_| true);
    assert_eq!(around.status.view, View::Picture);
    live.send(Command::View(View::Rays));
    let rays = live.frame(|f| f.status.view == View::Rays);
    assert!(!rays.status.finished, "seen while it works");
    assert!(picture.pixels != queues.pixels && picture.pixels != rays.pixels && queues.pixels != rays.pixels);
    // Complex traces two bounces at most: sky, dull floor and mirrors take one, two and three rays.
    let distinct: std::collections::BTreeSet<_> = rays.pixels.chunks(3).collect();
    assert_eq!(distinct.len(), 3, "a colour for each number of rays: {distinct:?}");
}

#[test]
fn the_integrator_can_change() {
    let mut live = cornell();
    let whitted = live.finished();
    let path = live.after(Command::Integrator(Integrator::Path));
    assert_eq!(path.status.integrator, Integrator::Path);
    let mut scene = resized("scenes/cornell.toml", SIZE.0, SIZE.1, SIZE.2);
    scene.integrator = Integrator::Path;
    let wanted = render(&cpu(2), &scene, &engine(EngineKind::Megakernel));
    assert_eq!(live.film().hash(), wanted.hash());
    assert_eq!(*live.after(Command::Next(Dial::Integrator)).pixels, *whitted.pixels);
}

#[test]
fn a_pause_keeps_the_samples_and_still_lets_one_look_around() {
    let mut live = Live::start("scenes/complex.toml", (160, 90, 10_000));
    live.frame(|f| !f.status.coarse);
    live.send(Command::Pause(true));
    let paused = live.frame(|f| f.status.paused);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(live.film().samples(), paused.status.samples);
    live.send(Command::Orbit { right: 0.3, up: 0.0 });
    let moved = live.frame(|_| true);
    assert!(moved.status.coarse && moved.pixels.iter().any(|&p| p > 0), "a coarse picture from there");
    assert_ne!(moved.pixels, paused.pixels);
    live.send(Command::Pause(false));
    live.frame(|f| f.status.samples > 0);
}

#[test]
fn a_view_can_be_written_into_a_copy_of_the_scene() {
    for scene in ["scenes/cornell.toml", "tests/cases/E96/stress.json"] {
        let mut live = Live::start(scene, SIZE);
        live.after(Command::Orbit { right: 0.4, up: 0.2 });
        let moved = live.film();
        let before = fs::read_to_string(&live.path).expect("there");
        let text = live.session.scene_text().expect("text");
        assert_eq!(fs::read_to_string(&live.path).expect("there"), before, "the scene itself is not touched");
        if scene.ends_with("toml") {
            assert!(text.starts_with(before.lines().next().expect("a line")), "comments stay: {text}");
        }
        let copy = live.session.view_file();
        fs::write(&copy, text).expect("writable");
        let size = Overrides {
            width: Some(SIZE.0),
            height: Some(SIZE.1),
            spp: Some(SIZE.2),
            ..Overrides::default()
        };
        let scene = Scene::load(&copy).expect("a scene").with_overrides(&size).expect("in range");
        let film = render(&cpu(2), &scene, &engine(EngineKind::Megakernel));
        // Angles and vectors pass through decimal text: a few rays may fall beside an edge.
        let apart = (0..film.counts.len()).filter(|&i| {
            let (x, y) = (i as u32 % SIZE.0, i as u32 / SIZE.0);
            let (a, b) = (film.linear(x, y), moved.linear(x, y));
            (0..3).any(|c| (a[c] - b[c]).abs() > 0.02)
        });
        assert!(apart.count() < film.counts.len() / 50, "{}: another view", copy.display());
    }
}

#[test]
fn a_saved_scene_shows_at_once_and_a_bad_one_shows_why() {
    let mut live = cornell();
    let before = live.finished();
    let text = fs::read_to_string(&live.path).expect("there");

    fs::write(&live.path, text.replace("spp = 1", "spq = 1")).expect("writable");
    let bad = live.frame(|f| f.status.message.is_some());
    let message = bad.status.message.clone().expect("asked for");
    assert!(message.contains("cornell.toml:5") && message.contains("spq"), "{message}");
    assert!(!message.contains('\n'));
    assert_eq!(*bad.pixels, *before.pixels, "the last good picture stays");

    fs::write(&live.path, text.replace("color = [1.0, 1.0, 1.0]", "color = [0.0, 0.5, 0.0]"))
        .expect("writable");
    let green = live.frame(|f| f.status.message.is_none() && f.status.finished && f.pixels != before.pixels);
    assert_ne!(*green.pixels, *before.pixels);

    // An editor that writes a new file and renames it over the old one, with a moment in between.
    fs::remove_file(&live.path).expect("there");
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(live.session.latest().expect("a frame").status.message, None);
    fs::write(&live.path, &text).expect("writable");
    live.frame(|f| f.status.finished && f.pixels == before.pixels);

    live.send(Command::Reload);
    assert_eq!(*live.finished().pixels, *before.pixels, "asked for by hand");
}

/// A square that fills the view, in a material with a picture; its light is the white sky's.
const SQUARE: [(&str, &[u8]); 3] = [
    (
        "square.json",
        br#"{ "image": { "width": 8, "height": 8, "spp": 1, "max_depth": 2 },
              "camera": { "from": [0, 0, 1], "at": [0, 0, 0], "vfov_deg": 40 },
              "background": { "constant": [1, 1, 1] },
              "objects": [ { "type": "mesh", "file": "square.obj" } ] }"#,
    ),
    (
        "square.obj",
        b"mtllib square.mtl\nusemtl m\nv -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nvt 0 0\nf 1/1 2/1 3/1 4/1\n",
    ),
    ("square.mtl", b"newmtl m\nmap_Kd square.png\n"),
];

fn one_texel(color: [u8; 3]) -> Vec<u8> {
    let mut png = std::io::Cursor::new(vec![]);
    let picture = image::RgbImage::from_pixel(1, 1, image::Rgb(color));
    picture.write_to(&mut png, image::ImageFormat::Png).expect("memory");
    png.into_inner()
}

#[test]
fn every_file_of_a_model_is_watched() {
    let [scene, obj, mtl] = SQUARE;
    let live = Live::of(&[scene, obj, mtl, ("square.png", &one_texel([255, 0, 0]))], (8, 8, 1));
    let shows = |live: &Live, color: [u8; 3]| live.frame(|f| f.status.finished && f.pixels[..3] == color);
    shows(&live, [255, 0, 0]);
    let write = |name, content: &[u8]| fs::write(live.path.with_file_name(name), content).expect("writable");
    write("square.png", &one_texel([0, 255, 0]));
    shows(&live, [0, 255, 0]);
    write("square.mtl", b"newmtl m\nKd 0 0 1\n");
    shows(&live, [0, 0, 255]);
    write("square.mtl", b"newmtl m\nmap_Kd  square.png\n");
    shows(&live, [0, 255, 0]);
}

/// A file that a failed load asked for is awaited: when it comes, everything is read again.
#[test]
fn a_missing_file_is_awaited() {
    let [scene, obj, mtl] = SQUARE;
    let live = Live::of(&[scene, obj, ("square.mtl", b"newmtl m\nKd 0 0 1\n")], (8, 8, 1));
    let shows = |color: [u8; 3]| live.frame(|f| f.status.finished && f.pixels[..3] == color);
    let write = |name, content: &[u8]| fs::write(live.path.with_file_name(name), content).expect("writable");
    shows([0, 0, 255]);
    write("square.mtl", mtl.1);
    let bad = live.frame(|f| f.status.message.is_some());
    assert!(bad.status.message.as_ref().is_some_and(|m| m.contains("square.png: cannot read")), "{bad:?}");
    write("square.png", &one_texel([255, 0, 0]));
    assert_eq!(shows([255, 0, 0]).status.message, None);
}

#[test]
fn an_edit_while_the_session_starts_is_not_lost() {
    // Read in a moment, made into a mesh in a second or so; what one sees is the sky.
    let text = |sky: [u8; 3]| {
        format!(
            "background.constant = {sky:?}\ncamera = {{ from = [0, 0, 9], at = [0, 0, 10] }}\n\
             materials = [{{ name = 'm', type = 'lambert', albedo = [1, 1, 1] }}]\n\
             objects = [{{ type = 'mesh', material = 'm', generator = {{ kind = 'grid', subdivisions = 512 }} }}]\n"
        )
    };
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    let path = folder.path().join("slow.toml");
    fs::write(&path, text([1, 0, 0])).expect("writable");
    let (late, edit) = (path.clone(), text([0, 1, 0]));
    let editor = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(60));
        fs::write(late, edit).expect("writable");
    });
    let overrides = Overrides { width: Some(8), height: Some(8), spp: Some(1), ..Overrides::default() };
    let options = Options { scene: path, overrides, settings: engine(EngineKind::TileQueue) };
    let session = Session::start(cpu(2), options).expect("a session that starts");
    editor.join().expect("written");
    let end = Instant::now() + PATIENCE;
    while !session.latest().is_some_and(|f| f.status.finished && f.pixels[..3] == [0, 255, 0]) {
        assert!(Instant::now() < end, "the edit was never seen");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_a_model_does_not_get_is_told_with_each_load() {
    let [scene, obj, _] = SQUARE;
    let mut live = Live::of(&[scene, obj, ("square.mtl", b"newmtl m\nKd 1 1 1\nrefl sky.png\n")], (8, 8, 1));
    let first = live.finished();
    let [warning] = &first.status.warnings[..] else { panic!("one warning: {:?}", first.status.warnings) };
    assert!(warning.contains("square.mtl:3: `refl` is left out"), "{warning}");
    assert_eq!((first.status.loads, &first.status.message), (1, &None));
    live.send(Command::Reload);
    assert_eq!(live.finished().status.loads, 2, "news again");
    fs::write(live.path.with_file_name("square.mtl"), "newmtl m\nKd 1 1 1\n").expect("writable");
    live.frame(|f| f.status.finished && f.status.warnings.is_empty() && f.status.loads == 3);
}

#[test]
fn a_scene_that_moves_its_camera_wins_over_the_view() {
    let mut live = cornell();
    let home = live.finished();
    let moved = live.after(Command::Pan { right: 0.3, up: 0.0 });
    let text = fs::read_to_string(&live.path).expect("there");
    fs::write(&live.path, text.replace("[0.05, 0.05, 0.05]", "[0.06, 0.05, 0.05]")).expect("writable");
    let kept = live.frame(|f| f.status.finished && f.pixels != moved.pixels);
    assert_ne!(kept.pixels, home.pixels, "the view stays when only the light changes");
    fs::write(&live.path, text.replace("from = [0.0, 0.5, 1.5]", "from = [0.0, 0.5, 1.6]"))
        .expect("writable");
    let end = live.frame(|f| f.status.finished && f.pixels != kept.pixels);
    let mut scene = resized("scenes/cornell.toml", SIZE.0, SIZE.1, SIZE.2);
    scene.camera.eye.z = 1.6;
    assert_eq!(end.pixels.len(), kept.pixels.len());
    assert!((live.session.scene_text().expect("text")).contains("1.6"));
}

#[test]
fn what_cannot_be_done_is_said_and_nothing_breaks() {
    let mut live = Live::start("tests/cases/E41/scene.json", (300, 200, 2));
    let before = live.finished();
    // Queues that only benches have.
    live.send(Command::Queue(QueueKind::Bwd));
    let frame = live.frame(|f| f.status.message.is_some());
    assert!(frame.status.message.as_ref().expect("asked for").contains("bwd"));
    assert_eq!((frame.status.queue, &*frame.pixels), (QueueKind::Glfq, &*before.pixels));
    for nonsense in [f32::NAN, f32::INFINITY, -1e38, 1e38, 0.0] {
        live.send(Command::Orbit { right: nonsense, up: nonsense });
        live.send(Command::Zoom(nonsense));
        live.send(Command::Pan { right: nonsense, up: nonsense });
        live.send(Command::Fly { right: nonsense, up: nonsense, forward: nonsense });
        live.send(Command::Turn { right: nonsense, up: nonsense });
        live.send(Command::Expose(nonsense));
    }
    live.after(Command::Reset);
    assert!(!live.session.is_over());
    assert_eq!(*live.finished().pixels, *before.pixels);
}

#[test]
fn a_scene_that_is_no_scene_does_not_start() {
    let options = Options {
        scene: file("scenes/none.toml"),
        overrides: Overrides::default(),
        settings: engine(EngineKind::TileQueue),
    };
    let error = Session::start(cpu(1), options).err().expect("refused").to_string();
    assert!(error.contains("none.toml"), "{error}");
}

/// A thousand movements and more at once: the session takes what it can and ends up where it is told to.
#[test]
fn floods_of_commands_are_harmless() {
    let live = cornell();
    let before = live.finished();
    for _ in 0..100_000 {
        live.session.send(Command::Turn { right: 0.001, up: 0.0 });
    }
    let end = Instant::now() + PATIENCE;
    loop {
        live.session.send(Command::Reset);
        std::thread::sleep(Duration::from_millis(100));
        let latest = live.session.latest().expect("a frame");
        if latest.status.finished && latest.pixels == before.pixels {
            return;
        }
        assert!(Instant::now() < end, "it never came back");
    }
}

/// From a command to the frame that shows it, on two busy workers.
#[test]
fn commands_are_answered_soon() {
    let mut live = Live::start("scenes/complex.toml", (640, 360, 1000));
    live.frame(|f| !f.status.coarse);
    let mut times = vec![];
    for _ in 0..10 {
        let start = Instant::now();
        live.send(Command::Orbit { right: 0.01, up: 0.0 });
        live.frame(|_| true);
        times.push(start.elapsed());
        std::thread::sleep(Duration::from_millis(50));
    }
    times.sort();
    assert!(times[5] < Duration::from_secs(1), "half of the commands took longer than {:?}", times[5]);
}

#[test]
fn dropping_a_session_ends_it_soon() {
    let live = Live::start("scenes/complex.toml", (1280, 720, 100_000));
    live.frame(|_| true);
    let start = Instant::now();
    drop(live.session);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}
