//! A glTF file's JSON and the bytes that it refers to: buffers and pictures, beside it, within it, or in its text.

use super::json::{Index, Root};
use crate::error::{Error, Result, one_line};
use crate::file::Files;
use crate::model::file::{fault, read};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Largest JSON text in bytes; in memory it takes many times that.
const MAX_JSON_BYTES: usize = 256 << 20;
/// Types of a GLB file's chunks.
const JSON_CHUNK: u32 = u32::from_le_bytes(*b"JSON");
const BIN_CHUNK: u32 = u32::from_le_bytes(*b"BIN\0");

/// The file, understood as far as its JSON and its buffers go.
pub struct Source<'a> {
    /// The file, for messages.
    pub path: &'a Path,
    /// Its JSON.
    pub root: Root,
    /// Bytes of each buffer, exactly as long as declared.
    buffers: Vec<Vec<u8>>,
    files: &'a Files,
}

impl<'a> Source<'a> {
    /// Reads the file's bytes and the buffers that it names; `files` learns of what is read.
    pub fn new(path: &'a Path, bytes: &[u8], files: &'a Files) -> Result<Self> {
        let (json, bin) = match bytes.starts_with(b"glTF") {
            true => chunks(bytes).map_err(|why| fault(path, why))?,
            false => (bytes, None),
        };
        let mut source = Source { path, root: parse(path, json)?, buffers: vec![], files };
        for index in 0..source.root.buffers.len() {
            let bytes = source.buffer(index, bin)?;
            source.buffers.push(bytes);
        }
        Ok(source)
    }

    /// The error `file: what`.
    pub fn fault(&self, what: impl Display) -> Error {
        fault(self.path, what)
    }

    /// The element of a list, or the error that it is not there; `place` says who asks.
    pub fn get<'l, T>(&self, list: &'l [T], index: Index, name: &str, place: impl Display) -> Result<&'l T> {
        let missing = || {
            let there = match list.len() {
                0 => "there are none".into(),
                count => format!("there are {count}, numbered 0 to {}", count - 1),
            };
            self.fault(format_args!("{place}: there is no {name}[{index}]; {there}"))
        };
        list.get(index).ok_or_else(missing)
    }

    /// A buffer's bytes; `bin` is a GLB file's own.
    fn buffer(&self, index: Index, bin: Option<&[u8]>) -> Result<Vec<u8>> {
        let place = format!("buffers[{index}]");
        let buffer = &self.root.buffers[index];
        let (mut bytes, whence) = match (&buffer.uri, bin) {
            (Some(uri), _) => self.fetch(uri, &place)?,
            (None, Some(bin)) if index == 0 => (bin.to_owned(), "the binary chunk".into()),
            _ => {
                return Err(
                    self.fault(format_args!("{place}: has no uri, and there is no binary chunk for it"))
                );
            }
        };
        let (held, wanted) = (bytes.len() as u64, buffer.byte_length);
        if held < wanted {
            let text = format!("{place}: byteLength is {wanted}, and {whence} has {held} bytes");
            return Err(self.fault(text));
        }
        bytes.truncate(wanted as usize);
        Ok(bytes)
    }

    /// What a URI stands for, and its name for people.
    fn fetch(&self, uri: &str, place: &str) -> Result<(Vec<u8>, String)> {
        if let Some(data) = uri.strip_prefix("data:") {
            let encoded = data.split_once(";base64,").map(|(_, encoded)| encoded);
            let encoded =
                encoded.ok_or_else(|| self.fault(format_args!("{place}: data URIs must be base64")))?;
            let decoded = STANDARD.decode(encoded);
            let bytes = decoded.map_err(|e| self.fault(format_args!("{place}: broken base64: {e}")))?;
            return Ok((bytes, "the data URI".into()));
        }
        let file = self.file_of(uri, place)?;
        let bytes = read(&file, self.files);
        let bytes = bytes
            .map_err(|why| self.fault(format_args!("{place}: cannot read {}: {why}", file.display())))?;
        Ok((bytes, file.display().to_string()))
    }

    /// The file beside this one that a URI names.
    fn file_of(&self, uri: &str, place: &str) -> Result<PathBuf> {
        if uri.split('/').next().is_some_and(|start| start.contains(':')) {
            let text = format!("{place}: `{}`: only files beside the model are read", one_line(uri));
            return Err(self.fault(text));
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let decoded = folder.join(&*percent_decode_str(uri).decode_utf8_lossy());
        // Some programs write names as they are, percent signs included.
        let raw = folder.join(uri);
        Ok(if !self.files.has(&decoded) && self.files.has(&raw) { raw } else { decoded })
    }

    /// The bytes of a buffer view, and its stride. `place` says who asks.
    pub fn view(&self, index: Index, place: &str) -> Result<(&[u8], Option<u64>)> {
        let view = self.get(&self.root.buffer_views, index, "bufferViews", place)?;
        let name = format!("bufferViews[{index}]");
        let buffer = self.get(&self.buffers, view.buffer, "buffers", &name)?;
        let end = view.byte_offset.checked_add(view.byte_length).filter(|&end| end <= buffer.len() as u64);
        let end = end.ok_or_else(|| {
            self.fault(format_args!(
                "{name}: {} bytes from {} on are more than buffers[{}] has: {}",
                view.byte_length,
                view.byte_offset,
                view.buffer,
                buffer.len()
            ))
        })?;
        Ok((&buffer[view.byte_offset as usize..end as usize], view.byte_stride))
    }

    /// A picture's file, or its place in this one.
    pub fn picture_name(&self, index: Index, place: &str) -> Result<PathBuf> {
        let image = self.get(&self.root.images, index, "images", place)?;
        match &image.uri {
            Some(uri) if !uri.starts_with("data:") => self.file_of(uri, &format!("images[{index}]")),
            _ => Ok(PathBuf::from(format!("{}: images[{index}]", self.path.display()))),
        }
    }

    /// The bytes of a picture that there is.
    pub fn picture(&self, index: Index) -> Result<Cow<'_, [u8]>> {
        let (image, name) = (&self.root.images[index], format!("images[{index}]"));
        match (&image.uri, image.buffer_view) {
            (Some(uri), _) => Ok(self.fetch(uri, &name)?.0.into()),
            (None, Some(view)) => Ok(self.view(view, &name)?.0.into()),
            (None, None) => Err(self.fault(format_args!("{name}: has neither uri nor bufferView"))),
        }
    }
}

