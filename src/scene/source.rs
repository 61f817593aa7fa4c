//! A scene file's text: reading it, parsing it, and pointing at a place in it.

use super::Format;
use super::fault::{Fault, KeyPath, Step, nearest};
use super::format::{SceneFile, Table};
use super::locate::{line_and_column, locate};
use crate::error::{Error, Result, one_line};
use crate::file::Files;
use serde_path_to_error::{Path as SerdePath, Segment};
use std::path::Path;

/// Largest scene file in bytes: room for a million spheres with every key written out.
pub const MAX_FILE_BYTES: u64 = 256 << 20;

/// The bytes of a scene file as text.
pub fn read(path: &Path, files: &Files) -> Result<String> {
    let bytes = files.read(path, MAX_FILE_BYTES, "; give a scene file");
    let bytes =
        bytes.map_err(|why| Error::Input(format!("{}: cannot read the scene: {why}", path.display())))?;
    String::from_utf8(bytes).map_err(|e| {
        let valid = e.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(&e.as_bytes()[..valid]);
        let (line, column) = line_and_column(&text, valid);
        let message = "not UTF-8 text; save the scene as UTF-8";
        Error::Input(format!("{}:{line}:{column}: {message}", path.display()))
    })
}

/// A text, how to read it, and what to call it in errors.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    text: &'a str,
    format: Format,
    path: &'a Path,
}

impl<'a> Source<'a> {
    /// The text of the file at `path`, which need not exist. A byte order mark is skipped.
    pub fn new(text: &'a str, format: Format, path: &'a Path) -> Self {
        Source { text: text.strip_prefix('\u{feff}').unwrap_or(text), format, path }
    }

    /// Reads the text into the model.
    pub fn parse(&self) -> Result<SceneFile> {
        if self.text.trim().is_empty() {
            return Err(self.error_at((1, 1), "the file is empty; docs/scene-format.md shows a scene"));
        }
        match self.format {
            Format::Toml => self.parse_toml(),
            Format::Json => self.parse_json(),
        }
    }

    fn parse_toml(&self) -> Result<SceneFile> {
        let parsed = toml::Deserializer::parse(self.text).map_err(|e| {
            let offset = e.span().map_or(0, |span| span.start);
            self.error_at(line_and_column(self.text, offset), &format!("not valid TOML: {}", e.message()))
        })?;
        let read: std::result::Result<Table<SceneFile>, _> = serde_path_to_error::deserialize(parsed);
        read.map(|Table(file)| file).map_err(|e| self.error(&data_fault(e.path(), e.inner().message())))
    }

    fn parse_json(&self) -> Result<SceneFile> {
        let mut parser = serde_json::Deserializer::from_str(self.text);
        let read: std::result::Result<Table<SceneFile>, _> = serde_path_to_error::deserialize(&mut parser);
        let Table(file) = read.map_err(|e| match e.inner().classify() {
            serde_json::error::Category::Data => {
                self.error(&data_fault(e.path(), &without_place(&e.inner().to_string())))
            }
            _ => self.json_syntax_error(e.inner()),
        })?;
        parser.end().map_err(|e| self.json_syntax_error(&e))?;
        Ok(file)
    }

    fn json_syntax_error(&self, e: &serde_json::Error) -> Error {
        let message = format!("not valid JSON: {}", without_place(&e.to_string()));
        self.error_at((e.line().max(1), e.column().max(1)), &message)
    }

    /// The error that shows a fault and its place.
    pub fn error(&self, fault: &Fault) -> Error {
        let path = fault.path();
        let place = locate(self.text, self.format, &path.0);
        match path.0.is_empty() {
            true => self.error_at(place, &fault.message),
            false => self.error_at(place, &format!("{path}: {}", fault.message)),
        }
    }

    fn error_at(&self, (line, column): (usize, usize), message: &str) -> Error {
        Error::Input(format!("{}:{line}:{column}: {}", self.path.display(), one_line(message)))
    }
}

/// serde_json's message without its own idea of the place.
fn without_place(message: &str) -> String {
    message.rsplit_once(" at line ").map_or(message, |(text, _)| text).to_owned()
}

/// A fault that the model found while it was filled: a wrong type, an unknown key, a key given twice.
fn data_fault(path: &SerdePath, message: &str) -> Fault {
    let steps = path.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    let mut path = KeyPath(steps.collect());
    if matches!(path.0.last(), Some(Step::Key(key)) if key.starts_with("$__toml_private")) {
        path.0.pop();
        return Fault::at(path, "a date is not allowed here");
    }
    if let Some(key) = message.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`')) {
        path.0.push(key.into());
        return Fault::at(path, "this key is given twice");
    }
    Fault::at(path, unknown_key(message).unwrap_or_else(|| in_our_words(message)))
}

/// serde's names of types, as docs/scene-format.md calls them.
fn in_our_words(message: &str) -> String {
    let words = [
        ("type: sequence", "type: list"),
        ("type: map", "type: table"),
        ("an array of length", "a list of length"),
    ];
    words.iter().fold(message.to_owned(), |text, (theirs, ours)| text.replacen(theirs, ours, 1))
}

/// serde says "unknown field `a`, expected one of `b`, `c`"; we say which was meant.
fn unknown_key(message: &str) -> Option<String> {
    let (key, expected) = message.strip_prefix("unknown field `")?.rsplit_once("`, expected ")?;
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let hint = nearest(key, known.iter().copied()).map(|k| format!(", did you mean `{k}`?"));
    Some(format!("unknown key `{key}`{} (known here: {})", hint.unwrap_or_default(), known.join(", ")))
}
