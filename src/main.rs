//! The rayq command: a stand-in to test devices with.

mod cli;

use clap::Parser;

#[derive(Parser)]
enum Command {
    Devices(cli::devices::Args),
    Kernels(cli::kernels::Args),
}

fn main() -> std::process::ExitCode {
    let result = match Command::parse() {
        Command::Devices(args) => cli::devices::run(&args),
        Command::Kernels(args) => cli::kernels::run(&args),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rayq: {error}");
            error.exit_code().into()
        }
    }
}
