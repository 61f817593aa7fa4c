//! A GPU as a device, whoever made it: [`Driver`] is what CUDA and HIP offer alike, [`Gpu`] makes a
//! [`Device`] of it: one stream, modules loaded once, events reused, errors that say what was being done.

use super::rtc;
use super::{Device, DeviceInfo, Kernel, KernelHandle, Mark, MarkHandle, Shape};
use crate::error::{Error, Result};
use crate::programs::Unit;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A failed driver call.
#[derive(Debug)]
pub struct Fault {
    /// Whether there was too little memory.
    pub out_of_memory: bool,
    /// The driver's name for it and its text.
    pub text: String,
}

/// What a driver call returns.
pub type Status<T = ()> = std::result::Result<T, Fault>;

/// A driver with its device, context and stream chosen. Handles are the driver's pointers as numbers.
///
/// Work on the stream runs in order. All calls but `bind` need `bind` on the same thread first.
///
/// # Safety
/// An implementation's addresses and handles are good until they are given back. Callers of its unsafe methods
/// pass only such ones, ranges within one allocation, and parameters that the kernel takes.
#[allow(clippy::missing_safety_doc)] // said once, above
pub unsafe trait Driver: Send + Sync {
    /// Makes the device current on the calling thread.
    fn bind(&self) -> Status;
    /// Takes memory.
    fn allocate(&self, bytes: u64) -> Status<u64>;
    /// Gives memory back.
    unsafe fn free(&self, address: u64) -> Status;
    /// Free bytes of the device.
    fn free_memory(&self) -> Status<u64>;
    /// Starts a copy from the host, on the stream.
    unsafe fn copy_in(&self, address: u64, bytes: &[u8]) -> Status;
    /// Starts a copy to the host, on the stream.
    unsafe fn copy_out(&self, address: u64, bytes: &mut [u8]) -> Status;
    /// Sets bytes to zero, on the stream.
    unsafe fn clear(&self, address: u64, bytes: u64) -> Status;
    /// Loads code.
    fn load(&self, code: &[u8]) -> Status<u64>;
    /// Unloads it.
    unsafe fn unload(&self, module: u64) -> Status;
    /// An entry point of a module.
    unsafe fn function(&self, module: u64, name: &CStr) -> Status<u64>;
    /// Allows launches of a function with so much on-chip memory.
    unsafe fn allow_shared(&self, function: u64, bytes: u32) -> Status;
    /// Blocks of a function that a multiprocessor holds at once.
    unsafe fn occupancy(&self, function: u64, threads: u32, shared: u32) -> Status<u32>;
    /// Starts a kernel with one parameter, a structure with these bytes.
    unsafe fn launch(&self, function: u64, shape: Shape, params: &[u8]) -> Status;
    /// Makes an event.
    fn event(&self) -> Status<u64>;
    /// Gives it back.
    unsafe fn discard(&self, event: u64) -> Status;
    /// Records an event on the stream.
    unsafe fn record(&self, event: u64) -> Status;
    /// Waits for an event.
    unsafe fn wait(&self, event: u64) -> Status;
    /// Milliseconds between two events that have happened.
    unsafe fn elapsed(&self, from: u64, to: u64) -> Status<f32>;
    /// Waits for the stream.
    fn synchronize(&self) -> Status;
    /// Code for a unit: from the cache, or compiled.
    fn code(&self, unit: &Unit) -> Result<Vec<u8>>;
}

/// Events that nobody uses at the moment.
type Events = Arc<Mutex<Vec<u64>>>;

/// A recorded event; once dropped, its event serves another mark.
#[derive(Debug)]
pub(crate) struct Event {
    handle: u64,
    spare: Events,
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(mut spare) = self.spare.lock() {
            spare.push(self.handle);
        }
    }
}

/// A GPU.
pub struct Gpu<D: Driver> {
    info: DeviceInfo,
    driver: D,
    /// Loaded modules by name of their unit. They live as long as the device.
    modules: Mutex<HashMap<String, u64>>,
    events: Events,
    compile_time: Mutex<Duration>,
}

impl<D: Driver> Gpu<D> {
    /// A device of this driver.
    pub fn new(info: DeviceInfo, driver: D) -> Self {
        Gpu {
            info,
            driver,
            modules: Mutex::default(),
            events: Events::default(),
            compile_time: Mutex::default(),
        }
    }

