//! Graphs by rule: random ones of known classes, and shapes that are hard on frontiers. All are undirected.
//!
//! | specification | graph |
//! |---|---|
//! | `rmat:scale=S,degree=D,seed=N,permute=P` | R-MAT (Chakrabarti, Zhan and Faloutsos, SDM'04) with the parameters of Graph500: 2^S vertices, D drawn edges a vertex; `permute=1` renumbers the vertices |
//! | `er:scale=S,degree=D,seed=N` | Erdos-Renyi: as many edges between any two vertices |
//! | `grid:WxH` | each vertex with its four neighbours |
//! | `path:S`, `path:n=N` | 2^S, or N, vertices in a row |
//! | `star:S`, `star:n=N` | vertex 0 and all others around it |
//!
//! Random numbers depend on seed and edge alone: the same graph on every machine, whatever its number of threads.

use super::{Graph, MOST_VERTICES, check_size};
use crate::error::{Error, Result};
use rayon::prelude::*;

/// What to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// R-MAT.
    Rmat {
        /// log2 of the number of vertices.
        scale: u32,
        /// Edges drawn for each vertex.
        degree: u32,
        /// Of the random numbers.
        seed: u64,
        /// Whether vertices are renumbered at random.
        permute: bool,
    },
    /// Erdos-Renyi with a given number of edges.
    ErdosRenyi {
        /// Number of vertices.
        vertices: u64,
        /// Edges drawn for each vertex.
        degree: u32,
        /// Of the random numbers.
        seed: u64,
    },
    /// A grid of four neighbours each.
    Grid {
        /// Vertices across; vertex `y * width + x` is at (x, y).
        width: u64,
        /// Vertices down.
        height: u64,
    },
    /// Vertices in a row.
    Path {
        /// Number of vertices.
        vertices: u64,
    },
    /// Vertex 0 and the others around it.
    Star {
        /// Number of vertices.
        vertices: u64,
    },
}

/// Kinds, as specifications spell them.
const KINDS: [&str; 5] = ["rmat", "er", "grid", "path", "star"];

impl Generator {
    /// Reads a specification; none if the text is no such thing, but a file's name.
    pub fn parse(spec: &str) -> Option<Result<Generator>> {
        let (kind, rest) = spec.split_once(':')?;
        if !KINDS.contains(&kind) {
            return None;
        }
        let options = Options { spec, text: rest };
        Some(options.generator(kind))
    }

    /// Makes the graph.
    ///
    /// # Errors
    /// [`Error::Input`] when it is too large.
    pub fn generate(self) -> Result<Graph> {
        match self {
            Generator::Rmat { scale, degree, seed, permute } => {
                let edge = |i| {
                    let (a, b) = rmat_edge(scale, seed, i);
                    if permute { (renumber(scale, seed, a), renumber(scale, seed, b)) } else { (a, b) }
                };
                of_edges(1 << scale, (1 << scale) * u64::from(degree), edge)
            }
            Generator::ErdosRenyi { vertices, degree, seed } => {
                of_edges(vertices, vertices * u64::from(degree), |i| {
                    let word = random(seed, i);
                    let below = |word: u64| (((word & 0xffff_ffff) * vertices) >> 32) as u32;
                    (below(word), below(word >> 32))
                })
            }
            Generator::Grid { width, height } => {
                let across = width.saturating_sub(1) * height;
                of_edges(width * height, across + width * height.saturating_sub(1), |i| {
                    if i < across {
                        let (y, x) = (i / (width - 1), i % (width - 1));
                        ((y * width + x) as u32, (y * width + x + 1) as u32)
                    } else {
                        ((i - across) as u32, (i - across + width) as u32)
                    }
                })
            }
            Generator::Path { vertices } => of_edges(vertices, vertices - 1, |i| (i as u32, i as u32 + 1)),
            Generator::Star { vertices } => of_edges(vertices, vertices - 1, |i| (0, i as u32 + 1)),
        }
    }
}

fn of_edges(vertices: u64, edges: u64, edge: impl Fn(u64) -> (u32, u32) + Sync + Send) -> Result<Graph> {
    check_size("", vertices, 2 * edges)?;
    let pairs: Vec<_> = (0..edges).into_par_iter().map(edge).collect();
    Graph::from_pairs(vertices, &pairs, true)
}

