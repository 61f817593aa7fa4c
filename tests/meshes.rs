//! Triangles: trees that never show, edges that never leak, rays that never meet the surface they left.

mod common;

use common::{cpu, engine, every_engine, file, render};
use glam::{Affine3A, EulerRot, Mat3, Quat, Vec3};
use rayq::accel::Shape;
use rayq::device::Device;
use rayq::engine::ray_probe::{By, RayProbe};
use rayq::engine::{EngineKind, Settings};
use rayq::film::Film;
use rayq::layout::{ProbeHit, ProbeRay};
use rayq::model::Mesh;
use rayq::model::generate::{self, Generator, Relief};
use rayq::scene::{Format, Instance, Overrides, Scene, Sphere};
use rayq_sim::{Options, SimDevice};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const NOTHING: u32 = u32::MAX;
const FAR: f32 = 1.0e17;

/// A grey scene under a white sky, with whatever objects.
fn scene(objects: &str) -> rayq::error::Result<Scene> {
    let text = format!(
        "camera = {{ from = [0, 0, 3], at = [0, 0, 0], vfov_deg = 40 }}\n\
         image = {{ width = 48, height = 36, spp = 4, max_depth = 8 }}\n\
         background.constant = [1, 1, 1]\n\
         materials = [{{ name = 'grey', type = 'lambert', albedo = [0.5, 0.5, 0.5] }}]\n{objects}"
    );
    Scene::parse(&text, Format::Toml, Path::new("test.toml"))
}

/// Adds a grey mesh.
fn add(scene: &mut Scene, mesh: &Arc<Shape>, transform: Affine3A) {
    let known = scene.meshes.iter().position(|m| Arc::ptr_eq(m, mesh));
    let index = known.unwrap_or_else(|| {
        scene.meshes.push(mesh.clone());
        scene.meshes.len() - 1
    });
    scene.instances.push(Instance { mesh: index as u32, transform, material: Some(0), first_material: 0 });
}

fn shape(triangles: Vec<[Vec3; 3]>) -> Arc<Shape> {
    let count = triangles.len() as u32;
    Arc::new(Shape::new(Arc::new(Mesh {
        positions: triangles.into_iter().flatten().collect(),
        triangles: (0..count).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect(),
        surfaces: vec![0; count as usize],
        ..Mesh::default()
    })))
}

fn bumpy(subdivisions: u32, amplitude: f64) -> Mesh {
    generate::mesh(&Generator::Sphere { subdivisions, relief: Relief { amplitude, frequency: 4.0, seed: 3 } })
}

fn ray(origin: Vec3, direction: Vec3) -> ProbeRay {
    ProbeRay { origin: origin.into(), t_max: FAR, direction: direction.into(), reserved: 0 }
}

/// What tells hits apart, counts left out.
fn hit(h: &ProbeHit) -> (u32, u32, u32) {
    (h.t.to_bits(), h.instance, h.number)
}

/// Numbers that look random (xorshift).
struct Dice(u32);

impl Dice {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
    /// In -1..1.
    fn signed(&mut self) -> f32 {
        (self.next() >> 8) as f32 / (1 << 23) as f32 - 1.0
    }
    fn point(&mut self) -> Vec3 {
        Vec3::new(self.signed(), self.signed(), self.signed())
    }
    fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }
}

/// Triangles of all sizes, flat ones along the axes, slivers, shared edges, and every fifth one twice.
fn soup(dice: &mut Dice, count: usize) -> Arc<Shape> {
    let mut triangles: Vec<[Vec3; 3]> = vec![];
    while triangles.len() < count {
        let size = [1.0, 0.3, 0.03, 0.001][dice.below(4) as usize];
        let a = dice.point();
        let mut corners = [a, a + dice.point() * size, a + dice.point() * size];
        match dice.below(6) {
            0 => corners.iter_mut().for_each(|c| c.y = a.y),
            1 => corners.iter_mut().for_each(|c| c.x = 0.25),
            2 => corners[2] = corners[1] + (corners[1] - a) * 0.5 + dice.point() * (size * 1e-3),
            3 => corners[0] = triangles.last().map_or(a, |t| t[1]),
            _ => {}
        }
        triangles.push(corners);
        if triangles.len().is_multiple_of(5) {
            triangles.push(corners);
        }
    }
    shape(triangles)
}

