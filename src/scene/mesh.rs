//! Mesh objects: files and generators, loaded once however often they are used, and where their meshes go.

use super::fault::{Checked, Fault, Within};
use super::format::{GeneratorTable, ObjectEntry, Real, Scale, Table, Triple};
use super::principled::Pictures;
use super::validate::{self, Names, at_most, in_range, in_range_whole, material_index, need, triple_f64};
use super::{Instance, MAX_MATERIALS, Material, camera};
use crate::accel::Shape;
use crate::file::Files;
use crate::model::generate::{self, Generator};
use crate::model::{self, Image, Light, Model};
use glam::{Affine3A, DAffine3, DMat3, DVec3, Vec3A};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Factors of a mesh's size, without their signs.
const FACTORS: RangeInclusive<f64> = 1e-9..=1e9;
/// Degrees of a rotation.
const ANGLES: RangeInclusive<f64> = -1e6..=1e6;
/// Where meshes may go.
const PLACES: RangeInclusive<f64> = -1e9..=1e9;

/// What the scene's models have brought so far.
pub struct Models<'a> {
    folder: &'a Path,
    files: &'a Files,
    /// The scene's own materials, then the surfaces of models.
    pub materials: Vec<Material>,
    pub meshes: Vec<Arc<Shape>>,
    pub instances: Vec<Instance>,
    pub images: Vec<Arc<Image>>,
    pub lamps: Vec<Light>,
    pub warnings: Vec<String>,
    loaded: HashMap<Key, Loaded>,
}

/// What tells models apart.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    /// A file, and whether its dielectrics have a specular.
    File(PathBuf, bool),
    /// A generator and its numbers, as text.
    Generator(String),
}

/// Where a model went.
#[derive(Clone)]
struct Loaded {
    first_material: u32,
    /// Its instances: meshes of the scene, and their maps into the model's space.
    instances: Vec<(u32, DAffine3)>,
}

impl<'a> Models<'a> {
    /// None yet; `pictures` are those of `materials`.
    pub fn new(materials: Vec<Material>, pictures: Pictures<'a>) -> Self {
        Models {
            folder: pictures.folder,
            files: pictures.files,
            materials,
            meshes: vec![],
            instances: vec![],
            lamps: vec![],
            images: pictures.list,
            warnings: vec![],
            loaded: HashMap::new(),
        }
    }

    /// Adds a mesh object.
    pub fn add(&mut self, entry: &mut ObjectEntry, names: &Names) -> Checked<()> {
        let material = match entry.material {
            Some(_) => Some(material_index(entry, names)?),
            None => None,
        };
        let placed = place(entry)?;
        let loaded = match (entry.file.take(), entry.generator.take()) {
            (Some(file), None) => self.file(&file, entry.specular.take()).within("file")?,
            (None, Some(Table(generator))) => {
                // A generated mesh has no material of its own.
                if material.is_none() {
                    return Err(Fault::new("the key `material` is missing; a generated mesh has none"));
                }
                self.generated(generator).within("generator")?
            }
            (Some(_), Some(_)) => {
                return Err(Fault::new("has no effect beside `file`; leave one of them out"))
                    .within("generator");
            }
            (None, None) => return Err(Fault::new("one of the keys `file` and `generator` is missing")),
        };
        for (mesh, map) in &loaded.instances {
            let transform = single(&(placed * *map));
            let first_material = loaded.first_material;
            self.instances.push(Instance { mesh: *mesh, transform, material, first_material });
        }
        Ok(())
    }

    fn file(&mut self, file: &str, specular: Option<bool>) -> Checked<Loaded> {
        let path = self.folder.join(file);
        let specular = specular.unwrap_or(true);
        let key = Key::File(path.clone(), specular);
        if let Some(loaded) = self.loaded.get(&key) {
            return Ok(loaded.clone());
        }
        let mut model = model::load_noting(&path, self.files).map_err(|e| Fault::new(e.to_string()))?;
        if !specular {
            model.surfaces.iter_mut().for_each(|surface| surface.specular = 0.0);
        }
        self.keep(key, model)
    }

    fn generated(&mut self, table: GeneratorTable) -> Checked<Loaded> {
        let generator = generator(table)?;
        let key = Key::Generator(format!("{generator:?}"));
        if let Some(loaded) = self.loaded.get(&key) {
            return Ok(loaded.clone());
        }
        let mesh = Arc::new(generate::mesh(&generator));
        let instance = model::Instance { mesh: 0, transform: Affine3A::IDENTITY };
        let model = Model { meshes: vec![mesh], instances: vec![instance], ..Model::default() };
        self.keep(key, model)
    }

