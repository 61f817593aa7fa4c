//! What `rayq bench render` tells: tables, CSV and plots of the same rows.

use super::report::Origin;
use crate::bench::Spread;
use crate::bench::bars::{Bar, Bars};
use crate::bench::limits::{Demand, Limits, Share};
use crate::bench::plot::{Plot, Series};
use crate::bench::render::{Plan, Refused, Row, Rows};
use crate::bench::sweep::Sweep;
use crate::device::DeviceInfo;
use crate::engine::{EngineKind, Policy};
use crate::error::Result;
use crate::scene::Scene;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// The JSON form.
#[derive(Clone, Serialize)]
pub(super) struct Report {
    pub schema_version: u32,
    #[serde(flatten)]
    pub origin: Origin,
    pub device: DeviceInfo,
    pub plan: Plan,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
    /// One for each picture.
    pub groups: Vec<Group>,
    /// The adaptive policy against the fastest of all, worst first.
    pub worst: Vec<Worst>,
}

/// A picture and its rows.
#[derive(Clone, Serialize)]
pub(super) struct Group {
    pub scene: String,
    /// The sweep's value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    pub width: u32,
    pub height: u32,
    pub spp: u32,
    pub max_depth: u32,
    pub spheres: usize,
    pub planes: usize,
    pub rows: Vec<Figures>,
    pub refused: Vec<Refused>,
}

/// A row, with what follows from it.
#[derive(Clone, Serialize)]
pub(super) struct Figures {
    #[serde(flatten)]
    pub row: Row,
    /// What the instrumented build counted, for each ray.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each_ray: Option<EachRay>,
    /// How near it comes to the limit that binds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_limit: Option<Share>,
    /// Device memory for each pixel: bytes of rays, and of queues or counts.
    pub payload_bytes_per_pixel: f64,
    pub scheduling_bytes_per_pixel: f64,
}

/// Counts for each ray.
#[derive(Clone, Copy, Serialize)]
pub(super) struct EachRay {
    /// Lanes of a wave that are active in a step, out of the wave's size.
    pub active_lanes: f64,
    pub queue_operations: f64,
    pub queue_misses: f64,
    pub atomics: f64,
    pub bytes: f64,
}

/// A contender of the adaptive policy against the fastest of all on its picture.
#[derive(Clone, Serialize)]
pub(super) struct Worst {
    pub scene: String,
    pub width: u32,
    pub height: u32,
    pub spp: u32,
    pub name: String,
    pub best: String,
    /// Its speed over that of the best.
    pub ratio: f64,
}

impl Group {
    /// Rows of `picture`, with what follows from them.
    pub fn new(scene: &str, value: Option<f64>, picture: &Scene, rows: Rows, report: &Report) -> Group {
        let image = picture.image;
        let pixels = f64::from(image.width) * f64::from(image.height);
        let demand = instructions(picture);
        let figures = |row: Row| {
            let each_ray = EachRay::of(&row);
            // What a ray asks of trees is not modelled.
            let limits = report.limits.filter(|_| picture.meshes.is_empty());
            let of_limit = limits.map(|limits| {
                let each = each_ray.unwrap_or_default();
                let demand =
                    Demand { bytes: each.bytes, instructions: demand, tickets: 0.0, swaps: each.atomics };
                limits.binding(row.mrays_per_s.median * 1e6, &demand)
            });
            Figures {
                each_ray,
                of_limit,
                payload_bytes_per_pixel: row.memory.payload as f64 / pixels,
                scheduling_bytes_per_pixel: row.memory.scheduling as f64 / pixels,
                row,
            }
        };
        Group {
            scene: scene.to_owned(),
            value,
            width: image.width,
            height: image.height,
            spp: image.spp,
            max_depth: image.max_depth,
            spheres: picture.spheres.len(),
            planes: picture.planes.len(),
            rows: rows.rows.into_iter().map(figures).collect(),
            refused: rows.refused,
        }
    }
}

