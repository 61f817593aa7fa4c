//! Scene files: what is read, what is refused, and where an error points.

use glam::Vec3;
use rayq::error::Result;
use rayq::scene::flatten::{self, Arrays, FilmRange};
use rayq::scene::{Format, Integrator, Light, Material, Overrides, Scene};
use std::path::{Path, PathBuf};

fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn case(name: &str) -> PathBuf {
    root("tests/cases").join(name)
}

fn refusal(scene: Result<Scene>) -> String {
    let error = scene.expect_err("the scene is wrong");
    assert_eq!(error.exit_code(), 2);
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

fn toml(text: &str) -> Result<Scene> {
    Scene::parse(text, Format::Toml, Path::new("s.toml"))
}

fn json(text: &str) -> Result<Scene> {
    Scene::parse(text, Format::Json, Path::new("s.json"))
}

/// A camera, followed by `rest`.
fn with_camera(rest: &str) -> Result<Scene> {
    toml(&format!("camera = {{ from = [0, 0, 3], at = [0, 0, 0] }}\n{rest}"))
}

#[track_caller]
fn assert_refused(scene: Result<Scene>, start: &str, part: &str) {
    let text = refusal(scene);
    assert!(text.starts_with(start) && text.contains(part), "{text}\nwanted: {start} ... {part}");
}

#[test]
fn e01_a_misspelt_key_is_named_with_its_line() {
    let text = refusal(Scene::load(&case("E01/scene.json")));
    assert!(text.contains("scene.json:38:4: materials[0].albdeo: "), "{text}");
    assert!(text.contains("unknown key `albdeo`, did you mean `albedo`?"), "{text}");
}

#[test]
fn e03_up_along_the_view_picks_another_and_no_view_is_refused() {
    let camera = Scene::load(&case("E03/scene.json")).expect("a good scene").camera;
    assert_eq!(camera.forward, -Vec3::Y);
    assert_eq!(camera.forward.dot(camera.right), 0.0);
    assert_eq!(camera.forward.dot(camera.up), 0.0);
    assert_eq!(camera.right.dot(camera.up), 0.0);
    assert_eq!(camera.right.length(), camera.up.length());
    let text = refusal(Scene::load(&case("E03/scene_same.json")));
    assert!(text.contains("scene_same.json:15:3: camera.at: the same place as camera.from"), "{text}");
}

#[test]
fn e05_the_depth_is_the_number_of_interactions() {
    for depth in [0, 1, 2, 3, 64] {
        let scene = Scene::load(&case(&format!("E05/d{depth}.json"))).expect("a good scene");
        assert_eq!(flatten::view(&scene).max_depth, depth);
        assert_eq!(scene.largest_contribution(), 0.5);
    }
}

#[test]
fn e07_no_objects_are_fine_and_a_missing_mesh_is_named() {
    let scene = Scene::load(&case("E07/scene.json")).expect("a good scene");
    assert_eq!((scene.spheres.len(), scene.planes.len()), (0, 0));
    assert_eq!(scene.background.up, Vec3::new(0.25, 0.5, 0.75));
    let text = refusal(Scene::load(&case("E07/missing.json")));
    assert!(text.contains("missing.json:48:4: objects[0].file: "), "{text}");
    assert!(text.contains(&case("E07/nowhere.obj").display().to_string()), "{text}");
}

#[test]
fn e07_a_mesh_that_is_wrong_is_refused_clearly() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.obj"), "f 1 2 3\n").expect("writable");
    let scene = folder.path().join("s.toml");
    let text =
        "camera = { from = [0, 0, 3], at = [0, 0, 0] }\nobjects = [{ type = \"mesh\", file = \"a.obj\" }]\n";
    std::fs::write(&scene, text).expect("writable");
    let text = refusal(Scene::load(&scene));
    assert!(
        text.contains(":2:29: objects[0].file: ") && text.contains("a.obj:1: f: `1`: there is no vertex 1"),
        "{text}"
    );
}

