//! Trees of boxes over a general scene: one over spheres and instances, one over each mesh's triangles.
//!
//! The trees are built by the crate obvhs and written out in the layout that kernels/trace/world.h walks. How they
//! are built never shows in a picture: a ray's nearest hit is the smallest (t, instance, number) whatever the tree.

mod plan;
mod tree;

use crate::error::{Error, Result};
use crate::layout::{BvhNode, MeshInstance, MeshVertex, TriangleCorners, TriangleTest};
use crate::memory;
use crate::model::{Mesh, Surface};
use crate::scene::{Instance, Material, Scene};
use glam::{DAffine3, DVec3, Vec3};
use obvhs::aabb::Aabb;
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};
use tree::Tree;

/// An item of the world's tree that is an instance has this bit; a sphere has not.
const ITEM_INSTANCE: u32 = 1 << 31;
/// [`TriangleTest::flags`]: the back lets rays pass.
const TRIANGLE_SINGLE_SIDED: u32 = 1;
/// [`TriangleTest::flags`]: a texture's alpha lets rays pass.
const TRIANGLE_MASKED: u32 = 2;
/// [`TriangleCorners::flags`]: vertices have normals, tangents, texture coordinates; bitangents are mirrored.
const CORNERS_NORMALS: u32 = 1;
const CORNERS_TANGENTS: u32 = 2;
const CORNERS_UVS: u32 = 4;
const CORNERS_MIRRORED: u32 = 8;
/// [`MeshInstance::material`] where each triangle has its own.
const OWN_MATERIALS: u32 = u32::MAX;

/// Most triangles of all meshes together: they are counted in 32 bits.
pub const MAX_TRIANGLES: u64 = u32::MAX as u64;
/// Most nodes on the way to a leaf of a mesh's tree, and of the world's. With one entry for the way out of an
/// instance, both fit the stack of kernels/trace/world.h. Trees that are halved stay within these: 2^32 triangles, four
/// a leaf, and 2^31 items of the world.
const MESH_DEPTH: u32 = 31;
const WORLD_DEPTH: u32 = 32;

/// A mesh and, once it is asked for, its tree: scenes that share the mesh share that too.
#[derive(Debug)]
pub struct Shape {
    /// The mesh.
    pub mesh: Arc<Mesh>,
    tree: OnceLock<Tree>,
}

impl Shape {
    /// Without a tree as yet.
    pub fn new(mesh: Arc<Mesh>) -> Shape {
        Shape { mesh, tree: OnceLock::new() }
    }

    fn tree(&self) -> &Tree {
        self.tree.get_or_init(|| {
            let mesh = &self.mesh;
            let corners = |t: &[u32; 3]| t.map(|corner| mesh.positions[corner as usize].as_dvec3());
            let bounds: Vec<_> = mesh.triangles.par_iter().map(|t| tree::around(corners(t))).collect();
            Tree::new(&bounds, LEAF_TRIANGLES, MESH_DEPTH)
        })
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.mesh, &other.mesh) || self.mesh == other.mesh
    }
}

/// Most triangles of a leaf.
const LEAF_TRIANGLES: u32 = 4;
/// About what a triangle takes while its tree is built and everything is gathered: measured.
const TRIANGLE_BYTES: u64 = 256;

/// The arrays behind the pointers of a [`crate::layout::WorldView`].
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Nodes of all trees.
    pub nodes: Vec<BvhNode>,
    /// Root of the world's tree; a lone instance has none, and stands here itself.
    pub root: u32,
    /// What the leaves of the world's tree hold.
    pub items: Vec<u32>,
    /// Triangles of all meshes, leaf by leaf.
    pub triangles: Vec<TriangleTest>,
    /// Corners of all triangles, mesh by mesh, in their order there.
    pub corners: Vec<TriangleCorners>,
    /// Corners of all meshes that have more than positions.
    pub vertices: Vec<MeshVertex>,
    /// Meshes somewhere.
    pub instances: Vec<MeshInstance>,
}

