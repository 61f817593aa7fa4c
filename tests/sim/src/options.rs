//! How a launch is run, and what it reports.

use crate::memory::MemoryModel;

/// How the lanes of a wave move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Each by itself, as on NVIDIA since Volta.
    Independent,
    /// Together where they are at the same place, as on AMD: those least far in the code go first, so a lane
    /// that waits for another lane of its wave can wait for ever.
    Lockstep,
}

/// Which wave moves next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Any, with equal chance.
    Random,
    /// Random priorities, changed at `changes` random moments within the first `horizon` moves: finds an order
    /// bug of that depth with a known probability (Burckhardt et al., ASPLOS 2010). A wave that spins falls back
    /// behind all others.
    Pct {
        /// Number of changes.
        changes: u32,
        /// Moves among which they fall.
        horizon: u64,
    },
    /// Any, but one wave with a chance of 1 in `odds` only: its operations meet many of the others'.
    Starve {
        /// The wave.
        wave: usize,
        /// How seldom it moves while others can.
        odds: u64,
    },
}

/// A wave that stops for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Number of the wave in the launch.
    pub wave: usize,
    /// Its moves before that.
    pub after: u64,
}

/// How launches are run. The same options and the same work give the same run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How lanes move.
    pub model: Model,
    /// Who moves next.
    pub schedule: Schedule,
    /// What loads see.
    pub memory: MemoryModel,
    /// Blocks that are on the device at once; the next begins when one has ended.
    pub resident: u32,
    /// Which wave stalls, if one does.
    pub stall: Option<Stall>,
    /// Steps of all lanes after which a launch is given up for lack of progress.
    pub max_steps: u64,
    /// Of every choice.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            model: Model::Independent,
            schedule: Schedule::Random,
            memory: MemoryModel::Sequential,
            resident: 4,
            stall: None,
            max_steps: 1_000_000_000,
            seed: 1,
        }
    }
}

/// What a launch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Steps of all lanes.
    pub steps: u64,
    /// The most memory and wave operations that one lane made between two looks at `device_ticks`, which the
    /// queue probe takes before and after each queue operation.
    pub longest_operation: u64,
    /// Moves that the wave to be stalled made, also if it never came to the stall.
    pub stalled_wave_moves: u64,
    /// Lanes that the stall kept from ending.
    pub stalled_lanes: u32,
}
