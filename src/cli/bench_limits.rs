//! `rayq bench limits`: what a device can do at most.

use super::progress::Status;
use super::report::Origin;
use super::usual::{TimeLimit, Usual};
use super::watchdog::Guard;
use crate::bench::limits::{Limits, measure};
use crate::device::{Device, DeviceInfo};
use crate::error::Result;
use serde::Serialize;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `rayq bench limits`.
///
/// Each figure is the median of five launches after one that does not count; what a launch leaves is checked.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Threads of the CPU device
    #[arg(long)]
    workers: Option<usize>,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    usual: Usual,
}

/// Some of the figures are no report: nothing is kept.
const WAY_OUT: &str = "give a longer --timeout";

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
    let start = Instant::now();
    let json = args.usual.json()?;
    let guard = Guard::new(start, args.limit.timeout, WAY_OUT, |()| Ok(()))?;
    let device = args.usual.open(args.workers)?;
    let limits = told(&device, args.usual.quiet, &guard)?;
    drop(guard);
    let Some(json) = json else { return Ok(()) };
    let report = Report { schema_version: 1, origin: Origin::here(), device: device.info(), limits };
    json.write(super::outputs::json(&report).as_bytes())
}

/// Measures the ceilings, if `guard` lets it, and prints them.
pub(super) fn told<T: Send + 'static>(
    device: &Arc<dyn Device>,
    quiet: bool,
    guard: &Guard<T>,
) -> Result<Limits> {
    let status = Status::new(quiet);
    let limits = measure(device, |what| {
        let what = format!("the device's limits, {what}");
        status.show(&what);
        guard.at(what);
        guard.go_on()
    })?;
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
