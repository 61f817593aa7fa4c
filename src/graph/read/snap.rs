//! SNAP edge lists: a line an arc, two numbers; `#` (or `%`) begins a comment, further columns are not read.
//!
//! Numbers have up to 64 bits and any gaps: vertices are numbered by rank, and keep their numbers as names.

use super::lines::{Line, entries, number, words};
use crate::error::{Error, Result};
use crate::graph::{Graph, check_size};
use rayon::prelude::*;

pub(super) fn parse(name: &str, text: &[u8], both_ways: bool) -> Result<Graph> {
    let arcs = entries(name, text, 0, None, arc)?;
    // Both ends' numbers, twice while they are collected; then arcs by rank.
    crate::memory::check(32 * arcs.len() as u64)
        .map_err(|why| Error::Input(format!("{name}: {} arcs: {why}; take a smaller graph", arcs.len())))?;
    let mut names: Vec<u64> = arcs.par_iter().flat_map_iter(|&(from, to)| [from, to]).collect();
    names.par_sort_unstable();
    names.dedup();
    check_size(&format!("{name}: "), names.len() as u64, 0)?;
    let own_numbers = names.iter().copied().eq(0..names.len() as u64);
    let rank = |id: u64| match own_numbers {
        true => id as u32,
        false => names.binary_search(&id).expect("every number is there") as u32,
    };
    let pairs: Vec<_> = arcs.par_iter().map(|&(from, to)| (rank(from), rank(to))).collect();
    let graph = Graph::from_pairs(names.len() as u64, &pairs, both_ways);
    let mut graph = graph.map_err(|e| Error::Input(format!("{name}: {e}")))?;
    graph.names = (!own_numbers).then_some(names);
    Ok(graph)
}

fn arc(line: &[u8]) -> Line<(u64, u64)> {
    let mut said = words(line);
    match (said.next(), said.next()) {
        (None, _) => Ok(None),
        (Some([b'#' | b'%', ..]), _) => Ok(None),
        (Some(from), Some(to)) => Ok(Some((number(from)?, number(to)?))),
        (Some(_), None) => Err("an arc has two numbers, found 1".into()),
    }
}
