//! What general scenes have beyond spheres, planes and plain materials, in a device's memory.

use crate::accel::World;
use crate::device::{Buffer, Device};
use crate::error::Result;
use crate::layout::{BvhNode, MeshInstance, MeshVertex, Ptr, TriangleCorners, TriangleTest, WorldView};
use crate::scene::Scene;
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
}

impl WorldBuffers {
    /// Builds the trees of `scene` and uploads everything.
    pub fn new(device: &Arc<dyn Device>, scene: &Scene) -> Result<WorldBuffers> {
        let world = World::new(scene)?;
        let nodes = Buffer::from_slice(device, &world.nodes, "the trees of boxes")?;
        let items = Buffer::from_slice(device, &world.items, "the trees of boxes")?;
        let triangles = Buffer::from_slice(device, &world.triangles, "triangles")?;
        let corners = Buffer::from_slice(device, &world.corners, "the triangles' corners")?;
        let vertices = Buffer::from_slice(device, &world.vertices, "the meshes' vertices")?;
        let instances = Buffer::from_slice(device, &world.instances, "instances of meshes")?;
        let view = WorldView {
            nodes: nodes.ptr(),
            items: items.ptr(),
            triangles: triangles.ptr(),
            corners: corners.ptr(),
            vertices: vertices.ptr(),
            instances: instances.ptr(),
            root: world.root,
            item_count: world.items.len() as u32,
            brute_force: 0,
            reserved: 0,
        };
        Ok(WorldBuffers {
            view: Buffer::from_slice(device, &[view], "the scene")?,
            _nodes: nodes,
            _items: items,
            _triangles: triangles,
            _corners: corners,
            _vertices: vertices,
            _instances: instances,
        })
    }

    /// For the scene's view.
    pub fn ptr(&self) -> Ptr<WorldView> {
        self.view.ptr()
    }
}
