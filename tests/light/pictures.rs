//! Pictures of general scenes whose light is known: furnaces, closed forms, and one way of finding light against
//! another.

use crate::common::{cpu, every_engine, render, scene};
use glam::Vec3;
use rayq::device::cpu::CpuDevice;
use rayq::engine::{Counts, Render, Settings};
use rayq::film::Film;
use rayq::model::{Image, Light, Texels};
use rayq::scene::{Format, LightSampling, Scene, SkyImage};
use rayq_sim::{Options, SimDevice};
use std::f64::consts::PI;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn parse(text: &str, folder: &Path) -> Scene {
    Scene::parse(text, Format::Toml, &folder.join("test.toml")).unwrap()
}

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn render_counted(scene: &Scene) -> (Film, Counts) {
    let mut making = Render::new(cpu(2), scene, &Settings::default()).unwrap();
    while !making.advance().unwrap().finished {}
    (making.film().unwrap(), making.statistics().counts)
}

/// The mean of a film's channel over all pixels, and the standard error of that mean.
fn mean(film: &Film, channel: usize) -> (f64, f64) {
    let pixels = (0..film.height).flat_map(|y| (0..film.width).map(move |x| (x, y)));
    let values: Vec<f64> = pixels.map(|(x, y)| film.linear(x, y)[channel]).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

// ---- furnaces

/// A white sphere alone under a sky of radiance 1, with this material.
fn furnace(material: &str) -> Scene {
    let text = format!(
        "image = {{ width = 24, height = 24, spp = 64, max_depth = 40 }}\n\
         camera = {{ from = [0, 0, 3], at = [0, 0, 0], vfov_deg = 36 }}\n\
         background = {{ constant = [1, 1, 1] }}\n\
         render = {{ light_sampling = 'both' }}\n\
         materials = [{{ name = 'white', {material} }}]\n\
         objects = [{{ type = 'sphere', center = [0, 0, 0], radius = 1, material = 'white' }}]\n"
    );
    parse(&text, Path::new(""))
}

/// Every material sends back all light, and the film counts nothing bad or clamped.
#[test]
fn white_spheres_vanish_in_a_white_sky() {
    let mut materials: Vec<(String, f64)> = vec![
        ("type = 'lambert', albedo = [1, 1, 1]".into(), 1e-6),
        ("type = 'metal', albedo = [1, 1, 1]".into(), 1e-6),
        ("type = 'dielectric', ior = 1.5".into(), 1e-6),
        ("type = 'reflective', albedo = [1, 1, 1], reflectivity = 0.5".into(), 1e-6),
        ("type = 'principled', specular = 0".into(), 1e-6),
    ];
    for roughness in 0..=10 {
        for metallic in [0.0, 0.5, 1.0] {
            let roughness = f64::from(roughness) / 10.0;
            materials
                .push((format!("type = 'principled', roughness = {roughness}, metallic = {metallic}"), 4e-3));
        }
    }
    for (material, allowed) in materials {
        let (film, counts) = render_counted(&furnace(&material));
        assert_eq!((counts.bad, counts.clamped), (0, 0), "{material}");
        let (mean, error) = mean(&film, 1);
        assert!((mean - 1.0).abs() < allowed + 3.0 * error, "{material}: {mean} +- {error}");
    }
}

/// What a convex diffuse surface shows under an even sky is exact, whoever shades it.
#[test]
fn diffuse_furnaces_are_exact() {
    for material in ["type = 'lambert', albedo", "type = 'principled', specular = 0, base_color"] {
        let scene = furnace(&format!("{material} = [0.5, 0.25, 0.125]"));
        let film = render(&cpu(2), &scene, &Settings::default());
        assert_eq!(film.linear(12, 12), [0.5, 0.25, 0.125], "{material}");
    }
}

// ---- lights with known irradiance

/// A white diffuse floor seen at the origin alone, so that every pixel shows the irradiance there over pi.
fn floor(spp: u32, lights: &str) -> String {
    format!(
        "image = {{ width = 16, height = 16, spp = {spp}, max_depth = 1 }}\n\
         camera = {{ from = [4, 1, 0], at = [0, 0, 0], vfov_deg = 0.01 }}\n\
         background = {{ constant = [0, 0, 0] }}\n\
         {lights}\n\
         [[materials]]\nname = 'white'\ntype = 'lambert'\nalbedo = [1, 1, 1]\n\
         [[materials]]\nname = 'lamp'\ntype = 'lambert'\nalbedo = [0, 0, 0]\nemission = [3, 3, 3]\n\
         [[objects]]\ntype = 'plane'\nnormal = [0, 1, 0]\noffset = 0\nmaterial = 'white'\n"
    )
}

fn shows(scene: &Scene, wanted: f64, allowed: f64) {
    let (film, counts) = render_counted(scene);
    assert_eq!((counts.bad, counts.clamped), (0, 0));
    let (mean, error) = mean(&film, 0);
    assert!((mean - wanted).abs() < allowed * wanted + 4.0 * error, "{mean} +- {error}, not {wanted}");
    // Noise must not hide everything.
    assert!(error < 0.02 * wanted, "{mean} +- {error}");
}

#[test]
fn lamps_without_size_have_their_irradiance() {
    let sampled = "render = { light_sampling = 'both' }\n";
    let cosine = 0.8; // at (3, 4, 0), 5 away
    let directional = "lights = [{ type = 'directional', direction = [3, 4, 0], color = [2, 2, 2] }]";
    shows(&parse(&floor(1, &format!("{sampled}{directional}")), Path::new("")), 2.0 * cosine, 1e-5);
    let point = "lights = [{ type = 'point', position = [3, 4, 0], color = [50, 50, 50] }]";
    shows(&parse(&floor(1, &format!("{sampled}{point}")), Path::new("")), 2.0 * cosine, 1e-5);
    // A spot that is aimed beside the origin: inside its inner cone, on its ramp, and outside.
    let spot = |inner: f64, outer: f64| {
        let light = format!(
            "lights = [{{ type = 'spot', position = [0, 4, 0], at = [4, 0, 0], color = [32, 32, 32], \
             inner_deg = {inner}, outer_deg = {outer} }}]"
        );
        parse(&floor(1, &light), Path::new(""))
    };
    shows(&spot(46.0, 60.0), 2.0, 1e-5);
    let (c, inner, outer) =
        (45.0f64.to_radians().cos(), 30.0f64.to_radians().cos(), 60.0f64.to_radians().cos());
    shows(&spot(30.0, 60.0), 2.0 * ((c - outer) / (inner - outer)).powi(2), 1e-4);
    let (film, _) = render_counted(&spot(20.0, 40.0));
    assert_eq!(mean(&film, 0).0, 0.0);
    // A model's lamps give candela and lux: irradiance, without the pi.
    let mut scene = parse(&floor(1, ""), Path::new(""));
    scene.lamps.push(Light::Point { position: Vec3::new(3.0, 4.0, 0.0), color: Vec3::splat(50.0) });
    shows(&scene, 2.0 * cosine / PI, 1e-5);
}

/// Two lamps, and a third that is hidden: chances and shadow rays.
#[test]
fn lamps_are_asked_in_proportion() {
    let lights = "lights = [\
        { type = 'directional', direction = [0, 1, 0], color = [0.5, 0.5, 0.5] },\
        { type = 'point', position = [0, 2, 0], color = [1, 1, 1] },\
        { type = 'point', position = [0, -2, 0], color = [9, 9, 9] },\
        { type = 'spot', position = [0, 2, 2], at = [0, 0, 0], color = [8, 8, 8] }]";
    let spot = 8.0 / 8.0 * 0.5f64.sqrt();
    shows(&parse(&floor(400, lights), Path::new("")), 0.5 + 0.25 + spot, 1e-3);
}

const SAMPLINGS: [LightSampling; 3] = [LightSampling::Both, LightSampling::Lights, LightSampling::Surfaces];

#[test]
fn spheres_shine_as_known() {
    let sphere = "[[objects]]\ntype = 'sphere'\ncenter = [0, 3, 0]\nradius = 1.5\nmaterial = 'lamp'\n";
    let mut scene = parse(&format!("{}{sphere}", floor(200, "")), Path::new(""));
    scene.image.max_depth = 2;
    // A sphere of radiance L overhead: pi L (r / h)^2.
    for sampling in SAMPLINGS {
        scene.light_sampling = Some(sampling);
        shows(&scene, 3.0 * 0.25, 2e-3);
    }
}

/// A sphere around the floor's point: seen from inside.
#[test]
fn the_inside_of_a_sphere_shines_too() {
    let sphere = "[[objects]]\ntype = 'sphere'\ncenter = [0, 1, 0]\nradius = 9\nmaterial = 'lamp'\n";
    let mut scene = parse(&format!("{}{sphere}", floor(400, "")), Path::new(""));
    scene.image.max_depth = 2;
    for sampling in SAMPLINGS {
        scene.light_sampling = Some(sampling);
        shows(&scene, 3.0, 2e-3);
    }
}

/// A rectangle of two triangles and a disc of many, overhead; the front of the first is up, so both sides must shine.
#[test]
fn rectangles_and_discs_shine_as_known() {
    const SIDES: usize = 96;
    let corner = |i: usize| 2.0 * PI * i as f64 / SIDES as f64;
    let disc: String = (0..SIDES).map(|i| format!("v {} 0 {}\n", corner(i).cos(), corner(i).sin())).collect();
    let face: String = (1..=SIDES).map(|i| format!(" {i}")).collect();
    let disc = format!("{disc}f{face}\n");
    let square = "v -1 0 -2\nv -1 0 2\nv 1 0 2\nv 1 0 -2\nf 1 2 3 4\n";
    let files = folder(&[("square.obj", square.as_bytes()), ("disc.obj", disc.as_bytes())]);
    // The form factor of a rectangle a x b at height h above the point under its corner, four times.
    let (a, b, h) = (1.0f64, 2.0f64, 2.5f64);
    let (across, along) = ((a * a + h * h).sqrt(), (b * b + h * h).sqrt());
    let quarter = (a / across * (b / across).atan() + b / along * (a / along).atan()) / (2.0 * PI);
    let disc_area = SIDES as f64 / 2.0 * (2.0 * PI / SIDES as f64).sin() / PI;
    let wanted = [("square", 3.0 * 4.0 * quarter), ("disc", 3.0 * disc_area / (disc_area + h * h))];
    for (name, wanted) in wanted {
        let object = format!(
            "[[objects]]\ntype = 'mesh'\nfile = '{name}.obj'\nmaterial = 'lamp'\ntranslate = [0, 2.5, 0]\n"
        );
        let mut scene = parse(&format!("{}{object}", floor(300, "")), files.path());
        scene.image.max_depth = 2;
        for sampling in SAMPLINGS {
            scene.light_sampling = Some(sampling);
            shows(&scene, wanted, 3e-3);
        }
    }
}

/// The irradiance of a sky with a sun, over pi, by summing over its texels: they are flat where neighbours are equal.
#[test]
fn skies_shine_as_known() {
    let (width, height) = (64, 32);
    // Radiance by latitude alone, without steps: 4 in the upper half but for the row at the horizon.
    let texel = |i: u32| if i / width < 8 { [4.0; 3] } else { [0.5; 3] };
    let texels = Texels::Floats((0..width * height).map(texel).collect());
    let image = Arc::new(Image { name: "sky".into(), width, height, texels });
    let mut scene = parse(&floor(300, ""), Path::new(""));
    scene.sky = Some(SkyImage { image, turn: 0.1, scale: 2.0 });
    scene.image.max_depth = 2;
    // 2 cos sin integrated in steps of latitude, radiance mixed between the rows' middles as kernels do.
    let steps = 100_000;
    let radiance = |angle: f64| {
        let row = angle / PI * f64::from(height) - 0.5;
        let below = if row < 7.0 { 0.0 } else { (row - 7.0).min(1.0) };
        2.0 * (4.0 - 3.5 * below)
    };
    let angle = |i: usize| (i as f64 + 0.5) / steps as f64 * PI / 2.0;
    let each = (0..steps).map(|i| radiance(angle(i)) * 2.0 * angle(i).cos() * angle(i).sin());
    let wanted = each.sum::<f64>() * PI / 2.0 / steps as f64;
    for sampling in SAMPLINGS {
        scene.light_sampling = Some(sampling);
        shows(&scene, wanted, 2e-3);
    }
}

/// A black sky is never asked, and takes nothing from the lights that are.
#[test]
fn black_skies_are_dark() {
    let texels = Texels::Floats(vec![[0.0; 3]; 4 * 2]);
    let image = Arc::new(Image { name: "black".into(), width: 4, height: 2, texels });
    let lamp = "lights = [{ type = 'directional', direction = [0, 1, 0], color = [2, 2, 2] }]";
    for (lights, wanted) in [("", 0.0), (lamp, 2.0)] {
        let mut scene = parse(&floor(1, lights), Path::new(""));
        scene.sky = Some(SkyImage { image: image.clone(), turn: 0.0, scale: 1.0 });
        let (film, counts) = render_counted(&scene);
        assert_eq!((counts.bad, counts.clamped), (0, 0));
        assert!((mean(&film, 0).0 - wanted).abs() < 1e-5);
    }
}

// ---- one way of finding light against another

/// A grey PNG of 2 x 1 texels.
fn png(texels: [[u8; 4]; 2]) -> Vec<u8> {
    let mut bytes = vec![];
    let picture = image::RgbaImage::from_raw(2, 1, texels.concat()).unwrap();
    picture.write_to(&mut std::io::Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
    bytes
}

/// A glossy floor under a sphere, a mirrored panel of triangles with a texture, a lamp, and a sky with a sun: what is found by shadow rays, by other rays, and by both is the same light.
fn everything() -> (tempfile::TempDir, Scene) {
    let panel = "v -2 0 -1\nv 2 0 -1\nv 2 0 1\nv -2 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n";
    let glow = png([[255, 128, 0, 255], [0, 64, 255, 255]]);
    let files = folder(&[("panel.obj", panel.as_bytes()), ("glow.png", &glow)]);
    let text = "image = { width = 16, height = 16, spp = 400, max_depth = 3 }\n\
        camera = { from = [4, 3, 0], at = [0, 0, 0], vfov_deg = 0.5 }\n\
        lights = [{ type = 'point', position = [1, 2, 2], color = [1, 1, 1] }]\n\
        [[materials]]\nname = 'floor'\ntype = 'principled'\nbase_color = [0.8, 0.6, 0.4]\nroughness = 0.4\nmetallic = 0.3\n\
        [[materials]]\nname = 'ball'\ntype = 'lambert'\nalbedo = [0.5, 0.5, 0.5]\nemission = [2, 3, 4]\n\
        [[materials]]\nname = 'panel'\ntype = 'principled'\nemission = [5, 5, 5]\nemission_texture = 'glow.png'\n\
        [[objects]]\ntype = 'plane'\nnormal = [0, 1, 0]\noffset = 0\nmaterial = 'floor'\n\
        [[objects]]\ntype = 'sphere'\ncenter = [-2, 1.5, 1]\nradius = 0.8\nmaterial = 'ball'\n\
        [[objects]]\ntype = 'mesh'\nfile = 'panel.obj'\nmaterial = 'panel'\ntranslate = [-2, 2.5, 0]\nscale = [1, 1, -1]\n";
    let mut scene = parse(text, files.path());
    let mut texels = vec![[0.3, 0.4, 0.5]; 32 * 16];
    texels[4 * 32 + 20] = [60.0, 50.0, 40.0];
    let image = Image { name: "sun".into(), width: 32, height: 16, texels: Texels::Floats(texels) };
    scene.sky = Some(SkyImage { image: Arc::new(image), turn: 0.0, scale: 1.0 });
    (files, scene)
}

#[test]
fn light_is_the_same_however_it_is_found() {
    let (_files, mut scene) = everything();
    let mut found = vec![];
    for sampling in SAMPLINGS {
        scene.light_sampling = Some(sampling);
        let (film, counts) = render_counted(&scene);
        assert_eq!(counts.bad, 0);
        found.push([0, 1, 2].map(|channel| mean(&film, channel)));
    }
    for other in &found[1..] {
        for channel in 0..3 {
            let ((a, a_error), (b, b_error)) = (found[0][channel], other[channel]);
            let error = (a_error * a_error + b_error * b_error).sqrt();
            assert!((a - b).abs() < 4.0 * error, "channel {channel}: {a} and {b}, +- {error}");
            assert!(error < 0.03 * a, "channel {channel}: {a}, +- {error}");
        }
    }
    // Weighing both must not be worse than either by much.
    assert!(found[0][1].1 < 1.5 * found[1][1].1.min(found[2][1].1), "{found:?}");
}

/// The film of a scene with all of this is the same for every engine, queue, build and number of workers.
#[test]
fn every_engine_makes_the_same_film_of_a_general_scene() {
    let (_files, mut scene) = everything();
    (scene.image.width, scene.image.height, scene.image.spp, scene.image.max_depth) = (37, 21, 3, 6);
    scene.camera = parse(&floor(1, ""), Path::new("")).camera;
    scene.roulette_depth = Some(2);
    let wanted = render(&cpu(1), &scene, &Settings::default()).hash();
    for settings in every_engine() {
        assert_eq!(render(&cpu(2), &scene, &settings).hash(), wanted, "{settings:?}");
        let slice = Some(std::time::Duration::from_micros(100));
        assert_eq!(
            render(&cpu(2), &scene, &Settings { slice, ..settings.clone() }).hash(),
            wanted,
            "{settings:?}"
        );
    }
    let baseline: Arc<dyn rayq::device::Device> = Arc::new(CpuDevice::baseline(2).unwrap());
    assert_eq!(render(&baseline, &scene, &Settings::default()).hash(), wanted);
}

#[test]
fn the_simulator_makes_the_same_film_of_a_general_scene() {
    let (_files, mut scene) = everything();
    (scene.image.width, scene.image.height, scene.image.spp) = (8, 4, 2);
    let wanted = render(&cpu(1), &scene, &Settings::default()).hash();
    for wave in [4, 32] {
        let device: Arc<dyn rayq::device::Device> =
            Arc::new(SimDevice::new(wave, Options { resident: 2, ..Options::default() }));
        for settings in every_engine() {
            assert_eq!(render(&device, &scene, &settings).hash(), wanted, "waves of {wave}, {settings:?}");
        }
    }
}

// ---- textures

/// A panel before a bright sky whose left half is a hole.
#[test]
fn masked_panels_have_holes() {
    let panel = "mtllib panel.mtl\nv -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n\
                 usemtl half\nf 1/1 2/2 3/3 4/4\n";
    let mask = png([[255, 255, 255, 0], [255, 255, 255, 255]]);
    let files = folder(&[("panel.obj", panel.as_bytes()), ("mask.png", &mask)]);
    let text = "image = { width = 8, height = 8, spp = 4, max_depth = 2, jitter = false }\n\
        camera = { from = [0, 0, 9], at = [0, 0, 0], vfov_deg = 10 }\n\
        background = { constant = [1, 1, 1] }\n\
        [[materials]]\nname = 'half'\ntype = 'principled'\nbase_color = [0.5, 0.5, 0.5]\nspecular = 0\n\
        base_color_texture = 'mask.png'\nalpha_cutoff = 0.5\n\
        [[objects]]\ntype = 'mesh'\nfile = 'panel.obj'\nmaterial = 'half'\n";
    std::fs::write(files.path().join("panel.mtl"), "newmtl half\nKd 1 1 1\n").unwrap();
    let film = render(&cpu(2), &parse(text, files.path()), &Settings::default());
    assert_eq!((film.linear(1, 4)[0], film.linear(6, 4)[0]), (1.0, 0.5));
}

/// What a texture cannot be is an error that names the key.
#[test]
fn textures_that_do_not_load_are_named() {
    let text = |key: &str| {
        format!(
            "camera = {{ from = [0, 0, 9], at = [0, 0, 0] }}\n[[materials]]\nname = 'a'\ntype = 'principled'\n\
             {key} = 'nowhere.png'\n"
        )
    };
    for key in ["base_color_texture", "metallic_roughness_texture", "normal_texture", "emission_texture"] {
        let fault =
            Scene::parse(&text(key), Format::Toml, &PathBuf::from("there/a.toml")).unwrap_err().to_string();
        assert!(
            fault.starts_with(&format!("there/a.toml:5:1: materials[0].{key}: there/nowhere.png: ")),
            "{fault}"
        );
    }
    let text = "camera = { from = [0, 0, 9], at = [0, 0, 0] }\n[background]\nhdr = 'nowhere.hdr'\n";
    let fault = Scene::parse(text, Format::Toml, &PathBuf::from("there/a.toml")).unwrap_err().to_string();
    assert!(fault.starts_with("there/a.toml:3:1: background.hdr: there/nowhere.hdr: "), "{fault}");
}

/// The only colour of a case's picture, but for a rounding where texture coordinates are interpolated.
fn only_color(path: &str) -> [f64; 3] {
    let film = render(&cpu(2), &scene(path), &Settings::default());
    let first = film.linear(0, 0);
    let pixels = (0..film.height).flat_map(|y| (0..film.width).map(move |x| (x, y)));
    pixels.into_iter().for_each(|(x, y)| assert_close(film.linear(x, y), first));
    first
}

fn assert_close(found: [f64; 3], wanted: [f64; 3]) {
    assert!((0..3).all(|c| (found[c] - wanted[c]).abs() < 1e-4), "{found:?}, not {wanted:?}");
}

#[test]
fn e34_pictures_stand_upright() {
    assert_close(only_color("tests/cases/E34/obj.json"), [0.0, 0.0, 1.0]);
    assert_close(only_color("tests/cases/E34/gltf.json"), [1.0, 0.0, 0.0]);
}

#[test]
fn e30_pictures_are_moved_turned_and_scaled_as_gltf_says() {
    assert_close(only_color("tests/cases/E30/scene.json"), [0.3515; 3]);
}

#[test]
fn e32_palettes_of_all_depths_have_their_colours() {
    assert_close(only_color("tests/cases/E32/p1.json"), [1.0, 0.0, 0.0]);
    assert_close(only_color("tests/cases/E32/p2.json"), [1.0, 0.0, 0.0]);
    for name in ["p4", "p8"] {
        assert_close(only_color(&format!("tests/cases/E32/{name}.json")), [0.0212, 0.0802, 0.1878]);
    }
}
