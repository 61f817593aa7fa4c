//! Files that are read: regular ones, within a limit, and noted as they were before, so that changes can be noticed.

use crate::memory;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The bytes of a regular file of at most `most` bytes, or why there are none. `instead` follows where another file
/// would do: `; give a ...`, or nothing.
///
/// # Errors
/// The reason, as the rest of a line.
pub fn read(path: &Path, most: u64, instead: &str) -> Result<Vec<u8>, String> {
    // Looked at first: opening a pipe would wait for somebody to write into it.
    let about = fs::metadata(path).map_err(|e| e.to_string())?;
    if !about.is_file() {
        let kind = if about.is_dir() { "a folder" } else { "not a regular file" };
        return Err(format!("it is {kind}{instead}"));
    }
    let mut bytes = vec![];
    let room = usize::try_from(about.len().min(most) + 1).unwrap_or(usize::MAX);
    memory::reserve(&mut bytes, room)?;
    let file = File::open(path).map_err(|e| e.to_string())?;
    memory::may_fail(|| file.take(most + 1).read_to_end(&mut bytes)).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it is larger than {most} bytes, the limit"));
    }
    Ok(bytes)
}

/// The files that something was made of, each as it was before it was first looked at. Those that are missing count,
/// too: what was made would be another if they were there.
#[derive(Debug, Default)]
pub struct Files(RefCell<BTreeMap<PathBuf, Option<Stamp>>>);

impl Files {
    /// Notes a file, if it is not noted yet.
    fn note(&self, path: &Path) {
        let mut noted = self.0.borrow_mut();
        if !noted.contains_key(path) {
            noted.insert(path.to_owned(), Stamp::of(path));
        }
    }

    /// [`read`], noted.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self, path: &Path, most: u64, instead: &str) -> Result<Vec<u8>, String> {
        self.note(path);
        read(path, most, instead)
    }

    /// Whether there is such a file, noted.
    pub fn has(&self, path: &Path) -> bool {
        self.note(path);
        path.is_file()
    }

    /// The names, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.0.borrow().keys().cloned().collect()
    }

    /// The names and what was there.
    pub fn into_stamps(self) -> BTreeMap<PathBuf, Option<Stamp>> {
        self.0.into_inner()
    }
}

/// What tells one version of a file from another: a file in its place counts as another, whatever its time says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    identity: Identity,
}

impl Stamp {
    /// That of the file as it is now, if there is one.
    pub fn of(path: &Path) -> Option<Stamp> {
        let about = fs::metadata(path).ok()?;
        Some(Stamp { length: about.len(), modified: about.modified().ok(), identity: identity(&about) })
    }
}

/// Device, inode, and the time of the inode's last change, which no program can set.
#[cfg(unix)]
type Identity = (u64, u64, i64, i64);

#[cfg(unix)]
fn identity(about: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (about.dev(), about.ino(), about.ctime(), about.ctime_nsec())
}

/// When the file was made.
#[cfg(not(unix))]
type Identity = Option<SystemTime>;

#[cfg(not(unix))]
fn identity(about: &Metadata) -> Identity {
    about.created().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let file = folder.path().join("file");
        fs::write(&file, "four").expect("writable");
        assert_eq!(read(&file, 4, "").expect("small"), b"four");
        assert_eq!(read(&file, 3, "").expect_err("large"), "it is larger than 3 bytes, the limit");
        assert_eq!(
            read(folder.path(), 4, "; give a file").expect_err("no file"),
            "it is a folder; give a file"
        );
        assert!(read(&folder.path().join("none"), 4, "").expect_err("missing").contains("os error 2"));
    }

    #[test]
    fn files_are_noted_once_as_they_were_before() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let [there, missing] = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&there, "1").expect("writable");
        let (before, files) = (Stamp::of(&there), Files::default());
        files.read(&there, 9, "").expect("there");
        fs::write(&there, "22").expect("writable");
        files.read(&there, 9, "").expect("there");
        assert!(!files.has(&missing));
        assert_eq!(files.paths(), [there.clone(), missing.clone()]);
        let noted = files.into_stamps();
        assert!(before.is_some() && noted[&there] == before && noted[&missing].is_none());
        assert_ne!(Stamp::of(&there), before);
    }
}
