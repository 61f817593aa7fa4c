//! What a workload costs for each successful operation: counted by the vendor's profiler where there is one, else
//! as far as the device's clock and the instrumented build can tell.
//!
//! A profiler runs every launch several times, once for each group of counters that the hardware can count
//! together, on memory that it restores in between. Nothing that a launch counts survives that, so the work itself
//! is fixed: [`work::Work`] does the same number of successful operations each time, and the last pass is checked.
//!
//! This program runs itself under the profiler (`Profiler::measure`); the child does what [`child`] says and leaves
//! its operation counts in a file, the profiler leaves its counters in another.

pub mod ncu;
pub mod rocprof;
pub mod work;

pub use work::Work;

use crate::bench::queue::Counters;
use crate::device::{Device, DeviceInfo, select};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// What the hardware spent, on a launch or for each operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Cycles in which a resident wave issued nothing, summed over waves.
    pub wait: f64,
    /// Parts of `wait` by reason, where the profiler tells.
    pub wait_for: BTreeMap<String, f64>,
    /// Vector instructions, one for a whole wave.
    pub valu: f64,
    /// Global atomic operations: instructions on NVIDIA, requests that reached L2 on AMD.
    pub atomics: f64,
    /// Bytes that went between the multiprocessors and L2.
    pub l2_bytes: f64,
    /// Nanoseconds of the kernel.
    pub ns: f64,
}

impl Costs {
    /// Adds another launch's.
    pub fn add(&mut self, other: &Costs) {
        for (reason, cycles) in &other.wait_for {
            *self.wait_for.entry(reason.clone()).or_default() += cycles;
        }
        self.wait += other.wait;
        self.valu += other.valu;
        self.atomics += other.atomics;
        self.l2_bytes += other.l2_bytes;
        self.ns += other.ns;
    }

    /// Divided by a number of operations.
    pub fn per(&self, operations: u64) -> Costs {
        let n = operations.max(1) as f64;
        Costs {
            wait: self.wait / n,
            wait_for: self.wait_for.iter().map(|(reason, cycles)| (reason.clone(), cycles / n)).collect(),
            valu: self.valu / n,
            atomics: self.atomics / n,
            l2_bytes: self.l2_bytes / n,
            ns: self.ns / n,
        }
    }
}

/// A kernel launch as a profiler saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// What it spent in all.
    pub costs: Costs,
    /// The counters behind that, by the profiler's names.
    pub counters: BTreeMap<String, f64>,
}

/// A line of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// What was done.
    pub work: Work,
    /// What an operation is.
    pub operation: String,
    /// Successful operations of a pass.
    pub operations: u64,
    /// Costs of each, if a profiler counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub costs: Option<Costs>,
    /// What the instrumented build counted for each, if there was no profiler and it counts this work.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<Counters>,
    /// Nanoseconds of device time for each: of a pass under the profiler, or without one.
    pub ns: f64,
    /// The profiler's counters, summed over the work's launches.
    #[serde(default)]
    pub counters: BTreeMap<String, f64>,
}

/// Where the figures shall come from.
#[derive(Clone, Debug)]
pub enum Wish {
    /// From the profiler if one is installed and works, else from the device's clock.
    Auto,
    /// From this profiler.
    Named(PathBuf),
    /// From the device's clock.
    Clock,
}

/// A table and where it comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The profiler's program; absent if the device's clock was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profiler: Option<String>,
    /// Why there was no profiler, if there was none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why_none: Option<String>,
    /// How each column is counted.
    pub definitions: BTreeMap<String, String>,
    /// The lines.
    pub rows: Vec<Row>,
}

/// What the columns mean without a profiler.
pub const CLOCK_DEFINITIONS: &[(&str, &str)] = &[
    (
        "cycles/op",
        "cycles between the begin and the end of lanes' calls, waiting included, by the instrumented build and the \
         device's own counter (nanoseconds on the CPU)",
    ),
    ("retries/op", "attempts of an operation beyond its first"),
    ("spins/op", "polls of words in other lanes' hands"),
    ("helps/op", "requests of peers that lanes worked on"),
    ("ns/op", "time of the kernel, by the plain build"),
];

