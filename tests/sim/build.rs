//! Compiles every rayq kernel, and the simulator's own, for the simulated platform.
//!
//! Makes in OUT_DIR: layout.h (as the root build script does), one source a unit, and sim_kernels.rs (the
//! table of compiled entry points).

use std::{env, fmt::Write as _, fs, path::Path, path::PathBuf};

#[path = "../../src/layout/mod.rs"]
#[allow(dead_code, unused_imports)]
mod layout;
#[path = "../../build/lint.rs"]
mod lint;
mod mutants;
#[path = "../../src/programs.rs"]
#[allow(dead_code)]
mod programs;

/// A compilation: the name that its symbols start with, its file, macros, entry points, and where to look for
/// headers first.
struct Job {
    unit: String,
    file: &'static str,
    defines: Vec<String>,
    kernels: &'static [&'static str],
    headers: Option<PathBuf>,
}

/// Every unit of rayq, the simulator's own, and the probes of planted bugs.
fn jobs(out: &Path) -> Vec<Job> {
    let shipped = programs::PROGRAMS.iter().flat_map(|p| p.units()).map(|unit| Job {
        unit: unit.name(),
        file: unit.program.file,
        defines: unit.defines(),
        kernels: unit.program.kernels,
        headers: None,
    });
    let own = Job {
        unit: "selftest".into(),
        file: "selftest.cpp",
        defines: vec![],
        kernels: &["selftest"],
        headers: None,
    };
    let planted = mutants::MUTANTS.iter().filter_map(|mutant| {
        let unit = programs::QUEUE_PROBE.unit(&[mutant.queue]);
        Some(Job {
            unit: format!("{}_{}", mutant.queue, mutant.name),
            file: unit.program.file,
            defines: unit.defines(),
            kernels: unit.program.kernels,
            headers: Some(plant(out, mutant)?),
        })
    });
    shipped.chain([own]).chain(planted).chain(examples(out)).collect()
}

/// The example of docs/adding-a-queue.md in the queue probe, with the memory of an SFQ ring: as it is, and with a
/// planted bug.
fn examples(out: &Path) -> Vec<Job> {
    let source = fs::read_to_string("../../docs/examples/lock_ring.h").expect("docs/ is readable");
    let example = |name: &str, source: String| {
        let folder = out.join("examples").join(name);
        fs::create_dir_all(folder.join("queue")).expect("OUT_DIR is writable");
        fs::write(folder.join("queue/lock_ring.h"), source).expect("OUT_DIR is writable");
        let select =
            "#pragma once\n#include \"queue/lock_ring.h\"\nnamespace rq {\ntypedef LockRing TheQueue;\n}\n";
        fs::write(folder.join("queue/select.h"), select).expect("OUT_DIR is writable");
        let unit = programs::QUEUE_PROBE.unit(&["sfq"]);
        Job {
            unit: format!("sfq_{name}"),
            file: unit.program.file,
            defines: unit.defines(),
            kernels: unit.program.kernels,
            headers: Some(folder),
        }
    };
    let wrong = source.replace("atomic_load<Order::acquire>(turn(q))", "atomic_load(turn(q))");
    assert_ne!(source, wrong, "lock_ring.h has changed: plant the bug elsewhere");
    vec![example("lock_ring", source), example("lock_ring_unacquired", wrong)]
}

/// Writes a mutant's header to a folder of its own.
fn plant(out: &Path, mutant: &mutants::Mutant) -> Option<PathBuf> {
    let source = fs::read_to_string(Path::new("../../kernels").join(mutant.file)).unwrap_or_default();
    if source.matches(mutant.text).count() != 1 {
        println!("cargo::warning=mutants.rs: {} has not once: {}", mutant.file, mutant.text);
        return None;
    }
    let folder = out.join("mutants").join(mutant.queue).join(mutant.name);
    let file = folder.join(mutant.file);
    fs::create_dir_all(file.parent().expect("a folder")).expect("OUT_DIR is writable");
    fs::write(file, source.replace(mutant.text, mutant.planted)).expect("OUT_DIR is writable");
    Some(folder)
}

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for input in [
        "../../kernels",
        "../../docs/examples",
        "../../src/layout",
        "../../src/programs.rs",
        "kernels",
        "mutants.rs",
    ] {
        println!("cargo::rerun-if-changed={input}");
    }
    fs::write(out.join("layout.h"), layout::header()).expect("OUT_DIR is writable");
    let jobs = jobs(&out);
    let (planted, plain): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| job.headers.is_some());
    compile(&out, "rayq_kernels_sim", &plain, true);
    for job in planted {
        compile(&out, &symbol(job), &[job], false);
    }
    fs::write(out.join("sim_kernels.rs"), table(&jobs)).expect("OUT_DIR is writable");
}

/// Unoptimised, with frame pointers: see kernels/platform/sim.h. Exceptions let a panic of the host pass.
fn compile(out: &Path, library: &str, jobs: &[&Job], with_thunks: bool) {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(0).debug(false).define("RQ_SIM", None);
    // Waiting operations come back to their caller soon.
    build.define("RQ_TEST_POLLS", "16");
    jobs.iter().flat_map(|job| &job.headers).for_each(|folder| {
        build.include(folder);
    });
    build.include("../../kernels").include("kernels").include(out);
    for flag in
        ["-fexceptions", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-ffp-contract=off"]
    {
        build.flag(flag);
    }
    build.flag("-fno-rtti").flag("-Wall").flag("-Wextra").flag_if_supported("-Wno-unknown-pragmas");
    for job in jobs {
        // A namespace for each unit: inline functions of the same name must not be merged into one.
        let mut text = format!("#define RQ_UNIT {0}\n#define rq {0}\n", symbol(job));
        job.defines.iter().for_each(|d| writeln!(text, "#define {d} 1").expect("to a string"));
        writeln!(text, "#include \"{}\"", job.file).expect("to a string");
        let file = out.join(format!("{}.cpp", symbol(job)));
        fs::write(&file, text).expect("OUT_DIR is writable");
        build.file(file);
    }
    if with_thunks {
        build.file("kernels/thunks.cpp");
    }
    if !lint::is_lint() {
        build.compile(library);
    }
}

fn symbol(job: &Job) -> String {
    format!("rq_sim_{}", job.unit)
}

/// The text of sim_kernels.rs: declarations, and a table of (unit, kernel, function).
fn table(jobs: &[Job]) -> String {
    let mut declarations = String::from("unsafe extern \"C-unwind\" {\n");
    let mut table = String::from("static SIM_KERNELS: &[(&str, &str, SimEntry)] = &[\n");
    for job in jobs {
        for kernel in job.kernels {
            let symbol = format!("{}_{kernel}", symbol(job));
            writeln!(declarations, "fn {symbol}(params: *const u8);").expect("to a string");
            writeln!(table, "({:?}, {kernel:?}, {symbol}),", job.unit).expect("to a string");
        }
    }
    format!("{declarations}}}\n{table}];\n")
}