/// A number that looks random and depends on `seed` and `index` alone (Steele, Lea and Flood's SplitMix64, OOPSLA'14).
fn random(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The shares of the quadrants, A = 0.57, B = C = 0.19, D = 0.05, summed up, of 2^32.
const QUADRANTS: [u32; 3] = [2_448_131_358, 3_264_175_144, 4_080_218_931];

/// Descends into a quadrant of the adjacency matrix for each bit of the vertices' numbers.
fn rmat_edge(scale: u32, seed: u64, index: u64) -> (u32, u32) {
    let seed = random(seed, index);
    let (mut from, mut to) = (0, 0);
    for bit in 0..scale {
        let word = random(seed, (bit / 2).into());
        let draw = if bit % 2 == 0 { word as u32 } else { (word >> 32) as u32 };
        let quadrant = QUADRANTS.iter().filter(|&&end| draw >= end).count() as u32;
        from = from << 1 | quadrant >> 1;
        to = to << 1 | (quadrant & 1);
    }
    (from, to)
}

/// A permutation of 0 .. 2^scale: each round can be undone.
fn renumber(scale: u32, seed: u64, vertex: u32) -> u32 {
    let mask = (1u64 << scale) - 1;
    let mut v = u64::from(vertex);
    for round in 0..4 {
        let key = random(!seed, round);
        v = (v.wrapping_mul(key | 1).wrapping_add(key >> 32)) & mask;
        v ^= v >> (scale / 2).max(1);
    }
    v as u32
}

/// The options of a specification.
struct Options<'a> {
    spec: &'a str,
    text: &'a str,
}

