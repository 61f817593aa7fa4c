//! Meshes that are computed, for scenes with many triangles and no files.
//!
//! All numbers are made with `+ - * /` and square roots in doubles, so that every host makes the same mesh.

use super::Mesh;
use glam::{DVec3, IVec3};

/// Most parts of an edge: 20 million triangles of a sphere.
pub const MOST_SUBDIVISIONS: u32 = 1024;

/// Bumps on a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relief {
    /// Height of the largest bumps, up or down, 0..=0.5.
    pub amplitude: f64,
    /// Bumps per unit of length.
    pub frequency: f64,
    /// Which of many reliefs.
    pub seed: u32,
}

/// What to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Generator {
    /// A sphere of radius 1 about the origin with bumps: an icosahedron whose edges are cut into `subdivisions`
    /// parts, 20 * subdivisions^2 triangles.
    Sphere {
        /// Parts of an edge.
        subdivisions: u32,
        /// Its bumps.
        relief: Relief,
    },
    /// The square from (-1, 0, -1) to (1, 0, 1), facing up, with hills: 2 * subdivisions^2 triangles.
    Grid {
        /// Parts of an edge.
        subdivisions: u32,
        /// Its hills.
        relief: Relief,
    },
    /// The cube from (-1, -1, -1) to (1, 1, 1).
    Box,
}

/// Makes it. All triangles have surface 0.
pub fn mesh(generator: &Generator) -> Mesh {
    match *generator {
        Generator::Sphere { subdivisions, relief } => sphere(subdivisions, &relief),
        Generator::Grid { subdivisions, relief } => grid(subdivisions, &relief),
        Generator::Box => cube(),
    }
}

/// Corners and faces of an icosahedron about the origin.
fn icosahedron() -> ([DVec3; 12], [[u32; 3]; 20]) {
    let g = (1.0 + 5.0f64.sqrt()) / 2.0;
    let corners = [
        (-1.0, g, 0.0),
        (1.0, g, 0.0),
        (-1.0, -g, 0.0),
        (1.0, -g, 0.0),
        (0.0, -1.0, g),
        (0.0, 1.0, g),
        (0.0, -1.0, -g),
        (0.0, 1.0, -g),
        (g, 0.0, -1.0),
        (g, 0.0, 1.0),
        (-g, 0.0, -1.0),
        (-g, 0.0, 1.0),
    ];
    // Every three corners that are neighbours of each other, counter-clockwise from outside.
    let corners = corners.map(|(x, y, z)| DVec3::new(x, y, z));
    let near = |a: usize, b: usize| (corners[a] - corners[b]).length_squared() < 5.0;
    let mut faces = vec![];
    for a in 0..12 {
        for b in (a + 1..12).filter(|&b| near(a, b)) {
            for c in (b + 1..12).filter(|&c| near(a, c) && near(b, c)) {
                let outwards = (corners[b] - corners[a]).cross(corners[c] - corners[a]).dot(corners[a]) > 0.0;
                let face = if outwards { [a, b, c] } else { [a, c, b] };
                faces.push(face.map(|corner| corner as u32));
            }
        }
    }
    (corners, faces.try_into().expect("an icosahedron has 20 faces"))
}

fn sphere(parts: u32, relief: &Relief) -> Mesh {
    let (corners, faces) = icosahedron();
    let mut mesh = Builder::default();
    let mut places = std::collections::HashMap::new();
    for face in faces {
        // Places on an edge belong to both faces: they are known by their corners and weights.
        let mut at = |i: u32, j: u32| {
            let weights = [parts - i - j, i, j];
            let mut key: Vec<_> = face.into_iter().zip(weights).filter(|&(_, w)| w > 0).collect();
            key.sort_unstable();
            let mut add = || {
                let sum =
                    key.iter().fold(DVec3::ZERO, |sum, &(c, w)| sum + corners[c as usize] * f64::from(w));
                let out = sum / sum.length();
                mesh.add(out * (1.0 + relief.height(out)))
            };
            if key.len() == 3 { add() } else { *places.entry(key.clone()).or_insert_with(add) }
        };
        let rows: Vec<Vec<u32>> = (0..=parts).map(|i| (0..=parts - i).map(|j| at(i, j)).collect()).collect();
        for i in 0..parts as usize {
            for j in 0..parts as usize - i {
                mesh.triangles.push([rows[i][j], rows[i + 1][j], rows[i][j + 1]]);
                if j + 1 < parts as usize - i {
                    mesh.triangles.push([rows[i + 1][j], rows[i + 1][j + 1], rows[i][j + 1]]);
                }
            }
        }
    }
    mesh.smooth("displaced-sphere")
}

