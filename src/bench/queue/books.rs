//! The books of a launch: what was put in has come out, once.

use super::{Bench, Books, MayHang};
use crate::error::{Error, Result};
use crate::layout::BenchRecord;
use crate::queue::QueueKind;

/// Compares what lanes put in with what they and the drain took out. The inner error says why there is nothing to
/// compare: lanes that were still waiting for each other when their time was up.
///
/// # Errors
/// [`Error::Device`] if anything was lost, doubled or made up, or if the queue reported a length that it cannot have.
pub(super) fn check(bench: &Bench, lanes: &[BenchRecord], drained: &[BenchRecord]) -> Result<MayHang<Books>> {
    let wrong = |why: String| {
        Err(Error::Device(format!(
            "queue {} ({}, {} lanes, capacity {}): {why}; no figure is worth printing",
            bench.case.queue,
            bench.case.workload,
            bench.case.workload.lanes(),
            bench.layout.capacity()
        )))
    };
    let sum = |records: &[BenchRecord], f: fn(&BenchRecord) -> u64| {
        records.iter().fold(0u64, |sum, r| sum.wrapping_add(f(r)))
    };
    let stuck = sum(lanes, |r| r.stuck.into());
    if stuck > 0 {
        return Ok(Err(format!("{stuck} lanes wait for a slot that never comes")));
    }
    let most = lanes.iter().chain(drained).map(|r| r.most_length).max().unwrap_or(0);
    if bench.case.queue != QueueKind::FaaCeiling && most > bench.layout.capacity() {
        return wrong(format!("it reported a length of {most}"));
    }
    let books = Books {
        put: sum(lanes, |r| r.put),
        taken: sum(lanes, |r| r.taken),
        drained: sum(drained, |r| r.taken),
        put_sum: sum(lanes, |r| r.put_sum),
        out_sum: sum(lanes, |r| r.taken_sum).wrapping_add(sum(drained, |r| r.taken_sum)),
        balanced: bench.case.queue != QueueKind::FaaCeiling,
    };
    if !books.balanced {
        return Ok(Ok(books));
    }
    let mix = lanes.iter().chain(drained).fold(0, |mix, r| mix ^ r.mix);
    if books.put != books.taken + books.drained || books.put_sum != books.out_sum || mix != 0 {
        return wrong(format!(
            "{} values of sum {} went in, {} of sum {} came out",
            books.put,
            books.put_sum,
            books.taken + books.drained,
            books.out_sum
        ));
    }
    if let Some(items) = bench.case.items.filter(|items| books.put < *items) {
        return Ok(Err(format!("only {} of {items} items went in within the time", books.put)));
    }
    match check_each(bench)? {
        None => Ok(Ok(books)),
        Some(why) => wrong(why),
    }
}

/// Follows each value: why it is not where it should be, if so.
fn check_each(bench: &Bench) -> Result<Option<String>> {
    let seen = bench.seen.to_vec()?;
    if bench.case.items.is_some() {
        let bad = seen.iter().position(|&count| count != 1);
        return Ok(bad.map(|i| format!("item {i} came out {} times", seen[i])));
    }
    let places: Vec<u32> = match bench.out.is_empty() {
        // Split: a slot is out if it is in the queue or in its producer's hand.
        false => bench.out.to_vec()?,
        // Balanced: lanes began with the slots of their own numbers, and every one of these is somewhere.
        true => {
            (0..seen.len() as u64).map(|i| u32::from(i < u64::from(bench.params.roles.producers))).collect()
        }
    };
    let bad = seen.iter().zip(&places).position(|(count, wanted)| count != wanted);
    Ok(bad.map(|i| format!("slot {i} is in {} places at the end, not {}", seen[i], places[i])))
}
