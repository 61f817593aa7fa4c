//! glTF 2.0: JSON that describes, buffers and pictures beside it, within it or in one GLB file.

mod accessor;
mod json;
mod material;
mod nodes;
mod primitive;
mod source;
mod trigonometry;

use super::finish::Mended;
use super::{Instance, MAX_COORDINATE, MAX_INSTANCES, Model, Surface, Warnings};
use crate::error::Result;
use crate::file::Files;
use glam::{Affine3A, DAffine3, Vec3};
use material::Materials;
use nodes::Placed;
use primitive::Dress;
use source::Source;
use std::path::Path;
use std::sync::Arc;

/// Extensions that are read.
const KNOWN: &[&str] = &[
    "KHR_lights_punctual",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
];

/// Reads the bytes of the file at `path`; `files` learns of those that it names.
pub fn parse(path: &Path, bytes: &[u8], files: &Files) -> Result<Model> {
    let source = Source::new(path, bytes, files)?;
    let mut loader = Loader::new(&source)?;
    for placed in nodes::walk(&source)? {
        loader.place(&placed)?;
    }
    Ok(loader.finish())
}

struct Loader<'a> {
    source: &'a Source<'a>,
    model: Model,
    materials: Materials<'a>,
    /// The surface and the set of texture coordinates of each material that was used.
    dressed: Vec<Option<(u32, u32)>>,
    /// The surface of primitives without a material.
    default: Option<u32>,
    /// The model's meshes that stand for each mesh that was used.
    meshes: Vec<Option<Vec<u32>>>,
    /// Least and greatest coordinates of each of the model's meshes.
    bounds: Vec<[Vec3; 2]>,
    corners: usize,
    warnings: Warnings,
    mended: Mended,
}

impl<'a> Loader<'a> {
    fn new(source: &'a Source<'a>) -> Result<Self> {
        let mut warnings = Warnings::default();
        let root = &source.root;
        for name in &root.extensions_required {
            if !KNOWN.contains(&name.as_str()) {
                let known = KNOWN.join(", ");
                let text =
                    format!("requires the extension `{name}`, which rayq does not read (it reads {known})");
                return Err(source.fault(text));
            }
        }
        for name in root.extensions_used.iter().filter(|name| !KNOWN.contains(&name.as_str())) {
            warnings.add(format!("extension {name}"), || format!("the extension `{name}` is left out"));
        }
        if !root.animations.is_empty() {
            warnings.add("animations", || "animations are left out".into());
        }
        Ok(Loader {
            source,
            model: Model::default(),
            materials: Materials::new(source),
            dressed: vec![None; root.materials.len()],
            default: None,
            meshes: vec![None; root.meshes.len()],
            bounds: vec![],
            corners: 0,
            warnings,
            mended: Mended::default(),
        })
    }

    /// Takes a node's mesh and light into the model.
    fn place(&mut self, placed: &Placed) -> Result<()> {
        if let Some(light) = &placed.node.extensions.light {
            let lamp = nodes::lamp(self.source, placed, light.light, &mut self.warnings)?;
            self.model.lamps.extend(lamp);
        }
        let Some(mesh) = placed.node.mesh else { return Ok(()) };
        if placed.node.skin.is_some() {
            let text = || format!("nodes[{}]: its skin is left out", placed.index);
            self.warnings.add("skins", text);
        }
        let Some(transform) = invertible(placed.transform) else {
            let text = || format!("nodes[{}]: is scaled to nothing; its mesh is left out", placed.index);
            self.warnings.add("scale", text);
            return Ok(());
        };
        for mesh in self.meshes_of(mesh, placed)? {
            self.check_reach(mesh, &transform, placed)?;
            self.model.instances.push(Instance { mesh, transform });
        }
        if self.model.instances.len() > MAX_INSTANCES {
            return Err(self.source.fault(format_args!("more than {MAX_INSTANCES} instances, the limit")));
        }
        Ok(())
    }

    /// The model's meshes for a mesh, which are read when first asked for.
    fn meshes_of(&mut self, index: usize, placed: &Placed) -> Result<Vec<u32>> {
        let mesh = self.source.get(
            &self.source.root.meshes,
            index,
            "meshes",
            format_args!("nodes[{}]", placed.index),
        )?;
        if let Some(meshes) = &self.meshes[index] {
            return Ok(meshes.clone());
        }
        let mut meshes = vec![];
        for (number, primitive) in mesh.primitives.iter().enumerate() {
            let place = primitive::place(index, number);
            let (surface, set) = self.dress(primitive.material, &place)?;
            let dress = Dress { index: surface, surface: &self.model.surfaces[surface as usize], set };
            let read = primitive::mesh(
                self.source,
                primitive,
                &dress,
                &mut self.corners,
                &place,
                &mut self.warnings,
                &mut self.mended,
            )?;
            if let Some(mut read) = read {
                read.name = mesh.name.clone();
                meshes.push(self.model.meshes.len() as u32);
                let places = read.positions.iter();
                let grow = |[low, high]: [Vec3; 2], p: &Vec3| [low.min(*p), high.max(*p)];
                self.bounds.push(places.fold([Vec3::INFINITY, Vec3::NEG_INFINITY], grow));
                self.model.meshes.push(Arc::new(read));
            }
        }
        self.meshes[index] = Some(meshes.clone());
        Ok(meshes)
    }

    /// The surface of a material, and its set of texture coordinates.
    fn dress(&mut self, material: Option<usize>, place: &str) -> Result<(u32, u32)> {
        let surfaces = &mut self.model.surfaces;
        let mut add = |surface: Surface| {
            surfaces.push(surface);
            surfaces.len() as u32 - 1
        };
        let Some(index) = material else {
            return Ok((*self.default.get_or_insert_with(|| add(Surface::default())), 0));
        };
        self.source.get(&self.source.root.materials, index, "materials", place)?;
        if let Some(dressed) = self.dressed[index] {
            return Ok(dressed);
        }
        let (surface, set) = self.materials.surface(index, &mut self.warnings)?;
        let dressed = (add(surface), set);
        self.dressed[index] = Some(dressed);
        Ok(dressed)
    }

    /// Refuses meshes whose boxes reach beyond the world.
    fn check_reach(&self, mesh: u32, transform: &Affine3A, placed: &Placed) -> Result<()> {
        let bounds = self.bounds[mesh as usize];
        let corner = |i: usize| Vec3::new(bounds[i & 1].x, bounds[i >> 1 & 1].y, bounds[i >> 2].z);
        let corners = (0..8).map(|i| transform.transform_point3(corner(i)).abs());
        if corners.into_iter().all(|c| c.cmple(Vec3::splat(MAX_COORDINATE)).all()) {
            return Ok(());
        }
        let text = format!("nodes[{}]: its mesh reaches beyond {MAX_COORDINATE:e}", placed.index);
        Err(self.source.fault(text))
    }

    fn finish(mut self) -> Model {
        self.model.images = self.materials.images.into_list();
        self.model.tell(self.source.path, self.warnings, self.mended);
        self.model
    }
}

/// The transform in single precision, if there is a way back from it.
fn invertible(transform: DAffine3) -> Option<Affine3A> {
    let single = transform.as_affine3a();
    let there_and_back = single.is_finite() && single.inverse().is_finite();
    (there_and_back && transform.matrix3.determinant() != 0.0).then_some(single)
}
