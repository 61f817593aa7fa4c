//! The CPU as a device: compiled-in kernels, waves of one lane, worker threads that run blocks.

use super::host::{HostMemory, aligned};
use super::{Device, DeviceInfo, Kernel, KernelHandle, Mark, MarkHandle, Shape};
use crate::error::{Error, Result};
use crate::memory;
use crate::programs::Unit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A kernel compiled for the CPU; takes its parameter structure by address.
pub type CpuEntry = unsafe extern "C" fn(params: *const u8);

include!(concat!(env!("OUT_DIR"), "/cpu_kernels.rs"));

unsafe extern "C" {
    fn rq_cpu_enter(block: u32, blocks: u32, shared: *mut u8);
}

/// `device_ticks` of the CPU kernels: nanoseconds since the first call.
#[unsafe(no_mangle)]
extern "C" fn rq_cpu_ticks() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// `give_way` of the CPU kernels: another worker may have what this one waits for.
#[unsafe(no_mangle)]
extern "C" fn rq_cpu_yield() {
    std::thread::yield_now();
}

/// The CPU device. Launches are done when they return.
pub struct CpuDevice {
    info: DeviceInfo,
    isa: &'static str,
    pool: rayon::ThreadPool,
    memory: HostMemory,
}

impl CpuDevice {
    /// A device of `workers` threads, or one for each processor that this process may use.
    pub fn new(workers: Option<usize>) -> Result<Self> {
        let workers = workers.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        Self::with_isa(workers, if has_v3() { "v3" } else { "base" })
    }

    /// A device that runs the baseline build of the kernels, whatever the processor can do: its results equal
    /// those of every other build.
    pub fn baseline(workers: usize) -> Result<Self> {
        Self::with_isa(workers, "base")
    }

    fn with_isa(workers: usize, isa: &'static str) -> Result<Self> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .thread_name(|i| format!("rayq-worker-{i}"))
            .build()
            .map_err(|e| Error::Device(format!("cpu: cannot start {workers} worker threads: {e}")))?;
        let arch = match isa {
            "v3" => "x86-64-v3".to_owned(),
            _ => std::env::consts::ARCH.replace('_', "-"),
        };
        let info = DeviceInfo {
            id: "cpu".into(),
            name: processor_name(),
            arch,
            wave_size: 1,
            compute_units: workers as u32,
            memory: memory::physical(),
            clock_mhz: 0,
            driver: String::new(),
            compiler: "C++ compiler of the build".into(),
            ticks_per_second: 1_000_000_000,
        };
        Ok(CpuDevice { info, isa, pool, memory: HostMemory::default() })
    }
}

fn has_v3() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The processor's name, from Linux's own list where there is one.
fn processor_name() -> String {
    let list = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = list.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split_once(':'));
    name.map_or_else(|| format!("{} processor", std::env::consts::ARCH), |(_, name)| name.trim().to_owned())
}

impl Device for CpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64, what: &str) -> Result<u64> {
        let refused = |why| Error::Memory { device: "cpu".into(), what: what.into(), why };
        self.memory.allocate(bytes, what).map_err(refused)
    }

    unsafe fn free(&self, address: u64) {
        // SAFETY: passed on to the caller.
        unsafe { self.memory.free(address) }
    }

    unsafe fn upload(&self, address: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { HostMemory::upload(address, bytes) };
        Ok(())
    }

    unsafe fn download(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { HostMemory::download(address, bytes) };
        Ok(())
    }

    unsafe fn zero(&self, address: u64, bytes: u64) -> Result<()> {
        // SAFETY: passed on to the caller.
        unsafe { HostMemory::fill(address, 0, bytes) };
        Ok(())
    }

    fn kernel(&self, unit: &Unit, name: &'static str) -> Result<Kernel> {
        let unit = unit.name();
        let build =
            |wanted| CPU_KERNELS.iter().find(|(isa, u, k, _)| *isa == wanted && *u == unit && *k == name);
        // Programs whose speed is of no account have one build for all processors.
        let found = build(self.isa).or_else(|| build("counted"));
        let entry = found.ok_or_else(|| Error::Device(format!("cpu: no kernel {name} in {unit}")))?;
        Ok(Kernel { name, handle: KernelHandle::Cpu(entry.3) })
    }

    fn resident_blocks(&self, _: &Kernel, _: u32, _: u32) -> Result<u32> {
        Ok(self.info.compute_units)
    }

    unsafe fn launch(&self, kernel: &Kernel, shape: Shape, params: &[u8]) -> Result<()> {
        let KernelHandle::Cpu(entry) = kernel.handle else { unreachable!("a kernel of another device") };
        let params = aligned(params);
        let params = params.as_ptr() as usize;
        let next = AtomicU32::new(0);
        self.pool.broadcast(|_| {
            let mut shared = vec![0u128; (shape.shared as usize).div_ceil(16)];
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= shape.blocks {
                    break;
                }
                // SAFETY: sets this thread's own place; `shared` outlives the block.
                unsafe { rq_cpu_enter(block, shape.blocks, shared.as_mut_ptr().cast()) };
                // SAFETY: the caller vouches for the parameters.
                unsafe { entry(params as *const u8) };
            }
        });
        Ok(())
    }

    fn mark(&self) -> Result<Mark> {
        Ok(Mark(MarkHandle::Host(Instant::now())))
    }

    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<Duration> {
        match (&from.0, &to.0) {
            (MarkHandle::Host(from), MarkHandle::Host(to)) => Ok(to.duration_since(*from)),
            _ => unreachable!("marks of another device"),
        }
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn compile_time(&self) -> Duration {
        Duration::ZERO
    }
}
