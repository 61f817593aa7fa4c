//! What a model holds, in numbers.

use super::finish::doubled_area;
use super::{Mesh, Model};
use glam::{Affine3A, Vec3};
use serde::Serialize;

/// Counts and sizes of meshes as they stand in their world.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Meshes, each counted once.
    pub meshes: usize,
    /// Instances of them.
    pub instances: usize,
    /// Triangles of all instances: what there is to see.
    pub triangles: u64,
    /// Triangles of all meshes, each counted once: what is stored.
    pub stored_triangles: u64,
    /// Triangles that were left out because their corners lie on a line or a point.
    pub degenerate: u64,
    /// Area of all instances, one side of each triangle.
    pub area: f64,
    /// Least and greatest coordinates of all that has some; `None` where nothing has.
    pub bounds: Option<[[f32; 3]; 2]>,
}

impl Summary {
    /// Adds up `model`.
    pub fn of(model: &Model) -> Summary {
        let mut summary = Summary { degenerate: model.degenerate, ..Summary::default() };
        model.meshes.iter().for_each(|mesh| summary.store(mesh));
        for instance in &model.instances {
            summary.add(&model.meshes[instance.mesh as usize], &instance.transform);
        }
        summary
    }

    /// Adds a mesh, which instances may share.
    pub fn store(&mut self, mesh: &Mesh) {
        self.meshes += 1;
        self.stored_triangles += mesh.triangles.len() as u64;
    }

    /// Adds an instance of a mesh.
    pub fn add(&mut self, mesh: &Mesh, transform: &Affine3A) {
        self.instances += 1;
        self.triangles += mesh.triangles.len() as u64;
        let places: Vec<Vec3> = mesh.positions.iter().map(|&p| transform.transform_point3(p)).collect();
        let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        for triangle in &mesh.triangles {
            let corners = triangle.map(|i| places[i as usize]);
            self.area += 0.5 * doubled_area(corners).length();
            low = corners.into_iter().fold(low, Vec3::min);
            high = corners.into_iter().fold(high, Vec3::max);
        }
        if !mesh.triangles.is_empty() {
            self.enclose(low, high);
        }
    }

    /// Lets the bounds hold a box.
    pub fn enclose(&mut self, low: Vec3, high: Vec3) {
        let [l, h] = self.bounds.map_or([low, high], |[l, h]| [low.min(l.into()), high.max(h.into())]);
        self.bounds = Some([l.to_array(), h.to_array()]);
    }
}
