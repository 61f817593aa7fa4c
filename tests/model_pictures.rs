//! Scenes with models: pixels that bug reports others received say exactly (tests/cases), and errors that go through.

mod common;

use common::{cpu, every_engine, file, render, resized, scene};
use rayq::engine::{Render, Settings};
use rayq::film::{Film, decode_srgb, encode_srgb8};
use rayq::scene::{Format, Overrides, Scene};
use serde_json::{Value, json};

/// The default engine's film of a case.
fn film(case: &str) -> Film {
    render(&cpu(2), &scene(&format!("tests/cases/{case}.json")), &Settings::default())
}

/// Asserts that every pixel lies within `off` of `wanted`.
#[track_caller]
fn assert_all(case: &str, wanted: [f64; 3], off: f64) {
    let film = film(case);
    for (x, y) in (0..film.height).flat_map(|y| (0..film.width).map(move |x| (x, y))) {
        let got = film.linear(x, y);
        let near = got.iter().zip(wanted).all(|(got, wanted)| (got - wanted).abs() <= off);
        assert!(near, "{case}: pixel {x}, {y} is {got:?} and not {wanted:?}");
    }
}

/// A case that is made for plain scenes, changed so that the kernels for general ones trace it.
fn general(case: &str, change: impl Fn(&mut Value)) -> Scene {
    let path = file(&format!("tests/cases/{case}.json"));
    let text = std::fs::read_to_string(&path).expect("there");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut value);
    let scene = Scene::parse(&value.to_string(), Format::Json, &path).expect("fine");
    assert!(scene.is_general());
    scene
}

/// Adds a textured square above what the scene has.
fn add_textured(scene: &mut Value) {
    let square = json!({ "type": "mesh", "file": "../E34/v.gltf", "translate": [0, 1.2, 0], "scale": 0.3 });
    scene["objects"].as_array_mut().expect("a list").push(square);
}

#[test]
fn e05_depth_counts_surface_interactions_in_meshes_too() {
    let inside_a_box = |scene: &mut Value| {
        let cube = json!({ "type": "mesh", "generator": { "kind": "box" }, "material": "glow", "scale": 10 });
        scene["objects"] = json!([cube]);
        // Light that is asked for instead of met is as much only in the mean.
        scene["render"] = json!({ "light_sampling": "surfaces" });
    };
    for (depth, wanted) in [(0, 0.0), (1, 0.5), (2, 0.75), (3, 0.875), (64, 1.0)] {
        let scene = general(&format!("E05/d{depth}"), inside_a_box);
        for settings in every_engine() {
            let film = render(&cpu(2), &scene, &settings);
            let off = f64::from(depth) * film.resolution();
            for (x, y) in [(0, 0), (10, 10), (33, 40), (63, 63)] {
                let [r, g, b] = film.linear(x, y).map(|value| (value - wanted).abs() <= off);
                assert!(r && g && b, "depth {depth}: {:?}, {settings:?}", film.linear(x, y));
            }
        }
    }
}

#[test]
fn e90_a_seed_means_one_picture_with_meshes_too() {
    let small = Overrides { width: Some(100), height: Some(60), spp: Some(2), ..Overrides::default() };
    let scene = general("E90/scene", add_textured).with_overrides(&small).expect("a size");
    let first = render(&cpu(2), &scene, &Settings::default()).hash();
    for workers in [1, 3, 8] {
        for side in [16, 32, 64] {
            for settings in every_engine() {
                let settings = Settings { tile: Some((side, side)), ..settings };
                assert_eq!(render(&cpu(workers), &scene, &settings).hash(), first, "{settings:?}");
            }
        }
    }
    let other = scene.with_overrides(&Overrides { seed: Some(2), ..Overrides::default() }).expect("a seed");
    assert_ne!(render(&cpu(2), &other, &Settings::default()).hash(), first);
}

#[test]
fn e96_no_sample_goes_bad_with_meshes_and_textures() {
    let size = Overrides { width: Some(128), height: Some(64), spp: Some(64), ..Overrides::default() };
    let scene = general("E96/stress", add_textured).with_overrides(&size).expect("a size");
    let mut making = Render::new(cpu(2), &scene, &Settings::default()).expect("starts");
    while !making.advance().expect("a slice").finished {}
    let counts = making.statistics().counts;
    assert_eq!((counts.bad, counts.clamped), (0, 0));
    let film = making.film().expect("a film");
    // Nothing here gives off more light than the sky's 1.
    for (x, y) in (0..film.height).flat_map(|y| (0..film.width).map(move |x| (x, y))) {
        let pixel = film.linear(x, y);
        assert!(pixel.iter().all(|value| (0.0..=1.0 + 1e-3).contains(value)), "{x}, {y}: {pixel:?}");
    }
}

#[test]
fn e11_notches_stay_open_and_the_rest_is_closed() {
    assert_all("E11/dart", [1.0; 3], 0.0);
    assert_all("E11/quad", [0.5; 3], 0.0);
    assert_all("E11/penta", [0.5; 3], 0.0);
}

#[test]
fn e13_a_polygon_of_a_thousand_corners_fills_the_view() {
    assert_all("E13/scene", [0.5; 3], 0.0);
    assert_all("E13/cont", [0.5; 3], 0.0);
}

#[test]
fn e15_degenerate_triangles_do_no_harm() {
    assert_all("E15/scene", [0.5; 3], 0.0);
    let scene = scene("tests/cases/E15/scene.json");
    assert!(
        scene.warnings.iter().any(|w| w.ends_with("2 degenerate triangles were left out")),
        "{:?}",
        scene.warnings
    );
}

