//! The simulator's own tests: programs whose outcomes are known.

use crate::{MemoryModel, Model, Options, Schedule, SimDevice, Stall};
use bytemuck::{Pod, Zeroable};
use rayq::device::{Buffer, Device, Shape, launch};
use rayq::error::Error;
use rayq::layout::Ptr;
use std::sync::Arc;

/// The fields are those of `SelftestParams` in selftest.cpp.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct SelftestParams {
    words: Ptr<u64>,
    which: u32,
    reserved: u32,
}

/// The values are those of `Selftest` in selftest.cpp.
#[repr(u32)]
#[derive(Clone, Copy)]
enum Program {
    CountAtomically,
    StoreBuffering,
    BufferingFenced,
    MessageRelaxed,
    MessageReleased,
    MessageFenced,
    LeaderAcquires,
    LeaderSyncs,
    LostUpdate,
    MissingLane,
    DivergentCalls,
    WaitInWave,
    BlockSum,
    WaitForNextBlock,
    Shuffle,
}

const WORDS: usize = 512;

fn run(wave: u32, blocks: u32, threads: u32, options: Options, program: Program) -> Result<Vec<u64>, Error> {
    let sim = Arc::new(SimDevice::new(wave, options));
    let kernel = sim.kernel_of("selftest", "selftest").expect("compiled");
    let device: Arc<dyn Device> = sim;
    let words = Buffer::<u64>::zeroed(&device, WORDS, "words")?;
    let params = SelftestParams { words: words.ptr(), which: program as u32, reserved: 0 };
    // SAFETY: the kernel's own parameters; no program goes beyond WORDS.
    unsafe { launch(&device, &kernel, Shape { blocks, threads, shared: threads * 4 }, &params)? };
    words.to_vec()
}

const BOTH: [Model; 2] = [Model::Independent, Model::Lockstep];
const WEAK: Options = Options {
    model: Model::Independent,
    schedule: Schedule::Random,
    memory: MemoryModel::Weak,
    resident: 4,
    stall: None,
    max_steps: 100_000,
    seed: 0,
};

fn message(result: Result<Vec<u64>, Error>) -> String {
    result.expect_err("the launch should fail").to_string()
}

/// Out of 500 seeds, how many runs in waves of `wave` give `true`.
fn frequency(wave: u32, program: Program, memory: MemoryModel, happened: impl Fn(&[u64]) -> bool) -> usize {
    let run = |seed| run(wave, 2, wave, Options { memory, seed, ..WEAK }, program).expect("no race");
    (0..500).filter(|&seed| happened(&run(seed))).count()
}

#[test]
fn every_lane_runs_once_in_waves_of_any_size() {
    for model in BOTH {
        for wave in [1, 2, 4, 8, 16, 32, 64] {
            for memory in [MemoryModel::Sequential, MemoryModel::Weak] {
                let options = Options { model, memory, ..Options::default() };
                let words = run(wave, 3, 64, options, Program::CountAtomically).expect("runs");
                assert_eq!(words[..2], [192, 192], "{model:?} {wave} {memory:?}");
            }
        }
    }
}

#[test]
fn lanes_exchange_and_sum() {
    for model in BOTH {
        for wave in [1, 4, 32, 64] {
            let words =
                run(wave, 1, 64, Options { model, ..Options::default() }, Program::Shuffle).expect("runs");
            let lane = |i: u32| i % wave;
            for i in 0..64 {
                let expected = u64::from(wave - 1 - lane(i)) << 32 | u64::from(wave * (wave - 1) / 2);
                assert_eq!(words[i as usize], expected, "lane {i} in waves of {wave}");
            }
        }
    }
}

#[test]
fn barriers_hold_a_block_and_shared_memory_is_its_own() {
    for model in BOTH {
        let options = Options { model, resident: 2, ..Options::default() };
        let words = run(4, 5, 16, options, Program::BlockSum).expect("runs");
        assert_eq!(words[..80], [136; 80]);
    }
}

