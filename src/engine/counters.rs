//! What launches count: rays by kind, contributions that the film refused, finished samples.

use crate::device::{Buffer, Device};
use crate::error::Result;
use crate::layout::CounterView;
use std::sync::Arc;

/// Copies of the counters, so that waves do not queue up for one word (`counter_stripes` of path.h).
const STRIPES: usize = 64;
/// Words of a copy (`counter_words` of path.h).
const WORDS: usize = 16;

/// Totals so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Camera rays traced.
    pub primary: u64,
    /// Rays traced after a hit.
    pub bounce: u64,
    /// Rays that asked whether a light is hidden.
    pub shadow: u64,
    /// Channels of contributions that were NaN or negative, taken as 0.
    pub bad: u64,
    /// Channels of contributions beyond the film's range, clamped to it.
    pub clamped: u64,
    /// Pixel samples that are in the film.
    pub finished: u64,
}

impl Counts {
    /// Rays of every kind.
    pub fn rays(&self) -> u64 {
        self.primary + self.bounce + self.shadow
    }
}

/// What an instrumented build counts besides (kernels/platform/counted.h); all 0 in any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Effort {
    /// Steps of waves, whatever number of their lanes was active.
    pub wave_steps: u64,
    /// Queue operations that were ok.
    pub taken: u64,
    /// Queue operations that came to nothing: empty, full, or a slot in another lane's hands.
    pub missed: u64,
    /// Read-modify-writes of the device's memory.
    pub atomics: u64,
    /// Bytes of rays and film that lanes loaded or stored, from whichever cache.
    pub bytes: u64,
}

/// The counters of a render on its device.
pub struct Counters {
    words: Buffer<u64>,
}

impl Counters {
    /// All zero.
    pub fn new(device: &Arc<dyn Device>) -> Result<Self> {
        Ok(Counters { words: Buffer::zeroed(device, STRIPES * WORDS, "counters")? })
    }

    /// Back to zero.
    pub fn clear(&self) -> Result<()> {
        self.words.zero()
    }

    /// For a launch.
    pub fn view(&self) -> CounterView {
        CounterView { words: self.words.ptr() }
    }

    /// Waits for the device and adds up.
    pub fn read(&self) -> Result<Counts> {
        let words = self.words.to_vec()?;
        let total = |word: usize| words.chunks(WORDS).map(|stripe| stripe[word]).sum();
        // The order of `enum Counter` in kernels/trace/path.h.
        Ok(Counts {
            primary: total(1),
            bounce: total(0) - total(1),
            shadow: total(2),
            bad: total(3),
            clamped: total(4),
            finished: total(5),
        })
    }

    /// The same of what instrumented builds count besides.
    pub fn read_effort(&self) -> Result<Effort> {
        let words = self.words.to_vec()?;
        let total = |word: usize| words.chunks(WORDS).map(|stripe| stripe[word]).sum();
        // The order of `enum Effort` in kernels/platform/counted.h, after that of `Counter`.
        Ok(Effort {
            wave_steps: total(6),
            taken: total(7),
            missed: total(8),
            atomics: total(9),
            bytes: total(10),
        })
    }
}
