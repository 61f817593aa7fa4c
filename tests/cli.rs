//! The command line as a user and a script meet it: files, reports, exit codes, signals.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A sky of one colour, 64 x 64 pixels: every pixel of the picture is [`SKY`].
const SCENE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/E41/scene.json");
const SKY: [u8; 3] = [137, 188, 225];
/// Makes a render take minutes, if it is not stopped before; the limit keeps a failing test short.
const LONG: [&str; 8] = ["--width", "1024", "--height", "1024", "--spp", "100000", "--timeout", "60"];

/// `rayq` on the CPU, with a folder of its own to run in.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { folder: tempfile::tempdir().expect("there is room for temporary files") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rayq"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// `rayq render` of the sky, to its end.
    fn render(&self, arguments: &[&str]) -> Output {
        self.render_command(arguments).output().expect("rayq starts")
    }

    fn render_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&["render", SCENE, "--device", "cpu"]);
        command.args(arguments);
        command
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("ended by itself")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The one line that a failed command says.
fn complaint(output: &Output) -> String {
    let text = errors(output);
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.len() == 1 && lines[0].starts_with("rayq: "), "one line, signed: {text:?}");
    lines[0].to_owned()
}

fn assert_sky(path: &Path) {
    let picture = image::open(path).expect("a picture").into_rgb8();
    assert!(picture.pixels().all(|p| p.0 == SKY), "{}: not all sky", path.display());
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).expect("written")).expect("JSON")
}

#[test]
fn the_picture_goes_to_output_unless_told_otherwise() {
    let bench = Bench::new();
    let done = bench.render(&[]);
    assert_eq!(code(&done), 0, "{}", errors(&done));
    assert_sky(&bench.path("output/scene.png"));
    let report = String::from_utf8_lossy(&done.stdout).into_owned();
    for word in ["output/scene.png", "cpu", "tile-queue", "glfq", "65536", "MRays/s", "film"] {
        assert!(report.contains(word), "no {word:?} in:\n{report}");
    }
}

#[test]
fn quiet_says_nothing() {
    let bench = Bench::new();
    let done = bench.render(&["--quiet", "-o", "out.png"]);
    assert_eq!((code(&done), done.stdout.len(), done.stderr.len()), (0, 0, 0), "{}", errors(&done));
    assert_sky(&bench.path("out.png"));
}

#[test]
fn sixteen_bits_on_request() {
    let bench = Bench::new();
    assert_eq!(code(&bench.render(&["--png16", "-o", "out.png"])), 0);
    let picture = image::open(bench.path("out.png")).expect("a picture");
    assert_eq!(picture.color(), image::ColorType::Rgb16);
    assert_eq!(picture.into_rgb16().get_pixel(0, 0).0[1], 48192, "linear 0.5");
}

#[test]
fn the_extension_chooses_the_format() {
    let bench = Bench::new();
    for (name, format) in [
        ("a.PNG", image::ImageFormat::Png),
        ("a.jpg", image::ImageFormat::Jpeg),
        ("a.hdr", image::ImageFormat::Hdr),
    ] {
        assert_eq!(code(&bench.render(&["--quiet", "-o", name])), 0);
        let file = fs::read(bench.path(name)).expect("written");
        assert_eq!(image::guess_format(&file).expect("a picture"), format, "{name}");
    }
    let done = bench.render(&["--quiet", "--exr-half", "--aov", "albedo,id", "-o", "a.exr"]);
    assert_eq!(code(&done), 0, "{}", errors(&done));
    let read = exr::prelude::read_first_flat_layer_from_file(bench.path("a.exr")).expect("an EXR").layer_data;
    let names: Vec<_> = read.channel_data.list.iter().map(|c| c.name.to_string()).collect();
    assert_eq!(names.join(" "), "B G R albedo.B albedo.G albedo.R id");
    assert!(read.attributes.comments.expect("there").to_string().starts_with("scene: scene.json\n"));
}