impl Default for EachRay {
    fn default() -> Self {
        EachRay { active_lanes: 0.0, queue_operations: 0.0, queue_misses: 0.0, atomics: 0.0, bytes: 0.0 }
    }
}

impl EachRay {
    fn of(row: &Row) -> Option<EachRay> {
        let effort = row.effort?;
        let rays = row.rays.rays().max(1) as f64;
        let steps = (row.rays.primary + row.rays.bounce) as f64;
        Some(EachRay {
            active_lanes: steps / effort.wave_steps.max(1) as f64,
            queue_operations: effort.taken as f64 / rays,
            queue_misses: effort.missed as f64 / rays,
            atomics: effort.atomics as f64 / rays,
            bytes: effort.bytes as f64 / rays,
        })
    }
}

/// Instructions of a ray that take the place of a multiply-add, estimated: every sphere is tested in 7 and a
/// comparison, every plane in about 17, and what a hit costs besides is some 150.
fn instructions(scene: &Scene) -> f64 {
    8.0 * scene.spheres.len() as f64 + 17.0 * scene.planes.len() as f64 + 150.0
}

fn ratio(figure: Option<Spread>) -> String {
    figure.map_or("-".into(), |s| format!("{:.2}", s.median))
}

/// A picture's table for a terminal.
pub(super) fn text(group: &Group, report: &Report) -> String {
    let device = &report.device;
    let value = group.value.map_or(String::new(), |v| format!(" at {v}"));
    let film = group.rows.first().map_or("none", |f| &f.row.film_hash);
    let mut text = format!(
        "\n{}{value}, {}x{}, {} spp, on {} ({}); film {film}\n",
        group.scene, group.width, group.height, group.spp, device.id, device.name
    );
    if let Some(first) = group.rows.first() {
        let rays = first.row.rays;
        let _ = writeln!(
            text,
            "{} rays: {} primary, {} bounce, {} shadow; medians of {} rounds, bytes a pixel as rays + queues",
            rays.rays(),
            rays.primary,
            rays.bounce,
            rays.shadow,
            first.row.rounds
        );
    }
    let _ = write!(
        text,
        "{:28} {:>10} {:>19} {:>10} {:>9} {:>6} {:>6} {:>14}",
        "", "MRays/s", "min .. max", "trace only", "ms", "/comp", "/mega", "bytes/pixel"
    );
    if report.plan.effort {
        let _ =
            write!(text, " {:>6} {:>7} {:>7} {:>7} {:>7}", "lanes", "ops/ray", "misses", "atomics", "bytes");
    }
    text += if report.limits.is_some() { "  of limit\n" } else { "\n" };
    group.rows.iter().for_each(|figures| line(&mut text, figures));
    for refused in &group.refused {
        let _ = writeln!(text, "{:28} no figure: {}", refused.name, refused.why);
    }
    text
}

/// Millions of rays a second, as GPUs and as CPUs have them.
fn rate(mrays: f64) -> String {
    if mrays >= 100.0 { format!("{mrays:.0}") } else { format!("{mrays:.2}") }
}

fn line(text: &mut String, figures: &Figures) {
    let row = &figures.row;
    let range = format!("{} .. {}", rate(row.mrays_per_s.min), rate(row.mrays_per_s.max));
    let memory =
        format!("{:.1} + {:.1}", figures.payload_bytes_per_pixel, figures.scheduling_bytes_per_pixel);
    let _ = write!(
        text,
        "{:28} {:>10} {range:>19} {:>10} {:>9.4} {:>6} {:>6} {memory:>14}",
        row.name,
        rate(row.mrays_per_s.median),
        rate(row.mrays_per_s_trace.median),
        row.ms.median,
        ratio(row.over_compaction),
        ratio(row.over_megakernel)
    );
    if let Some(each) = figures.each_ray {
        let _ = write!(
            text,
            " {:>6.1} {:>7.3} {:>7.3} {:>7.3} {:>7.1}",
            each.active_lanes, each.queue_operations, each.queue_misses, each.atomics, each.bytes
        );
    }
    if let Some(share) = figures.of_limit {
        let _ = write!(text, "  {:.0}% of {}", 100.0 * share.share, share.of.name());
    }
    if let Some(over) = row.over_unsliced {
        let cost = 100.0 * (1.0 / over.median - 1.0);
        let _ = write!(text, "  {:.3} ms by the host's clock, {cost:+.1}% by slices", row.ms_wall.median);
    }
    text.push('\n');
}

