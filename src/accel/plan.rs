//! How a tree of two children a node is brought together into one of eight at the least cost, as Ylitie, Karras and
//! Laine do (see tree.rs): a subtree becomes a leaf, or a node, or up to seven of either, children of the node above.

use super::tree::WIDTH;
use obvhs::bvh2::Bvh2;

/// What testing a node's boxes costs, and an item. Measured on a CPU, where neither matters much.
const NODE_COST: f32 = 2.0;
const ITEM_COST: f32 = 1.0;

/// What each subtree becomes.
pub struct Plan<'a> {
    built: &'a Bvh2,
    subtrees: Vec<Subtree>,
}

#[derive(Clone, Copy, Default)]
struct Subtree {
    /// The least cost as at most i + 1 children of a node.
    cost: [f32; WIDTH - 1],
    /// Its items.
    items: u32,
    /// As one child it is a leaf.
    leaf: bool,
}

impl Plan<'_> {
    /// The plan with at most `most` items a leaf.
    pub fn new(built: &Bvh2, most: u32) -> Plan<'_> {
        // Parents before children, wherever they lie.
        let mut order = Vec::with_capacity(built.nodes.len());
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            order.push(node);
            let found = &built.nodes[node as usize];
            if !found.is_leaf() {
                open.extend([found.first_index, found.first_index + 1]);
            }
        }
        let mut plan = Plan { built, subtrees: vec![Subtree::default(); built.nodes.len()] };
        for &node in order.iter().rev() {
            plan.subtrees[node as usize] = plan.weigh(node, most);
        }
        plan
    }

    fn weigh(&self, node: u32, most: u32) -> Subtree {
        let found = &self.built.nodes[node as usize];
        let area = found.aabb.half_area();
        if found.is_leaf() {
            let items = found.prim_count;
            return Subtree { cost: [area * items as f32 * ITEM_COST; WIDTH - 1], items, leaf: true };
        }
        let [l, r] = [0, 1].map(|half| &self.subtrees[found.first_index as usize + half]);
        // As n + 1 children or fewer, at least one for each half.
        let apart = |n: usize| (0..n).map(|k| l.cost[k] + r.cost[n - 1 - k]).fold(f32::INFINITY, f32::min);
        let items = l.items + r.items;
        let as_node = apart(WIDTH - 1) + area * NODE_COST;
        let as_leaf = if items <= most { area * items as f32 * ITEM_COST } else { f32::INFINITY };
        let mut cost = [as_node.min(as_leaf); WIDTH - 1];
        for n in 1..WIDTH - 1 {
            cost[n] = cost[n - 1].min(apart(n));
        }
        Subtree { cost, items, leaf: as_leaf <= as_node }
    }

    /// How many items a subtree holds, if it is a leaf.
    pub fn leaf_items(&self, node: u32) -> Option<u32> {
        let subtree = &self.subtrees[node as usize];
        subtree.leaf.then_some(subtree.items)
    }

    /// The children of the node that a subtree becomes; of a leaf's, the leaf.
    pub fn children(&self, node: u32) -> Vec<u32> {
        let mut children = vec![];
        match self.leaf_items(node) {
            Some(_) => children.push(node),
            None => self.split(node, WIDTH, &mut children),
        }
        children
    }

    /// Adds `n` children or fewer for the halves of a subtree.
    fn split(&self, node: u32, n: usize, children: &mut Vec<u32>) {
        let left = self.built.nodes[node as usize].first_index;
        let [l, r] = [left, left + 1].map(|half| &self.subtrees[half as usize].cost);
        let cost = |k: usize| l[k - 1] + r[n - k - 1];
        let best = (1..n).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).expect("two children or more");
        self.gather(left, best, children);
        self.gather(left + 1, n - best, children);
    }

    /// Adds `n` children or fewer for a subtree: as few as cost the same.
    fn gather(&self, node: u32, n: usize, children: &mut Vec<u32>) {
        let cost = &self.subtrees[node as usize].cost;
        let least = (1..=n).find(|&k| cost[k - 1] <= cost[n - 1]).expect("n itself");
        if least == 1 { children.push(node) } else { self.split(node, least, children) }
    }

    /// Appends the items of a subtree.
    pub fn take_items(&self, node: u32, order: &mut Vec<u32>) {
        let found = &self.built.nodes[node as usize];
        let first = found.first_index;
        if found.is_leaf() {
            let (first, count) = (first as usize, found.prim_count as usize);
            order.extend_from_slice(&self.built.primitive_indices[first..first + count]);
        } else {
            self.take_items(first, order);
            self.take_items(first + 1, order);
        }
    }
}
