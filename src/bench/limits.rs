//! What a device can do at most, measured: the ceilings that other figures are fractions of.

use super::Spread;
use crate::device::{BLOCK_THREADS, Buffer, Device, Kernel, Shape, launch};
use crate::error::{Error, Result};
use crate::layout::{LimitParams, Quad};
use crate::programs::LIMITS;
use serde::Serialize;
use std::sync::Arc;

/// Launches of each kernel that count, after one that does not.
const RUNS: usize = 5;
/// Words of on-chip memory a lane (`on_chip_words` of limits.cpp).
const ON_CHIP_WORDS: u64 = 4;
/// Chains of multiply-adds of a lane (`chains` of limits.cpp), on a GPU and on the CPU.
const CHAINS: (u32, u32) = (8, 96);
/// The multiply-adds' factor: chains creep towards 10000 and every round shows.
const FACTOR: f32 = 0.9999;
/// Where the waves' sum of tickets is: a line apart from the tickets.
const TICKET_SUM: usize = 16;

/// What the ceilings are called.
const COPY: &str = "copy within memory";
const FUSED_ADDS: &str = "fp32 multiply-adds";
const TICKETS: &str = "tickets of one word";
const SWAPS: &str = "64-bit swaps, coalesced";
const ON_CHIP_SWAPS: &str = "64-bit swaps, on chip";

/// The ceilings of a device, each a rate a second; medians of five.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Limits {
    /// Bytes read and written by a copy within the device's memory.
    pub copy_bytes: Spread,
    /// Multiply-adds of 32-bit floating-point numbers.
    pub fused_adds: Spread,
    /// Tickets of lanes from one word, one add a wave.
    pub tickets: Spread,
    /// Compare-and-swaps of 64-bit words that neighbouring lanes have side by side.
    pub swaps: Spread,
    /// The same in on-chip memory.
    pub on_chip_swaps: Spread,
}

/// A ceiling by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ceiling {
    /// [`Limits::copy_bytes`].
    Memory,
    /// [`Limits::fused_adds`].
    Arithmetic,
    /// [`Limits::tickets`].
    Tickets,
    /// [`Limits::swaps`].
    Swaps,
}

impl Ceiling {
    /// A word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Ceiling::Memory => "memory",
            Ceiling::Arithmetic => "arithmetic",
            Ceiling::Tickets => "tickets",
            Ceiling::Swaps => "swaps",
        }
    }
}

/// How near a figure is to the ceiling that binds it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Share {
    /// The ceiling of which most is used.
    pub of: Ceiling,
    /// The share that is used.
    pub share: f64,
}

/// What a ray, or a queue operation, asks of the device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demand {
    /// Bytes loaded and stored.
    pub bytes: f64,
    /// Instructions that take the place of a multiply-add.
    pub instructions: f64,
    /// Tickets from one word.
    pub tickets: f64,
    /// Read-modify-writes on words of the device's memory.
    pub swaps: f64,
}

impl Limits {
    /// The ceiling of which most is used by `rate` units a second, each with such a demand.
    ///
    /// A model: bytes count as if all came from memory, instructions as if all were multiply-adds, and
    /// read-modify-writes as if they were spread as those of the measurement are.
    pub fn binding(&self, rate: f64, demand: &Demand) -> Share {
        let shares = [
            (Ceiling::Memory, demand.bytes, self.copy_bytes),
            (Ceiling::Arithmetic, demand.instructions, self.fused_adds),
            (Ceiling::Tickets, demand.tickets, self.tickets),
            (Ceiling::Swaps, demand.swaps, self.swaps),
        ];
        let shares = shares.map(|(of, each, limit)| Share { of, share: rate * each / limit.median });
        shares.into_iter().max_by(|a, b| a.share.total_cmp(&b.share)).expect("four of them")
    }

    /// The ceilings as lines for people: name, figure, unit.
    pub fn lines(&self) -> [(&'static str, Spread, &'static str); 5] {
        let scaled = |s: Spread, by: f64| Spread { median: s.median / by, min: s.min / by, max: s.max / by };
        [
            (COPY, scaled(self.copy_bytes, 1e9), "GB/s read and written"),
            (FUSED_ADDS, scaled(self.fused_adds, 1e9), "G/s"),
            (TICKETS, scaled(self.tickets, 1e9), "G lane-tickets/s, one add a wave"),
            (SWAPS, scaled(self.swaps, 1e9), "G/s"),
            (ON_CHIP_SWAPS, scaled(self.on_chip_swaps, 1e9), "G/s"),
        ]
    }
}

