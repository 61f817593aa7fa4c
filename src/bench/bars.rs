//! Bar charts, a bar a contender: pictures of their own as SVG and PNG, with spreads, and SVG text for reports.

use super::Spread;
use super::plot::{COLOURS, Drawing, FONT, SIZE, svg, write};
use crate::error::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// To its left.
    pub name: String,
    /// How long it is, and how far rounds were from each other.
    pub figure: Spread,
    /// Bars of the same number have the same colour.
    pub group: usize,
}

/// A bar chart.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Above it.
    pub title: String,
    /// What the bars measure, where the title does not say so.
    pub unit: Option<String>,
    /// From top to bottom.
    pub bars: Vec<Bar>,
    /// A value to compare with, drawn as a line through all bars.
    pub mark: Option<f64>,
    /// Lengths are those of logarithms where the largest value is beyond fifty times the smallest; the title says so.
    pub far: bool,
}

/// Where the bars start, and what is left of the width for figures at their ends.
const LEFT: i32 = 260;
const RIGHT: i32 = 110;
const TOP: i32 = 64;
const BOTTOM: i32 = 24;
/// From bar to bar in a report, and at most in a picture of its own.
const REPORT_PITCH: i32 = 28;
const MOST_PITCH: i32 = 60;

impl Bar {
    /// A single figure, as there is one of each contender in a report.
    pub fn of(name: &str, value: f64) -> Bar {
        Bar { name: name.to_owned(), figure: Spread { median: value, min: value, max: value }, group: 0 }
    }
}

impl Bars {
    /// Writes `stem`.svg and `stem`.png. A chart without a bar is not written.
    ///
    /// # Errors
    /// The output's own.
    pub fn write(&self, stem: &Path) -> Result<()> {
        if self.longest() > 0.0 { write(self, stem) } else { Ok(()) }
    }

    /// The SVG form for a report, as high as its bars need.
    ///
    /// # Errors
    /// The drawing library's words.
    pub fn svg(&self) -> std::result::Result<String, String> {
        let height = TOP + REPORT_PITCH * self.bars.len() as i32 + BOTTOM;
        svg(self, (SIZE.0, height as u32))
    }

    fn longest(&self) -> f64 {
        self.bars.iter().map(|bar| bar.figure.max).chain(self.mark).fold(0.0, f64::max)
    }

    /// The smallest value, where lengths are to be those of logarithms.
    fn least_of_far(&self) -> Option<f64> {
        let values = self.bars.iter().map(|bar| bar.figure.median).chain(self.mark);
        let least = values.filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        (self.far && self.longest() > 50.0 * least).then_some(least)
    }

    /// The part of the longest bar's length that a value has.
    fn share(&self, value: f64) -> f64 {
        let longest = self.longest();
        match self.least_of_far() {
            _ if value <= 0.0 => 0.0,
            // The smallest keeps a bar.
            Some(least) => (value / least * 2.0).ln() / (longest / least * 2.0).ln(),
            None => value / longest,
        }
    }

    fn try_draw<B: DrawingBackend>(
        &self,
        area: DrawingArea<B, Shift>,
    ) -> std::result::Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        let text = |size: i32, horizontal| {
            TextStyle::from((FONT, size).into_font()).pos(Pos::new(horizontal, VPos::Center))
        };
        let (width, height) = area.dim_in_pixel();
        let (width, height, middle) = (width as i32, height as i32, width as i32 / 2);
        let title = self.title.clone() + if self.least_of_far().is_some() { " (logarithmic)" } else { "" };
        area.draw(&Text::new(title, (middle, 22), text(20, HPos::Center)))?;
        if let Some(unit) = &self.unit {
            area.draw(&Text::new(unit.as_str(), (middle, 46), text(15, HPos::Center)))?;
        }
        let pitch = ((height - TOP - BOTTOM) / self.bars.len().max(1) as i32).min(MOST_PITCH);
        let at = |value: f64| LEFT + (self.share(value) * f64::from(width - LEFT - RIGHT)).round() as i32;
        for (bar, row) in self.bars.iter().zip(0..) {
            let (top, bottom) = (TOP + row * pitch + pitch / 8, TOP + (row + 1) * pitch - pitch / 8);
            let (centre, figure) = ((top + bottom) / 2, bar.figure);
            let colour = COLOURS[bar.group % COLOURS.len()];
            area.draw(&Text::new(bar.name.as_str(), (LEFT - 10, centre), text(15, HPos::Right)))?;
            area.draw(&Rectangle::new([(LEFT, top), (at(figure.median), bottom)], colour.filled()))?;
            let spread = [(at(figure.min), centre), (at(figure.max), centre)];
            area.draw(&PathElement::new(spread, BLACK.stroke_width(2)))?;
            let end = (at(figure.max.max(figure.median)) + 8, centre);
            area.draw(&Text::new(three_digits(figure.median), end, text(15, HPos::Left)))?;
        }
        if let Some(x) = self.mark.map(at) {
            for y in (TOP..TOP + pitch * self.bars.len() as i32).step_by(9) {
                area.draw(&PathElement::new([(x, y), (x, y + 5)], COLOURS[1].stroke_width(2)))?;
            }
        }
        area.present()
    }
}

