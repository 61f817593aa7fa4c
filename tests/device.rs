//! Devices from outside: choosing them, what is said when they cannot be used, and one set of checks that
//! every device must pass.
//!
//! The ways of failing need drivers that fail: tests build such libraries from C and put them first on the
//! loader's path of a child process.

#![allow(clippy::unwrap_used)] // a test that cannot go on has failed

use bytemuck::Zeroable;
use rayq::device::{BLOCK_THREADS, Buffer, Device, Shape, cover, launch, select};
use rayq::error::Error;
use rayq::layout::ProbeParams;
use rayq::programs::PROBE;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

// ---- every device

fn every_device(check: impl Fn(&Arc<dyn Device>)) {
    let usable: Vec<_> = select::list().into_iter().filter(|l| l.problem.is_none()).collect();
    assert!(usable.iter().any(|l| l.id == "cpu"));
    for listed in usable {
        let device = select::open(&listed.id, Some(2)).expect("a device that is listed as usable opens");
        assert_eq!(device.info().id, listed.id);
        check(&device);
    }
}

fn probe(device: &Arc<dyn Device>, kernel: &'static str, shared: u32, params: &ProbeParams) {
    let kernel = device.kernel(&PROBE.unit(&[]), kernel).unwrap();
    let shape = Shape { shared, ..cover(&**device, params.count) };
    assert!(device.resident_blocks(&kernel, shape.threads, shared).unwrap() >= device.info().compute_units);
    // SAFETY: the parameters of the probe kernels, whose arrays the callers made long enough.
    unsafe { launch(device, &kernel, shape, params) }.unwrap();
}

#[test]
fn memory_keeps_what_is_written() {
    every_device(|device| {
        let numbers: Vec<u32> = (0..100_003).collect();
        let buffer = Buffer::from_slice(device, &numbers, "numbers").unwrap();
        assert_eq!(buffer.ptr().0 % 256, 0, "alignment");
        assert_eq!(buffer.to_vec().unwrap(), numbers);
        buffer.write(100_000, &[7, 8, 9]).unwrap();
        let mut end = [0; 4];
        buffer.read(99_999, &mut end).unwrap();
        assert_eq!(end, [99_999, 7, 8, 9]);
        buffer.zero().unwrap();
        assert!(buffer.to_vec().unwrap().iter().all(|n| *n == 0));
        let none = Buffer::<u64>::zeroed(device, 0, "nothing").unwrap();
        assert!(none.is_empty() && none.to_vec().unwrap().is_empty());
    });
}

#[test]
fn tickets_of_waves_are_distinct_and_complete() {
    every_device(|device| {
        for count in [1u64, 31, 33, 1000, 100_003] {
            let counter = Buffer::<u64>::zeroed(device, 1, "counter").unwrap();
            let slots = Buffer::<u64>::zeroed(device, count as usize, "slots").unwrap();
            let params =
                ProbeParams { counter: counter.ptr(), slots: slots.ptr(), count, ..ProbeParams::zeroed() };
            probe(device, "probe_tickets", 0, &params);
            assert_eq!(counter.to_vec().unwrap(), [count]);
            assert!(slots.to_vec().unwrap().iter().zip(1..).all(|(slot, place)| *slot == place));
        }
    });
}

#[test]
fn a_compare_and_swap_changes_what_it_expects_only() {
    every_device(|device| {
        let words: Vec<u64> = (0..5000).map(|i| if i % 3 == 0 { i + 1 } else { i }).collect();
        let slots = Buffer::from_slice(device, &words, "slots").unwrap();
        let params = ProbeParams { slots: slots.ptr(), count: 5000, ..ProbeParams::zeroed() };
        probe(device, "probe_cas", 0, &params);
        let expected = (0..5000).map(|i| if i % 3 == 0 { i + 1 } else { i + 7 });
        assert!(slots.to_vec().unwrap().into_iter().eq(expected));
    });
}

