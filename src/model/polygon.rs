//! Polygons into triangles: a fan where that is right, ear clipping (crate `earcut`) where it is not.

use earcut::Earcut;
use glam::{DVec2, DVec3, Vec3};

/// Most corners of one polygon: ear clipping may take the square of their number.
pub const MAX_CORNERS: usize = 1 << 16;
/// Up to here a fan is tried from each corner, so that corners on a straight edge keep their triangles.
const FAN_CORNERS: usize = 16;

/// Cuts polygons; keeps its memory between them.
pub struct Cutter {
    earcut: Earcut<f64>,
    flat: Vec<DVec2>,
}

impl Cutter {
    /// A cutter without history.
    pub fn new() -> Self {
        Cutter { earcut: Earcut::new(), flat: vec![] }
    }

    /// Triangles, as numbers of corners, that cover the polygon once, in its own sense of rotation. A polygon without
    /// area gives its fan, whose triangles are degenerate. Corners on a straight edge may be left out, and a polygon
    /// that crosses itself is covered somehow.
    pub fn cut(&mut self, corners: &[Vec3], triangles: &mut Vec<[u32; 3]>) {
        triangles.clear();
        let n = corners.len() as u32;
        let fan = |apex: u32| (1..n - 1).map(move |i| [apex, (apex + i) % n, (apex + i + 1) % n]);
        if n == 3 || !self.flatten(corners) {
            return triangles.extend(fan(0));
        }
        if corners.len() <= FAN_CORNERS && self.is_convex() {
            let whole = |&apex: &u32| fan(apex).all(|t| self.turn(t) > 0.0);
            if let Some(apex) = (0..n).find(whole) {
                return triangles.extend(fan(apex));
            }
        }
        let mut indices: Vec<u32> = vec![];
        self.earcut.earcut(self.flat.iter().map(|p| p.to_array()), &[], &mut indices);
        triangles.extend(indices.chunks_exact(3).map(|t| [t[0], t[1], t[2]]));
        // Ear clipping has a sense of rotation of its own.
        for triangle in triangles.iter_mut().filter(|t| self.turn(**t) < 0.0) {
            triangle.swap(1, 2);
        }
    }

    /// Projects along the largest axis of the polygon's normal (Newell's sum), which keeps neighbours neighbours;
    /// corners then go counter-clockwise. Returns whether there is a normal at all.
    fn flatten(&mut self, corners: &[Vec3]) -> bool {
        let origin = corners[0].as_dvec3();
        let place = |i: usize| corners[i % corners.len()].as_dvec3() - origin;
        let normal: DVec3 = (0..corners.len()).map(|i| place(i).cross(place(i + 1))).sum();
        let size = normal.abs();
        let project = |p: DVec3| match () {
            () if size.x >= size.y && size.x >= size.z => DVec2::new(p.y * normal.x.signum(), p.z),
            () if size.y >= size.z => DVec2::new(p.z * normal.y.signum(), p.x),
            () => DVec2::new(p.x * normal.z.signum(), p.y),
        };
        self.flat.clear();
        self.flat.extend((0..corners.len()).map(|i| project(place(i))));
        size.max_element() > 0.0
    }

    /// Twice the signed area of a triangle.
    fn turn(&self, [a, b, c]: [u32; 3]) -> f64 {
        let [a, b, c] = [a, b, c].map(|i| self.flat[i as usize]);
        (b - a).perp_dot(c - a)
    }

    /// Whether no corner turns right and the corners go round once.
    fn is_convex(&self) -> bool {
        let n = self.flat.len() as u32;
        let corner = |i: u32| [i, (i + 1) % n, (i + 2) % n];
        // A polygon that goes round twice has more than one lowest corner.
        let edge = |i: u32| self.flat[((i + 1) % n) as usize] - self.flat[(i % n) as usize];
        let rises = |i: u32| edge(i).y > 0.0 || (edge(i).y == 0.0 && edge(i).x < 0.0);
        let turns_up = (0..n).filter(|&i| !rises(i) && rises(i + 1)).count();
        turns_up == 1 && (0..n).all(|i| self.turn(corner(i)) >= 0.0)
    }
}
