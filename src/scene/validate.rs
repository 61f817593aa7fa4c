//! The rules of a scene: what must be there, the defaults, and the range of each number.

use super::camera::{Camera, Orientation, unit};
use super::fault::{Checked, Fault, Within, nearest};
use super::format::*;
use super::light::{background, lights};
use super::mesh::Models;
use super::principled::{Pictures, surface};
use super::{
    DEPTHS, Image, Integrator, LightSampling, MAX_MATERIALS, MAX_PLANES, MAX_SPHERES, Material, Plane,
    SAMPLES, SIDES, Scene, Sphere,
};
use crate::file::Files;
use glam::{DVec3, Vec3};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;

/// Places: far enough for any picture, and squares of squares still fit a float.
const COORDINATES: RangeInclusive<f64> = -1e9..=1e9;
/// Radii and offsets.
const LENGTHS: RangeInclusive<f64> = 1e-9..=1e9;
/// Albedo, fuzz, reflectivity.
pub const SHARES: RangeInclusive<f64> = 0.0..=1.0;
/// Emission, background, lights.
pub const RADIANCES: RangeInclusive<f64> = 0.0..=1e9;
/// Radiance the film shall hold.
const FILM_RADIANCES: RangeInclusive<f64> = 1e-6..=1e12;
/// Indices of refraction.
pub const INDICES: RangeInclusive<f64> = 0.01..=100.0;

/// Checks the whole file. `folder` is where it lies; `files` learns of what it names.
pub fn scene(file: SceneFile, folder: &Path, files: &Files) -> Checked<Scene> {
    let Table(render) = file.render.unwrap_or_default();
    let Table(film) = file.film.unwrap_or_default();
    let mut pictures = Pictures::new(folder, files);
    let (materials, names) = materials(file.materials, &mut pictures).within("materials")?;
    let (background, sky) =
        background(file.background.unwrap_or_default().0, &mut pictures).within("background")?;
    let mut models = Models::new(materials, pictures);
    let (spheres, planes) = objects(file.objects, &names, &mut models).within("objects")?;
    let scene = Scene {
        image: image(file.image.unwrap_or_default().0).within("image")?,
        camera: need(file.camera, "camera").and_then(|Table(table)| camera(table).within("camera"))?,
        background,
        sky,
        integrator: integrator(render.integrator).within("integrator").within("render")?,
        shadows: render.shadows.unwrap_or(false),
        ray_offset: optional(render.ray_offset, LENGTHS).within("ray_offset").within("render")?,
        roulette_depth: roulette(render.russian_roulette_depth).within("render")?,
        max_radiance: optional(film.max_radiance, FILM_RADIANCES).within("max_radiance").within("film")?,
        light_sampling: light_sampling(render.light_sampling).within("light_sampling").within("render")?,
        ambient: triple(file.ambient.unwrap_or(Triple::of(0.0)), RADIANCES).within("ambient")?,
        lights: lights(file.lights).within("lights")?,
        materials: models.materials,
        spheres,
        planes,
        meshes: models.meshes,
        instances: models.instances,
        images: models.images,
        lamps: models.lamps,
        files: files.paths(),
        warnings: models.warnings,
    };
    if scene.is_general() && scene.integrator == Integrator::Whitted {
        let message = "\"whitted\" knows only spheres and planes, plain materials, and point and directional lights; \
                       use integrator = \"path\"";
        return Err(Fault::new(message)).within("integrator").within("render");
    }
    Ok(scene)
}

fn image(table: ImageTable) -> Checked<Image> {
    let whole = |value: Option<Whole>, default: u32, allowed: RangeInclusive<u32>, key: &str| {
        let value = value.map_or(Ok(default), |v| in_range_whole(v, allowed));
        value.within(key)
    };
    let image = Image {
        width: whole(table.width, 1280, SIDES, "width")?,
        height: whole(table.height, 720, SIDES, "height")?,
        spp: whole(table.spp, 64, SAMPLES, "spp")?,
        max_depth: whole(table.max_depth, 16, DEPTHS, "max_depth")?,
        seed: table.seed.map_or(Ok(0), |v| in_range_whole(v, 0..=u64::MAX)).within("seed")?,
        jitter: table.jitter.unwrap_or(true),
    };
    image.check_pixels().map_err(Fault::new)?;
    Ok(image)
}

