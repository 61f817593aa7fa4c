//! Pictures with known values: furnaces, depth limits, silhouettes, and the right answers to bug reports that
//! others received (tests/cases).

mod common;

use common::{cpu, engine, every_engine, render, resized, scene};
use glam::vec3;
use rayq::engine::{EngineKind, Render, Settings};
use rayq::film::{Film, encode_srgb8};
use rayq::scene::{Format, MOST_TESTED_SPHERES, Scene, Sphere};
use std::collections::BTreeSet;
use std::path::Path;

/// The default engine's film of a case.
fn film(path: &str) -> Film {
    render(&cpu(2), &scene(path), &Settings::default())
}

/// The distinct values of all pixels and channels, as bits.
fn values(film: &Film) -> BTreeSet<u64> {
    let pixels = (0..film.height).flat_map(|y| (0..film.width).map(move |x| (x, y)));
    pixels.flat_map(|(x, y)| film.linear(x, y)).map(f64::to_bits).collect()
}

fn exactly(wanted: &[f64]) -> BTreeSet<u64> {
    wanted.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn e03_looking_along_up_is_no_trouble() {
    assert_eq!(values(&film("tests/cases/E03/scene.json")), exactly(&[0.5]));
}

#[test]
fn e05_depth_counts_surface_interactions() {
    for (depth, wanted) in [(0, 0.0), (1, 0.5), (2, 0.75), (3, 0.875)] {
        let scene = scene(&format!("tests/cases/E05/d{depth}.json"));
        for settings in every_engine() {
            let film = render(&cpu(2), &scene, &settings);
            assert_eq!(values(&film), exactly(&[wanted]), "depth {depth} {settings:?}");
        }
    }
    let deep = film("tests/cases/E05/d64.json");
    let off = (deep.linear(10, 10)[0] - 1.0).abs();
    assert!(off < 64.0 * deep.resolution(), "64 roundings of half a unit at most, got {off}");
    assert_eq!(encode_srgb8(deep.linear(0, 0)[0]), 255);
}

#[test]
fn e07_nothing_but_sky() {
    let film = film("tests/cases/E07/scene.json");
    assert_eq!(values(&film), exactly(&[0.25, 0.5, 0.75]));
    assert_eq!([0.25, 0.5, 0.75].map(encode_srgb8), [137, 188, 225]);
}

/// With many spheres paths look for them in a tree, and ask for light in another way: the picture is the same but for
/// noise. The spheres that make them many lie under the lake, where nobody sees them.
#[test]
fn many_spheres_make_the_same_picture_by_their_tree() {
    let few = resized("scenes/sunflower.toml", 64, 36, 64);
    let mut many = few.clone();
    let hidden = |i: usize| Sphere { center: vec3(i as f32, -50.0, 0.0), radius: 0.01, ..few.spheres[0] };
    many.spheres.extend((few.spheres.len()..=MOST_TESTED_SPHERES).map(hidden));
    assert!(!few.is_general() && many.is_general());
    let mean = |scene: &Scene| {
        let film = render(&cpu(2), scene, &Settings::default());
        let pixels = (0..film.height).flat_map(|y| (0..film.width).map(move |x| (x, y)));
        let sum = pixels.fold([0.0; 3], |sum, (x, y)| {
            let pixel = film.linear(x, y);
            [0, 1, 2].map(|k| sum[k] + pixel[k])
        });
        sum.map(|v| v / f64::from(film.width * film.height))
    };
    for (one, other) in mean(&few).into_iter().zip(mean(&many)) {
        assert!((one / other - 1.0).abs() < 0.01, "{one} {other}");
    }
}

#[test]
fn e43_tiles_that_do_not_divide_the_image() {
    for (name, width, height) in [("a", 8191, 3), ("b", 333, 77), ("c", 1920, 1080)] {
        let scene = scene(&format!("tests/cases/E43/{name}.json"));
        for tile in [(1, 1), (7, 7), (16, 16), (64, 64), (392, 124), (10_000, 10_000)] {
            let settings = Settings { tile: Some(tile), ..engine(EngineKind::TileQueue) };
            let film = render(&cpu(2), &scene, &settings);
            assert_eq!((film.width, film.height), (width, height));
            assert_eq!(values(&film), exactly(&[0.25, 0.5, 0.75]), "{name} {tile:?}");
        }
    }
}

/// Darker than the sky: a pixel of the object.
fn is_object(film: &Film, x: u32, y: u32) -> bool {
    film.linear(x, y)[0] < 1.0
}

/// Object pixels of a row and of a column.
fn chords(film: &Film, row: u32, column: u32) -> (usize, usize) {
    let across = (0..film.width).filter(|&x| is_object(film, x, row)).count();
    (across, (0..film.height).filter(|&y| is_object(film, column, y)).count())
}

#[test]
fn e45_spheres_are_round_whatever_the_aspect() {
    // The vertical field of view fixes the size: tan(asin(0.1 / 3)) / tan(10 degrees) of half the height.
    let radius = |film: &Film| 0.033_352 / 0.176_327 * f64::from(film.height) / 2.0;
    let wide = film("tests/cases/E45/wide.json");
    let (across, down) = chords(&wide, wide.height / 2, wide.width / 2);
    assert!(across.abs_diff(down) <= 1, "{across} x {down}");
    assert!((down as f64 - 2.0 * radius(&wide)).abs() <= 2.0, "{down}");
    // The tall image is narrower than its sphere: the edges must cut it where a circle would be cut.
    let tall = film("tests/cases/E45/tall.json");
    let (across, down) = chords(&tall, tall.height / 2, tall.width / 2);
    assert_eq!(across, 100);
    assert!((down as f64 - 2.0 * radius(&tall)).abs() <= 2.0, "{down}");
    let at_edge = 2.0 * (radius(&tall).powi(2) - 49.5f64.powi(2)).sqrt();
    let (_, edge) = chords(&tall, 0, 0);
    assert!((edge as f64 - at_edge).abs() <= 3.0, "{edge} against {at_edge}");
    let thin = film("tests/cases/E45/thin.json");
    assert_eq!((thin.width, thin.height, thin.sample_range()), (640, 1, (16, 16)));
}

#[test]
fn e60_every_sphere_of_289_is_there() {
    let scene = scene("tests/cases/E60/scene.json");
    let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel));
    assert_eq!(film("tests/cases/E60/scene.json").hash(), wanted.hash());
    assert_eq!(scene.spheres.len(), 289);
    // Each sphere in turn is made to glow: some pixel must see it.
    for lost in (0..289).step_by(36) {
        let mut without = scene.clone();
        without.spheres.remove(lost);
        let film = render(&cpu(2), &without, &engine(EngineKind::Megakernel));
        assert_ne!(film.hash(), wanted.hash(), "sphere {lost} is not in the picture");
    }
}

