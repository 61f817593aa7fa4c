//! AMD, through the HIP runtime and hipRTC; see [`super::hip_table`] for where their functions come from.

use super::cache::Cache;
use super::gpu::{Driver, Fault, Status, cached_code, listed, name_in, nth, opened};
use super::hip_table::{HipTable, version_text};
use super::hiprtc::HipRtc;
use super::rtc::cache_key;
use super::{Device, DeviceInfo, Shape};
use crate::error::{Error, Result};
use crate::programs::Unit;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, OnceLock};

/// Statuses and attributes by their numbers in hip_runtime_api.h, unchanged since ROCm 5.
const OUT_OF_MEMORY: c_int = 2;
const NO_DEVICE: c_int = 100;
const CLOCK_RATE_KHZ: c_int = 5;
const MULTIPROCESSOR_COUNT: c_int = 63;
const WARP_SIZE: c_int = 87;
const WALL_CLOCK_RATE_KHZ: c_int = 10_017;
const STREAM_NON_BLOCKING: u32 = 1;
const HOST_TO_DEVICE: c_int = 1;
const DEVICE_TO_HOST: c_int = 2;

/// The constant-rate counter where the runtime does not tell (before ROCm 5.4).
const USUAL_WALL_CLOCK_KHZ: u64 = 100_000;

/// The runtime, started; or why it cannot be used.
fn runtime() -> std::result::Result<&'static HipTable, String> {
    static FOUND: OnceLock<std::result::Result<HipTable, String>> = OnceLock::new();
    FOUND.get_or_init(HipTable::find).as_ref().map_err(Clone::clone)
}

impl HipTable {
    fn check(&self, status: c_int) -> Status {
        if status == 0 {
            return Ok(());
        }
        let text = |get: unsafe extern "C" fn(c_int) -> *const c_char| {
            // SAFETY: returns a constant string for any number, or null.
            unsafe {
                let text = get(status);
                if text.is_null() {
                    String::new()
                } else {
                    CStr::from_ptr(text).to_string_lossy().into_owned()
                }
            }
        };
        let (name, text) = (text(self.hipGetErrorName), text(self.hipGetErrorString));
        // Old releases give the name for both.
        let text = if text == name { name } else { format!("{name} ({text})") };
        Err(Fault { out_of_memory: status == OUT_OF_MEMORY, text })
    }

    /// A value that a function writes.
    fn get<T>(&self, initial: T, call: impl FnOnce(*mut T) -> c_int) -> Status<T> {
        let mut value = initial;
        self.check(call(&mut value))?;
        Ok(value)
    }

    fn attribute(&self, index: c_int, attribute: c_int) -> Status<c_int> {
        // SAFETY: a place to write to.
        self.get(0, |value| unsafe { (self.hipDeviceGetAttribute)(value, attribute, index) })
    }

    /// The full name of a device's instruction set, such as gfx90a:sramecc+:xnack-.
    fn target(&self, index: c_int) -> Status<String> {
        // The structure is 792 bytes in ROCm 5 and 1472 in ROCm 6 and 7, with room here for more.
        let mut properties = vec![0u64; 1024];
        // SAFETY: room for the structure, aligned for its pointers.
        self.check(unsafe { (self.device_properties)(properties.as_mut_ptr().cast(), index) })?;
        target_name(bytemuck::cast_slice(&properties)).ok_or_else(|| Fault {
            out_of_memory: false,
            text: "the runtime does not tell the device's architecture".into(),
        })
    }

    fn describe(&self, index: c_int, driver: &str) -> Status<(DeviceInfo, Found)> {
        let mut name = [0u8; 256];
        // SAFETY: room for as many bytes as said.
        self.check(unsafe { (self.hipDeviceGetName)(name.as_mut_ptr().cast(), name.len() as c_int, index) })?;
        // SAFETY: a place to write to.
        let memory = self.get(0usize, |bytes| unsafe { (self.hipDeviceTotalMem)(bytes, index) })?;
        let target = self.target(index)?;
        let wall_clock = self.attribute(index, WALL_CLOCK_RATE_KHZ).ok().filter(|khz| *khz > 0);
        let info = DeviceInfo {
            id: format!("hip:{index}"),
            name: name_in(&name),
            arch: target.split(':').next().unwrap_or_default().to_owned(),
            wave_size: self.attribute(index, WARP_SIZE)? as u32,
            compute_units: self.attribute(index, MULTIPROCESSOR_COUNT)? as u32,
            memory: memory as u64,
            clock_mhz: self.attribute(index, CLOCK_RATE_KHZ).unwrap_or(0) as u32 / 1000,
            driver: driver.to_owned(),
            compiler: String::new(),
            ticks_per_second: wall_clock.map_or(USUAL_WALL_CLOCK_KHZ, |khz| khz as u64) * 1000,
        };
        Ok((info, Found { index, target }))
    }
}

