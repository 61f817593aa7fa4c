//! The simulator's side of the platform table: each operation waits for its turn, then takes effect.

use crate::launch::{Pending, State, with};
use crate::platform::{Frame, Order, Place, Rmw, Table, WaveOp};
use std::ffi::c_char;

/// What kernels call during a simulated launch.
pub static TABLE: Table =
    Table { enter, place, load, store, rmw, cas, plain_load, plain_store, fence, wave, barrier, spin, ticks };

/// Runs `f` with the state and the number of the calling lane.
fn at_once<R>(f: impl FnOnce(&mut State, usize) -> R) -> R {
    with(|launch| f(&mut launch.state.borrow_mut(), launch.current.get()))
}

/// The same when it is the lane's turn.
fn in_turn<R>(frame: Frame, f: impl FnOnce(&mut State, usize) -> R) -> R {
    with(|launch| launch.give_way(Pending::Turn, frame));
    at_once(f)
}

extern "C-unwind" fn enter(frame: Frame) {
    at_once(|state, lane| state.lanes[lane].base = frame);
}

extern "C-unwind" fn place() -> *const Place {
    at_once(|state, lane| &raw const state.lanes[lane].place)
}

extern "C-unwind" fn load(p: *const u8, bytes: u32, order: Order, frame: Frame) -> u64 {
    in_turn(frame, |s, lane| s.memory.load(&mut s.rng, lane, p, bytes, order))
}

extern "C-unwind" fn store(p: *mut u8, bytes: u32, v: u64, order: Order, frame: Frame) {
    in_turn(frame, |s, lane| s.memory.store(lane, p, bytes, v, order));
}

extern "C-unwind" fn rmw(op: Rmw, p: *mut u8, bytes: u32, v: u64, order: Order, frame: Frame) -> u64 {
    in_turn(frame, |s, lane| s.memory.rmw(lane, op, p, bytes, v, order))
}

extern "C-unwind" fn cas(p: *mut u8, bytes: u32, old: u64, new: u64, order: Order, frame: Frame) -> u64 {
    in_turn(frame, |s, lane| s.memory.cas(&mut s.rng, lane, p, bytes, old, new, order))
}

// Plain accesses take effect with the operation before them: if they are ordered, nobody can tell, and if they
// are not, the weak model reports a race.
extern "C-unwind" fn plain_load(p: *const u8, bytes: u32, _: Frame) -> u64 {
    at_once(|s, lane| s.memory.plain_load(lane, p, bytes))
}

extern "C-unwind" fn plain_store(p: *mut u8, bytes: u32, v: u64, _: Frame) {
    at_once(|s, lane| s.memory.plain_store(lane, p, bytes, v));
}

extern "C-unwind" fn fence(order: Order, frame: Frame) {
    if at_once(|s, _| s.memory.is_weak()) {
        in_turn(frame, |s, lane| s.memory.fence(lane, order));
    }
}

extern "C-unwind" fn wave(
    op: WaveOp,
    value: u64,
    from: u32,
    file: *const c_char,
    line: u32,
    frame: Frame,
) -> u64 {
    with(|launch| launch.give_way(Pending::Wave { op, value, from, file, line }, frame));
    at_once(|s, lane| s.lanes[lane].result)
}

extern "C-unwind" fn barrier(file: *const c_char, line: u32, frame: Frame) {
    with(|launch| launch.give_way(Pending::Barrier { file, line }, frame));
}

extern "C-unwind" fn spin(frame: Frame) {
    at_once(|s, lane| {
        let wave = s.wave_of(lane);
        s.priorities.fall_back(wave);
    });
    in_turn(frame, |_, _| ());
}

extern "C-unwind" fn ticks(frame: Frame) -> u64 {
    in_turn(frame, |s, lane| {
        // The look at the clock itself does not count.
        let operations = std::mem::take(&mut s.lanes[lane].operations) - 1;
        s.report.longest_operation = s.report.longest_operation.max(operations);
        s.first_tick + s.report.steps
    })
}
