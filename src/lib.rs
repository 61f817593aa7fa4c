//! rayq: a ray tracer that lives by its concurrent queues, one kernel source for AMD, NVIDIA and the CPU.
//!
//! The map of the house: [`scene`] reads and checks what to draw, [`model`] what files of triangles hold, [`accel`]
//! makes trees of boxes for rays to walk, [`device`] runs kernels somewhere,
//! [`engine`] traces the scene in one of three ways into the same [`film`], [`queue`] describes the queues that
//! the kernels use, [`programs`] lists the kernels and [`layout`] what host and kernels share. A [`session`] is a
//! picture that one can watch and steer while it grows; [`preview`] shows it in a window, [`serve`] in a browser.
//! [`graph`] and [`bfs`] are the queues' other work: breadth-first search.

pub mod accel;
pub mod bench;
pub mod bfs;
pub mod cli;
pub mod device;
pub mod engine;
pub mod error;
pub mod file;
pub mod film;
pub mod graph;
pub mod layout;
pub mod memory;
pub mod model;
pub mod preview;
pub mod profile;
pub mod programs;
pub mod queue;
pub mod scene;
pub mod serve;
pub mod session;

/// Every kernel source file: (path under kernels/, text), `layout.h` included.
pub static KERNEL_SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));
