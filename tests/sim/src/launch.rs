//! A launch: lanes as coroutines under a scheduler.
//!
//! A lane gives way before each memory and wave operation, so that a move of a lane is one operation and the
//! private work after it. The state is borrowed for short stretches only, never while a lane runs.

use crate::memory::Memory;
use crate::options::{Model, Options, Report};
use crate::platform::{Frame, Place, SimEntry, WaveOp, caller};
use crate::rng::Rng;
use crate::schedule::Priorities;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::cell::{Cell, RefCell};
use std::ffi::c_char;

/// Stack of a lane. Unoptimised kernels keep every temporary.
const STACK_BYTES: usize = 256 << 10;
/// Calls deep that a place in the code is told apart.
const DEPTH: usize = 12;

type LaneCoroutine = Coroutine<(), (), (), DefaultStack>;

thread_local! {
    /// Stacks of ended lanes, for reuse.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(vec![]) };
    /// The launch that this thread runs.
    static LAUNCH: Cell<*const Launch> = const { Cell::new(std::ptr::null()) };
}

/// The launch that this thread runs. Only kernels' callbacks ask.
pub fn with<R>(f: impl FnOnce(&Launch) -> R) -> R {
    let launch = LAUNCH.get();
    assert!(!launch.is_null(), "a kernel runs in a launch");
    // SAFETY: `run` sets it for its own duration.
    f(unsafe { &*launch })
}

/// What a lane waits for.
#[derive(Clone, Copy, Debug)]
pub enum Pending {
    /// Its turn.
    Turn,
    /// The other lanes of its wave.
    Wave { op: WaveOp, value: u64, from: u32, file: *const c_char, line: u32 },
    /// The other lanes of its block.
    Barrier { file: *const c_char, line: u32 },
    /// Nothing: it has ended.
    Done,
}

/// A lane.
pub struct Lane {
    pub place: Place,
    pub pending: Pending,
    /// What its last wave operation gave.
    pub result: u64,
    /// Operations since it last looked at the clock.
    pub operations: u64,
    /// Frame of the kernel's entry.
    pub base: Frame,
    /// Return addresses from the entry to the operation it is at.
    site: [usize; DEPTH],
    depth: usize,
    yielder: *const Yielder<(), ()>,
}

impl Lane {
    fn site(&self) -> &[usize] {
        &self.site[..self.depth]
    }

    fn remember_site(&mut self, mut frame: Frame) {
        self.depth = 0;
        while self.depth < DEPTH && frame != self.base {
            // SAFETY: frames are linked from the thunk down to the entry, compiled with frame pointers.
            let (caller, back) = unsafe { (*frame as Frame, *frame.add(1)) };
            self.site[self.depth] = back;
            self.depth += 1;
            frame = caller;
        }
        self.site[..self.depth].reverse();
    }
}

struct Wave {
    first: usize,
    /// Lanes that wait for their turn.
    ready: Vec<usize>,
    at_wave_op: usize,
    at_barrier: usize,
    done: usize,
    moves: u64,
    stalled: bool,
}

struct Block {
    at_barrier: usize,
    done: usize,
    _shared: Vec<u128>,
}

/// Everything that changes during a launch.
pub struct State {
    pub options: Options,
    pub memory: Memory,
    pub rng: Rng,
    pub lanes: Vec<Lane>,
    pub report: Report,
    /// What the clock showed at the start.
    pub first_tick: u64,
    pub priorities: Priorities,
    waves: Vec<Wave>,
    blocks: Vec<Block>,
    /// Waves with lanes that wait for their turn.
    runnable: Vec<usize>,
    wave_size: usize,
    block_threads: usize,
    error: Option<Failure>,
}

/// A launch.
pub struct Launch {
    pub state: RefCell<State>,
    /// The lane that runs.
    pub current: Cell<usize>,
}

impl Launch {
    /// Lets others go first; returns when it is the calling lane's turn.
    pub fn give_way(&self, pending: Pending, frame: Frame) {
        let yielder = {
            let mut state = self.state.borrow_mut();
            let sites = state.options.model == Model::Lockstep || !matches!(pending, Pending::Turn);
            let lane = &mut state.lanes[self.current.get()];
            lane.pending = pending;
            lane.operations += 1;
            if sites {
                lane.remember_site(frame);
            }
            lane.yielder
        };
        // SAFETY: the yielder of the running coroutine, which set it when it began.
        unsafe { (*yielder).suspend(()) };
    }
}