/// Costs of each of `works`, from where `wish` says, as far as it came, and how that ended. `go_on` is asked now and then;
/// `tell` hears what comes next and what is there so far.
///
/// # Errors
/// A device that fails, works that cannot be; a profiler that was named and fails; what `go_on` says.
pub fn measure(
    device: &Arc<dyn Device>,
    wish: &Wish,
    works: &[Work],
    go_on: &dyn Fn() -> Result<()>,
    tell: &dyn Fn(&str, &Measured),
) -> (Measured, Result<()>) {
    let named = if let Wish::Named(path) = wish { Some(path.as_path()) } else { None };
    let found = match wish {
        Wish::Clock => Err(Error::Device("no profiler was wanted".into())),
        _ => Profiler::find(device.info(), named),
    };
    let why = match found {
        Ok(profiler) => {
            let mut measured = Measured::by(Some(&profiler));
            match profiler.measure(&device.info().id, works, go_on, tell, &mut measured) {
                Err(why) if named.is_none() && go_on().is_ok() => why,
                end => return (measured, end),
            }
        }
        Err(why) if named.is_some() => return (Measured::by(None), Err(why)),
        Err(why) => why,
    };
    let mut measured = Measured { why_none: Some(why.to_string()), ..Measured::by(None) };
    let end = works.iter().try_for_each(|work| {
        tell(&work.to_string(), &measured);
        go_on()?;
        measured.rows.push(work.clock(device)?);
        Ok(())
    });
    (measured, end)
}

impl Measured {
    /// Nothing yet, from the profiler or the device's clock.
    fn by(profiler: Option<&Profiler>) -> Measured {
        let definitions = profiler.map_or(CLOCK_DEFINITIONS, Profiler::definitions);
        Measured {
            profiler: profiler.map(|profiler| profiler.path().display().to_string()),
            why_none: None,
            definitions: definitions.iter().map(|&(k, v)| (k.into(), v.into())).collect(),
            rows: vec![],
        }
    }
}

/// A vendor's profiler on this machine.
#[derive(Clone, Debug)]
pub struct Profiler {
    kind: Kind,
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ncu,
    Rocprof,
}

impl Kind {
    /// The one that serves a device.
    fn of(device: &str) -> Option<Kind> {
        match device.split(':').next() {
            Some("cuda") => Some(Kind::Ncu),
            Some("hip") => Some(Kind::Rocprof),
            _ => None,
        }
    }

    /// The one whose program has such a name.
    fn called(path: &Path) -> Option<Kind> {
        let name = path.file_stem()?.to_str()?;
        [Kind::Ncu, Kind::Rocprof].into_iter().find(|kind| name.starts_with(kind.program()))
    }

    fn program(self) -> &'static str {
        match self {
            Kind::Ncu => "ncu",
            Kind::Rocprof => "rocprofv3",
        }
    }

    /// Where installers put it when it is not on the PATH.
    fn usual_folders(self) -> &'static [&'static str] {
        match self {
            Kind::Ncu => &["/usr/local/cuda/bin", "/opt/nvidia/nsight-compute"],
            Kind::Rocprof => &["/opt/rocm/bin"],
        }
    }
}

impl Profiler {
    /// The profiler for a device: `named`, or the one that is installed.
    ///
    /// # Errors
    /// [`Error::Device`], which says what was looked for, or that the device has no profiler.
    pub fn find(device: &DeviceInfo, named: Option<&Path>) -> Result<Profiler> {
        let kind = named.and_then(Kind::called).or_else(|| Kind::of(&device.id));
        let kind =
            kind.ok_or_else(|| Error::Device(format!("{} has no profiler that rayq knows", device.id)))?;
        if let Some(path) = named {
            return match path.is_file() {
                true => Ok(Profiler { kind, path: path.to_owned() }),
                false => Err(Error::Input(format!("{}: no such profiler", path.display()))),
            };
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<_> =
            std::env::split_paths(&folders).chain(kind.usual_folders().iter().map(PathBuf::from)).collect();
        let found = folders.iter().map(|folder| folder.join(kind.program())).find(|file| file.is_file());
        found.map(|path| Profiler { kind, path }).ok_or_else(|| {
            Error::Device(format!(
                "no {} on the PATH nor in {}",
                kind.program(),
                kind.usual_folders().join(", ")
            ))
        })
    }

    /// The program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How each cost is counted: names as in [`Costs`], and words with the counters' names.
    pub fn definitions(&self) -> &'static [(&'static str, &'static str)] {
        match self.kind {
            Kind::Ncu => ncu::DEFINITIONS,
            Kind::Rocprof => rocprof::DEFINITIONS,
        }
    }

