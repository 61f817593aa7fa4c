//! Judges of levels: a search on the host, and a proof that needs none.

use super::UNREACHED;
use crate::graph::Graph;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Levels by a plain search on one thread, the reference.
pub fn serial(graph: &Graph, source: u32) -> Vec<u32> {
    let mut levels = vec![UNREACHED; graph.vertices() as usize];
    levels[source as usize] = 0;
    let mut queue = vec![source];
    let mut next = 0;
    while let Some(&vertex) = queue.get(next) {
        next += 1;
        for &to in graph.neighbours(vertex) {
            if levels[to as usize] == UNREACHED {
                levels[to as usize] = levels[vertex as usize] + 1;
                queue.push(to);
            }
        }
    }
    levels
}

/// Proves that the levels are the distances from the source, or says which vertex shows that they are not.
///
/// They are if the source alone has level 0, no arc leads more than one level up, and every other vertex with a level
/// has an arc into it from the level before: the second keeps levels from being too large, the third from being too
/// small.
///
/// # Errors
/// The first reason found, in words.
pub fn prove(graph: &Graph, source: u32, levels: &[u32]) -> Result<(), String> {
    if levels.len() != graph.vertices() as usize {
        return Err(format!("{} levels for {} vertices", levels.len(), graph.vertices()));
    }
    let level = |v: u32| levels[v as usize];
    let has_parent: Vec<_> = levels.par_iter().map(|_| AtomicBool::new(false)).collect();
    let arcs = (0..graph.vertices()).into_par_iter().filter(|&v| level(v) != UNREACHED);
    arcs.try_for_each(|from| {
        for &to in graph.neighbours(from) {
            if level(to) > level(from).saturating_add(1) {
                let reached = if level(to) == UNREACHED { "none".into() } else { level(to).to_string() };
                return Err(format!(
                    "vertex {} has level {}, and {} after it {reached}",
                    graph.name(from),
                    level(from),
                    graph.name(to)
                ));
            }
            if level(to) == level(from) + 1 {
                has_parent[to as usize].store(true, Relaxed);
            }
        }
        Ok(())
    })?;
    let wrong = (0..graph.vertices()).into_par_iter().find_first(|&v| match level(v) {
        UNREACHED => v == source,
        0 => v != source,
        _ => v == source || !has_parent[v as usize].load(Relaxed),
    });
    wrong.map_or(Ok(()), |v| {
        Err(format!("vertex {} has level {}, and no vertex before it has one less", graph.name(v), level(v)))
    })
}

/// Arcs that leave the vertices with a level: what a search has to look at, unless it searches from below.
pub fn arcs_of_reached(graph: &Graph, levels: &[u32]) -> u64 {
    let degrees = levels.par_iter().enumerate().filter(|(_, level)| **level != UNREACHED);
    degrees.map(|(v, _)| u64::from(graph.degree(v as u32))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proof_takes_the_distances_and_nothing_else() {
        let graph = Graph::load("rmat:6,degree=3", false, false).expect("a graph");
        let source = (0..64).find(|&v| graph.degree(v) > 2).expect("one");
        let right = serial(&graph, source);
        assert_eq!(prove(&graph, source, &right), Ok(()));
        for v in 0..right.len() {
            for other in [0, 1, 2, 3, 4, UNREACHED].into_iter().filter(|&l| l != right[v]) {
                let mut wrong = right.clone();
                wrong[v] = other;
                assert!(prove(&graph, source, &wrong).is_err(), "vertex {v} at {other}, not {}", right[v]);
            }
        }
        // All too large by one from some level on, and an island that vouches for itself.
        let late: Vec<_> = right.iter().map(|&l| if l == UNREACHED || l < 2 { l } else { l + 1 }).collect();
        assert!(prove(&graph, source, &late).is_err());
        assert!(prove(&graph, source, &right[1..]).is_err());
        let islands = Graph::from_pairs(4, &[(0, 1), (2, 3)], true).expect("a graph");
        assert!(prove(&islands, 0, &[0, 1, 1, 2]).is_err());
    }

    #[test]
    fn arcs_are_followed_one_way() {
        let chain = Graph::from_pairs(3, &[(0, 1), (1, 2)], false).expect("a graph");
        assert_eq!(serial(&chain, 1), [UNREACHED, 0, 1]);
        assert_eq!(prove(&chain, 1, &[UNREACHED, 0, 1]), Ok(()));
        assert_eq!(arcs_of_reached(&chain, &[UNREACHED, 0, 1]), 1);
    }
}
