//! NVIDIA's Nsight Compute: which counters it is asked for, and a reader of its CSV.
//!
//! `ncu --csv --page raw` prints a line of names, a line of units, and a line a launch; what else it has to say
//! starts with `==`. Numbers have separators of thousands.

use super::{Costs, Launch, run_tool};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const TIME: &str = "gpu__time_duration.sum";
const RESIDENT: &str = "smsp__warps_active.sum";
const ISSUED: &str = "smsp__inst_issued.sum";
const EXECUTED: &str = "smsp__inst_executed.sum";
/// The pipes that execute vector instructions; the queues use neither tensor cores nor textures.
const VECTOR: [&str; 4] = [
    "sm__inst_executed_pipe_alu.sum",
    "sm__inst_executed_pipe_fma.sum",
    "sm__inst_executed_pipe_fp64.sum",
    "sm__inst_executed_pipe_xu.sum",
];
const ATOMICS: [&str; 2] =
    ["l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"];
const L2_SECTORS: &str = "lts__t_sectors_srcunit_tex.sum";
const SECTOR_BYTES: f64 = 32.0;
/// Reasons to wait, with the average number of warps that do so in a cycle that issues an instruction.
const WAIT_FOR: [(&str, &str); 5] = [
    ("memory", "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"),
    ("memory queue", "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio"),
    ("fence", "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio"),
    ("sleep", "smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio"),
    ("latency", "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"),
];

/// How each cost is counted.
pub const DEFINITIONS: &[(&str, &str)] = &[
    (
        "WAIT/op",
        "smsp__warps_active.sum - smsp__inst_issued.sum: cycles in which a resident warp issued nothing, for \
         whatever reason, summed over warps",
    ),
    (
        "memory",
        "the part of WAIT/op spent on memory: smsp__average_warps_issue_stalled_{long_scoreboard, lg_throttle, \
         membar}_per_issue_active.ratio * smsp__inst_issued.sum",
    ),
    (
        "VALU/op",
        "sm__inst_executed_pipe_{alu, fma, fp64, xu}.sum: vector instructions, each counted once for its warp",
    ),
    (
        "atomics/op",
        "l1tex__t_requests_pipe_lsu_mem_global_op_{atom, red}.sum: global atomic instructions, each counted once for \
         its warp",
    ),
    ("L2 B/op", "32 * lts__t_sectors_srcunit_tex.sum: bytes between the multiprocessors and L2"),
    ("ns/op", "gpu__time_duration.sum: time of the kernel, whose first accesses find empty caches"),
];

/// Every metric that is asked for.
pub fn metrics() -> Vec<&'static str> {
    [TIME, RESIDENT, ISSUED, EXECUTED, L2_SECTORS]
        .into_iter()
        .chain(VECTOR)
        .chain(ATOMICS)
        .chain(WAIT_FOR.map(|(_, metric)| metric))
        .collect()
}