/// Why a launch failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub what: String,
    /// The word that it is about.
    pub address: Option<u64>,
}

/// Size of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    pub blocks: u32,
    pub threads: u32,
    pub shared: u32,
    pub wave_size: u32,
    /// What the clock shows at the start.
    pub ticks: u64,
}

impl State {
    fn new(grid: Grid, options: Options) -> Self {
        let mut rng = Rng::new(options.seed);
        let (wave_size, threads) = (grid.wave_size as usize, grid.threads as usize);
        let lanes = grid.blocks as usize * threads;
        let waves: Vec<_> = (0..lanes / wave_size)
            .map(|w| Wave {
                first: w * wave_size,
                ready: vec![],
                at_wave_op: 0,
                at_barrier: 0,
                done: 0,
                moves: 0,
                stalled: false,
            })
            .collect();
        State {
            options,
            memory: Memory::new(options.memory, lanes),
            priorities: Priorities::new(options.schedule, waves.len(), &mut rng),
            rng,
            lanes: Vec::with_capacity(lanes),
            report: Report::default(),
            first_tick: grid.ticks,
            waves,
            blocks: vec![],
            runnable: vec![],
            wave_size,
            block_threads: threads,
            error: None,
        }
    }

    /// Puts the next block on the device: its lanes wait for their turn.
    fn begin_block(&mut self, grid: Grid) -> std::ops::Range<usize> {
        let block = self.blocks.len();
        // What a kernel finds in shared memory is undefined: make it show.
        let mut shared =
            vec![0xa5a5_a5a5_a5a5_a5a5_a5a5_a5a5_a5a5_a5a5_u128; (grid.shared as usize).div_ceil(16)];
        let first = block * self.block_threads;
        for thread in 0..grid.threads {
            let place = Place {
                thread,
                block: block as u32,
                block_threads: grid.threads,
                blocks: grid.blocks,
                wave_size: grid.wave_size,
                wave_lane: thread % grid.wave_size,
                shared: shared.as_mut_ptr().cast(),
            };
            self.lanes.push(Lane {
                place,
                pending: Pending::Turn,
                result: 0,
                operations: 0,
                base: std::ptr::null(),
                site: [0; DEPTH],
                depth: 0,
                yielder: std::ptr::null(),
            });
        }
        self.blocks.push(Block { at_barrier: 0, done: 0, _shared: shared });
        let lanes = first..first + self.block_threads;
        lanes.clone().for_each(|lane| self.make_ready(lane));
        lanes
    }

    fn make_ready(&mut self, lane: usize) {
        self.lanes[lane].pending = Pending::Turn;
        let number = lane / self.wave_size;
        let wave = &mut self.waves[number];
        if wave.ready.is_empty() && !wave.stalled {
            self.runnable.push(number);
        }
        wave.ready.push(lane);
    }

    /// Reports an error; the first one counts.
    pub fn fail(&mut self, what: String) {
        self.error.get_or_insert(Failure { what, address: None });
    }

    /// Reports the data race that the last move made, if it did.
    fn look_for_race(&mut self) {
        if let Some((address, what)) = self.memory.take_race() {
            self.error.get_or_insert(Failure { what: format!("data race: {what}"), address: Some(address) });
        }
    }

    /// Chooses lanes to move next, in this order; none when nobody can move.
    fn choose(&mut self, batch: &mut Vec<usize>) {
        batch.clear();
        if self.report.steps >= self.options.max_steps {
            self.fail(format!("no progress: not ended after {} steps", self.options.max_steps));
        }
        if self.error.is_some() || self.runnable.is_empty() {
            return;
        }
        let number = self.priorities.choose(&self.runnable, &mut self.rng);
        let wave = &mut self.waves[number];
        wave.moves += 1;
        match self.options.model {
            Model::Independent => {
                let i = self.rng.below(wave.ready.len() as u64) as usize;
                batch.push(wave.ready.swap_remove(i));
            }
            Model::Lockstep => {
                let lanes = &self.lanes;
                let least = wave.ready.iter().map(|&l| lanes[l].site()).min().expect("a runnable wave");
                let here = |l: &mut usize| lanes[*l].site() == least;
                batch.extend(wave.ready.extract_if(.., here));
                self.rng.shuffle(batch);
            }
        }
        if let Some(stall) = self.options.stall.filter(|s| s.wave == number) {
            self.report.stalled_wave_moves += 1;
            wave.stalled = wave.moves >= stall.after;
        }
        if wave.ready.is_empty() || wave.stalled {
            self.runnable.retain(|&w| w != number);
        }
    }

