//! `rayq bench limits`: what a device can do at most.

use super::progress::Status;
use super::report::Origin;
use super::usual::Usual;
use crate::bench::limits::{Limits, measure};
use crate::device::{Device, DeviceInfo};
use crate::error::Result;
use serde::Serialize;
use std::fmt::Write;
use std::sync::Arc;

/// Arguments of `rayq bench limits`.
///
/// Each figure is the median of five launches after one that does not count; what a launch leaves is checked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Threads of the CPU device
    #[arg(long)]
    workers: Option<usize>,
    #[command(flatten)]
    usual: Usual,
}

/// The JSON form.
#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    #[serde(flatten)]
    origin: Origin,
    device: &'a DeviceInfo,
    /// Rates a second.
    limits: Limits,
}

/// Measures and reports.
pub fn run(args: &Args) -> Result<()> {
    let json = args.usual.json()?;
    let device = args.usual.open(args.workers)?;
    let limits = told(&device, args.usual.quiet)?;
    let Some(json) = json else { return Ok(()) };
    let report = Report { schema_version: 1, origin: Origin::here(), device: device.info(), limits };
    json.write(super::outputs::json(&report).as_bytes())
}

/// Measures the ceilings and prints them.
pub(super) fn told(device: &Arc<dyn Device>, quiet: bool) -> Result<Limits> {
    let status = Status::new(quiet);
    status.show("the device's limits");
    let limits = measure(device)?;
    drop(status);
    let info = device.info();
    let mut text = format!("Limits of {} ({}), medians of five\n", info.id, info.name);
    for (name, figure, unit) in limits.lines() {
        let range = format!("{:.2} .. {:.2}", figure.min, figure.max);
        let _ = writeln!(text, "{name:28} {:>10.2} {range:>21}  {unit}", figure.median);
    }
    super::print(&text)?;
    Ok(limits)
}
