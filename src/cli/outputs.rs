//! Where the report of a bench goes: files that are written whole or not at all, and a folder of plots.

use crate::error::{Error, Result};
use crate::film::Output;
use serde::Serialize;
use std::path::{Component, Path, PathBuf};

/// Files that a bench was asked for.
pub struct Outputs {
    json: Option<Output>,
    csv: Option<Output>,
    plots: Option<PathBuf>,
}

impl Outputs {
    /// Makes sure, before anything is measured, that each can be written, and replaces none of the files in `reads`.
    ///
    /// # Errors
    /// The one that cannot.
    pub fn prepare<'a>(
        json: Option<&'a Path>,
        csv: Option<&'a Path>,
        plots: Option<&Path>,
        reads: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Outputs> {
        let files = [("--json", json), ("--csv", csv)];
        spare(files, reads)?;
        if let Some(folder) = plots {
            spare_plots(folder, files)?;
            make_folder("--plots", folder)?;
        }
        let prepare = |path: Option<&Path>| path.map(Output::prepare).transpose();
        Ok(Outputs { json: prepare(json)?, csv: prepare(csv)?, plots: plots.map(Path::to_owned) })
    }

    /// Ends a bench of so many rows, which ended as `end` says: as [`Self::write`], unless it failed before its first
    /// row, for figures of an earlier run are better than none.
    ///
    /// # Errors
    /// That of `end`, or the first that cannot be written.
    pub fn finish(
        &self,
        end: Result<()>,
        rows: usize,
        report: &impl Serialize,
        csv: impl FnOnce() -> String,
        draw: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        if end.is_err() && rows == 0 {
            return end;
        }
        let written = self.write(report, csv, draw);
        end.and(written)
    }

    /// Writes what was asked for: the report as JSON, the text of `csv`, and what `draw` draws into the folder.
    ///
    /// # Errors
    /// The first that cannot be written.
    pub fn write(
        &self,
        report: &impl Serialize,
        csv: impl FnOnce() -> String,
        draw: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        if let Some(file) = &self.json {
            file.write(json(report).as_bytes())?;
        }
        if let Some(file) = &self.csv {
            file.write(csv().as_bytes())?;
        }
        self.plots.as_deref().map_or(Ok(()), draw)
    }
}

/// Makes sure that no file that is written, by which option, is one that is read or is written besides. None of them
/// need be there yet; devices and pipes may be named twice.
///
/// # Errors
/// [`Error::Input`] with the path and the option.
pub fn spare<'a>(
    writes: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
    reads: impl IntoIterator<Item = &'a Path>,
) -> Result<()> {
    let mut taken: Vec<(PathBuf, String)> =
        reads.into_iter().map(|path| (place(path), "what is read".into())).collect();
    for (option, path) in writes {
        let Some(path) = path.filter(|p| !p.metadata().is_ok_and(|found| !found.is_file())) else { continue };
        let place = place(path);
        if let Some((_, what)) = taken.iter().find(|(other, _)| *other == place) {
            let path = path.display();
            let why = format!("{path}: {option} would replace {what}; give it a file of its own");
            return Err(Error::Input(why));
        }
        taken.push((place, format!("what {option} writes")));
    }
    Ok(())
}

/// Refuses outputs that plots in `folder` might replace.
fn spare_plots<'a>(
    folder: &Path,
    writes: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
) -> Result<()> {
    for (option, path) in writes {
        let picture = path.filter(|p| p.extension().is_some_and(|e| e == "svg" || e == "png"));
        if let Some(path) = picture.filter(|p| place(p).parent() == Some(&place(folder))) {
            let path = path.display();
            let why = format!("{path}: --plots would replace what {option} writes; give it another name");
            return Err(Error::Input(why));
        }
    }
    Ok(())
}

/// Makes the folder that an option names, unless it is there.
///
/// # Errors
/// [`Error::Output`] with the path and the reason.
pub fn make_folder(option: &str, folder: &Path) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        let why = format!("is not a folder; {option} takes one, and makes it if it is missing");
        return Err(Error::output(folder, why));
    }
    std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, e))
}

/// One name for each file, whether it is there or not.
fn place(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut place = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::ParentDir => drop(place.pop()),
            part => place.push(part),
        }
        // Links are followed as far as there is something; the rest is still to be made.
        if let Ok(found) = place.canonicalize() {
            place = found;
        }
    }
    place
}

/// A report as JSON for people's eyes, too; ends in a newline.
pub fn json(report: &impl Serialize) -> String {
    serde_json::to_string_pretty(report).expect("plain data") + "\n"
}
