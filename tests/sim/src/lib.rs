//! A SIMT simulator: rayq's kernels in waves of any size, on the CPU.
//!
//! The kernels' own source is compiled once more, for a platform whose every operation calls into this crate
//! (`kernels/platform/sim.h`). [`SimDevice`] is a rayq device like any other, so whole engines run on it. What
//! it adds: each lane is a coroutine, and [`Options`] choose who moves next, what a load may see, which wave
//! stalls for ever; the same options give the same run. A lane that misses a wave operation, a data race, a
//! deadlock and lack of progress are errors of the launch.

mod callbacks;
mod device;
mod launch;
mod memory;
mod options;
pub mod platform;
mod rng;
mod schedule;
mod weak;

#[cfg(test)]
mod tests;

pub use device::{Runner, SimDevice};
pub use memory::MemoryModel;
pub use options::{Model, Options, Report, Schedule, Stall};
pub use rng::Rng;