fn camera(table: CameraTable) -> Checked<Camera> {
    let from = point(need(table.from, "from")?).within("from")?;
    let at = point(need(table.at, "at")?).within("at")?;
    let Real(vfov) = table.vfov_deg.unwrap_or(Real(40.0));
    if !(vfov > 0.0 && vfov < 180.0) {
        let message = format!("{} is out of range; allowed: more than 0, less than 180", shown(vfov));
        return Err(Fault::new(message)).within("vfov_deg");
    }
    let orientation = match (table.plane, table.up) {
        (Some(_), Some(_)) => {
            return Err(Fault::new("has no effect beside camera.plane; leave one of them out")).within("up");
        }
        (Some(Table(plane)), None) => image_plane(plane).within("plane")?,
        (None, up) => Orientation::Up(up.map_or(Ok(DVec3::Y), point).within("up")?),
    };
    Camera::new(from, at, orientation, vfov)
}

fn image_plane(plane: ImagePlaneTable) -> Checked<Orientation> {
    let right = point(need(plane.right, "right")?).within("right")?;
    let up = point(need(plane.up, "up")?).within("up")?;
    Ok(Orientation::Plane(right, up))
}

fn integrator(name: Option<String>) -> Checked<Integrator> {
    match name.as_deref() {
        None | Some("path") => Ok(Integrator::Path),
        Some("whitted") => Ok(Integrator::Whitted),
        Some(other) => Err(unknown(other, &["path", "whitted"])),
    }
}

fn light_sampling(name: Option<String>) -> Checked<Option<LightSampling>> {
    match name.as_deref() {
        None => Ok(None),
        Some("both") => Ok(Some(LightSampling::Both)),
        Some("lights") => Ok(Some(LightSampling::Lights)),
        Some("surfaces") => Ok(Some(LightSampling::Surfaces)),
        Some(other) => Err(unknown(other, &["both", "lights", "surfaces"])),
    }
}

fn roulette(depth: Option<Whole>) -> Checked<Option<u32>> {
    depth.map(|d| in_range_whole(d, DEPTHS)).transpose().within("russian_roulette_depth")
}

/// The materials, and each name's index.
fn materials(
    entries: Vec<Table<MaterialEntry>>,
    pictures: &mut Pictures,
) -> Checked<(Vec<Material>, HashMap<String, u32>)> {
    at_most(MAX_MATERIALS, entries.len(), "materials")?;
    let (mut materials, mut names) = (vec![], HashMap::new());
    for (i, Table(mut entry)) in entries.into_iter().enumerate() {
        let name = need(entry.name.take(), "name").within(i)?;
        if let Some(first) = names.insert(name.clone(), i as u32) {
            let message = format!("{name:?} is already the name of materials[{first}]; choose another");
            return Err(Fault::new(message)).within("name").within(i);
        }
        materials.push(material(entry, pictures).within(i)?);
    }
    Ok((materials, names))
}

