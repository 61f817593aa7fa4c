//! Noticing that files have changed, by asking: a handful of files four times a second costs nothing, works on
//! every file system, network ones included, and sees files that editors replace.

use crate::file::{Files, Stamp};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The files that decided how a load went, as they were before it.
#[derive(Debug)]
pub struct Watch(BTreeMap<PathBuf, Option<Stamp>>);

impl Watch {
    /// Watches what a load has looked at. One that failed did so because of these alone.
    pub fn new(files: Files) -> Watch {
        Watch(files.into_stamps())
    }

    /// Whether any has changed since the load began. A file that is gone has not: an editor may be about to put
    /// the new one in its place.
    pub fn changed(&self) -> bool {
        let differs = |(file, known): (&PathBuf, &Option<Stamp>)| {
            let found = Stamp::of(file);
            found.is_some() && found != *known
        };
        self.0.iter().any(differs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn write(path: &Path, text: &str) {
        std::fs::write(path, text).expect("writable");
    }

    fn watch(paths: &[&Path]) -> Watch {
        let files = Files::default();
        paths.iter().for_each(|path| drop(files.read(path, 9, "")));
        Watch::new(files)
    }

    #[test]
    fn files_come_and_go() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let [scene, mesh] = ["scene", "mesh"].map(|name| folder.path().join(name));
        write(&scene, "1");
        let watched = watch(&[&scene, &mesh]);
        assert!(!watched.changed());
        write(&mesh, "1");
        assert!(watched.changed(), "a missing file is there now");
        let watched = watch(&[&scene]);
        write(&mesh, "22");
        assert!(!watched.changed(), "nobody watches the mesh");
        std::fs::remove_file(&scene).expect("there");
        assert!(!watched.changed(), "what is gone has not changed");
        write(&scene, "22");
        assert!(watched.changed());
    }

    #[test]
    fn a_change_while_a_load_goes_on_is_seen() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let path = folder.path().join("scene");
        write(&path, "1");
        let files = Files::default();
        files.read(&path, 9, "").expect("there");
        write(&path, "22");
        assert!(Watch::new(files).changed());
    }

    #[cfg(unix)]
    #[test]
    fn another_file_of_the_same_length_and_time_is_another() {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        let [path, other] = ["scene", "other"].map(|name| folder.path().join(name));
        write(&path, "1");
        let watched = watch(&[&path]);
        write(&other, "2");
        let time = std::fs::metadata(&path).expect("there").modified().expect("told");
        let file = std::fs::File::options().write(true).open(&other).expect("there");
        file.set_modified(time).expect("ours");
        std::fs::rename(&other, &path).expect("one folder");
        assert!(watched.changed());
    }
}
