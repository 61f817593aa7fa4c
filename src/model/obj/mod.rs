//! Wavefront OBJ: vertices, faces and materials. Faces without normals are flat, whatever smoothing groups say.

mod mtl;
mod text;

use super::finish::{Mended, finish};
use super::polygon::{Cutter, MAX_CORNERS};
use super::{Instance, MAX_COORDINATE, MAX_TRIANGLES, Mesh, Model, Warnings};
use crate::error::Result;
use crate::file::Files;
use glam::{Affine3A, Vec2, Vec3};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use text::{Statement, statements};

/// Texture coordinates: more than any texture repeats.
const MAX_TEXTURE_COORDINATE: f32 = 1e6;
/// Keywords that say nothing about surfaces.
const QUIET: &[&str] = &["o", "g", "s", "mg", "usemap", "maplib", "lod", "bevel", "c_interp", "d_interp"];
/// Free-form curves and surfaces.
const FREE_FORM: &[&str] = &[
    "vp", "cstype", "deg", "bmat", "step", "curv", "curv2", "surf", "parm", "trim", "hole", "scrv", "sp",
    "end", "con", "ctech", "stech",
];

/// Reads the bytes of the file at `path`; `files` learns of those that it names.
pub fn parse(path: &Path, bytes: &[u8], files: &Files) -> Result<Model> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::new(path, files);
    statements(path, &text, |statement| reader.take(statement))?;
    reader.finish()
}

/// A vertex of a face: the numbers of its position, texture coordinate and normal.
type Corner = [u32; 3];
/// A corner's texture coordinate or normal that is not there.
const NONE: u32 = u32::MAX;

/// Triangles whose vertices have the same things: texture coordinates or none, normals or none.
#[derive(Default)]
struct Part {
    mesh: Mesh,
    vertices: HashMap<Corner, u32>,
}

struct Reader<'a> {
    path: &'a Path,
    files: &'a Files,
    positions: Vec<Vec3>,
    uvs: Vec<Vec2>,
    normals: Vec<Vec3>,
    parts: [Part; 4],
    library: mtl::Library<'a>,
    /// The surface of the faces to come.
    surface: Option<u32>,
    /// The surface of faces without a material.
    default: Option<u32>,
    warnings: Warnings,
    mended: Mended,
    triangle_count: usize,
    cutter: Cutter,
    corners: Vec<Corner>,
    places: Vec<Vec3>,
    cut: Vec<[u32; 3]>,
}

impl<'a> Reader<'a> {
    fn new(path: &'a Path, files: &'a Files) -> Self {
        Reader {
            path,
            files,
            positions: vec![],
            uvs: vec![],
            normals: vec![],
            parts: Default::default(),
            library: mtl::Library::new(files),
            surface: None,
            default: None,
            warnings: Warnings::default(),
            mended: Mended::default(),
            triangle_count: 0,
            cutter: Cutter::new(),
            corners: vec![],
            places: vec![],
            cut: vec![],
        }
    }

    fn take(&mut self, statement: &Statement) -> Result<()> {
        match statement.keyword {
            "v" => self.position(statement)?,
            "vt" => self.texture_coordinate(statement)?,
            "vn" => self.normals.push(Vec3::from_array(statement.numbers(f32::MAX)?)),
            "f" | "fo" => self.face(statement)?,
            "usemtl" => self.use_material(statement),
            "mtllib" => self.read_library(statement)?,
            "p" | "l" => self.warn(statement, "points and lines are left out"),
            word if QUIET.contains(&word) => {}
            word if FREE_FORM.contains(&word) => {
                self.warn(statement, "free-form curves and surfaces are left out")
            }
            word => {
                let text = format!("`{word}` is no statement of OBJ files that rayq knows; left out");
                self.warnings.add(format!("unknown {word}"), || format!("line {}: {text}", statement.line));
            }
        }
        Ok(())
    }

    /// A warning that is given once a file.
    fn warn(&mut self, statement: &Statement, text: &str) {
        self.warnings.add(text, || format!("line {}: {text}", statement.line));
    }

    fn position(&mut self, statement: &Statement) -> Result<()> {
        self.positions.push(Vec3::from_array(statement.numbers(MAX_COORDINATE)?));
        if statement.words().count() >= 6 {
            self.warn(statement, "colours of vertices are left out");
        }
        Ok(())
    }

    fn texture_coordinate(&mut self, statement: &Statement) -> Result<()> {
        let one = statement.words().count() == 1;
        let [u, v] = if one {
            [statement.numbers::<1>(MAX_TEXTURE_COORDINATE)?[0], 0.0]
        } else {
            statement.numbers(MAX_TEXTURE_COORDINATE)?
        };
        // OBJ's v runs up from the picture's last row.
        self.uvs.push(Vec2::new(u, 1.0 - v));
        Ok(())
    }

    fn use_material(&mut self, statement: &Statement) {
        self.surface = self.library.find(statement.rest);
        if self.surface.is_none() {
            let text = format!("line {}: no material is called `{}`", statement.line, statement.rest);
            self.warnings.add(text.clone(), || format!("{text}; its faces get the default one"));
        }
    }

