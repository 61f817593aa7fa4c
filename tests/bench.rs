//! `rayq bench ...` and `rayq verify` on the CPU: small, quick, and with what they are known to be asked.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Runs rayq in a folder of the test's own.
fn rayq(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rayq"));
    command.current_dir(folder).args(args.split_whitespace()).output().expect("it starts")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// What `bench queue` prints, of a run that goes well.
fn bench(args: &str) -> String {
    let out = rayq(folder().path(), &format!("bench queue --device cpu --runs 1 {args}"));
    assert!(out.status.success(), "{args}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// The only line on standard error, and the exit code.
fn refusal(args: &str) -> (String, i32) {
    let out = rayq(folder().path(), args);
    let text = String::from_utf8(out.stderr).expect("text");
    assert!(!text.contains("panicked"), "{text}");
    (text, out.status.code().expect("no signal"))
}

fn json(folder: &Path, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.join(name)).expect("written");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn every_kind_and_workload_has_a_row_whose_books_balance() {
    let folder = folder();
    let args = "bench queue --device cpu --lanes 4 --warmup 1 --interval 5 --runs 3 --json q.json --csv q.csv --plots p";
    let out = rayq(folder.path(), args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let report = json(folder.path(), "q.json");
    assert_eq!(report["schema_version"], 1);
    assert!(report["commit"].is_string() && report["device"]["id"] == "cpu");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 8 * 4 - 3, "eight kinds in four workloads, but no split for sfq-waiting");
    for row in rows {
        assert_eq!(row["runs"].as_array().map(Vec::len), Some(3), "per-run figures: {row}");
        assert!(row["warmup_run"]["mops"].is_number() && row["compile_seconds"].is_number());
        for run in row["runs"].as_array().expect("runs") {
            let number = |key: &str| run[key].as_u64().expect("a number");
            let mops = (number("enqueued") + number("dequeued")) as f64
                / run["seconds"].as_f64().expect("a number")
                / 1e6;
            assert!((mops - run["mops"].as_f64().expect("a number")).abs() < 1e-6 * mops.max(1.0));
            let books = &run["books"];
            let count = |key: &str| books[key].as_u64().expect("a number");
            if row["queue"] != "faa-ceiling" {
                assert_eq!(books["balanced"], true);
                assert_eq!(count("put"), count("taken") + count("drained"));
                assert_eq!(count("put_sum"), count("out_sum"));
            }
        }
    }
    let csv = std::fs::read_to_string(folder.path().join("q.csv")).expect("written");
    assert_eq!(csv.lines().count(), 1 + rows.len());
    let columns = csv.lines().next().map_or(0, |l| l.split(',').count());
    assert!(csv.lines().all(|l| l.split(',').count() == columns), "{csv}");
    for plot in ["balanced", "split-25", "split-50", "split-75"] {
        for form in ["svg", "png"] {
            let file = folder.path().join(format!("p/throughput-{plot}-block-256.{form}"));
            assert!(file.metadata().is_ok_and(|m| m.len() > 1000), "{}", file.display());
        }
    }
}

#[test]
fn payload_queues_and_counters_have_rows_too() {
    let text = bench(
        "--queues glfq,gwfq --lanes 4 --warmup 1 --interval 5 --outer --capacity 64 --counters --patience 1 --help-delay 1",
    );
    assert!(text.contains("payloads in two rings") && text.contains("helps"), "{text}");
    assert_eq!(
        text.lines().filter(|l| l.starts_with("glfq") || l.starts_with("gwfq")).count(),
        2 * 4,
        "{text}"
    );
}

#[test]
fn a_pool_that_is_used_up_is_said() {
    let text = bench(
        "--queues gwfq-ymc --lanes 2 --workload balanced --warmup 1 --interval 1000 --pool-cells 1000000",
    );
    assert!(text.contains("pool used up"), "{text}");
    let (text, code) =
        refusal("bench queue --device cpu --queues gwfq-ymc --lanes 2 --pool-cells 100 --workload balanced");
    assert!(text.contains("used up in the warm-up") && text.contains("--pool-cells") && code == 2, "{text}");
}

/// E60: any number of lanes.
#[test]
fn e60_lanes_need_not_fill_waves() {
    for lanes in ["31,33", "63,65,97", "1000"] {
        let text =
            bench(&format!("--threads {lanes} --queues glfq --workload balanced --warmup 1 --interval 5"));
        let rows = text.lines().filter(|l| l.starts_with("glfq")).count();
        assert_eq!(rows, lanes.split(',').count(), "{text}");
    }
}

/// E61: the smallest capacities, and a fixed number of items.
#[test]
fn e61_small_capacities_pass_every_item_once() {
    for command in ["bench queue", "verify"] {
        let (text, code) = refusal(&format!("{command} --device cpu --capacity 0"));
        assert!(text.contains("--capacity 0: a queue holds at least 1 value") && code == 2, "{text}");
    }
    for capacity in [1, 2, 3] {
        // Queues that block are slow where waiting lanes have no processor.
        for (threads, queues) in [(64, "glfq,gwfq,gwfq-ymc"), (2, "sfq-waiting,sfq,bwd")] {
            let text =
                bench(&format!("--capacity {capacity} --items 100000 --threads {threads} --queues {queues}"));
            let good = text.lines().filter(|l| l.contains("100000 items in, 100000 out, sum 4999950000"));
            assert_eq!(good.count(), 3, "{text}");
        }
    }
}

/// E61: lanes that leave with the only slot full keep the others waiting; that is their row's affair.
#[test]
fn e61_a_queue_that_hangs_costs_its_row_only() {
    let folder = folder();
    let args = "bench queue --device cpu --queues sfq-waiting,glfq --workload balanced --lanes 64 --capacity 1 --warmup 1 \
                --interval 20 --runs 2 --quiet --json q.json";
    let out = rayq(folder.path(), args);
    let report = json(folder.path(), "q.json");
    let count = |key: &str| report[key].as_array().map_or(0, Vec::len);
    assert!(
        report["rows"].as_array().is_some_and(|rows| rows.iter().any(|r| r["queue"] == "glfq")),
        "{report}"
    );
    assert_eq!(count("rows") + count("hung"), 2, "{report}");
    assert_eq!(out.status.code(), Some(if count("hung") > 0 { 3 } else { 0 }));
}

/// E63: capacities beyond what memory or numbers hold.
#[test]
fn e63_huge_capacities_are_refused_with_value_and_limit() {
    for capacity in ["18446744073709551615", "4294967296", "9223372036854775808"] {
        let (text, code) = refusal(&format!("bench queue --device cpu --capacity {capacity}"));
        assert!(text.contains(capacity) && text.contains("1073741824") && code == 2, "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

/// E67: one of many against few, and nobody.
#[test]
fn e67_lopsided_splits_end_and_empty_sides_are_refused() {
    for (producers, consumers) in [(255, 1), (1, 255)] {
        let text = bench(&format!(
            "--mode split --producers {producers} --consumers {consumers} --capacity 2 --queues glfq,gwfq,bwd --warmup 1 --interval 20"
        ));
        assert_eq!(text.lines().filter(|l| l.contains(" 256 ")).count(), 3, "{text}");
    }
    for (args, side) in [
        ("--producers 3 --consumers 0", "consumers"),
        ("--producers 0 --consumers 3", "producers"),
        ("--producers 0", "producers"),
        ("--producers 100", "consumers"),
    ] {
        let (text, code) = refusal(&format!("bench queue --device cpu --mode split {args}"));
        assert!(text.contains(side) && code == 2 && text.lines().count() == 1, "{args}: {text}");
    }
}

/// E69: lengths made of two counters that move.
#[test]
fn e69_reported_lengths_are_possible_ones() {
    let folder = folder();
    let args = "bench queue --device cpu --report-occupancy --threads 64 --capacity 1024 --warmup 1 --interval 5 \
                --runs 1 --queues glfq,gwfq,gwfq-ymc,sfq,bwd --json q.json";
    let out = rayq(folder.path(), args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for row in json(folder.path(), "q.json")["rows"].as_array().expect("rows") {
        let lengths = &row["runs"][0]["occupancy"];
        assert!(lengths["samples"].as_u64() > Some(0), "{row}");
        assert!(lengths["least"].as_u64() <= lengths["most"].as_u64(), "{row}");
        assert!(lengths["most"].as_u64() <= Some(1024), "{row}");
        assert_eq!(lengths["before_and_after_drain"][1], 0, "empty at the end: {row}");
    }
}

#[test]
fn a_time_limit_without_a_row_writes_nothing() {
    let folder = folder();
    let args = "bench queue --device cpu --lanes 2 --queues glfq --workload balanced --interval 300 --runs 100 \
                --timeout 0.5 --json q.json";
    let out = rayq(folder.path(), args);
    assert_eq!(out.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&out.stderr).contains("not finished within 0.5 s"));
    assert!(!folder.path().join("q.json").exists());
}

#[test]
#[cfg(unix)]
fn an_interrupt_keeps_the_finished_rows() {
    use std::io::{BufRead, BufReader};
    let folder = folder();
    let args = "bench queue --device cpu --lanes 2,2 --queues glfq,bwd,gwfq --interval 100 --runs 30 --workload balanced \
                --json q.json --csv q.csv";
    let mut child = Command::new(env!("CARGO_BIN_EXE_rayq"))
        .current_dir(folder.path())
        .args(args.split_whitespace())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let first = lines.map_while(Result::ok).find(|l| l.starts_with("glfq"));
    assert!(first.is_some(), "a first row");
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(kill.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let rows = json(folder.path(), "q.json")["rows"].as_array().map_or(0, Vec::len);
    assert!((1..3).contains(&rows), "{rows}");
    let csv = std::fs::read_to_string(folder.path().join("q.csv")).expect("written");
    assert_eq!(csv.lines().count(), 1 + rows);
}

#[test]
fn histories_of_every_kind_are_judged() {
    let folder = folder();
    let out = rayq(folder.path(), "verify --device cpu --ops 20000 --json v.json");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    let report = json(folder.path(), "v.json");
    let verdicts = report["verdicts"].as_array().expect("verdicts");
    assert_eq!(verdicts.len(), 7 * 4 - 3, "no split for sfq-waiting");
    for v in verdicts {
        assert!(v["violation"].is_null(), "{v}");
        let counts = &v["counts"];
        assert!(counts["enqueues"].as_u64() > Some(0) && counts["enqueues"] == counts["dequeues"], "{v}");
        let (ordered, all) = (v["pairs"]["ordered"].as_u64(), v["pairs"]["all"].as_u64());
        assert!(ordered > Some(0) && ordered <= all, "{v}");
        assert!(v["clock"]["granularity"].as_u64() > Some(0), "{v}");
    }
    let text = String::from_utf8(out.stdout).expect("text");
    assert!(text.contains("by design"), "BWD's EMPTY and FULL");
}

#[test]
fn the_slow_path_is_judged_with_patience_1_and_either_stamp() {
    let folder = folder();
    let mut forms =
        [("timer", ""), ("counter", ""), ("timer", "--outer"), ("counter", "--outer")].iter().cycle();
    // Failed attempts are a matter of luck where lanes are threads: every form once, then until there was one.
    let mut slow = 0;
    for round in 0..40 {
        let (stamp, form) = forms.next().expect("for ever");
        let args = format!(
            "verify --device cpu --queue gwfq --ops 100000 --lanes 8 --capacity 64 --split balanced,50 --patience 1 \
             --help-delay 1 --stamp {stamp} {form} --json v.json"
        );
        let out = rayq(folder.path(), &args);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
        let report = json(folder.path(), "v.json");
        let of = |v: &Value| v["counts"]["slow"].as_u64().expect("a number");
        slow += report["verdicts"].as_array().expect("verdicts").iter().map(of).sum::<u64>();
        if slow > 0 && round >= 3 {
            return;
        }
    }
    panic!("the slow path never ran");
}

#[test]
fn a_wrong_history_fails_and_leaves_the_lines_that_show_it() {
    let folder = folder();
    let mut lines = String::new();
    for i in 0..500 {
        let (begin, out) = (
            10 * i,
            if i == 300 {
                303
            } else if i == 303 {
                300
            } else {
                i
            },
        );
        lines += &format!(
            r#"{{"lane":0,"op":"enqueue","value":{i},"result":"ok","begin":{begin},"end":{}}}"#,
            begin + 5
        );
        lines += "\n";
        let begin = begin + 1000;
        lines += &format!(
            r#"{{"lane":1,"op":"dequeue","value":{out},"result":"ok","begin":{begin},"end":{}}}"#,
            begin + 5
        );
        lines += "\n";
    }
    std::fs::write(folder.path().join("h.jsonl"), lines).expect("written");
    let out = rayq(folder.path(), "verify --history h.jsonl --window w.jsonl");
    assert_eq!(out.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&out.stderr).contains("w.jsonl"));
    let window = std::fs::read_to_string(folder.path().join("w.jsonl")).expect("written");
    assert_eq!(window.lines().count(), 4, "{window}");
    let out = rayq(folder.path(), "verify --history w.jsonl --window again.jsonl");
    assert_eq!(out.status.code(), Some(3), "the window is wrong by itself");
}

/// A recording may take its 20 s, and a judge long: a signal ends both.
#[test]
#[cfg(unix)]
fn a_signal_ends_a_verification_at_once() {
    let folder = folder();
    // Waiting lanes of one slot hand the processor around: this records until its time is up.
    let args = "verify --device cpu --queue sfq-waiting --split balanced --lanes 64 --capacity 1 --ops 30000000 --quiet \
                --json v.json";
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let start = std::time::Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_rayq"))
            .current_dir(folder.path())
            .args(args.split_whitespace())
            .spawn()
            .expect("it starts");
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(kill.success(), "it was still at work");
        assert_eq!(child.wait().expect("it ends").code(), Some(code));
        assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
        assert_eq!(json(folder.path(), "v.json")["verdicts"].as_array().map(Vec::len), Some(0));
    }
}

#[test]
fn litmus_tests_hold_on_the_cpu() {
    let folder = folder();
    let out = rayq(folder.path(), "litmus --device cpu --lanes 4 --instances 40000 --json l.json");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    let report = json(folder.path(), "l.json");
    let tests = report["tests"].as_array().expect("tests");
    assert_eq!(tests.len(), 8);
    for test in tests {
        let count = |form: &str, key: &str| test[form][key].as_u64().expect("a number");
        let seen = count("strong", "unseen") + count("strong", "ordered");
        assert!(seen >= 40000 && count("strong", "forbidden") == 0, "{test}");
        assert!(
            count("strong", "ordered") > 0 && text.contains(test["test"].as_str().expect("a name")),
            "{test}"
        );
    }
    // Fewer than a launch has are as many as a launch has, and that is said.
    let out = rayq(folder.path(), "litmus --device cpu --lanes 4 --instances 5 --test message");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("16384 instances of each form; --instances 5: a launch has 16384"), "{text}");
    let (text, code) = refusal("litmus --device cpu --instances 0");
    assert!(text.contains("--instances") && text.contains("1..=4294967296") && code == 2, "{text}");
    let (text, code) = refusal("litmus --device cpu --lanes 3");
    assert!(text.contains("power of two") && code == 2, "{text}");
}

#[test]
fn what_cannot_be_judged_is_said() {
    let (text, code) = refusal("verify --device cpu --queue faa-ceiling");
    assert!(text.contains("carries no values") && code == 2, "{text}");
    let (text, code) = refusal("verify --device cpu --queue sfq-waiting --split 50");
    assert!(text.contains("use sfq") && code == 2, "{text}");
    let (text, _) = refusal("verify --split 0");
    assert!(text.contains("0 producers"), "{text}");
}

// ---- engines

/// Compiling and warming up are told apart from what counts, with a cold cache and with a warm one, and each run that
/// counts is listed. How far the two medians are from each other is for quiet machines.
#[test]
fn e88_the_first_run_pays_for_itself() {
    let folder = folder();
    let args = "bench queue --device cpu --queues glfq --workload balanced --lanes 4 --warmup 1 --interval 5 --runs 10 \
                --json q.json";
    for cache in ["cold", "warm"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rayq"));
        command.current_dir(folder.path()).args(args.split_whitespace());
        let out = command.env("RAYQ_CACHE_DIR", folder.path().join("cache")).output().expect("it starts");
        assert!(out.status.success(), "{cache}: {}", String::from_utf8_lossy(&out.stderr));
        let row = &json(folder.path(), "q.json")["rows"][0];
        assert!(row["compile_seconds"].as_f64().is_some_and(|s| s >= 0.0), "{cache}: {row}");
        assert!(row["warmup_run"]["mops"].as_f64().is_some_and(|m| m > 0.0), "{cache}: {row}");
        let runs = row["runs"].as_array().expect("runs").iter();
        let mut runs: Vec<f64> = runs.map(|run| run["mops"].as_f64().expect("a number")).collect();
        runs.sort_by(f64::total_cmp);
        assert_eq!(runs.len(), 10, "{cache}: each run, the warm-up not among them");
        let figure = |key: &str| row["mops"][key].as_f64().expect("a number");
        assert_eq!((figure("min"), figure("max")), (runs[0], runs[9]), "{cache}: {row}");
        assert!((runs[4]..=runs[5]).contains(&figure("median")), "{cache}: {row}");
    }
}

const SCENE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/cornell.toml");
const LONG_TAIL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/long-tail.toml");

#[test]
fn every_engine_has_a_row_with_what_it_costs() {
    let folder = folder();
    let args = format!(
        "bench render {SCENE} {LONG_TAIL} --device cpu --sizes 64x48 --rounds 3 --frames 2 --queues glfq,sfq --effort \
         --slices 1 --json r.json --csv r.csv --plots p"
    );
    let out = rayq(folder.path(), &args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let table = String::from_utf8(out.stdout).expect("text");
    assert!(table.contains("tile-queue paper sfq") && table.contains("worst first"), "{table}");
    let report = json(folder.path(), "r.json");
    assert_eq!(report["schema_version"], 2);
    let groups = report["groups"].as_array().expect("pictures");
    assert_eq!(groups.len(), 2);
    let mut lines = 1;
    for group in groups {
        let rows = group["rows"].as_array().expect("rows");
        // A megakernel, two compactions, two policies with two queues each; whole and in slices.
        assert_eq!(rows.len(), 2 * (1 + 2 + 4));
        lines += rows.len();
        for row in rows {
            check_row(row, &rows[0]);
        }
    }
    let csv = std::fs::read_to_string(folder.path().join("r.csv")).expect("written");
    assert_eq!(csv.lines().count(), lines);
    let fields = |line: &str| line.replace(", 1 ms", "").split(',').count();
    assert!(csv.lines().all(|line| fields(line) == fields(csv.lines().next().expect("a head"))), "{csv}");
    for stem in ["speed-cornell-64x48-1spp", "speed-long-tail-64x48-1spp"] {
        for ending in ["svg", "png"] {
            assert!(folder.path().join(format!("p/{stem}.{ending}")).exists(), "{stem}.{ending}");
        }
    }
}

/// A row's figures agree with each other and with the megakernel's.
fn check_row(row: &Value, megakernel: &Value) {
    let number = |v: &Value| v.as_f64().unwrap_or_else(|| panic!("{v} in {row}"));
    let name = row["name"].as_str().expect("a name");
    for same in ["film_hash", "rays"] {
        assert_eq!(row[same], megakernel[same], "{name}");
    }
    assert_eq!((&row["rounds"], &row["frames"]), (&Value::from(3), &Value::from(2)), "{name}");
    let rays: f64 = ["primary", "bounce", "shadow"].iter().map(|kind| number(&row["rays"][kind])).sum();
    let speed = number(&row["mrays_per_s"]["median"]);
    assert!((speed * number(&row["ms"]["median"]) * 1e3 / rays - 1.0).abs() < 1e-6, "{name}");
    assert!(number(&row["mrays_per_s"]["min"]) <= speed && speed <= number(&row["mrays_per_s"]["max"]));
    assert!(
        number(&row["over_compaction"]["median"]) > 0.0 && number(&row["over_megakernel"]["median"]) > 0.0
    );
    if name.contains("1 ms") {
        assert!(number(&row["over_unsliced"]["median"]) > 0.0, "{name}");
        return;
    }
    let each = &row["each_ray"];
    assert_eq!(number(&each["active_lanes"]), 1.0, "a wave of the CPU is a lane: {name}");
    let (operations, bytes) = (number(&each["queue_operations"]), number(&each["bytes"]));
    match name {
        // A film of 28 bytes a pixel, and a look at its count.
        "megakernel" => assert!((bytes * rays - 64.0 * 48.0 * 32.0).abs() < 0.1, "{each}"),
        _ if name.contains("paper") => assert!(operations > 1.0 && bytes > 104.0, "{name}: {each}"),
        _ if name.contains("adaptive") => assert_eq!(operations, 0.0, "{name}"),
        // Bounces are stored and loaded, with their pixels; primaries are made where they are traced.
        _ => assert!(bytes > 84.0 && number(&each["atomics"]) <= 2.0, "{name}: {each}"),
    }
    let per_pixel = (number(&row["payload_bytes_per_pixel"]), number(&row["scheduling_bytes_per_pixel"]));
    if name.contains("glfq") {
        // 64 x 48 pixels in tiles of 32: 4096 slots of 52 bytes, each with two words of its queue.
        let slots = 4096.0 / (64.0 * 48.0);
        assert_eq!(per_pixel.0, 52.0 * slots, "{name}");
        assert!((16.0 * slots..17.0 * slots + 1.0).contains(&per_pixel.1), "{name}: {per_pixel:?}");
    }
}

#[test]
fn sweeps_have_a_group_for_each_value() {
    let folder = folder();
    for (sweep, values, field) in [
        ("depth", "1,5", "max_depth"),
        ("spheres", "10,40", "spheres"),
        ("tile", "8,16", "value"),
        ("lanes", "1,2", "value"),
        ("batch", "64,2048", "value"),
    ] {
        let args = format!(
            "bench render {SCENE} --device cpu --sizes 32x32 --rounds 1 --frames 1 --sweep {sweep} --values {values} \
             --json r.json --plots p"
        );
        let out = rayq(folder.path(), &args);
        assert!(out.status.success(), "{sweep}: {}", String::from_utf8_lossy(&out.stderr));
        let report = json(folder.path(), "r.json");
        let found: Vec<_> = report["groups"]
            .as_array()
            .expect("groups")
            .iter()
            .map(|g| g[field].as_f64().expect("a number").to_string())
            .collect();
        assert_eq!(found.join(","), values, "{sweep}");
        let name = if sweep == "spheres" { "generated-spheres" } else { "cornell" };
        assert!(folder.path().join(format!("p/sweep-{sweep}-{name}-32x32-1spp.svg")).exists(), "{sweep}");
    }
    for wrong in [
        "size --values nan",
        "size --values 0",
        "size --values 1e9",
        "size --values inf",
        "depth --values 4096",
    ] {
        let (said, code) = refusal(&format!("bench render {SCENE} --device cpu --sweep {wrong}"));
        assert!(said.contains("--values") && code == 2, "{wrong}: {said}");
    }
    let (said, code) = refusal(&format!("bench render {SCENE} --device cpu --sweep depth --values 0.5"));
    assert!(said.contains("whole numbers") && code == 2, "{said}");
}

#[test]
fn an_interrupted_bench_keeps_its_finished_pictures() {
    use std::io::{BufRead, BufReader};
    let folder = folder();
    let args = format!(
        "bench render {SCENE} --device cpu --sizes 32x32,2048x2048 --spp 64 --rounds 3 --frames 1 --engines megakernel --json r.json"
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_rayq"))
        .current_dir(folder.path())
        .args(args.split_whitespace())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.starts_with("megakernel")), "a first row");
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(kill.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let groups = json(folder.path(), "r.json")["groups"].as_array().map_or(0, Vec::len);
    assert_eq!(groups, 1);
}

// ---- limits

#[test]
fn limits_are_measured_and_bind() {
    let folder = folder();
    let out = rayq(folder.path(), "bench limits --device cpu --workers 2 --json l.json");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let limits = json(folder.path(), "l.json")["limits"].clone();
    for ceiling in ["copy_bytes", "fused_adds", "tickets", "swaps", "on_chip_swaps"] {
        assert!(limits[ceiling]["median"].as_f64().is_some_and(|rate| rate > 1e5), "{ceiling}: {limits}");
    }
    let table = bench("--lanes 2 --queues glfq --workload balanced --warmup 1 --interval 5 --limits");
    assert!(table.contains("% of "), "{table}");
}
