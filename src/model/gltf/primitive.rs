//! Primitives of meshes, as meshes.

use super::json::{Index, Primitive};
use super::source::Source;
use crate::error::Result;
use crate::model::finish::{Mended, finish, flatten, make_tangents};
use crate::model::{MAX_COORDINATE, MAX_TRIANGLES, Mesh, Surface, Warnings};
use glam::{Vec2, Vec3, Vec4};
use std::fmt::Display;

/// Texture coordinates: more than any texture repeats.
const MAX_TEXTURE_COORDINATE: f32 = 1e6;

/// What a primitive wears: an index into the model's surfaces, that surface, and its set of texture coordinates.
pub struct Dress<'a> {
    /// Index into the model's surfaces.
    pub index: u32,
    /// The surface itself.
    pub surface: &'a Surface,
    /// The set of texture coordinates that its textures read.
    pub set: u32,
}

/// Checks that `so_far` and this primitive's vertices and triangles stay within the limit, before memory is taken.
fn check_size(
    source: &Source,
    primitive: &Primitive,
    position: Index,
    so_far: usize,
    place: &str,
) -> Result<()> {
    let vertices = source.count(position, place)?;
    let corners = primitive.indices.map_or(Ok(vertices), |i| source.count(i, place))?;
    if (so_far as u64).saturating_add(vertices.max(corners)) > 3 * MAX_TRIANGLES as u64 {
        return Err(
            source.fault(format_args!("{place}: with it the model has more than {MAX_TRIANGLES} triangles"))
        );
    }
    Ok(())
}

/// The primitive as a mesh; `None` if it has no triangles. `so_far` counts the corners of those before it.
pub fn mesh(
    source: &Source,
    primitive: &Primitive,
    dress: &Dress,
    so_far: &mut usize,
    place: &str,
    warnings: &mut Warnings,
    mended: &mut Mended,
) -> Result<Option<Mesh>> {
    let mode = primitive.mode.unwrap_or(4);
    let note = |warnings: &mut Warnings, text: &str| warnings.add(text, || format!("{place}: {text}"));
    match mode {
        0..=3 => {
            note(warnings, "points and lines are left out");
            return Ok(None);
        }
        4..=6 => {}
        _ => return Err(source.fault(format_args!("{place}: unknown mode {mode}; allowed: 0 to 6"))),
    }
    let Some(&position) = primitive.attributes.get("POSITION") else {
        note(warnings, "has no POSITION and is left out");
        return Ok(None);
    };
    if primitive.attributes.contains_key("COLOR_0") {
        note(warnings, "colours of vertices are left out");
    }
    if !primitive.targets.is_empty() {
        note(warnings, "morph targets are left out");
    }
    check_size(source, primitive, position, *so_far, place)?;
    let positions: Vec<_> = source.floats(position, "POSITION", MAX_COORDINATE)?;
    let count = positions.len();
    let mut mesh = Mesh { positions: positions.into_iter().map(Vec3::from).collect(), ..Mesh::default() };
    mesh.normals =
        attribute(source, primitive, "NORMAL", f32::MAX, count)?.into_iter().map(Vec3::from).collect();
    let set = format!("TEXCOORD_{}", dress.set);
    let uvs = attribute(source, primitive, &set, MAX_TEXTURE_COORDINATE, count)?;
    mesh.uvs = uvs.into_iter().map(Vec2::from).collect();
    if wears_textures(dress.surface) && mesh.uvs.is_empty() {
        warnings.add("no texture coordinates", || {
            format!("{place}: has textures and no {set}; it shows texel (0, 0)")
        });
    }
    let indices = match primitive.indices {
        Some(index) => source.indices(index, count)?,
        None => (0..count as u32).collect(),
    };
    *so_far += indices.len().max(count);
    let left_over = indices.len() < 3 || (mode == 4 && indices.len() % 3 != 0);
    if left_over {
        note(warnings, "has corners left over, which are left out");
    }
    mesh.triangles = triangles(mode, &indices);
    mesh.surfaces = vec![dress.index; mesh.triangles.len()];
    let before = mended.degenerate;
    finish(&mut mesh, mended);
    if mode != 4 {
        // Strips are joined by triangles without area.
        mended.degenerate = before;
    }
    if dress.surface.normal_texture.is_some() && !mesh.uvs.is_empty() {
        tangents(source, primitive, &mut mesh, count)?;
    }
    Ok((!mesh.triangles.is_empty()).then_some(mesh))
}

fn wears_textures(surface: &Surface) -> bool {
    let textures = [
        &surface.base_texture,
        &surface.roughness_texture,
        &surface.normal_texture,
        &surface.emission_texture,
    ];
    textures.into_iter().any(Option::is_some)
}

/// An attribute of as many elements as there are positions; nothing if it is not there.
fn attribute<const N: usize>(
    source: &Source,
    primitive: &Primitive,
    name: &str,
    limit: f32,
    count: usize,
) -> Result<Vec<[f32; N]>> {
    let Some(&index) = primitive.attributes.get(name) else { return Ok(vec![]) };
    let declared = source.count(index, name)?;
    if declared != count as u64 {
        return Err(
            source.fault(format_args!("accessors[{index}]: {declared} of {name} for {count} of POSITION"))
        );
    }
    source.floats(index, name, limit)
}

/// The file's tangents where they are good, else computed ones.
fn tangents(source: &Source, primitive: &Primitive, mesh: &mut Mesh, count: usize) -> Result<()> {
    let given = attribute(source, primitive, "TANGENT", f32::MAX, count)?;
    let unit = |[x, y, z, w]: [f32; 4]| {
        let along = Vec3::new(x, y, z).as_dvec3().try_normalize()?;
        Some(along.as_vec3().extend(if w < 0.0 { -1.0 } else { 1.0 }))
    };
    let given: Option<Vec<Vec4>> = given.into_iter().map(unit).collect();
    match given {
        Some(given) if !given.is_empty() && !mesh.normals.is_empty() => mesh.tangents = given,
        _ => {
            if mesh.normals.is_empty() {
                flatten(mesh);
            }
            make_tangents(mesh);
        }
    }
    Ok(())
}

/// Triangles of a list, a strip or a fan. Each goes round as the first one does.
fn triangles(mode: u64, indices: &[u32]) -> Vec<[u32; 3]> {
    match mode {
        4 => indices.as_chunks().0.to_vec(),
        5 => indices
            .windows(3)
            .enumerate()
            .map(|(i, w)| if i % 2 == 0 { [w[0], w[1], w[2]] } else { [w[0], w[2], w[1]] })
            .collect(),
        _ => indices.get(1..).unwrap_or(&[]).windows(2).map(|w| [w[0], w[1], indices[0]]).collect(),
    }
}

/// The name of a primitive in messages.
pub fn place(mesh: Index, primitive: impl Display) -> String {
    format!("meshes[{mesh}].primitives[{primitive}]")
}