    /// Takes note of where a lane has come to. Tells whether its block has ended.
    fn settle(&mut self, lane: usize) -> bool {
        let (number, block) = (lane / self.wave_size, lane / self.block_threads);
        let wave = &mut self.waves[number];
        match self.lanes[lane].pending {
            Pending::Turn => {
                self.make_ready(lane);
                return false;
            }
            Pending::Wave { .. } => wave.at_wave_op += 1,
            Pending::Barrier { .. } => {
                wave.at_barrier += 1;
                self.blocks[block].at_barrier += 1;
            }
            Pending::Done => {
                wave.done += 1;
                self.blocks[block].done += 1;
            }
        }
        if wave.at_wave_op == self.wave_size {
            self.complete_wave_op(number);
        } else if wave.at_wave_op > 0 && wave.at_wave_op + wave.at_barrier + wave.done == self.wave_size {
            self.convergence_deadlock(number);
        }
        let (waiting, done) = (self.blocks[block].at_barrier, self.blocks[block].done);
        if waiting > 0 && waiting + done == self.block_threads {
            self.complete_barrier(block);
        }
        done == self.block_threads
    }

    /// Number of a lane's wave.
    pub fn wave_of(&self, lane: usize) -> usize {
        lane / self.wave_size
    }

    fn wave_lanes(&self, number: usize) -> std::ops::Range<usize> {
        let first = self.waves[number].first;
        first..first + self.wave_size
    }

    /// All lanes of a wave have come to a wave operation: performs it if it is the same one.
    fn complete_wave_op(&mut self, number: usize) {
        let lanes = self.wave_lanes(number);
        let leader = &self.lanes[lanes.start];
        let Pending::Wave { op, from, .. } = leader.pending else {
            unreachable!("all are at wave operations")
        };
        let mut ballot = 0u64;
        let mut values = [0u64; 64];
        for (i, lane) in self.lanes[lanes.clone()].iter().enumerate() {
            let Pending::Wave { op: its_op, value, from: its_from, .. } = lane.pending else {
                unreachable!("all are at wave operations")
            };
            if its_op != op || lane.site() != leader.site() {
                return self.convergence_deadlock(number);
            }
            if op == WaveOp::Broadcast && its_from != from {
                let what =
                    format!("{}: lanes name different sources of a broadcast", self.describe(lanes.start));
                return self.fail(what);
            }
            ballot |= u64::from(value != 0) << i;
            values[i] = value;
        }
        for lane in lanes.clone() {
            let Pending::Wave { from, .. } = self.lanes[lane].pending else { unreachable!("checked above") };
            if op != WaveOp::Sync && from as usize >= self.wave_size {
                let what = format!("{}: lane {from} is not in the wave", self.describe(lane));
                return self.fail(what);
            }
            self.lanes[lane].result = if op == WaveOp::Ballot { ballot } else { values[from as usize] };
        }
        if op == WaveOp::Sync {
            self.memory.synchronize(lanes.clone());
        }
        self.waves[number].at_wave_op = 0;
        lanes.for_each(|lane| self.make_ready(lane));
    }

    fn complete_barrier(&mut self, block: usize) {
        let first = block * self.block_threads;
        let lanes = first..first + self.block_threads;
        self.memory.synchronize(lanes.clone());
        self.blocks[block].at_barrier = 0;
        for lane in lanes {
            if matches!(self.lanes[lane].pending, Pending::Barrier { .. }) {
                self.waves[lane / self.wave_size].at_barrier = 0;
                self.make_ready(lane);
            }
        }
    }

    /// Where a lane waits, in words.
    fn describe(&self, lane: usize) -> String {
        let Place { block, thread, wave_lane, .. } = self.lanes[lane].place;
        let at = match self.lanes[lane].pending {
            // SAFETY: the name of a kernel's file.
            Pending::Wave { op, file, line, .. } => unsafe { format!("at {op:?} of {}", caller(file, line)) },
            // SAFETY: as above.
            Pending::Barrier { file, line } => unsafe { format!("at the barrier of {}", caller(file, line)) },
            Pending::Turn => "at no wave operation".into(),
            Pending::Done => "has ended".into(),
        };
        format!("block {block} wave {} lane {wave_lane} {at}", thread as usize / self.wave_size)
    }

