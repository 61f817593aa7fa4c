//! Litmus tests: races of two parts, many at once, that show what the memory orders under the queues are worth on a
//! device. The parts are in kernels/probe/litmus.cpp.

use crate::device::{Buffer, Device, Kernel, Shape, launch};
use crate::error::{Error, Result};
use crate::layout::LitmusParams;
use crate::programs::LITMUS;
use serde::Serialize;
use std::sync::Arc;

/// A test. The numbers are those of `Litmus` in litmus.cpp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// A payload is published by the compare-and-swap that fills a slot.
    Message,
    /// The same by a store.
    Turn,
    /// An atomic word is published by the store of a request.
    Request,
    /// A payload is read, its slot given back, and written by the next owner.
    Reuse,
    /// Two counters are moved one after the other, and seen one after the other.
    Tickets,
    /// A wave fills slots and its leader moves a counter; another's leader looks there and its lanes at the slots.
    LeaderPublish,
    /// The same with payloads.
    LeaderPayload,
    /// Each part stores, then reads the other's word.
    Buffering,
}

use Test::*;

impl Test {
    /// All of them.
    pub const ALL: [Test; 8] =
        [Message, Turn, Request, Reuse, Tickets, LeaderPublish, LeaderPayload, Buffering];

    /// Its name, as options and files spell it.
    pub fn name(self) -> &'static str {
        match self {
            Message => "message",
            Turn => "turn",
            Request => "request",
            Reuse => "reuse",
            Tickets => "tickets",
            LeaderPublish => "leader-publish",
            LeaderPayload => "leader-payload",
            Buffering => "buffering",
        }
    }

    /// Who relies on it.
    pub fn relied_on_by(self) -> &'static str {
        match self {
            Message => "rings: payload of a value",
            Turn => "sfq, bwd: payload of a value",
            Request => "gwfq, gwfq-ymc: helping",
            Reuse => "payload queues: slots change hands",
            Tickets => "rings: EMPTY",
            LeaderPublish => "rings: threshold of a wave's enqueues",
            LeaderPayload => "one lane's atomics for a wave",
            Buffering => "recorded histories: stamps",
        }
    }

    /// What the words that both parts left behind say of an instance.
    fn outcome(self, first: u32, second: u32) -> Outcome {
        match (self, first, second) {
            (Buffering, SAW_OLD, SAW_OLD) | (Reuse, SAW_NEW, _) => Outcome::Forbidden,
            (Buffering, ..) => Outcome::Ordered,
            (_, _, SAW_NOTHING) => Outcome::Unseen,
            (_, _, SAW_OLD) => Outcome::Forbidden,
            _ => Outcome::Ordered,
        }
    }
}

const SAW_NOTHING: u32 = 1;
const SAW_OLD: u32 = 2;
const SAW_NEW: u32 = 3;

enum Outcome {
    Unseen,
    Ordered,
    Forbidden,
}

/// Sizes of the launches.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Lanes, a power of two and whole waves; all have to be on the device at once.
    pub lanes: u32,
    /// Lanes of a block, a power of two.
    pub block: u32,
    /// Instances that each lane owns in a launch.
    pub rounds: u32,
    /// Launches of each form of each test.
    pub launches: u32,
    /// Looks of the waves for each other before a round.
    pub patience: u32,
    /// Of the placements.
    pub seed: u32,
}

impl Plan {
    /// Instances of a launch.
    fn instances(&self) -> usize {
        self.lanes as usize * self.rounds as usize
    }
}

/// How often each outcome was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// The second part came before the first one had published.
    pub unseen: u64,
    /// It saw what was published, and all that was before it.
    pub ordered: u64,
    /// What must not be.
    pub forbidden: u64,
}

/// A test on a device, with the memory that it needs.
struct Rig {
    device: Arc<dyn Device>,
    kernel: Kernel,
    plan: Plan,
    x: Buffer<u64>,
    y: Buffer<u64>,
    payload: Buffer<u64>,
    seen: Buffer<u32>,
    arrived: Buffer<u32>,
}

/// Looks at a word that is not published yet before the second part passes on.
const LOOKS: u32 = 16;

/// Runs one form of a test, and counts.
///
/// # Errors
/// Numbers of lanes that cannot be, and the device's.
pub fn run(device: &Arc<dyn Device>, test: Test, weakened: bool, plan: Plan) -> Result<Counts> {
    let rig = Rig::new(device, plan)?;
    let mut counts = Counts::default();
    for launch in 0..plan.launches {
        rig.launch(test, weakened, plan.seed.wrapping_add(launch.wrapping_mul(plan.rounds)))?;
        for parts in rig.seen.to_vec()?.chunks_exact(2) {
            match test.outcome(parts[0], parts[1]) {
                Outcome::Unseen => counts.unseen += 1,
                Outcome::Ordered => counts.ordered += 1,
                Outcome::Forbidden => counts.forbidden += 1,
            }
        }
    }
    Ok(counts)
}

impl Rig {
    fn new(device: &Arc<dyn Device>, plan: Plan) -> Result<Rig> {
        let kernel = device.kernel(&LITMUS.unit(&[]), "litmus")?;
        let wave = device.info().wave_size;
        let Plan { lanes, block, .. } = plan;
        if !lanes.is_power_of_two() || !block.is_power_of_two() || block < wave || lanes < block {
            return Err(Error::Input(format!(
                "--lanes {lanes}: give a power of two that is at least a block of {block}, and blocks of at least a wave of {wave}"
            )));
        }
        let resident = u64::from(device.resident_blocks(&kernel, block, 0)?) * u64::from(block);
        if u64::from(lanes) > resident {
            let id = &device.info().id;
            return Err(Error::Input(format!(
                "--lanes {lanes}: {id} holds {resident} of this kernel at once; choose fewer"
            )));
        }
        let n = plan.instances();
        Ok(Rig {
            device: device.clone(),
            kernel,
            plan,
            x: Buffer::new(device, n, "first words")?,
            y: Buffer::new(device, n, "second words")?,
            payload: Buffer::new(device, 4 * n, "payloads")?,
            seen: Buffer::new(device, 2 * n, "what was seen")?,
            arrived: Buffer::new(device, 1, "the waves that have come")?,
        })
    }

    fn launch(&self, test: Test, weakened: bool, seed: u32) -> Result<()> {
        let words = [&self.x, &self.y, &self.payload];
        words.iter().try_for_each(|words| words.zero())?;
        self.seen.zero()?;
        self.arrived.zero()?;
        let params = LitmusParams {
            x: self.x.ptr(),
            y: self.y.ptr(),
            payload: self.payload.ptr(),
            seen: self.seen.ptr(),
            arrived: self.arrived.ptr(),
            test: test as u32,
            weakened: weakened.into(),
            rounds: self.plan.rounds,
            looks: LOOKS,
            patience: self.plan.patience,
            seed,
        };
        let Plan { lanes, block, .. } = self.plan;
        let shape = Shape { blocks: lanes / block, threads: block, shared: 0 };
        // SAFETY: the arrays have room for lanes * rounds instances, and live until the read of `seen` has waited.
        unsafe { launch(&self.device, &self.kernel, shape, &params) }
    }
}
