//! Options about the picture file, for commands that write one.

use crate::engine::Render;
use crate::error::{Error, Result};
use crate::film::{Aov, Curve, Film, Format, MOST_STOPS, Output, Style, Tone};
use crate::layout::FirstHit;
use clap::value_parser;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Arguments about the file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The picture, a .png, .jpg, .exr or .hdr file; its folder is made if missing [default: output/NAME.png, NAME as
    /// the scene file's]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// PNG: 16 bits a channel instead of 8
    #[arg(long)]
    png16: bool,
    /// JPEG: quality, 1 to 100 [default: 90]
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(1..=100))]
    jpeg_quality: Option<u8>,
    /// PNG and JPEG: exposure in stops, each of which doubles the light, from -30 to 30 [default: 0]
    #[arg(long, value_name = "STOPS", value_parser = parse_stops, allow_negative_numbers = true)]
    exposure: Option<f32>,
    /// PNG and JPEG: what becomes of light brighter than the screen [default: srgb]
    #[arg(long, value_enum)]
    tone: Option<Curve>,
    /// EXR: 16-bit floats instead of 32; what is beyond their range of 65504 becomes that
    #[arg(long)]
    exr_half: bool,
    /// EXR: layers beside the picture, of what the centre of each pixel sees first, unfiltered
    #[arg(long, value_enum, value_name = "LAYERS", value_delimiter = ',')]
    aov: Vec<Aov>,
}

/// A place for a picture, found good before there is one, and how the picture is written.
#[derive(Debug)]
pub struct PictureFile {
    /// Where.
    pub output: Output,
    format: Format,
    style: Style,
    scene: String,
    /// What pixels see first, once somebody has looked.
    hits: OnceLock<Vec<FirstHit>>,
}

impl Args {
    /// The file for the picture of a scene file, `width` x `height` pixels large.
    ///
    /// # Errors
    /// [`Error::Input`] for another extension, for options that its format does not have and for a picture that it
    /// has no room for; [`Error::Output`] for a place that cannot be written.
    pub fn prepare(&self, scene: &Path, (width, height): (u32, u32)) -> Result<PictureFile> {
        let path = self.output.clone().unwrap_or_else(|| picture_path(scene));
        let format = Format::of(&path)?;
        format.check(width, height)?;
        self.check(format, &path)?;
        let style = Style {
            png16: self.png16,
            half: self.exr_half,
            quality: self.jpeg_quality.unwrap_or(Style::default().quality),
            tone: Tone { exposure: self.exposure.unwrap_or(0.0), curve: self.tone.unwrap_or_default() },
            aovs: self.aov.clone(),
        };
        let scene = scene.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(PictureFile { output: Output::prepare(&path)?, format, style, scene, hits: OnceLock::new() })
    }

    /// Refuses options that would change nothing.
    fn check(&self, format: Format, path: &Path) -> Result<()> {
        use Format::{Exr, Jpeg, Png};
        let options: [(&str, bool, &[Format], &str); 6] = [
            ("--png16", self.png16, &[Png], ".png"),
            ("--jpeg-quality", self.jpeg_quality.is_some(), &[Jpeg], ".jpg"),
            ("--exposure", self.exposure.is_some(), &[Png, Jpeg], ".png or .jpg"),
            ("--tone", self.tone.is_some(), &[Png, Jpeg], ".png or .jpg"),
            ("--exr-half", self.exr_half, &[Exr], ".exr"),
            ("--aov", !self.aov.is_empty(), &[Exr], ".exr"),
        ];
        match options.into_iter().find(|(_, given, formats, _)| *given && !formats.contains(&format)) {
            None => Ok(()),
            Some((option, _, _, wanted)) => Err(Error::Input(format!(
                "{}: {option} is for {wanted} files; leave it out or name one with -o",
                path.display()
            ))),
        }
    }
}

impl PictureFile {
    /// Traces what the file's layers need, if it has any.
    pub fn look(&self, render: &Render) -> Result<()> {
        if !self.style.aovs.is_empty() && self.hits.get().is_none() {
            let hits = render.first_hits()?;
            self.hits.get_or_init(|| hits);
        }
        Ok(())
    }

    /// Writes the picture, unless there is not a sample in it: then an older picture is left alone. Returns whether
    /// it did.
    pub fn save(&self, film: &Film) -> Result<bool> {
        let worth = film.samples() > 0;
        if worth {
            let hits = self.hits.get().map_or(&[][..], Vec::as_slice);
            self.output.write(&film.to_file(self.format, &self.style, &self.scene, hits)?)?;
        }
        Ok(worth)
    }
}

/// Where the picture of a scene file goes unless told otherwise.
pub fn picture_path(scene: &Path) -> PathBuf {
    let mut name = scene.file_stem().unwrap_or("scene".as_ref()).to_owned();
    name.push(".png");
    Path::new("output").join(name)
}

fn parse_stops(text: &str) -> std::result::Result<f32, String> {
    let stops = text.parse().ok().filter(|stops: &f32| stops.abs() <= MOST_STOPS);
    stops.ok_or_else(|| format!("give a number from -{MOST_STOPS} to {MOST_STOPS}"))
}
