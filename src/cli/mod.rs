//! The command line: one file a command, and what the commands share.

pub mod bench;
pub mod bench_bfs;
pub mod bench_limits;
pub mod bench_paper;
pub mod bench_queue;
pub mod bench_render;
mod bench_table;
pub mod bfs;
pub mod devices;
pub mod info;
pub mod kernels;
pub mod litmus;
mod outputs;
mod picture;
pub mod preview;
pub mod profile;
mod progress;
pub mod render;
mod report;
pub mod serve;
mod signals;
mod usual;
pub mod verify;
mod watchdog;
mod work;

use crate::error::{Error, OneLine, Result};
use crate::memory;
use clap::{Parser, Subcommand};
use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _, stderr, stdout};

/// A ray tracer that lives by its concurrent queues, on AMD, NVIDIA and the CPU.
///
/// Exit codes: 0 done, 2 bad input, 3 device or memory, 4 output, 129, 130 or 143 interrupted (what was finished is saved).
#[derive(Debug, Parser)]
#[command(version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("RAYQ_COMMIT"), ")"))]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Render a scene file to a picture
    Render(render::Args),
    /// Show a scene live in a window, and steer it there
    Preview(preview::Args),
    /// Show a scene live in a browser, and steer it there: for machines without a display
    Serve(serve::Args),
    /// Say what a scene or a model holds: triangles, area, bounds, materials, textures, lights, warnings
    Info(info::Args),
    /// Measure engines and queues
    #[command(subcommand)]
    Bench(bench::Command),
    /// Search a graph breadth first, by the queues or a baseline
    Bfs(Box<bfs::Args>),
    /// Judge queues by histories: nothing lost, first in first out, linearizable
    Verify(Box<verify::Args>),
    /// Run races that show what the memory orders under the queues are worth on a device
    Litmus(litmus::Args),
    /// Costs for each successful operation, counted by the vendor's profiler
    #[command(subcommand)]
    Profile(profile::Command),
    #[command(hide = true)]
    ProfileWorkload(profile::WorkloadArgs),
    /// List the devices that kernels can run on, and why others cannot
    Devices(devices::Args),
    /// Export the kernels' source, or compile it for an architecture without a device
    Kernels(kernels::Args),
}

impl Cli {
    /// Does what was asked.
    pub fn run(self) -> Result<()> {
        start_threads()?;
        match self.command {
            Command::Render(args) => render::run(args),
            Command::Preview(args) => preview::run(args),
            Command::Serve(args) => serve::run(args),
            Command::Info(args) => info::run(&args),
            Command::Bench(command) => bench::run(command),
            Command::Bfs(args) => bfs::run(&args),
            Command::Verify(args) => verify::run(&args),
            Command::Litmus(args) => litmus::run(&args),
            Command::Profile(command) => profile::run(&command),
            Command::ProfileWorkload(args) => profile::run_workload(&args),
            Command::Devices(args) => devices::run(&args),
            Command::Kernels(args) => kernels::run(&args),
        }
    }
}

/// Starts the threads of what the host does in parallel. They would start by themselves when they are first needed, and
/// panic where the process may not have so many.
fn start_threads() -> Result<()> {
    memory::share_heap();
    rayon::ThreadPoolBuilder::new().build_global().map_err(|e| {
        Error::Device(format!(
            "cannot start a thread for each processor: {e}; allow this process more (ulimit -u, ulimit -v), or set \
             RAYON_NUM_THREADS to fewer"
        ))
    })
}

/// Writes to standard output. A reader that left early (`| head`) has what it wanted: no error.
fn print(text: &str) -> Result<()> {
    match stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::output("standard output", e)),
        _ => Ok(()),
    }
}

/// Opens a device; says what `auto` took unless it is to be quiet.
fn open_device(
    spec: &str,
    workers: Option<usize>,
    quiet: bool,
) -> Result<std::sync::Arc<dyn crate::device::Device>> {
    crate::device::select::open_telling(spec, workers, |note| {
        if !quiet {
            complain(&note);
        }
    })
}

/// A line for people on standard error, `rayq: ...`. If nobody listens, that is no reason to stop.
pub fn complain(text: &impl std::fmt::Display) {
    let mut line = String::from("rayq: ");
    write!(OneLine(&mut line), "{text}").expect("to a string");
    writeln!(stderr(), "{line}").ok();
}