#[test]
fn e19_normals_against_the_face_do_no_harm() {
    assert_all("E19/opp", [0.5; 3], 0.0);
    assert_all("E19/perp", [0.25; 3], 0.25);
}

#[test]
fn e21_four_squares_from_four_kinds_of_index() {
    let film = film("E21/row");
    let squares = (0..film.width).filter(|&x| film.linear(x, film.height / 2) == [0.5; 3]).count();
    let between = (0..film.width).filter(|&x| film.linear(x, film.height / 2) == [1.0; 3]).count();
    assert!(
        squares > 4 && between > 4 && film.width as usize - squares - between <= 8,
        "{squares} and {between}"
    );
    let mut steps = 0;
    for x in 1..film.width {
        let dark = |x: u32| film.linear(x, film.height / 2)[0] < 0.75;
        steps += u32::from(dark(x) && !dark(x - 1)) + u32::from(x == 1 && dark(0));
    }
    assert_eq!(steps, 4, "squares across the picture");
}

#[test]
fn e23_a_mirrored_node_is_mirrored_and_no_darker() {
    let film = film("E23/scene");
    let row = film.height / 2;
    assert_eq!(film.linear(film.width / 4, row), [0.0, 0.5, 0.0], "green on the left");
    assert_eq!(film.linear(3 * film.width / 4, row), [0.5, 0.0, 0.0], "red on the right");
}

#[test]
fn e27_buffers_with_odd_names_are_found() {
    for name in ["enc", "raw", "pct"] {
        assert_all(&format!("E27/{name}"), [0.5; 3], 0.0);
    }
}

#[test]
fn e30_a_turned_texture_shows_the_right_texel() {
    let wanted = decode_srgb(160.0 / 255.0);
    assert_all("E30/scene", [wanted; 3], 1e-6);
    assert_eq!(encode_srgb8(film("E30/scene").linear(7, 7)[1]), 160);
}

#[test]
fn e32_palettes_show_their_colours() {
    let entry = [40.0, 80.0, 120.0].map(|c: f64| decode_srgb(c / 255.0));
    for (name, wanted) in
        [("p1", [1.0, 0.0, 0.0]), ("p2", [1.0, 0.0, 0.0]), ("p4", entry), ("p8", entry), ("q8", entry)]
    {
        assert_all(&format!("E32/{name}"), wanted, 1e-6);
    }
}

#[test]
fn e34_textures_are_the_right_way_up() {
    // Light that surfaces send on is exact to a few units of the last place.
    assert_all("E34/obj", [0.0, 0.0, 1.0], 1e-6);
    assert_all("E34/gltf", [1.0, 0.0, 0.0], 1e-6);
}

/// The layer beside the picture has what the texture says there, not its factor alone.
#[test]
fn albedos_of_first_hits_are_textured() {
    let albedos = |case: &str| {
        let scene = scene(&format!("tests/cases/{case}.json"));
        let render = Render::new(cpu(2), &scene, &Settings::default()).expect("a render that starts");
        render.first_hits().expect("hits").iter().map(|hit| hit.albedo).collect::<Vec<_>>()
    };
    let third_row = decode_srgb(160.0 / 255.0) as f32;
    for (case, wanted) in
        [("E34/obj", [0.0, 0.0, 1.0]), ("E34/gltf", [1.0, 0.0, 0.0]), ("E30/scene", [third_row; 3])]
    {
        for albedo in albedos(case) {
            assert!(albedo.iter().zip(wanted).all(|(a, w)| (a - w).abs() < 1e-6), "{case}: {albedo:?}");
        }
    }
    // A material without a texture has its own.
    assert!(albedos("E23/scene").iter().all(|a| [[0.0; 3], [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]].contains(a)));
}

#[test]
fn what_is_wrong_in_a_model_ends_the_scene() {
    for (case, parts) in [
        ("E09/hi", ["E09/hi.json:48:4: objects[0].file: ", "E09/hi.obj:4: f: `9`: there is no vertex 9"]),
        ("E25/scene", ["objects[0].file: ", "cyc.gltf: nodes[0] > nodes[1] > nodes[0]"]),
        ("E27/gone", ["objects[0].file: ", "not here.bin"]),
        ("E29/count", ["objects[0].file: ", "count.gltf: accessors[0]: needs 12000 bytes"]),
        ("E29/index", ["objects[0].file: ", "index.gltf: accessors[1]: element 2 is index 77 of 4"]),
        ("E29/short", ["objects[0].file: ", "short.gltf: buffers[0]: byteLength is 4096"]),
        ("E36/big", ["objects[0].file: ", "big.png: 100000 x 100000 texels are too many"]),
        ("E36/cut", ["objects[0].file: ", "cut.png: is broken"]),
        ("E36/notpng", ["objects[0].file: ", "notpng.png: is not a PNG"]),
    ] {
        let error = Scene::load(&file(&format!("tests/cases/{case}.json"))).expect_err("a wrong model");
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)) && text.lines().count() == 1, "{text}");
        assert_eq!(error.exit_code(), 2);
    }
}

/// What gltf-sampler.toml shows at 64x36 with two samples a pixel. A change that means to alter it says so in the
/// changelog.
const SAMPLER: &str = "fe4e0d28ee321d89ac3f94aab41799df";

#[test]
fn engines_agree_on_the_sampler() {
    let scene = resized("scenes/gltf-sampler.toml", 64, 36, 2);
    for settings in every_engine() {
        assert_eq!(render(&cpu(2), &scene, &settings).hash(), SAMPLER, "{settings:?}");
    }
}
