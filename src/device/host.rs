//! The host's memory as a device's: what the CPU and the tests' simulator have in common.

use crate::memory;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Alignment of every allocation: a cache-line pair and more, as GPUs give.
const ALIGNMENT: usize = 256;

/// Arrays of at least a few of these start on one and ask the system for pages of this size: rays that read them here
/// and there wait for the page tables otherwise (a quarter of the time of random rays among a million triangles).
const HUGE_PAGE: usize = 2 << 20;

/// Allocations of a device that lives in the host's memory.
#[derive(Debug, Default)]
pub struct HostMemory(Mutex<BTreeMap<u64, Allocation>>);

#[derive(Debug)]
struct Allocation {
    what: String,
    layout: Layout,
}

impl HostMemory {
    fn allocations(&self) -> MutexGuard<'_, BTreeMap<u64, Allocation>> {
        self.0.lock().expect("no panic under the lock")
    }

    /// Takes `bytes`, contents undefined; `what` says what for.
    ///
    /// # Errors
    /// As for [`memory::check`].
    pub fn allocate(&self, bytes: u64, what: &str) -> Result<u64, String> {
        let size = usize::try_from(bytes.max(1)).unwrap_or(usize::MAX);
        let alignment = if size >= 4 * HUGE_PAGE { HUGE_PAGE } else { ALIGNMENT };
        let (layout, address) = memory::take(bytes, || {
            let layout = Layout::from_size_align(size, alignment).ok()?;
            // SAFETY: the size is not zero.
            let address = unsafe { alloc(layout) };
            (!address.is_null()).then_some((layout, address as u64))
        })?;
        #[cfg(target_os = "linux")]
        if alignment == HUGE_PAGE {
            // SAFETY: the range is the allocation's; the advice changes no contents, and may be refused.
            unsafe { libc::madvise(address as *mut libc::c_void, size, libc::MADV_HUGEPAGE) };
        }
        self.allocations().insert(address, Allocation { what: what.to_owned(), layout });
        Ok(address)
    }

    /// Gives it back.
    ///
    /// # Safety
    /// As for [`super::Device::free`].
    pub unsafe fn free(&self, address: u64) {
        if let Some(Allocation { layout, .. }) = self.allocations().remove(&address) {
            // SAFETY: taken in `allocate` with this layout, and now forgotten.
            unsafe { dealloc(address as *mut u8, layout) }
        }
    }

    /// Where an address lies: the byte of which allocation.
    pub fn place_of(&self, address: u64) -> Option<(u64, String)> {
        let allocations = self.allocations();
        let (start, allocation) = allocations.range(..=address).next_back()?;
        let offset = address - start;
        (offset < allocation.layout.size() as u64).then(|| (offset, allocation.what.clone()))
    }

    /// Copies to an address.
    ///
    /// # Safety
    /// As for [`super::Device::upload`].
    pub unsafe fn upload(address: u64, bytes: &[u8]) {
        // SAFETY: the caller vouches for the range; host slices never overlap device memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) };
    }

    /// Copies from an address.
    ///
    /// # Safety
    /// As for [`super::Device::download`].
    pub unsafe fn download(address: u64, bytes: &mut [u8]) {
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) };
    }

    /// Sets bytes to `value`.
    ///
    /// # Safety
    /// As for [`super::Device::zero`].
    pub unsafe fn fill(address: u64, value: u8, bytes: u64) {
        // SAFETY: the caller vouches for the range.
        unsafe { std::ptr::write_bytes(address as *mut u8, value, bytes as usize) };
    }
}

/// A parameter structure with the alignment that C++ expects: it holds addresses.
pub fn aligned(params: &[u8]) -> Vec<u128> {
    let mut aligned = vec![0u128; params.len().div_ceil(16)];
    bytemuck::cast_slice_mut::<u128, u8>(&mut aligned)[..params.len()].copy_from_slice(params);
    aligned
}
