//! Where the report of a bench goes: files that are written whole or not at all, and a folder of plots.

use crate::error::{Error, Result};
use crate::film::Output;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Files that a bench was asked for.
pub struct Outputs {
    json: Option<Output>,
    csv: Option<Output>,
    plots: Option<PathBuf>,
}

impl Outputs {
    /// Makes sure, before anything is measured, that each can be written.
    ///
    /// # Errors
    /// The one that cannot.
    pub fn prepare(json: Option<&Path>, csv: Option<&Path>, plots: Option<&Path>) -> Result<Outputs> {
        if let Some(folder) = plots {
            std::fs::create_dir_all(folder).map_err(|e| Error::output(folder, e))?;
        }
        let prepare = |path: Option<&Path>| path.map(Output::prepare).transpose();
        Ok(Outputs { json: prepare(json)?, csv: prepare(csv)?, plots: plots.map(Path::to_owned) })
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

/// A report as JSON for people's eyes, too; ends in a newline.
pub fn json(report: &impl Serialize) -> String {
    serde_json::to_string_pretty(report).expect("plain data") + "\n"
}