#[test]
fn exposure_and_curve_change_the_picture() {
    let bench = Bench::new();
    let sky = |arguments: &[&str]| {
        assert_eq!(code(&bench.render(&[&["--quiet", "-o", "out.png"], arguments].concat())), 0);
        image::open(bench.path("out.png")).expect("a picture").into_rgb8().get_pixel(0, 0).0
    };
    // The sky is 0.25, 0.5, 0.75.
    assert_eq!(sky(&["--exposure", "-1"]), [99, 137, 165]);
    assert_eq!(sky(&["--exposure", "1", "--tone", "srgb"]), [188, 255, 255]);
    let filmic = sky(&["--tone", "filmic"]);
    assert!(filmic != SKY && filmic[0] < filmic[1] && filmic[1] < filmic[2], "{filmic:?}");
}

#[test]
fn statistics_add_up_and_repeat() {
    let bench = Bench::new();
    let stats = |name: &str, engine: &str| {
        let arguments = ["--spp", "3", "--quiet", "--engine", engine, "--stats", name];
        assert_eq!(code(&bench.render(&arguments)), 0);
        json(&bench.path(name))
    };
    let first = stats("a.json", "megakernel");
    assert_eq!(first["schema_version"], 1);
    for key in ["version", "commit", "command_line", "driver", "compiler", "device_name", "policy", "tile"] {
        assert!(first.get(key).is_some(), "no {key} in {first}");
    }
    assert_eq!((&first["device"], &first["engine"]), (&"cpu".into(), &"megakernel".into()));
    assert_eq!((&first["queue"], &first["spp"]), (&"glfq".into(), &3.into()));
    assert_eq!((&first["nan"], &first["clamped"]), (&0.into(), &0.into()));
    let rays = |kind: &str| first["rays"][kind].as_u64().expect("a count");
    assert_eq!(rays("primary"), 64 * 64 * 3);
    assert_eq!(rays("total"), rays("primary") + rays("bounce") + rays("shadow"));
    let figure = |key: &str| first[key].as_f64().expect("a number");
    assert!(0.0 < figure("mrays_per_s") && figure("mrays_per_s") <= figure("mrays_per_s_trace"));
    for engine in ["megakernel", "compaction", "tile-queue"] {
        assert_eq!(stats("b.json", engine)["film_hash"], first["film_hash"], "{engine}");
    }
}

#[test]
fn refusals_come_before_the_work() {
    let bench = Bench::new();
    let refuse = |arguments: &[&str], exit: i32, words: &[&str]| {
        let start = Instant::now();
        let done = bench.render(&[&LONG, arguments].concat());
        assert_eq!(code(&done), exit, "{}", errors(&done));
        assert!(start.elapsed() < Duration::from_secs(10), "rendered first");
        let text = complaint(&done);
        assert!(words.iter().all(|w| text.contains(w)), "{text}");
    };
    refuse(&["-o", "out.tga"], 2, &["out.tga", ".png", ".jpg", ".exr", ".hdr"]);
    for (file, option, wanted) in [
        ("out.png", &["--aov", "all"][..], ".exr"),
        ("out.jpg", &["--exr-half"], ".exr"),
        ("out.exr", &["--png16"], ".png"),
        ("out.exr", &["--exposure", "-1.5"], ".png or .jpg"),
        ("out.hdr", &["--tone", "filmic"], ".png or .jpg"),
        ("out.png", &["--jpeg-quality", "50"], ".jpg"),
    ] {
        refuse(&[&["-o", file], option].concat(), 2, &[file, option[0], wanted]);
    }
    refuse(&["-o", "out.jpg", "--width", "65536", "--height", "1"], 2, &["65536 x 1", "65535", ".png"]);
    fs::write(bench.path("file"), "").expect("writable");
    refuse(&["-o", "file/out.png"], 4, &["file/out.png", "os error"]);
    refuse(&["-o", "out.png", "--stats", "file/out.json"], 4, &["file/out.json", "os error"]);
    refuse(&["-o", "out.png", "--device", "abacus"], 2, &["abacus", "available: cpu"]);
    refuse(&["-o", "out.png", "--device", "cuda:99"], 3, &["cuda:99"]);
    assert!(!bench.path("out.png").exists());
}

