//! The control words of kernels/bfs/traverse.h as the host reads and writes them.

use crate::device::{Buffer, Device};
use crate::error::Result;
use crate::layout::Ptr;
use std::sync::Arc;

/// Words of a line: each control word is on one of its own.
const LINE: usize = 16;
/// `claims_word`, `progress_word`, `trouble_word`, `tail_word` and the first `state_word`.
const CLAIMS: usize = 0;
const PROGRESS: usize = 1;
const TROUBLE: usize = 2;
const TAIL: usize = 3;
const STATE: usize = 4;
/// `state_copies`.
const COPIES: usize = 64;
/// `tally_stripes`.
const STRIPES: usize = 64;

/// How far a search is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
    /// Rows that are done.
    pub done: u32,
    /// Rows that were put in.
    pub put: u32,
    /// Rows below this may be taken out.
    pub end: u32,
    /// The level that they give.
    pub level: u32,
    /// Whether the last launch ended with a level.
    pub over: bool,
    /// Bits: why the result is not worth reading.
    pub trouble: u64,
}

impl Position {
    /// Whether nothing is left to do.
    pub fn is_finished(self) -> bool {
        self.done == self.put
    }
}

/// What waves counted: arcs walked, vertices reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tallies {
    pub arcs: u64,
    pub reached: u64,
}

/// Control words and tallies on a device.
pub(super) struct Control {
    words: Buffer<u64>,
    tallies: Buffer<u64>,
}

impl Control {
    pub fn new(device: &Arc<dyn Device>) -> Result<Control> {
        Ok(Control {
            words: Buffer::new(device, (STATE + COPIES) * LINE, "control words")?,
            tallies: Buffer::new(device, STRIPES * LINE, "counts")?,
        })
    }

    pub fn ptr(&self) -> Ptr<u64> {
        self.words.ptr()
    }

    pub fn tallies_ptr(&self) -> Ptr<u64> {
        self.tallies.ptr()
    }

    /// Sets everything for a launch whose waves hold `claims` rows from those that are done on.
    pub fn write(&self, at: Position, claims: u64) -> Result<()> {
        let mut words = [0u64; (STATE + COPIES) * LINE];
        words[CLAIMS * LINE] = u64::from(at.done) + claims;
        words[PROGRESS * LINE] = u64::from(at.done) << 32 | u64::from(at.put);
        words[TAIL * LINE] = at.put.into();
        let state = u64::from(at.level) << 32 | u64::from(at.end);
        (STATE..STATE + COPIES).for_each(|word| words[word * LINE] = state);
        self.words.write(0, &words)
    }

    /// Waits for the device and reads.
    pub fn read(&self) -> Result<Position> {
        let mut words = [0u64; (STATE + 1) * LINE];
        self.words.read(0, &mut words)?;
        let (progress, state) = (words[PROGRESS * LINE], words[STATE * LINE]);
        Ok(Position {
            done: (progress >> 32) as u32,
            put: progress as u32,
            end: state as u32,
            level: (state >> 32) as u32 & 0x7fff_ffff,
            over: state >> 63 != 0,
            trouble: words[TROUBLE * LINE],
        })
    }

    pub fn clear_tallies(&self) -> Result<()> {
        self.tallies.zero()
    }

    pub fn read_tallies(&self) -> Result<Tallies> {
        let words = self.tallies.to_vec()?;
        let sum = |which: usize| words.chunks(LINE).map(|stripe| stripe[which]).sum();
        Ok(Tallies { arcs: sum(0), reached: sum(1) })
    }
}
