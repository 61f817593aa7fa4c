//! Bar plots as SVG and PNG: one bar a contender, from zero, with its spread.

use super::Spread;
use super::plot::{COLOURS, Drawing, FONT, SIZE, write};
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

/// A bar plot.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Above the plot.
    pub title: String,
    /// What the bars measure.
    pub unit: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// Where the bars start, and what is left of the width for figures at their ends.
const LEFT: i32 = 260;
const RIGHT: i32 = 110;
const TOP: i32 = 64;
const BOTTOM: i32 = 24;

impl Bars {
    /// Writes `stem`.svg and `stem`.png. A plot without a bar is not written.
    ///
    /// # Errors
    /// The output's own.
    pub fn write(&self, stem: &Path) -> Result<()> {
        if self.longest() > 0.0 { write(self, stem) } else { Ok(()) }
    }

    fn longest(&self) -> f64 {
        self.bars.iter().map(|bar| bar.figure.max).fold(0.0, f64::max)
    }

    fn try_draw<B: DrawingBackend>(
        &self,
        area: DrawingArea<B, Shift>,
    ) -> std::result::Result<(), DrawingAreaErrorKind<B::ErrorType>> {
        area.fill(&WHITE)?;
        let text = |size: i32, horizontal| {
            TextStyle::from((FONT, size).into_font()).pos(Pos::new(horizontal, VPos::Center))
        };
        let middle = SIZE.0 as i32 / 2;
        area.draw(&Text::new(self.title.as_str(), (middle, 22), text(20, HPos::Center)))?;
        area.draw(&Text::new(self.unit.as_str(), (middle, 46), text(15, HPos::Center)))?;
        let pitch = ((SIZE.1 as i32 - TOP - BOTTOM) / self.bars.len().max(1) as i32).min(60);
        let scale = f64::from(SIZE.0 as i32 - LEFT - RIGHT) / self.longest();
        let at = |value: f64| LEFT + (value * scale).round() as i32;
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
        let bar = |name: &str, median, group| Bar {
            name: name.into(),
            figure: Spread { median, min: median, max: median },
            group,
        };
        let bars = Bars {
            title: "cornell".into(),
            unit: "millions of rays a second".into(),
            bars: vec![bar("megakernel", 400.0, 0), bar("compaction", 100.0, 1)],
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
        let bars = Bars { title: String::new(), unit: String::new(), bars: vec![] };
        bars.write(&folder.path().join("bars")).expect("fine");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
