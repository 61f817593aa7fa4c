//! Noticing that files have changed, by asking: a handful of files four times a second costs nothing, works on
//! every file system, network ones included, and sees files that editors replace.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What tells one version of a file from another.
type Stamp = (SystemTime, u64);

/// Files, as they were when last looked at.
#[derive(Debug)]
pub struct Watch {
    files: Vec<(PathBuf, Option<Stamp>)>,
}

impl Watch {
    /// Watches these from now on.
    pub fn new<'a>(files: impl IntoIterator<Item = &'a Path>) -> Watch {
        Watch { files: files.into_iter().map(|f| (f.to_owned(), stamp(f))).collect() }
    }

    /// Whether any has changed since the last time. A file that is gone has not: an editor may be about to put
    /// the new one in its place.
    pub fn changed(&mut self) -> bool {
        let mut any = false;
        for (file, known) in &mut self.files {
            let found = stamp(file);
            if found.is_some() && found != *known {
                *known = found;
                any = true;
            }
        }
        any
    }
}

fn stamp(file: &Path) -> Option<Stamp> {
    let data = std::fs::metadata(file).ok()?;
    Some((data.modified().ok()?, data.len()))
}
