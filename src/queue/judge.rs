//! What a history of distinct values is worth: whether it is one of a FIFO queue, what shows that it is not, and
//! how small a fault it would have shown.

use super::history::{Action, Operation, Outcome};
use super::linearize::{self, Violation};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// How many pairs of operations a history puts in order: one ended before the other began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OrderedPairs {
    /// Pairs in order.
    pub ordered: u64,
    /// All pairs.
    pub all: u64,
}

/// Counts them, in O(n log n).
pub fn ordered_pairs(history: &[Operation]) -> OrderedPairs {
    let mut begins: Vec<u64> = history.iter().map(|o| o.begin).collect();
    let mut ends: Vec<u64> = history.iter().map(|o| o.end).collect();
    begins.sort_unstable();
    ends.sort_unstable();
    let mut ended = 0;
    let ordered = begins.iter().map(|begin| {
        while ends.get(ended).is_some_and(|end| end < begin) {
            ended += 1;
        }
        ended as u64
    });
    let n = history.len() as u64;
    OrderedPairs { ordered: ordered.sum(), all: n * n.saturating_sub(1) / 2 }
}

/// A consumer that took two values of a producer in the wrong order, by the programs' own order: no clock needed.
///
/// `history` has each lane's operations in the order of its program.
pub fn overtaken(history: &[Operation]) -> Option<(Operation, Operation)> {
    // Of each value, its producer and its number there.
    let mut put = HashMap::with_capacity(history.len() / 2);
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    for o in history.iter().filter(|o| o.action == Action::Enqueue && o.result == Outcome::Ok) {
        let number = numbers.entry(o.lane).or_default();
        put.insert(o.value, (o.lane, *number));
        *number += 1;
    }
    // (consumer, producer, place in the program, number)
    let taken = history.iter().enumerate().filter(|(_, o)| is_taken(o));
    let mut taken: Vec<_> = taken
        .filter_map(|(place, o)| put.get(&o.value).map(|&(producer, number)| (o.lane, producer, place, number)))
        .collect();
    taken.sort_unstable();
    let wrong = taken.windows(2).find(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1) && w[0].3 > w[1].3)?;
    Some((history[wrong[0].2], history[wrong[1].2]))
}

fn is_taken(o: &Operation) -> bool {
    o.action == Action::Dequeue && o.result == Outcome::Ok
}

/// How far apart two dequeues have to be, counted in dequeues by their begins, for an exchange of their values to be
/// seen. Tried at `places` places; of each the smallest distance, or none if no exchange there was seen.
pub fn planted_swaps(history: &[Operation], places: usize) -> Vec<Option<usize>> {
    let mut dequeues: Vec<_> = history.iter().copied().filter(is_taken).collect();
    dequeues.sort_unstable_by_key(|o| (o.begin, o.end));
    let enqueues: HashMap<Option<u64>, Operation> =
        history.iter().filter(|o| o.action == Action::Enqueue).map(|o| (o.value, *o)).collect();
    let n = dequeues.len();
    let is_seen = |at: usize, distance: usize| {
        // Values with all that happened to them, left out together, leave a history that is right if it was.
        let window = &dequeues[at.saturating_sub(2 * distance)..(at + 3 * distance + 1).min(n)];
        let first = at - at.saturating_sub(2 * distance);
        let mut sub = window.to_vec();
        let (a, b) = (sub[first].value, sub[first + distance].value);
        (sub[first].value, sub[first + distance].value) = (b, a);
        sub.extend(window.iter().filter_map(|o| enqueues.get(&o.value)));
        linearize::check(&sub, None).is_err()
    };
    let smallest = |at: usize| {
        let room = n - 1 - at;
        let mut seen = 1;
        while seen <= room && !is_seen(at, seen) {
            seen *= 2;
        }
        if seen > room {
            return None;
        }
        // Between the last power of two that was not seen and this one.
        let mut unseen = seen / 2;
        while seen - unseen > 1 {
            let middle = unseen + (seen - unseen) / 2;
            if is_seen(at, middle) { seen = middle } else { unseen = middle }
        }
        Some(seen)
    };
    if n < 2 {
        return vec![];
    }
    (0..places).map(|i| smallest((n - 1) * (i + 1) / (places + 2))).collect()
}