#[test]
fn bad_input_is_exit_code_2() {
    let bench = Bench::new();
    let missing = bench.command(&["render", "none.json"]).output().expect("rayq starts");
    assert_eq!(code(&missing), 2);
    assert!(complaint(&missing).contains("none.json"));
    let wrong: [&[&str]; 10] = [
        &["--aov", "smell"],
        &["--jpeg-quality", "0"],
        &["--exposure", "nan"],
        &["--tone", "loud"],
        &["--tile", "0"],
        &["--tile", "8x"],
        &["--timeout", "never"],
        &["--engine", "steam"],
        &["--width", "0"],
        &["--spp", "many"],
    ];
    for arguments in wrong {
        let done = bench.render(arguments);
        assert_eq!(code(&done), 2, "{arguments:?}: {}", errors(&done));
        assert!(errors(&done).contains(arguments[0]), "{}", errors(&done));
    }
    assert_eq!(code(&bench.command(&[]).output().expect("rayq starts")), 2);
    assert!(!bench.path("output/scene.png").exists());
}

#[test]
fn a_reader_that_left_is_no_error() {
    let bench = Bench::new();
    let mut child = bench.render_command(&["--quiet", "-o", "out.png"]);
    child.args(["--stats", "s.json"]);
    assert!(child.status().expect("rayq starts").success());
    // The report goes to a pipe whose reader is gone before a word is written.
    let mut child = bench.render_command(&["-o", "out.png"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("rayq starts");
    drop(child.stdout.take());
    let done = child.wait_with_output().expect("ends");
    assert_eq!((code(&done), errors(&done)), (0, String::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let bench = Bench::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut command = bench.render_command(&["-o", "out.png"]);
    let done = command.stdout(full).stderr(Stdio::piped()).output().expect("rayq starts");
    assert_eq!(code(&done), 4);
    assert!(complaint(&done).contains("standard output"));
    assert_sky(&bench.path("out.png"));
}

#[test]
fn the_report_replaces_neither_scene_nor_picture() {
    let bench = Bench::new();
    let scene = bench.path("scene.json");
    fs::copy(SCENE, &scene).expect("copied");
    let before = fs::read(&scene).expect("read");
    let run = |stats: &str| {
        let arguments = ["render", "scene.json", "--device", "cpu", "-o", "sky.png", "--stats", stats];
        bench.command(&arguments).output().expect("rayq starts")
    };
    for stats in ["scene.json", "./scene.json", "sky.png", "./sky.png"] {
        let output = run(stats);
        assert_eq!(code(&output), 2, "{stats}");
        assert!(complaint(&output).contains("would replace"), "{stats}");
    }
    assert_eq!(fs::read(&scene).expect("read"), before);
    assert_eq!(code(&run("stats.json")), 0);
    assert_eq!(code(&run("sky.png")), 2, "a picture that exists by now");
}

#[test]
fn nothing_that_is_read_or_written_is_replaced() {
    let bench = Bench::new();
    let files = [
        ("g.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n".to_owned()),
        ("others.csv", "g.mtx,other,1.5\n".to_owned()),
        ("scene.json", fs::read_to_string(SCENE).expect("read")),
        (
            "sky.toml",
            "background.hdr = 'sky.hdr'\ncamera = { from = [0, 0, 1], at = [0, 0, 0] }\n".to_owned(),
        ),
        ("sky.hdr", "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\nabcd".to_owned()),
    ];
    for (name, text) in &files {
        fs::write(bench.path(name), text).expect("written");
    }
    for words in [
        "bfs g.mtx --json g.mtx",
        "bfs g.mtx --levels ./g.mtx",
        "bfs g.mtx --levels new --json new",
        "bfs g.mtx --levels new --write-graph ./new",
        "bench bfs g.mtx --csv g.mtx",
        "bench bfs g.mtx --compare others.csv --csv others.csv",
        "bench render scene.json --json scene.json",
        "bench render scene.json --width 4 --height 4 --json new --csv new",
        "bench render scene.json --width 4 --height 4 --json new/a --csv ./new/../new/a",
        "bench render scene.json --width 4 --height 4 --csv drawn/a.svg --plots ./drawn",
        "profile bfs g.mtx --json g.mtx",
        "bench render sky.toml --width 4 --height 4 --json sky.hdr",
        "profile render scene.json --json scene.json",
        "profile render sky.toml --json sky.hdr",
    ] {
        let words: Vec<_> = words.split(' ').chain(["--device", "cpu"]).collect();
        let output = bench.command(&words).output().expect("rayq starts");
        assert_eq!(code(&output), 2, "{words:?}");
        assert!(complaint(&output).contains("would replace"), "{words:?}");
        assert!(!bench.path("new").exists(), "{words:?}");
    }
    for (name, text) in &files {
        assert_eq!(&fs::read_to_string(bench.path(name)).expect("still there"), text);
    }
}

#[test]
fn a_bench_without_a_row_leaves_earlier_figures() {
    let bench = Bench::new();
    for words in ["bench queue", "bench bfs path:5", "bench render scene.json --width 4 --height 4"] {
        fs::copy(SCENE, bench.path("scene.json")).expect("copied");
        fs::write(bench.path("earlier.json"), "earlier").expect("written");
        let end = ["--device", "cpu", "--timeout", "0.000001", "--json", "earlier.json"];
        let words: Vec<_> = words.split(' ').chain(end).collect();
        let output = bench.command(&words).output().expect("rayq starts");
        assert_eq!(code(&output), 3, "{words:?}");
        assert_eq!(fs::read_to_string(bench.path("earlier.json")).expect("there"), "earlier", "{words:?}");
    }
}

/// What is refused names the option, the limit and the way out.
#[test]
fn refusals_name_the_way_out() {
    let bench = Bench::new();
    fs::write(bench.path("file"), "").expect("written");
    fs::copy(SCENE, bench.path("scene.json")).expect("copied");
    for (words, exit, parts) in [
        ("bfs grid:0x5", 2, &["grid:0x5: give WIDTHxHEIGHT, each 1 or more and 1073741824 at most"][..]),
        ("bfs rmat:30,degree=65536", 2, &["rmat:30,degree=65536: ", "at most 4294967294; take a smaller"]),
        (
            "bfs path:5 --queue-capacity 3000000000",
            2,
            &["--queue-capacity 3000000000: the queue glfq holds at most 1073741824 values; choose fewer"],
        ),
        (
            "verify --queue gwfq --capacity 134217729",
            2,
            &["--capacity 134217729", "at most 134217728 values"],
        ),
        ("bench bfs path:5 --plots file", 4, &["file: is not a folder; --plots takes one"]),
        ("bench render scene.json --plots file", 4, &["file: is not a folder; --plots takes one"]),
        ("profile bfs path:5 --plots file", 4, &["file: is not a folder; --plots takes one"]),
        ("bench paper --output file", 4, &["file: is not a folder; --output takes one"]),
        (
            "bench bfs path:5 --timeout 0.000001",
            3,
            &[
                "not finished within 0.000001 s, at path:5: reading; what was finished is kept; give a longer --timeout",
            ],
        ),
        (
            "bfs path:5 --timeout 0.000001",
            3,
            &["at path:5, glfq, run 0 of 5; give a longer --timeout or a smaller"],
        ),
        (
            "bench limits --timeout 0.000001",
            3,
            &[
                "not finished within 0.000001 s, at the device's limits, copy within memory; give a longer --timeout",
            ],
        ),
        (
            "bench queue --limits --queues sfq --timeout 0.000001",
            3,
            &["at the device's limits, copy within memory"],
        ),
        (
            "profile bfs path:5 --timeout 0.000001",
            3,
            &[
                "not finished within 0.000001 s, at path:5, ",
                "; what was finished is kept; give a longer --timeout, or leave that one out",
            ],
        ),
        (
            "verify --queue glfq --ops 100000000 --timeout 0.000001",
            3,
            &[
                "not finished within 0.000001 s, at ",
                "; what was finished is kept; give a longer --timeout, or leave that one out",
            ],
        ),
        (
            "litmus --instances 100000000 --timeout 0.000001",
            3,
            &[
                "not finished within 0.000001 s, at ",
                "; what was finished is kept; give a longer --timeout, or leave that one out",
            ],
        ),
    ] {
        let output =
            bench.command(&[&words.split(' ').collect::<Vec<_>>()[..], &["--device", "cpu"]].concat());
        let output = { output }.output().expect("rayq starts");
        assert_eq!(code(&output), exit, "{words}");
        let text = complaint(&output);
        assert!(parts.iter().all(|part| text.contains(part)), "{words}: {text}");
    }
    for size in ["2000000000x2000000000", "65536x65536", "0", "8x"] {
        let output =
            bench.command(&["bench", "render", "scene.json", "--sizes", size]).output().expect("rayq starts");
        let text = errors(&output);
        assert!(code(&output) == 2 && text.contains("--sizes") && text.contains("1 to 65536"), "{text}");
    }
}

#[test]
fn a_pipe_is_no_graph() {
    let bench = Bench::new();
    let made = Command::new("mkfifo").arg(bench.path("g.mtx")).status().expect("mkfifo starts");
    assert!(made.success());
    for words in [&["bfs", "g.mtx"][..], &["bench", "bfs", "path:5", "--compare", "g.mtx"]] {
        let words: Vec<_> = words.iter().copied().chain(["--device", "cpu"]).collect();
        let output = bench.command(&words).output().expect("rayq starts");
        assert_eq!(code(&output), 2, "{words:?}");
        assert!(complaint(&output).contains("not a regular file"), "{words:?}");
    }
}

#[test]
fn a_pipe_is_no_scene() {
    let bench = Bench::new();
    let pipe = bench.path("scene.toml");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts");
    assert!(made.success());
    let output = bench.command(&["render", "scene.toml", "--device", "cpu"]).output().expect("rayq starts");
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains("not a regular file"));
    let text =
        "camera = { from = [0, 0, 1], at = [0, 0, 0] }\nobjects = [{ type = 'mesh', file = 'pipe.obj' }]\n";
    fs::write(bench.path("mesh.toml"), text).expect("written");
    fs::rename(&pipe, bench.path("pipe.obj")).expect("one folder");
    let output = bench.command(&["info", "mesh.toml"]).output().expect("rayq starts");
    assert_eq!(code(&output), 2);
    assert!(complaint(&output).contains("pipe.obj: cannot read the model: it is not a regular file"));
}

#[test]
fn a_pipe_that_nobody_reads_is_not_awaited_for_ever() {
    let bench = Bench::new();
    let made = Command::new("mkfifo").arg(bench.path("pipe")).status().expect("mkfifo starts");
    assert!(made.success());
    let output = bench.render_command(&["-o", "out.png", "--stats", "pipe"]).output().expect("rayq starts");
    assert_eq!(code(&output), 4);
    assert!(complaint(&output).contains("nobody has begun to read this pipe"));
    assert_sky(&bench.path("out.png"));
}

#[test]
fn info_says_what_it_reads() {
    let bench = Bench::new();
    fs::write(bench.path("a.png"), "").expect("written");
    let output = bench.command(&["info", "a.png"]).output().expect("rayq starts");
    assert_eq!(code(&output), 2);
    let text = complaint(&output);
    assert!([".toml", ".json", ".obj", ".gltf", ".glb"].iter().all(|part| text.contains(part)), "{text}");
}

/// A mesh of two triangles stands in three places.
#[test]
fn info_tells_placed_triangles_from_stored_ones() {
    let bench = Bench::new();
    fs::write(bench.path("m.obj"), "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n").expect("written");
    let object = |x: u32| format!("{{ type = 'mesh', file = 'm.obj', translate = [{x}, 0, 0] }}");
    let objects = [0, 2, 4].map(object).join(", ");
    let text = format!("camera = {{ from = [0, 0, 9], at = [0, 0, 0] }}\nobjects = [{objects}]\n");
    fs::write(bench.path("s.toml"), text).expect("written");
    let said = |words: &[&str]| {
        let output = bench.command(words).output().expect("rayq starts");
        assert_eq!(code(&output), 0, "{}", errors(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let text = said(&["info", "s.toml"]);
    assert!(
        text.contains("triangles   6 placed, 2 stored\n") && text.contains("1, as 3 instances"),
        "{text}"
    );
    let report: serde_json::Value = serde_json::from_str(&said(&["info", "--json", "s.toml"])).expect("JSON");
    assert_eq!((&report["triangles"], &report["stored_triangles"]), (&6.into(), &2.into()));
    let text = said(&["info", "m.obj"]);
    assert!(text.contains("triangles   2 placed, 2 stored\n"), "{text}");
}

#[test]
fn what_auto_took_is_told_unless_quiet() {
    let bench = Bench::new();
    let run = |quiet: &[&str]| {
        let arguments = [&["render", SCENE, "-o", "sky.png"], quiet].concat();
        errors(&bench.command(&arguments).output().expect("rayq starts"))
    };
    assert!(run(&[]).contains("device: "));
    assert_eq!(run(&["--quiet"]), "");
}

/// A signal in the middle: within a second the render is over, and what was finished is a picture.
fn stops_orderly(signal: &str, exit: i32) {
    let bench = Bench::new();
    let mut command = bench.render_command(&LONG);
    command.args(["-o", "out.png", "--stats", "out.json"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("rayq starts");
    std::thread::sleep(Duration::from_secs(3));
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill is there");
    assert!(sent.success());
    let start = Instant::now();
    let done = child.wait_with_output().expect("ends");
    let took = start.elapsed();
    assert_eq!(code(&done), exit, "{}", errors(&done));
    assert!(errors(&done).contains("samples are finished"), "{}", errors(&done));
    // A second for the slice at hand; reading, hashing and packing the picture on a busy machine take theirs.
    assert!(took < Duration::from_secs(5), "took {took:?}");
    let stats = json(&bench.path("out.json"));
    let samples = stats["samples"].as_u64().expect("a count");
    assert!(0 < samples && samples < 1024 * 1024 * 100_000, "{samples}");
    assert_eq!(stats["finished"], false);
    let picture = image::open(bench.path("out.png")).expect("a picture").into_rgb8();
    // A pixel has samples of its own and is right, or has none and is black.
    assert!(picture.pixels().all(|p| p.0 == SKY || p.0 == [0; 3]));
    assert!(picture.pixels().any(|p| p.0 == SKY));
}

#[test]
fn ctrl_c_saves_what_is_finished() {
    stops_orderly("-INT", 130);
}

#[test]
fn sigterm_saves_what_is_finished() {
    stops_orderly("-TERM", 143);
}

#[test]
fn a_lost_terminal_saves_what_is_finished() {
    stops_orderly("-HUP", 129);
}

#[test]
fn nohup_stays_in_force() {
    let bench = Bench::new();
    let program =
        [env!("CARGO_BIN_EXE_rayq"), "render", SCENE, "--device", "cpu", "--quiet", "-o", "out.png"];
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).args(program).args(LONG).args(["--timeout", "3"]);
    command.current_dir(bench.folder.path()).stderr(Stdio::null());
    let mut child = command.spawn().expect("there is a shell");
    std::thread::sleep(Duration::from_secs(1));
    let sent = Command::new("kill").args(["-HUP", &child.id().to_string()]).status().expect("kill is there");
    assert!(sent.success());
    assert_eq!(child.wait().expect("ends").code(), Some(3), "the time limit, not the signal");
}

#[test]
fn a_line_end_in_a_name_makes_no_second_line() {
    let bench = Bench::new();
    let done = bench.render(&["-o", "two\nlines.gif"]);
    assert_eq!(code(&done), 2);
    assert!(complaint(&done).contains("two\\nlines.gif"), "{}", errors(&done));
}

#[test]
fn a_time_limit_saves_what_is_finished() {
    let bench = Bench::new();
    let start = Instant::now();
    let done = bench.render(&[&LONG[..], &["-o", "out.png", "--quiet", "--timeout", "2"]].concat());
    assert_eq!(code(&done), 3, "{}", errors(&done));
    assert!(start.elapsed() < Duration::from_secs(10));
    let text = complaint(&done);
    assert!(["2 s", "tile-queue", "glfq", "out.png"].iter().all(|w| text.contains(w)), "{text}");
    assert!(bench.path("out.png").exists());
}

/// Memory that a file's head asks for and this process may not have is refused, not died of.
#[cfg(target_os = "linux")]
#[test]
fn sizes_beyond_the_memory_of_the_process_are_refused() {
    let bench = Bench::new();
    let run = |kilobytes: u32, words: &str| {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -v {kilobytes}; exec \"$0\" {words}");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_rayq")]).current_dir(bench.folder.path());
        let output = command.output().expect("there is a shell");
        assert_eq!(output.status.code(), Some(2), "{words}: {}", errors(&output));
        complaint(&output)
    };
    let write = |name: &str, bytes: &[u8]| fs::write(bench.path(name), bytes).expect("written");
    write("g.mtx", b"%%MatrixMarket matrix coordinate pattern general\n800000000 800000000 1\n1 2\n");
    write("g.gr", b"p sp 800000000 1\na 1 2 1\n");
    for graph in ["g.mtx", "g.gr", "path:28"] {
        let text = run(2_000_000, &format!("bfs {graph} --device cpu"));
        let parts = [graph, "bytes of memory are needed", "take a smaller graph"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
    // A gigabyte of texels, 16 bits a channel, in as many bytes as could hold them if they were all alike.
    let mut png =
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x2a\xf8\0\0\x2a\xf8\x10\x06\0\0\0\x9e\xbf\x46\xc9".to_vec();
    png.extend([0, 0, 0x80, 0]);
    png.extend(b"IDAT");
    png.resize(1 << 16, 0);
    write("t.png", &png);
    write("m.mtl", b"newmtl m\nmap_Kd t.png\n");
    write("m.obj", b"mtllib m.mtl\n");
    let text = run(900_000, "info m.obj");
    assert!(text.contains("t.png") && text.contains("11000 x 11000 texels: "), "{text}");
    write(
        "grid.toml",
        b"image = { width = 8, height = 8, spp = 1 }\ncamera = { from = [0.2, 0.2, 3.0], at = [0.2, 0.2, 0.0] }\n\
          materials = [{ name = 'a', type = 'lambert', albedo = [1.0, 1.0, 1.0] }]\n\
          [[objects]]\ntype = 'mesh'\ngenerator = { kind = 'grid', subdivisions = 1024 }\nmaterial = 'a'\n",
    );
    let text = run(500_000, "render grid.toml --device cpu --workers 1");
    assert!(text.contains("trees over 2097152 triangles: 536870912 bytes of memory are needed"), "{text}");
}

/// What nobody asked about beforehand is not granted either: a line and an exit code, no abort.
#[cfg(target_os = "linux")]
#[test]
fn where_memory_ends_the_command_ends_with_a_line() {
    let bench = Bench::new();
    let sphere = "[[objects]]\ntype = 'sphere'\ncenter = [1, 2, 3]\nradius = 0.1\nmaterial = 'a'\n";
    let scene =
        "camera = { from = [0, 0, 3], at = [0, 0, 0] }\nmaterials = [{ name = 'a', type = 'dielectric' }]\n";
    fs::write(bench.path("many.toml"), scene.to_owned() + &sphere.repeat(50_000)).expect("written");
    fs::write(bench.path("out.png"), "an older picture").expect("written");
    for (kilobytes, words, parts) in [
        (
            100_000,
            "render many.toml -o out.png --device cpu --workers 1",
            ["out of memory: ", "choose a smaller"],
        ),
        (
            60_000,
            "bench limits --device cpu --workers 1",
            ["cpu: what is copied: 67108864 bytes", "choose a smaller"],
        ),
    ] {
        let limited = format!("ulimit -v {kilobytes}; exec \"$0\" {words}");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_rayq")]).current_dir(bench.folder.path());
        let output = command.output().expect("there is a shell");
        assert_eq!(output.status.code(), Some(3), "{words}: {}", errors(&output));
        let text = complaint(&output);
        let limit = format!("beyond its limit of {} (ulimit -v)", kilobytes * 1024);
        assert!(parts.iter().all(|part| text.contains(part)) && text.contains(&limit), "{text}");
    }
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 150000; exec \"$0\" info many.toml", env!("CARGO_BIN_EXE_rayq")]);
    command.env("RAYON_NUM_THREADS", "512").current_dir(bench.folder.path());
    let output = command.output().expect("there is a shell");
    let wanted = "cannot start a thread for each processor: ";
    assert!(code(&output) == 3 && complaint(&output).contains(wanted), "{}", errors(&output));
    assert_eq!(fs::read(bench.path("out.png")).expect("there"), b"an older picture");
    assert_eq!(fs::read_dir(bench.folder.path()).expect("there").count(), 2, "many.toml and out.png");
}

/// Addresses that threads would reserve for heaps of their own are not taken from what a limited process may have.
#[cfg(target_os = "linux")]
#[test]
fn threads_leave_a_limited_process_its_memory() {
    for kilobytes in [160_000, 170_000, 180_000] {
        let limited =
            format!("ulimit -v {kilobytes}; exec \"$0\" bfs rmat:scale=15,degree=8 --device cpu --workers 2");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_rayq")]).env("RAYON_NUM_THREADS", "8");
        let output = command.output().expect("there is a shell");
        assert_eq!(code(&output), 0, "{kilobytes}: {}", errors(&output));
    }
}

/// Case E41: a save that fails names path and reason, spoils nothing, and plain overwriting works.
#[test]
fn e41_failed_saves() {
    let bench = Bench::new();
    fs::create_dir(bench.path("dir.png")).expect("writable");
    let done = bench.render(&["-o", "dir.png"]);
    assert_eq!(code(&done), 4);
    assert!(complaint(&done).contains("dir.png: Is a directory"), "{}", errors(&done));

    for _ in 0..2 {
        assert_eq!(code(&bench.render(&["-o", "out.png"])), 0);
        assert_sky(&bench.path("out.png"));
    }
    let left: Vec<_> = fs::read_dir(bench.folder.path()).expect("there").collect();
    assert_eq!(left.len(), 2, "dir.png and out.png: {left:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn e41_full_device() {
    let bench = Bench::new();
    symlink("/dev/full", bench.path("full.png")).expect("links work here");
    let done = bench.render(&["-o", "full.png"]);
    assert_eq!(code(&done), 4);
    assert!(complaint(&done).contains("full.png: No space left on device"), "{}", errors(&done));
}

#[cfg(target_os = "linux")]
#[test]
fn e41_read_only_folder() {
    let bench = Bench::new();
    // Root may write anywhere, so root hands the command to the user that owns nothing.
    let root = fs::metadata("/proc/self").expect("Linux has it").uid() == 0;
    fs::create_dir(bench.path("ro")).expect("writable");
    fs::set_permissions(bench.path("ro"), fs::Permissions::from_mode(0o555)).expect("ours");
    fs::set_permissions(bench.folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let program = bench.path("rayq");
    fs::copy(env!("CARGO_BIN_EXE_rayq"), &program).expect("there is room");
    fs::copy(SCENE, bench.path("scene.json")).expect("there is room");
    let mut command = Command::new(&program);
    command.args(["render", "scene.json", "--device", "cpu", "-o", "ro/out.png"]);
    command.current_dir(bench.folder.path()).stdin(Stdio::null());
    if root {
        command.uid(65534).gid(65534);
    }
    let done = command.output().expect("rayq starts");
    assert_eq!(code(&done), 4, "{}", errors(&done));
    assert!(complaint(&done).contains("ro/out.png: Permission denied"), "{}", errors(&done));
}
