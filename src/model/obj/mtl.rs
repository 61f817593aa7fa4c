//! MTL, the materials of OBJ files, as surfaces of the metallic-roughness model.
//!
//! What MTL says of a Phong highlight is mapped thus; docs/models.md says the same to users:
//! - `Kd` is the base colour. `Ks` is a dielectric's specular, 8 % of it at normal incidence (so the 0.5 that many
//!   programs write is the usual 4 %), where `illum` is 2 or more or is not there; its width comes from `Ns`, whose
//!   lobe is that of microfacets of alpha = sqrt(2 / (Ns + 2)). Without `Ks` a surface is diffuse alone.
//! - `illum` 3, 5 or 8 with `Kd` black is a metal of colour `Ks`; `illum` 4, 6, 7 or 9, and `d` below 0.5, is clear
//!   glass of index `Ni`. Other values of `d` count as opaque.
//! - `map_d` cuts out, at one half, where it is the alpha of the same picture as `map_Kd`.

use super::super::file::read;
use super::super::image::{Images, load_noting};
use super::super::{Model, Surface, Texture, Warnings, Wrap};
use super::text::{Statement, statements};
use crate::error::Result;
use crate::file::Files;
use glam::Vec3;
use std::collections::HashMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Most radiance of an emission, as in scenes.
const MAX_RADIANCE: f32 = 1e9;
/// Reflectance of surfaces without a word about it.
const GREY: Vec3 = Vec3::splat(0.8);

/// The surface of faces without a material, and what MTL's materials start from: diffuse, seen from both sides.
pub fn plain() -> Surface {
    Surface {
        base_color: GREY,
        metallic: 0.0,
        roughness: 1.0,
        specular: 0.0,
        double_sided: true,
        ..Surface::default()
    }
}

/// The materials that an OBJ file can name.
pub struct Library<'a> {
    surfaces: Vec<Surface>,
    by_name: HashMap<String, u32>,
    images: Images,
    files: &'a Files,
}

impl<'a> Library<'a> {
    /// None yet; `files` learns of what is read.
    pub fn new(files: &'a Files) -> Self {
        Library { surfaces: vec![], by_name: HashMap::new(), images: Images::default(), files }
    }

    /// Adds the materials of a file; one that cannot be read is warned of. A name that is there already keeps its first
    /// meaning. `place` says who asks.
    pub fn read(&mut self, file: &Path, place: impl Display, warnings: &mut Warnings) -> Result<()> {
        match read(file, self.files) {
            Ok(bytes) => self.define_all(file, &String::from_utf8_lossy(&bytes), warnings)?,
            Err(why) => {
                let place = format!("{place}: cannot read the materials {}", file.display());
                warnings.add(place.clone(), || format!("{place}: {why}"));
            }
        }
        Ok(())
    }

    fn define_all(&mut self, file: &Path, text: &str, warnings: &mut Warnings) -> Result<()> {
        let mut draft: Option<Draft> = None;
        statements(file, text, |statement| {
            if statement.keyword == "newmtl" {
                let new = Draft::new(statement.rest);
                if let Some(done) = draft.replace(new) {
                    self.define(done);
                }
                return Ok(());
            }
            match &mut draft {
                Some(draft) => draft.take(statement, &mut self.images, self.files, warnings),
                None => Err(statement.fault(format_args!("`{}` before the first newmtl", statement.keyword))),
            }
        })?;
        if let Some(done) = draft {
            self.define(done);
        }
        Ok(())
    }

    fn define(&mut self, draft: Draft) {
        let surface = draft.surface();
        if !self.by_name.contains_key(&surface.name) {
            let name = surface.name.clone();
            let index = self.add(surface);
            self.by_name.insert(name, index);
        }
    }

    /// Adds a surface that has no name in OBJ files.
    pub fn add(&mut self, surface: Surface) -> u32 {
        self.surfaces.push(surface);
        self.surfaces.len() as u32 - 1
    }

