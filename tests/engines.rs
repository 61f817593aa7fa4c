//! The film is a pure function of scene and settings: engines, tiles, threads and slices leave no trace in it.

mod common;

use common::{cpu, engine, every_engine, every_way, render, resized};
use rayq::device::{Device, cpu::CpuDevice};
use rayq::engine::{Compact, EngineKind, Policy, Render, Settings};
use std::sync::Arc;
use std::time::Duration;

const SCENES: [&str; 4] =
    ["scenes/complex.toml", "scenes/cornell.toml", "scenes/long-tail.toml", "tests/cases/E96/stress.json"];

/// What long-tail.toml shows at 120x67 with two samples a pixel: paths of 64 hits leave nothing to chance.
const LONG_TAIL: &str = "5cc471df46808e040863822343175270";

#[test]
fn every_engine_makes_the_same_film() {
    for path in SCENES {
        for (width, height, spp) in [(333, 77, 2), (8191, 3, 1), (1, 1, 5), (64, 48, 3)] {
            let scene = resized(path, width, height, spp);
            let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel));
            assert!(wanted.counts.iter().all(|&c| c == spp));
            for settings in every_engine() {
                let film = render(&cpu(2), &scene, &settings);
                assert_eq!(film.hash(), wanted.hash(), "{path} {width}x{height}, {settings:?}");
            }
        }
    }
}

/// The film is the same as ever, not just the same everywhere. A change that means to alter it alters this hash,
/// and says so in the changelog.
#[test]
fn the_long_tail_keeps_its_film() {
    let scene = resized("scenes/long-tail.toml", 120, 67, 2);
    for settings in every_engine() {
        assert_eq!(render(&cpu(2), &scene, &settings).hash(), LONG_TAIL, "{settings:?}");
    }
}

#[test]
fn tiles_and_workers_do_not_show() {
    let scene = resized("scenes/complex.toml", 333, 77, 2);
    let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel)).hash();
    for workers in [1, 2, 5] {
        for tile in [(1, 1), (7, 7), (16, 16), (64, 64), (392, 124), (160, 90), (1000, 1000)] {
            for settings in every_engine().into_iter().filter(|s| s.engine == EngineKind::TileQueue) {
                let settings = Settings { tile: Some(tile), ..settings };
                assert_eq!(render(&cpu(workers), &scene, &settings).hash(), wanted, "{workers} {settings:?}");
            }
        }
        for settings in every_engine() {
            assert_eq!(render(&cpu(workers), &scene, &settings).hash(), wanted, "{workers} {settings:?}");
        }
    }
}

#[test]
fn slices_do_not_show() {
    let scene = resized("tests/cases/E96/stress.json", 100, 60, 3);
    let wanted = render(&cpu(2), &scene, &engine(EngineKind::Megakernel)).hash();
    for slice in [Some(Duration::from_nanos(1)), Some(Duration::from_micros(300)), None] {
        for settings in every_engine() {
            let settings = Settings { slice, ..settings };
            assert_eq!(render(&cpu(2), &scene, &settings).hash(), wanted, "{settings:?}");
        }
    }
}

#[test]
fn batches_do_not_show() {
    let scene = resized("scenes/complex.toml", 100, 61, 2);
    let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel)).hash();
    for batch in [1, 33, 1000, u32::MAX] {
        for compact in [Compact::Append, Compact::Scan] {
            let settings = Settings { compact, batch: Some(batch), ..engine(EngineKind::Compaction) };
            assert_eq!(render(&cpu(2), &scene, &settings).hash(), wanted, "batches of {batch}, {compact:?}");
        }
    }
}

/// With trees: pools, whose walks go on in turns, and slices that end among them.
#[test]
fn pools_do_not_show() {
    let baseline: Arc<dyn Device> = Arc::new(CpuDevice::baseline(2).expect("worker threads"));
    for (path, depth) in
        [("scenes/gltf-sampler.toml", 12), ("scenes/gltf-sampler.toml", 0), ("scenes/sunflower.toml", 12)]
    {
        let mut scene = resized(path, 75, 40, 2);
        scene.image.max_depth = depth;
        let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel)).hash();
        for device in [cpu(1), cpu(5), Arc::clone(&baseline)] {
            for slice in [None, Some(Duration::from_nanos(1)), Some(Duration::from_millis(3))] {
                for settings in every_way().into_iter().filter(|s| s.pools == Some(true)) {
                    let settings = Settings { slice, ..settings };
                    assert_eq!(render(&device, &scene, &settings).hash(), wanted, "{path}, {settings:?}");
                }
            }
        }
    }
}