    /// The driver, bound to this thread.
    fn bound(&self) -> Result<&D> {
        self.named("binding the device", self.driver.bind())?;
        Ok(&self.driver)
    }

    /// Says which device failed at what.
    fn named<T>(&self, doing: &str, status: Status<T>) -> Result<T> {
        status
            .map_err(|f| Error::Device(format!("{} ({}): {doing}: {}", self.info.id, self.info.name, f.text)))
    }

    fn module(&self, unit: &Unit) -> Result<u64> {
        let mut modules = lock(&self.modules);
        let name = unit.name();
        if let Some(module) = modules.get(&name) {
            return Ok(*module);
        }
        let start = Instant::now();
        let code = self.driver.code(unit)?;
        let loaded = self.bound()?.load(&code);
        let module = self.named(&format!("loading the kernels of {name}"), loaded)?;
        *lock(&self.compile_time) += start.elapsed();
        modules.insert(name, module);
        Ok(module)
    }
}

impl<D: Driver> Drop for Gpu<D> {
    fn drop(&mut self) {
        // Nobody can be told of a failure here.
        if self.driver.bind().and_then(|()| self.driver.synchronize()).is_ok() {
            // SAFETY: made by this driver; nothing uses them any more.
            lock(&self.modules).values().for_each(|module| drop(unsafe { self.driver.unload(*module) }));
            // SAFETY: as above.
            lock(&self.events).drain(..).for_each(|event| drop(unsafe { self.driver.discard(event) }));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic under the lock")
}

fn raw(kernel: &Kernel) -> u64 {
    match kernel.handle {
        KernelHandle::Raw(function) => function,
        _ => unreachable!("a kernel of another device"),
    }
}

fn event(mark: &Mark) -> u64 {
    match &mark.0 {
        MarkHandle::Event(event) => event.handle,
        _ => unreachable!("a mark of another device"),
    }
}

impl<D: Driver> Device for Gpu<D> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64, what: &str) -> Result<u64> {
        let driver = self.bound()?;
        match driver.allocate(bytes) {
            Err(fault) if fault.out_of_memory => Err(Error::Memory {
                device: format!("{} ({})", self.info.id, self.info.name),
                what: what.into(),
                why: format!(
                    "{bytes} bytes of device memory are needed and {} are free",
                    driver.free_memory().unwrap_or(0)
                ),
            }),
            other => self.named(&format!("taking {bytes} bytes for {what}"), other),
        }
    }

    unsafe fn free(&self, address: u64) {
        // Nobody can be told of a failure here; after a kernel's failure every call fails.
        if let Ok(driver) = self.bound() {
            let _ = driver.synchronize();
            // SAFETY: the caller vouches for the address; nothing uses it any more.
            let _ = unsafe { driver.free(address) };
        }
    }

    unsafe fn upload(&self, address: u64, bytes: &[u8]) -> Result<()> {
        let driver = self.bound()?;
        // SAFETY: the caller vouches for the range. The host's bytes are only read until `synchronize`
        // returns: where the GPU reads host memory directly, a copy may be under way until then.
        let copied = unsafe { driver.copy_in(address, bytes) }.and_then(|()| driver.synchronize());
        self.named("copying to the device", copied)
    }

    unsafe fn download(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        let driver = self.bound()?;
        // SAFETY: as above.
        let copied = unsafe { driver.copy_out(address, bytes) }.and_then(|()| driver.synchronize());
        self.named("copying from the device", copied)
    }

    unsafe fn zero(&self, address: u64, bytes: u64) -> Result<()> {
        let driver = self.bound()?;
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: the caller vouches for the range.
        self.named("setting memory to zero", unsafe { driver.clear(address, bytes) })
    }

    fn kernel(&self, unit: &Unit, name: &'static str) -> Result<Kernel> {
        let module = self.module(unit)?;
        let symbol = CString::new(name).expect("entry points are C identifiers");
        // SAFETY: a module of this device, never unloaded.
        let function = unsafe { self.bound()?.function(module, &symbol) };
        let function = self.named(&format!("finding the kernel {name} of {}", unit.name()), function)?;
        Ok(Kernel { name, handle: KernelHandle::Raw(function) })
    }

