//! `rayq kernels`: the kernels' source for other compilers, and a check that they compile without a GPU.

use crate::KERNEL_SOURCES;
use crate::device::cache::Cache;
use crate::device::rtc::{Compiled, wrapper};
use crate::device::{hiprtc, hiprtc::HipRtc, nvrtc::Nvrtc};
use crate::error::{Error, Result};
use crate::programs::{Axis, COUNTED, COUNTED_PROGRAMS, PROGRAMS, Unit};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// List, export or compile the kernels; no GPU is needed
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write the source of the kernels here, and under units/ one file a variant that a compiler can be given
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// Compile for these architectures, such as cuda:sm_90 or hip:gfx90a; warnings fail too. Every variant for the first,
    /// if it is NVIDIA's; for the others each program with one queue, and no instrumented builds
    #[arg(long, value_name = "ARCH", num_args = 1..)]
    compile: Vec<String>,
    /// With --compile: write the code of every variant here, VARIANT.ARCH.cubin and .ptx, or .co
    #[arg(long, value_name = "DIR", requires = "compile")]
    code: Option<PathBuf>,
    /// Compile the source on stdin with this hipRTC: what rayq asks of itself, as hipRTC may abort its process
    #[arg(long, hide = true, value_name = "LIBRARY")]
    hiprtc_child: Option<PathBuf>,
    #[arg(long, hide = true, default_value = "kernel")]
    name: String,
    #[arg(last = true, hide = true)]
    options: Vec<String>,
}

/// Does what the options say; without any, lists the variants.
pub fn run(args: &Args) -> Result<()> {
    if let Some(library) = &args.hiprtc_child {
        return hiprtc::child(library, &args.name, &args.options);
    }
    if args.export.is_none() && args.compile.is_empty() {
        let line = |unit: Unit| format!("{} {}\n", unit.name(), unit.program.kernels.join(" "));
        super::print(&units().map(line).collect::<String>())?;
    }
    if let Some(folder) = &args.export {
        export(folder)?;
    }
    let targets = args.compile.iter().map(|t| Target::parse(t)).collect::<Result<Vec<_>>>()?;
    let bad = targets
        .iter()
        .enumerate()
        // (tools/check-amd.sh has clang compile every variant, in less time than hipRTC.)
        .map(|(i, target)| target.check(i == 0 && matches!(target, Target::Cuda(..)), args.code.as_deref()))
        .sum::<Result<usize>>()?;
    match bad {
        0 => Ok(()),
        _ => Err(Error::Device(format!("{bad} kernel variants failed or gave warnings"))),
    }
}

fn units() -> impl Iterator<Item = Unit> {
    PROGRAMS.iter().chain(COUNTED_PROGRAMS).flat_map(|program| program.units())
}

/// Whether the unit is no instrumented build, and its queue, if any, the first of its program's.
fn stands_for_others(unit: &Unit) -> bool {
    let first = |(axis, value): (&&Axis, &&str)| axis.name != "QUEUE" || axis.values.first() == Some(value);
    !unit.program.axes.contains(&&COUNTED) && unit.program.axes.iter().zip(&unit.choice).all(first)
}

fn export(folder: &Path) -> Result<()> {
    for (name, text) in KERNEL_SOURCES {
        write(folder, name, text.as_bytes())?;
    }
    for unit in units() {
        write(folder, &format!("units/{}.cpp", unit.name()), wrapper(&unit).as_bytes())?;
    }
    Ok(())
}

/// Writes a file in `folder`, which is made if it is not there.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let path = folder.join(name);
    let parent = path.parent().unwrap_or(folder);
    let done = std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, bytes));
    done.map_err(|e| Error::output(path, e))
}

/// A compiler and the architecture it shall compile for.
enum Target {
    Cuda(Nvrtc, i32),
    Hip(HipRtc, String),
}

impl Target {
    fn parse(text: &str) -> Result<Target> {
        let wrong = || Error::Input(format!("architecture `{text}` is not like cuda:sm_90 or hip:gfx90a"));
        let cache = Cache::of_user();
        match text.split_once(':').ok_or_else(wrong)? {
            ("cuda", arch) => {
                let capability = arch.strip_prefix("sm_").and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
                Ok(Target::Cuda(Nvrtc::find(&cache, None, capability)?, capability))
            }
            ("hip", arch) if arch.starts_with("gfx") => Ok(Target::Hip(HipRtc::find(&cache)?, arch.into())),
            _ => Err(wrong()),
        }
    }

    fn title(&self) -> String {
        match self {
            Target::Cuda(compiler, capability) => format!("cuda:sm_{capability} with {}", compiler.name()),
            Target::Hip(compiler, arch) => format!("hip:{arch} with {}", compiler.name()),
        }
    }

    fn compile(&self, unit: &Unit) -> Result<Compiled> {
        match self {
            Target::Cuda(compiler, capability) => compiler.compile(unit, *capability),
            Target::Hip(compiler, arch) => compiler.compile(unit, arch),
        }
    }

    fn write(&self, unit: &Unit, folder: &Path, code: &[u8], ptx: &[u8]) -> Result<()> {
        let file = |arch: &str, kind| format!("{}.{arch}.{kind}", unit.name());
        match self {
            Target::Cuda(_, capability) => {
                let arch = format!("sm_{capability}");
                write(folder, &file(&arch, "cubin"), code)?;
                write(folder, &file(&arch, "ptx"), ptx)
            }
            Target::Hip(_, arch) => write(folder, &file(arch, "co"), code),
        }
    }

    /// Compiles every variant, or only those that stand for the others; the number that failed or gave warnings.
    fn check(&self, every: bool, folder: Option<&Path>) -> Result<usize> {
        super::print(&format!("{}\n", self.title()))?;
        let units: Vec<_> = units().filter(|unit| every || stands_for_others(unit)).collect();
        units.par_iter().map(|unit| Ok(usize::from(!self.check_unit(unit, folder)?))).sum()
    }

    /// Compiles one variant; whether that went without a word.
    fn check_unit(&self, unit: &Unit, folder: Option<&Path>) -> Result<bool> {
        let start = Instant::now();
        let result = self.compile(unit);
        let seconds = start.elapsed().as_secs_f64();
        let (said, good) = match result {
            Ok(Compiled { code, ptx, log }) => {
                if let Some(folder) = folder {
                    self.write(unit, folder, &code, &ptx)?;
                }
                (format!("{:>8} bytes {seconds:>6.2} s\n{log}", code.len()), log.is_empty())
            }
            Err(why) => (format!("failed after {seconds:.2} s\n{why}"), false),
        };
        super::print(&format!("  {:<40} {}\n", unit.name(), said.trim_end()))?;
        Ok(good)
    }
}
