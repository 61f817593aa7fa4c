//! Is a history one of a FIFO queue? Decided in O(n log n), for histories in which no value occurs twice.
//!
//! A history is linearizable when each operation can be given a moment between its begin and its end such that,
//! carried out at these moments, every operation gives the result that was seen. For queues of distinct values
//! a history is wrong exactly if it shows one of a few patterns (Henzinger, Sezgin and Vafeiadis, CONCUR 2013):
//! a value from nowhere or twice, two values that overtook each other, an EMPTY while some value was always
//! inside. Each is found by sorting and one sweep. Operations that end and begin at the same tick count as
//! concurrent, so a coarse clock raises no false alarm.

use super::history::{Action, Operation, Outcome};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Why a history is not one of a FIFO queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A value that is enqueued twice: not a history that can be judged.
    #[error("value {0} is enqueued twice")]
    EnqueuedTwice(u64),
    /// A value came out twice.
    #[error("value {0} is dequeued twice")]
    DequeuedTwice(u64),
    /// A value came out that nobody had put in by then.
    #[error("value {0} is dequeued, but was not enqueued before")]
    FromNowhere(u64),
    /// The first value was put in before the second and came out, if at all, after it.
    #[error("value {0} went in before value {1} and did not come out before it")]
    Order(u64, u64),
    /// A dequeue found the queue empty though at every moment some value was inside.
    #[error("a dequeue from {0} to {1} found the queue empty, but it never was")]
    Empty(u64, u64),
    /// More values were inside than there is room.
    #[error("more values than the capacity are inside at {0}")]
    Overflow(u64),
    /// An enqueue found the queue full though at every moment some slot was free.
    #[error("an enqueue from {0} to {1} found the queue full, but it never was")]
    Full(u64, u64),
}

/// The life of a value: when its enqueue and its dequeue began and ended. `NEVER`: it was not dequeued.
#[derive(Clone, Copy)]
struct Life {
    value: u64,
    put: (u64, u64),
    take: (u64, u64),
}

const NEVER: u64 = u64::MAX;

impl Life {
    fn is_taken(&self) -> bool {
        self.take.1 != NEVER
    }

    /// The open stretch of time in which the value is inside for sure.
    fn surely_inside(&self) -> (u64, u64) {
        (self.put.1, self.take.0)
    }
}

/// A history sorted by what it says.
#[derive(Default)]
struct Sorted {
    lives: Vec<Life>,
    empties: Vec<(u64, u64)>,
    fulls: Vec<(u64, u64)>,
    /// Begins of dequeues that have not returned.
    pending_dequeues: Vec<u64>,
}

/// Whether the history is one of a FIFO queue that holds at most `capacity` values, or any number of them.
///
/// With a capacity, values in excess are reported if they were inside for sure, and FULL if at every moment
/// fewer than `capacity` slots can have been in anybody's hands: a slot is held from the begin of the enqueue
/// to the end of the dequeue, since queues of indices give a slot back only after the value has left.
///
/// # Errors
/// The first violation found.
pub fn check(history: &[Operation], capacity: Option<u64>) -> Result<(), Violation> {
    let mut sorted = sort(history)?;
    if let Some(capacity) = capacity {
        check_full(&sorted, capacity)?;
    }
    // An enqueue that has not returned and whose value was not seen need not have happened.
    sorted.lives.retain(|life| life.put.1 != NEVER || life.is_taken());
    for life in &mut sorted.lives {
        if life.take.1 < life.put.0 {
            return Err(Violation::FromNowhere(life.value));
        }
        life.put.1 = life.put.1.min(life.take.1);
        life.take.0 = life.take.0.max(life.put.0);
    }
    sorted.lives.sort_unstable_by_key(|life| life.put.1);
    let latest = check_order(&sorted.lives)?;
    explain_by_pending(&mut sorted, &latest)?;
    check_empty(&sorted)?;
    capacity.map_or(Ok(()), |capacity| check_overflow(&sorted.lives, capacity))
}

/// Brings enqueue and dequeue of each value together.
fn sort(history: &[Operation]) -> Result<Sorted, Violation> {
    let mut sorted = Sorted::default();
    let mut places = HashMap::with_capacity(history.len() / 2);
    let value = |operation: &Operation| operation.value.expect("an enqueue has a value");
    for operation in history {
        let interval = (operation.begin, operation.end);
        match (operation.action, operation.result) {
            (Action::Enqueue, Outcome::Full) => sorted.fulls.push(interval),
            (Action::Enqueue, _) => match places.entry(value(operation)) {
                Entry::Occupied(_) => return Err(Violation::EnqueuedTwice(value(operation))),
                Entry::Vacant(place) => {
                    place.insert(sorted.lives.len());
                    let life = Life { value: value(operation), put: interval, take: (NEVER, NEVER) };
                    sorted.lives.push(life);
                }
            },
            (Action::Dequeue, Outcome::Empty) => sorted.empties.push(interval),
            (Action::Dequeue, Outcome::Pending) => sorted.pending_dequeues.push(operation.begin),
            (Action::Dequeue, _) => {}
        }
    }
    for operation in history {
        if let (Action::Dequeue, Some(value)) = (operation.action, operation.value) {
            let place = *places.get(&value).ok_or(Violation::FromNowhere(value))?;
            let life = &mut sorted.lives[place];
            if life.is_taken() {
                return Err(Violation::DequeuedTwice(value));
            }
            life.take = (operation.begin, operation.end);
        }
    }
    Ok(sorted)
}