impl World {
    /// Builds what is not built yet, and gathers everything.
    ///
    /// # Errors
    /// [`Error::Input`] if the scene has more than [`MAX_TRIANGLES`], or more than there is memory for.
    pub fn new(scene: &Scene) -> Result<World> {
        let triangles: u64 = scene.meshes.iter().map(|shape| shape.mesh.triangles.len() as u64).sum();
        if triangles > MAX_TRIANGLES {
            let message = format!("{triangles} triangles are too many; allowed: at most {MAX_TRIANGLES}");
            return Err(Error::Input(message));
        }
        let needed = memory::check(triangles * TRIANGLE_BYTES);
        needed.map_err(|why| Error::Input(format!("trees over {triangles} triangles: {why}")))?;
        let mut world = World::default();
        // The world's own tree comes last: nobody needs to know where it will be.
        let roots: Vec<_> = scene.meshes.iter().map(|shape| world.add_mesh(scene, shape)).collect();
        for instance in &scene.instances {
            let mesh = &scene.meshes[instance.mesh as usize].mesh;
            world.instances.push(placed(scene, instance, mesh, roots[instance.mesh as usize]));
        }
        world.add_items(scene);
        Ok(world)
    }

    /// Adds a mesh's tree, triangles and corners. Returns its root and its first triangle.
    fn add_mesh(&mut self, scene: &Scene, shape: &Shape) -> (u32, u32) {
        let (mesh, tree) = (&*shape.mesh, shape.tree());
        let first = self.triangles.len() as u32;
        let root = self.add_tree(tree, first);
        let flags = surface_flags(scene, shape);
        let test = |&number: &u32| {
            let [a, b, c] = mesh.triangles[number as usize].map(|i| mesh.positions[i as usize].to_array());
            let surface = mesh.surfaces[number as usize];
            TriangleTest { a, number, b, surface, c, flags: flags[surface as usize] }
        };
        self.triangles.par_extend(tree.order.par_iter().map(test));
        let base = self.vertices.len() as u32;
        let corners =
            |t: &[u32; 3]| TriangleCorners { vertices: t.map(|i| base + i), flags: corner_flags(mesh, t[0]) };
        self.corners.par_extend(mesh.triangles.par_iter().map(corners));
        if !(mesh.normals.is_empty() && mesh.uvs.is_empty() && mesh.tangents.is_empty()) {
            self.vertices.par_extend((0..mesh.positions.len()).into_par_iter().map(|i| vertex(mesh, i)));
        }
        (root, first)
    }

    /// Adds the nodes of a tree whose items start at `first_item`. Returns its root.
    fn add_tree(&mut self, tree: &Tree, first_item: u32) -> u32 {
        let root = self.nodes.len() as u32;
        self.nodes.par_extend(tree.nodes.par_iter().map(|node| BvhNode {
            first_child: node.first_child + root,
            first_item: node.first_item + first_item,
            ..*node
        }));
        root
    }

    /// Builds the tree over spheres and instances, unless it is one instance alone.
    fn add_items(&mut self, scene: &Scene) {
        let spheres = scene.spheres.par_iter().map(|s| {
            let (centre, radius) = (s.center.as_dvec3(), DVec3::splat(s.radius.into()));
            tree::around([centre - radius, centre + radius])
        });
        let instances = scene.instances.par_iter().map(|i| {
            let shape = &scene.meshes[i.mesh as usize];
            world_bounds(&shape.mesh, i)
        });
        let bounds: Vec<_> = spheres.chain(instances).collect();
        let tree = Tree::new(&bounds, 1, WORLD_DEPTH);
        let spheres = scene.spheres.len() as u32;
        let item = |&i: &u32| if i < spheres { i } else { (i - spheres) | ITEM_INSTANCE };
        self.items = tree.order.iter().map(item).collect();
        self.root = match self.items[..] {
            [lone] if lone & ITEM_INSTANCE != 0 => lone,
            _ => self.add_tree(&tree, 0),
        };
    }
}

