//! The disk cache of compiled kernels.
//!
//! An entry is a file named by the SHA-256 of everything that went into it, so entries never go stale: a
//! change of source, options, architecture or compiler is another name. It starts with the SHA-256 of its
//! contents; an entry that does not match it is as good as absent. Writers write a temporary file and rename
//! it, so readers never see half an entry and the last of several writers wins with equal bytes.
//!
//! The cache only saves time: whatever goes wrong with it is a miss, and one warning when it cannot be
//! written. The folder may be deleted at any moment.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// First bytes of an entry; changes with the format.
const MAGIC: &[u8; 8] = b"rayq-c1\n";
/// Length of a SHA-256.
const CHECKSUM: usize = 32;

/// Names an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The key of these parts, in this order. Lengths are hashed too, so that parts cannot run into another.
    pub fn new<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Key {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let mut name = String::new();
        hash.finalize().iter().for_each(|byte| write!(name, "{byte:02x}").expect("to a string"));
        Key(name)
    }
}

/// A folder of entries, or nothing where there is no place for one.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

impl Cache {
    /// The user's cache: RAYQ_CACHE_DIR, else XDG_CACHE_HOME/rayq, else ~/.cache/rayq.
    pub fn of_user() -> Cache {
        let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let folder = set("RAYQ_CACHE_DIR")
            .or_else(|| set("XDG_CACHE_HOME").filter(|p| p.is_absolute()).map(|p| p.join("rayq")))
            .or_else(|| set("HOME").map(|p| p.join(".cache/rayq")));
        Cache { folder }
    }

    /// A cache in `folder`, which is made when the first entry is written.
    pub fn at(folder: impl Into<PathBuf>) -> Cache {
        Cache { folder: Some(folder.into()) }
    }

    /// The contents of an entry, if it is there and undamaged.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let file = std::fs::read(self.folder.as_ref()?.join(&key.0)).ok()?;
        let (checksum, contents) = file.strip_prefix(MAGIC)?.split_at_checked(CHECKSUM)?;
        (Sha256::digest(contents).as_slice() == checksum).then(|| contents.to_vec())
    }

    /// Writes an entry. Says so on stderr, once a process, when the folder cannot be written.
    pub fn put(&self, key: &Key, contents: &[u8]) {
        static WARNED: Once = Once::new();
        let Some(folder) = &self.folder else { return };
        if let Err(why) = write_renamed(folder, &key.0, contents) {
            WARNED.call_once(|| {
                eprintln!(
                    "warning: kernels are compiled anew each time, since {} cannot be written ({why}); RAYQ_CACHE_DIR names another folder",
                    folder.display()
                );
            });
        }
    }

    /// The entry `key`, or what `make` makes, kept for next time.
    pub fn get_or<E>(&self, key: &Key, make: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<Vec<u8>, E> {
        if let Some(contents) = self.get(key) {
            return Ok(contents);
        }
        let contents = make()?;
        self.put(key, &contents);
        Ok(contents)
    }
}

fn write_renamed(folder: &Path, name: &str, contents: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(MAGIC)?;
    file.write_all(&Sha256::digest(contents))?;
    file.write_all(contents)?;
    file.persist(folder.join(name))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn key(text: &str) -> Key {
        Key::new([text.as_bytes()])
    }

    #[test]
    fn parts_of_a_key_do_not_run_together() {
        assert_ne!(Key::new([&b"ab"[..], b"c"]), Key::new([&b"a"[..], b"bc"]));
        assert_ne!(Key::new([&b"ab"[..]]), Key::new([&b"ab"[..], b""]));
        assert_eq!(Key::new([&b"ab"[..], b"c"]), Key::new([&b"ab"[..], b"c"]));
    }

    #[test]
    fn entries_come_back_and_are_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("made/when/needed"));
        let made = AtomicU32::new(0);
        for _ in 0..3 {
            let make = || {
                made.fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>(vec![7; 100])
            };
            assert_eq!(cache.get_or(&key("a"), make).unwrap(), vec![7; 100]);
        }
        assert_eq!(made.into_inner(), 1);
        assert_eq!(cache.get(&key("b")), None);
    }

    #[test]
    fn failures_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        assert_eq!(cache.get_or(&key("a"), || Err("no")), Err("no"));
        assert_eq!(cache.get_or(&key("a"), || Ok::<_, &str>(vec![1])), Ok(vec![1]));
    }

    /// Every single flipped byte and every truncation is noticed, and mended by the next writer.
    #[test]
    fn a_damaged_entry_is_a_miss() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let (key, contents) = (key("a"), b"some code".to_vec());
        cache.put(&key, &contents);
        let path = folder.path().join(&key.0);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            std::fs::write(&path, &flipped).unwrap();
            assert_eq!(cache.get(&key), None, "byte {at} flipped");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.get(&key), None, "cut at {at}");
        }
        assert_eq!(cache.get_or(&key, || Ok::<_, ()>(contents.clone())), Ok(contents.clone()));
        assert_eq!(cache.get(&key), Some(contents));
    }

    #[test]
    fn concurrent_writers_leave_one_whole_entry() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let (key, contents) = (key("a"), vec![42; 1 << 16]);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..20 {
                        cache.put(&key, &contents);
                        assert_eq!(cache.get(&key).as_ref(), Some(&contents), "a reader saw half an entry");
                    }
                });
            }
        });
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "temporary files are gone");
    }

    /// A file where the folder should be: unwritable for root too.
    #[test]
    fn an_unwritable_folder_only_costs_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = Cache::at(file.path().join("rayq"));
        assert_eq!(cache.get_or(&key("a"), || Ok::<_, ()>(vec![1])), Ok(vec![1]));
        assert_eq!(cache.get_or(&key("a"), || Ok::<_, ()>(vec![2])), Ok(vec![2]));
    }
}