/// Reports a value that was overtaken. Gives for each life, in order of the ends of their enqueues, the moment by
/// which the value must have left, since a value that went in later had come out by then.
fn check_order(lives: &[Life]) -> Result<Vec<(u64, u64)>, Violation> {
    let mut by_begin: Vec<&Life> = lives.iter().collect();
    by_begin.sort_unstable_by_key(|life| life.put.0);
    // (end of the dequeue, value) of the earliest to leave among those that went in later
    let mut earliest = (NEVER, 0);
    let mut latest = vec![earliest; lives.len()];
    for (life, latest) in lives.iter().zip(&mut latest).rev() {
        while let Some(later) = by_begin.pop_if(|later| later.put.0 > life.put.1) {
            earliest = earliest.min((later.take.1, later.value));
        }
        if life.is_taken() && life.take.0 > earliest.0 {
            return Err(Violation::Order(life.value, earliest.1));
        }
        *latest = earliest;
    }
    Ok(latest)
}

/// Lets dequeues that have not returned take values that nobody was seen to take.
///
/// A value that must have left needs such a dequeue. Others may be given one: that can only help to explain an
/// EMPTY. Values that went in first leave first, and the dequeues that began first are the most useful, so
/// both are matched in order.
fn explain_by_pending(sorted: &mut Sorted, latest: &[(u64, u64)]) -> Result<(), Violation> {
    sorted.pending_dequeues.sort_unstable();
    let mut pending = sorted.pending_dequeues.iter();
    for (life, latest) in sorted.lives.iter_mut().zip(latest).filter(|(life, _)| !life.is_taken()) {
        match pending.next() {
            Some(&begin) if begin <= latest.0 => life.take.0 = begin.max(life.put.0),
            _ if latest.0 < NEVER => return Err(Violation::Order(life.value, latest.1)),
            _ => break,
        }
    }
    Ok(())
}

/// An EMPTY is wrong if it lies wholly inside a stretch in which at every moment some value is surely inside.
fn check_empty(sorted: &Sorted) -> Result<(), Violation> {
    let mut inside: Vec<_> = sorted.lives.iter().map(Life::surely_inside).filter(|(a, b)| a < b).collect();
    inside.sort_unstable();
    let mut stretches: Vec<(u64, u64)> = vec![];
    for (from, to) in inside {
        match stretches.last_mut() {
            // Open ends: where one stretch ends and the next begins there is a moment between them.
            Some(last) if from < last.1 => last.1 = last.1.max(to),
            _ => stretches.push((from, to)),
        }
    }
    for &(begin, end) in &sorted.empties {
        let before = stretches.partition_point(|&(from, _)| from < begin);
        if before > 0 && end < stretches[before - 1].1 {
            return Err(Violation::Empty(begin, end));
        }
    }
    Ok(())
}

/// Reports a moment at which more than `capacity` values are surely inside.
fn check_overflow(lives: &[Life], capacity: u64) -> Result<(), Violation> {
    let inside = lives.iter().map(Life::surely_inside).filter(|(a, b)| a < b);
    // Open ends: a departure counts before an arrival at the same tick.
    let mut changes: Vec<_> = inside.flat_map(|(from, to)| [(from, 1), (to, -1i64)]).collect();
    changes.sort_unstable();
    let mut count = 0;
    for (at, change) in changes {
        count += change;
        if count > capacity as i64 {
            return Err(Violation::Overflow(at));
        }
    }
    Ok(())
}

/// Reports a FULL during which fewer than `capacity` slots can have been held at any moment.
fn check_full(sorted: &Sorted, capacity: u64) -> Result<(), Violation> {
    if sorted.fulls.is_empty() {
        return Ok(());
    }
    let held = sorted.lives.iter().map(|life| (life.put.0, life.take.1));
    // Closed ends: an arrival counts before a departure at the same tick.
    let mut changes: Vec<_> = held.flat_map(|(from, to)| [(from, 0), (to, 1)]).collect();
    changes.sort_unstable();
    // The stretches at which the queue can have been full.
    let mut stretches: Vec<(u64, u64)> = vec![];
    let mut count = 0;
    for (at, leaves) in changes {
        if leaves == 1 {
            if count == capacity {
                stretches.last_mut().expect("it began before").1 = at;
            }
            count -= 1;
        } else {
            count += 1;
            if count == capacity {
                stretches.push((at, NEVER));
            }
        }
    }
    for &(begin, end) in &sorted.fulls {
        let before = stretches.partition_point(|&(from, _)| from <= end);
        if before == 0 || stretches[before - 1].1 < begin {
            return Err(Violation::Full(begin, end));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
