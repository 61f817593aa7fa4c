//! Options that commands which measure share, in the same words.

use super::outputs::Outputs;
use crate::device::Device;
use crate::error::Result;
use crate::film::Output;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where to run, and where the figures go.
#[derive(Debug, clap::Args)]
pub struct Usual {
    /// Where to run: auto, cpu, cuda, cuda:N, hip or hip:N
    #[arg(long, default_value = "auto")]
    device: String,
    /// Write everything as JSON, too
    #[arg(long, value_name = "FILE.json")]
    json: Option<PathBuf>,
    /// No progress
    #[arg(long)]
    pub quiet: bool,
}

impl Usual {
    /// Opens the device; `workers` are the threads of the CPU.
    pub fn open(&self, workers: Option<usize>) -> Result<Arc<dyn Device>> {
        super::open_device(&self.device, workers, self.quiet)
    }

    /// Where the JSON shall go.
    pub fn json_path(&self) -> Option<&Path> {
        self.json.as_deref()
    }

    /// All that a command was asked for, which shall replace none of the files in `reads`.
    pub fn outputs<'a>(
        &'a self,
        csv: Option<&'a Path>,
        plots: Option<&Path>,
        reads: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Outputs> {
        Outputs::prepare(self.json.as_deref(), csv, plots, reads)
    }

    /// The JSON file, once it is certain that it can be written.
    pub fn json(&self) -> Result<Option<Output>> {
        self.json.as_deref().map(Output::prepare).transpose()
    }
}

/// How long at most.
#[derive(Debug, clap::Args)]
pub struct TimeLimit {
    /// End after this time with what is finished, exit code 3. A launch on the device cannot be broken off: it has 5 s
    /// more to come back, then it is left to the driver
    #[arg(long, value_name = "SECONDS", value_parser = super::render::parse_seconds)]
    pub timeout: Option<Duration>,
}

/// Where a bench's rows go besides.
#[derive(Debug, clap::Args)]
pub struct Tables {
    /// Write a line a row as CSV, too
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Write plots here, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

impl Tables {
    /// All that a bench was asked for, which shall replace none of the files in `reads`.
    pub fn outputs<'a>(
        &'a self,
        usual: &'a Usual,
        reads: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Outputs> {
        usual.outputs(self.csv.as_deref(), self.plots.as_deref(), reads)
    }
}