    fn read_library(&mut self, statement: &Statement) -> Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        // One name with spaces, or several without: the file system knows.
        let whole = folder.join(statement.rest);
        let files: Vec<_> = match self.files.has(&whole) {
            true => vec![whole],
            false => statement.words().map(|word| folder.join(word)).collect(),
        };
        let place = format!("line {}", statement.line);
        files.iter().try_for_each(|file| self.library.read(file, &place, &mut self.warnings))
    }

    fn face(&mut self, statement: &Statement) -> Result<()> {
        self.corners.clear();
        for word in statement.words() {
            let corner = self.corner(statement, word)?;
            self.corners.push(corner);
        }
        match self.corners.len() {
            0..3 => {
                let count = self.corners.len();
                return Err(statement.fault(format_args!("a face of {count} corners; it needs 3 or more")));
            }
            3..=MAX_CORNERS => {}
            many => {
                return Err(statement.fault(format_args!("a face of {many} corners; allowed: {MAX_CORNERS}")));
            }
        }
        self.places.clear();
        self.places.extend(self.corners.iter().map(|c| self.positions[c[0] as usize]));
        self.cutter.cut(&self.places, &mut self.cut);
        // Corners on a straight line may have been cut off: what they are owed has no area.
        self.mended.degenerate += (self.corners.len() - 2).saturating_sub(self.cut.len()) as u64;
        self.triangle_count += self.cut.len();
        if self.triangle_count > MAX_TRIANGLES {
            return Err(statement.fault(format_args!("more than {MAX_TRIANGLES} triangles, the limit")));
        }
        self.add_triangles();
        Ok(())
    }

    fn add_triangles(&mut self) {
        let has = |part: usize| self.corners.iter().all(|c| c[part] != NONE);
        let (uvs, normals) = (has(1), has(2));
        let surface = self
            .surface
            .unwrap_or_else(|| *self.default.get_or_insert_with(|| self.library.add(mtl::plain())));
        let Part { mesh, vertices } = &mut self.parts[usize::from(uvs) + 2 * usize::from(normals)];
        for triangle in &self.cut {
            let indices = triangle.map(|i| {
                let [p, t, n] = self.corners[i as usize];
                let key = [p, if uvs { t } else { NONE }, if normals { n } else { NONE }];
                *vertices.entry(key).or_insert_with(|| {
                    mesh.positions.push(self.positions[p as usize]);
                    mesh.uvs.extend(uvs.then(|| self.uvs[t as usize]));
                    mesh.normals.extend(normals.then(|| self.normals[n as usize]));
                    mesh.positions.len() as u32 - 1
                })
            });
            mesh.triangles.push(indices);
            mesh.surfaces.push(surface);
        }
    }

    /// Reads `v`, `v/vt`, `v//vn` or `v/vt/vn`.
    fn corner(&self, statement: &Statement, word: &str) -> Result<Corner> {
        let mut parts = word.split('/');
        let mut next = |count: usize, what: &str| {
            match parts.next() {
            None | Some("") => Ok(NONE),
            Some(number) => resolve(number, count).ok_or_else(|| {
                statement.fault(match count {
                    0 => format!("f: `{word}`: there is no {what} {number}; none exist so far"),
                    _ => format!(
                        "f: `{word}`: there is no {what} {number}; {count} {} so far, numbered 1 to {count} or -{count} to -1",
                        if count == 1 { "exists" } else { "exist" }
                    ),
                })
            }),
        }
        };
        let corner = [
            next(self.positions.len(), "vertex")?,
            next(self.uvs.len(), "texture coordinate")?,
            next(self.normals.len(), "normal")?,
        ];
        if corner[0] == NONE || parts.next().is_some() {
            return Err(statement.fault(format_args!("f: `{word}` is not of the form 1, 1/2, 1//3 or 1/2/3")));
        }
        Ok(corner)
    }

    fn finish(mut self) -> Result<Model> {
        let mut model = self.library.finish();
        for Part { mut mesh, vertices } in self.parts {
            drop(vertices);
            finish(&mut mesh, &mut self.mended);
            if mesh.wants_tangents(&model.surfaces) {
                super::finish::make_tangents(&mut mesh);
            }
            if !mesh.triangles.is_empty() {
                let instance = Instance { mesh: model.meshes.len() as u32, transform: Affine3A::IDENTITY };
                model.instances.push(instance);
                model.meshes.push(Arc::new(mesh));
            }
        }
        if self.triangle_count == 0 {
            self.warnings.add("no faces", || "it has no faces".into());
        }
        model.tell(self.path, self.warnings, self.mended);
        Ok(model)
    }
}

/// The index from 0 of the `number`th of `count` things: from 1 up, or from -1 down from the last.
fn resolve(number: &str, count: usize) -> Option<u32> {
    let number: i64 = number.parse().ok()?;
    let index = if number < 0 { count as i64 + number } else { number - 1 };
    u32::try_from(index).ok().filter(|&i| (i as usize) < count)
}
