//! The host's answer to a kernel that never comes back, or to a user who does not want to wait for it.

use super::signals::Signals;
use crate::error::{Error, Result};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks for a reason to act.
const LOOK: Duration = Duration::from_millis(20);
/// How long a launch may outlast the time limit before the device counts as hung.
pub const GRACE: Duration = Duration::from_secs(5);
/// Closes messages about the time limit of commands that measure one thing after the other.
pub const BENCH_WAY_OUT: &str = "what was finished is kept; give a longer --timeout, or leave that one out";

/// Acts at a given time unless it is dropped before, with the last thing that it was given to keep.
pub struct Watchdog<T> {
    /// Closed by dropping it, which is what the thread waits for.
    _alive: Sender<()>,
    kept: Arc<Mutex<Option<T>>>,
}

impl<T: Send + 'static> Watchdog<T> {
    /// Calls `act` at `time`, on a thread of its own: the caller's may be stuck.
    ///
    /// # Errors
    /// [`Error::Device`] if the process may not have another thread.
    pub fn start(time: Instant, act: impl FnOnce(Option<T>) + Send + 'static) -> Result<Watchdog<T>> {
        let (alive, gone) = channel();
        let kept = Arc::new(Mutex::new(None));
        let keeper = Arc::clone(&kept);
        start_thread(move || {
            let patience = time.saturating_duration_since(Instant::now());
            if gone.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                act(keeper.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
        })?;
        Ok(Watchdog { _alive: alive, kept })
    }

    /// Calls `act` with the error that `due` gives, on a thread of its own. It is asked every few milliseconds.
    fn when(
        due: impl Fn() -> Option<Error> + Send + 'static,
        act: impl FnOnce(Error, Option<T>) + Send + 'static,
    ) -> Result<Watchdog<T>> {
        let (alive, gone) = channel();
        let kept = Arc::new(Mutex::new(None));
        let keeper = Arc::clone(&kept);
        start_thread(move || {
            while gone.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if let Some(error) = due() {
                    return act(error, keeper.lock().unwrap_or_else(PoisonError::into_inner).take());
                }
            }
        })?;
        Ok(Watchdog { _alive: alive, kept })
    }

    /// Keeps this in place of what was kept before.
    pub fn keep(&self, thing: T) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(thing);
    }
}

/// A thread that nobody waits for.
fn start_thread(work: impl FnOnce() + Send + 'static) -> Result<()> {
    let refused = |e| {
        Error::Device(format!("cannot start a thread: {e}; allow this process more (ulimit -u, ulimit -v)"))
    };
    thread::Builder::new().spawn(work).map(drop).map_err(refused)
}

/// What ends a command that measures, and what it is at.
#[derive(Clone)]
struct Reasons {
    signals: Signals,
    start: Instant,
    limit: Option<Duration>,
    way_out: &'static str,
    at: Arc<Mutex<String>>,
}

impl Reasons {
    /// The error, once a signal has come or the time is over.
    fn due(&self) -> Option<Error> {
        match (self.signals.received(), self.limit) {
            (Some(signal), _) => Some(Error::Interrupted(signal)),
            (None, Some(limit)) if self.start.elapsed() >= limit => {
                let (limit, at, way_out) = (limit.as_secs_f64(), self.at(), self.way_out);
                Some(Error::Device(format!("not finished within {limit} s, at {at}; {way_out}")))
            }
            _ => None,
        }
    }

    /// The error of a launch that outlasts `limit`.
    fn hung(&self, limit: Duration) -> Error {
        let (grace, limit, at, way_out) = (GRACE.as_secs(), limit.as_secs_f64(), self.at(), self.way_out);
        Error::Device(format!("still at {at}, {grace} s beyond the time limit of {limit} s; {way_out}"))
    }

    fn at(&self) -> String {
        self.at.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Ends a command that measures at a signal or at its time limit. Says what it was at.
pub struct Guard<T> {
    reasons: Reasons,
    dog: Option<Watchdog<T>>,
}

impl<T: Send + 'static> Guard<T> {
    /// From now on, for a command that began at `start`: between launches, by an error, and in the middle of one that
    /// outlasts the limit by [`GRACE`], with the process. `save` writes what was kept last where the process is ended;
    /// `way_out` closes the messages about the limit.
    pub fn new(
        start: Instant,
        limit: Option<Duration>,
        way_out: &'static str,
        save: impl FnOnce(T) -> Result<()> + Send + 'static,
    ) -> Result<Guard<T>> {
        let mut guard = Guard::without_dog(start, limit, way_out)?;
        let reasons = guard.reasons.clone();
        let hung = |limit| {
            Watchdog::start(start + limit + GRACE, move |kept| end_process(&reasons.hung(limit), kept, save))
        };
        guard.dog = limit.map(hung).transpose()?;
        Ok(guard)
    }

    /// The same for work that is not waited for: the process ends, whatever it is at.
    pub fn at_once(
        start: Instant,
        limit: Option<Duration>,
        way_out: &'static str,
        save: impl FnOnce(T) -> Result<()> + Send + 'static,
    ) -> Result<Guard<T>> {
        let mut guard = Guard::without_dog(start, limit, way_out)?;
        let reasons = guard.reasons.clone();
        let dog = Watchdog::when(move || reasons.due(), |error, kept| end_process(&error, kept, save))?;
        guard.dog = Some(dog);
        Ok(guard)
    }

    fn without_dog(start: Instant, limit: Option<Duration>, way_out: &'static str) -> Result<Guard<T>> {
        let (signals, at) = (Signals::install()?, Arc::new(Mutex::new("the start".into())));
        Ok(Guard { reasons: Reasons { signals, start, limit, way_out, at }, dog: None })
    }

    /// What comes next, for messages.
    pub fn at(&self, what: String) {
        *self.reasons.at.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// Keeps this in place of what was kept before.
    pub fn keep(&self, thing: T) {
        if let Some(dog) = &self.dog {
            dog.keep(thing);
        }
    }

    /// An error once a signal has come or the time is over.
    pub fn go_on(&self) -> Result<()> {
        self.reasons.due().map_or(Ok(()), Err)
    }
}

/// Saves what was kept and ends the process.
fn end_process<T>(error: &Error, kept: Option<T>, save: impl FnOnce(T) -> Result<()>) {
    let failed = kept.map(save).and_then(Result::err);
    failed.iter().for_each(super::complain);
    super::complain(error);
    // No destructors and no exit handlers: a driver's would wait for the kernel, too.
    signal_hook::low_level::exit(error.exit_code().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_with_what_it_kept_last() {
        let (told, hear) = channel();
        let dog = Watchdog::start(Instant::now() + Duration::from_millis(200), move |kept| {
            told.send(kept).expect("the test listens");
        });
        let dog = dog.expect("a thread");
        dog.keep(1);
        dog.keep(2);
        assert_eq!(hear.recv(), Ok(Some(2)));
    }

    #[test]
    fn dropped_in_time_it_does_nothing() {
        let (told, hear) = channel();
        let act = move |kept: Option<u32>| told.send(kept).expect("the test listens");
        drop(Watchdog::start(Instant::now() + Duration::from_secs(600), act));
        // The thread ends at once and takes its end of the channel along.
        assert!(
            hear.recv_timeout(Duration::from_secs(60)).is_err_and(|e| e == RecvTimeoutError::Disconnected)
        );
    }
}
