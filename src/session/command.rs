//! What a session can be told.

use crate::engine::{Compact, EngineKind, Policy};
use crate::queue::QueueKind;
use crate::scene::Integrator;
use serde::{Deserialize, Serialize};

/// One thing to do. In JSON: `{"orbit": {"right": 0.1, "up": 0}}`, `{"engine": "megakernel"}`, `"reset"`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Goes around what is in the middle of the picture, in radians.
    Orbit {
        /// The camera moves to the right.
        right: f32,
        /// The camera moves up.
        up: f32,
    },
    /// Looks elsewhere from the same place, in radians.
    Turn {
        /// To the right.
        right: f32,
        /// Up.
        up: f32,
    },
    /// Moves along the picture, in heights of the picture.
    Pan {
        /// To the right.
        right: f32,
        /// Up.
        up: f32,
    },
    /// Goes to this part of the distance from what is in the middle of the picture.
    Zoom(f32),
    /// Flies, in distances from which the scene's own view sees its middle.
    Fly {
        /// To the right.
        right: f32,
        /// Up.
        up: f32,
        /// Forward.
        forward: f32,
    },
    /// Back to the scene's own view and exposure.
    Reset,
    /// Traces with this engine; the film goes on.
    Engine(EngineKind),
    /// The tile-queue engine uses this queue; the film goes on.
    Queue(QueueKind),
    /// The tile-queue engine follows this policy; the film goes on.
    Policy(Policy),
    /// The compaction engine takes this form; the film goes on.
    Compact(Compact),
    /// Carries light in this way, with an empty film.
    Integrator(Integrator),
    /// The next of the values of this dial, around.
    Next(Dial),
    /// Adds stops to the exposure: each doubles the light. The film goes on.
    Expose(f32),
    /// Shows this.
    View(View),
    /// Stops adding samples, or goes on.
    Pause(bool),
    /// Reads the scene file again, as when it changes.
    Reload,
}

/// What a key steps through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dial {
    /// Engines.
    Engine,
    /// Tile queues.
    Queue,
    /// Policies of the tile-queue engine.
    Policy,
    /// Integrators.
    Integrator,
    /// Views.
    View,
}

/// What the picture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// The scene.
    Picture,
    /// Rays of each pixel's first sample, in false colours.
    Rays,
    /// How full each tile's queue is, in false colours over the picture.
    Queues,
}

/// The value after `now`, the first one after the last.
pub(super) fn next<T: PartialEq + Copy>(values: &[T], now: T) -> T {
    let at = values.iter().position(|v| *v == now).map_or(0, |i| i + 1);
    values[at % values.len()]
}
