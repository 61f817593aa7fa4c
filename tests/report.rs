//! `rayq profile` on the CPU, with and without a profiler.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs rayq in a folder of the test's own.
fn rayq(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rayq"));
    command.current_dir(folder).args(args.split_whitespace()).output().expect("it starts")
}

fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).expect("text")
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("written")).expect("JSON")
}

/// A profiler in name: runs the program, then leaves a recorded output.
fn fake_ncu(folder: &Path, recorded: &str, ending: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let (program, table) = (folder.join("ncu"), folder.join("recorded.csv"));
    std::fs::write(&table, recorded).expect("written");
    let script = format!(
        "#!/bin/sh\nwhile [ \"$1\" != --log-file ]; do shift; done\nlog=$2; shift 2\n\"$@\" || exit 9\n\
         cp '{}' \"$log\"\n{ending}\n",
        table.display()
    );
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("one's own file");
    program
}

fn recorded() -> String {
    std::fs::read_to_string(Path::new(ROOT).join("tests/profile/ncu.csv")).expect("in the repository")
}

#[test]
fn costs_are_the_profilers_counters_over_the_childs_operations() {
    let folder = tempfile::tempdir().expect("a folder");
    fake_ncu(folder.path(), &recorded(), "");
    let args = "profile queue --device cpu --profiler ./ncu --queues glfq,gwfq --lanes 4 --turns 1 --json p.json --plots p";
    let out = rayq(folder.path(), args);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let report = json(&folder.path().join("p.json"));
    assert!(report["definitions"]["WAIT/op"].as_str().is_some_and(|t| t.contains("smsp__warps_active")));
    let row = &report["rows"][0];
    assert_eq!((row["operations"].as_u64(), row["work"]["queue"].as_str()), (Some(8), Some("glfq")));
    let resident = row["counters"]["smsp__warps_active.sum"].as_f64().expect("a counter");
    let issued = row["counters"]["smsp__inst_issued.sum"].as_f64().expect("a counter");
    assert_eq!(row["costs"]["wait"].as_f64(), Some((resident - issued) / 8.0));
    assert_eq!(report["rows"][1]["work"]["queue"], "gwfq", "the second launch is the second queue's");
    let table = text(&out.stdout);
    assert!(table.contains("counted by ./ncu") && table.contains("VALU/op"), "{table}");
    assert!(folder.path().join("p/cost-wait-balanced.svg").is_file());
}

#[test]
fn a_profiler_that_fails_is_an_error_if_it_was_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |recorded: &str, ending: &str, queues: &str| {
        fake_ncu(folder.path(), recorded, ending);
        let args = format!("profile queue --device cpu --profiler ./ncu --queues {queues} --lanes 2 --turns 1");
        let out = rayq(folder.path(), &args);
        let said = text(&out.stderr);
        assert_eq!((out.status.code(), said.lines().count()), (Some(3), 1), "{said}");
        said
    };
    let without = recorded().replace("smsp__inst_issued.sum", "something_else");
    assert!(refused(&without, "", "glfq,gwfq").contains("no column smsp__inst_issued.sum"));
    let said = refused(&recorded(), "", "glfq,gwfq,sfq");
    assert!(said.contains("2 launches of 3 works"), "{said}");
    let rights = "echo '==ERROR== ERR_NVGPUCTRPERM - no permission to read counters' > $log; exit 1";
    assert!(refused(&recorded(), rights, "glfq,gwfq").contains("ERR_NVGPUCTRPERM"));
    let out = rayq(folder.path(), "profile queue --device cpu --profiler ./ncu-of-nobody");
    assert!(out.status.code() == Some(2) && text(&out.stderr).contains("ncu-of-nobody: no such profiler"));
}

#[test]
fn without_a_profiler_the_devices_clock_says_what_it_can() {
    let folder = tempfile::tempdir().expect("a folder");
    let args = "profile queue --device cpu --queues glfq,gwfq,sfq --split balanced,25 --lanes 4 --turns 8 --json p.json";
    let out = rayq(folder.path(), args);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let table = text(&out.stdout);
    assert!(table.contains("cpu has no profiler") && table.contains("cycles/op"), "{table}");
    let report = json(&folder.path().join("p.json"));
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 3);
    for row in rows {
        assert!(row["costs"].is_null() && row["clock"]["cycles"].as_f64().is_some_and(|c| c > 0.0), "{row}");
        assert_eq!(row["operations"].as_u64().map(|n| n % 2), Some(0), "each value goes in and comes out");
    }
    let scene = format!("{ROOT}/scenes/cornell.toml");
    let out = rayq(folder.path(), &format!("profile render --device cpu --width 40 --height 30 {scene}"));
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(text(&out.stdout).lines().filter(|l| l.starts_with("tile-queue")).count(), 4);
}
