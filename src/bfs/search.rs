//! Searches: the kernels of kernels/bfs, launched until there is nothing left to do.

use super::control::{Control, Position, Tallies};
use super::{DeviceGraph, Engine, Form, Settings, UNREACHED};
use crate::device::{Buffer, Device, Kernel, Mark, Shape, cover, launch};
use crate::error::{Error, Result};
use crate::layout::{BfsParams, BfsPullParams, Ptr, QueueSpace};
use crate::programs::{BFS_APPEND, BFS_QUEUE};
use crate::queue::{QueueKind, QueueLayout, QueueOptions};
use std::sync::Arc;
use std::time::Duration;

/// Lanes of a block at most: the kernels are compiled for it.
const MAX_BLOCK: u32 = 512;
/// Bytes of a lane's part in its wave's stash (`stash_depth` of traverse.h).
const STASH: u32 = 5 * 4;
/// How long a wave waits for a row that must be in the queue.
const PATIENCE: Duration = Duration::from_secs(10);
/// Arcs that a wave's claim should come to at least. Few: a short level is over when its slowest wave is, and what a wave
/// puts into the queue at once takes half as long as what it puts in twice. Measured on an H200, from 16 to 128.
const LEAST_ARCS: u64 = 16;
/// Rows that a CPU worker claims: at least, at most.
const BITES_NARROW: (u32, u32) = (16, 1024);
/// A level of more than this share of all rows is searched from below,
const PULL_ABOVE: u32 = 64;
/// until it has fewer than this share of all vertices (Beamer's beta).
const PUSH_BELOW: u64 = 24;

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Device time from the first launch's begin to the last one's end.
    pub time: Duration,
    /// Launches that traversed levels.
    pub launches: u32,
    /// The largest level of a vertex.
    pub depth: u32,
    /// Vertices with a level, the source included.
    pub visited: u64,
    /// Arcs that were looked at.
    pub scanned: u64,
}

/// The queues' memory.
struct Queues {
    layout: QueueLayout,
    initialise: Kernel,
    words: Buffer<u64>,
    records: Buffer<u64>,
}

/// Kernels and memory of the baselines.
struct Array {
    frontier: Buffer<u32>,
    pull: Kernel,
    gather: Kernel,
    next_visited: Option<Buffer<u32>>,
}

/// An engine that is ready to search a graph.
pub struct Search {
    graph: Arc<DeviceGraph>,
    settings: Settings,
    start: Kernel,
    run: Kernel,
    shape: Shape,
    queues: Option<Queues>,
    array: Option<Array>,
    visited: Buffer<u32>,
    levels: Buffer<u32>,
    control: Control,
}

impl Search {
    /// Compiles the kernels and takes the memory.
    ///
    /// # Errors
    /// [`Error::Input`]: lanes, block, queue or capacity that cannot be; or the device's errors.
    pub fn new(graph: &Arc<DeviceGraph>, settings: &Settings) -> Result<Search> {
        let device = &graph.device;
        let unit = match settings.engine {
            Engine::Queue if !QueueKind::BFS_QUEUES.contains(&settings.queue) => {
                let offered = QueueKind::BFS_QUEUES.map(QueueKind::name).join(", ");
                let why = format!("queue {}: cannot hold a frontier; there are {offered}", settings.queue);
                return Err(Error::Input(why));
            }
            Engine::Queue => BFS_QUEUE.unit(&[settings.queue.axis_value()]),
            Engine::Append | Engine::Direction => BFS_APPEND.unit(&[]),
        };
        let run = device.kernel(&unit, "bfs_run")?;
        let shape = shape(&**device, &run, settings)?;
        let words = (graph.vertices as usize).div_ceil(32);
        let (mut queues, mut array) = (None, None);
        if settings.engine == Engine::Queue {
            queues = Some(Queues::new(graph, settings, device.kernel(&unit, "bfs_initialise")?, shape)?);
        } else {
            array = Some(Array {
                frontier: Buffer::new(device, graph.rows as usize, "the frontier")?,
                pull: device.kernel(&unit, "bfs_pull")?,
                gather: device.kernel(&unit, "bfs_gather")?,
                next_visited: match settings.engine {
                    Engine::Direction => Some(Buffer::new(device, words, "marks of vertices")?),
                    _ => None,
                },
            });
        }
        Ok(Search {
            graph: graph.clone(),
            settings: settings.clone(),
            start: device.kernel(&unit, "bfs_start")?,
            run,
            shape,
            queues,
            array,
            visited: Buffer::new(device, words, "marks of vertices")?,
            levels: Buffer::new(device, graph.vertices as usize, "levels")?,
            control: Control::new(device)?,
        })
    }