/// Every contender of the adaptive policy against the fastest of its picture, worst first.
pub(super) fn worst(report: &Report) -> Vec<Worst> {
    let mut all = vec![];
    for group in &report.groups {
        let whole = || group.rows.iter().map(|f| &f.row).filter(|row| row.settings.slice.is_none());
        let Some(best) = whole().min_by(|a, b| a.ms.median.total_cmp(&b.ms.median)) else { continue };
        let adaptive = |row: &&Row| {
            row.settings.engine == EngineKind::TileQueue && row.settings.policy == Policy::Adaptive
        };
        all.extend(whole().filter(adaptive).map(|row| Worst {
            scene: group.scene.clone(),
            width: group.width,
            height: group.height,
            spp: group.spp,
            name: row.name.clone(),
            best: best.name.clone(),
            ratio: best.ms.median / row.ms.median,
        }));
    }
    all.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    all
}

/// The worst five of them for a terminal; nothing if there is but one picture.
pub(super) fn worst_text(report: &Report) -> String {
    if report.groups.len() < 2 || report.worst.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nThe adaptive policy over the best of all engines, worst first\n");
    for w in report.worst.iter().take(5) {
        let Worst { scene, width, height, spp, name, best, ratio } = w;
        let _ = writeln!(text, "{ratio:>6.3}  {scene}, {width}x{height}, {spp} spp: {name} against {best}");
    }
    text
}

/// The CSV form.
pub(super) fn csv(report: &Report) -> String {
    let mut text = String::from(
        "scene,value,width,height,spp,max_depth,spheres,planes,name,film_hash,primary,bounce,shadow,rounds,frames,\
         mrays_per_s,mrays_min,mrays_max,mrays_trace,ms,ms_generate,ms_wall,over_compaction,over_megakernel,\
         over_unsliced,payload_bytes_per_pixel,scheduling_bytes_per_pixel,active_lanes,queue_operations_per_ray,\
         queue_misses_per_ray,atomics_per_ray,bytes_per_ray,limit,share_of_limit\n",
    );
    for group in &report.groups {
        for figures in &group.rows {
            csv_line(&mut text, group, figures);
        }
    }
    text
}

fn csv_line(text: &mut String, group: &Group, figures: &Figures) {
    let row = &figures.row;
    let maybe = |figure: Option<f64>| figure.map_or(String::new(), |v| v.to_string());
    let over = |figure: Option<Spread>| maybe(figure.map(|s| s.median));
    let each = |pick: fn(&EachRay) -> f64| maybe(figures.each_ray.as_ref().map(pick));
    let fields = [
        quoted(&group.scene),
        maybe(group.value),
        group.width.to_string(),
        group.height.to_string(),
        group.spp.to_string(),
        group.max_depth.to_string(),
        group.spheres.to_string(),
        group.planes.to_string(),
        quoted(&row.name),
        row.film_hash.clone(),
        row.rays.primary.to_string(),
        row.rays.bounce.to_string(),
        row.rays.shadow.to_string(),
        row.rounds.to_string(),
        row.frames.to_string(),
        row.mrays_per_s.median.to_string(),
        row.mrays_per_s.min.to_string(),
        row.mrays_per_s.max.to_string(),
        row.mrays_per_s_trace.median.to_string(),
        row.ms.median.to_string(),
        row.ms_generate.median.to_string(),
        row.ms_wall.median.to_string(),
        over(row.over_compaction),
        over(row.over_megakernel),
        over(row.over_unsliced),
        figures.payload_bytes_per_pixel.to_string(),
        figures.scheduling_bytes_per_pixel.to_string(),
        each(|e| e.active_lanes),
        each(|e| e.queue_operations),
        each(|e| e.queue_misses),
        each(|e| e.atomics),
        each(|e| e.bytes),
        figures.of_limit.map_or(String::new(), |s| s.of.name().into()),
        maybe(figures.of_limit.map(|s| s.share)),
    ];
    *text += &fields.join(",");
    text.push('\n');
}

