//! Lines of numbers, read in parallel; errors name file and line.

use crate::error::{Error, Result};
use crate::memory::may_fail;
use rayon::prelude::*;

/// Bytes that one thread reads at a time.
const PART: usize = 1 << 20;

/// A piece of a file that ends where a line does.
struct Part<'a> {
    /// Where it begins in the file.
    start: usize,
    text: &'a [u8],
}

const NO_ROOM: &str = "there is no memory for more entries; take a smaller graph";

/// What a line is: an entry, nothing, or wrong.
pub(super) type Line<T> = std::result::Result<Option<T>, String>;

/// The words of a line.
pub(super) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// A word as people see it, cut short.
pub(super) fn shown(word: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(word).chars().take(40).collect();
    text.escape_debug().to_string()
}

/// A whole number without a sign.
pub(super) fn number(word: &[u8]) -> std::result::Result<u64, String> {
    let mut value = 0u64;
    for &byte in word {
        let digit = byte.wrapping_sub(b'0');
        let next = (digit < 10).then(|| value.checked_mul(10)?.checked_add(digit.into())).flatten();
        value = next.ok_or_else(|| match word.iter().all(u8::is_ascii_digit) {
            true => format!("{} is beyond 64 bits", shown(word)),
            false => format!("'{}' is no whole number from 0 up", shown(word)),
        })?;
    }
    Ok(value)
}

/// A vertex' number between 1 and `vertices`, as a number from 0.
pub(super) fn vertex(word: &[u8], vertices: u64) -> std::result::Result<u32, String> {
    match number(word)? {
        n if (1..=vertices).contains(&n) => Ok((n - 1) as u32),
        n => Err(format!("vertex {n} is not in 1..{vertices}")),
    }
}

/// An error about a place of the text, with its line.
pub(super) fn error_at<T>(name: &str, text: &[u8], place: usize, why: &str) -> Result<T> {
    let line = 1 + text[..place].iter().filter(|&&b| b == b'\n').count();
    Err(Error::Input(format!("{name}: line {line}: {why}")))
}

/// The lines of a text with the place of each, from `start` on, without their ends.
pub(super) fn lines(text: &[u8], start: usize) -> impl Iterator<Item = (usize, &[u8])> {
    let mut place = start;
    text[start..].split_inclusive(|&b| b == b'\n').map(move |line| {
        let here = place;
        place += line.len();
        (here, line)
    })
}

/// The entries of all lines from `start` on, in order. There have to be `declared` of them, if that is known.
pub(super) fn entries<T: Send + Copy>(
    name: &str,
    text: &[u8],
    start: usize,
    declared: Option<u64>,
    parse: impl Fn(&[u8]) -> Line<T> + Sync,
) -> Result<Vec<T>> {
    let read = |part: &Part| {
        let mut found = vec![];
        for (place, line) in lines(part.text, 0) {
            match parse(line) {
                Ok(Some(_)) if may_fail(|| found.try_reserve(1)).is_err() => {
                    return Err((part.start + place, NO_ROOM.into()));
                }
                Ok(entry) => found.extend(entry),
                Err(why) => return Err((part.start + place, why)),
            }
        }
        Ok(found)
    };
    let parts = parts(text, start);
    let read: Vec<_> = parts.par_iter().map(read).collect();
    let mut entries = vec![];
    for (part, read) in parts.iter().zip(read) {
        // What is too much comes first in the file, and is said first.
        let room = declared.map_or(u64::MAX, |d| d - entries.len() as u64);
        match read {
            Ok(found) if found.len() as u64 <= room => match may_fail(|| entries.try_reserve(found.len())) {
                Ok(()) => entries.extend(found),
                Err(_) => return error_at(name, text, part.start, NO_ROOM),
            },
            Ok(_) => return too_many(name, text, part, room, declared, parse),
            Err((place, why)) => {
                let before = Part { start: part.start, text: &text[part.start..place] };
                let count = lines(before.text, 0).filter(|(_, l)| matches!(parse(l), Ok(Some(_)))).count();
                if count as u64 > room {
                    return too_many(name, text, &before, room, declared, parse);
                }
                return error_at(name, text, place, &why);
            }
        }
    }
    match declared {
        Some(declared) if declared > entries.len() as u64 => Err(Error::Input(format!(
            "{name}: declared {declared} entries, found {}; the file is cut short, or its head is wrong",
            entries.len()
        ))),
        _ => Ok(entries),
    }
}

/// The error for the first entry of a part that has more than `room`.
fn too_many<T, U>(
    name: &str,
    text: &[u8],
    part: &Part,
    room: u64,
    declared: Option<u64>,
    parse: impl Fn(&[u8]) -> Line<T>,
) -> Result<U> {
    let mut full = lines(part.text, 0).filter(|(_, line)| matches!(parse(line), Ok(Some(_))));
    let place = full.nth(room as usize).map_or(0, |(place, _)| place);
    let declared = declared.unwrap_or_default();
    error_at(name, text, part.start + place, &format!("one entry more than the {declared} declared"))
}

fn parts(text: &[u8], start: usize) -> Vec<Part<'_>> {
    let mut parts = vec![];
    let mut start = start;
    while start < text.len() {
        let wanted = (start + PART).min(text.len());
        let rest = text[wanted..].iter().position(|&b| b == b'\n').map_or(text.len(), |i| wanted + i + 1);
        parts.push(Part { start, text: &text[start..rest] });
        start = rest;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_read_in_order_and_errors_count_lines() {
        let text: String = (0..400_000).map(|i| format!("{i}\n")).collect();
        assert!(text.len() > 2 * PART);
        let parse = |line: &[u8]| words(line).next().map(number).transpose();
        let all = entries("x", text.as_bytes(), 0, Some(400_000), parse).expect("numbers");
        assert!(all.iter().copied().eq(0..400_000));
        let wrong = text.replace("399000\n", "39x\n");
        let error = entries("x", wrong.as_bytes(), 0, None, parse).expect_err("wrong").to_string();
        assert_eq!(error, "x: line 399001: '39x' is no whole number from 0 up");
        let error = entries("x", wrong.as_bytes(), 0, Some(390_000), parse).expect_err("many").to_string();
        assert_eq!(error, "x: line 390001: one entry more than the 390000 declared");
        let error = entries("x", text.as_bytes(), 0, Some(400_001), parse).expect_err("few").to_string();
        assert!(error.contains("declared 400001 entries, found 400000"), "{error}");
    }

    #[test]
    fn numbers_have_64_bits_and_no_sign() {
        assert_eq!(number(b"18446744073709551615"), Ok(u64::MAX));
        assert!(number(b"18446744073709551616").is_err_and(|why| why.contains("64 bits")));
        for bad in [&b"-1"[..], b"+1", b"1.5", b"x", b"1_000"] {
            assert!(number(bad).is_err_and(|why| why.contains("whole number")));
        }
    }
}
