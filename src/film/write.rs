//! Writing results: everything that can be refused is refused before the rendering, and a file is either the
//! old one or the whole new one.

use super::Format;
use crate::error::{Error, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::time::Instant;
use std::time::{Duration, SystemTime};

/// How the names of files begin and end that are not whole yet.
const PREFIX: &str = ".rayq-";
const SUFFIX: &str = ".part";
/// Letters and digits in between.
const RANDOM: usize = 6;

/// A place for a result, found good before there is a result.
#[derive(Debug)]
pub struct Output {
    /// The path as the user gave it: what messages name.
    path: PathBuf,
    target: Target,
}

/// What lies at the path, links followed.
#[derive(Debug)]
enum Target {
    /// A regular file, or none yet: written beside it and renamed over it.
    File(PathBuf),
    /// A device or pipe: written in place, since a rename would put a file where it was.
    Special,
}

impl Output {
    /// A place for a picture: also checks that the extension names a format that can be written.
    ///
    /// # Errors
    /// [`Error::Input`] for another extension, and as for [`Output::prepare`].
    pub fn picture(path: &Path) -> Result<Output> {
        Format::of(path)?;
        Output::prepare(path)
    }

    /// Checks that the path can be written, and creates its folder if it is missing.
    ///
    /// # Errors
    /// [`Error::Output`] with the path and the system's reason.
    pub fn prepare(path: &Path) -> Result<Output> {
        let target = find_target(path).map_err(|e| Error::output(path, e))?;
        Ok(Output { path: path.to_owned(), target })
    }

    /// The path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the whole file. When this fails, what was there before is still there.
    ///
    /// # Errors
    /// [`Error::Output`] with the path and the system's reason.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        let written = match &self.target {
            Target::File(file) => replace(file, bytes),
            Target::Special => open_special(&self.path).and_then(|mut f| f.write_all(bytes)),
        };
        written.map_err(|e| Error::output(&self.path, e))
    }
}

fn find_target(path: &Path) -> io::Result<Target> {
    fs::create_dir_all(folder_of(path))?;
    let target = match fs::metadata(path) {
        Ok(found) if found.is_file() || found.is_dir() => {
            // Refuses folders, and files that their owner protected, which a rename would not.
            OpenOptions::new().write(true).open(path)?;
            fs::canonicalize(path)?
        }
        // Not opened before there is something to say: the reader of a pipe would take that for the end.
        Ok(_) => return Ok(Target::Special),
        Err(e) if e.kind() == ErrorKind::NotFound => path.to_owned(),
        Err(e) => return Err(e),
    };
    let temporary = temporary_beside(&target)?;
    sweep(folder_of(&target), temporary.as_file().metadata()?.modified()?).ok();
    Ok(Target::File(target))
}

/// No write goes on for so long without a byte.
const STALE: Duration = Duration::from_secs(3600);

/// Removes what writes into this folder left that were killed on the way, so that it does not pile up. `now` is the file
/// system's time.
fn sweep(folder: &Path, now: SystemTime) -> io::Result<()> {
    let temporary = |name: &str| {
        let random = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
        random.is_some_and(|r| r.len() == RANDOM && r.bytes().all(|b| b.is_ascii_alphanumeric()))
    };
    let stale = |path: &Path| {
        let about = fs::symlink_metadata(path)?;
        let age = now.duration_since(about.modified()?);
        io::Result::Ok(about.is_file() && age.is_ok_and(|age| age > STALE))
    };
    for entry in fs::read_dir(folder)?.flatten() {
        if temporary(&entry.file_name().to_string_lossy()) && stale(&entry.path()).unwrap_or(false) {
            fs::remove_file(entry.path()).ok();
        }
    }
    Ok(())
}

/// How long a pipe's reader may take to come.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_secs(5);

/// A device or pipe, open for writing. Opening a pipe that nobody reads would wait for ever.
fn open_special(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let start = Instant::now();
        let ask = || OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path);
        // With a reader there, it opens; then the other way does not wait either.
        let mut asked = ask();
        while asked.as_ref().is_err_and(|e| e.raw_os_error() == Some(libc::ENXIO)) {
            if start.elapsed() > PATIENCE {
                return Err(io::Error::other("nobody has begun to read this pipe within 5 s"));
            }
            std::thread::sleep(Duration::from_millis(20));
            asked = ask();
        }
        asked.and_then(|_reader_is_there| File::create(path))
    }
    #[cfg(not(unix))]
    File::create(path)
}

/// Puts `bytes` at `path` so that a reader, and a crash, finds the old file or the new one and nothing else.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = temporary_beside(path)?;
    file.as_file_mut().write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    // The rename itself lasts once the folder is on disk; file systems that cannot do that have their own ways.
    #[cfg(unix)]
    File::open(folder_of(path)).and_then(|folder| folder.sync_all()).ok();
    Ok(())
}

/// A new file in the folder of `path`, open for writing; gone when dropped.
fn temporary_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).rand_bytes(RANDOM).suffix(SUFFIX);
    // Opened here and not by the crate, for permissions as of any other new file and errors in the system's words.
    builder.make_in(folder_of(path), |name| OpenOptions::new().write(true).create_new(true).open(name))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
