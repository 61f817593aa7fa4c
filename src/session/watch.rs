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

    /// Watches these and no others from now on. What changed in one that was watched before still
    /// counts.
    pub fn follow<'a>(&mut self, files: impl IntoIterator<Item = &'a Path>) {
        let mut known = std::mem::take(&mut self.files);
        for file in files {
            let before = known.iter().position(|(path, _)| path == file).map(|at| known.swap_remove(at));
            self.files.push(before.unwrap_or_else(|| (file.to_owned(), stamp(file))));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_and_go() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let [scene, mesh, other] = ["scene", "mesh", "other"].map(|name| folder.path().join(name));
        let write = |path: &Path, text: &str| std::fs::write(path, text).expect("writable");
        [&scene, &mesh, &other].into_iter().for_each(|path| write(path, "1"));
        let mut watch = Watch::new([scene.as_path()]);
        write(&mesh, "22");
        assert!(!watch.changed(), "nobody watches the mesh");
        watch.follow([scene.as_path(), mesh.as_path()]);
        assert!(!watch.changed(), "the mesh as it was found");
        write(&mesh, "333");
        assert!(watch.changed() && !watch.changed());
        write(&scene, "22");
        watch.follow([scene.as_path(), other.as_path()]);
        assert!(watch.changed(), "a change just before is not lost");
        write(&mesh, "4444");
        std::fs::remove_file(&other).expect("there");
        assert!(!watch.changed(), "the mesh is not followed any more, and what is gone has not changed");
        write(&other, "22");
        assert!(watch.changed());
    }
}
