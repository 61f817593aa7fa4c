//! What a model holds, in numbers.

use super::Model;
use super::finish::doubled_area;
use glam::Vec3;
use serde::Serialize;

/// Counts and sizes of a model as it stands in its world, every instance counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Meshes, each counted once.
    pub meshes: usize,
    /// Instances of them.
    pub instances: usize,
    /// Triangles of all instances.
    pub triangles: u64,
    /// Triangles that were left out because their corners lie on a line or a point.
    pub degenerate: u64,
    /// Area of all instances, one side of each triangle.
    pub area: f64,
    /// Least and greatest coordinates of all triangles; `None` where there are none.
    pub bounds: Option<[[f32; 3]; 2]>,
}

impl Summary {
    /// Adds up `model`.
    pub fn of(model: &Model) -> Summary {
        let mut summary = Summary {
            meshes: model.meshes.len(),
            instances: model.instances.len(),
            triangles: 0,
            degenerate: model.degenerate,
            area: 0.0,
            bounds: None,
        };
        let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        for instance in &model.instances {
            let mesh = &model.meshes[instance.mesh as usize];
            summary.triangles += mesh.triangles.len() as u64;
            let places: Vec<Vec3> =
                mesh.positions.iter().map(|&p| instance.transform.transform_point3(p)).collect();
            for triangle in &mesh.triangles {
                let corners = triangle.map(|i| places[i as usize]);
                summary.area += 0.5 * doubled_area(corners).length();
                low = corners.into_iter().fold(low, Vec3::min);
                high = corners.into_iter().fold(high, Vec3::max);
            }
        }
        summary.bounds = (summary.triangles > 0).then(|| [low.to_array(), high.to_array()]);
        summary
    }
}
