//! One tree of boxes: built by obvhs with two children a node, brought together into nodes of eight.
//!
//! The layout follows Ylitie, Karras and Laine, "Efficient Incoherent Ray Traversal on GPUs Through Compressed Wide
//! BVHs", HPG 2017: boxes in whole numbers of a grid that each node has for itself, children in the slots from
//! which rays of every octant meet them about in order.

use super::plan::Plan;
use crate::layout::BvhNode;
use glam::{DVec3, Vec3A};
use obvhs::BvhBuildParams;
use obvhs::aabb::Aabb;
use obvhs::bvh2::{Bvh2, builder::build_bvh2};
use obvhs::ploc::{PlocSearchDistance, SortPrecision};
use rayon::prelude::*;
use std::ops::Range;
use std::time::Duration;

/// Children of a node.
pub const WIDTH: usize = 8;
/// Most items of a leaf: `BvhNode::leaves` has 3 bits for their number and 5 for where they start.
const MOST_IN_LEAF: u32 = 4;

/// Most items about one middle that the builder is given one by one.
const MOST_PILED: usize = 64;

/// Boxes are larger than what they hold by this share (2^-20) of their largest coordinate: `box_margin` of
/// kernels/trace/world.h.
const MARGIN: f64 = 1.0 / (1 << 20) as f64;

/// The box of points, enlarged; of none: the origin.
pub fn around(points: impl IntoIterator<Item = DVec3>) -> Aabb {
    let nothing = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    let (low, high) = points.into_iter().fold(nothing, |(l, h), p| (l.min(p), h.max(p)));
    let (low, high) = if low.x <= high.x { (low, high) } else { (DVec3::ZERO, DVec3::ZERO) };
    let margin = DVec3::splat(MARGIN * low.abs().max(high.abs()).max_element());
    Aabb { min: (low - margin).as_vec3a(), max: (high + margin).as_vec3a() }
}

/// The box enlarged by the margin once more, `factor` times.
pub fn widened(bounds: Aabb, factor: f64) -> Aabb {
    let size = f64::from(bounds.min.abs().max(bounds.max.abs()).max_element());
    let margin = Vec3A::splat((factor * MARGIN * size) as f32);
    Aabb { min: bounds.min - margin, max: bounds.max + margin }
}

/// A tree over items.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Nodes, the root first; they count from this tree's first node and item.
    pub nodes: Vec<BvhNode>,
    /// The items, leaf by leaf: indices into the bounds.
    pub order: Vec<u32>,
}

impl Tree {
    /// A tree with at most `leaf` items a leaf and `depth` nodes on the way to one. Items that defeat the cost
    /// heuristic, thousands in one place, are split evenly instead.
    pub fn new(bounds: &[Aabb], leaf: u32, depth: u32) -> Tree {
        if bounds.is_empty() {
            // A node without children.
            return Tree { nodes: vec![BvhNode::default()], order: vec![] };
        }
        let parameters = BvhBuildParams {
            pre_split: false,
            ploc_search_distance: PlocSearchDistance::Low,
            search_depth_threshold: 2,
            reinsertion_batch_ratio: 0.02,
            post_collapse_reinsertion_batch_ratio_multiplier: 0.0,
            sort_precision: SortPrecision::U64,
            // Leaves are made below.
            max_prims_per_leaf: 1,
            collapse_traversal_cost: 3.0,
        };
        let built = built(bounds, leaf, parameters);
        let (tree, found) = Tree::widen(&built, leaf);
        if found <= depth { tree } else { Tree::widen(&halved(bounds, tree.order, leaf), leaf).0 }
    }

