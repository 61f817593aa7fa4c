//! Errors as values: few kinds, by who can mend them; each says what is wrong, where, and the way out.

use std::path::PathBuf;

/// What can go wrong in rayq. The display text is one line, fit for a terminal.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The user's input is wrong: a file, a key, an option.
    #[error("{0}")]
    Input(String),
    /// A device cannot be used, or failed.
    #[error("{0}")]
    Device(String),
    /// A device's memory does not suffice.
    #[error(
        "{device}: {what} needs {asked} bytes of device memory and {free} are free; choose a smaller image or capacity"
    )]
    Memory {
        /// The device, in words.
        device: String,
        /// What the memory was for.
        what: String,
        /// Bytes asked for.
        asked: u64,
        /// Bytes free at that time.
        free: u64,
    },
    /// A result cannot be written.
    #[error("{}: {why}", path.display())]
    Output {
        /// The file or folder.
        path: PathBuf,
        /// The reason, the operating system's if there is one.
        why: String,
    },
    /// A signal ended the work; what was finished was kept.
    #[error("interrupted by signal {0}")]
    Interrupted(i32),
}

impl Error {
    /// The process exit code: 2 bad input, 3 device, 4 output, 128 + signal when interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Input(_) => 2,
            Error::Device(_) | Error::Memory { .. } => 3,
            Error::Output { .. } => 4,
            Error::Interrupted(signal) => 128 + *signal as u8,
        }
    }

    /// An input error whose text may quote the user's: made one line of bounded length.
    pub fn input(text: impl AsRef<str>) -> Error {
        Error::Input(one_line(text.as_ref()))
    }

    /// An output error from the operating system.
    pub fn output(path: impl Into<PathBuf>, why: impl ToString) -> Error {
        Error::Output { path: path.into(), why: why.to_string() }
    }
}

/// A result with rayq's error.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors are one line and not much more: longer texts are cut.
const MAX_CHARS: usize = 600;

/// The text as one line of bounded length, whatever it quotes.
pub fn one_line(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = chars.by_ref().take(MAX_CHARS).collect();
    if chars.next().is_some() {
        line.push_str("...");
    }
    line
}
