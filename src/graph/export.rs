//! A graph as a Matrix Market file, for other programs.

use super::Graph;
use rayon::prelude::*;
use std::fmt::Write;

/// Vertices whose arcs one thread writes at a time.
const PART: u32 = 1 << 14;

/// The file's bytes: a pattern, symmetric (an edge once, in the lower half) if every arc is there both ways. Vertex 0
/// is entry 1; names are lost.
pub fn matrix_market(graph: &Graph) -> Vec<u8> {
    let (n, symmetric) = (graph.vertices(), graph.is_symmetric());
    let entries = graph.arcs() / if symmetric { 2 } else { 1 };
    let kind = if symmetric { "symmetric" } else { "general" };
    let mut text =
        format!("%%MatrixMarket matrix coordinate pattern {kind}\n{n} {n} {entries}\n").into_bytes();
    let parts: Vec<String> = (0..n.div_ceil(PART))
        .into_par_iter()
        .map(|part| {
            let mut text = String::new();
            for v in part * PART..n.min((part + 1) * PART) {
                for u in graph.neighbours(v).iter().filter(|&&u| !symmetric || u < v) {
                    let _ = writeln!(text, "{} {}", v + 1, u + 1);
                }
            }
            text
        })
        .collect();
    parts.iter().for_each(|part| text.extend(part.as_bytes()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::read;
    use std::path::Path;

    #[test]
    fn what_is_written_is_read_again() {
        for both_ways in [false, true] {
            let graph = Graph::from_pairs(5, &[(0, 1), (3, 1), (1, 4), (4, 0)], both_ways).expect("a graph");
            let back = read::parse(Path::new("g.mtx"), &matrix_market(&graph), false).expect("a graph");
            assert_eq!((back.offsets(), back.targets()), (graph.offsets(), graph.targets()));
            assert_eq!(back.is_symmetric(), both_ways);
        }
    }
}
