//! Choosing a device by name: `auto`, `cpu`, `cuda[:N]`, `hip[:N]`.
//!
//! What was asked for is what runs: a device that is not there or cannot be used is an error that lists what
//! exists, and only `auto` chooses by itself.

use super::cpu::CpuDevice;
use super::{Device, DeviceInfo, cuda, hip};
use crate::error::{Error, Result};
use std::sync::Arc;

/// A device, or a kind of which there is none.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Listed {
    /// How to ask for it.
    pub id: String,
    /// What it is; absent where there is no such device.
    pub info: Option<DeviceInfo>,
    /// Why it cannot be used, and what would help; absent where it can.
    pub problem: Option<String>,
}

impl Listed {
    /// Id and name in one: `cuda:0 (NVIDIA H200)`.
    pub fn title(&self) -> String {
        match &self.info {
            Some(info) => format!("{} ({})", self.id, info.name),
            None => self.id.clone(),
        }
    }
}

/// The makers of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Vendor {
    Cuda,
    Hip,
}

impl Vendor {
    const ALL: [Vendor; 2] = [Vendor::Cuda, Vendor::Hip];

    fn id(self) -> &'static str {
        match self {
            Vendor::Cuda => "cuda",
            Vendor::Hip => "hip",
        }
    }

    /// Environment variables that hide its devices.
    fn visibility(self) -> &'static [&'static str] {
        match self {
            Vendor::Cuda => &["CUDA_VISIBLE_DEVICES"],
            Vendor::Hip => &["ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"],
        }
    }

    /// Its devices, or one entry that says why there is none.
    fn list(self) -> Vec<Listed> {
        let found = match self {
            Vendor::Cuda => cuda::list(),
            Vendor::Hip => hip::list(),
        };
        match found {
            Ok(devices) => devices
                .into_iter()
                .map(|(info, problem)| Listed { id: info.id.clone(), info: Some(info), problem })
                .collect(),
            Err(why) => {
                let problem = Some(why + &hidden_by(self.visibility()));
                vec![Listed { id: self.id().into(), info: None, problem }]
            }
        }
    }

    fn open(self, index: usize) -> Result<Arc<dyn Device>> {
        match self {
            Vendor::Cuda => cuda::open(index),
            Vendor::Hip => hip::open(index),
        }
    }
}

/// The variables of these that are set, quoted, for the end of a message.
fn hidden_by(variables: &[&str]) -> String {
    let set = variables.iter().filter_map(|name| {
        std::env::var_os(name).map(|value| format!("{name}=\"{}\"", value.to_string_lossy()))
    });
    let set: Vec<_> = set.collect();
    if set.is_empty() {
        String::new()
    } else {
        format!(" ({}: devices may be hidden by what is set in the environment)", set.join(", "))
    }
}

/// What a name asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Auto,
    Cpu,
    Gpu(Vendor, usize),
}

fn parse(spec: &str) -> Option<Choice> {
    let (kind, index) = match spec.split_once(':') {
        Some((kind, index)) if !index.is_empty() && index.bytes().all(|c| c.is_ascii_digit()) => {
            (kind, Some(index.parse::<usize>().ok()?))
        }
        Some(_) => return None,
        None => (spec, None),
    };
    match (kind, index) {
        ("auto", None) => Some(Choice::Auto),
        ("cpu", None) => Some(Choice::Cpu),
        _ => {
            let vendor = Vendor::ALL.into_iter().find(|v| v.id() == kind)?;
            Some(Choice::Gpu(vendor, index.unwrap_or(0)))
        }
    }
}

/// Every device, the CPU first; a kind of GPU without any has an entry that says why.
pub fn list() -> Vec<Listed> {
    let cpu = match CpuDevice::new(None) {
        Ok(cpu) => Listed { id: "cpu".into(), info: Some(cpu.info().clone()), problem: None },
        Err(why) => Listed { id: "cpu".into(), info: None, problem: Some(why.to_string()) },
    };
    std::iter::once(cpu).chain(Vendor::ALL.into_iter().flat_map(Vendor::list)).collect()
}

