//! How fast rays find what they hit among a million triangles: a displaced sphere, seen by a camera and crossed at
//! random; or in a scene with meshes, seen by its camera.
//!
//!     cargo run --release --example ray-speed [DEVICE [WORKERS [ROUNDS [SCENE [WIDTHxHEIGHT]]]]]
//!
//! The rates are those of the walk alone; rays lie in memory, and hits are written there. On the CPU they are rays a
//! second of processor time, so that a busy machine disturbs little. The tests a ray are counted in a launch of their
//! own. Prints JSON.

use glam::{Affine3A, Vec3};
use rayq::accel::Shape;
use rayq::device::{Buffer, Device, select};
use rayq::engine::ray_probe::{By, RayProbe};
use rayq::layout::{ProbeHit, ProbeRay};
use rayq::model::generate::{self, Generator, Relief};
use rayq::scene::{Camera, Format, Instance, Scene};
use serde_json::json;
use std::{env, error::Error, path::Path, sync::Arc};

const NOTHING: u32 = u32::MAX;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let device = arguments.next().unwrap_or("cpu".into());
    let workers = arguments.next().map_or(Ok(1), |n| n.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(5), |n| n.parse())?;
    let device = select::open(&device, Some(workers))?;
    let file = arguments.next();
    let size = arguments.next().unwrap_or("1280x720".into());
    let (width, height) = size.split_once('x').ok_or("the size is WIDTHxHEIGHT")?;
    let size = (width.parse()?, height.parse()?);
    let scene = file.as_ref().map_or_else(sphere, |file| Ok(Scene::load(Path::new(file))?))?;
    let probe = RayProbe::new(&device, &scene)?;
    let mut kinds = vec![];
    let mut sets = vec![("primary", primary(&scene.camera, size))];
    if file.is_none() {
        sets.push(("random", random(size)));
    }
    for (name, rays) in sets {
        let (counted, _) = probe.trace(&rays, By::TreesCounted)?;
        let a_ray = |count: fn(&ProbeHit) -> u32| {
            counted.iter().map(|h| f64::from(count(h))).sum::<f64>() / rays.len() as f64
        };
        let mut rates = vec![];
        for _ in 0..rounds {
            let before = processor_seconds();
            let (hits, took) = probe.trace(&rays, By::Trees)?;
            let busy = processor_seconds() - before - copying_seconds(&device, &rays)?;
            let took = if device.is_wide() { took.as_secs_f64() } else { busy };
            let same = |(a, b): (&ProbeHit, &ProbeHit)| (a.t, a.number) == (b.t, b.number);
            assert!(hits.iter().zip(&counted).all(same), "hits differ from round to round");
            rates.push(rays.len() as f64 / took / 1e6);
        }
        rates.sort_by(f64::total_cmp);
        kinds.push(json!({
            "rays": name,
            "mrays_per_s": { "median": rates[rounds / 2], "least": rates[0], "most": rates[rounds - 1] },
            "hits_a_ray": a_ray(|h| u32::from(h.number != NOTHING)),
            "node_tests_a_ray": a_ray(|h| h.nodes),
            "triangle_tests_a_ray": a_ray(|h| h.triangles),
        }));
    }
    let info = device.info();
    let triangles: usize = scene.meshes.iter().map(|m| m.mesh.triangles.len()).sum();
    let report = json!({ "device": info.name, "arch": info.arch, "workers": workers, "rounds": rounds,
        "scene": file, "triangles": triangles, "kinds": kinds });
    println!("{report:#}");
    Ok(())
}

/// Processor time of this process.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is always there, and writes one such structure.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// What a trace takes beside the walk: rays are copied to the device, hits from there.
fn copying_seconds(device: &Arc<dyn Device>, rays: &[ProbeRay]) -> Result<f64, Box<dyn Error>> {
    let before = processor_seconds();
    let _rays = Buffer::from_slice(device, rays, "rays")?;
    Buffer::<ProbeHit>::zeroed(device, rays.len(), "hits")?.to_vec()?;
    Ok(processor_seconds() - before)
}

/// The mesh alone, about the origin.
fn sphere() -> Result<Scene, Box<dyn Error>> {
    let text = "camera = { from = [0, 0, 3], at = [0, 0, 0], vfov_deg = 40 }\n\
        image = { width = 1280, height = 720, spp = 1 }\n\
        materials = [{ name = 'grey', type = 'lambert', albedo = [0.5, 0.5, 0.5] }]";
    let mut scene = Scene::parse(text, Format::Toml, Path::new("sphere.toml"))?;
    let relief = Relief { amplitude: 0.1, frequency: 4.0, seed: 1 };
    let mesh = generate::mesh(&Generator::Sphere { subdivisions: 224, relief });
    scene.meshes.push(Arc::new(Shape::new(Arc::new(mesh))));
    let transform = Affine3A::IDENTITY;
    scene.instances.push(Instance { mesh: 0, transform, material: Some(0), first_material: 0 });
    Ok(scene)
}

fn ray(origin: Vec3, direction: Vec3) -> ProbeRay {
    ProbeRay { origin: origin.into(), t_max: 1.0e17, direction: direction.normalize().into(), reserved: 0 }
}

/// Through the middles of pixels, in chunks of 8x4 as engines take them.
fn primary(camera: &Camera, (width, height): (u32, u32)) -> Vec<ProbeRay> {
    (0..width * height)
        .map(|i| {
            let (chunk, place) = (i / 32, i % 32);
            let (x, y) = (chunk % (width / 8) * 8 + place % 8, chunk / (width / 8) * 4 + place / 8);
            let across = (x as f32 + 0.5 - width as f32 / 2.0) / (height as f32 / 2.0);
            let up = 1.0 - (y as f32 + 0.5) / (height as f32 / 2.0);
            ray(camera.eye, camera.forward + camera.right * across + camera.up * up)
        })
        .collect()
}

/// From anywhere in the sphere's box, in any direction.
fn random((width, height): (u32, u32)) -> Vec<ProbeRay> {
    let mut state = 1u64;
    let mut signed = || {
        // Knuth's MMIX generator; its upper bits are good.
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut point = || Vec3::new(signed(), signed(), signed());
    (0..width * height)
        .map(|_| {
            let origin = point();
            let mut direction = point();
            while !(0.01..=1.0).contains(&direction.length_squared()) {
                direction = point();
            }
            ray(origin, direction)
        })
        .collect()
}
