#![no_main]
//! `cargo fuzz run scene`: see fuzz/README.md.

use rayq::scene::{Format, Scene};
use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for (format, name) in [(Format::Toml, "fuzz/corpus/scene/fuzz.toml"), (Format::Json, "fuzz/corpus/scene/fuzz.json")] {
        drop(Scene::parse(&text, format, Path::new(name)));
    }
});