#[test]
fn e90_a_seed_means_one_picture() {
    let path = "tests/cases/E90/scene.json";
    let first = film(path).hash();
    for workers in [1, 3, 8] {
        for side in [16, 32, 64] {
            for settings in every_engine() {
                let settings = Settings { tile: Some((side, side)), ..settings };
                assert_eq!(render(&cpu(workers), &scene(path), &settings).hash(), first, "{settings:?}");
            }
        }
    }
    for seed in [2, 1 << 32 | 1, u64::MAX] {
        let other = rayq::scene::Overrides { seed: Some(seed), ..Default::default() };
        let other = scene(path).with_overrides(&other).expect("any seed will do");
        assert_ne!(render(&cpu(2), &other, &Settings::default()).hash(), first);
    }
}

#[test]
fn e92_huge_and_far_spheres_show_no_rings() {
    for name in ["scene", "far"] {
        let film = film(&format!("tests/cases/E92/{name}.json"));
        assert_eq!(values(&film), exactly(&[0.5, 1.0]), "{name}");
    }
}

/// A sphere of albedo a alone under a sky of radiance 1 shows exactly a, at any size and distance.
#[test]
fn furnaces_are_exact_from_a_thousandth_to_ten_thousand() {
    for radius in [1e-3, 0.1, 1.0, 37.0, 1e4] {
        let mut furnace = resized("tests/cases/E03/scene.json", 32, 32, 4);
        furnace.spheres[0].radius = radius;
        furnace.camera.eye *= radius;
        let film = render(&cpu(2), &furnace, &Settings::default());
        assert_eq!(values(&film), exactly(&[0.5]), "radius {radius}");
    }
}