    fn resident_blocks(&self, kernel: &Kernel, threads: u32, shared: u32) -> Result<u32> {
        let (driver, function) = (self.bound()?, raw(kernel));
        // SAFETY: a function of a module of this device.
        let blocks = unsafe {
            driver.allow_shared(function, shared).and_then(|()| driver.occupancy(function, threads, shared))
        };
        let doing = || format!("asking how many blocks of {threads} lanes of {} fit", kernel.name);
        Ok(self.named(&doing(), blocks)? * self.info.compute_units)
    }

    unsafe fn launch(&self, kernel: &Kernel, shape: Shape, params: &[u8]) -> Result<()> {
        let (driver, function) = (self.bound()?, raw(kernel));
        // SAFETY: a function of a module of this device; the caller vouches for the parameters.
        let launched = unsafe {
            driver.allow_shared(function, shape.shared).and_then(|()| driver.launch(function, shape, params))
        };
        launched.or_else(|fault| {
            let Shape { blocks, threads, shared } = shape;
            let doing = format!(
                "launching {} with {blocks} blocks of {threads} lanes and {shared} bytes of shared memory",
                kernel.name
            );
            self.named(&doing, Err(fault))
        })
    }

    fn mark(&self) -> Result<Mark> {
        let driver = self.bound()?;
        let spare = lock(&self.events).pop();
        let handle = match spare {
            Some(handle) => handle,
            None => self.named("making an event", driver.event())?,
        };
        let event = Event { handle, spare: self.events.clone() };
        // SAFETY: an event of this device.
        self.named("recording an event", unsafe { driver.record(handle) })?;
        Ok(Mark(MarkHandle::Event(event)))
    }

    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<Duration> {
        let (driver, from, to) = (self.bound()?, event(from), event(to));
        // SAFETY: events of this device.
        let time = unsafe { driver.wait(to).and_then(|()| driver.elapsed(from, to)) };
        let milliseconds = self.named("waiting for an event", time)?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }

    fn synchronize(&self) -> Result<()> {
        let done = self.bound()?.synchronize();
        self.named("waiting for the kernels", done)
    }

    fn compile_time(&self) -> Duration {
        *lock(&self.compile_time)
    }
}

/// What is known of each device that a driver describes: with its compiler's name, or why it cannot be used.
pub fn listed<T>(
    found: Vec<(DeviceInfo, T)>,
    compiler: impl Fn(&DeviceInfo, &T) -> Result<String>,
) -> Vec<(DeviceInfo, Option<String>)> {
    let one = |(info, device): (DeviceInfo, T)| match compiler(&info, &device) {
        Ok(compiler) => (DeviceInfo { compiler, ..info }, None),
        Err(why) => (info, Some(why.to_string())),
    };
    found.into_iter().map(one).collect()
}

/// The device at `index` of those that a driver of this kind describes.
pub fn nth<T>(found: Vec<(DeviceInfo, T)>, kind: &str, index: usize) -> Result<(DeviceInfo, T)> {
    found.into_iter().nth(index).ok_or_else(|| Error::Device(format!("{kind}:{index} does not exist")))
}

/// A device of an opened driver; or in words why opening it failed.
pub fn opened<D: Driver + 'static>(info: DeviceInfo, driver: Status<D>) -> Result<Arc<dyn Device>> {
    match driver {
        Ok(driver) => Ok(Arc::new(Gpu::new(info, driver))),
        Err(fault) => Err(Error::Device(format!("{} ({}): opening: {}", info.id, info.name, fault.text))),
    }
}

/// The name that a driver wrote into a buffer as a C string.
pub fn name_in(buffer: &[u8]) -> String {
    CStr::from_bytes_until_nul(buffer).map_or("unnamed".into(), |name| name.to_string_lossy().into_owned())
}

/// The code of a unit, from the cache or by `compile`; warnings of the compiler go to stderr.
pub fn cached_code(
    cache: &super::cache::Cache,
    key: &super::cache::Key,
    unit: &Unit,
    compile: impl FnOnce() -> Result<rtc::Compiled>,
) -> Result<Vec<u8>> {
    cache.get_or(key, || {
        let compiled = compile()?;
        if !compiled.log.is_empty() {
            eprintln!("warning: compiling {}: {}", unit.name(), compiled.log);
        }
        Ok(compiled.code)
    })
}
