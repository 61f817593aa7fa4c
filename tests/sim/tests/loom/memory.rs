//! The platform table over loom's atomics and cells.

use loom::cell::UnsafeCell;
use loom::sync::atomic::{self, AtomicU64};
use rayq_sim::platform::{Frame, Order, Place, Rmw, SimEntry, Table, WaveOp, rq_sim_use};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_char;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

/// The addresses that executions of a model have touched so far, and whether by plain accesses.
#[derive(Clone, Default)]
pub struct Words(Arc<Mutex<BTreeMap<u64, bool>>>);

impl Words {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.lock().expect("no panic under the lock").len()
    }

    fn add(&self, address: u64, plain: bool) {
        self.0.lock().expect("no panic under the lock").insert(address, plain);
    }
}

/// A word of 8 bytes: what every queue is made of.
#[derive(Clone)]
enum Word {
    Atomic(Arc<AtomicU64>),
    Plain(Arc<UnsafeCell<u64>>),
}

thread_local! {
    // Loom's threads take turns on one thread of the system. No borrow lasts beyond a look: others run in between.
    static KNOWN: RefCell<Words> = RefCell::default();
    static WORDS: RefCell<HashMap<u64, Word>> = RefCell::default();
    static PLACES: RefCell<Vec<Place>> = const { RefCell::new(vec![]) };
    static TICKS: Cell<u64> = const { Cell::new(0) };
    static INCOMPLETE: Cell<bool> = const { Cell::new(false) };
}
loom::thread_local! {
    /// Which lane the running thread is.
    static CURRENT: Cell<usize> = Cell::new(0);
}

/// Stack of a lane. Unoptimised kernels keep every temporary.
const STACK_BYTES: usize = 256 << 10;

/// Runs an execution of a model whose words are known so far; on a stack that is large enough.
pub fn within(known: &Words, execution: impl FnOnce() + Send + 'static) {
    KNOWN.set(known.clone());
    INCOMPLETE.set(false);
    TICKS.set(0);
    let host = loom::thread::Builder::new().stack_size(4 * STACK_BYTES).spawn(execution);
    host.expect("loom starts threads").join().expect("a panic ends the model");
}

/// Whether the execution touched a word that was not known, and so proves nothing.
pub fn is_incomplete() -> bool {
    INCOMPLETE.get()
}

/// Runs each lane as a thread, the first as the calling one, over a copy of memory in loom's words.
pub fn run_lanes(entry: SimEntry, params: *const u8, lanes: u32) {
    let known = KNOWN.with_borrow(Words::clone);
    let make = |(&address, &plain): (&u64, &bool)| {
        let value = read(address);
        let word = match plain {
            // Loom's own cell, which loom's threads may share: sharing it wrongly is what the models look for.
            #[allow(clippy::arc_with_non_send_sync)]
            true => Word::Plain(Arc::new(UnsafeCell::new(value))),
            false => Word::Atomic(Arc::new(AtomicU64::new(value))),
        };
        (address, word)
    };
    WORDS.set(known.0.lock().expect("no panic under the lock").iter().map(make).collect());
    let place = |block| Place {
        thread: 0,
        block,
        block_threads: 1,
        blocks: lanes,
        wave_size: 1,
        wave_lane: 0,
        shared: std::ptr::null_mut(),
    };
    PLACES.set((0..lanes).map(place).collect());
    // SAFETY: sets this thread's own pointer to a static.
    unsafe { rq_sim_use(&TABLE) };
    let params = params as usize;
    let lane = move |number: usize| {
        CURRENT.with(|lane| lane.set(number));
        // SAFETY: the parameters live until all lanes are joined; the table is in place.
        unsafe { entry(params as *const u8) }
    };
    let start = |number| loom::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || lane(number));
    let others: Vec<_> =
        (1..lanes as usize).map(|number| start(number).expect("loom starts threads")).collect();
    lane(0);
    others.into_iter().for_each(|other| other.join().expect("a panic ends the model"));
    for (address, word) in WORDS.take() {
        let value = match word {
            Word::Atomic(word) => word.load(Ordering::Acquire),
            // SAFETY: all lanes have ended.
            Word::Plain(word) => word.with(|value| unsafe { *value }),
        };
        write(address, value);
    }
}

fn read(address: u64) -> u64 {
    // SAFETY: kernels own their addresses as on any device; words are aligned.
    unsafe { (address as *const u64).read() }
}

fn write(address: u64, value: u64) {
    // SAFETY: as above.
    unsafe { (address as *mut u64).write(value) }
}

