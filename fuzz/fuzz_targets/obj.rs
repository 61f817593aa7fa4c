#![no_main]
//! `cargo fuzz run obj`: see fuzz/README.md.

use std::path::Path;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(rayq::model::parse(Path::new("fuzz/corpus/obj/fuzz.obj"), bytes)));
