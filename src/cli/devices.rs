//! `rayq devices`: what there is to run on, and why the rest cannot be used.

use crate::device::select::{self, Listed};
use crate::error::{Error, Result};
use std::fmt::Write as _;

/// What `rayq devices` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the list.
pub fn run(args: &Args) -> Result<()> {
    let listed = select::list();
    let text = if args.json {
        let json = serde_json::to_string_pretty(&listed);
        json.map_err(|e| Error::output("stdout", e))? + "\n"
    } else {
        listed.iter().map(describe).collect()
    };
    super::print(&text)
}

fn describe(listed: &Listed) -> String {
    let mut text = format!("{}\n", listed.title());
    let mut line = |name: &str, value: String| {
        writeln!(text, "  {name:<14}{value}").expect("to a string");
    };
    if let Some(info) = &listed.info {
        line("architecture", info.arch.clone());
        line("wave size", info.wave_size.to_string());
        line("compute units", info.compute_units.to_string());
        line("memory", format!("{:.1} GiB", info.memory as f64 / f64::from(1 << 30)));
        if info.clock_mhz > 0 {
            line("highest clock", format!("{} MHz", info.clock_mhz));
        }
        if !info.driver.is_empty() {
            line("driver", info.driver.clone());
        }
        if !info.compiler.is_empty() {
            line("compiler", info.compiler.clone());
        }
    }
    if let Some(problem) = &listed.problem {
        line("not usable", problem.clone());
    }
    text
}
