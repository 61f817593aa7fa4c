//! AMD's rocprofv3: which counters it is asked for, and a reader of its CSV.
//!
//! **Not tested on hardware**: there was no AMD GPU to run it on. The reader is tested on tables written after AMD's
//! documentation of `rocprofv3 --pmc ... --output-format csv`, which has a line for each launch and counter.
//! rocprofv3 does not repeat launches; counters that cannot be counted together take a run of the program each.

use super::{Costs, Launch, run_tool};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const WAIT: &str = "SQ_WAIT_ANY";
const VECTOR: &str = "SQ_INSTS_VALU";
const ATOMICS: &str = "TCC_ATOMIC_sum";
const L2_REQUESTS: &str = "TCC_REQ_sum";
/// One run of the program each.
const GROUPS: [&[&str]; 2] = [&[WAIT, VECTOR], &[ATOMICS, L2_REQUESTS]];
/// SQ counts waits in units of four cycles.
const WAIT_CYCLES: f64 = 4.0;
/// A request is for a line of L2 at most.
const LINE_BYTES: f64 = 128.0;

/// How each cost is counted.
pub const DEFINITIONS: &[(&str, &str)] = &[
    ("WAIT/op", "4 * SQ_WAIT_ANY: cycles in which a wave waited for anything, summed over waves"),
    ("VALU/op", "SQ_INSTS_VALU: vector instructions, each counted once for its wave"),
    ("atomics/op", "TCC_ATOMIC_sum: atomic requests that reached L2"),
    (
        "L2 B/op",
        "128 * TCC_REQ_sum: bytes between the compute units and L2 at most, as a request may be for less",
    ),
    ("ns/op", "End_Timestamp - Start_Timestamp of the first run"),
];

/// Runs `child` under rocprofv3, once for each group of counters; the launches of `kernels` in order.
pub(super) fn profile(
    tool: &Path,
    kernels: &[&str],
    child: &Command,
    folder: &Path,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Vec<Launch>> {
    let mut all: Vec<Raw> = vec![];
    for (number, group) in GROUPS.iter().enumerate() {
        let out = folder.join(format!("group{number}"));
        let mut command = Command::new(tool);
        command.arg("--pmc").args(*group).args(["--output-format", "csv", "-o", "rayq", "-d"]).arg(&out);
        command.arg("--").arg(child.get_program()).args(child.get_args());
        run_tool(tool, &mut command, &out, go_on)?;
        let wrong = |why: String| Error::Device(format!("{}: {why}", tool.display()));
        let file = find(&out).ok_or_else(|| wrong("it left no counter_collection.csv".into()))?;
        let text = std::fs::read_to_string(&file).map_err(|e| Error::output(&file, e))?;
        let seen = read(&text, kernels, group).map_err(wrong)?;
        if all.is_empty() {
            all = seen;
        } else if all.len() != seen.len() {
            return Err(wrong(format!(
                "it saw {} launches in one run and {} in another",
                all.len(),
                seen.len()
            )));
        } else {
            all.iter_mut().zip(seen).for_each(|(launch, more)| launch.counters.extend(more.counters));
        }
    }
    Ok(all.into_iter().map(Raw::launch).collect())
}

/// rocprofv3 puts its files into the folder that it is given, or into one with the host's name there.
fn find(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).find_map(|path| match path.is_dir() {
        true => find(&path),
        false => path.to_string_lossy().ends_with("counter_collection.csv").then_some(path),
    })
}

/// A launch with the counters of some runs.
#[derive(Clone, Debug, PartialEq)]
struct Raw {
    kernel: String,
    ns: f64,
    counters: BTreeMap<String, f64>,
}

impl Raw {
    fn launch(self) -> Launch {
        let of = |name: &str| self.counters.get(name).copied().unwrap_or_default();
        let costs = Costs {
            wait: WAIT_CYCLES * of(WAIT),
            wait_for: BTreeMap::new(),
            valu: of(VECTOR),
            atomics: of(ATOMICS),
            l2_bytes: LINE_BYTES * of(L2_REQUESTS),
            ns: self.ns,
        };
        Launch { kernel: self.kernel, costs, counters: self.counters }
    }
}

