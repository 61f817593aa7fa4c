//! NVIDIA, through the CUDA driver, which is loaded at run time by cudarc.
//!
//! cudarc panics on the first call of a function that the driver lacks, so `driver` asks for every one of
//! them first; `calls!` keeps the list and the calls the same.

use super::cache::Cache;
use super::gpu::{Driver, Fault, Status, cached_code, listed, name_in, nth, opened};
use super::nvrtc::Nvrtc;
use super::rtc::cache_key;
use super::{Device, DeviceInfo, Shape};
use crate::error::{Error, Result};
use crate::programs::Unit;
use cudarc::driver::sys::{self, CUcontext, CUdevice_attribute as Attribute, CUresult, CUstream};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, OnceLock};

/// Imports driver functions and lists their names: what is not in the list cannot be called here.
macro_rules! calls {
    ($($name:ident)*) => {
        use cudarc::driver::sys::{$($name),*};
        const CALLS: &[&str] = &[$(stringify!($name)),*];
    };
}
calls! {
    cuInit cuDriverGetVersion cuGetErrorName cuGetErrorString
    cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceGetAttribute cuDeviceTotalMem_v2
    cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 cuCtxSetCurrent
    cuStreamCreate cuStreamSynchronize cuStreamDestroy_v2
    cuMemGetInfo_v2 cuMemAlloc_v2 cuMemFree_v2 cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemsetD8Async
    cuModuleLoadData cuModuleUnload cuModuleGetFunction
    cuFuncGetAttribute cuFuncSetAttribute cuOccupancyMaxActiveBlocksPerMultiprocessor cuLaunchKernel
    cuEventCreate cuEventDestroy_v2 cuEventRecord cuEventSynchronize cuEventElapsedTime
}

/// Oldest driver (as CUDA numbers them) whose functions and code are as expected.
const OLDEST_DRIVER: i32 = 12_000;
const NEEDED: &str = "rayq needs a complete NVIDIA driver 525 (CUDA 12.0) or newer";
/// Oldest architecture: independent lanes and scoped atomics.
const OLDEST_CAPABILITY: i32 = 70;

fn version_text(version: i32) -> String {
    format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
}

/// The driver's version once everything that is called here is known to be there; or why not.
fn driver() -> std::result::Result<i32, String> {
    static FOUND: OnceLock<std::result::Result<i32, String>> = OnceLock::new();
    FOUND.get_or_init(find_driver).clone()
}

fn find_driver() -> std::result::Result<i32, String> {
    // SAFETY: loads the driver's library, whose initialisers are the vendor's business.
    if !unsafe { sys::is_culib_present() } {
        return Err("the driver's library libcuda.so.1 was not found: install the NVIDIA driver, or start the container with its GPUs".into());
    }
    // SAFETY: just found. The symbols are only compared with nothing, never called as this type.
    let has = |name: &str| unsafe { sys::culib().get::<unsafe extern "C" fn()>(name.as_bytes()).is_ok() };
    let version = if has("cuDriverGetVersion") {
        let mut version = 0;
        // SAFETY: there, and a place to write to.
        let status = unsafe { cuDriverGetVersion(&mut version) };
        (status == CUresult::CUDA_SUCCESS).then_some(version)
    } else {
        None
    };
    let shown = version.map_or("of unknown version".into(), |v| format!("for {}", version_text(v)));
    let missing: Vec<_> = CALLS.iter().copied().filter(|name| !has(name)).collect();
    if let Some(first) = missing.first() {
        let more = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
        return Err(format!("the installed driver, {shown}, lacks {first}{more}: {NEEDED}"));
    }
    match version {
        Some(version) if version >= OLDEST_DRIVER => Ok(version),
        _ => Err(format!("the installed driver is {shown}: {NEEDED}")),
    }
}

