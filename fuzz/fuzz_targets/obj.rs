#![no_main]
//! `cargo +nightly fuzz run obj fuzz/corpus/obj`

use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(rayq::model::parse(Path::new("fuzz/corpus/obj/fuzz.obj"), bytes)));