fn grid(parts: u32, relief: &Relief) -> Mesh {
    let mut mesh = Builder::default();
    let place = |i: u32| f64::from(2 * i) / f64::from(parts) - 1.0;
    for i in 0..=parts {
        for j in 0..=parts {
            let flat = DVec3::new(place(j), 0.0, place(i));
            mesh.add(DVec3::new(flat.x, relief.height(flat), flat.z));
        }
    }
    let row = parts + 1;
    for i in 0..parts {
        for j in 0..parts {
            let corner = i * row + j;
            mesh.triangles.push([corner, corner + row, corner + 1]);
            mesh.triangles.push([corner + 1, corner + row, corner + row + 1]);
        }
    }
    mesh.smooth("grid")
}

/// Without normals: the faces are flat.
fn cube() -> Mesh {
    let corner = |i: u32| {
        let side = |bit: u32| if i & bit == 0 { -1.0 } else { 1.0 };
        DVec3::new(side(1), side(2), side(4))
    };
    let mut mesh = Builder::default();
    (0..8).for_each(|i| {
        mesh.add(corner(i));
    });
    for [a, b, c, d] in [[1, 3, 7, 5], [0, 4, 6, 2], [2, 6, 7, 3], [0, 1, 5, 4], [4, 5, 7, 6], [0, 2, 3, 1]] {
        mesh.triangles.extend([[a, b, c], [a, c, d]]);
    }
    mesh.flat("box")
}

/// A mesh in the making.
#[derive(Default)]
struct Builder {
    positions: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
}

impl Builder {
    fn add(&mut self, position: DVec3) -> u32 {
        self.positions.push(position);
        self.positions.len() as u32 - 1
    }

    fn flat(self, name: &str) -> Mesh {
        Mesh {
            name: name.to_owned(),
            positions: self.positions.iter().map(|p| p.as_vec3()).collect(),
            surfaces: vec![0; self.triangles.len()],
            triangles: self.triangles,
            ..Mesh::default()
        }
    }

    /// With normals: each the mean of its triangles', larger ones counting more.
    fn smooth(self, name: &str) -> Mesh {
        let mut normals = vec![DVec3::ZERO; self.positions.len()];
        for triangle in &self.triangles {
            let [a, b, c] = triangle.map(|i| self.positions[i as usize]);
            let normal = (b - a).cross(c - a);
            triangle.iter().for_each(|&i| normals[i as usize] += normal);
        }
        let normals = normals.iter().map(|n| (*n / n.length()).as_vec3()).collect();
        Mesh { normals, ..self.flat(name) }
    }
}

impl Relief {
    /// The height of the relief at a place, at most about `amplitude` up or down.
    fn height(&self, place: DVec3) -> f64 {
        const OCTAVES: u32 = 5;
        let octave = |k: u32| {
            let scale = f64::from(1u32 << k);
            noise(place * (self.frequency * scale), self.seed.wrapping_add(k)) / scale
        };
        self.amplitude * (0..OCTAVES).map(octave).sum::<f64>()
    }
}

/// Smooth noise in -1..1 that is 0 nowhere in particular: values at whole places, blended by cubics.
fn noise(place: DVec3, seed: u32) -> f64 {
    let low = place.floor();
    let (cell, t) = (low.as_ivec3(), place - low);
    let t = t * t * (DVec3::splat(3.0) - 2.0 * t);
    let value = |x, y, z| lattice(cell + IVec3::new(x, y, z), seed);
    let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
    let along_x = |y, z| mix(value(0, y, z), value(1, y, z), t.x);
    let along_y = |z| mix(along_x(0, z), along_x(1, z), t.y);
    mix(along_y(0), along_y(1), t.z)
}

/// A number in -1..1 for a whole place: pcg3d's first word (Jarzynski and Olano, JCGT 2020).
fn lattice(cell: IVec3, seed: u32) -> f64 {
    let step = |v: u32| v.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    let [mut x, mut y, mut z] =
        [step(cell.x as u32 ^ seed.wrapping_mul(0x9e37_79b9)), step(cell.y as u32), step(cell.z as u32)];
    for _ in 0..2 {
        x = x.wrapping_add(y.wrapping_mul(z));
        y = y.wrapping_add(z.wrapping_mul(x));
        z = z.wrapping_add(x.wrapping_mul(y));
        (x, y, z) = (x ^ (x >> 16), y ^ (y >> 16), z ^ (z >> 16));
    }
    f64::from(x) / f64::from(u32::MAX) * 2.0 - 1.0
}
