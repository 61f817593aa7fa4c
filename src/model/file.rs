//! Files that models are read from, and the words for what is wrong in them.

use crate::error::{Error, Result};
use crate::file::Files;
use std::fmt::Display;
use std::path::Path;

/// Largest file of a model in bytes: tens of millions of triangles, whole pictures.
pub const MAX_FILE_BYTES: u64 = 2 << 30;

/// The error `file: what`.
pub fn fault(file: &Path, what: impl Display) -> Error {
    Error::input(format!("{}: {what}", file.display()))
}

/// The error `file:line: what`.
pub fn fault_at(file: &Path, line: usize, what: impl Display) -> Error {
    Error::input(format!("{}:{line}: {what}", file.display()))
}

/// The bytes of a file, or the reason why there are none.
pub fn read(path: &Path, files: &Files) -> std::result::Result<Vec<u8>, String> {
    files.read(path, MAX_FILE_BYTES, "")
}

/// The file itself, for a model's first file.
pub fn read_model(path: &Path, files: &Files) -> Result<Vec<u8>> {
    read(path, files).map_err(|why| fault(path, format_args!("cannot read the model: {why}")))
}