/// Bits, not closeness: roots, quotients and fused products are IEEE's on every device, for operands and
/// results of the magnitudes that kernels keep to.
#[test]
fn arithmetic_is_the_same_to_the_bit() {
    every_device(|device| {
        let factor = 1.1f32;
        let (low, high) = (2f32.powi(-98).to_bits(), 2f32.powi(98).to_bits());
        let values: Vec<f32> = (low..high).step_by(7919).map(f32::from_bits).collect();
        let buffer = Buffer::from_slice(device, &values, "values").unwrap();
        let params =
            ProbeParams { values: buffer.ptr(), count: values.len() as u64, factor, ..ProbeParams::zeroed() };
        probe(device, "probe_arithmetic", 4 * BLOCK_THREADS, &params);
        for (v, found) in values.iter().zip(buffer.to_vec().unwrap()) {
            let expected = v.mul_add(factor, 1.0 / v) + v.sqrt() * factor;
            assert_eq!(expected.to_bits(), found.to_bits(), "{v:e}: {expected:e} and {found:e}");
        }
    });
}

#[test]
fn marks_measure_time_and_order() {
    every_device(|device| {
        for _ in 0..3 {
            let (from, to) = (device.mark().unwrap(), device.mark().unwrap());
            assert!(device.elapsed(&from, &to).unwrap().as_secs() < 10);
        }
        device.synchronize().unwrap();
    });
}

#[test]
fn threads_may_share_a_device() {
    every_device(|device| {
        std::thread::scope(|threads| {
            for n in 1..4u64 {
                threads.spawn(move || {
                    let buffer = Buffer::from_slice(device, &vec![n; 1000], "words").unwrap();
                    assert_eq!(buffer.to_vec().unwrap(), vec![n; 1000]);
                });
            }
        });
    });
}

#[test]
fn e58_more_memory_than_there_is_is_an_error_with_figures() {
    every_device(|device| {
        let error = Buffer::<u64>::new(device, 1 << 44, "a queue of 2^44 slots").err().expect("128 TiB");
        let Error::Memory { what, why, .. } = error else { panic!("{error}") };
        assert_eq!(what, "a queue of 2^44 slots");
        assert!(why.contains("140737488355328 bytes") && why.ends_with("are free"), "{why}");
        assert_eq!(Buffer::<u64>::zeroed(device, 10, "ten").unwrap().to_vec().unwrap(), [0; 10]);
    });
}

// ---- the command

fn rayq(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rayq"));
    for name in ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"] {
        command.env_remove(name);
    }
    command.args(arguments).envs(environment.iter().copied()).output().unwrap()
}

/// Renders `case`'s scene on `device`; the output, and whether a picture was written.
fn render(case: &str, device: &str, environment: &[(&str, &str)]) -> (Output, bool) {
    let scene = format!("{}/tests/cases/{case}/scene.json", env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("o.png");
    let output = rayq(&["render", &scene, "-o", picture.to_str().unwrap(), "--device", device], environment);
    (output, picture.exists())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Compiles a C file of tests/ as a shared library.
fn library(source: &str, to: &Path, flags: &[&str]) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    let source = format!("{}/tests/{source}", env!("CARGO_MANIFEST_DIR"));
    let made =
        Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(to).arg(source).args(flags).status();
    assert!(made.unwrap().success());
}

#[test]
fn e52_a_driver_that_lacks_functions_is_named_not_called() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        library("cases/E52/stub.c", &folder.path().join(name), &[]);
    }
    let environment = [("LD_LIBRARY_PATH", folder.path().to_str().unwrap())];
    let (output, written) = render("E52", "cuda", &environment);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("12.2") && said.contains("525 (CUDA 12.0) or newer") && said.contains("cuGetErrorName"),
        "{said}"
    );
    assert!(!said.contains("panicked") && !written);

    let (output, written) = render("E52", "cpu", &environment);
    assert!(output.status.success() && written, "{}", text(&output.stderr));
    let listed = text(&rayq(&["devices"], &environment).stdout);
    assert!(listed.starts_with("cpu") && listed.contains("CUDA 12.2"), "{listed}");
}

