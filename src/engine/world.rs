//! What general scenes have beyond spheres, planes and plain materials, in a device's memory.

use super::lighting::LightingBuffers;
use crate::accel::World;
use crate::device::{Buffer, Device};
use crate::error::Result;
use crate::layout::{
    BvhNode, Material, MeshInstance, MeshVertex, Ptr, TriangleCorners, TriangleTest, WorldView,
};
use crate::scene::Scene;
use crate::scene::lighting::Lighting;
use std::sync::Arc;

/// A world's arrays, and the structure that points to them.
pub(super) struct WorldBuffers {
    view: Buffer<WorldView>,
    // Kept for their memory, which `view` points into.
    _nodes: Buffer<BvhNode>,
    _items: Buffer<u32>,
    _triangles: Buffer<TriangleTest>,
    _corners: Buffer<TriangleCorners>,
    _vertices: Buffer<MeshVertex>,
    _instances: Buffer<MeshInstance>,
    _lighting: LightingBuffers,
}

impl WorldBuffers {
    /// Builds the trees of `scene` and uploads everything. Its materials are told where their surfaces are.
    pub fn new(device: &Arc<dyn Device>, scene: &Scene, materials: &mut [Material]) -> Result<WorldBuffers> {
        let world = World::new(scene)?;
        let lighting = Lighting::new(scene, &world, materials);
        let nodes = Buffer::from_slice(device, &world.nodes, "the trees of boxes")?;
        let items = Buffer::from_slice(device, &world.items, "the trees of boxes")?;
        let triangles = Buffer::from_slice(device, &world.triangles, "triangles")?;
        let corners = Buffer::from_slice(device, &world.corners, "the triangles' corners")?;
        let vertices = Buffer::from_slice(device, &world.vertices, "the meshes' vertices")?;
        let instances = Buffer::from_slice(device, &world.instances, "instances of meshes")?;
        let lights = LightingBuffers::new(device, &lighting)?;
        let view = WorldView {
            nodes: nodes.ptr(),
            items: items.ptr(),
            triangles: triangles.ptr(),
            corners: corners.ptr(),
            vertices: vertices.ptr(),
            instances: instances.ptr(),
            lighting: lights.view(scene, &lighting),
            root: world.root,
            item_count: world.items.len() as u32,
        };
        Ok(WorldBuffers {
            view: Buffer::from_slice(device, &[view], "the scene")?,
            _nodes: nodes,
            _items: items,
            _triangles: triangles,
            _corners: corners,
            _vertices: vertices,
            _instances: instances,
            _lighting: lights,
        })
    }

    /// For the scene's view.
    pub fn ptr(&self) -> Ptr<WorldView> {
        self.view.ptr()
    }
}