/// Spheres, planes and two soups in five places: moved, turned, stretched, mirrored, and one twice in the same place.
fn nasty(seed: u32, triangles: usize) -> Scene {
    let mut dice = Dice(seed);
    let mut scene =
        scene("objects = [{ type = 'plane', normal = [0, 1, 0], offset = 2, material = 'grey' }]")
            .expect("fine");
    let soups = [soup(&mut dice, triangles), soup(&mut dice, triangles / 2)];
    for i in 0..5 {
        let angles = dice.point() * 3.0;
        let turn = Quat::from_euler(EulerRot::XYZ, angles.x, angles.y, angles.z);
        let scale = [Vec3::ONE, Vec3::new(2.0, 0.5, -1.0), Vec3::splat(0.1)][i % 3];
        let map = Affine3A::from_scale_rotation_translation(scale, turn, dice.point() * 2.0);
        let map = if i == 0 { Affine3A::IDENTITY } else { map };
        add(&mut scene, &soups[i % 2], map);
        if i == 3 {
            add(&mut scene, &soups[i % 2], map);
        }
    }
    for _ in 0..20 {
        let radius = [0.5, 0.05, 0.2][dice.below(3) as usize];
        scene.spheres.push(Sphere { center: dice.point() * 2.0, radius, material: 0 });
    }
    scene.spheres.push(scene.spheres[0]);
    scene
}

/// Rays from everywhere to everywhere; many along axes, with zeros of both signs; many at corners of triangles.
fn rays(scene: &Scene, seed: u32, count: usize) -> Vec<ProbeRay> {
    let mut dice = Dice(seed);
    let corner = |dice: &mut Dice| {
        let instance = &scene.instances[dice.below(scene.instances.len() as u32) as usize];
        let positions = &scene.meshes[instance.mesh as usize].mesh.positions;
        match positions.len() {
            0 => dice.point(),
            n => instance.transform.transform_point3(positions[dice.below(n as u32) as usize]),
        }
    };
    (0..count)
        .map(|_| {
            let far = [0.5, 3.0, 300.0][dice.below(3) as usize];
            let origin = dice.point() * far;
            let target = if dice.below(2) == 0 { corner(&mut dice) } else { dice.point() * 2.0 };
            let mut direction = target - origin;
            match dice.below(5) {
                0 => direction.x = 0.0,
                1 => direction.y = -0.0,
                2 => (direction.x, direction.z) = (-0.0, 0.0),
                _ => {}
            }
            let fallback = if direction.length() > 0.0 { direction } else { Vec3::Y };
            ray(origin, fallback.normalize())
        })
        .collect()
}

fn assert_trees_agree(device: &Arc<dyn Device>, scene: &Scene, rays: &[ProbeRay]) {
    let probe = RayProbe::new(device, scene).expect("a scene with trees");
    let (wanted, _) = probe.trace(rays, By::Everything).expect("tests of everything");
    for by in [By::Trees, By::TreesCounted] {
        let (found, _) = probe.trace(rays, by).expect("walks");
        for (i, (f, w)) in found.iter().zip(&wanted).enumerate() {
            assert_eq!(hit(f), hit(w), "{by:?}, {:?}: {f:?} instead of {w:?}", rays[i]);
        }
    }
    let hits = wanted.iter().filter(|h| h.number != NOTHING).count();
    assert!(hits > rays.len() / 10, "{hits} of {} rays hit anything", rays.len());
}

#[test]
fn trees_find_what_testing_everything_finds() {
    for seed in 1..7 {
        let scene = nasty(seed, 400);
        assert_trees_agree(&cpu(2), &scene, &rays(&scene, seed + 100, 20_000));
    }
    // Piles, which the tree splits by itself: spheres and meshes about one middle.
    let mut scene = nasty(3, 50);
    for i in 0..300 {
        let (center, radius) = (Vec3::new(0.5, 0.25, -0.5), 0.2 + i as f32 / 1000.0);
        scene.spheres.push(Sphere { center, radius, material: 0 });
        let grown = Affine3A::from_translation(center) * Affine3A::from_scale(Vec3::splat(1.0 + radius));
        scene.instances.push(Instance { transform: grown, ..scene.instances[0] });
    }
    assert_trees_agree(&cpu(2), &scene, &rays(&scene, 8, 3000));
    // Few things, down to none: roots that are leaves, or empty.
    for triangles in [1, 2, 5, 12] {
        let scene = nasty(99, triangles);
        assert_trees_agree(&cpu(2), &scene, &rays(&scene, 7, 3000));
    }
}

