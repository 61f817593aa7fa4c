//! Breadth-first search on a device, level by level: with the queues, and with the two baselines.
//!
//! A [`DeviceGraph`] is a graph in a device's memory, a [`Search`] an engine that is ready to search it from any
//! source. Results are levels; [`check`] proves them right or wrong without a second search.

pub mod check;
mod control;
mod graph;
mod search;

pub use graph::DeviceGraph;
pub use search::{Run, Search};

use crate::queue::QueueKind;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The level of a vertex that was not reached.
pub const UNREACHED: u32 = u32::MAX;

/// What holds the frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Two queues that alternate.
    Queue,
    /// An array to which waves append: the baseline.
    Append,
    /// The same, with large levels searched from below: the strong baseline.
    Direction,
}

/// How a search is cut into launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// One launch for all levels.
    Persistent,
    /// A launch a level, with a look by the host in between.
    Levels,
}

/// How to search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// What holds the frontier.
    pub engine: Engine,
    /// Which queue, if it is a queue.
    pub queue: QueueKind,
    /// How the search is cut into launches.
    pub form: Form,
    /// Lanes of a launch; none: as many as the device holds.
    pub lanes: Option<u32>,
    /// Lanes of a block, of no account on the CPU.
    pub block: u32,
    /// Values that each queue holds; none: what the graph needs.
    pub capacity: Option<u64>,
    /// Time after which a launch ends and the next one goes on.
    #[serde(skip)]
    pub slice: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            engine: Engine::Queue,
            queue: QueueKind::Glfq,
            form: Form::Persistent,
            lanes: None,
            block: 256,
            capacity: None,
            slice: Duration::from_millis(500),
        }
    }
}

impl Settings {
    /// Short name of what holds the frontier.
    pub fn name(&self) -> &'static str {
        match self.engine {
            Engine::Queue => self.queue.name(),
            Engine::Append => "append",
            Engine::Direction => "direction",
        }
    }
}
