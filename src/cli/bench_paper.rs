//! `rayq bench paper`: the paper's study on one's own device, in one folder.

use super::signals::Signals;
use crate::bench::paper::{Plan, Study};
use crate::error::{Error, Result};
use crate::profile::Wish;
use std::path::PathBuf;

/// Arguments of `rayq bench paper`.
///
/// Measures what the paper measures, in its order, and reports it beside what was published: report.html, which needs
/// no other file, and report.md, with figures and data in folders of their own. A run that was ended goes on where it
/// was; parts that this very program measured on this device in the same way are not measured again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Coarser and shorter: minutes
    #[arg(long)]
    quick: bool,
    /// The folder of the report, which is made if it is missing
    #[arg(short, long, value_name = "FOLDER", default_value = "output/paper")]
    output: PathBuf,
    /// Where to run: auto, cpu, cuda, cuda:N, hip or hip:N
    #[arg(long, default_value = "auto")]
    device: String,
    /// The vendor's profiler, as for `rayq profile`
    #[arg(long, value_name = "PROGRAM")]
    profiler: Option<PathBuf>,
    /// Take the device's clock even where there is a profiler
    #[arg(long, conflicts_with = "profiler")]
    no_profiler: bool,
    /// No progress
    #[arg(long)]
    quiet: bool,
}

/// Measures and reports.
pub fn run(args: &Args) -> Result<()> {
    let signals = Signals::install()?;
    let device = super::open_device(&args.device, None, args.quiet)?;
    let wish = match (&args.profiler, args.no_profiler) {
        (Some(path), _) => Wish::Named(path.clone()),
        (None, true) => Wish::Clock,
        (None, false) => Wish::Auto,
    };
    super::outputs::make_folder("--output", &args.output)?;
    let study = Study::new(&device, &args.output, Plan::of(&*device, args.quick), wish)?;
    let tell = |text: &str| {
        if !args.quiet {
            super::complain(&text);
        }
    };
    let stop = || signals.received().map_or(Ok(()), |signal| Err(Error::Interrupted(signal)));
    study.run(&tell, &stop)?;
    super::print(&format!("{}\n", args.output.join("report.html").display()))
}