#[test]
fn e54_a_device_that_is_not_there_is_an_error_that_lists_what_is() {
    for (spec, code) in [("cuda:99", 3), ("hip:99", 3), ("cuda:-1", 2), ("cuda:x", 2), ("cpu:1", 2), ("", 2)]
    {
        let (output, written) = render("E54", spec, &[]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{spec}: {said}");
        assert!(said.contains(&format!("`{spec}`")) && said.contains("available: cpu ("), "{said}");
        assert!(!written && !said.contains("panicked"), "{said}");
    }
}

#[test]
fn e56_variables_that_hide_devices_are_quoted() {
    let hidden = [("ROCR_VISIBLE_DEVICES", "77"), ("HIP_VISIBLE_DEVICES", "78")];
    let listed = text(&rayq(&["devices"], &hidden).stdout);
    assert!(listed.starts_with("cpu"), "{listed}");
    for (name, value) in hidden {
        assert!(listed.contains(&format!("{name}=\"{value}\"")), "{listed}");
    }
    for value in ["", "-1"] {
        let (output, written) = render("E56", "cuda", &[("CUDA_VISIBLE_DEVICES", value)]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(&format!("CUDA_VISIBLE_DEVICES=\"{value}\"")) && !written, "{said}");
    }
}

#[test]
fn devices_are_listed_as_json_too() {
    let output = rayq(&["devices", "--json"], &[]);
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed[0]["id"], "cpu");
    assert_eq!(listed[0]["info"]["wave_size"], 1);
    let answered =
        |l: &serde_json::Value| l["info"].is_null() == l["problem"].is_string() || l["problem"].is_string();
    assert!(listed.as_array().unwrap().iter().all(answered), "{listed}");
}

#[test]
fn exported_kernels_are_complete() {
    let folder = tempfile::tempdir().unwrap();
    assert!(rayq(&["kernels", "--export", folder.path().to_str().unwrap()], &[]).status.success());
    for program in rayq::programs::PROGRAMS {
        for unit in program.units() {
            let file = folder.path().join(format!("units/{}.cpp", unit.name()));
            let mut compiler = Command::new("c++");
            compiler
                .args(["-std=c++17", "-fsyntax-only", "-DRQ_UNIT=unit", "-I"])
                .arg(folder.path())
                .arg(file);
            assert!(compiler.status().unwrap().success(), "{}", unit.name());
        }
    }
}

#[test]
fn architectures_that_nobody_makes_are_refused() {
    for arch in ["sm_90", "cuda:90", "hip:90a", "metal:3", "cuda:sm_"] {
        let output = rayq(&["kernels", "--compile", arch], &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(&format!("`{arch}`")));
    }
}

// ---- fake drivers

