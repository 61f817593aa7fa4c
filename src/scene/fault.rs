//! What is wrong in a scene file and where: a message and the path of keys that leads to it.

use std::fmt;

/// One step from a table or list to what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An entry of a table.
    Key(String),
    /// An element of a list, from 0.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Step::Key(key.to_owned())
    }
}
impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// Steps from the top of the file; shown as `materials[0].albedo[2]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(pub Vec<Step>);

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if i == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A value that breaks a rule. It is made where the value is looked at, and learns its path on the way up.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Innermost step first.
    steps: Vec<Step>,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl Fault {
    /// A fault of the value at hand.
    pub fn new(message: impl Into<String>) -> Self {
        Fault { steps: vec![], message: message.into() }
    }

    /// A fault at a known path.
    pub fn at(path: KeyPath, message: impl Into<String>) -> Self {
        let KeyPath(mut steps) = path;
        steps.reverse();
        Fault { steps, message: message.into() }
    }

    /// The path from the top of the file.
    pub fn path(&self) -> KeyPath {
        KeyPath(self.steps.iter().rev().cloned().collect())
    }
}

/// A checked value, or what is wrong with it.
pub type Checked<T> = Result<T, Fault>;

/// Says in which table or list a value was found.
pub trait Within {
    /// The same result; a fault gets `step` in front of its path.
    fn within(self, step: impl Into<Step>) -> Self;
}

impl<T> Within for Checked<T> {
    fn within(self, step: impl Into<Step>) -> Self {
        self.map_err(|mut fault| {
            fault.steps.push(step.into());
            fault
        })
    }
}

/// The word of `known` that `word` was most likely meant to be, if any is close.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(64).collect();
    let close = known.into_iter().map(|k| (edits(&word, k), k)).min_by_key(|&(edits, _)| edits);
    close.filter(|&(edits, known)| edits * 2 <= known.chars().count().max(2)).map(|(_, known)| known)
}

/// Levenshtein's distance: insertions, deletions and replacements between two words.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
