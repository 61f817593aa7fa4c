//! The binary form of a graph, kept beside its file: `GRAPH.rayq-graph`, or `GRAPH.both-ways.rayq-graph`.
//!
//! Little-endian: ten words of head, then offsets, targets and names, then the SHA-256 of all that. The head tells the
//! file that the graph was made of, by length and time of change; a cache of another one, or one that is damaged, is made
//! anew.

use super::{Facts, Graph, MOST_ARCS, MOST_VERTICES, read};
use crate::error::Result;
use crate::film::Output;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Names the format and its version.
const MAGIC: u64 = u64::from_le_bytes(*b"rayqCSR2");
const HEAD: usize = 10;
/// Bytes of the digest.
const DIGEST: usize = 32;

/// Reads the cache of a graph file, or the file itself, whose cache it then writes.
///
/// # Errors
/// The file's, or the cache cannot be written.
pub fn load(path: &Path, both_ways: bool) -> Result<Graph> {
    let place = place(path, both_ways);
    let stamp = stamp(path);
    if let Some(graph) = stamp.and_then(|stamp| decode(&fs::read(&place).ok()?, stamp)) {
        return Ok(graph);
    }
    let graph = read::read(path, both_ways)?;
    if let Some(stamp) = stamp {
        Output::prepare(&place)?.write(&encode(&graph, stamp))?;
    }
    Ok(graph)
}

/// The cache's path.
pub fn place(path: &Path, both_ways: bool) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(if both_ways { ".both-ways.rayq-graph" } else { ".rayq-graph" });
    name.into()
}

/// Length and time of change of the file.
fn stamp(path: &Path) -> Option<[u64; 2]> {
    let facts = fs::metadata(path).ok()?;
    let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some([facts.len(), changed.as_nanos() as u64])
}

fn encode(graph: &Graph, stamp: [u64; 2]) -> Vec<u8> {
    let Facts { entries, self_loops, duplicates, symmetrised } = graph.facts;
    let names = graph.names.as_deref().unwrap_or_default();
    let mut bytes = vec![];
    let body = [graph.vertices().into(), graph.arcs().into(), names.len() as u64];
    for word in [MAGIC, stamp[0], stamp[1]].into_iter().chain(body) {
        bytes.extend(word.to_le_bytes());
    }
    for word in [entries, self_loops, duplicates, symmetrised.into()] {
        bytes.extend(word.to_le_bytes());
    }
    for word in graph.offsets.iter().chain(&graph.targets) {
        bytes.extend(word.to_le_bytes());
    }
    names.iter().for_each(|name| bytes.extend(name.to_le_bytes()));
    let digest = Sha256::digest(&bytes);
    bytes.extend(digest);
    bytes
}

/// The graph, if the bytes are one and it was made of the file with this stamp.
fn decode(bytes: &[u8], stamp: [u64; 2]) -> Option<Graph> {
    let (bytes, digest) = bytes.split_at_checked(bytes.len().checked_sub(DIGEST)?)?;
    let (head, body) = bytes.split_at_checked(8 * HEAD)?;
    let head: Vec<_> = head.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let [MAGIC, length, changed, vertices, arcs, names, entries, self_loops, duplicates, symmetrised] =
        head[..]
    else {
        return None;
    };
    let fits = vertices <= MOST_VERTICES && arcs <= MOST_ARCS && (names == 0 || names == vertices);
    if [length, changed] != stamp || !fits || body.len() as u64 != 4 * (vertices + 1 + arcs) + 8 * names {
        return None;
    }
    if Sha256::digest(bytes)[..] != *digest {
        return None;
    }
    // Words, and the two arrays that they become.
    crate::memory::check(2 * body.len() as u64).ok()?;
    let (words, names) = body.split_at(4 * (vertices + 1 + arcs) as usize);
    let words: Vec<_> = words.as_chunks().0.par_iter().map(|word| u32::from_le_bytes(*word)).collect();
    let (offsets, targets) = words.split_at(vertices as usize + 1);
    let names: Vec<_> = names.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let sound = offsets[0] == 0
        && u64::from(offsets[vertices as usize]) == arcs
        && offsets.is_sorted()
        && targets.par_iter().all(|&t| u64::from(t) < vertices)
        && names.is_sorted();
    sound.then(|| Graph {
        offsets: offsets.to_vec(),
        targets: targets.to_vec(),
        names: (!names.is_empty()).then_some(names),
        facts: Facts { entries, self_loops, duplicates, symmetrised: symmetrised == 1 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_damaged_is_not() {
        let text = b"5000000000 7\n7 9\n9 7\n9 9\n";
        let graph = read::parse(Path::new("x.txt"), text, false).expect("a graph");
        let bytes = encode(&graph, [1, 2]);
        assert_eq!(decode(&bytes, [1, 2]), Some(graph));
        assert_eq!(decode(&bytes, [1, 3]), None, "another file");
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end], [1, 2]), None, "cut at {end}");
        }
        for at in 0..bytes.len() {
            let mut wild = bytes.clone();
            wild[at] ^= 1;
            assert_eq!(decode(&wild, [1, 2]), None, "changed at {at}");
        }
    }

    #[test]
    fn a_changed_file_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("g.txt");
        fs::write(&path, "0 1\n").expect("written");
        assert_eq!(load(&path, false).expect("a graph").arcs(), 1);
        assert!(place(&path, false).exists());
        assert_eq!(load(&path, false).expect("a graph").arcs(), 1);
        assert_eq!(load(&path, true).expect("a graph").arcs(), 2, "a cache of its own");
        fs::write(&path, "0 1\n1 2\n").expect("written");
        assert_eq!(load(&path, false).expect("a graph").arcs(), 2);
        // The cache is what is read: a sound one of the file's stamp is believed.
        let other = Graph::from_pairs(2, &[(1, 0)], false).expect("a graph");
        fs::write(place(&path, false), encode(&other, stamp(&path).expect("there"))).expect("written");
        assert_eq!(load(&path, false).expect("a graph"), other);
    }
}