    /// Brings a tree of two children a node together; says how many nodes lie on the way to the deepest leaf.
    fn widen(built: &Bvh2, leaf: u32) -> (Tree, u32) {
        let plan = Plan::new(built, leaf.min(MOST_IN_LEAF));
        let mut tree = Tree {
            nodes: vec![BvhNode::default()],
            order: Vec::with_capacity(built.primitive_indices.len()),
        };
        // Nodes to be filled: theirs, ours, how deep.
        let mut open = vec![(0u32, 0u32, 1u32)];
        let mut deepest = 0;
        while let Some((theirs, ours, depth)) = open.pop() {
            deepest = deepest.max(depth);
            let children = plan.children(theirs);
            let slots = slots(built, &children);
            let (mut node, grid) = framed(&built.nodes[theirs as usize].aabb);
            node.first_child = tree.nodes.len() as u32;
            node.first_item = tree.order.len() as u32;
            for (slot, child) in slots.iter().enumerate() {
                let Some(child) = *child else {
                    // Upside down: no ray enters, and none finds anything if it does.
                    (0..3).for_each(|axis| node.sides[0][axis][slot] = 255);
                    continue;
                };
                grid.quantise(&mut node, slot, &built.nodes[child as usize].aabb);
                if let Some(count) = plan.leaf_items(child) {
                    let place = tree.order.len() as u32 - node.first_item;
                    node.leaves[slot] = (count as u8) << 5 | place as u8;
                    plan.take_items(child, &mut tree.order);
                } else {
                    node.inner |= 1 << slot;
                }
            }
            let inner = slots.iter().flatten().filter(|&&child| plan.leaf_items(child).is_none());
            let first = open.len();
            for &child in inner {
                open.push((child, tree.nodes.len() as u32, depth + 1));
                tree.nodes.push(BvhNode::default());
            }
            open[first..].reverse();
            tree.nodes[ours as usize] = node;
        }
        (tree, deepest)
    }
}

/// Each child in the slot whose three bits say best where it lies: bit k is set on the upper side of axis k. A ray
/// that goes down along some axes visits slot i ^ (those axes' bits) as its i-th.
fn slots(built: &Bvh2, children: &[u32]) -> [Option<u32>; WIDTH] {
    let middles = children.iter().map(|&c| built.nodes[c as usize].aabb.center());
    let mean = middles.clone().fold(Vec3A::ZERO, |sum, m| sum + m) / children.len() as f32;
    let mut gains = [[f32::NEG_INFINITY; WIDTH]; WIDTH];
    for (gains, middle) in gains.iter_mut().zip(middles) {
        let [x, y, z] = (middle - mean).to_array();
        let side = |slot: usize, axis: usize, off: f32| if slot >> axis & 1 == 1 { off } else { -off };
        *gains = std::array::from_fn(|slot| side(slot, 0, x) + side(slot, 1, y) + side(slot, 2, z));
    }
    let mut slots = [None; WIDTH];
    for _ in children {
        // The pair of child and slot, both free, that gains most.
        let (mut best, mut most) = ((0, 0), f32::NEG_INFINITY);
        for (child, gains) in gains.iter().enumerate() {
            for (slot, &gain) in gains.iter().enumerate() {
                if gain > most {
                    (best, most) = ((child, slot), gain);
                }
            }
        }
        let (child, slot) = best;
        slots[slot] = Some(children[child]);
        gains[child] = [f32::NEG_INFINITY; WIDTH];
        gains.iter_mut().for_each(|gains| gains[slot] = f32::NEG_INFINITY);
    }
    slots
}

/// A node's grid: where it starts, its steps, powers of two, and what it enlarges boxes by: a ray's arithmetic on the
/// grid is off by a share of the grid's numbers, which may be larger than a box's own.
struct Grid {
    origin: [f64; 3],
    step: [f64; 3],
    margin: f64,
}

