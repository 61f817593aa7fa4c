//! Files that results are written to: the old one or the whole new one, refusals before the work, and pictures that
//! read back as what the film and the scene hold.

mod common;

use common::{cpu, render, resized, scene};
use exr::prelude::{FlatSamples, ReadChannels, ReadLayers, f16};
use rayq::engine::{Render, Settings};
use rayq::error::Error;
use rayq::film::{Aov, Film, Format, Output, Style};
use rayq::layout::FirstHit;
use rayq::scene::{Overrides, Scene};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<_> =
        entries.map(|e| e.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn temporary_folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for temporary files")
}

/// The path and the reason of an output error.
fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> (String, String) {
    match result {
        Err(Error::Output { path, why }) => (path.display().to_string(), why),
        other => panic!("expected an output error, got {other:?}"),
    }
}

#[test]
fn a_missing_folder_is_made_and_nothing_else() {
    let folder = temporary_folder();
    let path = folder.path().join("new/deeper/out.png");
    let output = Output::picture(&path).expect("can be made");
    let deeper = path.parent().expect("has a folder");
    assert_eq!(names(deeper), Vec::<String>::new(), "preparing leaves no file behind");
    output.write(b"picture").expect("writable");
    assert_eq!(fs::read(&path).expect("written"), b"picture");
    assert_eq!(names(deeper), ["out.png"]);
}

#[test]
fn overwriting_puts_the_new_file_in_place_of_the_old() {
    let folder = temporary_folder();
    let path = folder.path().join("out.png");
    fs::write(&path, "a longer old file").expect("writable");
    let output = Output::picture(&path).expect("can be overwritten");
    assert_eq!(fs::read(&path).expect("there"), b"a longer old file", "preparing does not touch it");
    output.write(b"new").expect("writable");
    assert_eq!(fs::read(&path).expect("there"), b"new");
    assert_eq!(names(folder.path()), ["out.png"]);
}

/// What a killed write left goes with the next one into its folder, but not what may still be written to.
#[test]
fn leftovers_of_killed_writes_go() {
    let folder = temporary_folder();
    let [old, young, other, own] =
        [".rayq-a1B2c3.part", ".rayq-young1.part", "other.part", ".rayq-picture.part"]
            .map(|n| folder.path().join(n));
    for (path, hours) in [(&old, 2), (&young, 0), (&other, 2), (&own, 2)] {
        let file = fs::File::create(path).expect("writable");
        let time = SystemTime::now() - Duration::from_secs(hours * 3600);
        file.set_modified(time).expect("settable");
    }
    Output::picture(&folder.path().join("out.png")).and_then(|out| out.write(b"new")).expect("writable");
    assert_eq!(names(folder.path()), [".rayq-picture.part", ".rayq-young1.part", "other.part", "out.png"]);
}

#[test]
fn a_failed_write_leaves_the_old_file() {
    let folder = temporary_folder();
    let path = folder.path().join("sub/out.png");
    let output = Output::picture(&path).expect("can be made");
    // The folder goes between check and write; a file in its place makes every write fail, root's too.
    fs::remove_dir(folder.path().join("sub")).expect("empty");
    fs::write(folder.path().join("sub"), "old").expect("writable");
    let (named, why) = refusal(output.write(b"new"));
    assert_eq!(named, path.display().to_string());
    assert!(why.contains("os error"), "the system's reason: {why}");
    assert_eq!(fs::read(folder.path().join("sub")).expect("there"), b"old");
    assert_eq!(names(folder.path()), ["sub"]);
}

#[test]
fn folders_and_impossible_places_are_refused_with_path_and_reason() {
    let folder = temporary_folder();
    fs::create_dir(folder.path().join("dir.png")).expect("writable");
    fs::write(folder.path().join("file"), "").expect("writable");
    for place in ["dir.png", "file/out.png", "file/sub/out.png"] {
        let path = folder.path().join(place);
        let (named, why) = refusal(Output::picture(&path));
        assert_eq!(named, path.display().to_string());
        assert!(why.contains("os error"), "{place}: {why}");
        assert!(!why.contains(".rayq-"), "{place}: names a file of ours: {why}");
    }
    assert_eq!(names(folder.path()), ["dir.png", "file"]);
}