#[test]
fn e43_e45_e92_odd_sizes_and_scales_are_read() {
    for name in ["E43/a", "E43/b", "E43/c", "E45/wide", "E45/tall", "E45/thin", "E92/scene", "E92/far"] {
        Scene::load(&case(&format!("{name}.json"))).expect(name);
    }
    assert_eq!(Scene::load(&case("E45/wide.json")).expect("a good scene").image.aspect(), 6.4);
}

#[test]
fn e96_bad_numbers_are_named_with_key_value_and_line() {
    for (file, place) in [
        ("bad1.toml", "17:11: materials[0].albedo[0]: nan is out of range"),
        ("bad2.toml", "21:1: objects[0].radius: inf is out of range"),
        ("bad3.toml", "21:1: objects[0].radius: 0 is out of range"),
        ("bad4.toml", "11:1: camera.vfov_deg: 180 is out of range"),
        ("bad5.toml", "17:11: materials[0].albedo[0]: 1.5 is out of range; allowed: 0 to 1"),
    ] {
        let text = refusal(Scene::load(&case("E96").join(file)));
        assert!(text.contains(&format!("{file}:{place}")), "{text}");
    }
    // The same in the materials of general scenes, and in what places meshes.
    for (keys, place) in [
        ("base_color = [nan, 0, 0]", "materials[0].base_color[0]: nan is out of range"),
        ("base_color = [0, 1.5, 0]", "materials[0].base_color[1]: 1.5 is out of range; allowed: 0 to 1"),
        ("roughness = inf", "materials[0].roughness: inf is out of range"),
        ("emission = [0, 0, -1]", "materials[0].emission[2]: -1 is out of range"),
        ("ior = 0", "materials[0].ior: 0 is out of range"),
    ] {
        let text = format!(
            "camera = {{ from = [0, 0, 1], at = [0, 0, 0] }}\nobjects = []\n[[materials]]\nname = 'a'\n\
             type = 'principled'\n{keys}\n"
        );
        let text = refusal(Scene::parse(&text, Format::Toml, Path::new("t.toml")));
        assert!(text.contains("t.toml:6:") && text.contains(place), "{text}");
    }
    let stress = Scene::load(&case("E96/stress.json")).expect("a good scene");
    assert_eq!(stress.materials[2], Material::Metal { albedo: Vec3::ONE, fuzz: 1.0 });
}

#[test]
fn both_formats_give_the_same_scene() {
    let from_toml = toml(
        "[image]\nwidth = 8\n[camera]\nfrom = [1, 2.5, 3]\nat = [0, 0, 0]\n[[materials]]\nname = 'm'\n\
         type = 'lambert'\nalbedo = [0.1, 0.2, 0.3]\n[[objects]]\ntype = 'sphere'\ncenter = [0, 0, 0]\n\
         radius = 1e-1\nmaterial = 'm'\n",
    );
    let from_json = json(
        r#"{"image": {"width": 8}, "camera": {"from": [1, 2.5, 3], "at": [0, 0, 0]},
            "materials": [{"name": "\u006d", "type": "lambert", "albedo": [0.1, 0.2, 0.3]}],
            "objects": [{"type": "sphere", "center": [0, 0, 0], "radius": 1e-1, "material": "m"}]}"#,
    );
    assert_eq!(from_toml.expect("good TOML"), from_json.expect("good JSON"));
}

