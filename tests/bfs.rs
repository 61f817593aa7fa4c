//! Breadth-first search: the same levels from every frontier, on the CPU and in simulated waves; and the command.

mod common;

use common::{cpu, file};
use rayq::bfs::check::{prove, serial};
use rayq::bfs::{DeviceGraph, Engine, Form, Search, Settings, UNREACHED};
use rayq::device::Device;
use rayq::graph::Graph;
use rayq::queue::QueueKind;
use rayq_sim::{MemoryModel, Model, Options, SimDevice};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

fn graph(spec: &str) -> Graph {
    Graph::load(spec, false, false).expect(spec)
}

/// Every queue and both baselines.
fn every_engine() -> Vec<Settings> {
    rayq::bench::bfs::every_engine(&Settings::default(), &QueueKind::BFS_QUEUES)
}

/// One of many small graphs, of every class and directed ones, with its name.
fn small_graph(i: u64) -> (String, Graph) {
    let n = 1 + i * 7919 % 300;
    let (degree, side) = (1 + i % 7, 1 + i % 23);
    let spec = match i % 6 {
        0 => format!("rmat:scale={},degree={degree},seed={i}", 1 + i % 9),
        1 => format!("grid:{side}x{}", 1 + i % 17),
        2 => format!("path:n={n}"),
        3 => format!("star:n={n}"),
        _ => format!("er:n={n},degree={degree},seed={i}"),
    };
    let both = graph(&spec);
    if i % 6 != 5 {
        return (spec, both);
    }
    let arcs = (0..both.vertices()).flat_map(|v| both.neighbours(v).iter().map(move |&u| (v, u)));
    let some: Vec<_> = arcs.filter(|(v, u)| (v ^ (u * 5)) % 3 != 0).collect();
    (format!("two thirds of {spec}"), Graph::from_pairs(n, &some, false).expect("a graph"))
}

/// Searches in every way and compares with the host's search.
fn compare(device: &Arc<dyn Device>, graph: &Graph, name: &str, cut: u32, source: u32, ways: &[Settings]) {
    let right = serial(graph, source);
    assert_eq!(prove(graph, source, &right), Ok(()), "{name}");
    let visited = right.iter().filter(|&&l| l != UNREACHED).count() as u64;
    let depth = right.iter().filter(|&&l| l != UNREACHED).max().copied().expect("the source");
    let scanned = rayq::bfs::check::arcs_of_reached(graph, &right);
    let on_device = Arc::new(DeviceGraph::cut(device, graph, true, cut).expect("room"));
    for settings in ways {
        let mut search = Search::new(&on_device, settings).expect("an engine");
        // Twice, since the second finds what the first has left.
        for _ in 0..2 {
            let run = search.run(source, || Ok(())).unwrap_or_else(|e| panic!("{name}, {settings:?}: {e}"));
            let levels = search.levels().expect("levels");
            assert_eq!(levels, right, "{name} from {source}, rows of {cut}, {settings:?}");
            assert_eq!((run.visited, run.depth), (visited, depth), "{name}, {settings:?}");
            if settings.engine != Engine::Direction {
                assert_eq!(run.scanned, scanned, "{name}, {settings:?}");
            }
        }
    }
}

#[test]
fn two_hundred_graphs_have_the_same_levels_by_every_frontier() {
    let device = cpu(3);
    for i in 0..200 {
        let (name, graph) = small_graph(i);
        let source = (i * 31) as u32 % graph.vertices();
        compare(&device, &graph, &name, if i % 2 == 0 { 3 } else { u32::MAX }, source, &every_engine());
    }
}