#[test]
fn only_known_extensions() {
    for (name, said) in
        [("out.tiff", ".tiff"), ("out.svg", ".svg"), ("out", "no extension"), ("png", "no ext")]
    {
        match Output::picture(Path::new(name)) {
            Err(Error::Input(text)) => {
                assert!(text.contains(name) && text.contains(said), "{text}");
                assert!([".png", ".jpg", ".exr", ".hdr"].iter().all(|known| text.contains(known)), "{text}");
            }
            other => panic!("{name}: {other:?}"),
        }
        assert!(!Path::new(name).exists());
    }
    let folder = temporary_folder();
    Output::picture(&folder.path().join("OUT.PNG")).expect("capitals are the same extension");
}

/// An EXR as another program reads it: its size, its channels by name, and what its header says.
fn read_exr(file: &[u8]) -> ((usize, usize), BTreeMap<String, FlatSamples>, String) {
    let read = exr::prelude::read().no_deep_data().largest_resolution_level().all_channels();
    let read = read.first_valid_layer().all_attributes();
    let layer = read.from_buffered(std::io::Cursor::new(file)).expect("an EXR").layer_data;
    let channels = layer.channel_data.list.into_iter().map(|c| (c.name.to_string(), c.sample_data)).collect();
    let said =
        [layer.attributes.software_name, layer.attributes.comments].map(|t| t.expect("there").to_string());
    ((layer.size.0, layer.size.1), channels, said.join("\n"))
}

fn floats(channel: &FlatSamples) -> Vec<f32> {
    match channel {
        FlatSamples::F32(values) => values.clone(),
        other => panic!("not 32-bit floats: {other:?}"),
    }
}

fn to_exr(film: &Film, style: &Style, hits: &[FirstHit]) -> Vec<u8> {
    film.to_file(Format::Exr, style, "scene.toml", hits).expect("small")
}

/// A film and what its pixels see first.
fn film_and_hits(scene: &Scene) -> (Film, Vec<FirstHit>) {
    let render_it = Render::new(cpu(2), scene, &Settings::default()).expect("a render that starts");
    (render(&cpu(2), scene, &Settings::default()), render_it.first_hits().expect("hits"))
}

/// Case E39: every format holds the colour.
#[test]
fn e39_every_format_reads_back() {
    let film = render(&cpu(2), &scene("tests/cases/E39/scene.json"), &Settings::default());
    for (format, wanted) in [(Format::Png, [137, 188, 225]), (Format::Jpeg, [137, 188, 225])] {
        let file = film.to_file(format, &Style::default(), "", &[]).expect("small");
        let read = image::load_from_memory(&file).expect("readable").into_rgb8();
        assert_eq!(read.dimensions(), (64, 64));
        assert!(read.pixels().all(|p| (0..3).all(|c| p.0[c].abs_diff(wanted[c]) <= 3)), "{format:?}");
    }
    let file = film.to_file(Format::Hdr, &Style::default(), "", &[]).expect("small");
    let read = image::load_from_memory(&file).expect("readable").into_rgb32f();
    assert!(read.pixels().all(|p| p.0 == [0.25, 0.5, 0.75]));
    let (size, channels, _) = read_exr(&to_exr(&film, &Style::default(), &[]));
    assert_eq!(
        (size, channels.keys().map(String::as_str).collect::<Vec<_>>()),
        ((64, 64), vec!["B", "G", "R"])
    );
    for (name, value) in [("R", 0.25), ("G", 0.5), ("B", 0.75)] {
        assert!(floats(&channels[name]).iter().all(|v| *v == value), "{name}");
    }
}

#[test]
fn exr_holds_the_mean_rounded_once_and_says_where_from() {
    // Thirds, and a mean that is half-way between two halves but for its last bit.
    let above = (1 << 40) + (1 << 29) + 1;
    let film =
        Film::new(3, 1, (1u64 << 40) as f32, vec![1 << 40, above, 7, 2, 3, 4, 0, 0, 1 << 62], vec![3, 1, 0]);
    let (size, channels, said) = read_exr(&to_exr(&film, &Style::default(), &[]));
    assert_eq!(size, (3, 1));
    assert_eq!(floats(&channels["R"])[..2], [1.0 / 3.0, above as f32 / (1u64 << 40) as f32]);
    assert_eq!(floats(&channels["R"])[2], 0.0, "a pixel without samples is black");
    let halves = read_exr(&to_exr(&film, &Style { half: true, ..Style::default() }, &[])).1;
    let FlatSamples::F16(halves) = &halves["R"] else { panic!("not 16-bit floats") };
    assert_eq!(
        halves[..2],
        [f16::from_f32(1.0 / 3.0), f16::from_bits(f16::ONE.to_bits() + 1)],
        "up, not to even"
    );
    for words in ["rayq 0.", "scene: scene.toml", "samples a pixel: 0 to 3", "1099511627776", &film.hash()] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    // A scene's name may be anything; the header is UTF-8.
    let file = film.to_file(Format::Exr, &Style::default(), "b\u{fc}hne \u{821e}.toml", &[]).expect("small");
    let name = "b\u{fc}hne \u{821e}.toml".as_bytes();
    assert!(file.windows(name.len()).any(|part| part == name));
}

