//! One file a command.

pub mod devices;
pub mod kernels;
