//! `rayq litmus`: what the memory orders under the queues are worth on a device.

use super::progress::Status;
use super::report::Origin;
use super::usual::{TimeLimit, Usual};
use super::watchdog::{BENCH_WAY_OUT, Guard};
use crate::bench::litmus::{Counts, Plan, Test, run as race};
use crate::device::{self, Device, DeviceInfo};
use crate::error::{Error, Result};
use crate::film::Output;
use clap::value_parser;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `rayq litmus`.
///
/// Each test runs in the form in which queues rely on it, where its forbidden outcome must not be seen, and in a weakened
/// form without the orders in question, which may show it: a device on which it does not is not shown to need them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Tests
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Test::ALL)]
    test: Vec<Test>,
    /// Instances of each form of each test, at least; rounded up to whole launches of 16384 on the CPU and 524288 on GPUs,
    /// or of --lanes if these are more. By default 131072 and 8388608
    #[arg(long, value_parser = value_parser!(u64).range(1..=1 << 32))]
    instances: Option<u64>,
    /// Lanes, a power of two; by default 32768, or on the CPU a few a processor
    #[arg(long, value_parser = value_parser!(u32).range(2..=1 << 20))]
    lanes: Option<u32>,
    /// Lanes of a block, a power of two
    #[arg(long, default_value_t = 256, value_parser = value_parser!(u32).range(1..=256))]
    block: u32,
    /// Chooses the placements
    #[arg(long, default_value_t = 1)]
    seed: u32,
    #[command(flatten)]
    limit: TimeLimit,
    #[command(flatten)]
    usual: Usual,
}

/// The JSON form.
#[derive(Clone, Serialize)]
struct Report {
    schema_version: u32,
    #[serde(flatten)]
    origin: Origin,
    device: DeviceInfo,
    plan: Plan,
    tests: Vec<Row>,
}

/// A line of the table.
#[derive(Clone, Serialize)]
struct Row {
    test: Test,
    relied_on_by: &'static str,
    strong: Counts,
    weakened: Counts,
}

/// Instances of a launch on a wide device and on the CPU: some tens of megabytes, some milliseconds. The help of
/// --instances names them.
const INSTANCES_WIDE: u32 = 1 << 19;
const INSTANCES_NARROW: u32 = 1 << 14;
/// Looks of waves for each other before a round: about as long as the round.
const PATIENCE_WIDE: u32 = 256;
const PATIENCE_NARROW: u32 = 16;

/// Runs the tests and reports.
pub fn run(args: &Args) -> Result<()> {
    let start = Instant::now();
    let json = Arc::new(args.usual.json()?);
    let kept = Arc::clone(&json);
    let guard =
        Guard::at_once(start, args.limit.timeout, BENCH_WAY_OUT, move |report: Report| report.write(&kept))?;
    let (device, plan) = args.plan()?;
    let info = device.info().clone();
    let launch = u64::from(plan.lanes) * u64::from(plan.rounds);
    let each = launch * u64::from(plan.launches);
    let few = args.instances.filter(|&n| n < launch);
    let few = few.map_or(String::new(), |n| format!("; --instances {n}: a launch has {launch}"));
    super::print(&format!("{}: {}; {each} instances of each form{few}\n{}", info.id, info.name, head()))?;
    let mut report = Report { schema_version: 1, origin: Origin::here(), device: info, plan, tests: vec![] };
    let end = args.test.iter().try_for_each(|&test| {
        let status = Status::new(args.usual.quiet);
        status.show(test.name());
        guard.at(test.name().into());
        let strong = race(&device, test, false, plan)?;
        let weakened = race(&device, test, true, plan)?;
        drop(status);
        let row = Row { test, relied_on_by: test.relied_on_by(), strong, weakened };
        super::print(&line(&row))?;
        report.tests.push(row);
        guard.keep(report.clone());
        Ok(())
    });
    drop(guard);
    report.write(&json)?;
    end?;
    report.verdict()
}

impl Report {
    fn write(&self, json: &Option<Output>) -> Result<()> {
        let text = || super::outputs::json(self);
        json.as_ref().map_or(Ok(()), |json| json.write(text().as_bytes()))
    }

    fn verdict(&self) -> Result<()> {
        let broken: Vec<_> =
            self.tests.iter().filter(|t| t.strong.forbidden > 0).map(|t| t.test.name()).collect();
        if broken.is_empty() {
            return Ok(());
        }
        Err(Error::Device(format!(
            "{}: orders that queues rely on do not hold: {}",
            self.device.id,
            broken.join(", ")
        )))
    }
}

impl Args {
    /// The device, and sizes for it. On the CPU a lane is a thread, and a block is a lane.
    fn plan(&self) -> Result<(Arc<dyn Device>, Plan)> {
        let device = self.usual.open(None)?;
        let wide = device.is_wide();
        let usual = if wide { 1 << 15 } else { (2 * device.info().compute_units).next_power_of_two().max(2) };
        let lanes = self.lanes.unwrap_or(usual);
        let device = match wide {
            true => device,
            false if lanes <= 1024 => device::select::open(&device.info().id, Some(lanes as usize))?,
            false => {
                return Err(Error::Input(format!(
                    "--lanes {lanes}: on the CPU a lane is a thread, and 1024 are the most; choose fewer"
                )));
            }
        };
        let (launch, patience) =
            if wide { (INSTANCES_WIDE, PATIENCE_WIDE) } else { (INSTANCES_NARROW, PATIENCE_NARROW) };
        let rounds = (launch / lanes).max(1);
        let all = self.instances.unwrap_or(if wide { 1 << 23 } else { 1 << 17 });
        let launches = all.div_ceil(u64::from(lanes) * u64::from(rounds)) as u32;
        let block = if wide { self.block } else { 1 };
        Ok((device, Plan { lanes, block, rounds, launches, patience, seed: self.seed }))
    }
}

fn head() -> String {
    format!(
        "{:15} {:>12} {:>12} {:>10}   {:>12} {:>10}\n",
        "", "not seen", "in order", "forbidden", "weakened:", "forbidden"
    )
}

fn line(row: &Row) -> String {
    let Row { strong, weakened, .. } = row;
    let control = if weakened.forbidden > 0 { "fails" } else { "not shown to fail here" };
    format!(
        "{:15} {:>12} {:>12} {:>10}   {:>12} {:>10} {control}; {}\n",
        row.test.name(),
        strong.unseen,
        strong.ordered,
        strong.forbidden,
        "",
        weakened.forbidden,
        row.relied_on_by
    )
}