#[test]
fn trees_find_the_same_in_waves() {
    let scene = nasty(5, 60);
    let rays = rays(&scene, 11, 300);
    let (wanted, _) =
        RayProbe::new(&cpu(1), &scene).and_then(|p| p.trace(&rays, By::Everything)).expect("hits");
    for wave in [4, 32] {
        let device: Arc<dyn Device> = Arc::new(SimDevice::new(wave, Options::default()));
        let (found, _) =
            RayProbe::new(&device, &scene).and_then(|p| p.trace(&rays, By::Trees)).expect("hits");
        for (f, w) in found.iter().zip(&wanted) {
            assert_eq!(hit(f), hit(w), "waves of {wave}");
        }
    }
}

/// Thousands of triangles in one place, or about one middle: the tree stays shallow and the first one wins.
#[test]
fn e17_thousands_of_triangles_in_one_place() {
    let corners = [Vec3::new(-9.0, -9.0, 0.0), Vec3::new(9.0, -9.0, 0.0), Vec3::new(0.0, 9.0, 0.0)];
    let nested = |i: u32| corners.map(|c| (c - Vec3::new(0.0, -3.0, 0.0)) * (1.0 + i as f32 / 5000.0));
    // The first in a second, not in minutes: builders that merge neighbours merge few of these at a time.
    for pile in [vec![corners; 100_000], (0..5000).map(nested).collect()] {
        let mut scene = scene("").expect("fine");
        add(&mut scene, &shape(pile), Affine3A::IDENTITY);
        let start = std::time::Instant::now();
        let probe = RayProbe::new(&cpu(2), &scene).expect("a tree");
        assert!(start.elapsed() < std::time::Duration::from_secs(30));
        let (hits, _) = probe.trace(&[ray(Vec3::Z, -Vec3::Z)], By::Trees).expect("a hit");
        assert_eq!((hits[0].t, hits[0].instance, hits[0].number), (1.0, 0, 0));
        let narrow = Overrides { spp: Some(1), ..Overrides::default() };
        let scene = scene.with_overrides(&narrow).expect("fine");
        assert_eq!(values(&render(&cpu(2), &scene, &Settings::default())), exactly(&[0.5]));
    }
}

/// The distinct values of all pixels and channels, as bits.
fn values(film: &Film) -> BTreeSet<u64> {
    let pixels = (0..film.height).flat_map(|y| (0..film.width).map(move |x| (x, y)));
    pixels.flat_map(|(x, y)| film.linear(x, y)).map(f64::to_bits).collect()
}

fn exactly(wanted: &[f64]) -> BTreeSet<u64> {
    wanted.iter().map(|v| v.to_bits()).collect()
}

/// Corners and faces of the case's file: `v x y z` and `f a b c` alone.
fn flat_obj(text: &str) -> Arc<Shape> {
    let numbers = |line: &str| -> Vec<f32> {
        line.split_whitespace().skip(1).map(|n| n.parse().expect("a number")).collect()
    };
    let lines = |kind: char| text.lines().filter(move |l| l.starts_with(kind)).map(numbers);
    let corners: Vec<_> = lines('v').map(|v| Vec3::new(v[0], v[1], v[2])).collect();
    shape(lines('f').map(|f| [0, 1, 2].map(|i| corners[f[i] as usize - 1])).collect())
}

#[test]
fn e94_rays_along_axes_meet_flat_boxes() {
    let read = |name| std::fs::read_to_string(file(&format!("tests/cases/E94/{name}"))).expect("a file");
    let mut scene = scene("").expect("fine");
    add(&mut scene, &flat_obj(&read("flat.obj")), Affine3A::IDENTITY);
    let mut rays = vec![];
    let mut wanted = vec![];
    for line in read("rays.csv").lines().skip(1) {
        let fields: Vec<_> = line.split(',').collect();
        let n: Vec<f32> = fields[..6].iter().map(|f| f.parse().expect("a number")).collect();
        rays.push(ray(Vec3::new(n[0], n[1], n[2]), Vec3::new(n[3], n[4], n[5])));
        wanted.push((fields[6] == "1").then(|| fields[7].parse::<f32>().expect("a distance")));
    }
    assert_eq!(rays.len(), 10);
    let probe = RayProbe::new(&cpu(1), &scene).expect("a tree");
    for by in [By::Trees, By::Everything] {
        let (hits, _) = probe.trace(&rays, by).expect("hits");
        for ((h, w), r) in hits.iter().zip(&wanted).zip(&rays) {
            assert_eq!(h.number != NOTHING, w.is_some(), "{by:?} {r:?}: {h:?}");
            assert!(w.is_none_or(|t| (h.t - t).abs() <= 1e-5), "{by:?} {r:?}: {h:?}");
        }
    }
}

