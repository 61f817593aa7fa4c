//! View-based weak memory, after the operational models of C11 with release and acquire (Kang et al., "A
//! promising semantics", POPL 2017, without promises): a word is the list of its writes, and a lane's view says
//! how far along each list the lane has at least seen.
//!
//! A load may take any write from its lane's view on; a read-modify-write takes the last. An acquire adds the
//! view that came with the write, a release sends the lane's own along. What cannot be seen here: a load that
//! takes a value written later (load buffering), and writes that fall between older ones.

use crate::memory::read;
use crate::platform::Order;
use crate::rng::Rng;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

/// For each lane's epoch, then for each word: how much of it is known.
type View = Vec<u32>;

fn join(into: &mut View, from: &[u32]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    for (a, &b) in into.iter_mut().zip(from) {
        *a = (*a).max(b);
    }
}

/// A write to a word.
struct Message {
    value: u64,
    /// What a lane that acquires this write learns.
    view: Option<Rc<View>>,
    plain: bool,
}

struct Word {
    address: u64,
    bytes: u32,
    messages: Vec<Message>,
    /// Plain reads since the last write: (lane, its epoch).
    readers: Vec<(u32, u32)>,
}

struct LaneViews {
    /// What the lane has seen.
    seen: View,
    /// What its relaxed loads came with: seen after an acquire fence.
    offered: View,
    /// What it had seen at its last release fence: sent with relaxed stores.
    released: View,
}

