//! DIMACS shortest-path files: `p sp VERTICES ARCS`, then `a FROM TO LENGTH` lines; `c` lines are comments.

use super::lines::{Line, entries, error_at, lines, number, shown, vertex, words};
use crate::error::{Error, Result};
use crate::graph::{Graph, check_size};

pub(super) fn parse(name: &str, text: &[u8], both_ways: bool) -> Result<Graph> {
    let Some((place, line)) = lines(text, 0).find(|(_, line)| !is_comment(line)) else {
        return Err(Error::Input(format!("{name}: has no line 'p sp VERTICES ARCS'")));
    };
    let (vertices, declared) = problem(line).or_else(|why| error_at(name, text, place, &why))?;
    let line_number = 1 + text[..place].iter().filter(|&&b| b == b'\n').count();
    check_size(&format!("{name}: line {line_number}: "), vertices, 0)?;
    let pairs = entries(name, text, place + line.len(), Some(declared), |line| arc(line, vertices))?;
    Graph::from_pairs(vertices, &pairs, both_ways).map_err(|e| Error::Input(format!("{name}: {e}")))
}

fn is_comment(line: &[u8]) -> bool {
    words(line).next().is_none_or(|word| word == b"c")
}

fn problem(line: &[u8]) -> std::result::Result<(u64, u64), String> {
    let said: Vec<_> = words(line).collect();
    match said[..] {
        [b"p", b"sp", vertices, arcs] => Ok((number(vertices)?, number(arcs)?)),
        _ => Err("expected 'p sp VERTICES ARCS'".into()),
    }
}

fn arc(line: &[u8], vertices: u64) -> Line<(u32, u32)> {
    let mut all = words(line);
    // No list: there are as many of them as lines, and memory may be short.
    let said: [Option<&[u8]>; 5] = std::array::from_fn(|_| all.next());
    match said {
        [None | Some(b"c"), ..] => Ok(None),
        [Some(b"a"), Some(from), Some(to), Some(length), None] => {
            // Lengths say nothing here, but a word that is none shows a damaged line.
            if std::str::from_utf8(length).ok().and_then(|w| w.parse::<f64>().ok()).is_none() {
                return Err(format!("'{}' is no length", shown(length)));
            }
            Ok(Some((vertex(from, vertices)?, vertex(to, vertices)?)))
        }
        [Some(b"p"), ..] => Err("a second 'p' line".into()),
        [Some(b"a"), ..] => Err(format!("an arc is 'a FROM TO LENGTH', found {} words", words(line).count())),
        [Some(word), ..] => Err(format!("expected 'a FROM TO LENGTH', found '{}'", shown(word))),
    }
}