#[test]
fn halves_end_at_their_range() {
    let film = Film::new(1, 1, 1.0, vec![65504, 65520, u64::MAX], vec![1]);
    let channels = read_exr(&to_exr(&film, &Style { half: true, ..Style::default() }, &[])).1;
    for name in ["R", "G", "B"] {
        assert_eq!(channels[name], FlatSamples::F16(vec![f16::MAX]), "{name}");
    }
}

/// One pixel, whose centre's ray meets a ball of known place.
#[test]
fn layers_hold_what_the_centre_of_a_pixel_sees() {
    let text = |x: f32| {
        format!(
            r#"
            image = {{ width = 1, height = 1, spp = 4 }}
            camera = {{ from = [0, 0, 3], at = [0, 0, 0], vfov_deg = 120 }}
            materials = [
                {{ name = "red", type = "lambert", albedo = [0.75, 0.5, 0.25] }},
                {{ name = "glass", type = "dielectric" }},
            ]
            objects = [
                {{ type = "plane", normal = [0, 0, -1], offset = -8, material = "red" }},
                {{ type = "sphere", center = [5, 0, 0], radius = 1, material = "red" }},
                {{ type = "sphere", center = [{x}, 0, 0], radius = 1, material = "glass" }},
            ]
            "#
        )
    };
    let look = |x: f32, turned: bool| {
        let text = if turned { text(x).replace("at = [0, 0, 0]", "at = [0, 0, 6]") } else { text(x) };
        let scene = Scene::parse(&text, rayq::scene::Format::Toml, Path::new("one.toml")).expect("a scene");
        let (film, hits) = film_and_hits(&scene);
        read_exr(&to_exr(&film, &Style { aovs: vec![Aov::All], ..Style::default() }, &hits)).1
    };
    let layers = |channels: &BTreeMap<String, FlatSamples>| {
        let float = |name: &str| floats(&channels[name])[0];
        let FlatSamples::U32(id) = &channels["id"] else { panic!("ids are whole numbers") };
        (
            ["albedo.R", "albedo.G", "albedo.B"].map(float),
            ["normal.X", "normal.Y", "normal.Z"].map(float),
            (float("Z"), id[0]),
        )
    };
    let ball = look(0.0, false);
    assert_eq!(ball.len(), 3 + 8, "the picture and its layers");
    assert_eq!(layers(&ball), ([1.0; 3], [0.0, 0.0, 1.0], (2.0, 2)), "glass, the second sphere");
    let wall = look(2.0, false);
    assert_eq!(layers(&wall), ([0.75, 0.5, 0.25], [0.0, 0.0, 1.0], (11.0, 3)), "the plane, from its back");
    assert_eq!(layers(&look(0.0, true)), ([0.0; 3], [0.0; 3], (f32::INFINITY, 0)), "nothing");
}

/// The nearest hit by the textbook, in double precision: distance and number.
fn textbook(scene: &Scene, x: u32, y: u32) -> (f64, u32) {
    let (camera, half) = (&scene.camera, 2.0 / f64::from(scene.image.height));
    let (u, v) =
        ((f64::from(x) + 0.5) * half - f64::from(scene.image.aspect()), 1.0 - (f64::from(y) + 0.5) * half);
    let toward = camera.forward.as_dvec3() + camera.right.as_dvec3() * u + camera.up.as_dvec3() * v;
    let (eye, toward) = (camera.eye.as_dvec3(), toward.normalize());
    let spheres = scene.spheres.iter().map(|sphere| {
        let to = sphere.center.as_dvec3() - eye;
        let b = to.dot(toward);
        b - (b * b - to.length_squared() + f64::from(sphere.radius).powi(2)).sqrt()
    });
    let planes = scene.planes.iter().map(|plane| {
        let normal = plane.normal.as_dvec3();
        -(normal.dot(eye) + f64::from(plane.offset)) / normal.dot(toward)
    });
    let all = spheres.chain(planes).zip(1..).filter(|(t, _)| *t > 0.0);
    all.fold((f64::INFINITY, 0), |nearest, hit| if hit.0 < nearest.0 { hit } else { nearest })
}

