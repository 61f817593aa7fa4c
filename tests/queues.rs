//! The queues' own source, compiled for the CPU with its test driver and run by real threads: conservation, FIFO,
//! edges, sanitizers, and bugs planted on purpose, each of which must be caught.

use rayq::queue::{QueueKind, QueueLayout, QueueOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A build of tests/native/queue_driver.cpp, made when it is first asked for.
struct Driver {
    name: &'static str,
    flags: &'static [&'static str],
    built: OnceLock<PathBuf>,
}

impl Driver {
    const fn new(name: &'static str, flags: &'static [&'static str]) -> Driver {
        Driver { name, flags, built: OnceLock::new() }
    }

    fn path(&self) -> &Path {
        self.built.get_or_init(|| compile(self.name, self.flags))
    }
}

fn compile(name: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("queues");
    std::fs::create_dir_all(&folder).expect("the target folder is writable");
    std::fs::write(folder.join("layout.h"), rayq::layout::header()).expect("writable");
    let program = folder.join(name);
    // Words, as make and cargo's cc take it: `ccache g++`, or a compiler with options.
    let compiler = std::env::var("CXX").ok().filter(|words| !words.trim().is_empty()).unwrap_or("g++".into());
    let mut words = compiler.split_whitespace();
    let output = Command::new(words.next().expect("not empty"))
        .args(words)
        .args(["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-DRQ_UNIT=test"])
        .args(["-DRQ_COUNTERS", "-Wno-unknown-pragmas", "-fno-omit-frame-pointer"])
        .args(flags)
        .args(["-I", &format!("{ROOT}/kernels"), "-I"])
        .arg(&folder)
        .arg(format!("{ROOT}/tests/native/queue_driver.cpp"))
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap_or_else(|e| panic!("{compiler}: {e}"));
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Many interleavings, addresses and arithmetic checked.
static CHECKED: Driver = Driver::new(
    "checked",
    &["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-DRQ_TEST_YIELDS=8"],
);
/// Many interleavings, data races reported; tickets relaxed as on GPUs, so that they cannot order payloads.
static RACES: Driver = Driver::new(
    "races",
    &["-fsanitize=thread", "-Wno-tsan", "-DRQ_TEST_YIELDS=8", "-DRQ_TEST_RELAXED_TICKETS"],
);
/// As fast as it goes.
static PLAIN: Driver = Driver::new("plain", &["-O2"]);
/// Laps of four bits: they wrap every 16 laps.
static NARROW: Driver = Driver::new("narrow", &["-DRQ_TEST_CYCLE_BITS=4", "-DRQ_TEST_FEW_KINDS"]);

/// What to run: a kind with a mode of the driver, and all sizes from the host's own layout.
#[derive(Clone)]
struct Case {
    kind: QueueKind,
    mode: &'static str,
    outer: bool,
    capacity: u64,
    queues: u64,
    threads: u32,
    patience: u32,
    more: String,
}

impl Case {
    fn new(kind: QueueKind, mode: &'static str) -> Case {
        Case {
            kind,
            mode,
            outer: false,
            capacity: 1,
            queues: 1,
            threads: 4,
            patience: 64,
            more: String::new(),
        }
    }

    fn more(mut self, words: &str) -> Case {
        self.more += words;
        self.more.push(' ');
        self
    }

    fn capacity(mut self, capacity: u64) -> Case {
        self.capacity = capacity;
        self
    }

    fn patience(mut self, patience: u32) -> Case {
        self.patience = patience;
        self
    }

    fn output(&self, driver: &Driver) -> Output {
        // A lap of slow operations in a row needs patience 0, which users cannot ask for.
        let options = QueueOptions {
            patience: Some(self.patience.max(1)),
            help_delay: Some(1),
            pool_cells: Some(1_500_000),
        };
        let make = if self.outer { QueueLayout::outer } else { QueueLayout::new };
        let layout =
            make(self.kind, self.capacity, self.queues, self.threads, self.threads, &options).expect("fine");
        let kind = if self.outer { format!("outer-{}", self.kind) } else { self.kind.to_string() };
        // setarch: ThreadSanitizer cannot live with every address layout that Linux may draw.
        let mut command = Command::new("setarch");
        command.arg("-R").arg(driver.path()).args([&kind, self.mode]).args(self.more.split_whitespace());
        for (key, value) in [
            ("capacity", layout.capacity()),
            ("queues", self.queues),
            ("queue_words", layout.queue_words()),
            ("words", layout.total_words()),
            ("record_words", layout.record_words()),
            ("pool_cells", u64::from(layout.pool_cells())),
            ("threads", u64::from(self.threads)),
            ("patience", u64::from(self.patience)),
            ("help_delay", 1),
            ("fill", self.capacity),
        ] {
            command.arg(format!("{key}={value}"));
        }
        command.output().expect("setarch is part of util-linux")
    }

    /// Runs it, fails the test if a check did not hold, and returns what it counted.
    fn passes(&self, driver: &Driver) -> Counts {
        let output = self.output(driver);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        let what = format!("{} {} {} capacity {}", driver.name, self.kind, self.mode, self.capacity);
        assert!(
            output.status.success(),
            "{what} patience {}: {}\n{text}{error}",
            self.patience,
            output.status
        );
        Counts(text)
    }

    /// Runs it; true if the driver or its sanitizer complained, or if it hung.
    fn fails(&self, driver: &Driver) -> bool {
        !self.output(driver).status.success()
    }
}

/// The driver's counts: `dequeued=.. slow=..`.
struct Counts(String);

impl Counts {
    fn get(&self, key: &str) -> u64 {
        let found = self.0.split_whitespace().find_map(|w| w.strip_prefix(key)?.strip_prefix('='));
        found.and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("no {key} in {:?}", self.0))
    }
}

/// The kinds that know EMPTY, one lane alone included.
const WITH_EMPTY: [QueueKind; 6] = [
    QueueKind::Glfq,
    QueueKind::GlfqUnbatched,
    QueueKind::Gwfq,
    QueueKind::GwfqYmc,
    QueueKind::Sfq,
    QueueKind::Bwd,
];

#[test]
fn one_lane_alone_sees_a_fifo_queue_at_every_small_capacity() {
    for kind in WITH_EMPTY {
        for capacity in [1, 2, 3, 4, 5, 64] {
            Case::new(kind, "sequential").capacity(capacity).passes(&CHECKED);
            Case::new(kind, "prefilled").capacity(capacity).passes(&CHECKED);
        }
    }
}

#[test]
fn counters_and_fields_may_wrap() {
    // Just below 2^32 tickets (and SFQ's turn and G-WFQ's lap of capacity 2 and 4), 2^33 (SFQ's turn of capacity 4), the
    // end of G-LFQ's lap field, of a 45-bit count, of 64 bits.
    let starts = ["0xfffffff0", "0x1fffffff0", "0x7ffffffffffffff0", "0x1ffffffffff0", "0xfffffffffffffff0"];
    for kind in [QueueKind::Glfq, QueueKind::Gwfq, QueueKind::Sfq, QueueKind::Bwd] {
        for start in starts {
            for capacity in [2, 4] {
                let case = Case::new(kind, "sequential").capacity(capacity);
                case.more(&format!("first_ticket={start}")).passes(&CHECKED);
            }
        }
    }
}

#[test]
fn fields_of_the_slow_path_may_wrap() {
    // 29 bits of a phase-2 count, a lap, the 45-bit count: all lanes slow, and helping each other.
    for start in ["0x1ffffff0", "0xfffffff0", "0x1ffffffffff0"] {
        for patience in [0, 1] {
            let case = Case::new(QueueKind::Gwfq, "tokens").capacity(2).patience(patience);
            let counts = case.more(&format!("ops=2000 first_ticket={start}")).passes(&CHECKED);
            assert!(counts.get("slow") > 0, "{}", counts.0);
        }
    }
    // 16 bits of a request's number: the lane makes twice as many requests.
    let mut case = Case::new(QueueKind::Gwfq, "tokens").capacity(4).patience(0).more("ops=65600");
    case.threads = 1;
    assert!(case.passes(&PLAIN).get("slow") > 1 << 17);
}

#[test]
fn narrow_laps_wrap_on_the_fast_and_the_slow_path() {
    for capacity in [2, 4, 8] {
        for patience in [0, 1, 64] {
            let case = Case::new(QueueKind::Gwfq, "sequential").capacity(capacity).patience(patience);
            case.more("laps=500").passes(&NARROW);
        }
    }
}

#[test]
fn no_token_is_lost_doubled_or_overtaken() {
    for kind in WITH_EMPTY {
        for capacity in [1, 3, 16] {
            let case = Case::new(kind, "tokens").capacity(capacity).more("ops=20000");
            case.passes(&CHECKED);
            case.passes(&RACES);
        }
    }
}

#[test]
fn many_queues_share_the_lanes_records() {
    for kind in [QueueKind::Gwfq, QueueKind::GwfqYmc] {
        let mut case = Case::new(kind, "tokens").capacity(2).patience(1).more("ops=30000");
        case.queues = 3;
        assert!(case.passes(&CHECKED).get("slow") > 0);
    }
}

#[test]
fn values_pass_through_the_waiting_forms() {
    for kind in [QueueKind::SfqWaiting, QueueKind::Sfq, QueueKind::Bwd] {
        for capacity in [4, 64] {
            Case::new(kind, "balanced").capacity(capacity).more("ops=5000").passes(&RACES);
        }
    }
}

#[test]
fn more_lanes_than_capacity() {
    for kind in [QueueKind::Glfq, QueueKind::Gwfq, QueueKind::GwfqYmc] {
        let mut case = Case::new(kind, "tokens").capacity(2).patience(2).more("ops=5000");
        case.threads = 24;
        case.passes(&CHECKED);
    }
}

#[test]
fn the_slow_path_runs_and_holds() {
    for kind in [QueueKind::Gwfq, QueueKind::GwfqYmc] {
        for (driver, capacity) in [(&CHECKED, 2), (&RACES, 2), (&CHECKED, 4)] {
            let case = Case::new(kind, "tokens").capacity(capacity).patience(1).more("ops=50000");
            // How threads meet is the machine's affair: some runs have few slow operations.
            let (mut slow, mut helps) = (0, 0);
            for _ in 0..20 {
                let counts = case.passes(driver);
                slow += counts.get("slow");
                helps += counts.get("helps");
                if slow > 100 && helps > 0 {
                    break;
                }
            }
            assert!(slow > 100 && helps > 0, "{kind}: slow {slow}, helps {helps} in 20 runs");
        }
    }
}

#[test]
fn gwfq_holds_when_every_operation_is_slow() {
    for (driver, capacity) in [(&CHECKED, 2), (&RACES, 4), (&CHECKED, 64)] {
        let case = Case::new(QueueKind::Gwfq, "tokens").capacity(capacity).patience(0).more("ops=20000");
        let counts = case.passes(driver);
        assert!(counts.get("slow") >= counts.get("dequeued"));
    }
}

#[test]
fn a_used_up_pool_is_said_and_loses_nothing() {
    for patience in [1, 64] {
        let case = Case::new(QueueKind::GwfqYmc, "tokens").capacity(8).patience(patience);
        let counts = case.more("ops=20000 pool_cells=3000 exhausts=1").passes(&CHECKED);
        assert_eq!(counts.get("kept"), 8, "every token is left with the lane that could not enqueue it");
    }
}

#[test]
fn payload_queues_are_full_at_their_capacity_and_fifo() {
    for kind in [QueueKind::Glfq, QueueKind::Gwfq] {
        for capacity in [1, 2, 3, 64] {
            let mut case = Case::new(kind, "bounded").capacity(capacity);
            case.outer = true;
            case.passes(&CHECKED);
            case.mode = "payloads";
            case.more("ops=5000").passes(&RACES);
        }
    }
}

#[test]
fn ten_million_distinct_payloads_arrive_in_order() {
    for kind in [QueueKind::Glfq, QueueKind::Gwfq] {
        let mut case = Case::new(kind, "payloads").capacity(4096).more("ops=2500000");
        case.outer = true;
        assert_eq!(case.passes(&PLAIN).get("dequeued"), 5_000_000);
    }
}

/// Plants a bug, and requires that one of the cases fails for it and passes without it.
fn plant(bug: &'static str, extra: &[&'static str], cases: &[Case]) {
    let bug_flag = format!("-DRQ_PLANT={bug}");
    let mut flags = vec!["-DRQ_TEST_FEW_KINDS", "-Wno-tsan"];
    flags.extend(extra);
    let leak =
        |flags: Vec<&str>| flags.into_iter().map(|f| &*f.to_owned().leak()).collect::<Vec<_>>().leak() as &_;
    let name: &'static str = format!("plant-{bug}").leak();
    let healthy: &'static str = format!("healthy-{bug}").leak();
    let planted = Driver::new(name, leak([&flags[..], &[&bug_flag]].concat()));
    let sound = Driver::new(healthy, leak(flags));
    let caught: Vec<_> =
        cases.iter().filter(|case| (*case).clone().more("deadline=5").fails(&planted)).collect();
    assert!(!caught.is_empty(), "{bug}: nobody noticed");
    caught[0].passes(&sound);
}

