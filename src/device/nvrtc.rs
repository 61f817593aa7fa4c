//! Finds the NVRTC to use, and asks it for code.
//!
//! Loading NVRTC takes half a second, so a warm start must not: what is asked of a library before compiling
//! (its version, the architectures it knows) is kept in the cache under its path, size and time of change.

use super::cache::{Cache, Key};
use super::rtc::{Compiled, Flavour, Rtc, stamp, wrapper};
use crate::error::{Error, Result};
use crate::programs::Unit;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How to get one; completes errors.
const INSTALL: &str = "install CUDA's NVRTC (Debian and Ubuntu: cuda-nvrtc-<version> or libnvrtc12; or the Python wheel nvidia-cuda-nvrtc) or let RAYQ_NVRTC name the file libnvrtc.so.<version>";

/// An NVRTC library, loaded when it has to compile.
pub struct Nvrtc {
    path: PathBuf,
    version: (i32, i32),
    architectures: Vec<i32>,
    /// The library file and its version: what code depends on beside source and options.
    identity: String,
    loaded: OnceLock<Rtc>,
}

impl Nvrtc {
    /// The newest that knows compute capability `capability` (90 for sm_90) and is not of a later major
    /// version than the driver's CUDA; RAYQ_NVRTC, if set, is the only candidate. `None` asks for no driver.
    pub fn find(cache: &Cache, driver_major: Option<i32>, capability: i32) -> Result<Nvrtc> {
        let mut reasons = vec![];
        for path in candidates() {
            match Nvrtc::at(cache, &path).and_then(|n| n.fits(driver_major, capability).map(|()| n)) {
                Ok(nvrtc) => return Ok(nvrtc),
                Err(why) => reasons.push(why.to_string()),
            }
        }
        if reasons.is_empty() {
            reasons.push("NVRTC, CUDA's run-time compiler, was not found".into());
        }
        Err(Error::Device(format!("{}; {INSTALL}", reasons.join("; "))))
    }

    fn at(cache: &Cache, path: &Path) -> Result<Nvrtc> {
        let path = path.canonicalize().map_err(|e| Error::Device(format!("{}: {e}", path.display())))?;
        let stamp = stamp(&path);
        let mut loaded = OnceLock::new();
        let facts = cache.get_or(&Key::new([&b"nvrtc facts"[..], stamp.as_bytes()]), || {
            let rtc = Rtc::load(Flavour::Nvrtc, &path)?;
            let facts = (rtc.version()?, rtc.architectures()?);
            loaded = OnceLock::from(rtc);
            serde_json::to_vec(&facts).map_err(|e| Error::Device(format!("NVRTC: {e}")))
        })?;
        let (version, architectures): ((i32, i32), Vec<i32>) =
            serde_json::from_slice(&facts).map_err(|e| Error::Device(format!("NVRTC: {e}")))?;
        let identity = format!("NVRTC {}.{} {stamp}", version.0, version.1);
        Ok(Nvrtc { path, version, architectures, identity, loaded })
    }

    fn fits(&self, driver_major: Option<i32>, capability: i32) -> Result<()> {
        if let Some(driver) = driver_major.filter(|d| self.version.0 > *d) {
            return Err(Error::Device(format!(
                "{} ({}) is too new for a driver of CUDA {driver}",
                self.name(),
                self.path.display()
            )));
        }
        if self.architectures.first().is_some_and(|oldest| capability < *oldest) {
            return Err(Error::Device(format!(
                "{} ({}) does not know sm_{capability} any more",
                self.name(),
                self.path.display()
            )));
        }
        Ok(())
    }

    /// Name and version for reports.
    pub fn name(&self) -> String {
        format!("NVRTC {}.{}", self.version.0, self.version.1)
    }