    /// Lanes of a launch.
    pub fn lanes(&self) -> u32 {
        self.shape.blocks * self.shape.threads
    }

    /// Lanes of a block.
    pub fn block(&self) -> u32 {
        self.shape.threads
    }

    /// How it searches.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Values that each queue holds; none without queues.
    pub fn queue_capacity(&self) -> Option<u64> {
        self.queues.as_ref().map(|q| q.layout.capacity())
    }

    /// Searches from a vertex. `stop` is asked between launches.
    ///
    /// # Errors
    /// The device's, `stop`'s, or [`Error::Device`] when a row was lost.
    ///
    /// # Panics
    /// If the vertex is not in the graph.
    pub fn run(&mut self, source: u32, stop: impl Fn() -> Result<()>) -> Result<Run> {
        assert!(source < self.graph.vertices, "a vertex of the graph");
        let device = self.graph.device.clone();
        let rows = self.graph.rows_of(source);
        self.clear(source)?;
        let begin_at = Position { end: rows, level: 1, ..Position::default() };
        self.control.write(begin_at, self.claims())?;
        device.synchronize()?;
        let begin = device.mark()?;
        let threads = self.shape.threads;
        let start = Shape { blocks: rows.div_ceil(threads).min(self.shape.blocks), ..self.shape };
        // SAFETY: the parameters are this kernel's, and self and graph hold what they point to.
        unsafe { launch(&device, &self.start, start, &self.params(source, begin_at))? };
        let mut launches = 0;
        let (end, depth) = match self.settings.engine {
            Engine::Direction => self.alternate(source, begin_at, &mut launches, &stop)?,
            _ => {
                self.push(source, begin_at, u32::MAX, &mut launches, &stop).map(|(m, p)| (m, p.level - 2))?
            }
        };
        let Tallies { arcs, reached } = self.control.read_tallies()?;
        let time = device.elapsed(&begin, &end)?;
        Ok(Run { time, launches, depth, visited: reached, scanned: arcs })
    }

    /// The levels of the last run, [`UNREACHED`] where there is none.
    ///
    /// # Errors
    /// The device's.
    pub fn levels(&self) -> Result<Vec<u32>> {
        // The device keeps them plus one: zero, as memory is cleared, is no level.
        Ok(self.levels.to_vec()?.into_iter().map(|l| l.wrapping_sub(1)).collect())
    }

    /// Rows that waves hold claims of when a launch begins.
    fn claims(&self) -> u64 {
        let waves = self.lanes() / self.graph.device.info().wave_size;
        u64::from(waves) * u64::from(self.bites().0)
    }

    /// Rows that a wave claims: at least, at most.
    fn bites(&self) -> (u32, u32) {
        let wave = self.graph.device.info().wave_size;
        if wave == 1 {
            return BITES_NARROW;
        }
        // Few rows if they are long, but no more adds to common words than there is work for.
        let rows = LEAST_ARCS * u64::from(self.graph.rows) / u64::from(self.graph.arcs.max(1));
        (rows.clamp(1, wave.into()) as u32, wave)
    }

    fn clear(&self, source: u32) -> Result<()> {
        self.visited.zero()?;
        self.levels.zero()?;
        self.control.clear_tallies()?;
        if let Some(array) = &self.array {
            array.frontier.zero()?;
        }
        let Some(queues) = &self.queues else { return Ok(()) };
        queues.records.zero()?;
        let device = &self.graph.device;
        let shape = cover(&**device, queues.layout.total_words());
        let shape = Shape { blocks: shape.blocks.min(1 << 13), ..shape };
        // SAFETY: the parameters are this kernel's, and self holds what they point to.
        unsafe { launch(device, &queues.initialise, shape, &self.params(source, Position::default())) }
    }

