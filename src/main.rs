//! The rayq command: reads the arguments, sets the exit code.

use clap::Parser;
use rayq::cli::{Cli, complain};
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}