/// Finds gfx... in the properties of a device. The architecture's name moved when the structure grew, so it
/// is searched for behind the product name (the first 256 bytes) as a whole C string.
fn target_name(properties: &[u8]) -> Option<String> {
    let strings = properties.get(256..)?.split(|byte| *byte == 0);
    // Numbers may end in bytes that look like text just before the name, so look inside each string.
    let name = strings.into_iter().find_map(|s| {
        let at = s.windows(3).position(|w| w == b"gfx")?;
        std::str::from_utf8(&s[at..]).ok()
    })?;
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '+' | '-' | '_');
    (name.len() > 5 && name.chars().all(legal)).then(|| name.to_owned())
}

/// What opening a device takes, beside its description.
struct Found {
    index: c_int,
    target: String,
}

/// Every HIP device as the runtime describes it, or why there is none.
fn described() -> std::result::Result<Vec<(DeviceInfo, Found)>, String> {
    let hip = runtime()?;
    let count = || {
        // SAFETY: no conditions.
        hip.check(unsafe { (hip.hipInit)(0) })?;
        // SAFETY: a place to write to.
        let count = hip.get(0, |count| match unsafe { (hip.hipGetDeviceCount)(count) } {
            NO_DEVICE => 0,
            status => status,
        })?;
        // SAFETY: a place to write to.
        let driver = hip.get(0, |version| unsafe { (hip.hipDriverGetVersion)(version) })?;
        (0..count).map(|index| hip.describe(index, &version_text(driver))).collect::<Status<Vec<_>>>()
    };
    let none = |why: String| {
        let origin = &hip.origin;
        let needs = "it needs the amdgpu driver and access to /dev/kfd";
        format!("the HIP runtime ({origin}) finds no device{why}: {needs}")
    };
    match count() {
        Ok(found) if found.is_empty() => Err(none(String::new())),
        Ok(found) => Ok(found),
        Err(fault) => Err(none(format!(", {}", fault.text))),
    }
}

/// What is known of every HIP device, with the reason why it cannot be used if so; or why there is none.
pub fn list() -> std::result::Result<Vec<(DeviceInfo, Option<String>)>, String> {
    let cache = Cache::of_user();
    Ok(listed(described()?, |_, _| Ok(HipRtc::find(&cache)?.name())))
}

/// Opens device `index`, which [`list`] has shown to be usable.
pub fn open(index: usize) -> Result<Arc<dyn Device>> {
    let cache = Cache::of_user();
    let (info, Found { index, target }) = nth(described().map_err(Error::Device)?, "hip", index)?;
    let hip = runtime().map_err(Error::Device)?;
    let compiler = HipRtc::find(&cache)?;
    let info = DeviceInfo { compiler: compiler.name(), ..info };
    let mut hip = Hip { hip, index, stream: null_mut(), target, compiler, cache };
    let started = hip.start().map(|()| hip);
    opened(info, started)
}

/// A device with a stream.
struct Hip {
    hip: &'static HipTable,
    index: c_int,
    stream: *mut c_void,
    target: String,
    compiler: HipRtc,
    cache: Cache,
}

// SAFETY: the runtime's functions may be called from any thread; the device is bound before each.
unsafe impl Send for Hip {}
// SAFETY: as above; nothing in it changes once it is open.
unsafe impl Sync for Hip {}

impl Hip {
    fn start(&mut self) -> Status {
        self.bind()?;
        let hip = self.hip;
        // SAFETY: a place to write to.
        let make = |stream| unsafe { (hip.hipStreamCreateWithFlags)(stream, STREAM_NON_BLOCKING) };
        self.stream = hip.get(null_mut(), make)?;
        Ok(())
    }
}

// SAFETY: every method is the runtime's function of that purpose on this device and stream.
unsafe impl Driver for Hip {
    fn bind(&self) -> Status {
        // SAFETY: a device number that the runtime counted.
        self.hip.check(unsafe { (self.hip.hipSetDevice)(self.index) })
    }

    fn allocate(&self, bytes: u64) -> Status<u64> {
        // SAFETY: a place to write to.
        let take = |address| unsafe { (self.hip.hipMalloc)(address, bytes as usize) };
        self.hip.get(null_mut(), take).map(|a| a as u64)
    }

    unsafe fn free(&self, address: u64) -> Status {
        // SAFETY: the caller's.
        self.hip.check(unsafe { (self.hip.hipFree)(address as _) })
    }

