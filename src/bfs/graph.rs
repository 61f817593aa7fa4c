//! A graph in a device's memory.

use crate::device::{Buffer, Device};
use crate::error::Result;
use crate::graph::Graph;
use crate::layout::Ptr;
use std::sync::Arc;

/// Arcs of a row at most on a wide device: what a wave walks in eight turns. Longer lists are cut, so that a hub is
/// work for many waves.
const ROW_ARCS_WIDE: u32 = 256;
/// The same on the CPU.
const ROW_ARCS_NARROW: u32 = 4096;

/// A graph whose vertices' arcs are cut into rows: one, or as many as it takes.
pub struct DeviceGraph {
    /// The device that it is on.
    pub device: Arc<dyn Device>,
    /// Number of vertices.
    pub vertices: u32,
    /// Number of arcs.
    pub arcs: u32,
    /// Number of rows.
    pub rows: u32,
    /// Rows of each vertex' first row; none: each vertex is one row.
    host_first_row: Option<Vec<u32>>,
    offsets: Buffer<u32>,
    targets: Buffer<u32>,
    first_row: Option<Buffer<u32>>,
    /// The arcs turned round, if they are not the same.
    inward: Option<(Buffer<u32>, Buffer<u32>)>,
}

/// Addresses of the arcs into vertices, for kernels.
pub(super) struct Inward {
    pub offsets: Ptr<u32>,
    pub sources: Ptr<u32>,
    pub first_row: Ptr<u32>,
}

impl DeviceGraph {
    /// Copies the graph to the device; with its arcs turned round if a search `from_below` needs them.
    ///
    /// # Errors
    /// When memory does not suffice.
    pub fn new(device: &Arc<dyn Device>, graph: &Graph, from_below: bool) -> Result<DeviceGraph> {
        Self::cut(device, graph, from_below, if device.is_wide() { ROW_ARCS_WIDE } else { ROW_ARCS_NARROW })
    }

    /// The same with rows of at most `row_arcs` arcs.
    ///
    /// # Errors
    /// When memory does not suffice.
    pub fn cut(
        device: &Arc<dyn Device>,
        graph: &Graph,
        from_below: bool,
        row_arcs: u32,
    ) -> Result<DeviceGraph> {
        let cut = cut_rows(graph, row_arcs.max(1));
        let offsets = cut.as_ref().map_or(graph.offsets(), |(_, offsets)| offsets);
        let upload = |values: &[u32], what| Buffer::from_slice(device, values, what);
        let inward = if from_below && !graph.is_symmetric() {
            let turned = graph.transposed()?;
            Some((upload(turned.offsets(), "the inward arcs")?, upload(turned.targets(), "the inward arcs")?))
        } else {
            None
        };
        let rows = offsets.len() as u32 - 1;
        let offsets = upload(offsets, "the graph's rows")?;
        let host_first_row = cut.map(|(first_row, _)| first_row);
        let first_row = host_first_row.as_deref().map(|rows| upload(rows, "the graph's rows")).transpose()?;
        Ok(DeviceGraph {
            device: device.clone(),
            vertices: graph.vertices(),
            arcs: graph.arcs(),
            rows,
            host_first_row,
            offsets,
            targets: upload(graph.targets(), "the graph's arcs")?,
            first_row,
            inward,
        })
    }

    /// Rows of a vertex.
    pub(super) fn rows_of(&self, vertex: u32) -> u32 {
        let v = vertex as usize;
        self.host_first_row.as_ref().map_or(1, |first| first[v + 1] - first[v])
    }

    /// Addresses of rows, targets and first rows.
    pub(super) fn outward(&self) -> (Ptr<u32>, Ptr<u32>, Ptr<u32>) {
        let first_row = self.first_row.as_ref().map_or(Ptr::null(), Buffer::ptr);
        (self.offsets.ptr(), self.targets.ptr(), first_row)
    }

    pub(super) fn inward(&self) -> Inward {
        let (offsets, sources, first_row) = match &self.inward {
            Some((offsets, sources)) => (offsets.ptr(), sources.ptr(), Ptr::null()),
            None => self.outward(),
        };
        Inward { offsets, sources, first_row }
    }
}

/// Each vertex' first row, and where each row's arcs begin; none if no list is too long.
fn cut_rows(graph: &Graph, row_arcs: u32) -> Option<(Vec<u32>, Vec<u32>)> {
    let vertices = graph.vertices();
    if (0..vertices).all(|v| graph.degree(v) <= row_arcs) {
        return None;
    }
    let (mut first_row, mut offsets) = (vec![], vec![]);
    for v in 0..vertices {
        first_row.push(offsets.len() as u32);
        let begin = graph.offsets()[v as usize];
        let rows = graph.degree(v).div_ceil(row_arcs).max(1);
        offsets.extend((0..rows).map(|row| begin + row * row_arcs));
    }
    first_row.push(offsets.len() as u32);
    offsets.push(graph.arcs());
    Some((first_row, offsets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut_and_empty_ones_have_a_row() {
        let pairs: Vec<_> = (1..8).map(|v| (0, v)).chain([(2, 0), (2, 1)]).collect();
        let graph = Graph::from_pairs(8, &pairs, false).expect("a graph");
        assert_eq!(cut_rows(&graph, 7), None);
        let (first_row, offsets) = cut_rows(&graph, 3).expect("cut");
        assert_eq!(first_row, [0, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(offsets, [0, 3, 6, 7, 7, 9, 9, 9, 9, 9, 9]);
    }
}