/// Opens the device called `spec`: `auto`, `cpu`, `cuda`, `cuda:N`, `hip` or `hip:N`; without a number the
/// first. `auto` takes the first GPU that can be used, NVIDIA's before AMD's, else the CPU. `workers` is the
/// number of the CPU's threads, by default one a processor.
pub fn open(spec: &str, workers: Option<usize>) -> Result<Arc<dyn Device>> {
    open_telling(spec, workers, |_| {})
}

/// [`open`] that tells what `auto` took, and why.
pub fn open_telling(spec: &str, workers: Option<usize>, tell: impl FnOnce(&str)) -> Result<Arc<dyn Device>> {
    match parse(spec) {
        Some(Choice::Auto) => open_any(workers, tell),
        Some(Choice::Cpu) => Ok(Arc::new(CpuDevice::new(workers)?)),
        Some(Choice::Gpu(vendor, index)) => open_gpu(spec, vendor, index),
        None => Err(Error::Input(format!(
            "device `{spec}` is not one of auto, cpu, cuda, cuda:N, hip, hip:N; {}",
            available()
        ))),
    }
}

fn open_gpu(spec: &str, vendor: Vendor, index: usize) -> Result<Arc<dyn Device>> {
    let listed = vendor.list();
    let why = match listed.get(index) {
        Some(Listed { info: Some(_), problem: None, .. }) => return vendor.open(index),
        Some(Listed { problem: Some(why), .. }) => why.clone(),
        _ => match &listed[0] {
            Listed { info: None, problem: Some(why), .. } => why.clone(),
            _ => format!("there are {} such devices, numbered from 0", listed.len()),
        },
    };
    Err(Error::Device(format!("device `{spec}` cannot be used: {why}; {}", available())))
}

fn open_any(workers: Option<usize>, tell: impl FnOnce(&str)) -> Result<Arc<dyn Device>> {
    let mut reasons = vec![];
    for vendor in Vendor::ALL {
        for (index, listed) in vendor.list().into_iter().enumerate() {
            let opened = match &listed.problem {
                None => vendor.open(index),
                Some(why) if listed.info.is_some() => Err(Error::Device(why.clone())),
                Some(_) => continue,
            };
            match opened {
                Ok(device) => {
                    tell(&format!("device: {}, the first GPU that can be used", listed.title()));
                    return Ok(device);
                }
                Err(why) => reasons.push(why.to_string()),
            }
        }
    }
    let why = if reasons.is_empty() {
        "there is no GPU (`rayq devices` says why)".into()
    } else {
        format!("no GPU can be used: {}", reasons.join("; "))
    };
    tell(&format!("device: cpu, since {why}"));
    Ok(Arc::new(CpuDevice::new(workers)?))
}

/// The usable devices with their names, for the end of a message.
fn available() -> String {
    let usable: Vec<_> = list().iter().filter(|l| l.problem.is_none()).map(Listed::title).collect();
    format!("available: {}", usable.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_strictly() {
        assert_eq!(parse("auto"), Some(Choice::Auto));
        assert_eq!(parse("cpu"), Some(Choice::Cpu));
        assert_eq!(parse("cuda"), Some(Choice::Gpu(Vendor::Cuda, 0)));
        assert_eq!(parse("hip:12"), Some(Choice::Gpu(Vendor::Hip, 12)));
        let wrong = [
            "", "cpu:1", "auto:0", "cuda:", "cuda:-1", "cuda:+1", "cuda:x", "CUDA", "gpu", "hip:1:2", " cpu",
        ];
        for spec in wrong.into_iter().chain(["cuda:99999999999999999999999"]) {
            assert_eq!(parse(spec), None, "{spec}");
        }
    }
}
