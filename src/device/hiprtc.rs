//! Finds hipRTC, and asks it for code in a process of its own.
//!
//! hipRTC aborts its process for an architecture that it does not know well (Debian's 5.2 for gfx942), so it
//! is called by a child: the rayq program itself with the hidden option `kernels --hiprtc-child`. The child
//! reads a source from stdin and answers on stdout with the code, or on stderr with the compiler's words.

use super::cache::{Cache, Key};
use super::rtc::{Compiled, Flavour, Rtc, stamp, wrapper};
use crate::error::{Error, Result};
use crate::programs::Unit;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const INSTALL: &str = "install ROCm's hiprtc (Debian: libamdhip64-5)";

/// The library that holds hipRTC.
pub struct HipRtc {
    path: PathBuf,
    version: (i32, i32),
    identity: String,
}

impl HipRtc {
    /// The newest installed: libhiprtc, or the HIP runtime's library, which contains it in some releases.
    /// RAYQ_HIPRTC, if set, is the only candidate.
    pub fn find(cache: &Cache) -> Result<HipRtc> {
        let mut reasons = vec![];
        for path in candidates() {
            match HipRtc::at(cache, &path) {
                Ok(found) => return Ok(found),
                Err(why) => reasons.push(why.to_string()),
            }
        }
        if reasons.is_empty() {
            reasons.push("hipRTC, HIP's run-time compiler, was not found".into());
        }
        Err(Error::Device(format!("{}; {INSTALL}", reasons.join("; "))))
    }

    fn at(cache: &Cache, path: &Path) -> Result<HipRtc> {
        let path = path.canonicalize().map_err(|e| Error::Device(format!("{}: {e}", path.display())))?;
        let stamp = stamp(&path);
        let wrong = |e| Error::Device(format!("hipRTC: {e}"));
        let version = cache.get_or(&Key::new([&b"hiprtc version"[..], stamp.as_bytes()]), || {
            serde_json::to_vec(&Rtc::load(Flavour::HipRtc, &path)?.version()?).map_err(wrong)
        })?;
        let version: (i32, i32) = serde_json::from_slice(&version).map_err(wrong)?;
        let identity = format!("hipRTC {}.{} {stamp}", version.0, version.1);
        Ok(HipRtc { path, version, identity })
    }

    /// Name and version for reports.
    pub fn name(&self) -> String {
        format!("hipRTC {}.{}", self.version.0, self.version.1)
    }

    /// What its output depends on beside source and options.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The options for a target such as gfx942 or gfx90a:sramecc+:xnack-. Arithmetic is IEEE's, uncontracted;
    /// old releases take some of these for granted and would warn that they are unused.
    pub fn options(target: &str) -> Vec<String> {
        let fixed = [
            "-std=c++17",
            "-O3",
            "-ffp-contract=off",
            "-Wno-unused-command-line-argument",
            "-fhip-fp32-correctly-rounded-divide-sqrt",
            "-fno-gpu-flush-denormals-to-zero",
        ];
        std::iter::once(format!("--offload-arch={target}")).chain(fixed.map(String::from)).collect()
    }

    /// Compiles a unit for a target, in a child process.
    pub fn compile(&self, unit: &Unit, target: &str) -> Result<Compiled> {
        let fail =
            |why: String| Error::Device(format!("hip: compiling for {target} with {}: {why}", self.name()));
        let program = rayq_program().map_err(fail)?;
        let mut child = Command::new(&program)
            .args(["kernels", "--hiprtc-child"])
            .arg(&self.path)
            .args(["--name", &unit.name(), "--"])
            .args(HipRtc::options(target))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| fail(format!("{}: {e}", program.display())))?;
        let source = wrapper(unit);
        let written = child.stdin.take().map(|mut pipe| pipe.write_all(source.as_bytes()));
        let output = child.wait_with_output().map_err(|e| fail(e.to_string()))?;
        let log = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match (output.status.code(), written) {
            (Some(0), Some(Ok(()))) => Ok(Compiled { code: output.stdout, ptx: vec![], log }),
            (Some(_), _) => Err(fail(format!("{}: {log}", unit.name()))),
            (None, _) => Err(fail(format!(
                "{}: the compiler aborted ({}): it may not know this architecture; install a newer ROCm. {log}",
                unit.name(),
                output.status
            ))),
        }
    }
}

/// The child's side: compiles the source on stdin with the library at `path`, and writes the code to stdout
/// and the log to stderr.
pub fn child(path: &Path, name: &str, options: &[String]) -> Result<()> {
    let mut source = String::new();
    let read = std::io::stdin().read_to_string(&mut source);
    read.map_err(|e| Error::Input(format!("source on stdin: {e}")))?;
    let compiled = Rtc::load(Flavour::HipRtc, path)?.compile(name, &source, options)?;
    if !compiled.log.is_empty() {
        eprintln!("{}", compiled.log);
    }
    std::io::stdout().write_all(&compiled.code).map_err(|e| Error::output("stdout", e))
}

/// The rayq program: this one, or the one beside or above it (tests and benches lie below it).
fn rayq_program() -> std::result::Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let name = format!("rayq{}", std::env::consts::EXE_SUFFIX);
    let folders = this.ancestors().skip(1).take(2);
    let mut places = folders.map(|folder| folder.join(&name));
    places.find(|p| p.is_file()).ok_or_else(|| {
        format!("{name}, which runs the compiler, is neither beside {} nor above it", this.display())
    })
}

/// Where hipRTC may be, newest first.
fn candidates() -> Vec<PathBuf> {
    if let Some(file) = std::env::var_os("RAYQ_HIPRTC").filter(|v| !v.is_empty()) {
        return vec![file.into()];
    }
    let folders = super::loader::folders(&["/opt/rocm"]);
    let versions = [".7", ".6", ".5", ""];
    let names = ["libhiprtc.so", "libamdhip64.so"].map(|name| versions.map(|v| format!("{name}{v}")));
    let files = names.iter().flatten().flat_map(|name| folders.iter().map(move |f| f.join(name)));
    files.filter(|file| file.is_file()).collect()
}