#[test]
fn launches_that_end_early_go_on_where_they_were() {
    let device = cpu(2);
    for spec in ["rmat:12,degree=8", "grid:60x40", "star:n=3000"] {
        let graph = graph(spec);
        let source = (0..graph.vertices()).find(|&v| graph.degree(v) > 0).expect("one");
        let ways = every_engine().into_iter().flat_map(|way| {
            let slices = Settings { slice: Duration::from_micros(1), ..way.clone() };
            [slices, Settings { form: Form::Levels, ..way }]
        });
        compare(&device, &graph, spec, 16, source, &ways.collect::<Vec<_>>());
    }
    let on_device = Arc::new(DeviceGraph::new(&device, &graph("path:n=50"), false).expect("room"));
    let launches = |settings: Settings| {
        let mut search = Search::new(&on_device, &settings).expect("an engine");
        search.run(0, || Ok(())).expect("levels").launches
    };
    assert_eq!(launches(Settings { form: Form::Levels, ..Settings::default() }), 50, "one a level");
    assert_eq!(launches(Settings::default()), 1);
    assert!(launches(Settings { slice: Duration::from_nanos(1), ..Settings::default() }) > 1);
}

#[test]
fn simulated_waves_find_the_same_levels() {
    let small = |options| Options { resident: 3, max_steps: 50_000_000, ..options };
    for (wave, spec) in
        [(32, "rmat:5,degree=4"), (64, "grid:7x5"), (4, "star:n=40"), (64, "star:n=100"), (32, "path:n=5")]
    {
        for model in [Model::Independent, Model::Lockstep] {
            let device: Arc<dyn Device> =
                Arc::new(SimDevice::new(wave, small(Options { model, ..Options::default() })));
            let graph = graph(spec);
            // Blocks of one wave or two; slices of some thousand steps.
            let ways: Vec<_> = every_engine()
                .into_iter()
                .map(|way| Settings { block: wave * 2, slice: Duration::from_millis(4), ..way })
                .collect();
            compare(&device, &graph, spec, 8, 0, &ways);
        }
    }
}

#[test]
fn frontiers_are_handed_on_without_races() {
    for seed in 0..3 {
        let options = Options {
            memory: MemoryModel::Weak,
            seed,
            resident: 3,
            max_steps: 50_000_000,
            ..Options::default()
        };
        let device: Arc<dyn Device> = Arc::new(SimDevice::new(4, options));
        let ways: Vec<_> = every_engine().into_iter().map(|way| Settings { block: 4, ..way }).collect();
        compare(&device, &graph("rmat:4,degree=3"), "rmat", 3, 0, &ways);
    }
}

#[test]
fn lanes_blocks_queues_and_capacities_that_cannot_be_are_refused() {
    let device: Arc<dyn Device> = Arc::new(SimDevice::new(32, Options { resident: 2, ..Options::default() }));
    let on_device = Arc::new(DeviceGraph::new(&device, &graph("path:n=70"), false).expect("room"));
    let refusal = |settings: Settings| match Search::new(&on_device, &settings) {
        Ok(_) => panic!("{settings:?} is fine"),
        Err(error) => error.to_string(),
    };
    let base = Settings::default();
    assert!(refusal(Settings { block: 33, ..base.clone() }).contains("multiple of 32"));
    assert!(refusal(Settings { block: 1024, ..base.clone() }).contains("up to 512"));
    assert!(refusal(Settings { lanes: Some(1000), ..base.clone() }).contains("holds 512 lanes"));
    assert!(
        refusal(Settings { queue: QueueKind::FaaCeiling, ..base.clone() }).contains("cannot hold a frontier")
    );
    for queue in QueueKind::BFS_QUEUES {
        let error = refusal(Settings { queue, capacity: Some(64), ..base.clone() });
        assert!(error.contains("--queue-capacity 64") && error.contains("70 rows"), "{error}");
        let fits = Settings { queue, capacity: Some(70), block: 32, ..base.clone() };
        assert_eq!(Search::new(&on_device, &fits).expect("fits").queue_capacity(), Some(128));
    }
}

// ---- files

