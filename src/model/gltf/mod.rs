//! glTF 2.0.
use super::Model;
use crate::error::Result;
use std::path::Path;

/// Reads the file at `path`.
pub fn load(path: &Path) -> Result<Model> {
    Err(super::file::fault(path, "glTF"))
}
