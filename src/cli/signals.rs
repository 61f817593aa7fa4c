//! SIGINT (Ctrl-C), SIGTERM and SIGHUP (the terminal is gone): the first asks for an orderly end, the second ends at once.

use crate::error::{Error, Result};
#[cfg(unix)]
use signal_hook::consts::SIGHUP;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The signals that this process has been sent.
#[derive(Clone, Debug)]
pub struct Signals {
    first: Arc<AtomicUsize>,
}

impl Signals {
    /// From now on a first signal is only noted here.
    pub fn install() -> Result<Signals> {
        let (noted, first) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for signal in wanted() {
            // In this order: only a signal that comes when another is already noted ends the process.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&noted))
                .and_then(|_| flag::register(signal, Arc::clone(&noted)))
                .and_then(|_| flag::register_usize(signal, Arc::clone(&first), signal as usize))
                .map_err(|e| Error::Device(format!("cannot watch for signal {signal}: {e}")))?;
        }
        Ok(Signals { first })
    }

    /// The signal that asks this process to end, if there is one.
    pub fn received(&self) -> Option<i32> {
        match self.first.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }
}

/// The signals that ask for an end. `nohup` has SIGHUP ignored, and it stays so.
fn wanted() -> Vec<i32> {
    let mut signals = vec![SIGINT, SIGTERM];
    #[cfg(unix)]
    if !is_ignored(SIGHUP) {
        signals.push(SIGHUP);
    }
    signals
}

#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    // SAFETY: a structure of numbers and addresses, for which zeros are values.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: changes nothing; `now` is a place to write to.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &mut now) };
    asked == 0 && now.sa_sigaction == libc::SIG_IGN
}
