//! The host's answer to a kernel that never comes back, or to a user who does not want to wait for it.

use super::signals::Signals;
use crate::error::{Error, Result};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks for a reason to act.
const LOOK: Duration = Duration::from_millis(20);

/// Acts at a given time unless it is dropped before, with the last thing that it was given to keep.
pub struct Watchdog<T> {
    /// Closed by dropping it, which is what the thread waits for.
    _alive: Sender<()>,
    kept: Arc<Mutex<Option<T>>>,
}

impl<T: Send + 'static> Watchdog<T> {
    /// Calls `act` at `time`, on a thread of its own: the caller's may be stuck.
    pub fn start(time: Instant, act: impl FnOnce(Option<T>) + Send + 'static) -> Watchdog<T> {
        let (alive, gone) = channel();
        let kept = Arc::new(Mutex::new(None));
        let keeper = Arc::clone(&kept);
        thread::spawn(move || {
            let patience = time.saturating_duration_since(Instant::now());
            if gone.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                act(keeper.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
        });
        Watchdog { _alive: alive, kept }
    }

    /// Calls `act` with the error that `due` gives, on a thread of its own. It is asked every few milliseconds.
    fn when(
        due: impl Fn() -> Option<Error> + Send + 'static,
        act: impl FnOnce(Error, Option<T>) + Send + 'static,
    ) -> Watchdog<T> {
        let (alive, gone) = channel();
        let kept = Arc::new(Mutex::new(None));
        let keeper = Arc::clone(&kept);
        thread::spawn(move || {
            while gone.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if let Some(error) = due() {
                    return act(error, keeper.lock().unwrap_or_else(PoisonError::into_inner).take());
                }
            }
        });
        Watchdog { _alive: alive, kept }
    }

    /// Ends the process on a signal or at the deadline, whatever it is at; before that, `save` writes what was kept
    /// last.
    pub fn end_process(
        signals: Signals,
        deadline: Option<Instant>,
        save: impl FnOnce(T) -> Result<()> + Send + 'static,
    ) -> Watchdog<T> {
        let due = move || match signals.received() {
            Some(signal) => Some(Error::Interrupted(signal)),
            None if deadline.is_some_and(|time| Instant::now() >= time) => {
                Some(Error::Device("not finished within the time limit; what was finished is kept".into()))
            }
            None => None,
        };
        Watchdog::when(due, |error, kept| {
            if let Some(Err(error)) = kept.map(save) {
                super::complain(&error);
            }
            super::complain(&error);
            // No destructors and no exit handlers: a driver's would wait for the kernel, too.
            signal_hook::low_level::exit(error.exit_code().into());
        })
    }

    /// Keeps this in place of what was kept before.
    pub fn keep(&self, thing: T) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(thing);
    }
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