#[test]
fn json_null_is_a_key_that_is_not_there() {
    let scene = |keys: &str| {
        json(&format!(
            r#"{{"camera": {{"from": [0, 0, 3], "at": [0, 0, 0], "up": null}}, "image": {{{keys}}}}}"#
        ))
    };
    assert_eq!(
        scene(r#""spp": null, "width": 9"#).expect("a scene"),
        scene(r#""width": 9"#).expect("a scene")
    );
    assert_refused(json(r#"{"camera": null}"#), "s.json", "`camera` is missing");
}

#[test]
fn what_is_left_out_has_the_documented_defaults() {
    let scene = with_camera("").expect("a camera is enough");
    let image = scene.image;
    assert_eq!((image.width, image.height, image.spp, image.max_depth, image.seed), (1280, 720, 64, 16, 0));
    assert!(image.jitter && !scene.shadows);
    assert_eq!(scene.integrator, Integrator::Path);
    assert_eq!((scene.ray_offset, scene.roulette_depth, scene.max_radiance), (None, None, None));
    assert_eq!((scene.background.down, scene.background.up), (Vec3::ONE, Vec3::new(0.5, 0.7, 1.0)));
    // tan(20 degrees)
    assert_eq!(scene.camera.up, Vec3::new(0.0, 0.363_970_23, 0.0));
    let view = flatten::view(&scene);
    assert_eq!((view.ray_offset, view.t_min), (-(2f32.powi(-20)), 0.0));
    assert_eq!(view.roulette_depth, flatten::ROULETTE_NEVER);
}

#[test]
fn wrong_types_and_keys_point_at_themselves() {
    assert_refused(toml("a = 1"), "s.toml:1:1: a: ", "unknown key `a` (known here: image, camera");
    assert_refused(toml("[image]\nwidht = 3"), "s.toml:2:1: image.widht: ", "did you mean `width`?");
    assert_refused(toml("image = 3"), "s.toml:1:1: image: ", "expected a table");
    assert_refused(toml("image = [1, 2, 3, 4, 5, true]"), "s.toml:1:1: image: ", "list, expected a table");
    assert_refused(toml("image.width = 'a'"), "s.toml:1:7: image.width: ", "expected a whole number");
    assert_refused(toml("image.width = 1.5"), "s.toml:1:7: image.width: ", "expected a whole number");
    assert_refused(toml("image = 1979-05-27"), "s.toml:1:1: image: ", "a date is not allowed here");
    assert_refused(toml("image.width = 1979-05-27"), "s.toml:1:7: image.width: ", "expected a whole number");
    assert_refused(
        toml("image.seed = -1"),
        "s.toml:1:7: image.seed: -1 ",
        "allowed: 0 to 18446744073709551615",
    );
    assert_refused(with_camera("ambient = [1, 2]"), "s.toml:2:1: ambient: ", "expected a list of length 3");
    let light = |color: &str| {
        with_camera(&format!("[[lights]]\ntype = 'point'\nposition = [0, 0, 0]\ncolor = {color}"))
    };
    assert_refused(
        light("[1, 1, 1, 1]"),
        "s.toml:5:1: lights[0].color: ",
        "length 4, expected a list of length 3",
    );
    let sixteen = format!("[{}]", "1, ".repeat(16));
    assert_refused(
        light(&sixteen),
        "s.toml:5:1: lights[0].color: ",
        "length 16, expected a list of length 3",
    );
    let json_light = r#"{"lights": [{"color": [1, 1, 1, 1]}]}"#;
    assert_refused(
        json(json_light),
        "s.json:1:14: lights[0].color: ",
        "length 4, expected a list of length 3",
    );
    assert_refused(with_camera("ambient = [1, 2,\n  true]"), "s.toml:3:3: ambient[2]: ", "expected a number");
    assert_refused(json("[1]"), "s.json:1:1: ", "list, expected a table");
    assert_refused(json("{\"image\": {\"width\": 1,\n \"width\": 2}}"), "s.json:2:2: image.width: ", "twice");
    assert_refused(json("{\"x\": [{\"a\\\"]\": \"}\"}],\n\"y\": 1}"), "s.json:1:2: x: ", "unknown key `x`");
    let escaped = "{\"image\": {\"width\": 9, \"\\u0077idth\": [\"}\\\\\"]}}";
    assert_refused(json(escaped), "s.json:1:24: image.width: ", "twice");
}

#[test]
fn what_must_be_there_is_asked_for() {
    assert_refused(json("{}"), "s.json:1:1: ", "the key `camera` is missing");
    assert_refused(toml("[camera]\nfrom = [0, 0, 0]"), "s.toml:1:2: camera: ", "the key `at` is missing");
    assert_refused(with_camera("[[objects]]"), "s.toml:2:1: objects[0]: ", "the key `type` is missing");
    let sphere = "[[objects]]\ntype = 'sphere'\ncenter = [0, 0, 0]\n";
    assert_refused(with_camera(sphere), "s.toml:2:1: objects[0]: ", "the key `radius` is missing");
}

#[test]
fn materials_are_found_by_name() {
    let glass = "[[materials]]\nname = 'glass'\ntype = 'dielectric'\n";
    let sphere = "[[objects]]\ntype = 'sphere'\ncenter = [0, 0, 0]\nradius = 1\nmaterial = 'glas'\n";
    let wrong = with_camera(&format!("{glass}{sphere}"));
    assert_refused(
        wrong,
        "s.toml:9:1: objects[0].material: ",
        "no material is called \"glas\", did you mean \"glass\"?",
    );
    assert_refused(
        with_camera(&format!("{glass}{glass}")),
        "s.toml:6:1: materials[1].name: ",
        "\"glass\" is already the name of materials[0]",
    );
    let fuzzy = with_camera(&format!("{glass}fuzz = 1"));
    assert_refused(fuzzy, "s.toml:5:1: materials[0].fuzz: ", "has no meaning for type \"dielectric\"");
    let plaster = with_camera("materials = [{ name = 'a', type = 'plaster' }]");
    assert_refused(plaster, "s.toml:2:28: materials[0].type: \"plaster\" is unknown", "lambert, metal");
}

#[test]
fn each_number_has_its_range() {
    for (entry, key) in [
        ("image.width = 0", "image.width: 0 "),
        ("image.height = 65537", "image.height: 65537 "),
        ("image.width = 65536\nimage.height = 65536", "image: 65536 x 65536 "),
        ("image.spp = 0", "image.spp: 0 "),
        ("image.spp = 1048576", "image.spp: 1048576 "),
        ("image.max_depth = 4096", "image.max_depth: 4096 "),
        ("image.seed = 340282366920938463463374607431768211455", "image.seed: "),
        ("render.ray_offset = 0", "render.ray_offset: 0 "),
        ("render.russian_roulette_depth = -1", "render.russian_roulette_depth: -1 "),
        ("render.integrator = 'bdpt'", "render.integrator: \"bdpt\" "),
        ("film.max_radiance = 0", "film.max_radiance: 0 "),
        ("ambient = [0, -1, 0]", "ambient[1]: -1 "),
        ("background.constant = [0, 0, inf]", "background.constant[2]: inf "),
        ("background = { constant = [0, 0, 0], gradient = {} }", "background.constant: has no effect"),
        ("lights = [{ type = 'directional', direction = [0, 0, 0] }]", "lights[0].direction: has length 0"),
        ("lights = [{ type = 'point', position = [0, 0, 1e10] }]", "lights[0].position[2]: 1e10 "),
        (
            "materials = [{ name = 'a', type = 'metal', albedo = [1, 1, 1], fuzz = 1.1 }]",
            "materials[0].fuzz: 1.1 ",
        ),
        ("materials = [{ name = 'a', type = 'dielectric', ior = 0 }]", "materials[0].ior: 0 "),
        ("objects = [{ type = 'sphere', center = [0, 0, 0], radius = -1 }]", "objects[0].radius: -1 "),
        ("objects = [{ type = 'plane', normal = [0, 0, 0], offset = 1 }]", "objects[0].normal: has length 0"),
        ("objects = [{ type = 'plane', normal = [0, 1, 0], offset = inf }]", "objects[0].offset: inf "),
        ("objects = [{ type = 'plane', normal = [0, 1, 0], offset = 1e10 }]", "objects[0].offset: 1e10 "),
        ("objects = [{ type = 'cube' }]", "objects[0].type: \"cube\" is unknown"),
    ] {
        let text = refusal(with_camera(entry));
        assert!(text.contains(&format!(": {key}")), "{text}\nwanted: {key}");
    }
    for camera in
        ["vfov_deg = 0", "vfov_deg = nan", "up = [0, 0, 0]", "plane = { right = [1, 0, 0], up = [2, 0, 0] }"]
    {
        refusal(toml(&format!("[camera]\nfrom = [0, 0, 3]\nat = [0, 0, 0]\n{camera}")));
    }
}

#[test]
fn counts_have_limits() {
    let light = "{ type = 'point', position = [0, 0, 0] },";
    with_camera(&format!("lights = [{}]", light.repeat(64))).expect("64 lights are allowed");
    let text = refusal(with_camera(&format!("lights = [{}]", light.repeat(65))));
    assert!(text.contains("s.toml:2:1: lights: too many lights; allowed: at most 64"), "{text}");
    let floor = "{ type = 'plane', normal = [0, 1, 0], offset = 0, material = 'a' },";
    let materials = "materials = [{ name = 'a', type = 'dielectric' }]\n";
    let text = refusal(with_camera(&format!("{materials}objects = [{}]", floor.repeat(1025))));
    assert!(text.contains("objects: too many planes; allowed: at most 1024"), "{text}");
}

#[test]
fn broken_texts_are_refused_at_their_place() {
    assert_refused(toml(""), "s.toml:1:1: ", "the file is empty");
    assert_refused(json("\u{feff} \r\n"), "s.json:1:1: ", "the file is empty");
    assert_refused(toml("a = 1\r\nb = [\r\n"), "s.toml:", "not valid TOML");
    assert_refused(toml("a = 1\r\na = 2"), "s.toml:2:1: ", "not valid TOML: duplicate key");
    assert_refused(json("{\"image\": {},\r\n,}"), "s.json:2:1: ", "not valid JSON");
    assert_refused(json("{\"camera\": {\"from\": [1, 2,\n1e999]}}"), "s.json:2:", "number out of range");
    let good = r#"{"camera": {"from": [0, 0, 1], "at": [0, 0, 0]}}"#;
    json(&format!("\u{feff}{good}\r\n")).expect("a byte order mark is skipped");
    assert_refused(json(&format!("{good}\nx")), "s.json:2:1: ", "trailing characters");
    assert_refused(toml(&format!("a = {}", "[".repeat(100_000))), "s.toml:1:", "");
    assert_refused(
        toml(&format!("a = {}1{}", "[".repeat(70), "]".repeat(70))),
        "s.toml:1:1: ",
        "unknown key",
    );
    assert_refused(json(&"[".repeat(100_000)), "s.json:1:", "expected a table");
    assert_refused(json(&format!("{{\"ambient\": {}", "[".repeat(100_000))), "s.json:1:", "");
    assert_refused(toml(&format!("\"a\\n{}\" = 1", "x".repeat(100_000))), "s.toml:1:1: ", "...");
}

#[test]
fn files_that_are_no_scenes_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("writable");
        refusal(Scene::load(&path))
    };
    assert!(file("a.toml", b"").contains("a.toml:1:1: the file is empty"));
    assert!(file("b.toml", b"x = 1\ny = '\xff'").contains("b.toml:2:6: not UTF-8 text"));
    assert!(file("c.yaml", b"").contains("ends in .toml or .json"));
    assert!(file("d", b"").contains("ends in .toml or .json"));
    assert!(
        refusal(Scene::load(&folder.path().join("none.toml")))
            .contains("none.toml: cannot read the scene: No such")
    );
    std::fs::create_dir(folder.path().join("e.json")).expect("writable");
    assert!(
        refusal(Scene::load(&folder.path().join("e.json")))
            .contains("e.json: cannot read the scene: it is a folder; give a scene file")
    );
}

/// Small damage anywhere gives a scene or a one-line error, never a panic.
#[test]
fn damaged_files_never_panic() {
    const MARKS: &[u8] = b"{}[]\",:=0-+eE.\n\\ nixtz";
    let toml_text = std::fs::read_to_string(root("scenes/cornell.toml")).expect("shipped");
    let json_text = std::fs::read_to_string(case("E96/stress.json")).expect("shipped");
    let (mut state, mut refused) = (1u64, 0);
    let mut random = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for (text, format) in [(toml_text, Format::Toml), (json_text, Format::Json)] {
        for _ in 0..3000 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                match random(3) {
                    0 => bytes[at] = MARKS[random(MARKS.len())],
                    1 => drop(bytes.drain(at..(at + 1 + random(9)).min(bytes.len()))),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let damaged = String::from_utf8_lossy(&bytes);
            if let Err(error) = Scene::parse(&damaged, format, Path::new("s")) {
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
                assert!(error.to_string().starts_with("s:"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 3000, "only {refused} refusals: the damage does no damage");
}

#[test]
fn shipped_scenes_are_the_reference_scenes() {
    let complex = Scene::load(&root("scenes/complex.toml")).expect("a good scene");
    assert_eq!((complex.spheres.len(), complex.planes.len(), complex.image.max_depth), (103, 1, 3));
    for iz in 0..10 {
        for ix in 0..10 {
            let sphere = complex.spheres[iz * 10 + ix];
            let center = Vec3::new((ix as f32 - 4.5) * 0.55, 0.25, -2.0 - 0.55 * iz as f32);
            assert!(sphere.center.abs_diff_eq(center, 1e-6) && sphere.radius == 0.22, "{sphere:?}");
            // Material 0 is the floor's.
            assert_eq!(sphere.material as usize, 1 + (ix + 7 * iz) % 7);
        }
    }
    let cornell = Scene::load(&root("scenes/cornell.toml")).expect("a good scene");
    assert_eq!((cornell.spheres.len(), cornell.planes.len(), cornell.image.max_depth), (2, 5, 5));
    for scene in [&complex, &cornell] {
        assert_eq!((scene.camera.right, scene.camera.up), (Vec3::X, Vec3::Y));
        assert_eq!(
            (scene.integrator, scene.shadows, scene.image.jitter),
            (Integrator::Whitted, false, false)
        );
        assert_eq!((scene.image.width, scene.image.height, scene.image.spp), (1280, 720, 1));
        let Light::Directional { direction, color } = scene.lights[0] else { panic!("a directional light") };
        assert!(direction.abs_diff_eq(Vec3::new(-0.440_225_45, 0.880_450_9, 0.176_090_18), 1e-7));
        assert_eq!(color, Vec3::ONE);
        assert_eq!(scene.largest_contribution(), 1.05);
        let view = flatten::view(scene);
        assert_eq!((view.ray_offset, view.t_min, view.jitter), (1e-4, 1e-4, 0.0));
    }
    for path in ["scenes/sunflower.toml", "scenes/long-tail.toml"] {
        assert_eq!(Scene::load(&root(path)).expect("a good scene").integrator, Integrator::Path);
    }
}

#[test]
fn the_example_of_the_documentation_is_a_scene() {
    let text = std::fs::read_to_string(root("docs/scene-format.md")).expect("shipped");
    let example =
        text.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let scene = toml(example).expect("a good scene");
    assert_eq!((scene.materials.len(), scene.spheres.len(), scene.planes.len()), (3, 2, 1));
    assert_eq!(scene.largest_contribution(), 4.0);
}

#[test]
fn overrides_are_checked_and_change_the_aspect() {
    let scene = Scene::load(&root("scenes/cornell.toml")).expect("a good scene");
    let set = |o: Overrides| scene.clone().with_overrides(&o);
    let small = set(Overrides {
        width: Some(100),
        height: Some(50),
        spp: Some(2),
        depth: Some(0),
        seed: Some(1 << 40),
    });
    let small = small.expect("good numbers");
    let view = flatten::view(&small);
    assert_eq!((view.width, view.height, view.aspect, view.max_depth), (100, 50, 2.0, 0));
    assert_eq!((small.image.spp, view.seed_low, view.seed_high), (2, 0, 1 << 8));
    assert_eq!(set(Overrides::default()).expect("nothing changes"), scene);
    let text = refusal(set(Overrides { width: Some(0), ..Default::default() }));
    assert_eq!(text, "--width 0 is out of range; allowed: 1 to 65536");
    let text = refusal(set(Overrides { width: Some(65536), height: Some(32769), ..Default::default() }));
    assert!(text.contains("65536 x 32769 are 2147549184 pixels"), "{text}");
    set(Overrides { width: Some(65536), height: Some(32768), ..Default::default() }).expect("just allowed");
}

#[test]
fn arrays_hold_the_scene_in_its_order() {
    let scene = Scene::load(&root("scenes/complex.toml")).expect("a good scene");
    let arrays = Arrays::new(&scene);
    let view = flatten::view(&scene);
    assert_eq!((arrays.sphere_batches.len(), arrays.spheres.len()), (13, 103));
    assert_eq!((view.sphere_count, view.plane_count, view.light_count), (103, 1, 1));
    for (i, sphere) in scene.spheres.iter().enumerate() {
        let (batch, place, test) = (&arrays.sphere_batches[i / 8], i % 8, &arrays.spheres[i]);
        assert_eq!([batch.x[place], batch.y[place], batch.z[place]], sphere.center.to_array());
        assert_eq!((test.centre, test.reach), (sphere.center.to_array(), batch.reach[place]));
        // Enlarged, but not by much.
        let exact = sphere.radius.powi(2) - sphere.center.length_squared();
        assert!(test.reach > exact && test.reach < exact + 1e-4 * sphere.center.length_squared());
        let shade = arrays.sphere_shades[i];
        assert_eq!((shade.radius, shade.material), (sphere.radius, sphere.material));
    }
    assert_eq!(arrays.sphere_batches[12].reach[7], f32::NEG_INFINITY);
    assert_eq!((arrays.planes[0].normal, arrays.planes[0].offset), ([0.0, 1.0, 0.0], 1.0));
    assert_eq!(arrays.materials[1].kind, flatten::MATERIAL_REFLECTIVE);
    assert_eq!((arrays.materials[1].albedo, arrays.materials[1].parameter), ([0.9; 3], 0.9));
    assert_eq!(arrays.lights[0].kind, flatten::LIGHT_DIRECTIONAL);
}

#[test]
fn a_plane_means_the_same_with_a_normal_of_any_length() {
    let materials = "materials = [{ name = 'a', type = 'dielectric' }]\n";
    let plane = "objects = [{ type = 'plane', normal = [0, -4, 0], offset = 2, material = 'a' }]";
    let scene = with_camera(&format!("{materials}{plane}")).expect("a good scene");
    assert_eq!((scene.planes[0].normal, scene.planes[0].offset), (-Vec3::Y, 0.5));
    let far = plane.replace("-4", "1e-3").replace("offset = 2", "offset = 1e8");
    let text = refusal(with_camera(&format!("{materials}{far}")));
    let wanted = "objects[0].offset: divided by the normal's length, 0.001: 1e11 is out of range; allowed: -1e9 to 1e9";
    assert!(text.contains(wanted), "{text}");
}

#[test]
fn the_film_holds_every_contribution_of_a_sample() {
    let base = with_camera("").expect("a good scene");
    for max_depth in [0, 1, 2, 3, 4, 7, 8, 63, 64, 255, 256, 1000, 4095] {
        for radiance in [1e-6, 0.3, 0.5, 1.0, 1.05, 4.0, 1e9, 1e12] {
            let mut scene = base.clone();
            scene.image.max_depth = max_depth;
            scene.max_radiance = Some(radiance);
            let FilmRange { scale, limit } = FilmRange::of(&scene);
            assert!(f64::from(limit) * f64::from(max_depth + 1) < 2f64.powi(32));
            assert!(radiance * scale <= limit);
            assert!(scale == 2f32.powi(30) || radiance * scale * 2.0 > limit);
            assert!(scale.log2().fract() == 0.0 && limit.fract() == 0.0);
        }
    }
}

#[test]
fn the_largest_contribution_counts_what_the_integrator_sees() {
    let lit = "ambient = [0.5, 0, 0]\nlights = [{ type = 'directional', direction = [0, 1, 0], color = [3, 1, 1] },\n\
               { type = 'point', position = [0, 5, 0], color = [0.01, 0, 0] }]\n";
    let glow = "materials = [{ name = 'a', type = 'lambert', albedo = [0, 0, 0], emission = [0, 2, 0] }]\n";
    let path = with_camera(&format!("{lit}{glow}")).expect("a good scene");
    // Emission and both lights; the ambient term is the whitted integrator's.
    assert!((path.largest_contribution() - 6.0).abs() < 1e-5);
    let whitted = with_camera(&format!("{lit}{glow}render.integrator = 'whitted'")).expect("a good scene");
    assert!((whitted.largest_contribution() - 6.5).abs() < 1e-6);
}
