//! Renders that change in the middle of the work: another engine, another goal, another view, all over again.

mod common;

use common::{cpu, engine, every_engine, render, resized};
use rayq::engine::{EngineKind, Render, Settings};
use rayq::scene::Scene;
use std::time::Duration;

const SAMPLES: u32 = 4;

fn scene() -> Scene {
    resized("tests/cases/E96/stress.json", 96, 40, SAMPLES)
}

/// Every engine with short slices, so that there is a middle of the work.
fn contenders() -> Vec<Settings> {
    let short = |s| Settings { slice: Some(Duration::from_micros(200)), ..s };
    every_engine().into_iter().map(short).collect()
}

/// Some slices; whether anything is left to do after them.
fn work(making: &mut Render, slices: u32) -> bool {
    (0..slices).all(|_| !making.advance().expect("a slice").finished)
}

fn finish(making: &mut Render) -> String {
    while !making.advance().expect("a slice").finished {}
    making.film().expect("a film").hash()
}

#[test]
fn any_engine_goes_on_from_any_other() {
    let wanted = render(&cpu(2), &scene(), &engine(EngineKind::Megakernel)).hash();
    let all = contenders();
    let mut midway = 0;
    for (i, first) in all.iter().enumerate() {
        let mut making = Render::new(cpu(2), &scene(), first).expect("starts");
        // A chain through all the others, a few slices each.
        for next in all.iter().cycle().skip(i + 1).take(all.len()) {
            midway += u32::from(work(&mut making, 2));
            making.switch(next).expect("switches");
        }
        assert_eq!(finish(&mut making), wanted, "from {first:?}");
    }
    assert!(midway >= all.len() as u32, "only {midway} switches were in the middle of the work");
}

#[test]
fn a_goal_can_be_raised() {
    let wanted = render(&cpu(2), &scene(), &engine(EngineKind::Megakernel)).hash();
    for settings in contenders() {
        let mut making = Render::new(cpu(2), &scene(), &settings).expect("starts");
        for goal in [1, 3, SAMPLES] {
            making.aim(goal).expect("aims");
            finish(&mut making);
            let film = making.film().expect("a film");
            assert_eq!(film.sample_range(), (goal, goal), "{settings:?}");
        }
        assert_eq!(making.film().expect("a film").hash(), wanted, "{settings:?}");
    }
}

/// What a render was doing when it was told to begin anew leaves no trace.
#[test]
fn beginning_anew_forgets_everything() {
    let home = render(&cpu(2), &scene(), &engine(EngineKind::Megakernel)).hash();
    let mut moved = scene();
    moved.camera.eye.x += 0.25;
    let there = render(&cpu(2), &moved, &engine(EngineKind::Megakernel)).hash();
    for settings in contenders() {
        let mut making = Render::new(cpu(2), &scene(), &settings).expect("starts");
        for (camera, wanted) in [(&moved.camera, &there), (&scene().camera, &home)] {
            work(&mut making, 3);
            making.look(camera).expect("looks");
            work(&mut making, 2);
            making.restart().expect("restarts");
            assert_eq!(&finish(&mut making), wanted, "{settings:?}");
        }
    }
}
