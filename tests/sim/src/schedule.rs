//! Which wave moves next.

use crate::options::Schedule;
use crate::rng::Rng;

/// Moves in a row after which a wave falls back: it may be waiting for another in a loop without a spin hint.
const LONGEST_STREAK: u64 = 5000;

/// The chooser.
pub struct Priorities {
    schedule: Schedule,
    /// One a wave (PCT): the highest moves.
    priority: Vec<i64>,
    /// Moves at which the highest falls, latest first.
    changes: Vec<u64>,
    moves: u64,
    lowest: i64,
    /// The wave that moved last, and how often in a row.
    streak: (usize, u64),
}

impl Priorities {
    /// For a launch of `waves` waves.
    pub fn new(schedule: Schedule, waves: usize, rng: &mut Rng) -> Self {
        let (mut priority, mut changes) = (vec![], vec![]);
        if let Schedule::Pct { changes: count, horizon } = schedule {
            priority = (0..waves as i64).collect();
            rng.shuffle(&mut priority);
            changes = (0..count).map(|_| rng.below(horizon)).collect();
            changes.sort_unstable_by(|a, b| b.cmp(a));
        }
        Priorities { schedule, priority, changes, moves: 0, lowest: 0, streak: (0, 0) }
    }

    /// One of `runnable`, which is not empty.
    pub fn choose(&mut self, runnable: &[usize], rng: &mut Rng) -> usize {
        let mut any = || runnable[rng.below(runnable.len() as u64) as usize];
        match self.schedule {
            Schedule::Random => return any(),
            Schedule::Starve { wave, odds } => {
                let chosen = any();
                let others = runnable.len() > 1;
                return if others && chosen == wave && rng.below(odds) > 0 {
                    self.choose(runnable, rng)
                } else {
                    chosen
                };
            }
            Schedule::Pct { .. } => {}
        }
        self.moves += 1;
        while self.changes.pop_if(|at| *at <= self.moves).is_some() {
            self.fall_back(self.highest(runnable));
        }
        let highest = self.highest(runnable);
        let (last, count) = self.streak;
        self.streak = (highest, if highest == last { count + 1 } else { 1 });
        if self.streak.1 > LONGEST_STREAK {
            self.fall_back(highest);
        }
        highest
    }

    fn highest(&self, runnable: &[usize]) -> usize {
        *runnable.iter().max_by_key(|&&w| self.priority[w]).expect("not empty")
    }

    /// Puts a wave behind all others.
    pub fn fall_back(&mut self, wave: usize) {
        if let Some(priority) = self.priority.get_mut(wave) {
            self.lowest -= 1;
            *priority = self.lowest;
        }
    }
}