    /// The surface that `usemtl` names.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// A model of nothing but surfaces and images, in the order of their indices.
    pub fn finish(self) -> Model {
        Model { surfaces: self.surfaces, images: self.images.into_list(), ..Model::default() }
    }
}

/// A material as the file says it.
#[derive(Default)]
struct Draft {
    name: String,
    diffuse: Option<Vec3>,
    specular: Option<Vec3>,
    shininess: f32,
    emission: Option<Vec3>,
    opacity: Option<f32>,
    ior: Option<f32>,
    illum: Option<f32>,
    roughness: Option<f32>,
    metallic: f32,
    diffuse_map: Option<Texture>,
    emission_map: Option<Texture>,
    normal_map: Option<Texture>,
    normal_scale: f32,
    cut_out: Option<Texture>,
}

impl Draft {
    fn new(name: &str) -> Self {
        Draft { name: name.to_owned(), normal_scale: 1.0, ..Draft::default() }
    }

    fn take(
        &mut self,
        statement: &Statement,
        images: &mut Images,
        files: &Files,
        warnings: &mut Warnings,
    ) -> Result<()> {
        let share = || statement.numbers::<1>(f32::MAX).map(|[n]| n);
        let map = |images: &mut Images| map(statement, images, files);
        match statement.keyword {
            "Kd" => self.diffuse = Some(color(statement, 1.0)?),
            "Ks" => self.specular = Some(color(statement, 1.0)?),
            "Ke" => self.emission = Some(color(statement, MAX_RADIANCE)?),
            "Ns" => self.shininess = share()?.max(0.0),
            "Ni" => self.ior = Some(share()?.clamp(0.01, 100.0)),
            "d" if statement.rest.starts_with("-halo") => {}
            "d" => self.opacity = Some(share()?.clamp(0.0, 1.0)),
            "Tr" => self.opacity = Some(1.0 - share()?.clamp(0.0, 1.0)),
            "illum" => self.illum = Some(share()?),
            "Pr" => self.roughness = Some(share()?.clamp(0.0, 1.0)),
            "Pm" => self.metallic = share()?.clamp(0.0, 1.0),
            "map_Kd" => self.diffuse_map = Some(map(images)?.0),
            "map_Ke" => self.emission_map = Some(map(images)?.0),
            "map_d" => self.cut_out = Some(map(images)?.0),
            "norm" | "map_Kn" => {
                let (texture, scale) = map(images)?;
                (self.normal_map, self.normal_scale) = (Some(texture), scale);
            }
            "Ka" | "Tf" | "sharpness" | "aniso" | "anisor" | "map_aat" | "map_Ka" => {}
            word => {
                let file = statement.file.display();
                let text = || format!("{file}:{}: `{word}` is left out", statement.line);
                warnings.add(format!("mtl {word}"), text);
            }
        }
        Ok(())
    }

    fn surface(self) -> Surface {
        let has_map = self.diffuse_map.is_some();
        let diffuse = self.diffuse.unwrap_or(if has_map { Vec3::ONE } else { GREY });
        let glossy = self.illum.is_none_or(|illum| illum >= 2.0);
        let specular = self.specular.filter(|_| glossy).unwrap_or_default();
        let lobe = (2.0 / (self.shininess + 2.0)).sqrt().sqrt();
        let illum_is = |numbers: &[f32]| self.illum.is_some_and(|illum| numbers.contains(&illum));
        let mirror = illum_is(&[3.0, 5.0, 8.0]) && self.diffuse == Some(Vec3::ZERO);
        // An emission map alone glows as it is.
        let dark = self.emission.is_none_or(|e| e == Vec3::ZERO);
        let emission = self.emission.filter(|_| !dark || self.emission_map.is_none());
        let cut_out = self.cut_out.is_some() && self.cut_out == self.diffuse_map;
        Surface {
            name: self.name,
            base_color: if mirror { specular } else { diffuse },
            base_texture: self.diffuse_map,
            metallic: if mirror { 1.0 } else { self.metallic },
            roughness: self.roughness.unwrap_or(if specular == Vec3::ZERO { 1.0 } else { lobe }),
            normal_texture: self.normal_map,
            normal_scale: self.normal_scale,
            emission: emission.unwrap_or(if self.emission_map.is_some() { Vec3::ONE } else { Vec3::ZERO }),
            emission_texture: self.emission_map,
            specular: if specular == Vec3::ZERO { 0.0 } else { 1.0 },
            specular_color: 2.0 * specular,
            ior: self.ior.filter(|&ior| ior != 1.0).unwrap_or(1.5),
            glass: illum_is(&[4.0, 6.0, 7.0, 9.0]) || (self.opacity.is_some_and(|d| d < 0.5) && !cut_out),
            alpha_cutoff: cut_out.then_some(0.5),
            ..plain()
        }
    }
}