/// A CSV field, quoted where it must be.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

/// A curve plot for each scene of a sweep; else a bar plot for each picture.
pub(super) fn plots(folder: &Path, report: &Report) -> Result<()> {
    match report.sweep {
        Some(sweep) => curves(folder, report, sweep),
        None => report.groups.iter().try_for_each(|group| bars(folder, group, report)),
    }
}

/// A scene's name for files: its file's stem.
fn stem(scene: &str) -> String {
    let stem = Path::new(scene).file_stem().unwrap_or_default().to_string_lossy();
    stem.replace(' ', "-")
}

fn bars(folder: &Path, group: &Group, report: &Report) -> Result<()> {
    let bar = |figures: &Figures| Bar {
        name: figures.row.name.clone(),
        figure: figures.row.mrays_per_s,
        group: match (figures.row.settings.engine, figures.row.settings.policy) {
            (EngineKind::Megakernel, _) => 0,
            (EngineKind::Compaction, _) => 1,
            (EngineKind::TileQueue, Policy::Adaptive) => 2,
            (EngineKind::TileQueue, Policy::Paper) => 4,
        },
    };
    let Group { scene, width, height, spp, .. } = group;
    let plot = Bars {
        title: format!("{scene}, {width}x{height}, {spp} spp, {}", report.device.name),
        unit: Some("millions of rays a second, ray generation included".into()),
        bars: group.rows.iter().map(bar).collect(),
        mark: None,
        far: false,
    };
    plot.write(&folder.join(format!("speed-{}-{width}x{height}-{spp}spp", stem(scene))))
}

fn curves(folder: &Path, report: &Report, sweep: Sweep) -> Result<()> {
    // A plot is what has everything but the value in common.
    let key = |g: &Group| match sweep {
        Sweep::Size => format!("{}-{}spp", stem(&g.scene), g.spp),
        _ => format!("{}-{}x{}-{}spp", stem(&g.scene), g.width, g.height, g.spp),
    };
    let mut keys: Vec<_> = report.groups.iter().map(key).collect();
    keys.dedup();
    for wanted in keys {
        let groups: Vec<_> = report.groups.iter().filter(|g| key(g) == wanted).collect();
        let mut names: Vec<&str> = vec![];
        for figures in groups.iter().flat_map(|g| &g.rows) {
            if !names.contains(&figures.row.name.as_str()) {
                names.push(&figures.row.name);
            }
        }
        let point = |group: &&Group, name: &str| {
            let figures = group.rows.iter().find(|f| f.row.name == name)?;
            Some((group.value?, figures.row.mrays_per_s.median))
        };
        let series = names.iter().map(|&name| Series {
            name: name.to_owned(),
            points: groups.iter().filter_map(|g| point(g, name)).collect(),
            ceiling: false,
        });
        let plot = Plot {
            title: format!("{wanted}, {}", report.device.name),
            x: sweep.axis().into(),
            y: "millions of rays a second, ray generation included".into(),
            series: series.collect(),
        };
        plot.write(&folder.join(format!("sweep-{:?}-{wanted}", sweep).to_lowercase()))?;
    }
    Ok(())
}