/// The JSON of a GLB file and its binary chunk.
fn chunks(bytes: &[u8]) -> std::result::Result<(&[u8], Option<&[u8]>), String> {
    let word = |at: usize| {
        let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
        word.map(|w| u32::from_le_bytes(*w)).ok_or("the file ends within a header")
    };
    let (version, length) = (word(4)?, word(8)? as usize);
    if version != 2 {
        return Err(format!("is a GLB file of version {version}; allowed: 2"));
    }
    if length > bytes.len() {
        return Err(format!("says that it has {length} bytes, and has {}", bytes.len()));
    }
    let (mut json, mut bin, mut at) = (None, None, 12);
    while at + 8 <= length {
        let (size, kind, start) = (word(at)? as usize, word(at + 4)?, at + 8);
        let chunk = bytes[..length].get(start..start.saturating_add(size));
        let chunk =
            chunk.ok_or_else(|| format!("the chunk at byte {at} has {size} bytes, more than are left"))?;
        match kind {
            JSON_CHUNK if json.is_none() => json = Some(chunk),
            BIN_CHUNK if bin.is_none() => bin = Some(chunk),
            _ => {}
        }
        at = start + size.next_multiple_of(4);
    }
    Ok((json.ok_or("has no JSON chunk")?, bin))
}

fn parse(path: &Path, json: &[u8]) -> Result<Root> {
    if json.len() > MAX_JSON_BYTES {
        return Err(fault(
            path,
            format_args!("its JSON has {} bytes; allowed: {MAX_JSON_BYTES}", json.len()),
        ));
    }
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    let mut parser = serde_json::Deserializer::from_slice(json);
    let root: Root = serde_path_to_error::deserialize(&mut parser).map_err(|e| {
        let (key, inner) = (e.path().to_string(), e.inner());
        let message = inner.to_string();
        let message = message.rsplit_once(" at line ").map_or(&message[..], |(text, _)| text);
        // What indices are to serde.
        let message = message.replace("expected usize", "expected an index, a whole number from 0 up");
        let what = if key == "." { message } else { format!("{key}: {message}") };
        Error::input(format!("{}:{}:{}: {what}", path.display(), inner.line(), inner.column()))
    })?;
    let needed = root.asset.min_version.as_deref().unwrap_or(&root.asset.version);
    match needed {
        "2.0" => Ok(root),
        version if root.asset.min_version.is_none() && version.starts_with("2.") => Ok(root),
        version => Err(fault(path, format_args!("asset: is glTF of version `{version}`; allowed: 2.0"))),
    }
}
