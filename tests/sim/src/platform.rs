//! The table of functions that simulated kernels call; `kernels/platform/sim.h` is its other side.

/// A kernel compiled for the simulator; takes its parameter structure by address.
pub type SimEntry = unsafe extern "C-unwind" fn(params: *const u8);

include!(concat!(env!("OUT_DIR"), "/sim_kernels.rs"));

/// The entry point `kernel` of `unit`: its place in the table of compiled kernels.
pub fn find(unit: &str, kernel: &str) -> Option<usize> {
    SIM_KERNELS.iter().position(|(u, k, _)| *u == unit && *k == kernel)
}

/// Unit, kernel and function at a place of the table.
pub fn entry(index: usize) -> (&'static str, &'static str, SimEntry) {
    SIM_KERNELS[index]
}

/// Where a lane is. The fields are those of `SimPlace` in sim.h.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Lane within its block.
    pub thread: u32,
    /// Block within the launch.
    pub block: u32,
    /// Lanes of a block.
    pub block_threads: u32,
    /// Blocks of the launch.
    pub blocks: u32,
    /// Lanes of a wave.
    pub wave_size: u32,
    /// Lane within its wave.
    pub wave_lane: u32,
    /// The block's shared memory.
    pub shared: *mut u8,
}

/// Order of an atomic or fence. The values are those of `Order` in platform.h.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Order {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl Order {
    /// Whether what the operation reads is acquired.
    pub fn acquires(self) -> bool {
        !matches!(self, Order::Relaxed | Order::Release)
    }

    /// Whether what was done before is released.
    pub fn releases(self) -> bool {
        !matches!(self, Order::Relaxed | Order::Acquire)
    }
}

/// A read-modify-write other than compare-and-swap. The values are those of `SimRmw`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Rmw {
    Add,
    Or,
    And,
    Exchange,
    Max,
}

impl Rmw {
    /// The new value of a word of `bytes` bytes that holds `old`.
    pub fn apply(self, old: u64, v: u64, bytes: u32) -> u64 {
        let new = match self {
            Rmw::Add => old.wrapping_add(v),
            Rmw::Or => old | v,
            Rmw::And => old & v,
            Rmw::Exchange => v,
            Rmw::Max => old.max(v),
        };
        if bytes == 4 { new & 0xffff_ffff } else { new }
    }
}

/// A call that needs the whole wave. The values are those of `SimWaveOp`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum WaveOp {
    Ballot,
    Broadcast,
    Exchange,
    Sync,
}

/// The frame of a thunk: word 0 is the caller's frame, word 1 the return address into the caller.
pub type Frame = *const usize;

/// What a kernel can ask. The fields are those of `SimTable` in thunks.cpp.
#[repr(C)]
#[allow(missing_docs)]
pub struct Table {
    pub enter: extern "C-unwind" fn(Frame),
    pub place: extern "C-unwind" fn() -> *const Place,
    pub load: extern "C-unwind" fn(*const u8, u32, Order, Frame) -> u64,
    pub store: extern "C-unwind" fn(*mut u8, u32, u64, Order, Frame),
    pub rmw: extern "C-unwind" fn(Rmw, *mut u8, u32, u64, Order, Frame) -> u64,
    pub cas: extern "C-unwind" fn(*mut u8, u32, u64, u64, Order, Frame) -> u64,
    pub plain_load: extern "C-unwind" fn(*const u8, u32, Frame) -> u64,
    pub plain_store: extern "C-unwind" fn(*mut u8, u32, u64, Frame),
    pub fence: extern "C-unwind" fn(Order, Frame),
    pub wave: extern "C-unwind" fn(WaveOp, u64, u32, *const std::ffi::c_char, u32, Frame) -> u64,
    pub barrier: extern "C-unwind" fn(*const std::ffi::c_char, u32, Frame),
    pub spin: extern "C-unwind" fn(Frame),
    pub ticks: extern "C-unwind" fn(Frame) -> u64,
}

unsafe extern "C-unwind" {
    /// Makes the calling thread's kernels use this table.
    pub fn rq_sim_use(table: *const Table);
}

/// Where a call was made, for messages: the file's name and line.
///
/// # Safety
/// `file` is a C string that lives as long as the program.
pub unsafe fn caller(file: *const std::ffi::c_char, line: u32) -> String {
    // SAFETY: a literal of the kernel's source.
    let file = unsafe { std::ffi::CStr::from_ptr(file) }.to_string_lossy();
    format!("{}:{line}", file.rsplit('/').next().unwrap_or_default())
}