/// A machine with a fake GPU.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    /// An NVIDIA GPU whose driver is of CUDA 12, and NVRTC of these versions.
    fn cuda(compilers: &[u32]) -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        for name in ["libcuda.so", "libcuda.so.1"] {
            library("device/fake_cuda.c", &machine.path(&format!("lib/{name}")), &[]);
        }
        for major in compilers {
            let file = machine.path(&format!("lib/libnvrtc.so.{major}"));
            library("device/fake_nvrtc.c", &file, &[&format!("-DFAKE_MAJOR={major}")]);
        }
        machine
    }

    /// An AMD GPU.
    fn hip() -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        library("device/fake_hip.c", &machine.path("lib/libamdhip64.so.7"), &[]);
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What the compilers noted since last asked.
    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("log")).unwrap_or_default();
        std::fs::remove_file(self.path("log")).ok();
        text.lines().map(str::to_owned).collect()
    }

    /// A program that sees this machine.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.path("lib")).current_dir(self.folder.path());
        command.env("RAYQ_CACHE_DIR", self.path("cache")).env("FAKE_COMPILER_LOG", self.path("log"));
        for name in ["RAYQ_NVRTC", "RAYQ_HIPRTC", "CUDA_VISIBLE_DEVICES"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs the test `name` of this file anew on this machine; what it printed.
    fn run(&self, name: &str, environment: &[(&str, &str)]) -> String {
        let mut test = self.command(&std::env::current_exe().unwrap());
        test.args([name, "--exact", "--nocapture"]).env(CHILD, "1");
        let output = test.envs(environment.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }
}

/// Set in a process that `Machine::run` started.
const CHILD: &str = "RAYQ_TEST_ON_FAKE_MACHINE";

fn on_fake_machine() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// What there is to know of a fake GPU.
struct Fake {
    spec: &'static str,
    arch: &'static str,
    compiler: &'static str,
    library: &'static str,
    error: &'static str,
    shared: u32,
}

const CUDA: Fake = Fake {
    spec: "cuda:0",
    arch: "sm_90",
    compiler: "NVRTC 12.4",
    library: "libcuda.so",
    error: "CUDA_ERROR_INVALID_VALUE (says the fake driver)",
    shared: 200 << 10,
};
#[cfg(not(feature = "hip-runtime-sys"))]
const HIP: Fake = Fake {
    spec: "hip:0",
    arch: "gfx90a",
    compiler: "hipRTC 12.4",
    library: "libamdhip64.so.7",
    error: "hipErrorInvalidValue (says the fake runtime)",
    shared: 64 << 10,
};

/// What a process on a fake machine does: every call of a driver, and nothing left behind.
fn use_the_fake_gpu(fake: &Fake) {
    let device = select::open(fake.spec, None).unwrap();
    let info = device.info();
    assert_eq!((&*info.name, &*info.arch, info.compute_units), ("Fake GPU", fake.arch, 4));
    assert_eq!((&*info.id, &*info.compiler, info.memory), (fake.spec, fake.compiler, 1 << 30));
    let kernel = device.kernel(&PROBE.unit(&[]), "probe_cas").unwrap();
    assert_eq!(device.resident_blocks(&kernel, 256, 100).unwrap(), 8 * 4);
    let slots = Buffer::from_slice(&device, &[0u64, 1, 5], "slots").unwrap();
    let params = ProbeParams { slots: slots.ptr(), count: 3, ..ProbeParams::zeroed() };
    let shape = Shape { blocks: 1, threads: 64, shared: fake.shared };
    // SAFETY: what probe_cas takes.
    unsafe { launch(&device, &kernel, shape, &params) }.unwrap();
    assert_eq!(slots.to_vec().unwrap(), [7, 8, 5]);

    for _ in 0..50 {
        let (from, to) = (device.mark().unwrap(), device.mark().unwrap());
        assert_eq!(device.elapsed(&from, &to).unwrap().as_micros(), 1500);
    }
    assert!(fake_count(fake, "fake_events") <= 2, "events are used again");

    let much = Buffer::<u8>::new(&device, 1 << 31, "a large film").err().expect("there is 1 GiB");
    let device_name = format!("{} (Fake GPU)", fake.spec);
    let figures = "2147483648 bytes of device memory are needed and 1073741800 are free";
    let words = format!("{device_name}: a large film: {figures}; choose");
    assert!(much.to_string().starts_with(&words), "{much}");

    let wrong = Shape { threads: 2048, ..shape };
    // SAFETY: as above; the launch is refused.
    let refused = unsafe { launch(&device, &kernel, wrong, &params) }.unwrap_err().to_string();
    let parts = [&device_name, "launching probe_cas", "2048 lanes", fake.error];
    assert!(parts.iter().all(|part| refused.contains(part)), "{refused}");

    std::thread::scope(|threads| {
        // Another thread, where no device is current yet.
        threads.spawn(|| assert_eq!(slots.to_vec().unwrap(), [7, 8, 5]));
    });
    drop(slots);
    drop(device);
    assert_eq!((fake_count(fake, "fake_bytes_used"), fake_count(fake, "fake_events")), (0, 0));
}

fn fake_count(fake: &Fake, name: &str) -> u64 {
    // SAFETY: the fake driver, loaded already.
    let library = unsafe { libloading::Library::new(fake.library) }.unwrap();
    // SAFETY: its function of this type.
    unsafe { library.get::<unsafe extern "C" fn() -> u64>(name).unwrap()() }
}

/// A launch that never comes back: every command with a time limit ends, and says what it was at.
#[test]
fn a_hung_launch_is_not_waited_for() {
    let machine = Machine::cuda(&[12]);
    let scene = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/E41/scene.json");
    let render = format!("bench render {scene} --sizes 320x200");
    let commands = [
        (&*render, &[scene, "320x200, 1 spp, the reference: ", "megakernel"][..]),
        ("bench bfs path:5 --lanes 512", &["path:5, round 0 of 5: glfq, 512 lanes"]),
        ("bench queue --queues sfq --lanes 512", &["sfq, balanced", "512 lanes"]),
        ("bfs path:5 --queue gwfq --lanes 64", &["path:5, gwfq, run 0 of"]),
        ("profile bfs path:5 --queues sfq --no-profiler", &["path:5, sfq"]),
    ];
    let started = commands.map(|(words, parts)| {
        let mut command = machine.command(Path::new(env!("CARGO_BIN_EXE_rayq")));
        command.args(words.split(' ')).args(["--device", "cuda:0", "--timeout", "0.5", "--quiet"]);
        let command = command.env("FAKE_CUDA_HANG", "1").stdout(Stdio::null()).stderr(Stdio::piped());
        (words, parts, command.spawn().unwrap(), Instant::now())
    });
    for (words, parts, child, start) in started {
        let output = child.wait_with_output().unwrap();
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{words}: {error}");
        assert!(start.elapsed() < Duration::from_secs(30), "{words}: {:?}", start.elapsed());
        let common = ["still at ", ", 5 s beyond the time limit of 0.5 s; ", "give a longer --timeout"];
        assert!(parts.iter().chain(&common).all(|part| error.contains(part)), "{words}: {error}");
    }
}

/// The first process loads NVRTC and compiles; the next ones load nothing, until an entry is damaged.
#[test]
fn a_warm_start_does_not_even_load_the_compiler() {
    if on_fake_machine() {
        return use_the_fake_gpu(&CUDA);
    }
    let machine = Machine::cuda(&[12]);
    let run = || {
        machine.run("a_warm_start_does_not_even_load_the_compiler", &[]);
        machine.log()
    };
    let cold = run();
    assert_eq!(cold.iter().filter(|line| *line == "compiled 12").count(), 1, "{cold:?}");
    assert_eq!(run(), [""; 0]);
    for entry in std::fs::read_dir(machine.path("cache")).unwrap() {
        std::fs::write(entry.unwrap().path(), "damaged").unwrap();
    }
    assert!(run().contains(&"compiled 12".to_owned()));
    assert_eq!(run(), [""; 0]);
}

/// A driver of CUDA 12 takes NVRTC 12, though 13 is there too; 13 alone is refused with both versions.
#[test]
fn the_compiler_is_the_newest_that_the_driver_takes() {
    if on_fake_machine() {
        return match select::open("cuda", None) {
            Ok(device) => println!("opened with {}", device.info().compiler),
            Err(error) => println!("refused: {error}"),
        };
    }
    let said = |compilers: &[u32]| {
        Machine::cuda(compilers).run("the_compiler_is_the_newest_that_the_driver_takes", &[])
    };
    assert!(said(&[11, 12, 13]).contains("opened with NVRTC 12.4"));
    let refused = said(&[13]);
    assert!(refused.contains("NVRTC 13.4") && refused.contains("driver of CUDA 12"), "{refused}");
    let none = said(&[]);
    assert!(none.contains("refused: ") && none.contains("install CUDA's NVRTC"), "{none}");
}

/// Opens a fake GPU and prints why its kernels do not compile.
fn print_compile_error(spec: &str) {
    let device = select::open(spec, None).unwrap();
    println!("{}", device.kernel(&PROBE.unit(&[]), "probe_cas").unwrap_err());
}

#[test]
fn a_compile_failure_shows_the_log_and_the_architecture() {
    if on_fake_machine() {
        return print_compile_error("cuda");
    }
    let name = "a_compile_failure_shows_the_log_and_the_architecture";
    let error = Machine::cuda(&[12]).run(name, &[("FAKE_COMPILER_FAIL", "1")]);
    let parts =
        ["probe", "sm_90", "NVRTC 12.4", "NVRTC_ERROR_COMPILATION", "kernel.cpp(1): error: no such thing"];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
}

#[cfg(not(feature = "hip-runtime-sys"))]
#[test]
fn hip_compiles_once_and_is_used_in_full() {
    if on_fake_machine() {
        return use_the_fake_gpu(&HIP);
    }
    let machine = Machine::hip();
    for expected in [&["compiled"][..], &[]] {
        machine.run("hip_compiles_once_and_is_used_in_full", &[]);
        assert_eq!(machine.log(), expected);
    }
}

/// hipRTC ends its process when it meets an architecture it does not know: not ours.
#[cfg(not(feature = "hip-runtime-sys"))]
#[test]
fn an_abort_of_the_compiler_is_an_error() {
    if on_fake_machine() {
        return print_compile_error("hip");
    }
    let name = "an_abort_of_the_compiler_is_an_error";
    let aborted = Machine::hip().run(name, &[("FAKE_HIPRTC_ABORT", "1")]);
    assert!(
        aborted.contains("probe") && aborted.contains("aborted") && aborted.contains("gfx90a"),
        "{aborted}"
    );
    let failed = Machine::hip().run(name, &[("FAKE_COMPILER_FAIL", "1")]);
    assert!(failed.contains("HIPRTC_ERROR_COMPILATION") && failed.contains("no such thing"), "{failed}");
}
