//! Compiles the kernels for the CPU and embeds their source for the run-time compilers of GPUs.
//!
//! Makes in OUT_DIR: layout.h (from src/layout/), sources.rs (every file under kernels/, embedded) and
//! cpu_kernels.rs (the table of compiled entry points).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::{env, fmt::Write as _, fs, path::Path, path::PathBuf};

#[path = "src/layout/mod.rs"]
#[allow(dead_code, unused_imports)]
mod layout;
#[path = "build/lint.rs"]
mod lint;
#[path = "src/programs.rs"]
#[allow(dead_code)]
mod programs;

/// A build of the CPU kernels: its name in symbols, and the flags beyond the common ones.
const BASELINE: (&str, &[&str]) = ("base", &[]);
const X86_64_V3: (&str, &[&str]) = ("v3", &["-march=x86-64-v3"]);
/// Kernels whose speed is of no account: one build for all processors, and not much of the compiler's time.
const COUNTED: (&str, &[&str]) = ("counted", &["-O1"]);

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    println!("cargo::rerun-if-changed=kernels");
    println!("cargo::rerun-if-changed=src/layout");
    println!("cargo::rerun-if-changed=src/programs.rs");
    fs::write(out.join("layout.h"), layout::header()).expect("OUT_DIR is writable");
    let mut sources = embed_sources(&out);
    sources.push(out.join("layout.h"));

    let x86 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|a| a == "x86_64");
    let builds: &[_] = if x86 { &[COUNTED, BASELINE, X86_64_V3] } else { &[COUNTED, BASELINE] };
    let mut compiled = vec![];
    for (isa, flags) in builds {
        let units = units_for(isa);
        compile_cpu(&out, isa, flags, &units, &sources);
        compiled.push((*isa, units));
    }
    fs::write(out.join("cpu_kernels.rs"), cpu_table(&compiled)).expect("OUT_DIR is writable");
    println!(
        "cargo::rustc-env=RAYQ_COMMIT={}",
        git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or("unknown".into())
    );
    // HEAD says which branch it is, and its log changes with each commit. A file that is not there, as in an unpacked
    // archive, would mean building anew every time.
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(file) = git(&["rev-parse", "--git-path", name]).filter(|file| Path::new(file).exists()) {
            println!("cargo::rerun-if-changed={file}");
        }
    }
}

/// What a build has.
fn units_for(isa: &str) -> Vec<programs::Unit> {
    let programs = if isa == COUNTED.0 { programs::COUNTED_PROGRAMS } else { programs::PROGRAMS };
    programs.iter().flat_map(|p| p.units()).collect()
}

/// What git says in one line; nothing without git or outside a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = std::process::Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Writes sources.rs: (path under kernels/, text) of every kernel file. Returns these files.
fn embed_sources(out: &Path) -> Vec<PathBuf> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("kernels");
    let mut files = vec![];
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("kernels/ is readable") {
            let path = entry.expect("kernels/ is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "h" || e == "cpp") {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut text = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).expect("under root").to_string_lossy().replace('\\', "/");
        writeln!(text, "({name:?}, include_str!({:?})),", file.to_string_lossy()).expect("to a string");
    }
    text += "(\"layout.h\", include_str!(concat!(env!(\"OUT_DIR\"), \"/layout.h\"))),\n]\n";
    fs::write(out.join("sources.rs"), text).expect("OUT_DIR is writable");
    files
}

/// One object a unit, one library an instruction set.
fn compile_cpu(out: &Path, isa: &str, flags: &[&str], units: &[programs::Unit], sources: &[PathBuf]) {
    let folder = out.join(isa);
    fs::create_dir_all(&folder).expect("OUT_DIR is writable");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").opt_level(3).debug(false).include("kernels").include(out);
    // One IEEE rounding each; the two relaxations change no value and let loops with sqrt vectorise.
    build
        .flag("-ffp-contract=off")
        .flag("-fno-math-errno")
        .flag("-fno-trapping-math")
        .flag("-fno-exceptions");
    build.flag("-fno-rtti").flag("-Wall").flag("-Wextra").flag_if_supported("-Wno-unknown-pragmas");
    // GCC's note of how vectors were passed long ago: none is passed, everything that takes one is inlined.
    build.flag_if_supported("-Wno-psabi");
    flags.iter().for_each(|f| {
        build.flag(f);
    });
    let mut texts = vec![];
    for unit in units {
        let name = format!("rq_{isa}_{}", unit.name());
        // A namespace of its own for each unit: `static` on a member function means external linkage, and the
        // linker would take one unit's copy for all, baseline or not.
        let mut text = format!("#define RQ_UNIT {name}\n#define rq {name}_\n");
        unit.defines().iter().for_each(|d| writeln!(text, "#define {d} 1").expect("to a string"));
        writeln!(text, "#include \"{}\"", unit.program.file).expect("to a string");
        let file = folder.join(format!("{}.cpp", unit.name()));
        fs::write(&file, &text).expect("OUT_DIR is writable");
        build.file(file);
        texts.push(text);
    }
    if isa == BASELINE.0 {
        build.file("kernels/platform/cpu_host.cpp");
    }
    if !lint::is_lint() {
        compile_unless_done(&mut build, out, &format!("rayq_kernels_{isa}"), &texts, sources);
    }
}

/// Makes the library, which takes minutes, unless it is there and was made of the same: a commit alone runs this script.
fn compile_unless_done(
    build: &mut cc::Build,
    out: &Path,
    library: &str,
    texts: &[String],
    sources: &[PathBuf],
) {
    let mut inputs = DefaultHasher::new();
    texts.hash(&mut inputs);
    format!("{:?}", build.get_compiler().to_command()).hash(&mut inputs);
    for source in sources {
        fs::read(source).expect("sources are readable").hash(&mut inputs);
    }
    let (inputs, stamp) = (inputs.finish().to_string(), out.join(format!("{library}.inputs")));
    let archive = out.join(format!("lib{library}.a"));
    if !(archive.exists() && fs::read_to_string(&stamp).is_ok_and(|made_of| made_of == inputs)) {
        build.cargo_metadata(false).compile(library);
        fs::write(&stamp, &inputs).expect("OUT_DIR is writable");
    }
    println!("cargo::rustc-link-search=native={}", out.display());
    println!("cargo::rustc-link-lib=static={library}");
    let apple = env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|vendor| vendor == "apple");
    println!("cargo::rustc-link-lib={}", if apple { "c++" } else { "stdc++" });
}

/// The text of cpu_kernels.rs: declarations, and a table of (isa, unit, kernel, function).
fn cpu_table(builds: &[(&str, Vec<programs::Unit>)]) -> String {
    let mut declarations = String::from("unsafe extern \"C\" {\n");
    let mut table = String::from("static CPU_KERNELS: &[(&str, &str, &str, CpuEntry)] = &[\n");
    for (isa, units) in builds {
        for unit in units {
            for kernel in unit.program.kernels {
                let symbol = format!("rq_{isa}_{}_{kernel}", unit.name());
                writeln!(declarations, "fn {symbol}(params: *const u8);").expect("to a string");
                writeln!(table, "({isa:?}, {:?}, {kernel:?}, {symbol}),", unit.name()).expect("to a string");
            }
        }
    }
    format!("{declarations}}}\n{table}];\n")
}