impl Options<'_> {
    fn wrong<T>(&self, why: impl std::fmt::Display) -> Result<T> {
        Err(Error::Input(format!("{}: {why}", self.spec)))
    }

    fn generator(&self, kind: &str) -> Result<Generator> {
        if kind == "grid" {
            return self.grid();
        }
        let known: &[&str] = match kind {
            "rmat" => &["scale", "degree", "seed", "permute"],
            "er" => &["scale", "n", "degree", "seed"],
            _ => &["scale", "n"],
        };
        let pairs = self.pairs(known)?;
        let value = |key: &str| pairs.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        let degree = self.bounded("degree", value("degree").unwrap_or(16), 1..=1 << 16)? as u32;
        let seed = value("seed").unwrap_or(1);
        let vertices = match (value("scale"), value("n")) {
            (Some(scale), None) => 1 << self.bounded("scale", scale, 1..=30)?,
            (None, Some(n)) => self.bounded("n", n, 1..=MOST_VERTICES)?,
            _ => {
                return self
                    .wrong(format!("give {}", if kind == "rmat" { "scale=" } else { "scale= or n=" }));
            }
        };
        Ok(match kind {
            "rmat" => {
                let permute = self.bounded("permute", value("permute").unwrap_or(0), 0..=1)? == 1;
                Generator::Rmat { scale: vertices.trailing_zeros(), degree, seed, permute }
            }
            "er" => Generator::ErdosRenyi { vertices, degree, seed },
            "path" => Generator::Path { vertices },
            _ => Generator::Star { vertices },
        })
    }

    fn grid(&self) -> Result<Generator> {
        let side = |s: &str| s.parse::<u64>().ok().filter(|n| (1..=MOST_VERTICES).contains(n));
        let sides = self.text.split_once('x').and_then(|(w, h)| Some((side(w)?, side(h)?)));
        match sides {
            Some((width, height)) if width * height <= MOST_VERTICES => Ok(Generator::Grid { width, height }),
            Some((width, height)) => self.wrong(format_args!(
                "{} vertices; a graph has at most {MOST_VERTICES}; take a smaller one",
                width * height
            )),
            None => self.wrong(format_args!(
                "give WIDTHxHEIGHT, each 1 or more and {MOST_VERTICES} at most, such as grid:1000x1000"
            )),
        }
    }

    fn bounded(&self, key: &str, value: u64, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
        if range.contains(&value) {
            return Ok(value);
        }
        self.wrong(format!("{key} is {value}; it can be {} to {}", range.start(), range.end()))
    }

    /// `key=value,..`; a bare number is the scale.
    fn pairs(&self, known: &[&'static str]) -> Result<Vec<(&'static str, u64)>> {
        let mut pairs: Vec<(&str, u64)> = vec![];
        for part in self.text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or(("scale", part));
            let Some(key) = known.iter().find(|k| **k == key) else {
                return self.wrong(format!("no option {key}; there are {}", known.join(", ")));
            };
            let Ok(value) = value.parse() else {
                return self.wrong(format!("{key}={value}: give a whole number, {} at most", u64::MAX));
            };
            if pairs.iter().any(|(k, _)| k == key) {
                return self.wrong(format!("{key} is given twice"));
            }
            pairs.push((key, value));
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(spec: &str) -> Graph {
        Graph::load(spec, false, false).expect(spec)
    }

    #[test]
    fn shapes_are_what_they_are_called() {
        let grid = graph("grid:3x2");
        assert_eq!((grid.vertices(), grid.arcs()), (6, 14));
        assert_eq!((grid.neighbours(0), grid.neighbours(4)), (&[1, 3][..], &[1, 3, 5][..]));
        assert_eq!(graph("grid:1x5"), graph("path:n=5"));
        let star = graph("star:4");
        assert_eq!((star.vertices(), star.degree(0), star.neighbours(7)), (16, 15, &[0][..]));
        assert_eq!((graph("path:n=1").vertices(), graph("star:n=1").arcs()), (1, 0));
    }

    #[test]
    fn random_graphs_repeat_and_differ_by_seed() {
        let rmat = graph("rmat:scale=10,degree=16");
        assert_eq!(rmat, graph("rmat:10,seed=1"));
        assert_ne!(rmat, graph("rmat:10,seed=2"));
        let facts = rmat.facts();
        assert_eq!(facts.entries, 16 << 10);
        assert_eq!(
            u64::from(rmat.arcs()) + facts.duplicates,
            2 * (facts.entries - facts.self_loops),
            "every pair is somewhere"
        );
        // The first quadrant holds more than half of the edges, so low numbers have most arcs.
        assert!(rmat.offsets()[512] > rmat.arcs() / 2);
        let er = graph("er:n=1000,degree=8");
        assert!((6..=8).contains(&(er.arcs() / 2000)) && er.vertices() == 1000);
        assert!((0..1000).all(|v| er.degree(v) < 50), "no hubs");
    }

    #[test]
    fn renumbering_keeps_the_degrees() {
        for scale in [1, 2, 3, 7, 10] {
            let mut seen: Vec<_> = (0..1 << scale).map(|v| renumber(scale, 5, v)).collect();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..1 << scale), "scale {scale}");
        }
        let degrees = |spec| {
            let graph = graph(spec);
            let mut all: Vec<_> = (0..graph.vertices()).map(|v| graph.degree(v)).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(degrees("rmat:8"), degrees("rmat:8,permute=1"));
        assert_ne!(graph("rmat:8"), graph("rmat:8,permute=1"));
    }

    #[test]
    fn wrong_specifications_name_what_is_wrong() {
        for (spec, part) in [
            ("rmat:", "scale="),
            ("rmat:scale=31", "1 to 30"),
            ("rmat:18,degre=3", "no option degre"),
            ("rmat:18,degree=x", "degree=x: give a whole number, 18446744073709551615 at most"),
            ("rmat:18,18", "twice"),
            ("rmat:n=5", "no option n"),
            ("star:n=0", "1 to 1073741824"),
            ("star:n=-1", "n=-1"),
            ("grid:5", "WIDTHxHEIGHT"),
            ("grid:0x5", "WIDTHxHEIGHT, each 1 or more and 1073741824 at most"),
            ("grid:9999999999x5", "1073741824 at most"),
            ("grid:65536x65536", "at most 1073741824"),
            ("path:scale=3,n=4", "scale= or n="),
        ] {
            let error = Generator::parse(spec).expect("a generator").expect_err(spec).to_string();
            assert!(error.starts_with(spec) && error.contains(part), "{error}");
        }
        assert_eq!(Generator::parse("file.mtx").map(|_| ()), None);
        assert_eq!(Generator::parse("c:rmat").map(|_| ()), None);
    }
}
