//! `rayq preview`: a scene live in a window.

use super::picture::picture_path;
use super::signals::Signals;
use super::work;
use crate::error::{Error, Result};
use crate::preview::{Options, Preview, SCALES};
use crate::scene::Scene;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::value_parser;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `rayq preview`.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub struct Args {
    #[command(flatten)]
    work: work::Args,
    /// Save the picture here once it is finished, and whenever X is pressed: a .png, .jpg, .exr or .hdr file
    /// [default: output/NAME.png, on X alone]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// End by itself after N frames, or when the picture is finished
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    frames: Option<u64>,
    /// Window pixels along a pixel of the picture, for small pictures and dense displays
    #[arg(long, default_value = "1", value_parser = scale())]
    scale: u32,
    /// Begin without the figures; O shows them
    #[arg(long)]
    bare: bool,
}

fn scale() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(SCALES).map(|text| text.parse().expect("one of those numbers"))
}

/// Shows until the window is closed or a signal comes.
pub fn run(args: Args) -> Result<()> {
    let signals = Signals::install()?;
    // Read here for the window's size and for errors that need no window; the session reads it again.
    let scene = Scene::load(&args.work.scene)?.with_overrides(&args.work.overrides())?;
    scene.warnings.iter().for_each(super::complain);
    let image = scene.image;
    drop(scene);
    let options = Options {
        scale: args.scale,
        bare: args.bare,
        frames: args.frames,
        save: args.output.is_some(),
        output: args.output.unwrap_or_else(|| picture_path(&args.work.scene)),
    };
    let name = args.work.scene.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let preview = Preview::open(&format!("{name} - rayq"), (image.width, image.height), options)?;
    let session = Arc::new(args.work.start_session()?);
    preview.run(session, || signals.received().is_some())?;
    signals.received().map_or(Ok(()), |signal| Err(Error::Interrupted(signal)))
}
