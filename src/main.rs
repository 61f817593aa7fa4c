//! The rayq command.

fn main() {}