/// A small part of a history that is wrong by itself.
///
/// Values go with all their operations, other operations alone, in ever smaller lots for as long as what remains
/// is wrong (Zeller's delta debugging).
pub fn smallest_window(history: &[Operation], capacity: Option<u64>, violation: &Violation) -> Vec<Operation> {
    let mut lots = lots(&suspects(history, violation));
    let is_wrong = |lots: &[Vec<Operation>]| linearize::check(&lots.concat(), capacity).is_err();
    if !is_wrong(&lots) {
        lots = self::lots(history);
    }
    let mut size = lots.len().div_ceil(2);
    let mut checks = 0;
    while size > 0 && checks < 4000 {
        let mut at = 0;
        while at < lots.len() && checks < 4000 {
            checks += 1;
            let rest = [&lots[..at], &lots[(at + size).min(lots.len())..]].concat();
            if is_wrong(&rest) { lots = rest } else { at += size }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    let mut window = lots.concat();
    window.sort_unstable_by_key(|o| (o.begin, o.end));
    window
}

/// The operations that a violation speaks of, and those of values that were around at the time.
fn suspects(history: &[Operation], violation: &Violation) -> Vec<Operation> {
    use Violation::*;
    let (values, time): (HashSet<u64>, _) = match *violation {
        EnqueuedTwice(v) | DequeuedTwice(v) | FromNowhere(v) => (HashSet::from([v]), None),
        Order(a, b) => (HashSet::from([a, b]), None),
        Empty(begin, end) | Full(begin, end) => (HashSet::new(), Some((begin, end))),
        Overflow(at) => (HashSet::new(), Some((at, at))),
    };
    let Some((from, to)) = time else {
        return history.iter().copied().filter(|o| o.value.is_some_and(|v| values.contains(&v))).collect();
    };
    let mut lives: HashMap<u64, (u64, u64)> = HashMap::new();
    for o in history {
        if let Some(value) = o.value {
            let life = lives.entry(value).or_insert((u64::MAX, u64::MAX));
            match o.action {
                Action::Enqueue => life.0 = o.begin,
                Action::Dequeue => life.1 = o.end,
            }
        }
    }
    let is_near = |o: &Operation| match o.value.and_then(|v| lives.get(&v)) {
        Some(&(begin, end)) => begin <= to && end >= from,
        None => o.begin <= to && o.end >= from,
    };
    history.iter().copied().filter(is_near).collect()
}

/// Operations that stay or go together.
fn lots(history: &[Operation]) -> Vec<Vec<Operation>> {
    let mut lots: Vec<Vec<Operation>> = vec![];
    let mut of_value: HashMap<u64, usize> = HashMap::new();
    for o in history {
        let lot = match o.value.filter(|_| o.result != Outcome::Full) {
            Some(value) => *of_value.entry(value).or_insert(lots.len()),
            None => lots.len(),
        };
        match lots.get_mut(lot) {
            Some(lot) => lot.push(*o),
            None => lots.push(vec![*o]),
        }
    }
    lots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(lane: u32, action: Action, value: u64, begin: u64, end: u64) -> Operation {
        Operation { lane, action, value: Some(value), result: Outcome::Ok, begin, end }
    }

    /// Value i goes in at 10 i and comes out at 10 i + 1000.
    fn fifo(n: u64) -> Vec<Operation> {
        let put = (0..n).map(|i| operation(0, Action::Enqueue, i, 10 * i, 10 * i + 5));
        put.chain((0..n).map(|i| operation(1, Action::Dequeue, i, 10 * i + 1000, 10 * i + 1005))).collect()
    }

    #[test]
    fn pairs_in_order_are_counted() {
        let history = [(0, 3), (1, 4), (5, 9), (4, 6)].map(|(b, e)| operation(0, Action::Enqueue, b, b, e));
        // (0,3) before (5,9) and (4,6); (1,4) before (5,9) alone: the tie counts as overlap.
        assert_eq!(ordered_pairs(&history), OrderedPairs { ordered: 3, all: 6 });
    }

    #[test]
    fn a_consumer_that_takes_a_producers_values_backwards_is_found() {
        let mut history = fifo(10);
        assert_eq!(overtaken(&history), None);
        (history[13].value, history[14].value) = (history[14].value, history[13].value);
        let (first, second) = overtaken(&history).expect("found");
        assert_eq!((first.value, second.value), (Some(4), Some(3)));
    }

    #[test]
    fn planted_swaps_are_seen_as_soon_as_the_clock_allows() {
        assert_eq!(planted_swaps(&fifo(100), 3), [Some(1); 3]);
        // Stamps that are uncertain by 30 ticks put only values 7 apart in order: 10 d - 5 > 60.
        let mut coarse = fifo(100);
        super::super::history::widen(&mut coarse, 30);
        assert_eq!(planted_swaps(&coarse, 3), [Some(7); 3]);
        // And if nothing is in order nothing can be seen.
        super::super::history::widen(&mut coarse, 100_000);
        assert_eq!(planted_swaps(&coarse, 1), [None]);
    }

    #[test]
    fn windows_hold_the_fault_and_little_else() {
        let mut history = fifo(1000);
        (history[1500].value, history[1503].value) = (history[1503].value, history[1500].value);
        let violation = linearize::check(&history, None).expect_err("wrong");
        let window = smallest_window(&history, None, &violation);
        assert_eq!(window.len(), 4, "{window:?}");

        let mut history = fifo(1000);
        history.push(Operation {
            value: None,
            result: Outcome::Empty,
            ..operation(2, Action::Dequeue, 0, 5000, 5003)
        });
        let violation = linearize::check(&history, None).expect_err("wrong");
        let window = smallest_window(&history, None, &violation);
        assert_eq!(window.len(), 3, "one value that was inside all the time, and the EMPTY: {window:?}");
    }
}