/// Graph files of every format, of which the fuzzer makes others.
const CORPUS: [(&str, &str); 7] = [
    ("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n% note\n4 4 3\n2 1\n3 2\n4 4\n"),
    (
        "b.mtx",
        "%%MatrixMarket   MATRIX  Coordinate   Real General\r\n%\r\n\r\n 3 3 2 \r\n1 2 1.5\r\n2 3 -1e3\r\n",
    ),
    ("c.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n3 3 2\n2 1 0.5 -1\n3 1 1 2\n"),
    ("d.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n"),
    ("e.gr", "c roads\np sp 5 4\na 1 2 10\na 2 3 7\na 3 5 1\na 5 1 2\n"),
    ("f.txt", "# Nodes: 3\n0\t1\n5000000000 7\n7 18446744073709551615\n"),
    ("g.el", "1 2\n2 3 0.5\n3 3\n1 2\n"),
];

/// Whether some number is so large that a graph of that size would only cost time.
fn has_large_numbers(text: &[u8]) -> bool {
    text.split(|b| !b.is_ascii_digit()).any(|digits| digits.len() > 6)
}

/// Seconds by `RAYQ_FUZZ_SECONDS`, 5 if it is not set.
#[test]
fn mutated_files_are_read_or_refused() {
    let seconds = std::env::var("RAYQ_FUZZ_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(5);
    let end = std::time::Instant::now() + Duration::from_secs(seconds);
    let mut state = 1u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % n
    };
    let (mut read, mut refused) = (0u64, 0u64);
    while std::time::Instant::now() < end {
        let (name, text) = CORPUS[random(CORPUS.len())];
        let mut text = text.as_bytes().to_vec();
        for _ in 0..random(4) {
            let at = random(text.len().max(1)).min(text.len());
            match random(6) {
                0 => text.truncate(at),
                1 => text.insert(at, b"\n\r %#-+.09acp\0\xff"[random(15)]),
                2 if at < text.len() => text[at] = b"0123456789 \n"[random(12)],
                3 if at < text.len() => drop(text.remove(at)),
                4 => text.extend_from_within(at..),
                _ if at < text.len() => text[at] ^= 1 << random(8),
                _ => {}
            }
        }
        if !name.ends_with("txt") && has_large_numbers(&text) {
            continue;
        }
        let shown = String::from_utf8_lossy(&text).into_owned();
        match rayq::graph::read::parse(Path::new(name), &text, random(2) == 0) {
            Ok(graph) => {
                read += 1;
                let facts = graph.facts();
                let ways = if facts.symmetrised { 2 } else { 1 };
                let all = u64::from(graph.arcs()) + facts.duplicates + ways * facts.self_loops;
                assert_eq!(all, ways * facts.entries, "{shown}");
                assert!(graph.targets().iter().all(|&t| t < graph.vertices()), "{shown}");
                assert!(graph.offsets().is_sorted(), "{shown}");
            }
            Err(error) => {
                refused += 1;
                let error = error.to_string();
                let has_place = ["line ", "declared", "ends before", "has no line", "no known"];
                assert!(error.starts_with(name) && error.lines().count() == 1, "{error}\n{shown}");
                assert!(has_place.iter().any(|p| error.contains(p)), "{error}\n{shown}");
            }
        }
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}

#[test]
fn every_format_says_what_is_wrong_and_where() {
    for (name, text, wanted) in [
        ("x.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n", "line 1: 'array' is a dense matrix"),
        ("x.mtx", "%%MatrixMarket matrix coordinate quaternion general\n", "line 1: field 'quaternion'"),
        ("x.mtx", "%%MatrixMarket matrix coordinate real\n", "line 1: expected %%MatrixMarket matrix"),
        (
            "x.mtx",
            "%%MatrixMarket matrix coordinate real general\n% only\n",
            "ends before the line of its size",
        ),
        ("x.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 1\n", "line 2: 3 rows and 4 columns"),
        (
            "x.mtx",
            "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 4\n",
            "line 3: vertex 4 is not in 1..3",
        ),
        (
            "x.mtx",
            "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n0 1\n",
            "line 3: vertex 0 is not in 1..3",
        ),
        (
            "x.mtx",
            "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 x\n",
            "line 3: 'x' is no number",
        ),
        (
            "x.mtx",
            "%%MatrixMarket matrix coordinate pattern general\n2000000000 2000000000 1\n",
            "at most 1073741824",
        ),
        ("x.mtx", "", "line 1: expected"),
        ("x.gr", "c\na 1 2 3\n", "line 2: expected 'p sp"),
        ("x.gr", "p sp 2 2\na 1 2 3\n", "declared 2 entries, found 1"),
        ("x.gr", "p sp 2 1\na 1 2\n", "line 2: an arc is 'a FROM TO LENGTH'"),
        ("x.gr", "p sp 2 1\ne 1 2 1\n", "line 2: expected 'a FROM TO LENGTH', found 'e'"),
        ("x.txt", "# c\n1 2\n3\n", "line 3: an arc has two numbers"),
        ("x.txt", "1 -2\n", "line 1: '-2' is no whole number"),
        ("x.txt", "1 18446744073709551616\n", "line 1: 18446744073709551616 is beyond 64 bits"),
        ("x.csv", "1,2\n", "no known graph format"),
    ] {
        let error =
            rayq::graph::read::parse(Path::new(name), text.as_bytes(), false).expect_err(text).to_string();
        assert!(error.starts_with(&format!("{name}: ")) && error.contains(wanted), "{error}");
    }
}

// ---- the command

fn rayq(folder: &Path, args: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rayq"));
    command.current_dir(folder).args(args.split_whitespace()).output().expect("it starts")
}

/// What a search prints, its JSON, and its levels as `vertex:level`.
fn bfs(args: &str) -> (String, Value, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let args = format!(
        "bfs --device cpu --workers 2 --runs 1 --quiet --validate --json b.json --levels l.txt {args}"
    );
    let out = rayq(folder.path(), &args);
    assert!(out.status.success(), "{args}: {}", String::from_utf8_lossy(&out.stderr));
    let read = |name| std::fs::read_to_string(folder.path().join(name)).expect("written");
    let levels: Vec<_> = read("l.txt").lines().map(|l| l.replace(' ', ":")).collect();
    let json = serde_json::from_str(&read("b.json")).expect("JSON");
    (String::from_utf8(out.stdout).expect("text"), json, levels.join(" "))
}

/// The only line on standard error, of a command that is refused.
fn refusal(args: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let out = rayq(folder.path(), &format!("{args} --device cpu --quiet"));
    let text = String::from_utf8(out.stderr).expect("text");
    assert_eq!(out.status.code(), Some(2), "{args}: {text}");
    assert!(text.lines().count() == 1 && !text.contains("panicked"), "{args}: {text}");
    text
}

fn case(path: &str) -> String {
    file(&format!("tests/cases/{path}")).display().to_string()
}

/// E65: a level that is larger than the queue.
#[test]
fn e65_no_vertex_is_dropped_silently() {
    let star = case("E65/star.mtx");
    for queue in QueueKind::BFS_QUEUES {
        let error = refusal(&format!("bfs {star} --source 0 --queue-capacity 64 --queue {queue}"));
        assert!(error.contains("--queue-capacity 64") && error.contains("exceeded"), "{error}");
        let (_, json, _) = bfs(&format!("{star} --queue {queue} --queue-capacity 6000"));
        assert_eq!((&json["visited"], &json["depth"]), (&5001.into(), &1.into()));
    }
}

/// E72: arcs of a general matrix go one way.
#[test]
fn e72_directed_files_stay_directed() {
    let chain = case("E72/chain.mtx");
    let (_, json, levels) = bfs(&format!("{chain} --source 0"));
    assert_eq!((levels.as_str(), &json["arcs"]), ("0:0 1:1 2:2 3:3 4:4", &4.into()));
    let (text, _, levels) = bfs(&format!("{chain} --source 4"));
    assert_eq!(levels, "0:-1 1:-1 2:-1 3:-1 4:0");
    assert!(text.contains("one way"), "{text}");
    let (text, json, levels) = bfs(&format!("{chain} --source 4 --undirected"));
    assert_eq!((levels.as_str(), &json["arcs"]), ("0:4 1:3 2:2 3:1 4:0", &8.into()));
    assert!(text.contains("both ways"), "{text}");
}

/// E74: blank lines, cases, blanks and CRLF.
#[test]
fn e74_free_form_files_are_read() {
    assert_eq!(bfs(&case("E74/free.mtx")).2, "0:0 1:1 2:2 3:3");
}

/// E76: more or fewer entries than declared.
#[test]
fn e76_declared_counts_are_checked() {
    for (name, wanted) in [
        ("few", "declared 5 entries, found 4"),
        ("many", "line 6: one entry more than the 3 declared"),
        ("cutline", "line 5: an entry has 2 numbers, found 1"),
    ] {
        let error = refusal(&format!("bfs {}", case(&format!("E76/{name}.mtx"))));
        assert!(error.contains(wanted) && error.contains(name), "{error}");
    }
}

/// E78: duplicates and self loops.
#[test]
fn e78_duplicates_and_loops_are_counted() {
    let (text, json, levels) = bfs(&case("E78/dup.mtx"));
    assert_eq!((levels.as_str(), &json["arcs"]), ("0:0 1:1 2:2 3:3", &3.into()));
    let read = &json["read"];
    assert_eq!([&read["entries"], &read["duplicates"], &read["self_loops"]], [8, 3, 2]);
    assert!(text.contains("2 self loops, 3 duplicates") && text.contains("arcs that leave"), "{text}");
    let read = &bfs(&case("E78/clean.mtx")).1["read"];
    assert_eq!([&read["duplicates"], &read["self_loops"]], [0, 0]);
}

/// E80: numbers beyond 32 bits.
#[test]
fn e80_wide_numbers_stay_apart() {
    let (_, json, levels) = bfs(&format!("{} --source 5000000000", case("E80/wide.txt")));
    assert_eq!(levels, "7:1 4294967303:2 5000000000:0 18446744073709551615:3");
    assert_eq!(json["visited"], 4);
    let error = refusal(&format!("bfs {} --source 8", case("E80/wide.txt")));
    assert!(error.contains("from 7 to 18446744073709551615"), "{error}");
}

/// E82: nothing to search, and sources that are not there.
#[test]
fn e82_empty_graphs_and_bad_sources() {
    assert!(refusal(&format!("bfs {}", case("E82/zero.mtx"))).contains("no vertices"));
    let noedge = case("E82/noedge.mtx");
    let (_, json, levels) = bfs(&format!("{noedge} --source 2"));
    assert_eq!(levels, "0:-1 1:-1 2:0");
    assert_eq!([&json["depth"], &json["unreached"]], [0, 2]);
    for source in ["3", "-1", "x"] {
        let error = refusal(&format!("bfs {noedge} --source {source}"));
        assert!(error.contains("0..2") && error.contains(source), "{error}");
    }
    assert!(refusal(&format!("bfs {noedge} --source random")).contains("no vertex has arcs"));
}

/// E84: lonely sources.
#[test]
fn e84_lonely_sources_have_no_rate_and_are_not_drawn() {
    let two = case("E84/two.mtx");
    let (text, json, levels) = bfs(&format!("{two} --source 5"));
    assert_eq!(levels, "0:-1 1:-1 2:-1 3:-1 4:-1 5:0");
    assert_eq!([&json["visited"], &json["depth"], &json["traversed"]], [1, 0, 0]);
    assert!(json["teps"].is_null() && text.contains("n/a TEPS") && text.contains("no arcs"), "{text}");
    for seed in 0..12 {
        let (text, json, _) = bfs(&format!("{two} --source random --seed {seed}"));
        assert!(json["visited"] == 5 && text.contains("from vertex"), "{text}");
    }
}

/// E86: what a rate counts.
#[test]
fn e86_the_rate_is_arcs_over_time() {
    let (text, json, levels) = bfs(&case("E86/k5.mtx"));
    assert_eq!((levels.as_str(), &json["traversed"]), ("0:0 1:1 2:1 3:1 4:1", &20.into()));
    let number = |v: &Value| v.as_f64().expect("a number");
    let product = number(&json["teps"]) * number(&json["ms"]["median"]) / 1e3;
    assert!((product - 20.0).abs() < 1e-9, "{product}");
    assert!(
        text.contains("20 traversed, 20 scanned") && text.contains("an undirected edge is two"),
        "{text}"
    );
}

#[test]
fn wrong_arguments_are_named() {
    for (args, part) in [
        ("bfs rmat:scale=99", "1 to 30"),
        ("bfs nowhere.mtx", "nowhere.mtx"),
        ("bfs /dev/null", "not a regular file"),
        ("bfs path:4 --lanes 4000", "--lanes 4000"),
        ("bench bfs grid:3", "WIDTHxHEIGHT"),
        ("bench bfs path:4 --compare nowhere.csv", "nowhere.csv"),
    ] {
        let error = refusal(args);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_bench_compares_everything_and_keeps_it() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("others.csv"), "graph,name,ms\ngrid:30x20,gunrock,1121\n")
        .expect("written");
    let args = "bench bfs grid:30x20 rmat:scale=8,degree=4 --device cpu --workers 2 --runs 3 --quiet --lanes 1,max \
                --json b.json --csv b.csv --plots p --compare others.csv";
    let out = rayq(folder.path(), args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("text");
    assert!(text.lines().any(|l| l.starts_with("gunrock") && l.contains("1121.0")), "{text}");
    let json = std::fs::read_to_string(folder.path().join("b.json")).expect("written");
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2 * 2 * 8);
    for row in rows {
        assert_eq!(row["runs_ms"].as_array().map(Vec::len), Some(3), "{row}");
        if row["engine"] != "direction" {
            assert_eq!(row["scanned"], row["traversed"], "{row}");
        }
    }
    let csv = std::fs::read_to_string(folder.path().join("b.csv")).expect("written");
    assert_eq!(csv.lines().count(), 1 + rows.len());
    assert!(folder.path().join("p/bfs-grid-30x20.svg").metadata().is_ok_and(|m| m.len() > 1000));
}

#[test]
fn packed_files_and_caches_are_the_same_graph() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = rayq(
        folder.path(),
        "bfs rmat:scale=7,degree=5 --device cpu --quiet --runs 1 --write-graph g.mtx --levels 0.txt",
    );
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = std::fs::read(folder.path().join("g.mtx")).expect("written");
    let mut packed = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &text).expect("to memory");
    let packed = packed.finish().expect("to memory");
    std::fs::write(folder.path().join("g.mtx.gz"), &packed).expect("written");
    let read = |name: &str| std::fs::read(folder.path().join(name)).expect("written");
    for (i, args) in ["g.mtx", "g.mtx.gz", "g.mtx --cache", "g.mtx --cache"].iter().enumerate() {
        let out =
            rayq(folder.path(), &format!("bfs {args} --device cpu --quiet --runs 1 --levels {}.txt", i + 1));
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        assert_eq!(read("0.txt"), read(&format!("{}.txt", i + 1)), "{args}");
    }
    assert!(folder.path().join("g.mtx.rayq-graph").exists());
    std::fs::write(folder.path().join("cut.mtx.gz"), &packed[..packed.len() / 2]).expect("written");
    let out = rayq(folder.path(), "bfs cut.mtx.gz --device cpu");
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        out.status.code() == Some(2) && error.contains("cut.mtx.gz: cannot read the graph: damaged gzip"),
        "{error}"
    );
}
