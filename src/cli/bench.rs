//! `rayq bench ...`: measurements.

use crate::error::Result;

/// What to measure.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Engines against each other on the same scenes
    Render(Box<super::bench_render::Args>),
    /// Queues against each other: the two micro-benchmarks, balanced and split
    Queue(Box<super::bench_queue::Args>),
    /// What the device can do at most: memory, arithmetic, tickets and swaps
    Limits(super::bench_limits::Args),
    /// The paper's study on this device: a report with figures, beside what was published
    Paper(super::bench_paper::Args),
    /// Frontiers of a breadth-first search against each other: queues, and two baselines
    Bfs(Box<super::bench_bfs::Args>),
}

/// Measures and reports.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Render(args) => super::bench_render::run(&args),
        Command::Queue(args) => super::bench_queue::run(&args),
        Command::Limits(args) => super::bench_limits::run(&args),
        Command::Paper(args) => super::bench_paper::run(&args),
        Command::Bfs(args) => super::bench_bfs::run(&args),
    }
}