/// A closed mesh seen from within: no ray gets out, through edges and corners least of all, at any size and place.
#[test]
fn closed_meshes_do_not_leak() {
    let mesh = bumpy(40, 0.2);
    let shape = Arc::new(Shape::new(Arc::new(mesh.clone())));
    for (size, place) in
        [(1.0, Vec3::ZERO), (1e-3, Vec3::ONE), (1e4, Vec3::ONE * 500.0), (0.1, Vec3::X * 1e3)]
    {
        let mut scene = scene("").expect("fine");
        let stretched = Mat3::from_diagonal(Vec3::new(size, 0.7 * size, -size));
        let map = Affine3A::from_mat3_translation(Mat3::from_rotation_y(0.3) * stretched, place);
        add(&mut scene, &shape, map);
        let mut targets = vec![];
        for triangle in &mesh.triangles {
            let [a, b, c] = triangle.map(|i| mesh.positions[i as usize]);
            targets.extend([a, a.midpoint(b), a.lerp(c, 0.3), (a + b + c) / 3.0]);
        }
        let inside = map.transform_point3(Vec3::new(0.05, -0.02, 0.03));
        let rays: Vec<_> =
            targets.iter().map(|t| ray(inside, (map.transform_point3(*t) - inside).normalize())).collect();
        let probe = RayProbe::new(&cpu(2), &scene).expect("a tree");
        let (hits, _) = probe.trace(&rays, By::Trees).expect("hits");
        let leaks = hits.iter().filter(|h| h.number == NOTHING).count();
        assert_eq!(leaks, 0, "of {} rays at size {size}", rays.len());
    }
}

/// A convex mesh alone under a white sky shows its albedo, everywhere exactly: no ray meets the surface it left, at
/// sizes from 1e-3 to 1e4, near the origin or not, mirrored or not, with smooth normals or without.
#[test]
fn convex_meshes_show_their_albedo_at_every_size() {
    for (size, place) in [(1e-3, 0.0), (1.0, 0.0), (1.0, 30.0), (1e4, 0.0), (1e4, -3e4)] {
        for kind in ["{ kind = 'displaced-sphere', subdivisions = 24, amplitude = 0 }", "{ kind = 'box' }"] {
            let (near, far) = (place + 4.0 * size, place);
            let object = format!(
                "objects = [{{ type = 'mesh', generator = {kind}, material = 'grey', scale = [{size}, {size}, -{size}], \
                 translate = [{place}, {place}, {place}], rotate_deg = [10, 20, 30] }}]"
            );
            let text = scene(&object).expect("fine");
            let eye = Vec3::new(near as f32, (place + 0.5 * size) as f32, near as f32);
            let at = Vec3::splat(far as f32);
            let forward = (at - eye).normalize();
            let right = forward.cross(Vec3::Y).normalize() * 0.3;
            let mut scene = text;
            scene.camera.eye = eye;
            (scene.camera.forward, scene.camera.right) = (forward, right);
            scene.camera.up = right.cross(forward).normalize() * 0.3;
            let film = render(&cpu(2), &scene, &engine(EngineKind::Megakernel));
            let seen = values(&film);
            // Four samples a pixel, each 1/2 or 1.
            let allowed = exactly(&[0.5, 0.625, 0.75, 0.875, 1.0]);
            assert!(seen.is_subset(&allowed), "{kind} of {size} at {place}: {seen:?}");
            assert!(seen.len() > 2, "{kind} of {size} at {place} is not in the picture");
        }
    }
}

