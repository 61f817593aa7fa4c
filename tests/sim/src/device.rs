//! The simulator as a rayq device.

use crate::callbacks::TABLE;
use crate::launch::{Failure, Grid, run};
use crate::options::{Options, Report};
use crate::platform::{self, SimEntry};
use rayq::device::host::{HostMemory, aligned};
use rayq::device::{Device, DeviceInfo, Kernel, Mark, Shape};
use rayq::error::{Error, Result};
use rayq::programs::Unit;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// A step counts as a microsecond, so that time budgets of kernels can be met exactly.
const STEPS_PER_SECOND: u64 = 1_000_000;

/// A device that runs kernels lane by lane, in an order that [`Options`] choose. Launches are done when they
/// return; what goes wrong in one (a deadlock, a race, no progress) is its error.
pub struct SimDevice {
    info: DeviceInfo,
    memory: HostMemory,
    state: Mutex<DeviceState>,
}

/// Another way to run the lanes of a launch, each a wave and a block of its own: entry point, parameters, lanes.
pub type Runner = fn(SimEntry, *const u8, u32);

struct DeviceState {
    options: Options,
    runner: Option<Runner>,
    report: Report,
    steps: u64,
}

impl SimDevice {
    /// A device with waves of `wave_size` lanes: a power of two, at most 64.
    pub fn new(wave_size: u32, options: Options) -> Self {
        assert!(wave_size.is_power_of_two() && wave_size <= 64, "waves have 1, 2, 4 .. 64 lanes");
        let info = DeviceInfo {
            id: "sim".into(),
            name: format!("simulator with waves of {wave_size}"),
            arch: "sim".into(),
            wave_size,
            compute_units: options.resident,
            clock_mhz: 1,
            memory: 1 << 32,
            driver: String::new(),
            compiler: "C++ compiler of the build".into(),
            ticks_per_second: STEPS_PER_SECOND,
        };
        let state = DeviceState { options, runner: None, report: Report::default(), steps: 0 };
        SimDevice { info, memory: HostMemory::default(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, DeviceState> {
        self.state.lock().expect("no panic under the lock")
    }

    /// How the next launches run.
    pub fn set_options(&self, options: Options) {
        self.state().options = options;
    }

    /// Who runs the lanes of the next launches, instead of the simulator; only for waves of one lane.
    pub fn set_runner(&self, runner: Option<Runner>) {
        assert!(self.info.wave_size == 1, "a runner knows no waves");
        self.state().runner = runner;
    }

    /// What the last launch did. Undefined parts are zero if it failed.
    pub fn report(&self) -> Report {
        self.state().report
    }

    /// A failure in words, its address as a place in an allocation.
    fn explain(&self, Failure { what, address }: Failure) -> String {
        match address.map(|address| self.memory.place_of(address)) {
            None => what,
            Some(Some((byte, name))) => format!("{what} (byte {byte} of {name})"),
            Some(None) => format!("{what} (in shared memory)"),
        }
    }

    /// The entry point `kernel` of the unit called `unit`, extra units included.
    pub fn kernel_of(&self, unit: &str, kernel: &'static str) -> Result<Kernel> {
        let index = platform::find(unit, kernel)
            .ok_or_else(|| Error::Device(format!("sim: no kernel {kernel} in {unit}")))?;
        Ok(Kernel::from_raw(kernel, index as u64))
    }
}

impl Device for SimDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, bytes: u64, what: &str) -> Result<u64> {
        let free = self.info.memory;
        let asked = bytes.max(1).next_multiple_of(16);
        let address = match bytes <= free {
            true => self.memory.allocate(asked, what),
            false => Err(format!("{bytes} bytes of memory are needed and {free} are free")),
        };
        let refused = |why| Error::Memory { device: "sim".into(), what: what.into(), why };
        let address = address.map_err(refused)?;
        // Contents are undefined: make a read of them show.
        // SAFETY: just allocated with this size.
        unsafe { HostMemory::fill(address, 0xa5, asked) };
        Ok(address)
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
        self.kernel_of(&unit.name(), name)
    }

    fn resident_blocks(&self, _: &Kernel, _: u32, _: u32) -> Result<u32> {
        Ok(self.state().options.resident)
    }

    unsafe fn launch(&self, kernel: &Kernel, shape: Shape, params: &[u8]) -> Result<()> {
        let (unit, name, entry) = platform::entry(kernel.raw().expect("a kernel of this device") as usize);
        let failed = |what: String| Error::Device(format!("sim: {unit}: {name}: {what}"));
        let wave_size = self.info.wave_size;
        if shape.blocks == 0 || shape.threads == 0 || !shape.threads.is_multiple_of(wave_size) {
            return Err(failed(format!("{shape:?} is not a whole number of waves of {wave_size}")));
        }
        let params = aligned(params);
        let Shape { blocks, threads, shared } = shape;
        let (options, ticks, runner) = {
            let state = self.state();
            (state.options, state.steps, state.runner)
        };
        if let Some(runner) = runner {
            runner(entry, params.as_ptr().cast(), blocks * threads);
            return Ok(());
        }
        let grid = Grid { blocks, threads, shared, wave_size, ticks };
        // SAFETY: sets this thread's own pointer to a static.
        unsafe { platform::rq_sim_use(&TABLE) };
        let result = run(entry, params.as_ptr().cast(), grid, options);
        let mut state = self.state();
        state.report = *result.as_ref().unwrap_or(&Report::default());
        state.steps += state.report.steps;
        result.map(|_| ()).map_err(|failure| failed(self.explain(failure)))
    }

    fn mark(&self) -> Result<Mark> {
        Ok(Mark::from_raw(self.state().steps))
    }

    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<Duration> {
        let at = |mark: &Mark| mark.raw().expect("a mark of this device");
        Ok(Duration::from_secs_f64((at(to) - at(from)) as f64 / STEPS_PER_SECOND as f64))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn compile_time(&self) -> Duration {
        Duration::ZERO
    }
}
