//! General scenes: trees of boxes, triangles, instances.

use super::{CType, LightingView, Ptr};
use bytemuck::{Pod, Zeroable};

layout! {
    /// A node of a tree: the boxes of its eight children in whole steps of a grid, 80 bytes (kernels/trace/boxes.h).
    pub struct BvhNode {
        /// Where the grid starts.
        pub origin: [f32; 3],
        /// The grid's steps along x, y and z: 2^(this - 127).
        pub exponents: [u8; 3],
        /// A bit for each child that is a node.
        pub inner: u8,
        /// The first of the children that are nodes; they follow each other in the order of their slots.
        pub first_child: u32,
        /// Where the items of leaves are counted from.
        pub first_item: u32,
        /// Of each child that is a leaf: the number of its items (3 bits), and the first of them (5 bits).
        pub leaves: [u8; 8],
        /// The boxes' lower sides along x, y and z, then their upper ones.
        pub sides: [[[u8; 8]; 3]; 2],
    }

    /// A triangle as rays test it, in its mesh's space. Triangles lie in the order of their tree's leaves.
    pub struct TriangleTest {
        /// First corner.
        pub a: [f32; 3],
        /// Its number in its mesh, which settles ties and finds its `TriangleCorners`.
        pub number: u32,
        /// Second corner.
        pub b: [f32; 3],
        /// Index of its surface in its model.
        pub surface: u32,
        /// Third corner.
        pub c: [f32; 3],
        /// TRIANGLE_ bits of kernels/trace/world.h.
        pub flags: u32,
    }

    /// What shading asks of a triangle.
    pub struct TriangleCorners {
        /// Its corners in `WorldView::vertices`, where its mesh has any.
        pub vertices: [u32; 3],
        /// CORNERS_ bits of kernels/trace/world.h: what the vertices hold.
        pub flags: u32,
    }

    /// What shading asks of a corner, in its mesh's space.
    pub struct MeshVertex {
        /// Unit normal.
        pub normal: [f32; 3],
        /// Texture coordinate across.
        pub u: f32,
        /// Unit tangent.
        pub tangent: [f32; 3],
        /// Texture coordinate down.
        pub v: f32,
    }

    /// A mesh somewhere.
    pub struct MeshInstance {
        /// Rows of the affine map from the world's space to the mesh's.
        pub to_mesh: [f32; 12],
        /// Rows of the map back.
        pub to_world: [f32; 12],
        /// Root of the mesh's tree in `WorldView::nodes`.
        pub root: u32,
        /// The mesh's first triangle in `WorldView::triangles` and `WorldView::corners`.
        pub first_triangle: u32,
        /// Number of its triangles.
        pub triangles: u32,
        /// Index of the material of all its triangles; 0xffffffff: each has its own.
        pub material: u32,
        /// Index of the model's first surface among the materials.
        pub first_material: u32,
        /// TRIANGLE_ bits of all its triangles, where it has one material.
        pub flags: u32,
        /// Largest sum of a row's magnitudes in `to_world`, without the translation.
        pub stretch: f32,
        /// Largest magnitude of the translation in `to_world`.
        pub shift: f32,
    }

    /// What the general kernels know beyond spheres, planes and plain materials.
    pub struct WorldView {
        /// Nodes of all trees.
        pub nodes: Ptr<BvhNode>,
        /// What the leaves of the world's tree hold: ITEM_ numbers of kernels/trace/world.h.
        pub items: Ptr<u32>,
        /// Triangles of all meshes.
        pub triangles: Ptr<TriangleTest>,
        /// Corners of all triangles, in the order of their numbers.
        pub corners: Ptr<TriangleCorners>,
        /// Corners of all meshes.
        pub vertices: Ptr<MeshVertex>,
        /// Meshes somewhere.
        pub instances: Ptr<MeshInstance>,
        /// What light does.
        pub lighting: LightingView,
        /// Root of the world's tree; a lone instance has none, and stands here itself.
        pub root: u32,
        /// Length of `items`.
        pub item_count: u32,
    }
}