/// Runs `child` under ncu; the launches of `kernels` in order.
pub(super) fn profile(
    ncu: &Path,
    kernels: &[&str],
    child: &Command,
    folder: &Path,
    go_on: &dyn Fn() -> Result<()>,
) -> Result<Vec<Launch>> {
    let log = folder.join("ncu.csv");
    let mut command = Command::new(ncu);
    // Clocks as they are: to lock them takes rights that few have, and costs are counts.
    command.args(["--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]);
    command.arg("--kernel-name").arg(format!("regex:^({})$", kernels.join("|")));
    command.arg("--metrics").arg(metrics().join(","));
    command.arg("--log-file").arg(&log);
    command.arg(child.get_program()).args(child.get_args());
    run_tool(ncu, &mut command, &log, go_on)?;
    let text = std::fs::read_to_string(&log).map_err(|e| Error::output(&log, e))?;
    read(&text).map_err(|why| Error::Device(format!("{}: {why}", ncu.display())))
}

/// Reads what ncu printed.
///
/// # Errors
/// A metric that is missing or has no value, by name; output that ends early; no launch at all, with ncu's words.
pub fn read(text: &str) -> std::result::Result<Vec<Launch>, String> {
    let table: String = text.lines().filter(|l| !l.starts_with("==")).flat_map(|l| [l, "\n"]).collect();
    let start = table.find("\"ID\"").ok_or_else(|| match text.lines().find(|l| l.starts_with("==")) {
        Some(said) => {
            format!("its output has no table of launches; it says: {}", last_word(text).unwrap_or(said))
        }
        None => "its output has no table of launches".into(),
    })?;
    if !text.ends_with('\n') {
        return Err("its output ends in the middle of a line".into());
    }
    let mut reader = csv::Reader::from_reader(&table.as_bytes()[start..]);
    let names = reader.headers().map_err(|e| e.to_string())?.clone();
    let place = |name: &str| {
        names.iter().position(|n| n == name).ok_or_else(|| format!("its output has no column {name}"))
    };
    let kernel = place("Kernel Name")?;
    let places =
        metrics().into_iter().map(|m| Ok((m, place(m)?))).collect::<std::result::Result<Vec<_>, String>>()?;
    let mut launches = vec![];
    // The line of units comes first.
    for (number, record) in reader.records().enumerate().skip(1) {
        let record = record.map_err(|_| format!("launch {number} of its output is cut off"))?;
        let mut counters = BTreeMap::new();
        for &(metric, place) in &places {
            let value = record[place].replace(',', "");
            let value: f64 = value
                .parse()
                .map_err(|_| format!("{metric} has no value (`{}`) for launch {number}", &record[place]))?;
            counters.insert(metric.to_owned(), value);
        }
        launches.push(Launch { kernel: record[kernel].to_owned(), costs: costs(&counters), counters });
    }
    match launches.is_empty() {
        true => Err("its table has no launch".into()),
        false => Ok(launches),
    }
}

/// The last warning or error.
fn last_word(text: &str) -> Option<&str> {
    text.lines().rfind(|l| l.starts_with("==ERROR==") || l.starts_with("==WARNING=="))
}

/// A launch's costs; every metric is there.
fn costs(counters: &BTreeMap<String, f64>) -> Costs {
    let of = |name: &str| counters[name];
    let sum = |names: &[&str]| names.iter().map(|name| of(name)).sum::<f64>();
    Costs {
        wait: of(RESIDENT) - of(ISSUED),
        wait_for: WAIT_FOR.iter().map(|(reason, ratio)| ((*reason).into(), of(ratio) * of(ISSUED))).collect(),
        valu: sum(&VECTOR),
        atomics: sum(&ATOMICS),
        l2_bytes: SECTOR_BYTES * of(L2_SECTORS),
        ns: of(TIME),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two launches on an H200, as ncu of CUDA 13 printed them.
    const RECORDED: &str = include_str!("../../tests/profile/ncu.csv");

    #[test]
    fn a_recorded_output_gives_exact_costs() {
        let launches = read(RECORDED).expect("well-formed");
        assert_eq!(launches.len(), 2);
        let (first, second) = (&launches[0], &launches[1]);
        assert_eq!(first.kernel, "bench_fixed");
        assert_eq!(first.counters[RESIDENT], 40_343_836.0);
        assert_eq!(first.costs.wait, 40_343_836.0 - 3_057_281.0);
        assert_eq!(first.costs.valu, 1_338_761.0 + 530_945.0 + 0.0 + 49_920.0);
        assert_eq!(first.costs.atomics, 24_832.0 + 16_384.0);
        assert_eq!(first.costs.l2_bytes, 32.0 * 258_765.0);
        assert_eq!(first.costs.ns, 169_984.0);
        assert_eq!(first.costs.wait_for["memory"], 4.86 * 3_057_281.0);
        assert_eq!(first.costs.wait_for["fence"], 3.09 * 3_057_281.0);
        assert_eq!(second.costs.wait, 50_992_065.0 - 4_161_152.0);
        assert_eq!(second.costs.per(1_000_000).wait, 46.830_913);
    }

    #[test]
    fn what_is_missing_is_named() {
        let without = RECORDED.replace("lts__t_sectors_srcunit_tex.sum", "lts__t_other.sum");
        assert_eq!(read(&without), Err("its output has no column lts__t_sectors_srcunit_tex.sum".into()));
        let no_value = RECORDED.replace("\"258,765\"", "\"n/a\"");
        assert_eq!(
            read(&no_value),
            Err("lts__t_sectors_srcunit_tex.sum has no value (`n/a`) for launch 1".into())
        );
    }

    #[test]
    fn output_that_ends_early_is_refused() {
        let whole = RECORDED.trim_end();
        assert_eq!(read(&whole[..whole.len() - 3]), Err("its output ends in the middle of a line".into()));
        let cut = format!("{}\n", &whole[..whole.len() - 40]);
        assert_eq!(read(&cut), Err("launch 2 of its output is cut off".into()));
        // At any byte: never a launch more, nor a launch with other numbers.
        let all = read(RECORDED).expect("well-formed");
        for end in (0..RECORDED.len()).filter(|&end| RECORDED.is_char_boundary(end)) {
            if let Ok(some) = read(&RECORDED[..end]) {
                assert!(some.len() < all.len() && some == all[..some.len()], "cut at {end}");
            }
        }
    }

    #[test]
    fn without_launches_the_profilers_words_count() {
        let text = "==PROF== Connected to process 7\n==WARNING== No kernels were profiled.\n";
        let why = read(text).expect_err("no table");
        assert!(why.contains("No kernels were profiled"), "{why}");
        assert_eq!(read(""), Err("its output has no table of launches".into()));
        let head: String = RECORDED.lines().take(5).flat_map(|l| [l, "\n"]).collect();
        assert_eq!(read(&head), Err("its table has no launch".into()));
    }
}
