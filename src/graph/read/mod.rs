//! Graph files: Matrix Market, SNAP edge lists and DIMACS `.gr`, plain or packed by gzip.
//!
//! | file | how it is known | vertices | arcs |
//! |---|---|---|---|
//! | Matrix Market | `%%MatrixMarket` in its first line, or `.mtx` | as declared; entry 1 is vertex 0 | row to column; both ways if symmetric, skew-symmetric or hermitian |
//! | DIMACS | `.gr` | as declared; 1 is vertex 0 | as listed |
//! | SNAP | `.txt`, `.el`, `.edges`, `.snap` or `.tsv` | those that occur, by their numbers | as listed |
//!
//! Lines are read in parallel. Every error names the file and the line.

mod dimacs;
mod lines;
mod matrix_market;
mod snap;

use super::Graph;
use crate::error::{Error, Result};
use crate::{file, memory};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Bytes of a file at most, unpacked.
const MOST_BYTES: u64 = 1 << 36;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Matrix Market, coordinates only.
    MatrixMarket,
    /// DIMACS shortest paths.
    Dimacs,
    /// A SNAP edge list.
    Snap,
}

impl Format {
    /// The format of a file by how it begins, else by its name.
    pub fn of(path: &Path, text: &[u8]) -> Option<Format> {
        const BANNER: &[u8] = b"%%matrixmarket";
        if text.len() >= BANNER.len() && text[..BANNER.len()].eq_ignore_ascii_case(BANNER) {
            return Some(Format::MatrixMarket);
        }
        let name = path.file_name()?.to_string_lossy().to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "mtx" => Some(Format::MatrixMarket),
            "gr" => Some(Format::Dimacs),
            "txt" | "el" | "edges" | "snap" | "tsv" => Some(Format::Snap),
            _ => None,
        }
    }
}

/// Reads a graph file; `both_ways`: arcs of a directed file count in both directions.
///
/// # Errors
/// [`Error::Input`]: a file that cannot be read, an unknown format, or the line that is wrong.
pub fn read(path: &Path, both_ways: bool) -> Result<Graph> {
    let text = load(path)
        .map_err(|why| Error::Input(format!("{}: cannot read the graph: {why}", path.display())))?;
    parse(path, &text, both_ways)
}

/// Reads a graph from a file's text; `path` decides the format, and messages name it.
///
/// # Errors
/// As for [`read`].
pub fn parse(path: &Path, text: &[u8], both_ways: bool) -> Result<Graph> {
    let name = path.display().to_string();
    match Format::of(path, text) {
        Some(Format::MatrixMarket) => matrix_market::parse(&name, text, both_ways),
        Some(Format::Dimacs) => dimacs::parse(&name, text, both_ways),
        Some(Format::Snap) => snap::parse(&name, text, both_ways),
        None => Err(Error::Input(format!(
            "{name}: no known graph format; name it .mtx (Matrix Market), .gr (DIMACS) or .txt (SNAP edge list), or give \
             a generator such as rmat:scale=18"
        ))),
    }
}

/// The file's text, unpacked.
fn load(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let mut text = file::read(path, MOST_BYTES, "; give a graph file or a generator such as rmat:scale=18")?;
    if text.starts_with(&[0x1f, 0x8b]) {
        let packed = std::mem::take(&mut text);
        let mut unpacked = flate2::read::MultiGzDecoder::new(&packed[..]).take(most_unpacked() + 1);
        memory::may_fail(|| unpacked.read_to_end(&mut text)).map_err(|e| match e.kind() {
            ErrorKind::OutOfMemory => format!("there is no memory for more than {} bytes of it", text.len()),
            _ => format!("damaged gzip file: {e}"),
        })?;
        if text.len() as u64 > most_unpacked() {
            return Err(format!("it unpacks to more than {} bytes, the memory's limit", most_unpacked()));
        }
    }
    Ok(text)
}

/// Bytes that a packed file may become: half of the free memory, and no more than a file may have.
fn most_unpacked() -> u64 {
    match memory::free() {
        0 => MOST_BYTES,
        free => MOST_BYTES.min(free / 2),
    }
}
