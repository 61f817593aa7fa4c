#![no_main]
//! `cargo fuzz run gltf`: see fuzz/README.md.

use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(rayq::model::parse(Path::new("fuzz/corpus/gltf/fuzz.gltf"), bytes)));
