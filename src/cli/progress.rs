//! How far a render is: a bar on a terminal, a line now and then elsewhere, or nothing. Always on standard
//! error, so that a report on standard output stays clean.

use crate::engine::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// Shows a render's progress and throughput.
pub struct Meter {
    start: Instant,
    display: Display,
}

/// Shows in a few words what is going on: on a terminal only.
pub struct Status(Option<ProgressBar>);

impl Status {
    /// Nothing to tell yet.
    pub fn new(quiet: bool) -> Status {
        Status((!quiet && stderr().is_terminal()).then(ProgressBar::new_spinner))
    }

    /// Replaces what was told.
    pub fn show(&self, text: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(text.to_owned());
            bar.tick();
        }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

enum Display {
    Quiet,
    Bar(ProgressBar),
    Lines { last: Instant },
}

impl Meter {
    /// A meter that starts now.
    pub fn new(quiet: bool) -> Meter {
        let start = Instant::now();
        let display = match (quiet, stderr().is_terminal()) {
            (true, _) => Display::Quiet,
            (false, true) => Display::Bar(bar()),
            (false, false) => Display::Lines { last: start },
        };
        Meter { start, display }
    }

    /// Shows where the render is now.
    pub fn update(&mut self, progress: &Progress) {
        let elapsed = self.start.elapsed();
        match &mut self.display {
            Display::Quiet => {}
            Display::Bar(bar) => {
                bar.set_length(progress.samples_total);
                bar.set_position(progress.samples_done);
                bar.set_message(format!("{:.1} MRays/s", rate(progress.rays, elapsed)));
            }
            Display::Lines { last } if last.elapsed() >= LINE_INTERVAL => {
                *last = Instant::now();
                // A closed standard error must not end a render.
                writeln!(stderr(), "{}", line(progress, elapsed)).ok();
            }
            Display::Lines { .. } => {}
        }
    }
}

impl Drop for Meter {
    /// Takes the bar away: what follows is the report, or an error.
    fn drop(&mut self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{percent:>3}% {wide_bar} {elapsed}, about {eta} left, {msg}")
        .expect("the template is well-formed");
    ProgressBar::new(1).with_style(style)
}

/// Millions of rays a second.
fn rate(rays: u64, time: Duration) -> f64 {
    super::report::mrays_per_s(rays, time).unwrap_or(0.0)
}

/// The plain form: share done, throughput, time left at the pace so far.
fn line(progress: &Progress, elapsed: Duration) -> String {
    let share = progress.samples_done as f64 / progress.samples_total.max(1) as f64;
    let rate = rate(progress.rays, elapsed);
    let left = match share > 0.0 {
        true => format!("about {:.0} s left", elapsed.as_secs_f64() * (1.0 - share) / share),
        false => "no sample finished yet".into(),
    };
    format!("{:.1}% of the samples, {rate:.1} MRays/s, {left}", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_share_pace_and_rest() {
        let half = Progress { samples_done: 50, samples_total: 100, rays: 30_000_000, finished: false };
        let text = line(&half, Duration::from_secs(10));
        assert_eq!(text, "50.0% of the samples, 3.0 MRays/s, about 10 s left");
        let none = Progress { samples_done: 0, samples_total: 0, rays: 0, finished: false };
        assert_eq!(line(&none, Duration::ZERO), "0.0% of the samples, 0.0 MRays/s, no sample finished yet");
    }
}