/// A colour of channels 0 up to `most`; one number stands for all three.
fn color(statement: &Statement, most: f32) -> Result<Vec3> {
    let color = match statement.words().count() {
        1 => Vec3::splat(statement.numbers::<1>(MAX_RADIANCE)?[0]),
        _ => Vec3::from_array(statement.numbers(MAX_RADIANCE)?),
    };
    Ok(color.clamp(Vec3::ZERO, Vec3::splat(most)))
}

/// A texture: options, then a file name, which may hold spaces. Also the option `-bm`, or 1.
fn map(statement: &Statement, images: &mut Images, files: &Files) -> Result<(Texture, f32)> {
    let (mut rest, mut scale, mut offset, mut wrap, mut bump) =
        (statement.rest, [1.0, 1.0], [0.0, 0.0], Wrap::Repeat, 1.0);
    while let Some((option, after)) = rest.split_once(' ').filter(|(word, _)| word.starts_with('-')) {
        rest = after.trim_start();
        match option {
            "-s" => take_numbers(statement, &mut rest, &mut scale)?,
            "-o" => take_numbers(statement, &mut rest, &mut offset)?,
            "-t" => take_numbers(statement, &mut rest, &mut [0.0; 2])?,
            "-mm" => drop((take_word(&mut rest), take_word(&mut rest))),
            "-bm" => bump = statement.number(take_word(&mut rest), 1e6)?,
            "-clamp" if take_word(&mut rest) == "on" => wrap = Wrap::Clamp,
            "-clamp" => {}
            "-blendu" | "-blendv" | "-cc" | "-imfchan" | "-texres" | "-type" | "-boost" => {
                take_word(&mut rest);
            }
            _ => {
                return Err(statement.fault(format_args!("{}: unknown option `{option}`", statement.keyword)));
            }
        }
    }
    if rest.is_empty() {
        return Err(statement.fault(format_args!("{}: names no picture", statement.keyword)));
    }
    let file = picture_file(statement.file, rest, files);
    let image = images.index(&file, || load_noting(&file, files))?;
    // The options count from the picture's last row, we from its first: v' = 1 - (s * (1 - v) + o).
    let transform = [[scale[0], 0.0, offset[0]], [0.0, scale[1], 1.0 - scale[1] - offset[1]]];
    Ok((Texture { image, wrap: [wrap; 2], smooth: true, transform }, bump))
}

/// The file as named beside the MTL file; backslashes of Windows part folders where there is no such file.
fn picture_file(library: &Path, name: &str, files: &Files) -> PathBuf {
    let folder = library.parent().unwrap_or(Path::new(""));
    let file = folder.join(name);
    if files.has(&file) { file } else { folder.join(name.replace('\\', "/")) }
}

fn take_word<'a>(rest: &mut &'a str) -> &'a str {
    let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
    *rest = after.trim_start();
    word
}

/// Up to three numbers, of which two count here.
fn take_numbers(statement: &Statement, rest: &mut &str, into: &mut [f32; 2]) -> Result<()> {
    for i in 0..3 {
        let word = rest.split(' ').next().unwrap_or("");
        if word.parse::<f32>().is_err() {
            return Ok(());
        }
        let number = statement.number(take_word(rest), 1e6)?;
        if let Some(place) = into.get_mut(i) {
            *place = number;
        }
    }
    Ok(())
}
