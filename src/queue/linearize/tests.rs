//! The checker against an exhaustive search on small random histories, and on known ones.

use super::*;
use std::collections::VecDeque;

fn operation(action: Action, result: Outcome, value: Option<u64>, begin: u64, end: u64) -> Operation {
    let end = if result == Outcome::Pending { NEVER } else { end };
    Operation { lane: 0, action, value, result, begin, end }
}

fn put(value: u64, begin: u64, end: u64) -> Operation {
    operation(Action::Enqueue, Outcome::Ok, Some(value), begin, end)
}

fn take(value: u64, begin: u64, end: u64) -> Operation {
    operation(Action::Dequeue, Outcome::Ok, Some(value), begin, end)
}

fn empty(begin: u64, end: u64) -> Operation {
    operation(Action::Dequeue, Outcome::Empty, None, begin, end)
}

fn full(begin: u64, end: u64) -> Operation {
    operation(Action::Enqueue, Outcome::Full, Some(99), begin, end)
}

fn pending_take(begin: u64) -> Operation {
    operation(Action::Dequeue, Outcome::Pending, None, begin, NEVER)
}

/// Tries every order that real time allows. `capacity` bounds what is inside; FULL is taken to mean that, at
/// its moment, the queue holds `capacity` values.
fn search(history: &[Operation], capacity: usize, done: u32, queue: &mut VecDeque<u64>) -> bool {
    let open = |i: &usize| done >> i & 1 == 0;
    let all = 0..history.len();
    if all.clone().filter(open).all(|i| history[i].result == Outcome::Pending) {
        return true;
    }
    let first_end = all.clone().filter(open).map(|i| history[i].end).min().unwrap_or(NEVER);
    for i in all.filter(open).filter(|&i| history[i].begin <= first_end) {
        let mut next = queue.clone();
        let fits = match (history[i].action, history[i].result) {
            (Action::Enqueue, Outcome::Full) => queue.len() == capacity,
            (Action::Enqueue, _) => {
                next.push_back(history[i].value.expect("a value"));
                next.len() <= capacity
            }
            (Action::Dequeue, Outcome::Empty) => queue.is_empty(),
            (Action::Dequeue, Outcome::Pending) => next.pop_front().is_some(),
            (Action::Dequeue, _) => next.pop_front() == history[i].value,
        };
        if fits && search(history, capacity, done | 1 << i, &mut next) {
            return true;
        }
    }
    false
}

/// splitmix64.
fn bits(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Up to seven operations on up to four values within a dozen ticks.
fn random_history(seed: u64, with_full: bool) -> Vec<Operation> {
    let mut state = seed;
    let mut below = |n: u64| bits(&mut state) % n;
    let values = 1 + below(4);
    let mut history = vec![];
    let interval = |below: &mut dyn FnMut(u64) -> u64| {
        let begin = below(12);
        (begin, begin + below(5))
    };
    for value in 0..values {
        let (begin, end) = interval(&mut below);
        let result = if below(8) == 0 { Outcome::Pending } else { Outcome::Ok };
        history.push(operation(Action::Enqueue, result, Some(value), begin, end));
        if below(4) > 0 {
            let (begin, end) = interval(&mut below);
            history.push(take(value, begin + 2, end + 2));
        }
    }
    for _ in 0..below(3) {
        let (begin, end) = interval(&mut below);
        history.push(match below(if with_full { 4 } else { 3 }) {
            0 | 1 => empty(begin, end),
            2 => pending_take(begin),
            _ => full(begin, end),
        });
    }
    history
}

#[test]
fn agrees_with_exhaustive_search() {
    let (mut good, mut bad) = (0, 0);
    for seed in 0..300_000 {
        let history = random_history(seed, false);
        let expected = search(&history, usize::MAX, 0, &mut VecDeque::new());
        let verdict = check(&history, None);
        assert_eq!(verdict.is_ok(), expected, "seed {seed}: {verdict:?}\n{history:#?}");
        if expected { good += 1 } else { bad += 1 }
    }
    assert!(good > 50_000 && bad > 50_000, "both verdicts are tried: {good} {bad}");
}

/// With a capacity the checker may miss a violation, by design, but never raises a false alarm.
#[test]
fn accepts_every_history_of_a_bounded_queue() {
    let mut good = 0;
    for seed in 0..300_000 {
        let history = random_history(seed, true);
        for capacity in 1..=2 {
            if search(&history, capacity, 0, &mut VecDeque::new()) {
                assert_eq!(check(&history, Some(capacity as u64)), Ok(()), "seed {seed}\n{history:#?}");
                good += 1;
            }
        }
    }
    assert!(good > 20_000, "{good}");
}

#[test]
fn known_violations_are_named() {
    let cases: &[(&[Operation], Violation)] = &[
        (&[put(1, 0, 1), put(1, 2, 3)], Violation::EnqueuedTwice(1)),
        (&[put(1, 0, 1), take(1, 2, 3), take(1, 4, 5)], Violation::DequeuedTwice(1)),
        (&[take(1, 2, 3)], Violation::FromNowhere(1)),
        (&[put(1, 4, 5), take(1, 2, 3)], Violation::FromNowhere(1)),
        (&[put(1, 0, 1), put(2, 2, 3), take(2, 4, 5), take(1, 6, 7)], Violation::Order(1, 2)),
        (&[put(1, 0, 1), put(2, 2, 3), take(2, 4, 5)], Violation::Order(1, 2)),
        (&[put(1, 0, 1), empty(2, 3), take(1, 4, 5)], Violation::Empty(2, 3)),
        // Neither value alone covers it.
        (&[put(1, 0, 1), put(2, 2, 3), empty(2, 9), take(1, 5, 6), take(2, 10, 11)], Violation::Empty(2, 9)),
        (&[put(1, 0, 1), put(2, 2, 3), put(3, 4, 5)], Violation::Overflow(5)),
        (&[put(1, 0, 1), full(2, 3)], Violation::Full(2, 3)),
    ];
    for (history, violation) in cases {
        assert_eq!(check(history, Some(2)), Err(*violation), "{history:?}");
    }
}

#[test]
fn what_stalls_may_explain_the_rest() {
    for history in [
        // The stalled dequeue took 1.
        vec![put(1, 0, 1), put(2, 2, 3), take(2, 4, 5), pending_take(0)],
        vec![put(1, 0, 1), pending_take(0), empty(2, 3)],
        // The stalled enqueue has happened.
        vec![operation(Action::Enqueue, Outcome::Pending, Some(1), 0, 0), take(1, 4, 5)],
        // A stalled dequeue still holds its slot.
        vec![put(1, 0, 1), put(2, 2, 3), take(1, 4, 8), full(5, 6)],
        // Ticks that touch are concurrent.
        vec![put(1, 0, 2), put(2, 2, 3), take(2, 4, 5), take(1, 5, 7)],
    ] {
        assert_eq!(check(&history, Some(2)), Ok(()), "{history:?}");
    }
}

#[test]
fn a_million_operations_take_a_moment() {
    let history: Vec<_> =
        (0..500_000).flat_map(|i| [put(i, 4 * i, 4 * i + 9), take(i, 4 * i + 3, 4 * i + 12)]).collect();
    let start = std::time::Instant::now();
    assert_eq!(check(&history, Some(16)), Ok(()));
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