/// An instance as kernels know it.
fn placed(
    scene: &Scene,
    instance: &Instance,
    mesh: &Mesh,
    (root, first_triangle): (u32, u32),
) -> MeshInstance {
    let to_world = exact(instance);
    let to_mesh = to_world.inverse();
    let rows = rows(&to_world);
    let stretch = (0..3).map(|r| (0..3).map(|c| rows[4 * r + c].abs()).sum()).fold(0.0, f32::max);
    let of_material = |m: u32| material_flags(&scene.materials[m as usize]);
    MeshInstance {
        to_mesh: self::rows(&to_mesh),
        to_world: rows,
        root,
        first_triangle,
        triangles: mesh.triangles.len() as u32,
        material: instance.material.unwrap_or(OWN_MATERIALS),
        first_material: instance.first_material,
        flags: instance.material.map_or(0, of_material),
        stretch,
        shift: rows[3].abs().max(rows[7].abs()).max(rows[11].abs()),
    }
}

fn exact(instance: &Instance) -> DAffine3 {
    let t = instance.transform;
    let column = |v: glam::Vec3A| Vec3::from(v).as_dvec3();
    let m = t.matrix3;
    DAffine3::from_cols(column(m.x_axis), column(m.y_axis), column(m.z_axis), column(t.translation))
}

/// Rows of an affine map.
fn rows(map: &DAffine3) -> [f32; 12] {
    let (m, t) = (map.matrix3, map.translation);
    let row = |r: usize| [m.x_axis[r], m.y_axis[r], m.z_axis[r], t[r]].map(|v| v as f32);
    let mut rows = [0.0; 12];
    (0..3).for_each(|r| rows[4 * r..4 * r + 4].copy_from_slice(&row(r)));
    rows
}

/// The box of an instance in the world, with room for what the maps to the mesh and back are off by.
fn world_bounds(mesh: &Mesh, instance: &Instance) -> Aabb {
    let map = exact(instance);
    let bounds = tree::around(mesh.positions.iter().map(|p| map.transform_point3(p.as_dvec3())));
    // A map is off by its numbers' roundings, and the other way round as well: by as much more as the two maps
    // together enlarge.
    let size = |m: &DAffine3| {
        let m = m.matrix3;
        m.x_axis.abs().max_element() + m.y_axis.abs().max_element() + m.z_axis.abs().max_element()
    };
    tree::widened(bounds, size(&map) * size(&map.inverse()))
}

/// What each surface of a mesh lets through.
fn surface_flags(scene: &Scene, shape: &Shape) -> Vec<u32> {
    let used = scene.instances.iter().find(|i| Arc::ptr_eq(&scene.meshes[i.mesh as usize].mesh, &shape.mesh));
    let surfaces = shape.mesh.surfaces.iter().max().map_or(0, |&most| most as usize + 1);
    let Some(used) = used else { return vec![0; surfaces] };
    let own = |s: usize| scene.materials.get(used.first_material as usize + s).map_or(0, material_flags);
    (0..surfaces).map(own).collect()
}

fn material_flags(material: &Material) -> u32 {
    let Material::Surface(surface) = material else { return 0 };
    let Surface { double_sided, alpha_cutoff, .. } = **surface;
    let single = if double_sided { 0 } else { TRIANGLE_SINGLE_SIDED };
    single | if alpha_cutoff.is_some() { TRIANGLE_MASKED } else { 0 }
}

fn corner_flags(mesh: &Mesh, corner: u32) -> u32 {
    let flag = |empty: bool, bit| if empty { 0 } else { bit };
    let mirrored = mesh.tangents.get(corner as usize).is_some_and(|t| t.w < 0.0);
    flag(mesh.normals.is_empty(), CORNERS_NORMALS)
        | flag(mesh.tangents.is_empty(), CORNERS_TANGENTS)
        | flag(mesh.uvs.is_empty(), CORNERS_UVS)
        | flag(!mirrored, CORNERS_MIRRORED)
}

fn vertex(mesh: &Mesh, i: usize) -> MeshVertex {
    let uv = mesh.uvs.get(i).copied().unwrap_or_default();
    let tangent = mesh.tangents.get(i).map_or([0.0; 3], |t| t.truncate().to_array());
    let normal = mesh.normals.get(i).map_or([0.0; 3], |n| n.to_array());
    MeshVertex { normal, u: uv.x, tangent, v: uv.y }
}
