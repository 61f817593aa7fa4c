//! `rayq info`: what was understood of a scene or a model.

use crate::error::{Error, Result};
use crate::model::{self, Model, Summary, Texels};
use crate::scene::Scene;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What `rayq info` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A scene (.toml, .json) or a model (.obj, .gltf, .glb)
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints what is in the file.
pub fn run(args: &Args) -> Result<()> {
    let extension = args.file.extension().map(|e| e.to_string_lossy().to_lowercase());
    let text = match extension.as_deref() {
        Some("obj" | "gltf" | "glb") => {
            let info = ModelInfo::of(&model::load(&args.file)?);
            if args.json { to_json(&info)? } else { info.describe(&args.file) }
        }
        Some("toml" | "json") => {
            let info = SceneInfo::of(&Scene::load(&args.file)?);
            if args.json { to_json(&info)? } else { info.describe(&args.file) }
        }
        _ => {
            let why = "give a scene (.toml, .json) or a model (.obj, .gltf, .glb)";
            return Err(Error::Input(format!("{}: {why}", args.file.display())));
        }
    };
    super::print(&text)
}

fn to_json(info: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string_pretty(info);
    json.map(|text| text + "\n").map_err(|e| Error::output("standard output", e))
}

/// Lines of a name and a value.
fn lines(title: &Path, values: &[(&str, String)]) -> String {
    let mut text = format!("{}\n", title.display());
    for (name, value) in values {
        writeln!(text, "  {name:<12}{value}").expect("to a string");
    }
    text
}

/// A model in numbers.
#[derive(Debug, Serialize)]
struct ModelInfo {
    #[serde(flatten)]
    summary: Summary,
    materials: Vec<MaterialInfo>,
    textures: Vec<TextureInfo>,
    lights: usize,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct MaterialInfo {
    name: String,
    kind: &'static str,
    /// Which kinds of texture it wears.
    textures: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct TextureInfo {
    name: String,
    width: u32,
    height: u32,
    texels: &'static str,
}

impl ModelInfo {
    fn of(model: &Model) -> ModelInfo {
        ModelInfo {
            summary: Summary::of(model),
            materials: model.surfaces.iter().map(MaterialInfo::of).collect(),
            textures: model.images.iter().map(|image| TextureInfo::of(image)).collect(),
            lights: model.lamps.len(),
            warnings: model.warnings.clone(),
        }
    }

    fn describe(&self, file: &Path) -> String {
        let material = |m: &MaterialInfo| match m.textures.is_empty() {
            true => format!("{:?} {}", m.name, m.kind),
            false => format!("{:?} {} with {}", m.name, m.kind, m.textures.join(", ")),
        };
        let mut values = describe_meshes(&self.summary);
        values.push(("materials", self.materials.len().to_string()));
        values.extend(self.materials.iter().map(|m| ("", material(m))));
        values.extend(describe_textures(&self.textures));
        values.push(("lights", self.lights.to_string()));
        values.extend(self.warnings.iter().map(|w| ("warning", w.clone())));
        lines(file, &values)
    }
}

/// Lines of a name and a value about meshes.
fn describe_meshes(summary: &Summary) -> Vec<(&'static str, String)> {
    let Summary { meshes, instances, triangles, stored_triangles, degenerate, area, bounds } = summary;
    let mut counts = format!("{triangles} placed, {stored_triangles} stored");
    if *degenerate > 0 {
        write!(counts, ", {degenerate} degenerate ones left out").expect("to a string");
    }
    let bounds = bounds.map_or("none".into(), |[low, high]| format!("{low:?} to {high:?}"));
    vec![
        ("triangles", counts),
        ("area", format!("{area:.6}")),
        ("bounds", bounds),
        ("meshes", format!("{meshes}, as {instances} instances")),
    ]
}

/// The number of textures and a line about each.
fn describe_textures(textures: &[TextureInfo]) -> Vec<(&'static str, String)> {
    let each = textures.iter().map(|t| ("", format!("{} {} x {} {}", t.name, t.width, t.height, t.texels)));
    [("textures", textures.len().to_string())].into_iter().chain(each).collect()
}

impl MaterialInfo {
    fn of(surface: &model::Surface) -> MaterialInfo {
        let kind = match surface {
            s if s.glass => "glass",
            s if s.emission != glam::Vec3::ZERO => "emissive",
            s if s.metallic > 0.5 => "metal",
            s if s.specular == 0.0 => "diffuse",
            _ => "dielectric",
        };
        let textures = [
            ("base colour", &surface.base_texture),
            ("roughness", &surface.roughness_texture),
            ("normal", &surface.normal_texture),
            ("emission", &surface.emission_texture),
        ];
        let worn = textures.iter().filter(|(_, texture)| texture.is_some());
        MaterialInfo { name: surface.name.clone(), kind, textures: worn.map(|(name, _)| *name).collect() }
    }
}

impl TextureInfo {
    fn of(image: &model::Image) -> TextureInfo {
        let texels = match image.texels {
            Texels::Bytes(_) => "8-bit",
            Texels::Words(_) => "16-bit",
            Texels::Floats(_) => "float",
        };
        TextureInfo { name: image.name.clone(), width: image.width, height: image.height, texels }
    }
}

/// A scene in numbers.
#[derive(Debug, Serialize)]
struct SceneInfo {
    width: u32,
    height: u32,
    spp: u32,
    max_depth: u32,
    integrator: &'static str,
    spheres: usize,
    planes: usize,
    /// Of its meshes; the bounds hold spheres too, but no planes.
    #[serde(flatten)]
    summary: Summary,
    materials: usize,
    textures: Vec<TextureInfo>,
    lights: usize,
    warnings: Vec<String>,
}

impl SceneInfo {
    fn of(scene: &Scene) -> SceneInfo {
        let mut summary = Summary::default();
        scene.meshes.iter().for_each(|mesh| summary.store(&mesh.mesh));
        for instance in &scene.instances {
            summary.add(&scene.meshes[instance.mesh as usize].mesh, &instance.transform);
        }
        for sphere in &scene.spheres {
            summary.enclose(sphere.center - sphere.radius, sphere.center + sphere.radius);
        }
        SceneInfo {
            width: scene.image.width,
            height: scene.image.height,
            spp: scene.image.spp,
            max_depth: scene.image.max_depth,
            integrator: scene.integrator.name(),
            spheres: scene.spheres.len(),
            planes: scene.planes.len(),
            summary,
            materials: scene.materials.len(),
            textures: scene.images.iter().map(|image| TextureInfo::of(image)).collect(),
            lights: scene.lights.len() + scene.lamps.len(),
            warnings: scene.warnings.clone(),
        }
    }

    fn describe(&self, file: &Path) -> String {
        let size = format!(
            "{} x {}, {} samples a pixel, depth {}",
            self.width, self.height, self.spp, self.max_depth
        );
        let mut values = vec![
            ("image", size),
            ("integrator", self.integrator.to_owned()),
            ("spheres", self.spheres.to_string()),
            ("planes", self.planes.to_string()),
        ];
        values.extend(describe_meshes(&self.summary));
        values.push(("materials", self.materials.to_string()));
        values.extend(describe_textures(&self.textures));
        values.push(("lights", self.lights.to_string()));
        values.extend(self.warnings.iter().map(|w| ("warning", w.clone())));
        lines(file, &values)
    }
}
