//! Light in general scenes: surfaces, textures and skies one call at a time, and pictures whose light is known.

#![allow(clippy::unwrap_used)] // a test that cannot go on has failed

#[path = "../common/mod.rs"]
mod common;
mod pictures;
mod probes;