/// The word at an address; none if it was not known.
fn word(p: *const u8, bytes: u32, plain: bool) -> Option<Word> {
    assert_eq!(bytes, 8, "words of one size");
    let found = WORDS.with_borrow(|words| words.get(&(p as u64)).cloned());
    if found.is_none() {
        INCOMPLETE.set(true);
        KNOWN.with_borrow(|known| known.add(p as u64, plain));
    }
    found
}

fn atomic(p: *const u8, bytes: u32) -> Option<Arc<AtomicU64>> {
    match word(p, bytes, false)? {
        Word::Atomic(word) => Some(word),
        Word::Plain(_) => panic!("atomic and plain accesses to one word"),
    }
}

fn plain(p: *const u8, bytes: u32) -> Option<Arc<UnsafeCell<u64>>> {
    match word(p, bytes, true)? {
        Word::Plain(word) => Some(word),
        Word::Atomic(_) => panic!("atomic and plain accesses to one word"),
    }
}

fn ordering(order: Order) -> Ordering {
    match order {
        Order::Relaxed => Ordering::Relaxed,
        Order::Acquire => Ordering::Acquire,
        Order::Release => Ordering::Release,
        Order::AcqRel => Ordering::AcqRel,
        Order::SeqCst => Ordering::SeqCst,
    }
}

/// Of a load, and of a compare-and-swap that fails.
fn loading(order: Order) -> Ordering {
    if order.acquires() { Ordering::Acquire } else { Ordering::Relaxed }
}

/// What the kernels call.
static TABLE: Table =
    Table { enter, place, load, store, rmw, cas, plain_load, plain_store, fence, wave, barrier, spin, ticks };

extern "C-unwind" fn enter(_: Frame) {}

extern "C-unwind" fn place() -> *const Place {
    let lane = CURRENT.with(Cell::get);
    PLACES.with_borrow(|places| &raw const places[lane])
}

extern "C-unwind" fn load(p: *const u8, bytes: u32, order: Order, _: Frame) -> u64 {
    atomic(p, bytes).map_or_else(|| read(p as u64), |word| word.load(loading(order)))
}

extern "C-unwind" fn store(p: *mut u8, bytes: u32, v: u64, order: Order, _: Frame) {
    let order = if order.releases() { Ordering::Release } else { Ordering::Relaxed };
    atomic(p, bytes).map_or_else(|| write(p as u64, v), |word| word.store(v, order));
}

extern "C-unwind" fn rmw(op: Rmw, p: *mut u8, bytes: u32, v: u64, order: Order, _: Frame) -> u64 {
    let Some(word) = atomic(p, bytes) else {
        let old = read(p as u64);
        write(p as u64, op.apply(old, v, bytes));
        return old;
    };
    let order = ordering(order);
    match op {
        Rmw::Add => word.fetch_add(v, order),
        Rmw::Or => word.fetch_or(v, order),
        Rmw::And => word.fetch_and(v, order),
        Rmw::Exchange => word.swap(v, order),
        Rmw::Max => word.fetch_max(v, order),
    }
}

extern "C-unwind" fn cas(p: *mut u8, bytes: u32, old: u64, new: u64, order: Order, _: Frame) -> u64 {
    match atomic(p, bytes) {
        Some(word) => {
            word.compare_exchange(old, new, ordering(order), loading(order)).unwrap_or_else(|found| found)
        }
        None => {
            let found = read(p as u64);
            if found == old {
                write(p as u64, new);
            }
            found
        }
    }
}

extern "C-unwind" fn plain_load(p: *const u8, bytes: u32, _: Frame) -> u64 {
    // SAFETY: loom ends the model if another thread writes at this time.
    plain(p, bytes).map_or_else(|| read(p as u64), |word| word.with(|value| unsafe { *value }))
}

extern "C-unwind" fn plain_store(p: *mut u8, bytes: u32, v: u64, _: Frame) {
    // SAFETY: loom ends the model if another thread has access at this time.
    plain(p, bytes).map_or_else(|| write(p as u64, v), |word| word.with_mut(|value| unsafe { *value = v }));
}

extern "C-unwind" fn fence(order: Order, _: Frame) {
    atomic::fence(ordering(order));
}

/// Waves have one lane.
extern "C-unwind" fn wave(op: WaveOp, v: u64, _: u32, _: *const c_char, _: u32, _: Frame) -> u64 {
    if op == WaveOp::Ballot { u64::from(v != 0) } else { v }
}

extern "C-unwind" fn barrier(_: *const c_char, _: u32, _: Frame) {}

extern "C-unwind" fn spin(_: Frame) {
    loom::thread::yield_now();
}

/// Counts the looks in the order of the execution.
extern "C-unwind" fn ticks(_: Frame) -> u64 {
    TICKS.set(TICKS.get() + 1);
    TICKS.get()
}
