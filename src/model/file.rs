//! Files that models are read from, and the words for what is wrong in them.

use crate::error::{Error, Result};
use std::fmt::Display;
use std::fs::{self, File};
use std::io::Read;
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

/// The bytes of a regular file within [`MAX_FILE_BYTES`], or the reason why there are none.
pub fn read(path: &Path) -> std::result::Result<Vec<u8>, String> {
    // Opening a pipe would wait for somebody to write into it.
    let about = fs::metadata(path).map_err(|e| e.to_string())?;
    if !about.is_file() {
        return Err("is not a regular file".into());
    }
    let mut bytes = vec![];
    let file = File::open(path).map_err(|e| e.to_string())?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("is larger than {MAX_FILE_BYTES} bytes, the limit"));
    }
    Ok(bytes)
}

/// The file itself, for a model's first file.
pub fn read_model(path: &Path) -> Result<Vec<u8>> {
    read(path).map_err(|why| fault(path, format_args!("cannot read the model: {why}")))
}
