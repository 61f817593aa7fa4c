//! The host's memory: what there is, whether more can be had before it is taken, and what happens where there is none.

use crate::error::NO_MEMORY;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::{self, Display, Formatter};
use std::io::{Write, stderr};

/// Bytes that the host has left; 0 where that cannot be read.
pub fn free() -> u64 {
    meminfo("MemAvailable:")
}

/// Bytes of the host's memory; 0 where that cannot be read.
pub fn physical() -> u64 {
    meminfo("MemTotal:")
}

/// Whether `bytes` more can be had. Asked before sizes that a file claims are believed, so that the error can name them.
///
/// # Errors
/// The reason, as the rest of a line: the host has less left, or this process may not have so much.
pub fn check(bytes: u64) -> Result<(), String> {
    take(bytes, || reserve::<u8>(&mut vec![], usize::try_from(bytes).unwrap_or(usize::MAX)).ok())
}

/// What `granted` takes, `bytes` in all, or why there is none.
///
/// # Errors
/// As for [`check`].
pub fn take<T>(bytes: u64, granted: impl FnOnce() -> Option<T>) -> Result<T, String> {
    let left = free();
    // Linux grants more than there is and kills later: ask first.
    if left > 0 && bytes > left {
        return Err(format!("{bytes} bytes of memory are needed and {left} are free"));
    }
    may_fail(granted).ok_or_else(|| Refused(bytes).to_string())
}

/// Room for `more` values behind those in `list`, and no more than that.
///
/// # Errors
/// The reason, as the rest of a line.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), String> {
    let bytes = more.saturating_mul(size_of::<T>()) as u64;
    let asked = may_fail(|| list.try_reserve_exact(more));
    // Compilers may leave out memory that nobody uses.
    std::hint::black_box(list.as_ptr());
    asked.map_err(|_| Refused(bytes).to_string())
}

thread_local! {
    /// Whether this thread is in [`may_fail`].
    static MAY_FAIL: Cell<bool> = const { Cell::new(false) };
}

/// Does `ask`, which can go on without the memory that it asks for: under the [`Allocator`] all other requests that are
/// refused end the process.
pub fn may_fail<T>(ask: impl FnOnce() -> T) -> T {
    let before = MAY_FAIL.replace(true);
    let answer = ask();
    MAY_FAIL.set(before);
    answer
}

/// The system's allocator for the program. Where there is no memory, the process ends with a line and an exit code, as
/// after other errors; Rust would abort it.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: all is the system's; what it grants is passed on as it is.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: passed on to the caller; so for the others.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.realloc(address, layout, size) }, size)
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(address, layout) }
    }
}

fn granted(address: *mut u8, bytes: usize) -> *mut u8 {
    if address.is_null() && !MAY_FAIL.get() {
        end(bytes as u64);
    }
    address
}

/// Ends the process. Nothing here takes memory, and no destructor runs, which might.
#[cold]
fn end(bytes: u64) -> ! {
    writeln!(stderr(), "rayq: out of memory: {}; choose a smaller input, image or capacity", Refused(bytes))
        .ok();
    signal_hook::low_level::exit(NO_MEMORY.into());
}

/// Says that so many bytes were refused.
struct Refused(u64);

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of memory are needed, ", self.0)?;
        match limit() {
            Some(most) => write!(f, "which take this process beyond its limit of {most} (ulimit -v)"),
            None => f.write_str("more than the system grants"),
        }
    }
}

/// Bytes that this process may have in all, if that is limited.
#[cfg(unix)]
fn limit() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is a place to write to.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    (limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(not(unix))]
fn limit() -> Option<u64> {
    None
}

/// To be called before there are threads: where the process is limited, they share the system's one heap. glibc would
/// reserve 64 MiB of addresses for each, and look for more at every request once there are none.
pub fn share_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if limit().is_some() {
        // SAFETY: a setting, of no one else's concern.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// A figure of /proc/meminfo in bytes; 0 where it cannot be read.
fn meminfo(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_default();
    line.split_whitespace().find_map(|w| w.parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_said() {
        assert_eq!(check(0), Ok(()));
        assert_eq!(check(1 << 20), Ok(()));
        let why = check(u64::MAX).expect_err("nobody has that");
        assert!(why.contains("18446744073709551615 bytes of memory are needed"), "{why}");
    }
}
