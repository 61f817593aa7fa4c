//! The common part of OBJ and MTL files: lines, words, numbers.
//!
//! The readers are our own: of the crates at hand none tells the line and the word that is wrong, and a scene of a
//! million lines needs that. The format is a word and its arguments a line, so this is not much.

use super::super::file::fault_at;
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

/// A statement: a keyword and what follows it.
pub struct Statement<'a> {
    /// The file, for messages.
    pub file: &'a Path,
    /// Line of its start, from 1.
    pub line: usize,
    /// Keyword.
    pub keyword: &'a str,
    /// All that follows the keyword, without spaces around.
    pub rest: &'a str,
}

impl<'a> Statement<'a> {
    /// What follows the keyword, word by word.
    pub fn words(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.rest.split_ascii_whitespace()
    }

    /// The error `file:line: what`.
    pub fn fault(&self, what: impl Display) -> Error {
        fault_at(self.file, self.line, what)
    }

    /// A finite number of magnitude up to `limit`.
    pub fn number(&self, word: &str, limit: f32) -> Result<f32> {
        let value: Option<f32> = word.parse().ok();
        match value {
            Some(value) if value.abs() <= limit => Ok(value),
            Some(_) => {
                Err(self
                    .fault(format_args!("{}: `{word}` is not within -{limit:e} to {limit:e}", self.keyword)))
            }
            None => Err(self.fault(format_args!("{}: `{word}` is not a number", self.keyword))),
        }
    }

    /// As many numbers as `N`; more words than that are left.
    pub fn numbers<const N: usize>(&self, limit: f32) -> Result<[f32; N]> {
        let (mut numbers, mut words) = ([0.0; N], self.words());
        for (i, number) in numbers.iter_mut().enumerate() {
            let missing = || self.fault(format_args!("{}: needs {N} numbers and has {i}", self.keyword));
            *number = self.number(words.next().ok_or_else(missing)?, limit)?;
        }
        Ok(numbers)
    }
}

/// Calls `each` for every statement of `text`. A line that ends in `\` goes on in the next; `#` starts a comment.
pub fn statements(file: &Path, text: &str, mut each: impl FnMut(&Statement) -> Result<()>) -> Result<()> {
    let mut lines = text.lines().enumerate();
    while let Some((number, first)) = lines.next() {
        let mut line = Cow::Borrowed(first);
        // A comment may end in a path of Windows; it does not swallow the line below.
        while line.trim_end().ends_with('\\') && !line.trim_start().starts_with('#') {
            let joined = line.to_mut();
            joined.truncate(joined.trim_end().len() - 1);
            joined.push(' ');
            joined.push_str(lines.next().map_or("", |(_, next)| next));
        }
        let line = without_comment(&line).trim();
        if line.is_empty() {
            continue;
        }
        let (keyword, rest) = line.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((line, ""));
        each(&Statement { file, line: number + 1, keyword, rest: rest.trim() })?;
    }
    Ok(())
}

/// Names may hold a `#`: only one at the start of a word is a comment's.
fn without_comment(line: &str) -> &str {
    let starts = |&(at, _): &(usize, &str)| at == 0 || line.as_bytes()[at - 1].is_ascii_whitespace();
    line.match_indices('#').find(starts).map_or(line, |(at, _)| &line[..at])
}