/// A node with the grid for children within `bounds`.
fn framed(bounds: &Aabb) -> (BvhNode, Grid) {
    let margin = MARGIN * f64::from(bounds.min.abs().max(bounds.max.abs()).max_element());
    let (mut node, mut grid) = (BvhNode::default(), Grid { origin: [0.0; 3], step: [0.0; 3], margin });
    for axis in 0..3 {
        let origin = ((f64::from(bounds.min[axis]) - margin) as f32).next_down();
        let extent = f64::from(bounds.max[axis]) + margin - f64::from(origin);
        // The smallest power of two, 2^-100 or more, of which 255 span the box.
        let exponent = (-100..=100).find(|&e| power_of_two(e) * 255.0 >= extent);
        let exponent = exponent.expect("coordinates are far below 2^100");
        node.origin[axis] = origin;
        node.exponents[axis] = (exponent + 127) as u8;
        grid.origin[axis] = f64::from(origin);
        grid.step[axis] = power_of_two(exponent);
    }
    (node, grid)
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl Grid {
    /// Writes the smallest box of the grid that holds `bounds`, enlarged.
    fn quantise(&self, node: &mut BvhNode, slot: usize, bounds: &Aabb) {
        for axis in 0..3 {
            let place = |v: f64| (v - self.origin[axis]) / self.step[axis];
            node.sides[0][axis][slot] = place(f64::from(bounds.min[axis]) - self.margin).floor() as u8;
            node.sides[1][axis][slot] = place(f64::from(bounds.max[axis]) + self.margin).ceil() as u8;
        }
    }
}

/// A tree by the builder. Of boxes about one middle it would bring few together at a time, which takes time quadratic in
/// their number: where there are many, it builds over middles, and what lies about one is split evenly, by size.
fn built(bounds: &[Aabb], leaf: u32, parameters: BvhBuildParams) -> Bvh2 {
    let middles = bounds.iter().fold(Aabb::INVALID, |all, b| all.union(&Aabb::from_point(b.center())));
    let key = |(i, b): (usize, &Aabb)| (cell(b.center(), &middles), b.half_area().to_bits(), i as u32);
    let mut items: Vec<_> = bounds.par_iter().enumerate().map(key).collect();
    items.par_sort_unstable();
    let piles: Vec<_> = items.chunk_by(|a, b| a.0 == b.0).collect();
    if piles.iter().all(|pile| pile.len() <= MOST_PILED) {
        return build_bvh2(bounds, parameters, &mut Duration::default());
    }
    let unions: Vec<_> = piles.iter().map(|pile| union(bounds, pile.iter().map(|item| item.2))).collect();
    let mut tree = build_bvh2(&unions, parameters, &mut Duration::default());
    let places = std::mem::take(&mut tree.primitive_indices);
    for node in 0..tree.nodes.len() {
        let found = tree.nodes[node];
        if found.is_leaf() {
            let start = tree.primitive_indices.len();
            let pile = piles[places[found.first_index as usize] as usize];
            tree.primitive_indices.extend(pile.iter().map(|item| item.2));
            halve(&mut tree, bounds, node, start..start + pile.len(), leaf);
        }
    }
    tree
}

/// Which of 2^20 cells an axis a middle lies in.
fn cell(middle: Vec3A, middles: &Aabb) -> u64 {
    const CELLS: f32 = (1 << 20) as f32;
    let place =
        (middle - middles.min) / (middles.max - middles.min).max(Vec3A::splat(f32::MIN_POSITIVE)) * CELLS;
    // Casts end at the type's limits.
    place.to_array().into_iter().fold(0, |all, p| all << 21 | u64::from(p as u32).min(1 << 20))
}

fn union(bounds: &[Aabb], items: impl Iterator<Item = u32>) -> Aabb {
    items.fold(Aabb::INVALID, |all, i| all.union(&bounds[i as usize]))
}

/// A tree that halves the items in the order given: as shallow as can be.
fn halved(bounds: &[Aabb], order: Vec<u32>, leaf: u32) -> Bvh2 {
    let items = 0..order.len();
    let mut tree = Bvh2 { nodes: vec![node_of(Aabb::INVALID, 0, 0)], ..Bvh2::default() };
    tree.primitive_indices = order;
    halve(&mut tree, bounds, 0, items, leaf);
    tree
}

/// Makes `node` a tree that halves a stretch of the tree's items, down to `leaf` of them.
fn halve(tree: &mut Bvh2, bounds: &[Aabb], node: usize, items: Range<usize>, leaf: u32) {
    let mut open = vec![(node, items)];
    while let Some((node, items)) = open.pop() {
        let around = union(bounds, tree.primitive_indices[items.clone()].iter().copied());
        if items.len() <= leaf as usize {
            tree.nodes[node] = node_of(around, items.len() as u32, items.start as u32);
            continue;
        }
        let (first, half) = (tree.nodes.len(), items.start + items.len() / 2);
        tree.nodes[node] = node_of(around, 0, first as u32);
        tree.nodes.extend([node_of(Aabb::INVALID, 0, 0); 2]);
        open.extend([(first, items.start..half), (first + 1, half..items.end)]);
    }
}

fn node_of(bounds: Aabb, count: u32, first: u32) -> obvhs::bvh2::node::Bvh2Node {
    obvhs::bvh2::node::Bvh2Node::new(bounds, count, first)
}