    fn free_memory(&self) -> Status<u64> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: two places to write to.
        self.hip.check(unsafe { (self.hip.hipMemGetInfo)(&mut free, &mut total) })?;
        Ok(free as u64)
    }

    unsafe fn copy_in(&self, address: u64, bytes: &[u8]) -> Status {
        let (to, from) = (address as *mut c_void, bytes.as_ptr().cast());
        // SAFETY: the caller's.
        self.hip
            .check(unsafe { (self.hip.hipMemcpyAsync)(to, from, bytes.len(), HOST_TO_DEVICE, self.stream) })
    }

    unsafe fn copy_out(&self, address: u64, bytes: &mut [u8]) -> Status {
        let (to, from) = (bytes.as_mut_ptr().cast(), address as *const c_void);
        // SAFETY: the caller's.
        self.hip
            .check(unsafe { (self.hip.hipMemcpyAsync)(to, from, bytes.len(), DEVICE_TO_HOST, self.stream) })
    }

    unsafe fn clear(&self, address: u64, bytes: u64) -> Status {
        // SAFETY: the caller's.
        self.hip.check(unsafe { (self.hip.hipMemsetAsync)(address as _, 0, bytes as usize, self.stream) })
    }

    fn load(&self, code: &[u8]) -> Status<u64> {
        // SAFETY: a whole code object, as hipRTC made it.
        let load = |module| unsafe { (self.hip.hipModuleLoadData)(module, code.as_ptr().cast()) };
        self.hip.get(null_mut(), load).map(|m| m as u64)
    }

    unsafe fn unload(&self, module: u64) -> Status {
        // SAFETY: the caller's.
        self.hip.check(unsafe { (self.hip.hipModuleUnload)(module as _) })
    }

    unsafe fn function(&self, module: u64, name: &CStr) -> Status<u64> {
        // SAFETY: the caller's.
        let find = |f| unsafe { (self.hip.hipModuleGetFunction)(f, module as _, name.as_ptr()) };
        self.hip.get(null_mut(), find).map(|f| f as u64)
    }

    unsafe fn allow_shared(&self, _: u64, _: u32) -> Status {
        // AMD's launches may use all of a compute unit's local memory without asking.
        Ok(())
    }

    unsafe fn occupancy(&self, function: u64, threads: u32, shared: u32) -> Status<u32> {
        let ask = self.hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor;
        // SAFETY: the caller's function; a place to write to.
        let ask = |blocks| unsafe { ask(blocks, function as _, threads as c_int, shared as usize) };
        self.hip.get(0, ask).map(|blocks| blocks as u32)
    }

    unsafe fn launch(&self, function: u64, shape: Shape, params: &[u8]) -> Status {
        let mut arguments: [*mut c_void; 1] = [params.as_ptr() as *mut c_void];
        // SAFETY: the caller's; the runtime copies the parameters before it returns.
        self.hip.check(unsafe {
            (self.hip.hipModuleLaunchKernel)(
                function as _,
                shape.blocks,
                1,
                1,
                shape.threads,
                1,
                1,
                shape.shared,
                self.stream,
                arguments.as_mut_ptr(),
                null_mut(),
            )
        })
    }

    fn event(&self) -> Status<u64> {
        // SAFETY: a place to write to.
        self.hip.get(null_mut(), |event| unsafe { (self.hip.hipEventCreate)(event) }).map(|e| e as u64)
    }

    unsafe fn discard(&self, event: u64) -> Status {
        // SAFETY: the caller's.
        self.hip.check(unsafe { (self.hip.hipEventDestroy)(event as _) })
    }

    unsafe fn record(&self, event: u64) -> Status {
        // SAFETY: the caller's.
        self.hip.check(unsafe { (self.hip.hipEventRecord)(event as _, self.stream) })
    }

    unsafe fn wait(&self, event: u64) -> Status {
        // SAFETY: the caller's.
        self.hip.check(unsafe { (self.hip.hipEventSynchronize)(event as _) })
    }

    unsafe fn elapsed(&self, from: u64, to: u64) -> Status<f32> {
        // SAFETY: the caller's; a place to write to.
        self.hip.get(0.0, |time| unsafe { (self.hip.hipEventElapsedTime)(time, from as _, to as _) })
    }

    fn synchronize(&self) -> Status {
        // SAFETY: made in `start`, alive until drop.
        self.hip.check(unsafe { (self.hip.hipStreamSynchronize)(self.stream) })
    }

    fn code(&self, unit: &Unit) -> Result<Vec<u8>> {
        let key = cache_key(unit, &HipRtc::options(&self.target), self.compiler.identity());
        cached_code(&self.cache, &key, unit, || self.compiler.compile(unit, &self.target))
    }
}

impl Drop for Hip {
    fn drop(&mut self) {
        if !self.stream.is_null() && self.bind().is_ok() {
            // SAFETY: made in `start`, given back here only.
            let _ = unsafe { (self.hip.hipStreamDestroy)(self.stream) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(at: usize, name: &str, product: &str) -> Vec<u8> {
        let mut bytes = vec![0u8; 8192];
        bytes[..product.len()].copy_from_slice(product.as_bytes());
        bytes[at - 4..at].copy_from_slice(&[0x41, 0x42, 0x43, 0x44]); // a number right before it
        bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
        bytes
    }

    #[test]
    fn the_architecture_is_found_in_either_structure() {
        for at in [396, 1160] {
            let found = target_name(&properties(at, "gfx90a:sramecc+:xnack-", "AMD Instinct MI210"));
            assert_eq!(found.as_deref(), Some("gfx90a:sramecc+:xnack-"));
            assert_eq!(target_name(&properties(at, "gfx1100", "gfx1036")).as_deref(), Some("gfx1100"));
        }
        assert_eq!(target_name(&[0; 8192]), None);
        assert_eq!(target_name(&properties(396, "gfx", "")), None);
        assert_eq!(target_name(&properties(396, "gfx90a\u{7}", "")), None);
    }
}
