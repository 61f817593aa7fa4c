//! What a file asks for and does not get: each kind of thing is told once.

use super::finish::Mended;
use crate::error::one_line;
use std::collections::HashMap;
use std::path::Path;

/// More kinds than this are told in one line.
const MOST: usize = 20;

/// Warnings by kind, in the order in which they came up.
#[derive(Debug, Default)]
pub struct Warnings {
    lines: Vec<(String, u64)>,
    by_kind: HashMap<String, usize>,
    more: u64,
}

impl Warnings {
    /// Notes one more case of a kind; the first one's text stays.
    pub fn add(&mut self, kind: impl Into<String>, text: impl FnOnce() -> String) {
        let kind = kind.into();
        match self.by_kind.get(&kind) {
            Some(&line) => self.lines[line].1 += 1,
            None if self.lines.len() == MOST => self.more += 1,
            None => {
                self.by_kind.insert(kind, self.lines.len());
                self.lines.push((text(), 1));
            }
        }
    }

    /// One line each, with the file in front and the number of cases behind.
    pub fn into_lines(self, file: &Path, mended: Mended) -> Vec<String> {
        let lines = self.lines.into_iter().map(|(text, times)| match times {
            1 => text,
            _ => format!("{text} (and {} more such cases)", times - 1),
        });
        let plural = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {many}")),
        };
        let mended = [
            plural(
                mended.degenerate,
                "degenerate triangle was left out",
                "degenerate triangles were left out",
            ),
            plural(
                mended.normals,
                "normal of length 0 was replaced by the faces' own",
                "normals of length 0 were replaced by the faces' own",
            ),
            plural(self.more, "more warning", "more warnings"),
        ];
        let all = lines.chain(mended.into_iter().flatten());
        all.map(|text| one_line(&format!("{}: {text}", file.display()))).collect()
    }
}