#[derive(Default)]
struct AddressHasher(u64);
impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are addresses")
    }
    fn write_u64(&mut self, address: u64) {
        self.0 = (address >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// The memory of one launch; words are taken in when they are first touched.
pub struct Weak {
    words: Vec<Word>,
    places: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    lanes: Vec<LaneViews>,
    /// What sequentially consistent fences have seen so far.
    fences: View,
    /// The first data race: its address and what happened.
    pub race: Option<(u64, String)>,
}

impl Weak {
    /// Fresh memory: everything from before the launch is seen by every lane.
    pub fn new(lanes: usize) -> Self {
        let views = |lane| {
            let mut seen = vec![0; lanes];
            seen[lane] = 1;
            LaneViews { seen, offered: vec![], released: vec![] }
        };
        Weak {
            words: vec![],
            places: HashMap::default(),
            lanes: (0..lanes).map(views).collect(),
            fences: vec![],
            race: None,
        }
    }

    /// The word at an address: its place in views and, less the number of lanes, in `words`.
    fn word(&mut self, p: *const u8, bytes: u32) -> usize {
        let address = p as u64;
        let next = self.words.len() as u32;
        let index = *self.places.entry(address).or_insert(next);
        if index == next {
            let first = Message { value: read(p, bytes), view: None, plain: true };
            self.words.push(Word { address, bytes, messages: vec![first], readers: vec![] });
        } else if self.words[index as usize].bytes != bytes {
            self.report(address, "accesses of 4 and of 8 bytes to the same word".into());
        }
        index as usize
    }

    fn report(&mut self, address: u64, what: String) {
        self.race.get_or_insert((address, what));
    }

    /// How far `lane` has seen the word.
    fn seen(&self, lane: usize, word: usize) -> usize {
        self.lanes[lane].seen.get(self.lanes.len() + word).copied().unwrap_or(0) as usize
    }

    fn see(&mut self, lane: usize, word: usize, message: usize) {
        let at = self.lanes.len() + word;
        let seen = &mut self.lanes[lane].seen;
        if seen.len() <= at {
            seen.resize(at + 1, 0);
        }
        seen[at] = seen[at].max(message as u32);
    }

    fn last(&self, word: usize) -> usize {
        self.words[word].messages.len() - 1
    }

    /// A write that `lane` may take: the latest half of the time, else any it has not gone past.
    fn pick(&self, rng: &mut Rng, lane: usize, word: usize) -> usize {
        let (seen, last) = (self.seen(lane, word), self.last(word));
        if seen == last || rng.below(2) == 0 {
            last
        } else {
            seen + rng.below((last - seen + 1) as u64) as usize
        }
    }

    fn take(&mut self, lane: usize, word: usize, message: usize, order: Order) -> u64 {
        let last = self.last(word);
        if self.words[word].messages[last].plain && self.seen(lane, word) < last {
            let what = format!("an atomic read by lane {lane} is not ordered after a plain write");
            self.report(self.words[word].address, what);
        }
        self.see(lane, word, message);
        let Message { value, view, .. } = &self.words[word].messages[message];
        if let Some(view) = view {
            let views = &mut self.lanes[lane];
            join(if order.acquires() { &mut views.seen } else { &mut views.offered }, view);
        }
        *value
    }

    /// Appends a write; a read-modify-write carries on the view of the write that it replaces.
    fn append(&mut self, lane: usize, word: usize, value: u64, order: Order, update: bool) {
        self.check_write(lane, word, "an atomic write");
        let message = self.last(word) + 1;
        let replaced = if update { self.words[word].messages[message - 1].view.clone() } else { None };
        self.see(lane, word, message);
        let views = &self.lanes[lane];
        let mut view = if order.releases() { views.seen.clone() } else { views.released.clone() };
        let at = self.lanes.len() + word;
        if view.len() <= at {
            view.resize(at + 1, 0);
        }
        view[at] = message as u32;
        if let Some(replaced) = replaced {
            join(&mut view, &replaced);
        }
        if order.releases() {
            self.lanes[lane].seen[lane] += 1;
        }
        self.words[word].messages.push(Message { value, view: Some(Rc::new(view)), plain: false });
        self.words[word].readers.clear();
    }

    /// Reports a write that is not ordered after every plain access before it.
    fn check_write(&mut self, lane: usize, word: usize, what: &str) {
        let Word { address, messages, readers, .. } = &self.words[word];
        let seen = &self.lanes[lane].seen;
        let unordered = |&&(reader, epoch): &&(u32, u32)| {
            reader as usize != lane && epoch > seen.get(reader as usize).copied().unwrap_or(0)
        };
        let race = if let Some((reader, _)) = readers.iter().find(unordered) {
            format!("{what} by lane {lane} is not ordered after a plain read by lane {reader}")
        } else if messages[messages.len() - 1].plain && self.seen(lane, word) < messages.len() - 1 {
            format!("{what} by lane {lane} is not ordered after a plain write")
        } else {
            return;
        };
        self.report(*address, race);
    }

    /// An atomic load.
    pub fn load(&mut self, rng: &mut Rng, lane: usize, p: *const u8, bytes: u32, order: Order) -> u64 {
        let word = self.word(p, bytes);
        let message = self.pick(rng, lane, word);
        self.take(lane, word, message, order)
    }

    /// An atomic store.
    pub fn store(&mut self, lane: usize, p: *const u8, bytes: u32, v: u64, order: Order) {
        let word = self.word(p, bytes);
        self.append(lane, word, v, order, false);
    }

    /// A read-modify-write that leaves `new`.
    pub fn update(&mut self, lane: usize, p: *const u8, bytes: u32, new: u64, order: Order) {
        let word = self.word(p, bytes);
        let last = self.last(word);
        self.take(lane, word, last, order);
        self.append(lane, word, new, order, true);
    }

    /// A compare-and-swap that fails: a load of any write that differs from `expected`.
    pub fn failed_cas(
        &mut self,
        rng: &mut Rng,
        lane: usize,
        p: *const u8,
        bytes: u32,
        expected: u64,
        order: Order,
    ) -> u64 {
        let word = self.word(p, bytes);
        let mut message = self.pick(rng, lane, word);
        if self.words[word].messages[message].value == expected {
            message = self.last(word);
        }
        self.take(lane, word, message, order)
    }

    /// A plain load: must be ordered after the last write.
    pub fn plain_load(&mut self, lane: usize, p: *const u8, bytes: u32) {
        let word = self.word(p, bytes);
        if self.seen(lane, word) < self.last(word) {
            let what = format!("a plain read by lane {lane} is not ordered after the last write");
            self.report(p as u64, what);
        }
        let epoch = self.lanes[lane].seen[lane];
        let readers = &mut self.words[word].readers;
        readers.retain(|&(reader, _)| reader as usize != lane);
        readers.push((lane as u32, epoch));
    }

    /// A plain store: must be ordered after every access before it.
    pub fn plain_store(&mut self, lane: usize, p: *const u8, bytes: u32, v: u64) {
        let word = self.word(p, bytes);
        self.check_write(lane, word, "a plain write");
        if self.seen(lane, word) < self.last(word) {
            let what = format!("a plain write by lane {lane} is not ordered after the last write");
            self.report(p as u64, what);
        }
        self.words[word].messages.push(Message { value: v, view: None, plain: true });
        self.words[word].readers.clear();
        let last = self.last(word);
        self.see(lane, word, last);
    }

    /// A fence.
    pub fn fence(&mut self, lane: usize, order: Order) {
        let views = &mut self.lanes[lane];
        if order.acquires() {
            let offered = std::mem::take(&mut views.offered);
            join(&mut views.seen, &offered);
        }
        if order == Order::SeqCst {
            join(&mut views.seen, &self.fences);
            self.fences.clone_from(&views.seen);
        }
        if order.releases() {
            views.released.clone_from(&views.seen);
            views.seen[lane] += 1;
        }
    }

    /// Lanes that meet and order their memory.
    pub fn synchronize(&mut self, lanes: std::ops::Range<usize>) {
        let mut all = vec![];
        self.lanes[lanes.clone()].iter().for_each(|l| join(&mut all, &l.seen));
        for lane in lanes {
            self.lanes[lane].seen.clone_from(&all);
            self.lanes[lane].seen[lane] += 1;
        }
    }
}