/// Enough to compare bars by.
fn three_digits(value: f64) -> String {
    let decimals = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.decimals$}")
}

impl Drawing for Bars {
    fn draw<B: DrawingBackend>(&self, area: DrawingArea<B, Shift>) -> std::result::Result<(), String> {
        self.try_draw(area).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_figures() {
        let folder = tempfile::tempdir().expect("a folder");
        let bar = |name: &str, value, group| Bar { group, ..Bar::of(name, value) };
        let bars = Bars {
            title: "cornell".into(),
            unit: Some("millions of rays a second".into()),
            bars: vec![bar("megakernel", 400.0, 0), bar("compaction", 100.0, 1)],
            mark: None,
            far: false,
        };
        let stem = folder.path().join("a.b");
        bars.write(&stem).expect("written");
        let svg = std::fs::read_to_string(folder.path().join("a.b.svg")).expect("an SVG");
        assert!(svg.contains("cornell") && svg.contains("megakernel") && svg.contains("400"), "{svg}");
        let png = image::open(folder.path().join("a.b.png")).expect("a PNG").to_rgb8();
        let length = |colour: RGBColor| {
            let count =
                |y| (0..SIZE.0).filter(|&x| png.get_pixel(x, y).0 == [colour.0, colour.1, colour.2]).count();
            (0..SIZE.1).map(count).max().expect("rows")
        };
        let (long, short) = (length(COLOURS[0]), length(COLOURS[1]));
        assert!(short > 100 && long.abs_diff(4 * short) <= 8, "{long} {short}");
    }

    #[test]
    fn nothing_to_show_writes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let bars = Bars { title: String::new(), unit: None, bars: vec![], mark: None, far: false };
        bars.write(&folder.path().join("bars")).expect("fine");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    fn report(bars: &[(&str, f64)], mark: Option<f64>) -> Bars {
        let bars = bars.iter().map(|&(name, value)| Bar::of(name, value)).collect();
        Bars { title: "t".into(), unit: None, bars, mark, far: true }
    }

    #[test]
    fn values_far_apart_keep_a_length_each() {
        let near = report(&[("a", 1.0), ("b", 4.0), ("c", 0.0)], None);
        assert_eq!([1.0, 4.0, 0.0].map(|value| near.share(value)), [0.25, 1.0, 0.0]);
        let far = report(&[("a", 1.0), ("b", 1000.0)], None);
        assert!(far.share(1.0) > 0.03 && far.share(1000.0) == 1.0, "{}", far.share(1.0));
        assert!(far.svg().expect("drawn").contains("t (logarithmic)"));
    }

    #[test]
    fn reports_have_names_as_text_and_a_mark() {
        let svg = |mark| report(&[("<b> & c", 1.0)], mark).svg().expect("drawn");
        let (with, without) = (svg(Some(0.5)), svg(None));
        assert!(with.contains("&lt;b&gt; &amp; c"), "{with}");
        assert!(with.contains("#D55E00") && !without.contains("#D55E00"), "{with}");
    }
}