#[test]
fn unordered_updates_get_lost_and_seeds_reproduce() {
    let all =
        |seed| run(4, 2, 8, Options { seed, ..Options::default() }, Program::LostUpdate).expect("runs")[0];
    let counts: Vec<_> = (0..20).map(all).collect();
    assert!(counts.iter().any(|&c| c < 16), "{counts:?}");
    assert_eq!(counts, (0..20).map(all).collect::<Vec<_>>());
}

#[test]
fn store_buffering_needs_weak_memory_and_no_fence() {
    let both_zero = |w: &[u64]| w[2] == 0 && w[3] == 0;
    assert_eq!(frequency(1, Program::StoreBuffering, MemoryModel::Sequential, both_zero), 0);
    assert_ne!(frequency(1, Program::StoreBuffering, MemoryModel::Weak, both_zero), 0);
    assert_eq!(frequency(1, Program::BufferingFenced, MemoryModel::Weak, both_zero), 0);
}

#[test]
fn released_messages_arrive_whole() {
    for program in [Program::MessageReleased, Program::MessageFenced] {
        assert!(frequency(1, program, MemoryModel::Weak, |w| w[2] == 42) > 50);
    }
    assert!(frequency(4, Program::LeaderSyncs, MemoryModel::Weak, |w| w[2] == 42) > 50);
}

/// Runs until one of 200 seeds fails; gives the message.
fn first_failure(wave: u32, program: Program) -> String {
    let failure = |seed| run(wave, 2, wave, Options { seed, ..WEAK }, program).err();
    (0..200).find_map(failure).expect("some schedule fails").to_string()
}

#[test]
fn relaxed_messages_are_races() {
    let text = first_failure(1, Program::MessageRelaxed);
    assert!(text.contains("data race: a plain read by lane 1") && text.contains("byte 0 of words"), "{text}");
}

#[test]
fn a_broadcast_orders_no_memory() {
    assert!(first_failure(4, Program::LeaderAcquires).contains("data race"));
}

#[test]
fn a_lane_that_does_not_come_is_a_convergence_deadlock() {
    for model in BOTH {
        for program in [Program::MissingLane, Program::DivergentCalls] {
            let text = message(run(4, 1, 4, Options { model, ..Options::default() }, program));
            assert!(text.contains("convergence deadlock: block 0 wave 0 lane"), "{text}");
            assert!(text.contains("selftest.cpp:"), "{text}");
        }
    }
}

#[test]
fn waiting_for_a_lane_of_the_own_wave_hangs_in_lockstep_only() {
    let options = |model| Options { model, max_steps: 10_000, ..Options::default() };
    assert!(run(4, 1, 4, options(Model::Independent), Program::WaitInWave).is_ok());
    let text = message(run(4, 1, 4, options(Model::Lockstep), Program::WaitInWave));
    assert!(text.contains("no progress"), "{text}");
}

#[test]
fn blocks_beyond_the_resident_ones_wait_for_their_place() {
    let options = |resident| Options { resident, max_steps: 10_000, ..Options::default() };
    assert!(run(4, 3, 4, options(3), Program::WaitForNextBlock).is_ok());
    assert!(message(run(4, 3, 4, options(2), Program::WaitForNextBlock)).contains("no progress"));
    let pct = Options { schedule: Schedule::Pct { changes: 3, horizon: 200 }, ..options(3) };
    assert!(run(4, 3, 4, pct, Program::WaitForNextBlock).is_ok(), "a wave that spins lets others go first");
}

#[test]
fn a_stalled_wave_never_goes_on() {
    let stall =
        |wave, after| Options { stall: Some(Stall { wave, after }), max_steps: 10_000, ..Options::default() };
    let words = run(4, 2, 8, stall(1, 2), Program::CountAtomically).expect("the others end");
    assert!(words[1] == 12, "{words:?}");
    assert!(run(4, 2, 4, stall(1, 1), Program::WaitForNextBlock).is_err());
}