    fn params(&self, source: u32, at: Position) -> BfsParams {
        let ticks_per_second = self.graph.device.info().ticks_per_second as f64;
        let ticks = |time: Duration| ((time.as_secs_f64() * ticks_per_second) as u64).max(1);
        let (offsets, targets, first_row) = self.graph.outward();
        let (least_bite, most_bite) = self.bites();
        BfsParams {
            space: self.queues.as_ref().map_or(QueueSpace::default(), Queues::space),
            offsets,
            targets,
            first_row,
            visited: self.visited.ptr(),
            levels: self.levels.ptr(),
            frontier: self.array.as_ref().map_or(Ptr::null(), |a| a.frontier.ptr()),
            control: self.control.ptr(),
            tallies: self.control.tallies_ptr(),
            budget_ticks: ticks(self.settings.slice),
            patience_ticks: ticks(PATIENCE),
            vertices: self.graph.vertices,
            source,
            first_claim: at.done,
            least_bite,
            most_bite,
            last_level: u32::MAX,
            most_rows: u32::MAX,
            reserved: 0,
        }
    }

    /// Launches until there is nothing left to do, or a level of more than `most_rows` rows is next. The control words
    /// are as `at` says.
    fn push(
        &self,
        source: u32,
        mut at: Position,
        most_rows: u32,
        launches: &mut u32,
        stop: &impl Fn() -> Result<()>,
    ) -> Result<(Mark, Position)> {
        let device = &self.graph.device;
        loop {
            let last_level = if self.settings.form == Form::Levels { at.level } else { u32::MAX };
            let params = BfsParams { last_level, most_rows, ..self.params(source, at) };
            // SAFETY: the parameters are this kernel's, and self and graph hold what they point to.
            unsafe { launch(device, &self.run, self.shape, &params)? };
            let end = device.mark()?;
            *launches += 1;
            let now = self.control.read()?;
            self.check(now, at)?;
            if now.is_finished() || (now.over && now.end - now.done > most_rows) {
                return Ok((end, now));
            }
            stop()?;
            at = now;
            self.control.write(at, self.claims())?;
        }
    }

    /// Rows that were lost, or a launch that got nothing done.
    fn check(&self, now: Position, before: Position) -> Result<()> {
        let what = match now.trouble {
            0 if now.done > before.done => return Ok(()),
            0 => "a launch got nothing done",
            1 => "it refused a row",
            _ => "a row did not come out of it",
        };
        Err(Error::Device(format!(
            "{}: frontier {}, {} lanes, level {}: {what}; no level is worth reading, please report this",
            self.graph.device.info().id,
            self.settings.name(),
            self.lanes(),
            now.level,
        )))
    }

    /// Pushes as long as levels are small, and searches the large ones from below. The last mark and the depth.
    fn alternate(
        &mut self,
        source: u32,
        mut at: Position,
        launches: &mut u32,
        stop: &impl Fn() -> Result<()>,
    ) -> Result<(Mark, u32)> {
        let most_rows = (self.graph.rows / PULL_ABOVE).max(1);
        loop {
            let (end, now) = self.push(source, at, most_rows, launches, stop)?;
            if now.is_finished() {
                return Ok((end, now.level - 2));
            }
            let mut level = now.level;
            let mut reached = self.control.read_tallies()?.reached;
            loop {
                let end = self.pull(level)?;
                *launches += 1;
                level += 1;
                let found = self.control.read_tallies()?.reached - reached;
                reached += found;
                if found == 0 {
                    return Ok((end, level - 2));
                }
                if found < u64::from(self.graph.vertices).div_ceil(PUSH_BELOW) {
                    break;
                }
                stop()?;
            }
            at = self.gather(source, now.done, level)?;
        }
    }

    /// One level from below.
    fn pull(&mut self, level: u32) -> Result<Mark> {
        let array = self.array.as_mut().expect("a baseline");
        let next = array.next_visited.as_mut().expect("made for this engine");
        let inward = self.graph.inward();
        let params = BfsPullParams {
            offsets: inward.offsets,
            sources: inward.sources,
            first_row: inward.first_row,
            visited: self.visited.ptr(),
            next_visited: next.ptr(),
            levels: self.levels.ptr(),
            tallies: self.control.tallies_ptr(),
            vertices: self.graph.vertices,
            level,
        };
        let device = &self.graph.device;
        // SAFETY: the parameters are this kernel's, and self and graph hold what they point to.
        unsafe { launch(device, &array.pull, cover(&**device, self.graph.vertices.into()), &params)? };
        std::mem::swap(&mut self.visited, next);
        device.mark()
    }

