//! Whole engines in waves of 4, 32 and 64 lanes on the simulator: the film of the CPU, bit by bit.

mod common;

use common::{cpu, engine, every_way, render, resized};
use rayq::device::Device;
use rayq::engine::{EngineKind, Render, Settings};
use rayq_sim::{MemoryModel, Model, Options, Schedule, SimDevice};
use std::sync::Arc;
use std::time::Duration;

/// Scenes whose rays are tested against everything, and one with trees, which waves trace from pools.
const WITH_AND_WITHOUT_TREES: [&str; 2] = ["scenes/cornell.toml", "scenes/gltf-sampler.toml"];

fn simulator(wave: u32, options: Options) -> Arc<dyn Device> {
    Arc::new(SimDevice::new(wave, options))
}

#[test]
fn waves_of_any_size_make_the_same_film() {
    for path in ["scenes/complex.toml"].into_iter().chain(WITH_AND_WITHOUT_TREES) {
        let scene = resized(path, 16, 8, 2);
        let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel)).hash();
        for wave in [4, 32, 64] {
            for model in [Model::Independent, Model::Lockstep] {
                for settings in every_way() {
                    let start = std::time::Instant::now();
                    let device = simulator(wave, Options { model, resident: 2, ..Options::default() });
                    let film = render(&device, &scene, &settings);
                    assert_eq!(film.hash(), wanted, "{path}, waves of {wave}, {model:?}, {settings:?}");
                    println!(
                        "{path} {wave} {model:?} {:?} {} {:?}",
                        settings.engine,
                        settings.queue,
                        start.elapsed()
                    );
                }
            }
        }
    }
}

#[test]
fn first_hits_are_the_same_in_waves() {
    let plain = ["scenes/complex.toml", "scenes/cornell.toml", "tests/cases/E96/stress.json"];
    for path in plain.into_iter().chain(["scenes/gltf-sampler.toml"]) {
        let scene = resized(path, 13, 7, 1);
        let hits = |device| {
            let render = Render::new(device, &scene, &engine(EngineKind::Megakernel)).expect("a render");
            bytemuck::cast_slice::<_, u8>(&render.first_hits().expect("hits")).to_vec()
        };
        for wave in [4, 32, 64] {
            let device = simulator(wave, Options { resident: 2, ..Options::default() });
            assert!(hits(device) == hits(cpu(3)), "{path}, waves of {wave}");
        }
    }
}

/// Without a word about pools both ways are tried, launch by launch.
#[test]
fn trials_do_not_show() {
    let scene = resized("scenes/gltf-sampler.toml", 16, 8, 2);
    let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel)).hash();
    for slice in [None, Some(Duration::from_millis(2))] {
        let device = simulator(32, Options { resident: 2, max_steps: 20_000_000, ..Options::default() });
        let mut making = Render::new(device, &scene, &Settings { slice, ..engine(EngineKind::TileQueue) })
            .expect("starts");
        let mut ways = vec![];
        while !making.is_settled() || ways.is_empty() {
            making.restart().expect("starts again");
            loop {
                ways.push(making.pools().expect("a choice"));
                if making.advance().expect("a slice").finished {
                    break;
                }
            }
            assert_eq!(making.film().expect("a film").hash(), wanted);
        }
        assert_eq!(ways[..4], [false, true, false, true]);
    }
}

#[test]
fn paths_without_hits_are_over_in_waves() {
    for path in WITH_AND_WITHOUT_TREES {
        let mut scene = resized(path, 13, 7, 2);
        scene.image.max_depth = 0;
        let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel)).hash();
        let device = simulator(32, Options { resident: 2, ..Options::default() });
        for settings in every_way() {
            for slice in [None, settings.slice] {
                let settings = Settings { slice, ..settings.clone() };
                assert_eq!(render(&device, &scene, &settings).hash(), wanted, "{path}, {settings:?}");
            }
        }
    }
}

#[test]
fn schedules_tiles_and_slices_do_not_show() {
    for (path, seed) in
        WITH_AND_WITHOUT_TREES.into_iter().flat_map(|path| (0..4).map(move |seed| (path, seed)))
    {
        let scene = resized(path, 16, 8, 2);
        let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel)).hash();
        let schedule =
            if seed % 2 == 0 { Schedule::Random } else { Schedule::Pct { changes: 4, horizon: 20_000 } };
        let device = simulator(
            32,
            Options { schedule, seed, resident: 3, max_steps: 20_000_000, ..Options::default() },
        );
        for settings in every_way() {
            // 2000 of the simulator's steps a slice: the launches end early and go on.
            let settings = Settings { tile: Some((8, 4)), slice: Some(Duration::from_millis(2)), ..settings };
            let start = std::time::Instant::now();
            assert_eq!(
                render(&device, &scene, &settings).hash(),
                wanted,
                "{path}, seed {seed}, {settings:?}"
            );
            println!("{path} {seed} {:?} {} {:?}", settings.engine, settings.queue, start.elapsed());
        }
    }
}

#[test]
fn rays_are_handed_on_without_races() {
    for (path, seed) in
        WITH_AND_WITHOUT_TREES.into_iter().flat_map(|path| (0..4).map(move |seed| (path, seed)))
    {
        let scene = resized(path, 16, 8, 2);
        let wanted = render(&cpu(1), &scene, &engine(EngineKind::Megakernel)).hash();
        let options = Options {
            memory: MemoryModel::Weak,
            seed,
            resident: 3,
            max_steps: 20_000_000,
            ..Options::default()
        };
        let device = simulator(4, options);
        for settings in every_way() {
            let start = std::time::Instant::now();
            assert_eq!(
                render(&device, &scene, &settings).hash(),
                wanted,
                "{path}, seed {seed}, {settings:?}"
            );
            println!("{path} {seed} {:?} {} {:?}", settings.engine, settings.queue, start.elapsed());
        }
    }
}
