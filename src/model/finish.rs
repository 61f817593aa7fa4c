//! From a file's vertices and triangles to a [`Mesh`] that keeps its promises: no degenerate triangles, unit normals,
//! tangents where a normal texture needs them.

use super::Mesh;
use glam::{DVec3, Vec2, Vec3, Vec4};

/// A triangle whose height is less than this share of its longest edge is degenerate.
const FLATNESS: f64 = 1e-10;
/// So is one whose doubled area is smaller than this: single precision could not make a normal of it.
const SMALLEST: f64 = 1e-18;

/// What was mended in a file's meshes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mended {
    /// Triangles left out because their corners lie on a line or a point.
    pub degenerate: u64,
    /// Normals of length 0 that the faces' own replaced.
    pub normals: u64,
}

/// Twice the area of a triangle, as a vector along its normal.
pub fn doubled_area([a, b, c]: [Vec3; 3]) -> DVec3 {
    let [a, b, c] = [a, b, c].map(Vec3::as_dvec3);
    (b - a).cross(c - a)
}

fn is_degenerate(corners: [Vec3; 3]) -> bool {
    let [a, b, c] = corners.map(Vec3::as_dvec3);
    let longest = (b - a).length_squared().max((c - b).length_squared()).max((a - c).length_squared());
    let area = doubled_area(corners).length();
    area <= FLATNESS * longest || area < SMALLEST
}

/// Leaves out what is degenerate and mends normals. All indices must point at vertices.
pub fn finish(mesh: &mut Mesh, mended: &mut Mended) {
    let Mesh { positions, triangles, surfaces, .. } = mesh;
    let keep: Vec<bool> =
        triangles.iter().map(|t| !is_degenerate(t.map(|i| positions[i as usize]))).collect();
    mended.degenerate += keep.iter().filter(|&&k| !k).count() as u64;
    let (mut kept, mut kept_too) = (keep.iter(), keep.iter());
    triangles.retain(|_| *kept.next().expect("one each"));
    surfaces.retain(|_| *kept_too.next().expect("one each"));
    mend_normals(mesh, mended);
}

/// Makes normals units. One that has no length becomes the sum of its triangles' normals, larger ones counting more.
fn mend_normals(mesh: &mut Mesh, mended: &mut Mended) {
    let unit = |n: Vec3| n.as_dvec3().try_normalize().map(|n| n.as_vec3());
    let mut lost = vec![];
    for (i, normal) in mesh.normals.iter_mut().enumerate() {
        match unit(*normal) {
            Some(good) => *normal = good,
            None => lost.push(i),
        }
    }
    if lost.is_empty() {
        return;
    }
    mended.normals += lost.len() as u64;
    let mut sums = vec![DVec3::ZERO; mesh.positions.len()];
    for triangle in &mesh.triangles {
        let area = doubled_area(triangle.map(|i| mesh.positions[i as usize]));
        triangle.iter().for_each(|&i| sums[i as usize] += area);
    }
    for i in lost {
        // Where triangles cancel each other out, or where there are none, any direction is as good.
        mesh.normals[i] = sums[i].try_normalize().map_or(Vec3::Z, |n| n.as_vec3());
    }
}

/// Computes tangents, in the way of Lengyel: each triangle's derivative of the position by u, summed at its vertices
/// (so larger triangles count more) and made perpendicular to the normal. Vertices that triangles of both
/// handednesses share, at the seam of a mirrored texture, are doubled first. Needs normals and texture coordinates.
///
/// glTF asks for MikkTSpace, which weighs by angles instead; angles need an arc cosine, whose bits depend on the
/// host. On flat parts both agree.
pub fn make_tangents(mesh: &mut Mesh) {
    let turns: Vec<f32> = mesh.triangles.iter().map(|t| turn(t.map(|i| mesh.uvs[i as usize]))).collect();
    split_turns(mesh, &turns);
    let mut sums = vec![DVec3::ZERO; mesh.positions.len()];
    let mut signs = vec![1.0f32; mesh.positions.len()];
    for (triangle, &turn) in mesh.triangles.iter().zip(&turns) {
        let [a, b, c] = triangle.map(|i| mesh.positions[i as usize].as_dvec3());
        let [ta, tb, tc] = triangle.map(|i| mesh.uvs[i as usize].as_dvec2());
        let along = (b - a) * (tc.y - ta.y) - (c - a) * (tb.y - ta.y);
        for &i in triangle {
            sums[i as usize] += along * f64::from(turn);
            // v runs down the picture, and the bitangent, cross(normal, tangent) * w, up.
            signs[i as usize] = -turn;
        }
    }
    let tangent = |i: usize| {
        let normal = mesh.normals[i].as_dvec3();
        let flat = sums[i] - normal * normal.dot(sums[i]);
        let unit = flat.try_normalize().unwrap_or_else(|| normal.any_orthonormal_vector());
        unit.as_vec3().extend(signs[i])
    };
    mesh.tangents = (0..mesh.positions.len()).map(tangent).collect::<Vec<Vec4>>();
}

/// 1 where texture coordinates go round counter-clockwise in (u, v), -1 where not: in a picture that is not mirrored,
/// whose v runs down, they do not.
fn turn([a, b, c]: [Vec2; 3]) -> f32 {
    let [a, b, c] = [a, b, c].map(Vec2::as_dvec2);
    if (b - a).perp_dot(c - a) > 0.0 { 1.0 } else { -1.0 }
}

/// Doubles vertices that triangles of both turns use: mirrored ones get copies.
fn split_turns(mesh: &mut Mesh, turns: &[f32]) {
    let mut plain = vec![false; mesh.positions.len()];
    for (triangle, _) in mesh.triangles.iter().zip(turns).filter(|(_, turn)| **turn < 0.0) {
        triangle.iter().for_each(|&i| plain[i as usize] = true);
    }
    let mut copies = vec![u32::MAX; mesh.positions.len()];
    for (triangle, _) in mesh.triangles.iter_mut().zip(turns).filter(|(_, turn)| **turn > 0.0) {
        for corner in triangle.iter_mut().filter(|i| plain[**i as usize]) {
            let copy = &mut copies[*corner as usize];
            if *copy == u32::MAX {
                *copy = mesh.positions.len() as u32;
                mesh.positions.push(mesh.positions[*corner as usize]);
                mesh.normals.push(mesh.normals[*corner as usize]);
                mesh.uvs.push(mesh.uvs[*corner as usize]);
            }
            *corner = *copy;
        }
    }
}

/// Gives every triangle vertices of its own, with the normal of its face.
pub fn flatten(mesh: &mut Mesh) {
    let corners = || mesh.triangles.iter().flatten().map(|&i| i as usize);
    let positions: Vec<Vec3> = corners().map(|i| mesh.positions[i]).collect();
    let uvs: Vec<Vec2> = if mesh.uvs.is_empty() { vec![] } else { corners().map(|i| mesh.uvs[i]).collect() };
    let normal = |t: &[Vec3; 3]| doubled_area(*t).normalize_or(DVec3::Z).as_vec3();
    mesh.normals = positions.as_chunks().0.iter().flat_map(|t| [normal(t); 3]).collect();
    mesh.triangles = (0..positions.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    (mesh.positions, mesh.uvs) = (positions, uvs);
}