#[test]
fn every_engine_traces_meshes_alike() {
    let objects = "objects = [{ type = 'plane', normal = [0, 1, 0], offset = 1, material = 'grey' },\n\
        { type = 'mesh', generator = { kind = 'displaced-sphere', subdivisions = 20 }, material = 'glass' },\n\
        { type = 'mesh', generator = { kind = 'displaced-sphere', subdivisions = 20 }, material = 'gold', \
          translate = [1.5, 0, -1], scale = [1, -1, 1] },\n\
        { type = 'sphere', center = [-1.5, 0, -1], radius = 1, material = 'gold' }]";
    let materials = "\n[[materials]]\nname = 'gold'\ntype = 'metal'\nalbedo = [0.9, 0.7, 0.3]\nfuzz = 0.1\n\
        [[materials]]\nname = 'glass'\ntype = 'dielectric'\n";
    let text = format!(
        "{objects}\ncamera = {{ from = [0, 0.5, 4], at = [0, 0, 0] }}\n\
         image = {{ width = 60, height = 34, spp = 2, max_depth = 8 }}\n\
         [[materials]]\nname = 'grey'\ntype = 'lambert'\nalbedo = [0.5, 0.5, 0.5]\n{materials}"
    );
    let scene = Scene::parse(&text, Format::Toml, Path::new("t.toml")).expect("fine");
    assert_eq!((scene.meshes.len(), scene.instances.len()), (1, 2), "one mesh, kept once");
    let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel)).hash();
    for settings in every_engine() {
        assert_eq!(render(&cpu(2), &scene, &settings).hash(), wanted, "{settings:?}");
    }
}

/// What mesh-hall.toml shows at 64x36 with a sample a pixel. A change that means to alter it says so in the changelog.
const MESH_HALL: &str = "b00f1f265867551a8d1e6d7c252e1a8a";

#[test]
fn mesh_hall_has_a_million_triangles_and_one_film() {
    let small = Overrides { width: Some(64), height: Some(36), spp: Some(1), ..Overrides::default() };
    let scene =
        Scene::load(&file("scenes/mesh-hall.toml")).and_then(|s| s.with_overrides(&small)).expect("fine");
    let triangles: usize = scene.meshes.iter().map(|m| m.mesh.triangles.len()).sum();
    assert!(triangles >= 1_000_000, "{triangles}");
    for settings in every_engine() {
        assert_eq!(render(&cpu(2), &scene, &settings).hash(), MESH_HALL, "{settings:?}");
    }
}

#[test]
fn wrong_meshes_are_refused() {
    let mesh = |keys: &str| {
        let object = format!("objects = [{{ type = 'mesh', {keys} }}]");
        scene(&object).map(|_| ()).expect_err("a refusal").to_string()
    };
    let sphere = "generator = { kind = 'displaced-sphere', subdivisions = 3 }";
    for (keys, wanted) in [
        (
            format!("{sphere}, material = 'grey', scale = 0"),
            "objects[0].scale[0]: 0 is out of range; allowed: 1e-9 to 1e9, with either sign",
        ),
        (format!("{sphere}, material = 'grey', scale = [1, 1, 0]"), "objects[0].scale[2]: 0 is out of range"),
        (format!("{sphere}, material = 'grey', file = 'a.obj'"), "objects[0].generator: "),
        (sphere.to_owned(), "the key `material` is missing"),
        (format!("{sphere}, material = 'grey', radius = 1"), "objects[0].radius: has no meaning"),
        ("material = 'grey'".to_owned(), "one of the keys `file` and `generator`"),
        (
            "material = 'grey', generator = { kind = 'spheer' }".to_owned(),
            "generator.kind: \"spheer\" is unknown",
        ),
        (
            "material = 'grey', generator = { kind = 'box', seed = 1 }".to_owned(),
            "generator.seed: has no meaning",
        ),
        ("material = 'grey', generator = { kind = 'grid' }".to_owned(), "the key `subdivisions` is missing"),
    ] {
        let text = mesh(&keys);
        assert!(text.contains(wanted) && text.starts_with("test.toml:"), "{keys}: {text}");
    }
    let whitted = scene(&format!(
        "objects = [{{ type = 'mesh', {sphere}, material = 'grey' }}]\nrender.integrator = 'whitted'"
    ));
    let text = whitted.map(|_| ()).expect_err("a refusal").to_string();
    assert!(text.contains("render.integrator: \"whitted\" knows only spheres and planes"), "{text}");
}