fn check(result: CUresult) -> Status {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let text = |get: unsafe fn(CUresult, *mut *const c_char) -> CUresult| {
        let mut text = null();
        // SAFETY: writes the address of a constant string, or leaves null.
        unsafe {
            get(result, &mut text);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    let name = text(cuGetErrorName).unwrap_or_else(|| format!("error {}", result as u32));
    let text = text(cuGetErrorString).unwrap_or_default();
    Err(Fault {
        out_of_memory: result == CUresult::CUDA_ERROR_OUT_OF_MEMORY,
        text: format!("{name} ({text})"),
    })
}

/// A value that a driver function writes.
fn get<T>(initial: T, call: impl FnOnce(*mut T) -> CUresult) -> Status<T> {
    let mut value = initial;
    check(call(&mut value))?;
    Ok(value)
}

fn attribute(device: c_int, attribute: Attribute) -> Status<i32> {
    // SAFETY: a device number of `cuDeviceGet` and a place to write to.
    get(0, |value| unsafe { cuDeviceGetAttribute(value, attribute, device) })
}

/// What opening a device takes, beside its description.
struct Found {
    ordinal: c_int,
    capability: i32,
}

/// A device as the driver describes it, without making a context.
fn describe(index: i32, driver: i32) -> Status<(DeviceInfo, Found)> {
    // SAFETY: the driver is initialised.
    let ordinal = get(0, |device| unsafe { cuDeviceGet(device, index) })?;
    let mut name = [0u8; 256];
    // SAFETY: room for as many bytes as said; so below.
    check(unsafe { cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, ordinal) })?;
    // SAFETY: a place to write to.
    let memory = get(0usize, |bytes| unsafe { cuDeviceTotalMem_v2(bytes, ordinal) })?;
    let of = |which| attribute(ordinal, which);
    let capability = of(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? * 10
        + of(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let info = DeviceInfo {
        id: format!("cuda:{index}"),
        name: name_in(&name),
        arch: format!("sm_{capability}"),
        wave_size: of(Attribute::CU_DEVICE_ATTRIBUTE_WARP_SIZE)? as u32,
        compute_units: of(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        memory: memory as u64,
        clock_mhz: of(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE).unwrap_or(0) as u32 / 1000,
        driver: format!("{}{}", version_text(driver), module_version()),
        compiler: String::new(),
        // globaltimer counts nanoseconds.
        ticks_per_second: 1_000_000_000,
    };
    Ok((info, Found { ordinal, capability }))
}

/// The kernel module's version, such as ", 580.95.05", where Linux shows it.
fn module_version() -> String {
    let text = std::fs::read_to_string("/sys/module/nvidia/version").unwrap_or_default();
    if text.trim().is_empty() { String::new() } else { format!(", {}", text.trim()) }
}

/// Every CUDA device, or why there is none.
fn described() -> std::result::Result<Vec<(DeviceInfo, Found)>, String> {
    let version = driver()?;
    let all = || {
        // SAFETY: no conditions.
        check(unsafe { cuInit(0) })?;
        // SAFETY: a place to write to.
        let count = get(0, |count| unsafe { cuDeviceGetCount(count) })?;
        (0..count).map(|index| describe(index, version)).collect::<Status<Vec<_>>>()
    };
    let found: Vec<_> = all().map_err(|fault| format!("the driver finds no device: {}", fault.text))?;
    if found.is_empty() { Err("the driver finds no device".into()) } else { Ok(found) }
}

/// The compiler for a device; also refuses devices that are too old.
fn compiler(cache: &Cache, info: &DeviceInfo, device: &Found) -> Result<Nvrtc> {
    if device.capability < OLDEST_CAPABILITY {
        let DeviceInfo { id, name, arch, .. } = info;
        return Err(Error::Device(format!(
            "{id} ({name}) is {arch}: rayq needs sm_{OLDEST_CAPABILITY} or newer"
        )));
    }
    let major = driver().map_err(Error::Device)? / 1000;
    Nvrtc::find(cache, Some(major), device.capability)
}

/// What is known of every CUDA device, with the reason why it cannot be used if so; or why there is none.
pub fn list() -> std::result::Result<Vec<(DeviceInfo, Option<String>)>, String> {
    let cache = Cache::of_user();
    Ok(listed(described()?, |info, device| Ok(compiler(&cache, info, device)?.name())))
}

/// Opens device `index`, which [`list`] has shown to be usable.
pub fn open(index: usize) -> Result<Arc<dyn Device>> {
    let cache = Cache::of_user();
    let (info, device) = nth(described().map_err(Error::Device)?, "cuda", index)?;
    let nvrtc = compiler(&cache, &info, &device)?;
    let info = DeviceInfo { compiler: nvrtc.name(), ..info };
    opened(info, Cuda::new(device.ordinal, device.capability, nvrtc, cache))
}

/// A device with its primary context and a stream.
struct Cuda {
    ordinal: c_int,
    context: CUcontext,
    stream: CUstream,
    capability: i32,
    nvrtc: Nvrtc,
    cache: Cache,
}

// SAFETY: the driver's functions may be called from any thread; the context is bound before each.
unsafe impl Send for Cuda {}
// SAFETY: as above; nothing in it changes.
unsafe impl Sync for Cuda {}

impl Cuda {
    fn new(ordinal: c_int, capability: i32, nvrtc: Nvrtc, cache: Cache) -> Status<Cuda> {
        // SAFETY: a device of this driver; released on drop.
        let context = get(null_mut(), |context| unsafe { cuDevicePrimaryCtxRetain(context, ordinal) })?;
        let mut cuda = Cuda { ordinal, context, stream: null_mut(), capability, nvrtc, cache };
        cuda.bind()?;
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the context is current.
        cuda.stream = get(null_mut(), |stream| unsafe { cuStreamCreate(stream, flags) })?;
        Ok(cuda)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if !self.stream.is_null() && self.bind().is_ok() {
            // SAFETY: made in `new`, given back here only.
            let _ = unsafe { cuStreamDestroy_v2(self.stream) };
        }
        // SAFETY: retained in `new`, released here only.
        let _ = unsafe { cuDevicePrimaryCtxRelease_v2(self.ordinal) };
    }
}

// SAFETY: every method is the driver's function of that purpose on this context and stream.
unsafe impl Driver for Cuda {
    fn bind(&self) -> Status {
        // SAFETY: retained until drop.
        check(unsafe { cuCtxSetCurrent(self.context) })
    }

    fn allocate(&self, bytes: u64) -> Status<u64> {
        // SAFETY: a place to write to.
        get(0, |address| unsafe { cuMemAlloc_v2(address, bytes as usize) })
    }

    unsafe fn free(&self, address: u64) -> Status {
        // SAFETY: the caller's.
        check(unsafe { cuMemFree_v2(address) })
    }

    fn free_memory(&self) -> Status<u64> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: two places to write to.
        check(unsafe { cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok(free as u64)
    }

    unsafe fn copy_in(&self, address: u64, bytes: &[u8]) -> Status {
        // SAFETY: the caller's.
        check(unsafe { cuMemcpyHtoDAsync_v2(address, bytes.as_ptr().cast(), bytes.len(), self.stream) })
    }

    unsafe fn copy_out(&self, address: u64, bytes: &mut [u8]) -> Status {
        // SAFETY: the caller's.
        check(unsafe { cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), address, bytes.len(), self.stream) })
    }

    unsafe fn clear(&self, address: u64, bytes: u64) -> Status {
        // SAFETY: the caller's.
        check(unsafe { cuMemsetD8Async(address, 0, bytes as usize, self.stream) })
    }

    fn load(&self, code: &[u8]) -> Status<u64> {
        // SAFETY: a whole CUBIN, or PTX with its final NUL, as NVRTC made it.
        get(null_mut(), |module| unsafe { cuModuleLoadData(module, code.as_ptr().cast()) }).map(|m| m as u64)
    }

    unsafe fn unload(&self, module: u64) -> Status {
        // SAFETY: the caller's.
        check(unsafe { cuModuleUnload(module as _) })
    }

    unsafe fn function(&self, module: u64, name: &CStr) -> Status<u64> {
        // SAFETY: the caller's.
        get(null_mut(), |function| unsafe { cuModuleGetFunction(function, module as _, name.as_ptr()) })
            .map(|f| f as u64)
    }

    unsafe fn allow_shared(&self, function: u64, bytes: u32) -> Status {
        use sys::CUfunction_attribute as Of;
        let most = Of::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the caller's function; a place to write to.
        let now = get(0, |bytes| unsafe { cuFuncGetAttribute(bytes, most, function as _) })?;
        if bytes as i32 <= now {
            return Ok(());
        }
        // SAFETY: the caller's function.
        check(unsafe { cuFuncSetAttribute(function as _, most, bytes as c_int) })
    }

    unsafe fn occupancy(&self, function: u64, threads: u32, shared: u32) -> Status<u32> {
        // SAFETY: the caller's function; a place to write to.
        let blocks = get(0, |blocks| unsafe {
            cuOccupancyMaxActiveBlocksPerMultiprocessor(
                blocks,
                function as _,
                threads as c_int,
                shared as usize,
            )
        })?;
        Ok(blocks as u32)
    }

    unsafe fn launch(&self, function: u64, shape: Shape, params: &[u8]) -> Status {
        let mut arguments: [*mut c_void; 1] = [params.as_ptr() as *mut c_void];
        // SAFETY: the caller's; the driver copies the parameters before it returns.
        check(unsafe {
            cuLaunchKernel(
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
        get(null_mut(), |event| unsafe { cuEventCreate(event, 0) }).map(|e| e as u64)
    }

    unsafe fn discard(&self, event: u64) -> Status {
        // SAFETY: the caller's.
        check(unsafe { cuEventDestroy_v2(event as _) })
    }

    unsafe fn record(&self, event: u64) -> Status {
        // SAFETY: the caller's.
        check(unsafe { cuEventRecord(event as _, self.stream) })
    }

    unsafe fn wait(&self, event: u64) -> Status {
        // SAFETY: the caller's.
        check(unsafe { cuEventSynchronize(event as _) })
    }

    unsafe fn elapsed(&self, from: u64, to: u64) -> Status<f32> {
        // SAFETY: the caller's; a place to write to.
        get(0.0, |time| unsafe { cuEventElapsedTime(time, from as _, to as _) })
    }

    fn synchronize(&self) -> Status {
        // SAFETY: made in `new`, alive until drop.
        check(unsafe { cuStreamSynchronize(self.stream) })
    }

    fn code(&self, unit: &Unit) -> Result<Vec<u8>> {
        let key = cache_key(unit, &self.nvrtc.options(self.capability), self.nvrtc.identity());
        cached_code(&self.cache, &key, unit, || self.nvrtc.compile(unit, self.capability))
    }
}
