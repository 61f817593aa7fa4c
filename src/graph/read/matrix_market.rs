//! Matrix Market (Boisvert, Pozo and Remington, NIST 1996): coordinate files of any field and symmetry.

use super::lines::{Line, entries, error_at, lines, number, shown, vertex, words};
use crate::error::{Error, Result};
use crate::graph::{Graph, check_size};

/// What the first line says.
struct Head {
    /// Words of an entry: row, column and the parts of its value.
    words: usize,
    /// Only one half of the matrix is in the file.
    symmetric: bool,
}

pub(super) fn parse(name: &str, text: &[u8], both_ways: bool) -> Result<Graph> {
    let mut all = lines(text, 0);
    let (place, line) = all.next().unwrap_or_default();
    let head = head(line).or_else(|why| error_at(name, text, place, &why))?;
    let mut all = all.filter(|(_, line)| !is_blank(line));
    let Some((place, line)) = all.next() else {
        return Err(Error::Input(format!("{name}: ends before the line of its size")));
    };
    let (vertices, declared) = size(line, head.symmetric).or_else(|why| error_at(name, text, place, &why))?;
    let both_ways = both_ways || head.symmetric;
    let line_number = 1 + text[..place].iter().filter(|&&b| b == b'\n').count();
    check_size(&format!("{name}: line {line_number}: "), vertices, 0)?;
    let parse = |line: &[u8]| entry(line, vertices, head.words);
    let pairs = entries(name, text, place + line.len(), Some(declared), parse)?;
    Graph::from_pairs(vertices, &pairs, both_ways).map_err(|e| Error::Input(format!("{name}: {e}")))
}

fn is_blank(line: &[u8]) -> bool {
    words(line).next().is_none_or(|word| word[0] == b'%')
}

fn head(line: &[u8]) -> std::result::Result<Head, String> {
    let lower = line.to_ascii_lowercase();
    let said: Vec<_> = words(&lower).map(shown).collect();
    let [banner, object, format, field, symmetry] = &said[..] else {
        return Err("expected %%MatrixMarket matrix coordinate FIELD SYMMETRY".into());
    };
    let unknown = |what: &str, word: &str, known: &str| Err(format!("{what} '{word}'; there are {known}"));
    if banner != "%%matrixmarket" {
        return Err("expected %%MatrixMarket at the beginning".into());
    }
    if object != "matrix" {
        return unknown("object", object, "matrix");
    }
    match &format[..] {
        "coordinate" => {}
        "array" => {
            return Err("'array' is a dense matrix, an arc for every pair of vertices: no graph to search; \
                        write it as 'coordinate'"
                .into());
        }
        other => return unknown("format", other, "coordinate"),
    }
    let words = match &field[..] {
        "pattern" => 2,
        "integer" | "real" | "double" => 3,
        "complex" => 4,
        other => return unknown("field", other, "pattern, integer, real and complex"),
    };
    let symmetric = match &symmetry[..] {
        "general" => false,
        "symmetric" | "skew-symmetric" | "hermitian" => true,
        other => return unknown("symmetry", other, "general, symmetric, skew-symmetric and hermitian"),
    };
    Ok(Head { words, symmetric })
}

/// Vertices and entries.
fn size(line: &[u8], symmetric: bool) -> std::result::Result<(u64, u64), String> {
    let sizes = words(line).map(number).collect::<std::result::Result<Vec<_>, _>>()?;
    match sizes[..] {
        [rows, columns, entries] if rows == columns => Ok((rows, entries)),
        [rows, columns, _] if symmetric => {
            Err(format!("a symmetric matrix of {rows} rows and {columns} columns"))
        }
        [rows, columns, _] => {
            Err(format!("{rows} rows and {columns} columns; the matrix of a graph is square"))
        }
        _ => Err(format!("expected rows, columns and entries, found {} numbers", sizes.len())),
    }
}

fn entry(line: &[u8], vertices: u64, wanted: usize) -> Line<(u32, u32)> {
    if is_blank(line) {
        return Ok(None);
    }
    let mut found = words(line);
    let mut next = |nth: usize| {
        let word = found.next();
        word.ok_or_else(|| format!("an entry has {wanted} numbers, found {nth}"))
    };
    let pair = (vertex(next(0)?, vertices)?, vertex(next(1)?, vertices)?);
    for nth in 2..wanted {
        let word = next(nth)?;
        if std::str::from_utf8(word).ok().and_then(|w| w.parse::<f64>().ok()).is_none() {
            return Err(format!("'{}' is no number", shown(word)));
        }
    }
    match found.count() {
        0 => Ok(Some(pair)),
        more => Err(format!("an entry has {wanted} numbers, found {}", wanted + more)),
    }
}
