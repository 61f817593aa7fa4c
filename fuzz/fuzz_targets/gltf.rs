#![no_main]
//! `cargo +nightly fuzz run gltf fuzz/corpus/gltf`

use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(rayq::model::parse(Path::new("fuzz/corpus/gltf/fuzz.gltf"), bytes)));
