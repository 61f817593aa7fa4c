//! What loads see: sequentially consistent memory here, weak memory in [`crate::weak`].

use crate::platform::{Order, Rmw};
use crate::rng::Rng;
use crate::weak::Weak;

/// The memory model of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryModel {
    /// Every access takes effect at once for all lanes.
    Sequential,
    /// C11-like: a load may see an old value unless acquire and release forbid it; plain accesses that are not
    /// ordered are reported as data races.
    Weak,
}

/// A launch's memory. Real memory always holds each word's latest value.
pub enum Memory {
    /// Real memory is all there is.
    Sequential,
    /// Every word that was touched has a history.
    Weak(Box<Weak>),
}

/// Reads a word of 4 or 8 bytes.
pub fn read(p: *const u8, bytes: u32) -> u64 {
    // SAFETY: kernels own their addresses as on any device; words are aligned to their size.
    unsafe { if bytes == 4 { u64::from(p.cast::<u32>().read()) } else { p.cast::<u64>().read() } }
}

/// Writes a word of 4 or 8 bytes.
pub fn write(p: *mut u8, bytes: u32, v: u64) {
    // SAFETY: as in `read`.
    unsafe { if bytes == 4 { p.cast::<u32>().write(v as u32) } else { p.cast::<u64>().write(v) } }
}

impl Memory {
    /// Memory for a launch of `lanes` lanes.
    pub fn new(model: MemoryModel, lanes: usize) -> Self {
        match model {
            MemoryModel::Sequential => Memory::Sequential,
            MemoryModel::Weak => Memory::Weak(Box::new(Weak::new(lanes))),
        }
    }

    /// Whether fences mean anything.
    pub fn is_weak(&self) -> bool {
        matches!(self, Memory::Weak(_))
    }

    /// An atomic load by `lane`.
    pub fn load(&mut self, rng: &mut Rng, lane: usize, p: *const u8, bytes: u32, order: Order) -> u64 {
        match self {
            Memory::Sequential => read(p, bytes),
            Memory::Weak(weak) => weak.load(rng, lane, p, bytes, order),
        }
    }

    /// An atomic store by `lane`.
    pub fn store(&mut self, lane: usize, p: *mut u8, bytes: u32, v: u64, order: Order) {
        if let Memory::Weak(weak) = self {
            weak.store(lane, p, bytes, v, order);
        }
        write(p, bytes, v);
    }

    /// A read-modify-write by `lane`; returns the old value.
    pub fn rmw(&mut self, lane: usize, op: Rmw, p: *mut u8, bytes: u32, v: u64, order: Order) -> u64 {
        let old = read(p, bytes);
        let new = op.apply(old, v, bytes);
        if let Memory::Weak(weak) = self {
            weak.update(lane, p, bytes, new, order);
        }
        write(p, bytes, new);
        old
    }

    /// A compare-and-swap by `lane`; returns the value found, which equals `expected` iff it took place.
    #[allow(clippy::too_many_arguments)]
    pub fn cas(
        &mut self,
        rng: &mut Rng,
        lane: usize,
        p: *mut u8,
        bytes: u32,
        expected: u64,
        desired: u64,
        order: Order,
    ) -> u64 {
        let old = read(p, bytes);
        if old == expected {
            if let Memory::Weak(weak) = self {
                weak.update(lane, p, bytes, desired, order);
            }
            write(p, bytes, desired);
            return old;
        }
        match self {
            Memory::Sequential => old,
            Memory::Weak(weak) => weak.failed_cas(rng, lane, p, bytes, expected, order),
        }
    }

    /// A plain load by `lane`.
    pub fn plain_load(&mut self, lane: usize, p: *const u8, bytes: u32) -> u64 {
        if let Memory::Weak(weak) = self {
            weak.plain_load(lane, p, bytes);
        }
        read(p, bytes)
    }

    /// A plain store by `lane`.
    pub fn plain_store(&mut self, lane: usize, p: *mut u8, bytes: u32, v: u64) {
        if let Memory::Weak(weak) = self {
            weak.plain_store(lane, p, bytes, v);
        }
        write(p, bytes, v);
    }

    /// A fence by `lane`.
    pub fn fence(&mut self, lane: usize, order: Order) {
        if let Memory::Weak(weak) = self {
            weak.fence(lane, order);
        }
    }

    /// Orders the memory of `lanes` among them: what one has done or seen, all have seen.
    pub fn synchronize(&mut self, lanes: std::ops::Range<usize>) {
        if let Memory::Weak(weak) = self {
            weak.synchronize(lanes);
        }
    }

    /// The first data race found, in words, with its address.
    pub fn take_race(&mut self) -> Option<(u64, String)> {
        match self {
            Memory::Sequential => None,
            Memory::Weak(weak) => weak.race.take(),
        }
    }
}
