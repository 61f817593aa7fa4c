//! `rayq profile` on the CPU, with and without a profiler; `rayq bench paper`, and its report from recorded data.

#[cfg(target_os = "linux")]
#[path = "common/webdriver.rs"]
mod webdriver;

use rayq::bench::Spread;
use rayq::bench::paper::{Data, Head, Part, Plan, html, markdown, section};
use rayq::profile::ncu;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
#[cfg(target_os = "linux")]
use webdriver::Browser;

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
        let args =
            format!("profile queue --device cpu --profiler ./ncu --queues {queues} --lanes 2 --turns 1");
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

/// What is profiled may hang, and so may a profiler: both end with the time limit, and what was counted before stays.
#[test]
fn a_profiler_that_never_ends_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let hang = "sleep 300 & echo $! > sleeper; wait";
    fake_ncu(folder.path(), &recorded(), &format!("if [ -e once ]; then {hang}; fi; touch once"));
    let end = |words: &str, timeout: &str| {
        let start = Instant::now();
        let args = format!("profile {words} --device cpu --profiler ./ncu --timeout {timeout} --json p.json");
        let out = rayq(folder.path(), &args);
        assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
        assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
        text(&out.stderr)
    };
    let said = end("bfs grid:4x4 --queues glfq", "5");
    let parts =
        ["not finished within 5 s, at ncu: grid:4x4, ", "what was finished is kept; give a longer --timeout"];
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    assert_eq!(json(&folder.path().join("p.json"))["rows"].as_array().map(Vec::len), Some(1));
    let sleeper = std::fs::read_to_string(folder.path().join("sleeper")).expect("the second run hangs");
    // Gone, or still to be fetched by its new parent.
    let state = std::fs::read_to_string(format!("/proc/{}/stat", sleeper.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
    let said = end("queue --queues glfq --lanes 2 --turns 1", "0.000001");
    assert!(said.contains("not finished within 0.000001 s, at "), "{said}");
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
    let out = rayq(folder.path(), "profile bfs --device cpu grid:12x12 --queues glfq,sfq --json b.json");
    assert!(out.status.success(), "{}", text(&out.stderr));
    let report = json(&folder.path().join("b.json"));
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.iter().map(|row| row["operations"].as_u64()).collect::<Vec<_>>(), [Some(144); 4]);
}

/// What the benches recorded on an H200, as the parts of a study.
fn recorded_parts() -> Vec<(Part, Data)> {
    let folder = Path::new(ROOT).join("docs/measurements/2026-11-30-h200");
    let (mut balanced, mut split, mut rays) = (Data::default(), Data::default(), Data::default());
    for line in std::fs::read_to_string(folder.join("queue.csv")).expect("recorded").lines().skip(1) {
        let cells: Vec<_> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<f64>().expect("a number");
        let (lanes, y) = (number(4), Spread { median: number(7), min: number(8), max: number(9) });
        match cells[2] {
            "balanced" => balanced.push("balanced", cells[0], "M ops/s", lanes, y),
            _ => {
                let group = format!("{:.0}% producers", 100.0 * number(3) / lanes);
                split.push(&group, cells[0], "M ops/s", lanes, y);
            }
        }
    }
    let render = json(&folder.join("render.json"));
    for scene in render["scenes"].as_array().expect("scenes") {
        let name =
            scene["scene"].as_str().expect("a name").trim_start_matches("scenes/").trim_end_matches(".toml");
        for row in scene["rows"].as_array().expect("rows") {
            let spread = |key: &str| serde_json::from_value(row[key].clone()).expect("a spread");
            let group = format!("{name}, {}x{}", scene["width"], scene["height"]);
            let series = row["name"].as_str().expect("a name");
            rays.push(&group, series, "MRays/s", 0.0, spread("mrays_per_s"));
            rays.push(&group, series, "MRays/s, trace only", 0.0, spread("mrays_per_s_trace"));
        }
    }
    let mut costs = Data::default();
    for launch in ncu::read(&recorded()).expect("well-formed") {
        let per = launch.costs.per(524_288);
        let name = if costs.points.is_empty() { "glfq" } else { "gwfq <&>" };
        costs.push_one("balanced, 4096 lanes", name, "WAIT/op", 0.0, per.wait);
        costs.push_one("balanced, 4096 lanes", name, "VALU/op", 0.0, per.valu);
    }
    balanced.commands.push("rayq bench queue --device cuda:0".into());
    vec![(Part::Balanced, balanced), (Part::Split, split), (Part::Rays, rays), (Part::Costs, costs)]
}

/// The device that the recorded data are from.
fn recorded_head() -> Head {
    let render = json(&Path::new(ROOT).join("docs/measurements/2026-11-30-h200/render.json"));
    let device = serde_json::from_value(render["device"].clone()).expect("a device");
    let cpu = rayq::device::select::open("cpu", Some(1)).expect("there is a CPU");
    Head::here(&device, Plan::of(&*cpu, true))
}