    /// Does each work under the profiler and adds its row to `measured`. `go_on` and `tell` as for [`measure`].
    ///
    /// # Errors
    /// [`Error::Device`] with the profiler's own words, or with what its output lacks; what `go_on` says.
    fn measure(
        &self,
        device: &str,
        works: &[Work],
        go_on: &dyn Fn() -> Result<()>,
        tell: &dyn Fn(&str, &Measured),
        measured: &mut Measured,
    ) -> Result<()> {
        for batch in works.chunk_by(|a, b| a.is_one_launch() && b.is_one_launch()) {
            let what = format!("{}: {} and {} more", self.kind.program(), batch[0], batch.len() - 1);
            tell(&what, measured);
            go_on()?;
            let (launches, operations) = self.run(device, batch, go_on)?;
            measured.rows.extend(divide(batch, &launches, &operations)?);
        }
        Ok(())
    }

    /// One child: the launches that the profiler saw, in order, and the operations of each work.
    fn run(
        &self,
        device: &str,
        works: &[Work],
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<(Vec<Launch>, Vec<u64>)> {
        let folder = tempfile::tempdir().map_err(|e| Error::output(std::env::temp_dir(), e))?;
        let (orders, result) = (folder.path().join("works.json"), folder.path().join("operations.json"));
        let text = serde_json::to_vec(works).expect("plain data");
        std::fs::write(&orders, text).map_err(|e| Error::output(&orders, e))?;
        let myself = std::env::current_exe().map_err(|e| Error::output("the rayq program", e))?;
        let mut child = Command::new(myself);
        child.args(["profile-workload", "--device", device]);
        child.arg("--works").arg(&orders).arg("--result").arg(&result);
        let mut kernels: Vec<_> = works.iter().flat_map(|work| work.kernels()).copied().collect();
        kernels.dedup();
        let launches = match self.kind {
            Kind::Ncu => ncu::profile(&self.path, &kernels, &child, folder.path(), go_on)?,
            Kind::Rocprof => rocprof::profile(&self.path, &kernels, &child, folder.path(), go_on)?,
        };
        let text = std::fs::read(&result).map_err(|e| Error::output(&result, e))?;
        let operations = serde_json::from_slice(&text)
            .map_err(|e| Error::Device(format!("the profiled work left no counts: {e}")))?;
        Ok((launches, operations))
    }
}

/// Gives each work its launches: all to a single one, else one to each.
fn divide(works: &[Work], launches: &[Launch], operations: &[u64]) -> Result<Vec<Row>> {
    let shares: Vec<&[Launch]> = match works {
        [_] => vec![launches],
        _ => launches.chunks(1).collect(),
    };
    if shares.len() != works.len() || operations.len() != works.len() || launches.is_empty() {
        return Err(Error::Device(format!(
            "the profiler saw {} launches of {} works that left {} counts",
            launches.len(),
            works.len(),
            operations.len()
        )));
    }
    Ok(works
        .iter()
        .zip(shares)
        .zip(operations)
        .map(|((work, share), &operations)| {
            let (mut all, mut counters) = (Costs::default(), BTreeMap::new());
            for launch in share {
                all.add(&launch.costs);
                for (name, value) in &launch.counters {
                    *counters.entry(name.clone()).or_default() += value;
                }
            }
            let costs = all.per(operations);
            let (ns, operation) = (costs.ns, work.operation().to_owned());
            Row { work: work.clone(), operation, operations, costs: Some(costs), clock: None, ns, counters }
        })
        .collect())
}

/// Runs a profiler; its words if it fails. `log` is where it writes what it has to say, besides its output streams.
fn run_tool(tool: &Path, command: &mut Command, log: &Path, go_on: &dyn Fn() -> Result<()>) -> Result<()> {
    let streams = log.with_extension("said");
    let cannot = |e| Error::Device(format!("{}: cannot be started: {e}", tool.display()));
    let child = start_tool(command, &streams).map_err(cannot)?;
    let status = wait_for_tool(child, go_on)?;
    if status.success() {
        return Ok(());
    }
    let read = |path| std::fs::read(path).unwrap_or_default();
    let said = [read(log), read(&streams)].concat();
    let said = String::from_utf8_lossy(&said);
    let lines = || said.lines().map(str::trim).filter(|l| !l.is_empty());
    let why = lines()
        .find(|l| l.contains("ERR_NVGPUCTRPERM"))
        .or_else(|| lines().find(|l| l.starts_with("rayq: ")))
        .or_else(|| lines().find(|l| l.to_lowercase().contains("error")))
        .or_else(|| lines().next_back())
        .unwrap_or("it said nothing");
    Err(Error::Device(format!("{} failed ({}): {why}", tool.display(), status)))
}

/// Starts it as the head of a process group, so that all that it starts can be ended with it.
fn start_tool(command: &mut Command, streams: &Path) -> io::Result<Child> {
    let streams = File::create(streams)?;
    command.stdin(Stdio::null()).stdout(streams.try_clone()?).stderr(streams);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command.spawn()
}

/// Time between two looks whether a profiler is done.
const LOOK: Duration = Duration::from_millis(20);

/// How it ended; ends it when `go_on` says so.
fn wait_for_tool(mut child: Child, go_on: &dyn Fn() -> Result<()>) -> Result<ExitStatus> {
    loop {
        let ended = child.try_wait().map_err(|e| Error::Device(format!("the profiler is lost: {e}")))?;
        if let Some(status) = ended {
            return Ok(status);
        }
        if let Err(why) = go_on() {
            #[cfg(unix)]
            // SAFETY: a system call on numbers; the child is not waited for yet, so the number is still its own.
            unsafe {
                libc::kill(-(child.id() as i32), libc::SIGKILL)
            };
            child.kill().and_then(|()| child.wait()).ok();
            return Err(why);
        }
        std::thread::sleep(LOOK);
    }
}

/// What the child does: every work in turn; their operation counts.
///
/// # Errors
/// The device's, and those of the works.
pub fn child(device: &str, works: &[Work]) -> Result<Vec<u64>> {
    let device = select::open(device, None)?;
    works.iter().map(|work| Ok(work.run(&device, false)?.operations)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(wait: f64) -> Launch {
        let costs = Costs { wait, ns: 10.0, ..Costs::default() };
        Launch { kernel: "bench_fixed".into(), costs, counters: [("c".into(), wait)].into() }
    }

    #[test]
    fn launches_go_to_their_works() {
        let works = [work::tests::queue_work(), work::tests::queue_work()];
        let rows = divide(&works, &[launch(100.0), launch(300.0)], &[10, 20]).expect("one each");
        let wait = |row: &Row| row.costs.as_ref().map(|c| c.wait);
        assert_eq!((wait(&rows[0]), wait(&rows[1])), (Some(10.0), Some(15.0)));
        assert_eq!((rows[0].ns, rows[1].counters["c"]), (1.0, 300.0));
        let sum = divide(&works[..1], &[launch(100.0), launch(300.0)], &[10]).expect("all to one");
        assert_eq!(wait(&sum[0]), Some(40.0));
        assert!(divide(&works, &[launch(1.0)], &[1, 1]).is_err(), "a launch is missing");
        assert!(divide(&works[..1], &[], &[1]).is_err(), "nothing was profiled");
    }
}
