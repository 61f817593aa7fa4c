//! Compiles every rayq kernel, and the simulator's own, for the simulated platform.
//!
//! Makes in OUT_DIR: layout.h (as the root build script does), one source a unit, and sim_kernels.rs (the
//! table of compiled entry points).

use std::{env, fmt::Write as _, fs, path::Path, path::PathBuf};

mod extra;
#[path = "../../src/layout.rs"]
#[allow(dead_code)]
mod layout;
#[path = "../../src/programs.rs"]
#[allow(dead_code)]
mod programs;

/// A compilation: the name that its symbols start with, its file, macros and entry points.
struct Job {
    unit: String,
    file: String,
    defines: Vec<String>,
    kernels: Vec<String>,
}

fn jobs() -> Vec<Job> {
    let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
    let units = programs::PROGRAMS.iter().flat_map(|p| p.units());
    let shipped = units.map(|u| Job {
        unit: u.name(),
        file: u.program.file.into(),
        defines: u.defines(),
        kernels: owned(u.program.kernels),
    });
    let extras = extra::EXTRAS.iter().map(|e| Job {
        unit: e.unit.into(),
        file: e.file.into(),
        defines: owned(e.defines),
        kernels: owned(e.kernels),
    });
    shipped.chain(extras).collect()
}

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for input in ["../../kernels", "../../src/layout.rs", "../../src/programs.rs", "kernels", "extra.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    fs::write(out.join("layout.h"), layout::header()).expect("OUT_DIR is writable");
    let jobs = jobs();
    compile(&out, &jobs);
    fs::write(out.join("sim_kernels.rs"), table(&jobs)).expect("OUT_DIR is writable");
}

/// Unoptimised, with frame pointers: see kernels/platform/sim.h. Exceptions let a panic of the host pass.
fn compile(out: &Path, jobs: &[Job]) {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(0).debug(false).define("RQ_SIM", None);
    build.include("../../kernels").include("kernels").include(out);
    for flag in
        ["-fexceptions", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-ffp-contract=off"]
    {
        build.flag(flag);
    }
    build.flag("-fno-rtti").flag("-Wall").flag("-Wextra").flag_if_supported("-Wno-unknown-pragmas");
    for job in jobs {
        let mut text = format!("#define RQ_UNIT {}\n", symbol(job));
        job.defines.iter().for_each(|d| writeln!(text, "#define {d} 1").expect("to a string"));
        writeln!(text, "#include \"{}\"", job.file).expect("to a string");
        let file = out.join(format!("{}.cpp", symbol(job)));
        fs::write(&file, text).expect("OUT_DIR is writable");
        build.file(file);
    }
    build.file("kernels/thunks.cpp").compile("rayq_kernels_sim");
}

fn symbol(job: &Job) -> String {
    format!("rq_sim_{}", job.unit)
}

/// The text of sim_kernels.rs: declarations, and a table of (unit, kernel, function).
fn table(jobs: &[Job]) -> String {
    let mut declarations = String::from("unsafe extern \"C-unwind\" {\n");
    let mut table = String::from("static SIM_KERNELS: &[(&str, &str, SimEntry)] = &[\n");
    for job in jobs {
        for kernel in &job.kernels {
            let symbol = format!("{}_{kernel}", symbol(job));
            writeln!(declarations, "fn {symbol}(params: *const u8);").expect("to a string");
            writeln!(table, "({:?}, {kernel:?}, {symbol}),", job.unit).expect("to a string");
        }
    }
    format!("{declarations}}}\n{table}];\n")
}