#[test]
fn the_baseline_build_makes_the_same_film() {
    let baseline: Arc<dyn Device> = Arc::new(CpuDevice::baseline(2).expect("worker threads"));
    for path in SCENES {
        let scene = resized(path, 120, 67, 2);
        for settings in every_engine() {
            let (one, other) = (render(&baseline, &scene, &settings), render(&cpu(2), &scene, &settings));
            assert_eq!(one.hash(), other.hash(), "{path} {settings:?}");
        }
    }
}

/// The digest is the film's, whoever made it, and of no other film.
#[test]
fn digests_tell_films_apart() {
    let digest = |scene: &rayq::scene::Scene, settings: &Settings| {
        let mut making = Render::new(cpu(2), scene, settings).expect("starts");
        let before = making.digest().expect("of an empty film");
        while !making.advance().expect("a slice").finished {}
        let after = making.digest().expect("a digest");
        assert_ne!(before, after);
        after
    };
    let scene = resized("scenes/long-tail.toml", 33, 21, 2);
    let wanted = digest(&scene, &engine(EngineKind::Megakernel));
    for settings in every_engine() {
        assert_eq!(digest(&scene, &settings), wanted, "{settings:?}");
    }
    let mut other = scene.clone();
    other.spheres.pop();
    assert_ne!(digest(&other, &Settings::default()), wanted);
}

/// The instrumented builds do the same work, and count what can be known beforehand.
#[test]
fn counting_does_not_show_and_counts_right() {
    let scene = resized("scenes/long-tail.toml", 64, 48, 1);
    let wanted = render(&cpu(2), &scene, &engine(EngineKind::Megakernel)).hash();
    for settings in every_engine() {
        let settings = Settings { counted: true, slice: None, ..settings };
        let mut making = Render::new(cpu(2), &scene, &settings).expect("starts");
        while !making.advance().expect("a slice").finished {}
        assert_eq!(making.film().expect("a film").hash(), wanted, "{settings:?}");
        let (counts, effort) = (making.statistics().counts, making.effort().expect("counts"));
        assert_eq!(effort.wave_steps, counts.rays(), "a lane a wave: {settings:?}");
        let film = 28 * counts.finished;
        match settings.engine {
            // Each pixel asks how many samples it has.
            EngineKind::Megakernel => assert_eq!(effort.bytes, film + 4 * 64 * 48),
            // Every bounce is stored and loaded once, and its pixel with it; each place of the image asks once.
            EngineKind::Compaction if settings.compact == Compact::Append => {
                assert_eq!(effort.bytes, film + 112 * counts.bounce + 4 * 64 * 48);
            }
            EngineKind::Compaction => assert!(effort.bytes > film + 112 * counts.bounce),
            // Four tiles of 32 x 32 slots are drawn once; bounces go in and out.
            EngineKind::TileQueue if settings.policy == Policy::Paper => {
                if !settings.queue.may_refuse() {
                    assert_eq!(effort.taken, 4 * 32 * 32 + 2 * counts.bounce, "{settings:?}");
                }
                assert!(effort.atomics >= effort.taken, "{settings:?}");
            }
            EngineKind::TileQueue => assert_eq!((effort.taken, effort.bytes), (0, film), "{settings:?}"),
        }
    }
}

/// Stops a render at many points; what is there must be what a shorter render has, pixel by pixel.
#[test]
fn a_stopped_film_is_a_prefix_of_the_whole() {
    const SAMPLES: u32 = 4;
    let path = "tests/cases/E96/stress.json";
    let shorter: Vec<_> = (1..=SAMPLES)
        .map(|spp| render(&cpu(2), &resized(path, 96, 40, spp), &engine(EngineKind::Megakernel)))
        .collect();
    for settings in every_engine() {
        let settings = Settings { slice: Some(Duration::from_micros(200)), ..settings };
        let mut making = Render::new(cpu(2), &resized(path, 96, 40, SAMPLES), &settings).expect("starts");
        let mut partial = 0;
        loop {
            let progress = making.advance().expect("a slice");
            let film = making.film().expect("a film");
            assert_eq!(film.samples(), progress.samples_done, "{settings:?}");
            let pixels = film.counts.len();
            for (pixel, &count) in film.counts.iter().enumerate().filter(|(_, c)| **c > 0) {
                let whole = &shorter[count as usize - 1];
                for plane in 0..3 {
                    let at = plane * pixels + pixel;
                    assert_eq!(film.sums[at], whole.sums[at], "pixel {pixel}, {count} samples, {settings:?}");
                }
            }
            if progress.finished {
                break;
            }
            partial += 1;
        }
        assert!(partial > 1, "the slices were too long to stop in between: {settings:?}");
    }
}