/// The launches of `kernels` in a table; each has to have every counter of the group.
fn read(text: &str, kernels: &[&str], group: &[&str]) -> std::result::Result<Vec<Raw>, String> {
    if !text.ends_with('\n') {
        return Err("its table ends in the middle of a line".into());
    }
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().map_err(|e| e.to_string())?.clone();
    let place =
        |name: &str| names.iter().position(|n| n == name).ok_or_else(|| format!("its table has no {name}"));
    let (dispatch, kernel) = (place("Dispatch_Id")?, place("Kernel_Name")?);
    let (counter, value) = (place("Counter_Name")?, place("Counter_Value")?);
    let (start, end) = (place("Start_Timestamp")?, place("End_Timestamp")?);
    let mut launches: BTreeMap<u64, Raw> = BTreeMap::new();
    for (line, record) in reader.records().enumerate() {
        let record = record.map_err(|_| format!("line {} of its table is cut off", line + 2))?;
        let name = record[kernel].trim_end_matches(".kd");
        if !kernels.contains(&name) {
            continue;
        }
        let number = |place: usize| {
            record[place]
                .parse::<f64>()
                .map_err(|_| format!("{} is no number: `{}`", &names[place], &record[place]))
        };
        let launch = launches.entry(number(dispatch)? as u64).or_insert_with(|| Raw {
            kernel: name.into(),
            ns: 0.0,
            counters: BTreeMap::new(),
        });
        launch.ns = number(end)? - number(start)?;
        *launch.counters.entry(record[counter].into()).or_default() += number(value)?;
    }
    let missing = launches.values().find_map(|l| group.iter().find(|c| !l.counters.contains_key(**c)));
    match (missing, launches.is_empty()) {
        (Some(counter), _) => Err(format!("its table has no {counter} for some launch")),
        (None, true) => Err("its table has no launch".into()),
        (None, false) => Ok(launches.into_values().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\",\"Thread_Id\",\
        \"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\",\"Workgroup_Size\",\"LDS_Block_Size\",\"Scratch_Size\",\
        \"VGPR_Count\",\"SGPR_Count\",\"Counter_Name\",\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n";

    fn line(dispatch: u32, kernel: &str, counter: &str, value: f64) -> String {
        format!(
            "1,{dispatch},4,1,77,77,4096,9,\"{kernel}\",256,0,0,32,48,\"{counter}\",{value:.6},1000,{}\n",
            1000 + 500 * dispatch
        )
    }

    #[test]
    fn counters_of_a_launch_come_together() {
        let text = [
            HEAD,
            &line(1, "bench_initialise.kd", WAIT, 5.0),
            &line(2, "bench_fixed.kd", WAIT, 250.0),
            &line(2, "bench_fixed.kd", VECTOR, 40.0),
            &line(3, "bench_fixed.kd", VECTOR, 41.0),
            &line(3, "bench_fixed.kd", WAIT, 7.0),
        ]
        .concat();
        let launches = read(&text, &["bench_fixed"], GROUPS[0]).expect("well-formed");
        assert_eq!(launches.len(), 2);
        let first = launches[0].clone().launch();
        assert_eq!((first.costs.wait, first.costs.valu, first.costs.ns), (1000.0, 40.0, 1000.0));
        assert_eq!(launches[1].counters[VECTOR], 41.0);
    }

    #[test]
    fn what_is_missing_is_named() {
        let text = [HEAD, &line(2, "bench_fixed", WAIT, 1.0)].concat();
        assert_eq!(
            read(&text, &["bench_fixed"], GROUPS[0]),
            Err("its table has no SQ_INSTS_VALU for some launch".into())
        );
        assert_eq!(read(&text, &["other"], GROUPS[0]), Err("its table has no launch".into()));
        let cut = format!("{}\n", &text[..text.len() - 20]);
        assert_eq!(read(&cut, &["bench_fixed"], GROUPS[0]), Err("line 2 of its table is cut off".into()));
        assert!(read(&text[..text.len() - 1], &["bench_fixed"], GROUPS[0]).is_err());
    }
}