fn material(mut entry: MaterialEntry, pictures: &mut Pictures) -> Checked<Material> {
    let kind = need(entry.kind.take(), "type")?;
    let mut albedo = || need(entry.albedo.take(), "albedo").and_then(|a| triple(a, SHARES).within("albedo"));
    let material = match kind.as_str() {
        "lambert" => {
            let emission = entry.emission.take().unwrap_or(Triple::of(0.0));
            Material::Lambert { albedo: albedo()?, emission: triple(emission, RADIANCES).within("emission")? }
        }
        "metal" => {
            let fuzz = entry.fuzz.take().unwrap_or(Real(0.0));
            Material::Metal { albedo: albedo()?, fuzz: in_range(fuzz, SHARES).within("fuzz")? }
        }
        "dielectric" => {
            let ior = entry.ior.take().unwrap_or(Real(1.5));
            Material::Dielectric { ior: in_range(ior, INDICES).within("ior")? }
        }
        "reflective" => {
            let share = need(entry.reflectivity.take(), "reflectivity")?;
            let reflectivity = in_range(share, SHARES).within("reflectivity")?;
            Material::Reflective { albedo: albedo()?, reflectivity }
        }
        "principled" => Material::Surface(Box::new(surface(&mut entry, pictures)?)),
        _ => {
            let known = ["lambert", "metal", "dielectric", "reflective", "principled"];
            return Err(unknown(&kind, &known)).within("type");
        }
    };
    let left = [
        ("albedo", entry.albedo.is_some()),
        ("emission", entry.emission.is_some()),
        ("fuzz", entry.fuzz.is_some()),
        ("ior", entry.ior.is_some()),
        ("reflectivity", entry.reflectivity.is_some()),
        ("base_color", entry.base_color.is_some()),
        ("base_color_texture", entry.base_color_texture.is_some()),
        ("metallic", entry.metallic.is_some()),
        ("roughness", entry.roughness.is_some()),
        ("metallic_roughness_texture", entry.metallic_roughness_texture.is_some()),
        ("normal_texture", entry.normal_texture.is_some()),
        ("normal_scale", entry.normal_scale.is_some()),
        ("emission_texture", entry.emission_texture.is_some()),
        ("specular", entry.specular.is_some()),
        ("alpha_cutoff", entry.alpha_cutoff.is_some()),
    ];
    no_other_keys(&kind, &left)?;
    Ok(material)
}

pub type Names = HashMap<String, u32>;

fn objects(
    entries: Vec<Table<ObjectEntry>>,
    names: &Names,
    models: &mut Models,
) -> Checked<(Vec<Sphere>, Vec<Plane>)> {
    let (mut spheres, mut planes) = (vec![], vec![]);
    for (i, Table(mut entry)) in entries.into_iter().enumerate() {
        let kind = need(entry.kind.take(), "type").within(i)?;
        match kind.as_str() {
            "sphere" => spheres.push(sphere(&mut entry, names).within(i)?),
            "plane" => planes.push(plane(&mut entry, names).within(i)?),
            "mesh" => models.add(&mut entry, names).within(i)?,
            _ => return Err(unknown(&kind, &["sphere", "plane", "mesh"])).within("type").within(i),
        }
        let left = [
            ("center", entry.center.is_some()),
            ("radius", entry.radius.is_some()),
            ("normal", entry.normal.is_some()),
            ("offset", entry.offset.is_some()),
            ("material", entry.material.is_some()),
            ("file", entry.file.is_some()),
            ("generator", entry.generator.is_some()),
            ("specular", entry.specular.is_some()),
            ("translate", entry.translate.is_some()),
            ("rotate_deg", entry.rotate_deg.is_some()),
            ("scale", entry.scale.is_some()),
        ];
        no_other_keys(&kind, &left).within(i)?;
        at_most(MAX_SPHERES, spheres.len(), "spheres")?;
        at_most(MAX_PLANES, planes.len(), "planes")?;
    }
    Ok((spheres, planes))
}

fn sphere(entry: &mut ObjectEntry, names: &Names) -> Checked<Sphere> {
    Ok(Sphere {
        center: triple(need(entry.center.take(), "center")?, COORDINATES).within("center")?,
        radius: in_range(need(entry.radius.take(), "radius")?, LENGTHS).within("radius")?,
        material: material_index(entry, names)?,
    })
}

/// A plane whose normal has any length: the equation is divided by it.
fn plane(entry: &mut ObjectEntry, names: &Names) -> Checked<Plane> {
    let normal = need(entry.normal.take(), "normal")?;
    let unit_normal = direction(normal).within("normal")?;
    let offset = need(entry.offset.take(), "offset")?;
    in_range(offset, COORDINATES).within("offset")?;
    let length = DVec3::from(normal.0.map(|n| n.0)).dot(unit_normal);
    let distance = in_range(Real(offset.0 / length), COORDINATES).map_err(|fault| {
        Fault::new(format!("divided by the normal's length, {}: {}", shown(length), fault.message))
    });
    Ok(Plane {
        normal: unit_normal.as_vec3(),
        offset: distance.within("offset")?,
        material: material_index(entry, names)?,
    })
}

