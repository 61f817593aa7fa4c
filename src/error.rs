//! Errors as values: few kinds, by who can mend them; each says what is wrong, where, and the way out.

use std::fmt::{self, Write};
use std::path::PathBuf;

/// The exit code where memory does not suffice.
pub const NO_MEMORY: u8 = 3;

/// What can go wrong in rayq. The display text is one line, fit for a terminal, whatever is in a file's name.
#[derive(Debug)]
pub enum Error {
    /// The user's input is wrong: a file, a key, an option.
    Input(String),
    /// A device cannot be used, or failed.
    Device(String),
    /// A device's memory does not suffice.
    Memory {
        /// The device, in words.
        device: String,
        /// What the memory was for.
        what: String,
        /// How much is needed, and how much there is.
        why: String,
    },
    /// A result cannot be written.
    Output {
        /// The file or folder.
        path: PathBuf,
        /// The reason, the operating system's if there is one.
        why: String,
    },
    /// A signal ended the work; what was finished was kept.
    Interrupted(i32),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = OneLine(f);
        match self {
            Error::Input(text) | Error::Device(text) => line.write_str(text),
            Error::Memory { device, what, why } => {
                write!(line, "{device}: {what}: {why}; choose a smaller image or capacity")
            }
            Error::Output { path, why } => write!(line, "{}: {why}", path.display()),
            Error::Interrupted(signal) => write!(line, "interrupted by signal {signal}"),
        }
    }
}

impl std::error::Error for Error {}

/// Writes line ends and other control characters, which file names may hold, as escapes.
pub struct OneLine<W>(pub W);

impl<W: Write> Write for OneLine<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(char::is_control) {
            let plain = part.trim_end_matches(char::is_control);
            self.0.write_str(plain)?;
            part[plain.len()..].chars().try_for_each(|c| write!(self.0, "{}", c.escape_default()))?;
        }
        Ok(())
    }
}

impl Error {
    /// The process exit code: 2 bad input, 3 device or memory, 4 output, 128 + signal when interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Input(_) => 2,
            Error::Device(_) => 3,
            Error::Memory { .. } => NO_MEMORY,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_line_whatever_a_file_is_called() {
        let path = PathBuf::from("two\nlines\u{1b}[31m \u{fc}.png");
        let said = Error::output(path.clone(), "no room").to_string();
        assert_eq!(said, "two\\nlines\\u{1b}[31m \u{fc}.png: no room");
        assert_eq!(Error::Input(format!("{}: bad", path.display())).to_string().lines().count(), 1);
        assert_eq!(Error::Device("\r\n\t".into()).to_string(), "\\r\\n\\t");
    }
}
