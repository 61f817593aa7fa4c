//! What the report shows of a part: tables and figures from its points, beside what was published.

use super::claims::{Verdict, verdicts};
use super::measure::{MOPS, MRAYS, MRAYS_TRACE, MS};
use super::{Data, Head, Part, published};
use crate::bench::bars::{Bar, Bars};
use crate::bench::plot::{Plot, Series};
use crate::error::{Error, Result};

/// Cells of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// As many cells a row as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of its file, without the ending.
    pub id: String,
    /// What it shows, for those who cannot see it too.
    pub caption: String,
    /// The picture itself, a whole SVG document.
    pub svg: String,
}

/// A part of the report.
#[derive(Clone, Debug)]
pub struct Section {
    /// Which one.
    pub part: Part,
    /// What was measured, in a sentence or two.
    pub lead: String,
    /// The paper's claims and what was found.
    pub verdicts: Vec<Verdict>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Tables, those that were published last.
    pub tables: Vec<Table>,
    /// What else has to be known.
    pub notes: Vec<String>,
    /// Commands that measure the same.
    pub commands: Vec<String>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// The engine that the others are measured against.
pub const BASELINE: &str = "compaction append";

/// The sections of the parts that there are.
///
/// # Errors
/// A figure that cannot be drawn.
pub fn sections(head: &Head, parts: &[(Part, Data)]) -> Result<Vec<Section>> {
    parts.iter().map(|(part, data)| section(head, *part, data)).collect()
}

fn section(head: &Head, part: Part, data: &Data) -> Result<Section> {
    let (mut tables, figures) = match part {
        Part::Balanced | Part::Split => curves(part, data, MOPS, "lanes", head)?,
        Part::Blocks => curves(part, data, MOPS, "lanes of a block", head)?,
        Part::Bfs => curves(part, data, MS, "lanes", head)?,
        Part::Rays => (rays_tables(data), rays_figures(data)?),
        Part::Costs => (costs_tables(data), costs_figures(data)?),
    };
    tables.extend(published::tables(part));
    Ok(Section {
        part,
        lead: lead(head, part),
        verdicts: verdicts(part, data),
        figures,
        tables,
        notes: data.notes.clone(),
        commands: data.commands.clone(),
        seconds: data.seconds,
    })
}

fn lead(head: &Head, part: Part) -> String {
    let plan = &head.plan;
    let how = format!(
        "Successful enqueues and dequeues, in millions a second: median of {} launches of {} ms after {} ms of \
         warm-up; capacity {}. What went in was compared with what came out.",
        plan.runs, plan.interval_ms, plan.warmup_ms, plan.capacity
    );
    match part {
        Part::Balanced => format!("Every lane puts a value in, then takes one out, over and over. {how}"),
        Part::Split => format!("Whole waves are producers or consumers. {how}"),
        Part::Blocks => format!("The balanced workload in blocks of other sizes. {how}"),
        Part::Bfs => format!(
            "Level-synchronous search from vertex 0 with two queues that alternate, one launch for all levels, beside two \
             baselines without queues: append, an array to which waves append, and direction, the same with large \
             levels searched from below. Milliseconds of device time, median of {} interleaved rounds; the levels of \
             every run were compared with a serial search's.",
            plan.rounds
        ),
        Part::Rays => format!(
            "All engines on the paper's two scenes, one sample a pixel, in {} interleaved rounds of {} pictures; every \
             film was compared, bit for bit. `paper` sends each ray through a tile's queue as the paper does, \
             `adaptive` only what a wave cannot keep. Relative to {BASELINE} of the same run, ray generation included.",
            plan.rounds, plan.frames
        ),
        Part::Costs => format!(
            "Counters over successful operations, in launches of a fixed number of them: {} values of each lane, fewer \
             for slow queues.",
            plan.turns
        ),
    }
}

/// Series over x: a table and a figure a group.
fn curves(
    part: Part,
    data: &Data,
    quantity: &str,
    x: &str,
    head: &Head,
) -> Result<(Vec<Table>, Vec<Figure>)> {
    let (mut tables, mut figures) = (vec![], vec![]);
    for group in data.groups() {
        tables.push(pivot(data, group, quantity, x));
        let series = data.series(group).into_iter().map(|name| Series {
            name: name.into(),
            points: data.curve(group, name, quantity).into_iter().filter(|p| p.1 > 0.0).collect(),
            ceiling: name == "faa-ceiling",
        });
        let title = format!("{group}, on {}", head.device.name);
        let y = match quantity {
            MOPS => "successful operations, millions a second".into(),
            _ => quantity.into(),
        };
        let plot = Plot { title, x: x.into(), y, series: series.collect() };
        let drawn = plot.svg().map_err(|why| Error::output(format!("the figure of {group}"), why))?;
        if let Some(svg) = drawn {
            let id = format!("{}-{}", part.id(), slug(group));
            figures.push(Figure { id, caption: format!("{group}: {quantity} over {x}"), svg });
        }
    }
    Ok((tables, figures))
}

/// A row a series, a column an x.
fn pivot(data: &Data, group: &str, quantity: &str, x: &str) -> Table {
    let here = || data.points.iter().filter(|p| p.group == group && p.quantity == quantity);
    let mut places: Vec<f64> = here().map(|p| p.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let row = |name: &str| {
        let cell = |place: &f64| here().find(|p| p.series == name && p.x == *place);
        let cells = places.iter().map(|place| cell(place).map_or(String::new(), |p| digits(p.y.median)));
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    Table {
        caption: format!("{group}: {quantity} by {x}"),
        head: std::iter::once(String::new()).chain(places.iter().map(f64::to_string)).collect(),
        rows: data.series(group).into_iter().map(row).collect(),
    }
}

fn rays_tables(data: &Data) -> Vec<Table> {
    let of = |group: &str| {
        let find = |series: &str, quantity: &str| {
            data.points.iter().find(|p| p.group == group && p.series == series && p.quantity == quantity)
        };
        let base = find(BASELINE, MRAYS).map(|p| p.y.median);
        let row = |name: &str| {
            let all = find(name, MRAYS).map(|p| p.y);
            let trace = find(name, MRAYS_TRACE).map(|p| p.y.median);
            let over = |value: Option<f64>| match (value, base) {
                (Some(value), Some(base)) if base > 0.0 => format!("{:.2}", value / base),
                _ => String::new(),
            };
            vec![
                name.to_owned(),
                all.map_or(String::new(), |y| digits(y.median)),
                all.map_or(String::new(), |y| format!("{} .. {}", digits(y.min), digits(y.max))),
                trace.map_or(String::new(), digits),
                over(all.map(|y| y.median)),
                over(trace),
            ]
        };
        let head = ["", MRAYS, "min .. max", "trace only", "relative", "trace only, relative"];
        Table {
            caption: format!("{group}: MRays/s, and relative to {BASELINE} with ray generation"),
            head: head.map(str::to_owned).to_vec(),
            rows: data.series(group).into_iter().map(row).collect(),
        }
    };
    data.groups().into_iter().map(of).collect()
}

fn rays_figures(data: &Data) -> Result<Vec<Figure>> {
    let of = |group: &str| {
        let value = |name: &str| data.last(group, name, MRAYS).map(|p| p.1);
        let base = value(BASELINE).filter(|base| *base > 0.0)?;
        let bar = |name: &str| Some(Bar::of(name, value(name)? / base));
        let bars = data.series(group).into_iter().filter_map(bar).collect();
        let title = format!("{group}: throughput relative to {BASELINE}");
        Some(bar_figure(format!("rays-{}", slug(group)), title, bars, Some(1.0)))
    };
    data.groups().into_iter().filter_map(of).collect()
}

fn bar_figure(id: String, title: String, bars: Vec<Bar>, mark: Option<f64>) -> Result<Figure> {
    let chart = Bars { title: title.clone(), unit: None, bars, mark, far: true };
    let svg = chart.svg().map_err(|why| Error::output(format!("the figure {id}"), why))?;
    Ok(Figure { id, caption: title, svg })
}

fn costs_tables(data: &Data) -> Vec<Table> {
    let of = |group: &str| {
        let quantities = data.quantities(group);
        let row = |name: &str| {
            let cells = quantities
                .iter()
                .map(|quantity| data.last(group, name, quantity).map_or(String::new(), |p| digits(p.1)));
            std::iter::once(name.to_owned()).chain(cells).collect()
        };
        Table {
            caption: format!("{group}: costs of a successful operation"),
            head: std::iter::once(String::new()).chain(quantities.iter().map(|q| (*q).into())).collect(),
            rows: data.series(group).into_iter().map(row).collect(),
        }
    };
    data.groups().into_iter().map(of).collect()
}

fn costs_figures(data: &Data) -> Result<Vec<Figure>> {
    let mut figures = vec![];
    for group in data.groups() {
        for quantity in ["WAIT/op", "VALU/op", "cycles/op"] {
            let bar = |name: &str| Some(Bar::of(name, data.last(group, name, quantity)?.1));
            let bars: Vec<_> = data.series(group).into_iter().filter_map(bar).collect();
            if bars.is_empty() {
                continue;
            }
            let title = format!("{quantity}, {group}");
            figures.push(bar_figure(format!("costs-{}", slug(&title)), title, bars, None)?);
        }
    }
    Ok(figures)
}

/// Letters and digits for a file's name.
fn slug(text: &str) -> String {
    let kept = text
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect::<String>();
    kept.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Three digits or more.
pub(super) fn digits(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_cell_for_each_point_and_none_for_what_was_not_measured() {
        let mut data = Data::default();
        data.push_one("balanced", "glfq", MOPS, 512.0, 470.2);
        data.push_one("balanced", "glfq", MOPS, 1024.0, 953.0);
        data.push_one("balanced", "sfq", MOPS, 1024.0, 3.61);
        let table = pivot(&data, "balanced", MOPS, "lanes");
        assert_eq!(table.head, ["", "512", "1024"]);
        assert_eq!(table.rows, [["glfq", "470", "953"], ["sfq", "", "3.61"]]);
    }

    #[test]
    fn engines_are_compared_with_compaction_of_the_same_scene() {
        let mut data = Data::default();
        for (scene, base) in [("a", 100.0), ("b", 10.0)] {
            data.push_one(scene, BASELINE, MRAYS, 0.0, base);
            data.push_one(scene, "tile-queue paper glfq", MRAYS, 0.0, 150.0);
            data.push_one(scene, "tile-queue paper glfq", MRAYS_TRACE, 0.0, 180.0);
        }
        let tables = rays_tables(&data);
        assert_eq!(tables[0].rows[1][4..], ["1.50", "1.80"]);
        assert_eq!(tables[1].rows[1][4..], ["15.00", "18.00"]);
        assert!(rays_figures(&data).expect("drawn")[1].svg.contains("15.0"));
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(slug("25% producers"), "25-producers");
        assert_eq!(slug("WAIT/op, balanced, 4096 lanes"), "wait-op-balanced-4096-lanes");
    }
}
