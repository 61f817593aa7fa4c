//! One tree of boxes, built by obvhs and written out as nodes of two children.

use crate::layout::BvhNode;
use glam::{DVec3, Vec3, Vec3A};
use obvhs::aabb::Aabb;
use obvhs::bvh2::{Bvh2, builder::build_bvh2};
use obvhs::{
    BvhBuildParams,
    ploc::{PlocSearchDistance, SortPrecision},
};
use std::time::Duration;

/// A reference with this bit is a leaf: the number of its items (4 bits), then the first of them (27 bits).
/// kernels/trace/world.h has the same numbers.
const LEAF: u32 = 1 << 31;
const COUNT_SHIFT: u32 = 27;
/// Most items of all trees of a scene.
pub const MAX_ITEMS: u64 = 1 << COUNT_SHIFT;

/// Boxes are larger than what they hold by this share (2^-20) of their largest coordinate: `box_margin` of
/// kernels/trace/world.h.
const MARGIN: f64 = 1.0 / (1 << 20) as f64;

/// A box.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    low: Vec3,
    high: Vec3,
}

impl Bounds {
    /// The box of points, enlarged.
    pub fn around(points: impl IntoIterator<Item = DVec3>) -> Bounds {
        let nothing = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let (low, high) = points.into_iter().fold(nothing, |(l, h), p| (l.min(p), h.max(p)));
        let margin = DVec3::splat(MARGIN * low.abs().max(high.abs()).max_element());
        Bounds { low: (low - margin).as_vec3(), high: (high + margin).as_vec3() }
    }

    /// Enlarged by the margin once more, `factor` times.
    pub fn widened(self, factor: f64) -> Bounds {
        let margin = factor * MARGIN * f64::from(self.low.abs().max(self.high.abs()).max_element());
        let margin = Vec3::splat(margin as f32);
        Bounds { low: self.low - margin, high: self.high + margin }
    }
}

/// A tree over items.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Inner nodes, parents before children; references count from this tree's first node and item.
    pub nodes: Vec<BvhNode>,
    /// The root: a reference.
    pub root: u32,
    /// The items, leaf by leaf: indices into the bounds.
    pub order: Vec<u32>,
}

/// A reference, for a tree whose nodes and items start at these.
pub fn moved(child: u32, first_node: u32, first_item: u32) -> u32 {
    if child & LEAF != 0 { child + first_item } else { child + first_node }
}

impl Tree {
    /// A tree with at most `leaf` items a leaf and `depth` inner nodes on the way to one. Items that defeat the
    /// cost heuristic, thousands in one place, are split evenly instead.
    pub fn new(bounds: &[Bounds], leaf: u32, depth: u32) -> Tree {
        if bounds.is_empty() {
            return Tree { nodes: vec![], root: LEAF, order: vec![] };
        }
        let boxes: Vec<_> =
            bounds.iter().map(|b| Aabb { min: Vec3A::from(b.low), max: Vec3A::from(b.high) }).collect();
        let parameters = BvhBuildParams {
            pre_split: false,
            ploc_search_distance: PlocSearchDistance::Low,
            search_depth_threshold: 2,
            reinsertion_batch_ratio: 0.02,
            post_collapse_reinsertion_batch_ratio_multiplier: 0.0,
            sort_precision: SortPrecision::U64,
            max_prims_per_leaf: leaf,
            collapse_traversal_cost: 3.0,
        };
        let built = build_bvh2(&boxes, parameters, &mut Duration::default());
        let tree = flatten(&built);
        match tree {
            (tree, found) if found <= depth => tree,
            (tree, _) => balanced(&boxes, tree.order, leaf as usize),
        }
    }
}

/// A node's reference once it is known where its children go.
fn leaf_reference(first: usize, count: usize) -> u32 {
    LEAF | (count as u32) << COUNT_SHIFT | first as u32
}

/// Our nodes, depth first, and the depth of the deepest leaf.
fn flatten(built: &Bvh2) -> (Tree, u32) {
    let mut tree = Tree { nodes: vec![], root: 0, order: Vec::with_capacity(built.primitive_indices.len()) };
    // What is to be written: a node of theirs, the node of ours that refers to it and as which child, its depth.
    let mut open = vec![(0u32, None, 0u32)];
    let mut deepest = 0;
    while let Some((index, parent, depth)) = open.pop() {
        let node = &built.nodes[index as usize];
        deepest = deepest.max(depth);
        let reference = if node.is_leaf() {
            let (first, count) = (node.first_index as usize, node.prim_count as usize);
            let place = tree.order.len();
            tree.order.extend_from_slice(&built.primitive_indices[first..first + count]);
            leaf_reference(place, count)
        } else {
            let ours = tree.nodes.len() as u32;
            let boxes = [0, 1].map(|i| built.nodes[(node.first_index + i) as usize].aabb);
            tree.nodes.push(pair(boxes, [0, 0]));
            open.push((node.first_index + 1, Some((ours, true)), depth + 1));
            open.push((node.first_index, Some((ours, false)), depth + 1));
            ours
        };
        match parent {
            None => tree.root = reference,
            Some((node, false)) => tree.nodes[node as usize].child_a = reference,
            Some((node, true)) => tree.nodes[node as usize].child_b = reference,
        }
    }
    (tree, deepest)
}

fn pair([a, b]: [Aabb; 2], [child_a, child_b]: [u32; 2]) -> BvhNode {
    BvhNode {
        low_a: a.min.into(),
        child_a,
        high_a: a.max.into(),
        child_b,
        low_b: b.min.into(),
        high_b: b.max.into(),
        ..Default::default()
    }
}

/// A tree that halves the items in the order given: as shallow as can be.
fn balanced(boxes: &[Aabb], order: Vec<u32>, leaf: usize) -> Tree {
    fn halve(
        boxes: &[Aabb],
        order: &[u32],
        first: usize,
        leaf: usize,
        nodes: &mut Vec<BvhNode>,
    ) -> (u32, Aabb) {
        if order.len() <= leaf {
            let union = order.iter().fold(Aabb::INVALID, |all, &i| all.union(&boxes[i as usize]));
            return (leaf_reference(first, order.len()), union);
        }
        let ours = nodes.len();
        nodes.push(BvhNode::default());
        let (left, right) = order.split_at(order.len() / 2);
        let (a, box_a) = halve(boxes, left, first, leaf, nodes);
        let (b, box_b) = halve(boxes, right, first + left.len(), leaf, nodes);
        nodes[ours] = pair([box_a, box_b], [a, b]);
        (ours as u32, box_a.union(&box_b))
    }
    let mut nodes = vec![];
    let (root, _) = halve(boxes, &order, 0, leaf, &mut nodes);
    Tree { nodes, root, order }
}