#[test]
fn recorded_data_make_a_report_that_says_what_agrees() {
    let (head, parts) = (recorded_head(), recorded_parts());
    let sections = section::sections(&head, &parts).expect("figures that can be drawn");
    let words = |at: usize| sections[at].verdicts.iter().map(|v| v.word()).collect::<Vec<_>>();
    assert_eq!(words(0), ["Differs", "Agrees"], "waiting SFQ is above G-LFQ; G-WFQ above its reference");
    assert_eq!(words(1), ["Differs", "Agrees", "Agrees"]);
    assert_eq!(words(2), ["Differs", "Differs"], "the paper's policy is slower than compaction on an H200");
    assert_eq!(words(3), ["Open"; 4], "not every queue was profiled");
    let found = &sections[2].verdicts[1].found;
    assert!(
        found.contains("makes 0.89 of compaction's rays (0.96 without") && found.contains("2.94"),
        "{found}"
    );

    let text = markdown::page(&head, &sections);
    assert!(
        text.contains("# The queues' study on NVIDIA H200") && text.contains("driver: CUDA 13.0"),
        "{text}"
    );
    assert!(text.contains("| glfq | 470 | 953 |"), "{text}");
    assert!(
        text.contains("Published: successful M ops/s at the peak")
            && text.contains("gosLp/gpu-concurrent-queue")
    );
    assert!(text.contains("```sh\nrayq bench queue --device cuda:0\n```"));
    let widths = |line: &str| line.matches('|').count();
    for table in text.split("\n\n").filter(|block| block.starts_with('|')) {
        assert!(table.lines().all(|l| widths(l) == widths(table.lines().next().unwrap_or(""))), "{table}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_browser_shows_the_report_without_asking_for_anything() {
    let folder = tempfile::tempdir().expect("a folder");
    let (head, parts) = (recorded_head(), recorded_parts());
    let sections = section::sections(&head, &parts).expect("figures that can be drawn");
    let file = folder.path().join("report.html");
    std::fs::write(&file, html::page(&head, &sections)).expect("written");
    let browser = Browser::start(500, 800);
    browser.open(&format!("file://{}", file.display()));
    let figures: usize = sections.iter().map(|s| s.figures.len()).sum();
    assert_eq!(figures, 1 + 3 + 2 + 2);
    let drawn = browser.run(
        "return [...document.querySelectorAll('figure svg')]
            .filter(s => s.getBoundingClientRect().width > 300 && s.getBoundingClientRect().height > 60
                && s.querySelectorAll('polyline, rect').length > 1).length",
    );
    assert_eq!(drawn, figures, "every figure has a size and something in it");
    assert_eq!(
        browser.run("return performance.getEntriesByType('resource').length"),
        0,
        "nothing is fetched"
    );
    assert_eq!(browser.run("return document.scripts.length"), 0);
    assert_eq!(browser.complaints(), Vec::<String>::new(), "the console is silent");
    let beyond = browser.run("return document.documentElement.scrollWidth - innerWidth").as_i64();
    assert!(beyond.is_some_and(|n| n <= 0), "nothing lies beyond a phone's right edge: {beyond:?}");
    let shown = browser.run("return document.body.innerText");
    let shown = shown.as_str().expect("text");
    assert!(shown.contains("gwfq <&>") && shown.contains("Differs:"), "names are text");
    let colour = "return getComputedStyle(document.documentElement).backgroundColor";
    for (scheme, wanted) in [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 22, 26)")] {
        let feature =
            serde_json::json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.devtools("Emulation.setEmulatedMedia", &feature);
        assert_eq!(browser.run(colour), wanted);
    }
}

#[test]
fn a_killed_study_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join("out").join(name);
    let args = ["bench", "paper", "--quick", "--device", "cpu", "-o", "out"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_rayq"));
    command.current_dir(folder.path()).args(args).stderr(std::process::Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let end = Instant::now() + Duration::from_secs(60);
    while !at("data/balanced.json").is_file() {
        assert!(Instant::now() < end && child.try_wait().expect("a child").is_none(), "no part was finished");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("one's own child");
    child.wait().expect("one's own child");
    let first = std::fs::read(at("data/balanced.json")).expect("kept");

    let said = |out: &Output| text(&out.stderr);
    let out = rayq(folder.path(), &args.join(" "));
    assert!(out.status.success(), "{}", said(&out));
    assert!(said(&out).contains("1 of 6: Balanced throughput: kept from before"), "{}", said(&out));
    assert_eq!(std::fs::read(at("data/balanced.json")).expect("kept"), first);
    assert!(text(&out.stdout).contains("out/report.html"));
    let report = std::fs::read_to_string(at("report.html")).expect("written");
    for part in Part::ALL {
        assert!(report.contains(&format!("<section id=\"{}\">", part.id())), "{part:?}");
        assert!(at(&format!("data/{}.csv", part.id())).is_file());
    }
    assert!(report.contains("cpu has no profiler") && at("figures/balanced-balanced.svg").is_file());
    let left = std::fs::read_to_string(at("report.md")).expect("written");
    for figure in left.split("](figures/").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(at("figures").join(figure).is_file(), "{figure}");
    }

    // Half a file, and one of another plan: neither is taken for a part that is done.
    std::fs::write(at("data/split.json"), &first[..first.len() / 2]).expect("written");
    let other = String::from_utf8(first).expect("text").replace("\"runs\": 3,", "\"runs\": 4,");
    std::fs::write(at("data/balanced.json"), other).expect("written");
    let out = rayq(folder.path(), &args.join(" "));
    let kept: Vec<_> =
        said(&out).lines().filter(|l| l.contains("kept from before")).map(|l| l[6..7].to_owned()).collect();
    assert_eq!(kept, ["3", "4", "5", "6"], "{}", said(&out));
}
