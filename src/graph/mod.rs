//! Graphs in compressed sparse rows: read from files, made by generators, kept in a binary cache.
//!
//! A [`Graph`] has no self loops and no arc twice; [`Facts`] tells what was there before. Vertices are numbered from 0
//! in the order of the file's own numbers; where those have gaps or more than 32 bits, the graph keeps the names.

mod build;
pub mod cache;
pub mod export;
pub mod generate;
pub mod read;

use crate::error::{Error, Result};
use serde::Serialize;
use std::path::Path;

/// Vertices of a graph at most: what the largest queue holds.
pub const MOST_VERTICES: u64 = 1 << 30;
/// Arcs of a graph at most: their places are 32-bit numbers.
pub const MOST_ARCS: u64 = u32::MAX as u64 - 1;

/// How many of what were found on the way to the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Entries of the file, or pairs that a generator drew.
    pub entries: u64,
    /// Entries from a vertex to itself, left out.
    pub self_loops: u64,
    /// Arcs that were there already, left out. Counted after each entry has become two arcs, if they do.
    pub duplicates: u64,
    /// Whether each entry became an arc in both directions.
    pub symmetrised: bool,
}

/// A directed graph. An undirected one has each edge as two arcs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// Where each vertex' arcs begin in `targets`; one more at the end.
    offsets: Vec<u32>,
    /// Where arcs lead, ascending for each vertex.
    targets: Vec<u32>,
    /// The file's number of each vertex, ascending; none if that is its own number.
    names: Option<Vec<u64>>,
    facts: Facts,
}

impl Graph {
    /// From pairs of vertices below `vertices`; `both_ways`: each pair is an arc in both directions.
    ///
    /// # Errors
    /// [`Error::Input`] beyond [`MOST_VERTICES`] or [`MOST_ARCS`], or when the host's memory does not suffice.
    ///
    /// # Panics
    /// If a pair names a vertex that is not there.
    pub fn from_pairs(vertices: u64, pairs: &[(u32, u32)], both_ways: bool) -> Result<Graph> {
        build::build(vertices, pairs, both_ways)
    }

    /// The graph of a specification: a generator such as `rmat:scale=18,degree=16` ([`generate`]), or a file ([`read`]).
    /// `both_ways`: arcs of a directed file count in both directions. `cached`: use, or make, the file's binary cache.
    ///
    /// # Errors
    /// The file's or the generator's.
    pub fn load(spec: &str, both_ways: bool, cached: bool) -> Result<Graph> {
        match generate::Generator::parse(spec) {
            Some(generator) => generator?.generate().map_err(|why| Error::Input(format!("{spec}: {why}"))),
            None if cached => cache::load(Path::new(spec), both_ways),
            None => read::read(Path::new(spec), both_ways),
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// Number of arcs; an undirected edge counts as two.
    pub fn arcs(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Where each vertex' arcs begin in [`Self::targets`]; one more at the end.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Where the arcs lead.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// Where the arcs of a vertex lead, ascending.
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        let v = vertex as usize;
        &self.targets[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Arcs that leave a vertex.
    pub fn degree(&self, vertex: u32) -> u32 {
        self.offsets[vertex as usize + 1] - self.offsets[vertex as usize]
    }

    /// What was found on the way.
    pub fn facts(&self) -> Facts {
        self.facts
    }

    /// The number by which the file calls a vertex.
    pub fn name(&self, vertex: u32) -> u64 {
        self.names.as_ref().map_or(vertex.into(), |names| names[vertex as usize])
    }

    /// The vertex that the file calls so.
    ///
    /// # Errors
    /// [`Error::Input`] with the valid range.
    pub fn vertex(&self, name: u64) -> Result<u32> {
        let none = |range: String| Err(Error::Input(format!("vertex {name}: not in the graph; {range}")));
        match &self.names {
            _ if self.vertices() == 0 => none("it has no vertices".into()),
            None if name < self.vertices().into() => Ok(name as u32),
            None => none(format!("its vertices are 0..{}", self.vertices() - 1)),
            Some(names) => match names.binary_search(&name) {
                Ok(vertex) => Ok(vertex as u32),
                Err(_) => none(format!(
                    "its {} vertices have numbers from {} to {}, with gaps",
                    names.len(),
                    names[0],
                    names[names.len() - 1]
                )),
            },
        }
    }

    /// The graph with every arc turned round.
    ///
    /// # Errors
    /// When the host's memory does not suffice.
    pub fn transposed(&self) -> Result<Graph> {
        let pairs = (0..self.vertices()).flat_map(|v| self.neighbours(v).iter().map(move |&u| (u, v)));
        Graph::from_pairs(self.vertices().into(), &pairs.collect::<Vec<_>>(), false)
    }

    /// Whether every arc is there in both directions, as far as the making of the graph tells.
    pub fn is_symmetric(&self) -> bool {
        self.facts.symmetrised
    }
}

/// Refuses sizes that no graph can have, or for which the host has no memory. `place` begins the message.
fn check_size(place: &str, vertices: u64, arcs: u64) -> Result<()> {
    for (what, count, most) in [("vertices", vertices, MOST_VERTICES), ("arcs", arcs, MOST_ARCS)] {
        if count > most {
            return Err(Error::Input(format!(
                "{place}{count} {what}; a graph has at most {most}; take a smaller one"
            )));
        }
    }
    // Three offsets or counts of each vertex at once; arcs in rows, and in rows without duplicates.
    crate::memory::check(12 * vertices + 8 * arcs).map_err(|why| {
        Error::Input(format!("{place}{vertices} vertices and {arcs} arcs: {why}; take a smaller graph"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_sorted_rows_without_loops_and_duplicates() {
        let pairs = [(0, 1), (0, 1), (0, 0), (1, 2), (2, 2), (2, 3), (0, 1), (1, 2)];
        let graph = Graph::from_pairs(4, &pairs, false).expect("a graph");
        assert_eq!((graph.offsets(), graph.targets()), (&[0, 1, 2, 3, 3][..], &[1, 2, 3][..]));
        let facts = Facts { entries: 8, self_loops: 2, duplicates: 3, symmetrised: false };
        assert_eq!(graph.facts(), facts);
        let both = Graph::from_pairs(4, &pairs, true).expect("a graph");
        assert_eq!((both.arcs(), both.facts().duplicates), (6, 6));
        assert_eq!(both.neighbours(1), [0, 2]);
    }

    #[test]
    fn transposing_twice_changes_nothing() {
        let graph = Graph::from_pairs(5, &[(0, 1), (3, 1), (1, 4), (4, 0)], false).expect("a graph");
        let back = graph.transposed().and_then(|t| t.transposed()).expect("graphs");
        assert_eq!((back.offsets(), back.targets()), (graph.offsets(), graph.targets()));
        assert_eq!(graph.transposed().expect("a graph").neighbours(1), [0, 3]);
    }

    #[test]
    fn sizes_beyond_the_limits_are_refused() {
        let message = |v, a| check_size("x: ", v, a).expect_err("refused").to_string();
        assert!(message(MOST_VERTICES + 1, 0).contains("at most 1073741824"));
        assert!(message(1, MOST_ARCS + 1).contains("at most 4294967294"));
    }
}
