//! Line plots as SVG and PNG, with logarithmic axes. The font comes along: machines without fonts draw the same.

use crate::error::{Error, Result};
use crate::film::Output;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use std::path::Path;
use std::sync::Once;

/// A curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Points by rising x; both coordinates above 0.
    pub points: Vec<(f64, f64)>,
    /// Whether it is a bound and no contender: drawn thin and grey.
    pub ceiling: bool,
}

/// A plot.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Above the plot.
    pub title: String,
    /// Of the horizontal axis.
    pub x: String,
    /// Of the vertical axis.
    pub y: String,
    /// The curves.
    pub series: Vec<Series>,
}

pub(super) const SIZE: (u32, u32) = (960, 600);
pub(super) const FONT: &str = "sans-serif";
/// Told apart by people who see few colours, too (Okabe and Ito).
pub(super) const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(120, 94, 60),
    RGBColor(0, 0, 0),
];

impl Plot {
    /// Writes `stem`.svg and `stem`.png. A plot without a point is not written.
    ///
    /// # Errors
    /// The output's own.
    pub fn write(&self, stem: &Path) -> Result<()> {
        self.bounds().map_or(Ok(()), |_| write(self, stem))
    }

    /// The SVG form, a whole document; none of a plot without a point.
    ///
    /// # Errors
    /// The drawing library's words.
    pub fn svg(&self) -> std::result::Result<Option<String>, String> {
        if self.bounds().is_none() {
            return Ok(None);
        }
        svg(self, SIZE).map(Some)
    }

    /// The least and the largest coordinates; nothing if there is no point.
    fn bounds(&self) -> Option<[(f64, f64); 2]> {
        let span = |of: fn(&(f64, f64)) -> f64| {
            let all = self.series.iter().flat_map(|s| s.points.iter().map(of));
            all.fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), v| (a.min(v), b.max(v)))
        };
        let (x, y) = (span(|p| p.0), span(|p| p.1));
        (x.1 > 0.0 && y.1 > 0.0).then_some([(x.0 * 0.9, x.1 * 1.1), (y.0 * 0.8, y.1 * 1.3)])
    }

    fn try_draw<B: DrawingBackend>(
        &self,
        area: DrawingArea<B, Shift>,
        x: (f64, f64),
        y: (f64, f64),
    ) -> std::result::Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, (FONT, 20))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d((x.0..x.1).log_scale().base(2.0), (y.0..y.1).log_scale())?;
        chart
            .configure_mesh()
            .x_desc(&self.x)
            .y_desc(&self.y)
            .label_style((FONT, 15))
            .axis_desc_style((FONT, 15))
            .x_label_formatter(&|v| number(*v))
            .y_label_formatter(&|v| number(*v))
            .bold_line_style(BLACK.mix(0.15))
            .light_line_style(BLACK.mix(0.05))
            .draw()?;
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let (colour, width) = if series.ceiling { (RGBColor(150, 150, 150), 1) } else { (*colour, 2) };
            let style = colour.stroke_width(width);
            chart
                .draw_series(LineSeries::new(series.points.iter().copied(), style))?
                .label(&series.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
            if !series.ceiling {
                chart.draw_series(series.points.iter().map(|p| Circle::new(*p, 3, colour.filled())))?;
            }
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .label_font((FONT, 15))
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        area.present()
    }
}

impl Drawing for Plot {
    fn draw<B: DrawingBackend>(&self, area: DrawingArea<B, Shift>) -> std::result::Result<(), String> {
        let Some([x, y]) = self.bounds() else { return Ok(()) };
        self.try_draw(area, x, y).map_err(|e| e.to_string())
    }
}

/// What can be drawn in both forms.
pub(super) trait Drawing {
    fn draw<B: DrawingBackend>(&self, area: DrawingArea<B, Shift>) -> std::result::Result<(), String>;
}

/// The SVG form at a size, a whole document.
pub(super) fn svg(drawing: &impl Drawing, size: (u32, u32)) -> std::result::Result<String, String> {
    register();
    let mut text = String::new();
    drawing.draw(SVGBackend::with_string(&mut text, size).into_drawing_area())?;
    Ok(text)
}

/// Writes `stem`.svg and `stem`.png, each whole or not at all.
pub(super) fn write(drawing: &impl Drawing, stem: &Path) -> Result<()> {
    let (svg_file, png) = (with_ending(stem, "svg"), with_ending(stem, "png"));
    let text = svg(drawing, SIZE).map_err(|why| Error::output(&svg_file, why))?;
    Output::prepare(&svg_file)?.write(text.as_bytes())?;
    let mut pixels = vec![0; 3 * SIZE.0 as usize * SIZE.1 as usize];
    let area = BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area();
    drawing.draw(area).map_err(|why| Error::output(&png, why))?;
    let mut bytes = std::io::Cursor::new(vec![]);
    let picture = image::RgbImage::from_raw(SIZE.0, SIZE.1, pixels).expect("three bytes a pixel");
    picture.write_to(&mut bytes, image::ImageFormat::Png).map_err(|e| Error::output(&png, e))?;
    Output::prepare(&png)?.write(bytes.get_ref())
}

/// The stem with an ending; dots of its own stay.
fn with_ending(stem: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

/// Three digits are enough for an axis.
fn number(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value:.3}").trim_end_matches('0').to_owned() }
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails only for bytes that are no font, which the tests would show.
        let _ = register_font(FONT, FontStyle::Normal, include_bytes!("../../assets/plot-font.ttf"));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_show_curve_and_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let series = |name: &str, points, ceiling| Series { name: name.into(), points, ceiling };
        let plot = Plot {
            title: "throughput".into(),
            x: "lanes".into(),
            y: "M ops/s".into(),
            series: vec![
                series("glfq", vec![(512.0, 400.0), (1024.0, 790.0)], false),
                series("faa-ceiling", vec![(512.0, 800.0), (1024.0, 1500.0)], true),
            ],
        };
        let stem = folder.path().join("plot");
        plot.write(&stem).expect("written");
        let svg = std::fs::read_to_string(stem.with_extension("svg")).expect("an SVG");
        assert!(svg.contains("throughput") && svg.contains("glfq") && svg.contains("polyline"), "{svg}");
        let png = image::open(stem.with_extension("png")).expect("a PNG").to_rgb8();
        let inked = |range: std::ops::Range<u32>| {
            range
                .flat_map(|y| (0..SIZE.0).map(move |x| (x, y)))
                .filter(|&(x, y)| png.get_pixel(x, y).0 != [255; 3])
                .count()
        };
        // The caption alone is in the uppermost rows.
        assert!(inked(14..40) > 100, "no text");
        assert!(inked(60..500) > 1000, "no curves");
    }

    #[test]
    fn nothing_to_show_writes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let plot = Plot { title: String::new(), x: String::new(), y: String::new(), series: vec![] };
        plot.write(&folder.path().join("plot")).expect("fine");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
