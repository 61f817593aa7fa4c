//! Devices: memory, kernels, launches and times, the same way on the CPU, on NVIDIA and on AMD.
//!
//! A [`Device`] runs everything in order: copies and launches take effect one after the other, launches may
//! return before they are done, downloads and [`Device::synchronize`] wait.

mod buffer;
pub mod cache;
pub mod cpu;
pub mod cuda;
pub mod gpu;
pub mod hip;
pub mod hip_table;
pub mod hiprtc;
pub mod host;
mod loader;
pub mod nvrtc;
pub mod rtc;
pub mod select;

pub use buffer::Buffer;

use crate::error::Result;
use crate::programs::Unit;
use std::sync::Arc;
use std::time::Duration;

/// What a device is.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DeviceInfo {
    /// How to ask for it: `cpu`, `cuda:0`, `hip:1`.
    pub id: String,
    /// Product name.
    pub name: String,
    /// Instruction set: `x86-64-v3`, `sm_90`, `gfx942`.
    pub arch: String,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Multiprocessors or compute units; worker threads on the CPU.
    pub compute_units: u32,
    /// Bytes of memory.
    pub memory: u64,
    /// Highest clock of the compute units in MHz; 0 where it cannot be read.
    pub clock_mhz: u32,
    /// Driver version, empty on the CPU.
    pub driver: String,
    /// Compiler of the kernels and its version.
    pub compiler: String,
    /// Rate of the kernels' `device_ticks`.
    pub ticks_per_second: u64,
}

/// The size of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Blocks.
    pub blocks: u32,
    /// Lanes of a block: a multiple of the wave size.
    pub threads: u32,
    /// Bytes of on-chip memory a block.
    pub shared: u32,
}

/// An entry point, ready to launch. Made by [`Device::kernel`] and only for that device.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name in the source.
    pub name: &'static str,
    /// What the device needs to find it.
    pub(crate) handle: KernelHandle,
}

/// A device's own idea of an entry point.
#[derive(Clone, Copy, Debug)]
pub enum KernelHandle {
    /// A compiled C++ function.
    Cpu(cpu::CpuEntry),
    /// A driver's function handle (CUfunction, hipFunction_t) or an index, as the device likes.
    Raw(u64),
}

impl Kernel {
    /// An entry point of a device outside this crate, which knows it as `raw`.
    pub fn from_raw(name: &'static str, raw: u64) -> Self {
        Kernel { name, handle: KernelHandle::Raw(raw) }
    }

    /// What `from_raw` was given; none for a CPU kernel.
    pub fn raw(&self) -> Option<u64> {
        match self.handle {
            KernelHandle::Raw(raw) => Some(raw),
            KernelHandle::Cpu(_) => None,
        }
    }
}

/// A point in a device's order of work; see [`Device::mark`].
#[derive(Debug)]
pub struct Mark(pub(crate) MarkHandle);

impl Mark {
    /// A point of a device outside this crate, which knows it as `raw`.
    pub fn from_raw(raw: u64) -> Self {
        Mark(MarkHandle::Raw(raw))
    }

    /// What `from_raw` was given; none for a mark of this crate's devices.
    pub fn raw(&self) -> Option<u64> {
        match self.0 {
            MarkHandle::Raw(raw) => Some(raw),
            MarkHandle::Host(_) | MarkHandle::Event(_) => None,
        }
    }
}

#[derive(Debug)]
pub(crate) enum MarkHandle {
    /// Host clock: devices that work synchronously.
    Host(std::time::Instant),
    /// A driver's event, which serves the next mark when this one is dropped.
    Event(gpu::Event),
    /// A mark of a device outside this crate.
    Raw(u64),
}

/// A device. Addresses are the device's own: the host passes them on and never follows them.
pub trait Device: Send + Sync {
    /// What it is.
    fn info(&self) -> &DeviceInfo;

    /// Takes `bytes` of device memory, contents undefined, aligned to 256. `what` names it in the error.
    fn allocate(&self, bytes: u64, what: &str) -> Result<u64>;

    /// Gives memory back.
    ///
    /// # Safety
    /// `address` came from `allocate` of this device, is given back once, and no launch still uses it.
    unsafe fn free(&self, address: u64);

    /// Copies host bytes to `address`.
    ///
    /// # Safety
    /// `address .. address + bytes.len()` lies within one allocation of this device.
    unsafe fn upload(&self, address: u64, bytes: &[u8]) -> Result<()>;

    /// Waits for the work so far, then copies from `address`.
    ///
    /// # Safety
    /// As for `upload`.
    unsafe fn download(&self, address: u64, bytes: &mut [u8]) -> Result<()>;

    /// Sets bytes to zero.
    ///
    /// # Safety
    /// `address .. address + bytes` lies within one allocation of this device.
    unsafe fn zero(&self, address: u64, bytes: u64) -> Result<()>;

    /// The entry point `name` of a program variant, compiled or found in the cache.
    fn kernel(&self, unit: &Unit, name: &'static str) -> Result<Kernel>;

    /// Blocks of this size that are on the device at once: launches of so many never wait for a place.
    fn resident_blocks(&self, kernel: &Kernel, threads: u32, shared: u32) -> Result<u32>;

    /// Starts a kernel with `params`, the bytes of its parameter structure.
    ///
    /// # Safety
    /// `params` is what this kernel takes, and its addresses hold what the kernel expects.
    unsafe fn launch(&self, kernel: &Kernel, shape: Shape, params: &[u8]) -> Result<()>;

    /// Marks this point in the order of work.
    fn mark(&self) -> Result<Mark>;

    /// Time between two marks, by the device's own clock where it has one. Waits for the later one.
    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<Duration>;

    /// Waits for all work.
    fn synchronize(&self) -> Result<()>;

    /// Time spent compiling kernels or loading them from the cache so far.
    fn compile_time(&self) -> Duration;

    /// Whether many lanes run at once in waves that share memory accesses (a GPU, or its simulator): kernels
    /// are then launched with one lane an item, else with a few long runs of items a worker.
    fn is_wide(&self) -> bool {
        self.info().wave_size > 1
    }
}

/// Threads of a block where a kernel has no wish of its own.
pub const BLOCK_THREADS: u32 = 256;

/// A shape whose lanes cover `items` (see `my_items` in kernels/platform/common.h): one lane an item on wide
/// devices, several runs a worker on the CPU, so that the work spreads evenly.
pub fn cover(device: &dyn Device, items: u64) -> Shape {
    if device.is_wide() {
        let blocks = items.div_ceil(u64::from(BLOCK_THREADS)).clamp(1, 1 << 30);
        Shape { blocks: blocks as u32, threads: BLOCK_THREADS, shared: 0 }
    } else {
        let runs = u64::from(device.info().compute_units) * 16;
        Shape { blocks: runs.min(items.div_ceil(32)).max(1) as u32, threads: 1, shared: 0 }
    }
}

/// Launches with a typed parameter structure.
///
/// # Safety
/// As for [`Device::launch`].
pub unsafe fn launch<P: bytemuck::NoUninit>(
    device: &Arc<dyn Device>,
    kernel: &Kernel,
    shape: Shape,
    params: &P,
) -> Result<()> {
    // SAFETY: passed on to the caller.
    unsafe { device.launch(kernel, shape, bytemuck::bytes_of(params)) }
}