/// Measures every ceiling. What each kernel leaves is checked before its figure counts. `next` hears which one comes next
/// and says whether it shall.
///
/// # Errors
/// The device's own and that of `next`; a result that is not what the kernel should leave.
pub fn measure(device: &Arc<dyn Device>, next: impl Fn(&str) -> Result<()>) -> Result<Limits> {
    let of = |what: &str, ceiling: fn(&Arc<dyn Device>) -> Result<Spread>| {
        next(what)?;
        ceiling(device)
    };
    Ok(Limits {
        copy_bytes: of(COPY, copy)?,
        fused_adds: of(FUSED_ADDS, fused_adds)?,
        tickets: of(TICKETS, tickets)?,
        swaps: of(SWAPS, swaps)?,
        on_chip_swaps: of(ON_CHIP_SWAPS, on_chip_swaps)?,
    })
}

/// How often, on a wide device or on the CPU: launches of some milliseconds.
fn often(device: &Arc<dyn Device>, wide: u32, narrow: u32) -> u32 {
    if device.is_wide() { wide } else { narrow }
}

/// A kernel with as many lanes as are resident at once.
struct Resident<'a> {
    device: &'a Arc<dyn Device>,
    kernel: Kernel,
    shape: Shape,
}

impl<'a> Resident<'a> {
    /// Each lane has so many words of on-chip memory.
    fn new(device: &'a Arc<dyn Device>, kernel: &'static str, words: u64) -> Result<Self> {
        let kernel = device.kernel(&LIMITS.unit(&[]), kernel)?;
        let threads = if device.is_wide() { BLOCK_THREADS } else { 1 };
        let shared = (u64::from(threads) * words * 8) as u32;
        let blocks = device.resident_blocks(&kernel, threads, shared)?;
        Ok(Resident { device, kernel, shape: Shape { blocks, threads, shared } })
    }

    fn lanes(&self) -> usize {
        self.shape.blocks as usize * self.shape.threads as usize
    }

    /// Rates of `work` units a launch. `prepare` sets up and `check` looks at what is left, both untimed.
    fn rates(
        &self,
        params: &LimitParams,
        work: f64,
        prepare: impl Fn() -> Result<()>,
        check: impl Fn() -> Result<bool>,
    ) -> Result<Spread> {
        let Resident { device, kernel, shape } = self;
        let mut figures = vec![];
        for run in 0..=RUNS {
            prepare()?;
            let start = device.mark()?;
            // SAFETY: the parameters are this kernel's, and the caller holds what they point to.
            unsafe { launch(device, kernel, *shape, params)? };
            let end = device.mark()?;
            let seconds = device.elapsed(&start, &end)?.as_secs_f64();
            if !check()? {
                return Err(Error::Device(format!(
                    "{}: {} left wrong results; no figure is worth printing",
                    device.info().id,
                    kernel.name
                )));
            }
            if run > 0 {
                figures.push(work / seconds.max(1e-9));
            }
        }
        Ok(Spread::of(&figures))
    }
}

fn copy(device: &Arc<dyn Device>) -> Result<Spread> {
    // 1 GiB and 64 MiB a side: beyond every cache.
    let quads = 1usize << often(device, 26, 22);
    let source = Buffer::<Quad>::new(device, quads, "what is copied")?;
    let target = Buffer::<Quad>::new(device, quads, "the copy")?;
    let right = Buffer::<u64>::zeroed(device, 1, "a count")?;
    let params = LimitParams {
        source: source.ptr(),
        target: target.ptr(),
        words: right.ptr(),
        length: quads as u64,
        ..LimitParams::default()
    };
    let kernel = Resident::new(device, "limit_copy", 0)?;
    let run = |name| {
        let other = device.kernel(&LIMITS.unit(&[]), name)?;
        // SAFETY: as above.
        unsafe { launch(device, &other, kernel.shape, &params) }
    };
    run("limit_fill")?;
    kernel.rates(
        &params,
        32.0 * quads as f64,
        || target.zero(),
        || {
            right.zero()?;
            run("limit_check_copy")?;
            Ok(right.to_vec()? == [quads as u64])
        },
    )
}

/// What lanes of the multiply-add kernel end with, which start at 0, 1, .. 63 and repeat.
fn chain_sums(chains: u32, rounds: u32) -> Vec<f32> {
    let end = |start: u32| (0..rounds).fold(start as f32, |x, _| x.mul_add(FACTOR, 1.0));
    let ends: Vec<f32> = (0..64 + chains).map(end).collect();
    // Chain c of a lane starts c above its first; they are summed in this order.
    (0..64).map(|first| ends[first..first + chains as usize].iter().fold(0.0, |sum, x| sum + x)).collect()
}