#[test]
fn e96_no_sample_goes_bad() {
    let scene = resized("tests/cases/E96/stress.json", 128, 64, 256);
    let mut making = Render::new(cpu(2), &scene, &Settings::default()).expect("starts");
    while !making.advance().expect("a slice").finished {}
    let counts = making.statistics().counts;
    assert_eq!((counts.bad, counts.clamped), (0, 0));
    let film = making.film().expect("a film");
    // Nothing here gives off more light than the sky's 1.
    let most = values(&film).into_iter().map(f64::from_bits).fold(0.0, f64::max);
    assert!(most <= 1.0 + 1e-6, "{most}");
}

/// The same for a plane, seen from near and far: what is diffuse and what is mirrored never meets the plane again.
#[test]
fn plane_furnaces_are_exact_at_any_height() {
    for height in [1e-3, 0.3, 1.0, 9.0, 123.0, 1e4] {
        for offset in [0.0, 0.7, -250.0] {
            let eye = height - offset;
            let text = format!(
                "image = {{ width = 32, height = 24, spp = 4, max_depth = 3 }}\n\
                 camera = {{ from = [0.0, {eye:?}, 0.0], at = [0.3, {:?}, 0.2], vfov_deg = 100 }}\n\
                 background = {{ constant = [1, 1, 1] }}\n\
                 materials = [{{ name = 'grey', type = 'lambert', albedo = [0.5, 0.5, 0.5] }}]\n\
                 objects = [{{ type = 'plane', normal = [0, 1, 0], offset = {offset:?}, material = 'grey' }}]\n",
                eye - height
            );
            let scene = Scene::parse(&text, Format::Toml, Path::new("plane.toml")).expect("a good scene");
            let film = render(&cpu(2), &scene, &Settings::default());
            let seen: Vec<f64> = values(&film).into_iter().map(f64::from_bits).collect();
            assert!(
                seen.iter().all(|v| [0.5, 0.625, 0.75, 0.875, 1.0].contains(v)),
                "{height} {offset}: {seen:?}"
            );
            assert!(seen.contains(&0.5), "{height} {offset}: the plane is in view");
        }
    }
}

/// A plane of albedo 1/2 that faces a directional light of irradiance 4 (over pi) shows 2, with either integrator.
#[test]
fn lights_shine_on_every_integrator() {
    for integrator in ["path", "whitted"] {
        let text = format!(
            "image = {{ width = 40, height = 30, spp = 3, max_depth = 1 }}\n\
             camera = {{ from = [0, 9, 1], at = [0, 0, 0] }}\n\
             background = {{ constant = [0, 0, 0] }}\n\
             lights = [{{ type = 'directional', direction = [0, 1, 0], color = [4, 4, 4] }}]\n\
             materials = [{{ name = 'grey', type = 'lambert', albedo = [0.5, 0.5, 0.5] }}]\n\
             objects = [{{ type = 'plane', normal = [0, 1, 0], offset = 0, material = 'grey' }}]\n\
             render = {{ integrator = '{integrator}', shadows = true }}\n"
        );
        let scene = Scene::parse(&text, Format::Toml, Path::new("light.toml")).expect("a good scene");
        for settings in every_engine() {
            let mut making = Render::new(cpu(2), &scene, &settings).expect("starts");
            while !making.advance().expect("a slice").finished {}
            let counts = making.statistics().counts;
            assert_eq!((counts.bad, counts.clamped), (0, 0), "{integrator} {settings:?}");
            assert_eq!(counts.shadow, counts.primary, "a shadow ray a hit");
            assert_eq!(values(&making.film().expect("a film")), exactly(&[2.0]), "{integrator} {settings:?}");
        }
    }
}