    /// Appends the vertices of the level before `level`, so that pushing can go on. Each vertex is appended once at
    /// most, so the array has room.
    fn gather(&self, source: u32, done: u32, level: u32) -> Result<Position> {
        let array = self.array.as_ref().expect("a baseline");
        let empty = Position { done, put: done, end: done, level, ..Position::default() };
        self.control.write(empty, 0)?;
        let params = BfsParams { last_level: level - 1, ..self.params(source, empty) };
        let device = &self.graph.device;
        let shape = cover(&**device, self.graph.vertices.into());
        // SAFETY: the parameters are this kernel's, and self and graph hold what they point to.
        unsafe { launch(device, &array.gather, shape, &params)? };
        let put = self.control.read()?.put;
        let at = Position { end: put, put, ..empty };
        self.control.write(at, self.claims())?;
        Ok(at)
    }
}

impl Queues {
    fn new(graph: &DeviceGraph, settings: &Settings, initialise: Kernel, shape: Shape) -> Result<Queues> {
        let rows = u64::from(graph.rows);
        settings.capacity.map_or(Ok(()), |c| settings.queue.check_capacity("--queue-capacity", c))?;
        // Values of a ring are below its capacity, and a level may hold every row.
        if let Some(capacity) = settings.capacity.filter(|&c| c < rows) {
            return Err(Error::Input(format!(
                "--queue-capacity {capacity}: exceeded by this graph, a level of which may hold {rows} rows of arcs; give \
                 {rows} or more, or leave it out"
            )));
        }
        let lanes = shape.blocks * shape.threads;
        // Each row is enqueued once in all, and no dequeue comes to nothing.
        let pool_cells = Some((rows + 1024).min(1 << 31) as u32);
        let options = QueueOptions { pool_cells, ..QueueOptions::default() };
        let capacity = settings.capacity.unwrap_or(rows);
        let layout = QueueLayout::new(settings.queue, capacity, 2, lanes, lanes, &options)?;
        let device = &graph.device;
        Ok(Queues {
            initialise,
            words: Buffer::new(device, layout.total_words() as usize, "the queues")?,
            records: Buffer::new(device, layout.total_record_words() as usize, "queue records")?,
            layout,
        })
    }

    fn space(&self) -> QueueSpace {
        self.layout.space(self.words.ptr(), self.records.ptr())
    }
}

/// The shape of a launch: the lanes that were asked for, or as many as are on the device at once.
fn shape(device: &dyn Device, run: &Kernel, settings: &Settings) -> Result<Shape> {
    let wave = device.info().wave_size;
    let id = &device.info().id;
    let mut threads = if wave == 1 { 1 } else { settings.block };
    if let Some(lanes) = settings.lanes.filter(|_| wave > 1) {
        threads = threads.min(lanes.next_multiple_of(wave));
    }
    if threads == 0 || threads % wave != 0 || threads > MAX_BLOCK {
        return Err(Error::Input(format!(
            "--block {threads}: {id} has waves of {wave} lanes; give a multiple of {wave} up to {MAX_BLOCK}"
        )));
    }
    let shared = if wave == 1 { 0 } else { STASH * threads };
    let resident = device.resident_blocks(run, threads, shared)?;
    let blocks = settings.lanes.map_or(resident, |lanes| lanes.div_ceil(threads));
    if blocks == 0 || blocks > resident {
        let way_out = if wave == 1 { "choose fewer, or more --workers" } else { "choose fewer lanes" };
        return Err(Error::Input(format!(
            "--lanes {}: {id} holds {} lanes of this kernel at once, in blocks of {threads}; {way_out}",
            settings.lanes.unwrap_or_default(),
            u64::from(resident) * u64::from(threads),
        )));
    }
    Ok(Shape { blocks, threads, shared })
}

const _: () = assert!(UNREACHED == 0u32.wrapping_sub(1), "levels() makes it of 0");
