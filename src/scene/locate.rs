//! Finds where in a TOML or JSON text a path of keys leads, for errors found after parsing.

use super::Format;
use super::fault::Step;
use toml::de::{DeTable, DeValue};

/// Line and column, both from 1, of what `path` names: the key of a table's entry, the first character of a
/// list's element. Where the path leads nowhere, the deepest part of it that exists.
pub fn locate(text: &str, format: Format, path: &[Step]) -> (usize, usize) {
    let offset = match format {
        Format::Toml => in_toml(text, path),
        Format::Json => in_json(text, path),
    };
    line_and_column(text, offset)
}

/// The line and column, from 1 and in characters, of a byte offset.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
    (line, 1 + String::from_utf8_lossy(&before[start..]).chars().count())
}

fn in_toml(text: &str, path: &[Step]) -> usize {
    let Ok(root) = DeTable::parse(text) else { return 0 };
    let root = DeValue::Table(root.into_inner());
    let (mut value, mut offset) = (&root, 0);
    for step in path {
        let next = match step {
            Step::Key(key) => {
                let entry = value.as_table().and_then(|table| table.get_key_value(key.as_str()));
                entry.map(|(key, value)| (key.span(), value))
            }
            Step::Index(index) => value.get(*index).map(|value| (value.span(), value)),
        };
        let Some((span, inner)) = next else { break };
        (value, offset) = (inner.get_ref(), span.start);
    }
    offset
}

fn in_json(text: &str, path: &[Step]) -> usize {
    let mut scanner = Scanner { text, at: 0 };
    let mut offset = scanner.skip_space();
    for step in path {
        let next = match step {
            Step::Key(key) => scanner.enter_member(key),
            Step::Index(index) => scanner.enter_element(*index),
        };
        let Some(next) = next else { break };
        offset = next;
    }
    offset
}

/// Walks over JSON that a parser has read before, at least up to the place in question.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Moves over white space and returns where that ends.
    fn skip_space(&mut self) -> usize {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
        self.at
    }

    /// Moves over `byte` and the white space before it, if it comes next.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// Moves to the value of `key`, the last if it is there twice; returns where the key starts.
    fn enter_member(&mut self, key: &str) -> Option<usize> {
        self.take(b'{')?;
        let mut found = None;
        while let Some((name, start, value)) = self.next_member() {
            if name == key {
                found = Some((start, value));
            }
        }
        let (start, value) = found?;
        self.at = value;
        Some(start)
    }

    /// Moves over one `"name": value` and its comma: the name, where it starts, where the value starts.
    fn next_member(&mut self) -> Option<(String, usize, usize)> {
        let start = self.skip_space();
        self.skip_string()?;
        let name = serde_json::from_str(&self.text[start..self.at]).ok()?;
        self.take(b':')?;
        let value = self.skip_space();
        // A broken value ends the walk with the next call; this member is still the one it is.
        let _ = self.skip_value().and_then(|()| self.take(b','));
        Some((name, start, value))
    }

    /// Moves to the start of element `index` and returns it.
    fn enter_element(&mut self, index: usize) -> Option<usize> {
        self.take(b'[')?;
        for _ in 0..index {
            self.skip_value()?;
            self.take(b',')?;
        }
        Some(self.skip_space())
    }

    fn skip_string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            let byte = self.peek()?;
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                return Some(());
            }
        }
    }

    /// Moves over a value of any depth, without recursion.
    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            self.skip_space();
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => self.at += 1,
                b',' | b':' => return None,
                _ => self.skip_word(),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Moves over a number, `true`, `false` or `null`.
    fn skip_word(&mut self) {
        let ends = |b: u8| b.is_ascii_whitespace() || b",:]}[{\"".contains(&b);
        while self.peek().is_some_and(|b| !ends(b)) {
            self.at += 1;
        }
    }
}
