//! Damaged scenes, models and pictures: each gives a result or one error line, soon, and with little memory.
//!
//! `RAYQ_FUZZ_SECONDS` (10) and `RAYQ_FUZZ_SEED` (1) say for how long and from where; the input at work lies in the
//! folder of the test's temporary files, `fuzz-input`. The corpus is fuzz/corpus and tests/cases; fuzz/ also has
//! targets for `cargo fuzz`, which finds more.

use rayq::model;
use rayq::scene::{Format, Scene};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Longest time for one input, on a busy machine; most take less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most memory for one input, all of which are small.
const MEMORY: usize = 1 << 30;

/// Counts what is in use and the most that was.
struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: All work is the system allocator's, whose rules are passed on; a null for too much is allowed by them.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > MEMORY {
            return std::ptr::null_mut();
        }
        let used = USED.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(used, Relaxed);
        // SAFETY: As the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: As the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// A generator of random numbers (PCG's recurrence, upper bits).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// What takes the place of numbers.
const VALUES: &[&str] = &[
    "0",
    "-1",
    "1",
    "2",
    "3",
    "65535",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "-9223372036854775808",
    "1e9",
    "1e30",
    "-1e38",
    "1e308",
    "1e999",
    "1e-40",
    "0.0",
    "nan",
    "null",
    "\"x\"",
    "[]",
    "{}",
    "[0]",
    "true",
];

/// Damages an input in one or two ways.
fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..=random.below(2) {
        let at = random.below(bytes.len());
        match random.below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = b"\0\xff\"\\/{}[],: \n-.019eEf#"[random.below(22)],
            2 => drop(bytes.drain(at..(at + 1 + random.below(40)).min(bytes.len()))),
            3 => {
                let end = (at + random.below(60)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            4 => {
                let from = random.below(other.len());
                let piece = &other[from..(from + random.below(60)).min(other.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            5 if random.below(4) == 0 => bytes.truncate(at),
            _ => replace_number(bytes, at, random),
        }
    }
    bytes.truncate(1 << 17);
}

/// Puts another value where the next number after `at` is.
fn replace_number(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let is_part = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|i| at + i) else { return };
    let length = bytes[start..].iter().take_while(|b| is_part(b)).count();
    bytes.splice(start..start + length, VALUES[random.below(VALUES.len())].bytes());
}

/// Reads an input as what its name says.
fn read(name: &Path, bytes: &[u8]) -> rayq::error::Result<()> {
    let extension = name.extension().and_then(|e| e.to_str()).unwrap_or("");
    match extension {
        "toml" | "json" => {
            let format = if extension == "toml" { Format::Toml } else { Format::Json };
            Scene::parse(&String::from_utf8_lossy(bytes), format, name).map(drop)
        }
        // Materials are read by way of an OBJ file that names them.
        "mtl" => {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
            fs::write(folder.join("fuzz.mtl"), bytes).expect("writable");
            model::parse(&folder.join("fuzz.obj"), b"mtllib fuzz.mtl\n").map(drop)
        }
        "png" | "jpg" | "hdr" => model::image::decode(name, bytes).map(drop),
        _ => model::parse(name, bytes).map(drop),
    }
}

/// All files of the folder that can be read; small ones, so that many are tried.
fn corpus(folder: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = entries.collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            corpus(&path, into);
            continue;
        }
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
        let bytes = fs::read(&path).expect("a file");
        if ["toml", "json", "obj", "mtl", "gltf", "glb", "png", "jpg", "hdr"].contains(&extension)
            && bytes.len() < 20_000
        {
            into.push((path, bytes));
        }
    }
}

#[test]
fn damaged_files_give_errors_and_no_trouble() {
    let variable =
        |name: &str, default: u64| std::env::var(name).map_or(default, |v| v.parse().expect("a number"));
    let time = Duration::from_secs(variable("RAYQ_FUZZ_SECONDS", 10));
    let mut random = Random(variable("RAYQ_FUZZ_SEED", 1));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dot = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dot.png");
    fs::copy(root.join("fuzz/corpus/obj/dot.png"), dot).expect("what fuzz.mtl names");
    let mut files = vec![];
    for folder in ["fuzz/corpus", "tests/cases", "assets/sampler"] {
        corpus(&root.join(folder), &mut files);
    }
    assert!(files.len() > 50, "{} files in the corpus", files.len());
    for (name, bytes) in &files {
        // Good or bad, but no trouble; and those of the corpus are good before they are damaged.
        let result = read(name, bytes);
        assert!(result.is_ok() || !name.starts_with(root.join("fuzz")), "{}: {result:?}", name.display());
    }
    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-input");
    let (start, mut tried, mut refused) = (Instant::now(), 0u64, 0u64);
    while start.elapsed() < time {
        let (name, whole) = &files[random.below(files.len())];
        let mut bytes = whole.clone();
        let other = random.below(files.len());
        damage(&mut bytes, &files[other].1, &mut random);
        fs::write(&input, &bytes).expect("writable");
        MOST.store(USED.load(Relaxed), Relaxed);
        let (before, began) = (USED.load(Relaxed), Instant::now());
        let result = read(name, &bytes);
        let place = format!("{} as {}", input.display(), name.display());
        assert!(began.elapsed() < PATIENCE, "{:?} for {place}", began.elapsed());
        let most = MOST.load(Relaxed) - before;
        assert!(most < MEMORY, "{most} bytes for {place}");
        tried += 1;
        if let Err(error) = result {
            let text = error.to_string();
            assert!(text.lines().count() == 1 && text.len() < 4000, "{text:?} for {place}");
            refused += 1;
        }
    }
    println!("{tried} inputs, {refused} refused");
    assert!(tried > 100 && refused > tried / 10 && refused < tried, "{refused} of {tried} refused");
}