#[test]
fn first_hits_are_the_textbooks() {
    for (path, size) in [("scenes/complex.toml", (61, 35)), ("scenes/cornell.toml", (33, 17))] {
        let scene = resized(path, size.0, size.1, 1);
        let (_, hits) = film_and_hits(&scene);
        let mut seen = std::collections::BTreeSet::new();
        for (i, hit) in hits.iter().enumerate() {
            let (distance, object) = textbook(&scene, i as u32 % size.0, i as u32 / size.0);
            assert_eq!(hit.object, object, "{path}, pixel {i}");
            assert!(
                object == 0 || (f64::from(hit.distance) / distance - 1.0).abs() < 1e-4,
                "{path}, pixel {i}"
            );
            let length = glam::Vec3::from(hit.normal).length();
            assert!(
                (length - if object == 0 { 0.0 } else { 1.0 }).abs() < 1e-6,
                "{path}, pixel {i}: {length}"
            );
            seen.insert(object);
        }
        assert!(seen.len() > 5, "{path}: only {seen:?}");
    }
}

/// The decoded contents of an EXR with every layer, as they have always been.
#[test]
fn golden_exr() {
    let overrides = Overrides { width: Some(13), height: Some(7), spp: Some(2), ..Default::default() };
    let scene = scene("scenes/cornell.toml").with_overrides(&overrides).expect("a size");
    let (film, hits) = film_and_hits(&scene);
    for (half, golden) in [(false, "abd33c1fc4e5d065"), (true, "ebbc201d7ad3d74e")] {
        let style = Style { half, aovs: vec![Aov::All], ..Style::default() };
        let file = to_exr(&film, &style, &hits);
        assert!(file == to_exr(&film, &style, &hits), "the same bytes each time");
        let mut hasher = Sha256::new();
        for (name, samples) in read_exr(&file).1 {
            hasher.update(name);
            match samples {
                FlatSamples::F16(v) => v.iter().for_each(|v| hasher.update(v.to_le_bytes())),
                FlatSamples::F32(v) => v.iter().for_each(|v| hasher.update(v.to_le_bytes())),
                FlatSamples::U32(v) => v.iter().for_each(|v| hasher.update(v.to_le_bytes())),
            }
        }
        let hash: String = hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, golden, "half: {half}");
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn a_link_stays_a_link() {
        let folder = temporary_folder();
        let (link, file) = (folder.path().join("out.png"), folder.path().join("real.png"));
        fs::write(&file, "old").expect("writable");
        symlink("real.png", &link).expect("links work here");
        Output::picture(&link).expect("writable").write(b"new").expect("writable");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&file).expect("there"), b"new");
    }

    #[test]
    fn pictures_have_the_permissions_of_other_new_files() {
        let folder = temporary_folder();
        let (ours, plain) = (folder.path().join("ours.png"), folder.path().join("plain"));
        Output::picture(&ours).expect("writable").write(b"new").expect("writable");
        fs::write(&plain, "").expect("writable");
        let mode = |path| fs::metadata(path).expect("there").mode();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_reported_and_stays() {
        let folder = temporary_folder();
        let link = folder.path().join("full.png");
        symlink("/dev/full", &link).expect("links work here");
        let output = Output::picture(&link).expect("a device can only be tried");
        let (named, why) = refusal(output.write(b"picture"));
        assert_eq!(named, link.display().to_string());
        assert!(why.contains("No space left on device"), "{why}");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    }

    #[test]
    fn a_protected_file_is_not_replaced() {
        let folder = temporary_folder();
        let path = folder.path().join("out.png");
        fs::write(&path, "old").expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("ours");
        // The system decides: root may write to what is protected, others may not.
        let allowed = fs::OpenOptions::new().write(true).open(&path).is_ok();
        assert_eq!(Output::picture(&path).is_ok(), allowed);
    }
}
