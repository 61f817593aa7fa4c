//! Bar charts as SVG: a name, a bar, a figure in each line.

use std::fmt::Write;

/// A line.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Left of the bar.
    pub name: String,
    /// Its length, 0 or more.
    pub value: f64,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Bars {
    /// Above it.
    pub title: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
    /// A value to compare with, drawn as a line through all bars.
    pub mark: Option<f64>,
}

const WIDTH: f64 = 960.0;
/// Where bars begin and where the longest ends.
const LEFT: f64 = 270.0;
const RIGHT: f64 = 860.0;
const LINE: f64 = 28.0;
const TOP: f64 = 56.0;

impl Bars {
    /// The chart. Bars are as long as their values, but if the largest is beyond fifty times the smallest: then as the
    /// logarithms, which the title says.
    pub fn svg(&self) -> String {
        let values =
            || self.bars.iter().map(|b| b.value).chain(self.mark).filter(|v| *v > 0.0 && v.is_finite());
        let most = values().fold(f64::MIN_POSITIVE, f64::max);
        let least = values().fold(most, f64::min);
        let logarithmic = most > 50.0 * least;
        let end = |value: f64| {
            let share = match logarithmic {
                _ if value <= 0.0 => 0.0,
                // The smallest keeps a bar.
                true => (value / least * 2.0).ln() / (most / least * 2.0).ln(),
                false => value / most,
            };
            LEFT + (RIGHT - LEFT) * share
        };
        let height = TOP + LINE * self.bars.len() as f64 + 16.0;
        let title = self.title.clone() + if logarithmic { " (logarithmic)" } else { "" };
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} \
             {height}\" font-family=\"sans-serif\" font-size=\"15\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"{}\" y=\"30\" font-size=\"20\" text-anchor=\"middle\">{}</text>\n",
            WIDTH / 2.0,
            escape(&title)
        );
        for (number, bar) in self.bars.iter().enumerate() {
            let y = TOP + LINE * number as f64;
            let (end, middle) = (end(bar.value), y + 16.0);
            let _ = writeln!(
                text,
                "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{}</text><rect x=\"{LEFT}\" y=\"{}\" width=\"{:.1}\" \
                 height=\"18\" fill=\"#0072b2\"/><text x=\"{:.1}\" y=\"{middle}\">{}</text>",
                LEFT - 10.0,
                escape(&bar.name),
                y + 2.0,
                end - LEFT,
                end + 6.0,
                figure(bar.value)
            );
        }
        if let Some(mark) = self.mark {
            let (x, bottom) = (end(mark), height - 8.0);
            let _ = writeln!(
                text,
                "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#d55e00\" stroke-width=\"2\" stroke-dasharray=\"5 4\"/>"
            );
        }
        text + "</svg>\n"
    }
}

fn figure(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Text as XML has it.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(bars: &[(&str, f64)]) -> Vec<f64> {
        let bars = bars.iter().map(|&(name, value)| Bar { name: name.into(), value }).collect();
        let svg = Bars { title: "t".into(), bars, mark: None }.svg();
        let rects = svg.split("<rect x=").skip(1);
        rects
            .map(|r| {
                let width = r.split("width=\"").nth(1).and_then(|w| w.split('"').next()).expect("a width");
                width.parse().expect("a number")
            })
            .collect()
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        assert_eq!(widths(&[("a", 1.0), ("b", 4.0), ("c", 0.0)]), [147.5, 590.0, 0.0]);
        let far = widths(&[("a", 1.0), ("b", 1000.0)]);
        assert!(far[0] > 20.0 && far[1] == 590.0, "logarithmic: {far:?}");
    }

    #[test]
    fn names_are_text() {
        let bars = vec![Bar { name: "<b> & \"c\"".into(), value: 1.0 }];
        let svg = Bars { title: "t".into(), bars, mark: Some(0.5) }.svg();
        assert!(svg.contains("&lt;b&gt; &amp; &quot;c&quot;") && svg.contains("<path"), "{svg}");
    }
}