fn fused_adds(device: &Arc<dyn Device>) -> Result<Spread> {
    let kernel = Resident::new(device, "limit_fma", 0)?;
    let (rounds, chains) =
        (often(device, 1 << 14, 1 << 17), if device.is_wide() { CHAINS.0 } else { CHAINS.1 });
    let values = Buffer::<f32>::zeroed(device, kernel.lanes(), "sums")?;
    let params = LimitParams { values: values.ptr(), rounds, factor: FACTOR, ..LimitParams::default() };
    let wanted = chain_sums(chains, rounds);
    let work = kernel.lanes() as f64 * f64::from(rounds) * f64::from(chains);
    kernel.rates(
        &params,
        work,
        || values.zero(),
        || {
            let found = values.to_vec()?;
            Ok(found.iter().enumerate().all(|(lane, v)| *v == wanted[lane % 64]))
        },
    )
}

fn tickets(device: &Arc<dyn Device>) -> Result<Spread> {
    let kernel = Resident::new(device, "limit_tickets", 0)?;
    let rounds = u64::from(often(device, 1 << 8, 1 << 19));
    let words = Buffer::<u64>::zeroed(device, TICKET_SUM + 1, "tickets")?;
    let params = LimitParams { words: words.ptr(), rounds: rounds as u32, ..LimitParams::default() };
    let wave = u64::from(device.info().wave_size);
    let adds = rounds * (kernel.lanes() as u64 / wave);
    let work = (adds * wave) as f64;
    kernel.rates(
        &params,
        work,
        || words.zero(),
        || {
            let found = words.to_vec()?;
            // Each multiple of the wave size below the end was handed out once.
            let sum = (u128::from(adds) * u128::from(adds - 1) / 2 * u128::from(wave)) as u64;
            Ok((found[0], found[TICKET_SUM]) == (adds * wave, sum))
        },
    )
}

fn swaps(device: &Arc<dyn Device>) -> Result<Spread> {
    let kernel = Resident::new(device, "limit_cas", 0)?;
    let rounds = u64::from(often(device, 1 << 8, 1 << 10));
    let words = Buffer::<u64>::zeroed(device, kernel.lanes() * often(device, 4, 1 << 11) as usize, "words")?;
    let length = words.len() as u64;
    let params = LimitParams { words: words.ptr(), rounds: rounds as u32, length, ..LimitParams::default() };
    kernel.rates(
        &params,
        (rounds * length) as f64,
        || words.zero(),
        || Ok(words.to_vec()?.iter().all(|word| *word == rounds)),
    )
}

fn on_chip_swaps(device: &Arc<dyn Device>) -> Result<Spread> {
    let kernel = Resident::new(device, "limit_cas_on_chip", ON_CHIP_WORDS)?;
    let rounds = u64::from(often(device, 1 << 11, 1 << 18));
    let words = Buffer::<u64>::zeroed(device, kernel.lanes(), "words")?;
    let params = LimitParams { words: words.ptr(), rounds: rounds as u32, ..LimitParams::default() };
    let each = rounds * ON_CHIP_WORDS;
    kernel.rates(
        &params,
        (each * kernel.lanes() as u64) as f64,
        || words.zero(),
        || Ok(words.to_vec()?.iter().all(|word| *word == each)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        let one = |median| Spread { median, min: median, max: median };
        Limits {
            copy_bytes: one(1000.0),
            fused_adds: one(4000.0),
            tickets: one(50.0),
            swaps: one(100.0),
            on_chip_swaps: one(1.0),
        }
    }

    #[test]
    fn the_ceiling_that_is_used_most_binds() {
        let demand = Demand { bytes: 100.0, instructions: 100.0, tickets: 0.0, swaps: 1.0 };
        let share = limits().binding(5.0, &demand);
        assert_eq!((share.of, share.share), (Ceiling::Memory, 0.5));
        let share = limits().binding(5.0, &Demand { tickets: 8.0, ..demand });
        assert_eq!((share.of, share.share), (Ceiling::Tickets, 0.8));
    }

    #[test]
    fn every_round_of_the_chains_shows() {
        assert_eq!(chain_sums(2, 0)[..3], [1.0, 3.0, 5.0]);
        assert_ne!(chain_sums(8, 1 << 14), chain_sums(8, (1 << 14) - 1));
    }
}
