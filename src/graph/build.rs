//! Pairs of vertices into rows, in parallel.

use super::{Facts, Graph, check_size};
use crate::error::Result;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// See [`Graph::from_pairs`].
pub(super) fn build(vertices: u64, pairs: &[(u32, u32)], both_ways: bool) -> Result<Graph> {
    let entries = pairs.len() as u64;
    check_size("", vertices, entries * if both_ways { 2 } else { 1 })?;
    let (mut targets, bounds, self_loops) = scatter(vertices as usize, pairs, both_ways);
    let mut kept = vec![0; vertices as usize];
    sort_rows(&mut targets, &bounds, &mut kept);
    let offsets = sums(&kept);
    let all = targets.len() as u64;
    if u64::from(*offsets.last().expect("one at least")) < all {
        targets = close_gaps(&targets, &bounds, &offsets);
    }
    let duplicates = all - targets.len() as u64;
    let facts = Facts { entries, self_loops, duplicates, symmetrised: both_ways };
    Ok(Graph { offsets, targets, names: None, facts })
}

/// 0 and the sums of the first one, two, .. counts.
fn sums(counts: &[u32]) -> Vec<u32> {
    let mut sum = 0;
    std::iter::once(0)
        .chain(counts.iter().map(|count| {
            sum += count;
            sum
        }))
        .collect()
}

/// Each vertex' targets side by side in any order, where each vertex' begin, and the number of self loops left out.
fn scatter(vertices: usize, pairs: &[(u32, u32)], both_ways: bool) -> (Vec<u32>, Vec<u32>, u64) {
    let zeros = |n: usize| (0..n).into_par_iter().map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
    let plain = |words: Vec<AtomicU32>| words.into_iter().map(AtomicU32::into_inner).collect::<Vec<u32>>();
    let places = zeros(vertices);
    let proper = |&&(from, to): &&(u32, u32)| from != to;
    let arcs = pairs.par_iter().filter(proper);
    arcs.for_each(|&(from, to)| {
        places[from as usize].fetch_add(1, Relaxed);
        if both_ways {
            places[to as usize].fetch_add(1, Relaxed);
        }
    });
    let bounds = sums(&plain(places));
    let next: Vec<AtomicU32> = bounds[..vertices].par_iter().map(|&b| AtomicU32::new(b)).collect();
    let total = bounds[vertices];
    let targets = zeros(total as usize);
    let put = |from: u32, to: u32| {
        targets[next[from as usize].fetch_add(1, Relaxed) as usize].store(to, Relaxed);
    };
    pairs.par_iter().filter(proper).for_each(|&(from, to)| {
        put(from, to);
        if both_ways {
            put(to, from);
        }
    });
    let self_loops = pairs.len() as u64 - u64::from(total) / if both_ways { 2 } else { 1 };
    (plain(targets), bounds, self_loops)
}

/// Rows that one thread takes at a time.
const ROWS: usize = 1 << 12;

/// Sorts each row and moves what is there twice to its end; `kept` counts the others. `targets` begins at `bounds[0]`.
fn sort_rows(targets: &mut [u32], bounds: &[u32], kept: &mut [u32]) {
    let rows = kept.len();
    if rows > ROWS {
        let half = rows / 2;
        let (left, right) = targets.split_at_mut((bounds[half] - bounds[0]) as usize);
        let (kept_left, kept_right) = kept.split_at_mut(half);
        rayon::join(
            || sort_rows(left, &bounds[..=half], kept_left),
            || sort_rows(right, &bounds[half..], kept_right),
        );
        return;
    }
    for (row, kept) in kept.iter_mut().enumerate() {
        let at = |i: usize| (bounds[i] - bounds[0]) as usize;
        let row = &mut targets[at(row)..at(row + 1)];
        row.sort_unstable();
        let mut unique = 0;
        for i in 0..row.len() {
            if unique == 0 || row[i] != row[unique - 1] {
                row[unique] = row[i];
                unique += 1;
            }
        }
        *kept = unique as u32;
    }
}

/// The rows without the room that duplicates left between them.
fn close_gaps(targets: &[u32], bounds: &[u32], offsets: &[u32]) -> Vec<u32> {
    let vertices = offsets.len() - 1;
    let mut closed = vec![0; offsets[vertices] as usize];
    let mut parts = vec![];
    let mut rest = &mut closed[..];
    for first in (0..vertices).step_by(ROWS) {
        let end = (first + ROWS).min(vertices);
        let (part, after) = rest.split_at_mut((offsets[end] - offsets[first]) as usize);
        parts.push((first..end, part));
        rest = after;
    }
    parts.into_par_iter().for_each(|(rows, mut part)| {
        for row in rows {
            let (here, after) = part.split_at_mut((offsets[row + 1] - offsets[row]) as usize);
            here.copy_from_slice(&targets[bounds[row] as usize..][..here.len()]);
            part = after;
        }
    });
    closed
}