    fn convergence_deadlock(&mut self, number: usize) {
        let lanes = self.wave_lanes(number);
        let leader = self.lanes[lanes.clone()].iter().position(|l| matches!(l.pending, Pending::Wave { .. }));
        let leader = lanes.start + leader.expect("some lane is at a wave operation");
        let kind = |lane: &Lane| match lane.pending {
            Pending::Wave { op, .. } => Some(op as u32),
            _ => None,
        };
        let differs = |&l: &usize| {
            let (lane, leader) = (&self.lanes[l], &self.lanes[leader]);
            kind(lane) != kind(leader) || lane.site() != leader.site()
        };
        let other = lanes.clone().find(differs).expect("lanes differ");
        let what = format!("convergence deadlock: {}, but {}", self.describe(leader), self.describe(other));
        self.fail(what);
    }

    /// The verdict once nobody can move.
    fn verdict(&mut self) -> Result<Report, Failure> {
        if self.error.is_none() {
            let unfinished = |l: &usize| !matches!(self.lanes[*l].pending, Pending::Done);
            let stalled = |l: &usize| self.waves[*l / self.wave_size].stalled;
            let waiting = (0..self.lanes.len()).filter(unfinished).find(|l| !stalled(l));
            self.report.stalled_lanes = (0..self.lanes.len()).filter(unfinished).count() as u32;
            if let Some(lane) = waiting {
                self.fail(format!("deadlock: {} and nobody can move", self.describe(lane)));
            }
        }
        self.error.take().map_or(Ok(self.report), Err)
    }
}

/// Runs `entry` on a grid to the end.
pub fn run(entry: SimEntry, params: *const u8, grid: Grid, options: Options) -> Result<Report, Failure> {
    let launch = Launch { state: RefCell::new(State::new(grid, options)), current: Cell::new(0) };
    LAUNCH.set(&launch);
    let mut coroutines: Vec<Option<LaneCoroutine>> = vec![];
    let begin = |coroutines: &mut Vec<Option<LaneCoroutine>>| {
        let lanes = launch.state.borrow_mut().begin_block(grid);
        coroutines.extend(lanes.map(|_| Some(coroutine(entry, params))));
    };
    (0..grid.blocks.min(options.resident.max(1))).for_each(|_| begin(&mut coroutines));
    let mut batch = vec![];
    loop {
        launch.state.borrow_mut().choose(&mut batch);
        if batch.is_empty() {
            break;
        }
        for &lane in &batch {
            launch.current.set(lane);
            launch.state.borrow_mut().report.steps += 1;
            let running = coroutines[lane].as_mut().expect("a lane that has not ended");
            let ended = matches!(running.resume(()), CoroutineResult::Return(()));
            let mut state = launch.state.borrow_mut();
            if ended {
                let done = coroutines[lane].take().expect("it just ran");
                STACKS.with_borrow_mut(|s| s.push(done.into_stack()));
                state.lanes[lane].pending = Pending::Done;
            }
            state.look_for_race();
            let block_ended = state.settle(lane);
            drop(state);
            if block_ended && coroutines.len() < grid.blocks as usize * grid.threads as usize {
                begin(&mut coroutines);
            }
        }
    }
    for mut coroutine in coroutines.into_iter().flatten() {
        // SAFETY: kernels own nothing that must be dropped.
        unsafe { coroutine.force_reset() };
        STACKS.with_borrow_mut(|s| s.push(coroutine.into_stack()));
    }
    LAUNCH.set(std::ptr::null());
    launch.state.borrow_mut().verdict()
}

fn coroutine(entry: SimEntry, params: *const u8) -> LaneCoroutine {
    let stack = STACKS.with_borrow_mut(Vec::pop);
    let stack = stack.unwrap_or_else(|| DefaultStack::new(STACK_BYTES).expect("memory for a lane's stack"));
    Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
        with(|launch| {
            let mut state = launch.state.borrow_mut();
            state.lanes[launch.current.get()].yielder = yielder;
        });
        // SAFETY: the caller of the launch vouches for the parameters.
        unsafe { entry(params) };
    })
}