    /// Takes a model in.
    fn keep(&mut self, key: Key, model: Model) -> Checked<Loaded> {
        let (first_mesh, first_image) = (self.meshes.len() as u32, self.images.len() as u32);
        let first_material = self.materials.len() as u32;
        at_most(MAX_MATERIALS, self.materials.len() + model.surfaces.len(), "materials")?;
        for mut surface in model.surfaces {
            let textures = [
                &mut surface.base_texture,
                &mut surface.roughness_texture,
                &mut surface.normal_texture,
                &mut surface.emission_texture,
            ];
            textures.into_iter().flatten().for_each(|texture| texture.image += first_image);
            self.materials.push(Material::Surface(Box::new(surface)));
        }
        self.meshes.extend(model.meshes.into_iter().map(|mesh| Arc::new(Shape::new(mesh))));
        self.images.extend(model.images);
        self.lamps.extend(model.lamps);
        self.warnings.extend(model.warnings);
        let instances = model.instances.iter().map(|i| (first_mesh + i.mesh, double(&i.transform)));
        let loaded = Loaded { first_material, instances: instances.collect() };
        self.loaded.insert(key, loaded.clone());
        Ok(loaded)
    }
}

/// Where an object's keys put its mesh: scaled, turned about x, then y, then z, then moved.
fn place(entry: &mut ObjectEntry) -> Checked<DAffine3> {
    let zero = Triple::of(0.0);
    let translation = triple_f64(entry.translate.take().unwrap_or(zero), PLACES).within("translate")?;
    let angles = triple_f64(entry.rotate_deg.take().unwrap_or(zero), ANGLES).within("rotate_deg")?;
    let Scale(factors) = entry.scale.take().unwrap_or(Scale(Triple::of(1.0)));
    let scale = scale(factors).within("scale")?;
    let matrix = rotation(angles) * DMat3::from_diagonal(scale);
    Ok(DAffine3 { matrix3: matrix, translation })
}

fn scale(Triple(factors): Triple) -> Checked<DVec3> {
    for (i, Real(factor)) in factors.into_iter().enumerate() {
        in_range(Real(factor.abs()), FACTORS)
            .map_err(|fault| Fault::new(fault.message + ", with either sign"))
            .within(i)?;
    }
    Ok(DVec3::from(factors.map(|f| f.0)))
}

/// About x, then y, then z, each counter-clockwise as seen from that axis's end.
fn rotation(degrees: DVec3) -> DMat3 {
    let [x, y, z] = degrees.to_array().map(camera::cosine_and_sine);
    let about_x = DMat3::from_cols_array(&[1.0, 0.0, 0.0, 0.0, x.0, x.1, 0.0, -x.1, x.0]);
    let about_y = DMat3::from_cols_array(&[y.0, 0.0, -y.1, 0.0, 1.0, 0.0, y.1, 0.0, y.0]);
    let about_z = DMat3::from_cols_array(&[z.0, z.1, 0.0, -z.1, z.0, 0.0, 0.0, 0.0, 1.0]);
    about_z * about_y * about_x
}

/// In doubles, whose products are rounded alike on every host.
fn double(map: &Affine3A) -> DAffine3 {
    let column = |v: Vec3A| glam::Vec3::from(v).as_dvec3();
    let m = map.matrix3;
    DAffine3::from_cols(column(m.x_axis), column(m.y_axis), column(m.z_axis), column(map.translation))
}

fn single(map: &DAffine3) -> Affine3A {
    let column = |v: DVec3| v.as_vec3();
    let m = map.matrix3;
    Affine3A::from_cols(
        column(m.x_axis).into(),
        column(m.y_axis).into(),
        column(m.z_axis).into(),
        column(map.translation).into(),
    )
}

fn generator(mut table: GeneratorTable) -> Checked<Generator> {
    let kind = need(table.kind.take(), "kind")?;
    let subdivisions = |table: &mut GeneratorTable, most: u32| {
        let value = need(table.subdivisions.take(), "subdivisions")?;
        in_range_whole(value, 1..=most).within("subdivisions")
    };
    let relief = |table: &mut GeneratorTable| {
        let Real(amplitude) = table.amplitude.take().unwrap_or(Real(0.1));
        let frequency = table.frequency.take().unwrap_or(Real(4.0));
        Ok(generate::Relief {
            amplitude: f64::from(in_range(Real(amplitude), 0.0..=0.5).within("amplitude")?),
            frequency: f64::from(in_range(frequency, 0.01..=1e4).within("frequency")?),
            seed: table.seed.take().map_or(Ok(0), |v| in_range_whole(v, 0..=u32::MAX)).within("seed")?,
        })
    };
    let made = match kind.as_str() {
        "displaced-sphere" => Generator::Sphere {
            subdivisions: subdivisions(&mut table, generate::MOST_SUBDIVISIONS)?,
            relief: relief(&mut table)?,
        },
        "grid" => Generator::Grid {
            subdivisions: subdivisions(&mut table, generate::MOST_SUBDIVISIONS)?,
            relief: relief(&mut table)?,
        },
        "box" => Generator::Box,
        _ => return Err(validate::unknown(&kind, &["displaced-sphere", "grid", "box"])).within("kind"),
    };
    let left = [
        ("subdivisions", table.subdivisions.is_some()),
        ("amplitude", table.amplitude.is_some()),
        ("frequency", table.frequency.is_some()),
        ("seed", table.seed.is_some()),
    ];
    validate::no_other_keys(&kind, &left)?;
    Ok(made)
}