pub fn material_index(entry: &mut ObjectEntry, names: &Names) -> Checked<u32> {
    let name = need(entry.material.take(), "material")?;
    let index = names.get(&name).copied();
    let fault = || {
        let hint = nearest(&name, names.keys().map(String::as_str)).map(|n| format!(", did you mean {n:?}?"));
        Fault::new(format!("no material is called {name:?}{}", hint.unwrap_or_default()))
    };
    index.ok_or_else(fault).within("material")
}

/// The value of a key that must be there.
pub fn need<T>(value: Option<T>, key: &str) -> Checked<T> {
    value.ok_or_else(|| Fault::new(format!("the key `{key}` is missing")))
}

pub fn unknown(word: &str, known: &[&str]) -> Fault {
    Fault::new(format!("{word:?} is unknown; allowed: {}", known.join(", ")))
}

/// Refuses keys of other types: (key, whether it is there and was not used).
pub fn no_other_keys(kind: &str, left: &[(&str, bool)]) -> Checked<()> {
    match left.iter().find(|(_, is_there)| *is_there) {
        Some((key, _)) => {
            Err(Fault::new(format!("has no meaning for type {kind:?}; leave it out"))).within(*key)
        }
        None => Ok(()),
    }
}

pub fn at_most(most: usize, count: usize, what: &str) -> Checked<()> {
    if count <= most {
        return Ok(());
    }
    Err(Fault::new(format!("too many {what}; allowed: at most {most}")))
}

pub fn in_range_whole<T: TryFrom<i128> + Into<i128> + Copy>(
    value: Whole,
    allowed: RangeInclusive<T>,
) -> Checked<T> {
    let (least, most): (i128, i128) = ((*allowed.start()).into(), (*allowed.end()).into());
    let in_range = T::try_from(value.0).ok().filter(|_| (least..=most).contains(&value.0));
    let fault = || Fault::new(format!("{} is out of range; allowed: {least} to {most}", value.0));
    in_range.ok_or_else(fault)
}

fn in_range_f64(Real(value): Real, allowed: &RangeInclusive<f64>) -> Checked<f64> {
    if allowed.contains(&value) {
        return Ok(value);
    }
    let (least, most) = (shown(*allowed.start()), shown(*allowed.end()));
    Err(Fault::new(format!("{} is out of range; allowed: {least} to {most}", shown(value))))
}

pub fn in_range(value: Real, allowed: RangeInclusive<f64>) -> Checked<f32> {
    in_range_f64(value, &allowed).map(|value| value as f32)
}

pub fn optional(value: Option<Real>, allowed: RangeInclusive<f64>) -> Checked<Option<f32>> {
    value.map(|value| in_range(value, allowed)).transpose()
}

pub fn triple_f64(Triple(values): Triple, allowed: RangeInclusive<f64>) -> Checked<DVec3> {
    for (i, value) in values.into_iter().enumerate() {
        in_range_f64(value, &allowed).within(i)?;
    }
    Ok(DVec3::from(values.map(|v| v.0)))
}

pub fn triple(values: Triple, allowed: RangeInclusive<f64>) -> Checked<Vec3> {
    triple_f64(values, allowed).map(|v| v.as_vec3())
}

pub fn point(values: Triple) -> Checked<DVec3> {
    triple_f64(values, COORDINATES)
}

/// A unit vector.
pub fn direction(values: Triple) -> Checked<DVec3> {
    unit(point(values)?).ok_or_else(|| Fault::new("has length 0; give a direction, such as [0, 1, 0]"))
}

/// A number, short, the way TOML and JSON write it.
fn shown(value: f64) -> String {
    let plain = value == 0.0 || !value.is_finite() || (1e-3..1e6).contains(&value.abs());
    if plain { format!("{value}").to_lowercase() } else { format!("{value:e}") }
}