const YIELDS: &str = "-DRQ_TEST_YIELDS=8";

fn tokens(kind: QueueKind, capacity: u64, patience: u32) -> Case {
    Case::new(kind, "tokens").capacity(capacity).patience(patience).more("ops=30000")
}

#[test]
fn payload_without_release_or_acquire_is_caught() {
    for bug in ["relaxed_install", "relaxed_take"] {
        plant(
            bug,
            &["-fsanitize=thread", "-DRQ_TEST_RELAXED_TICKETS", YIELDS],
            &[tokens(QueueKind::Glfq, 16, 64)],
        );
    }
}

#[test]
fn a_dropped_dequeue_ticket_is_caught() {
    plant("dropped_ticket", &[YIELDS], &[tokens(QueueKind::Glfq, 2, 64), tokens(QueueKind::Gwfq, 2, 64)]);
}

#[test]
fn laps_compared_without_wrapping_are_caught() {
    let near_the_end =
        Case::new(QueueKind::Glfq, "sequential").capacity(4).more("first_ticket=0x7ffffffffffffff0");
    plant("raw_comparison", &[], &[near_the_end]);
}

#[test]
fn a_reused_ticket_is_caught() {
    plant("reused_ticket", &[YIELDS], &[tokens(QueueKind::Gwfq, 2, 0), tokens(QueueKind::Gwfq, 4, 1)]);
}

#[test]
fn an_enqueue_into_a_closed_slot_is_caught() {
    plant("closed_is_done", &[YIELDS], &[tokens(QueueKind::Gwfq, 2, 0), tokens(QueueKind::Gwfq, 2, 1)]);
}

#[test]
fn a_forgotten_note_is_caught() {
    let crowd = |capacity, patience| Case { threads: 8, ..tokens(QueueKind::Gwfq, capacity, patience) };
    plant("stale_note", &["-DRQ_TEST_YIELDS=4"], &[crowd(4, 0), crowd(8, 0), crowd(4, 1)]);
}

#[test]
fn a_dequeuer_that_overlooks_its_value_is_caught() {
    plant("owner_says_empty", &[YIELDS], &[tokens(QueueKind::Gwfq, 2, 0), tokens(QueueKind::Gwfq, 4, 1)]);
}

#[test]
fn a_claimed_cell_without_its_value_is_caught() {
    plant("missing_commit", &[YIELDS], &[tokens(QueueKind::GwfqYmc, 1, 1), tokens(QueueKind::GwfqYmc, 3, 1)]);
}