    /// What its output depends on beside source and options.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The options for a compute capability: code of exactly that architecture, or, for one newer than this
    /// NVRTC, PTX of the newest one it knows, which the driver completes. Arithmetic is IEEE's, uncontracted.
    pub fn options(&self, capability: i32) -> Vec<String> {
        let newest = self.architectures.iter().rev().find(|a| **a <= capability);
        let target = match newest {
            Some(known) if *known != capability => format!("compute_{known}"),
            _ => format!("sm_{capability}"),
        };
        let fixed = [
            "--std=c++17",
            // Lambdas in kernels need no annotation: all there is, is for the device.
            "--device-as-default-execution-space",
            "--fmad=false",
            "--prec-div=true",
            "--prec-sqrt=true",
            "--ftz=false",
            // Memory is checked with tools that name source lines; costs no speed.
            "--generate-line-info",
        ];
        std::iter::once(format!("--gpu-architecture={target}"))
            .chain(fixed.iter().map(|o| o.to_string()))
            .collect()
    }

    /// Compiles a unit for a compute capability.
    pub fn compile(&self, unit: &Unit, capability: i32) -> Result<Compiled> {
        let rtc = match self.loaded.get() {
            Some(rtc) => rtc,
            None => {
                let rtc = Rtc::load(Flavour::Nvrtc, &self.path)?;
                self.loaded.get_or_init(|| rtc)
            }
        };
        rtc.compile(&unit.name(), &wrapper(unit), &self.options(capability)).map_err(|e| {
            Error::Device(format!("cuda: compiling for sm_{capability} with {}: {e}", self.name()))
        })
    }
}

/// Where NVRTC may be, newest version first: RAYQ_NVRTC alone if set, else the loader's folders (environment,
/// ld.so.conf, standard) and /usr/local/cuda*.
fn candidates() -> Vec<PathBuf> {
    if let Some(file) = std::env::var_os("RAYQ_NVRTC").filter(|v| !v.is_empty()) {
        return vec![file.into()];
    }
    let mut found: Vec<PathBuf> = super::loader::folders(&["/usr/local/cuda", "/opt/cuda"])
        .iter()
        .flat_map(|folder| ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"].map(|name| folder.join(name)))
        .filter_map(|file| file.canonicalize().ok())
        .collect();
    found.sort_by_key(|file| std::cmp::Reverse(file_version(file)));
    found.dedup();
    found
}

/// The numbers after `.so.` in a library's name: (13, 0, 48) of libnvrtc.so.13.0.48.
fn file_version(file: &Path) -> Vec<u32> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let version = name.split_once(".so.").map_or("", |(_, version)| version);
    version.split('.').filter_map(|n| n.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knowing(architectures: &[i32]) -> Nvrtc {
        Nvrtc {
            path: PathBuf::new(),
            version: (12, 4),
            architectures: architectures.to_vec(),
            identity: String::new(),
            loaded: OnceLock::new(),
        }
    }

    #[test]
    fn newer_architectures_get_portable_code() {
        let nvrtc = knowing(&[70, 80, 90]);
        assert_eq!(nvrtc.options(80)[0], "--gpu-architecture=sm_80");
        assert_eq!(nvrtc.options(100)[0], "--gpu-architecture=compute_90");
        assert_eq!(nvrtc.options(86)[0], "--gpu-architecture=compute_80");
    }

    #[test]
    fn the_driver_and_the_architecture_limit_the_choice() {
        let nvrtc = knowing(&[75, 80, 90]);
        assert!(nvrtc.fits(Some(12), 90).is_ok());
        assert!(nvrtc.fits(Some(13), 100).is_ok());
        assert!(nvrtc.fits(Some(11), 90).unwrap_err().to_string().contains("NVRTC 12.4"));
        assert!(nvrtc.fits(None, 70).unwrap_err().to_string().contains("sm_70"));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(file_version(Path::new("/x/libnvrtc.so.13.0.48")), [13, 0, 48]);
        assert!(file_version(Path::new("libnvrtc.so.12")) > file_version(Path::new("libnvrtc.so.9")));
        assert!(file_version(Path::new("libnvrtc.so")).is_empty());
    }
}
