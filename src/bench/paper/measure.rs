//! Measuring the parts, by the same functions as the commands of their own.

use super::{Data, Part, Plan};
use crate::bench::bfs::{self, Subject};
use crate::bench::queue::{self, Case, Row, Workload, most_lanes};
use crate::bench::render::{self, Choice};
use crate::bfs::Settings as Searching;
use crate::device::{Device, select};
use crate::engine::Settings;
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::profile::work::QueueWork;
use crate::profile::{self, Wish, Work};
use crate::queue::{QueueKind, QueueOptions};
use crate::scene::{Format, Overrides, Scene};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The reference scenes: name, surface interactions, text.
pub const SCENES: [(&str, &str); 2] = [
    ("complex", include_str!("../../../scenes/complex.toml")),
    ("cornell", include_str!("../../../scenes/cornell.toml")),
];
/// Throughput of queues, and what it is measured in.
pub const MOPS: &str = "M ops/s";
/// Time of a search.
pub const MS: &str = "ms";
/// Throughput of engines, with ray generation and without.
pub const MRAYS: &str = "MRays/s";
/// The same without ray generation.
pub const MRAYS_TRACE: &str = "MRays/s, trace only";

/// Longest time of a profiler's pass over a queue.
const PASS: Duration = Duration::from_millis(20);

/// Measures a part.
pub(super) fn measure(
    part: Part,
    device: &Arc<dyn Device>,
    plan: &Plan,
    wish: &Wish,
    stop: &dyn Fn() -> Result<()>,
) -> Result<Data> {
    let start = Instant::now();
    let mut data = match part {
        Part::Balanced => throughput(device, plan, &[None], stop)?,
        Part::Split => {
            let shares: Vec<_> = plan.producers.iter().map(|&p| Some(p)).collect();
            throughput(device, plan, &shares, stop)?
        }
        Part::Blocks => blocks(device, plan, stop)?,
        Part::Bfs => searches(device, plan, stop)?,
        Part::Rays => rays(device, plan, stop)?,
        Part::Costs => costs(device, plan, wish, stop)?,
    };
    data.seconds = start.elapsed().as_secs_f64();
    Ok(data)
}

fn list<T: ToString>(all: &[T]) -> String {
    all.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

impl Plan {
    fn case(&self, queue: QueueKind, workload: Workload, block: u32) -> Case {
        Case {
            queue,
            outer: false,
            workload,
            block,
            capacity: self.capacity,
            options: QueueOptions::default(),
            counters: false,
            occupancy: false,
            items: None,
        }
    }

    fn timing(&self) -> queue::Plan {
        let ms = Duration::from_millis;
        queue::Plan { warmup: ms(self.warmup_ms), interval: ms(self.interval_ms), runs: self.runs }
    }

    fn queue_command(&self, device: &Arc<dyn Device>, rest: &str) -> String {
        format!(
            "rayq bench queue --device {} {rest} --capacity {} --warmup {} --interval {} --runs {}",
            device.info().id,
            self.capacity,
            self.warmup_ms,
            self.interval_ms,
            self.runs
        )
    }
}

/// One row, on a device with as many threads as lanes where a lane is a thread.
fn row(device: &Arc<dyn Device>, case: &Case, plan: &Plan, stop: &dyn Fn() -> Result<()>) -> Result<Row> {
    stop()?;
    let device = match device.is_wide() {
        true => device.clone(),
        false => select::open(&device.info().id, Some(case.workload.lanes() as usize))?,
    };
    queue::measure(&device, case, plan.timing(), stop)?.map_err(Error::Device)
}

/// Throughput over lanes; `None` stands for the balanced workload.
fn throughput(
    device: &Arc<dyn Device>,
    plan: &Plan,
    shares: &[Option<u32>],
    stop: &dyn Fn() -> Result<()>,
) -> Result<Data> {
    let (mut data, mut rows) = (Data::default(), vec![]);
    for &share in shares {
        for &queue in &plan.queues {
            for &lanes in &plan.lanes {
                let workload = match share {
                    None => Workload::Balanced { lanes },
                    Some(_) if lanes < 2 => continue,
                    Some(percent) => Workload::split(lanes, percent)?,
                };
                let case = plan.case(queue, workload, plan.block);
                if workload.check(queue).is_err() || device.is_wide() && most_lanes(device, &case)? < lanes {
                    continue;
                }
                let row = row(device, &case, plan, stop)?;
                let group = share.map_or("balanced".into(), |percent| format!("{percent}% producers"));
                data.push(&group, queue.name(), MOPS, f64::from(lanes), row.mops);
                rows.push(row);
            }
        }
    }
    let workload = match shares {
        [None] => "--workload balanced".into(),
        _ => format!("--workload split --producers {}", list(&plan.producers)),
    };
    let rest = format!("{workload} --lanes {} --block {}", list(&plan.lanes), plan.block);
    data.commands.push(plan.queue_command(device, &rest));
    data.raw = serde_json::to_value(rows).expect("plain data");
    Ok(data)
}

/// Balanced throughput by block size, at the largest number of lanes that a block size of each kind allows.
fn blocks(device: &Arc<dyn Device>, plan: &Plan, stop: &dyn Fn() -> Result<()>) -> Result<Data> {
    let (mut data, mut rows) = (Data::default(), vec![]);
    if plan.blocks.is_empty() {
        data.notes.push("A block of the CPU is one lane: there is nothing to vary.".into());
        return Ok(data);
    }
    let lanes = plan.lanes.last().copied().unwrap_or(512);
    for &queue in plan.queues.iter().filter(|q| **q != QueueKind::Sfq) {
        for &block in &plan.blocks {
            let case = plan.case(queue, Workload::Balanced { lanes }, block);
            if most_lanes(device, &case)? < lanes {
                continue;
            }
            let row = row(device, &case, plan, stop)?;
            data.push(&format!("{lanes} lanes"), queue.name(), MOPS, f64::from(block), row.mops);
            rows.push(row);
        }
    }
    let rest = format!("--workload balanced --lanes {lanes} --block {}", list(&plan.blocks));
    data.commands.push(plan.queue_command(device, &rest));
    data.raw = serde_json::to_value(rows).expect("plain data");
    Ok(data)
}

/// Every frontier on every graph, over lanes.
fn searches(device: &Arc<dyn Device>, plan: &Plan, stop: &dyn Fn() -> Result<()>) -> Result<Data> {
    let (mut data, mut raw) = (Data::default(), vec![]);
    for name in &plan.graphs {
        stop()?;
        let subject = Subject::new(name, Graph::load(name, false, false)?, 0);
        let mut scanned = vec![];
        for &lanes in &plan.bfs_lanes {
            let base = Searching { lanes, block: plan.block, ..Searching::default() };
            let contenders = bfs::every_engine(&base, &QueueKind::BFS_QUEUES);
            let rows = bfs::measure(device, &subject, &contenders, plan.rounds, stop, |_| ())?;
            for row in &rows {
                data.push(name, row.name, MS, f64::from(row.lanes), row.ms);
                if row.queue.is_some() {
                    scanned.push(row.scanned);
                }
            }
            scanned.dedup();
            raw.extend(rows);
        }
        let facts = subject.facts();
        data.notes.push(format!(
            "{name}: {} vertices, {} arcs (an undirected edge is two); the search reaches {} vertices in {} levels, and \
             every queue scanned {} arcs.",
            facts.vertices,
            facts.arcs,
            facts.visited,
            facts.depth + 1,
            list(&scanned)
        ));
    }
    let lanes: Vec<_> = plan.bfs_lanes.iter().map(|l| l.map_or("max".into(), |n| n.to_string())).collect();
    data.commands.push(format!(
        "rayq bench bfs --device {} {} --lanes {} --block {} --runs {}",
        device.info().id,
        plan.graphs.join(" "),
        list(&lanes),
        plan.block,
        plan.rounds
    ));
    data.raw = serde_json::to_value(raw).expect("plain data");
    Ok(data)
}

/// Every engine on both scenes.
fn rays(device: &Arc<dyn Device>, plan: &Plan, stop: &dyn Fn() -> Result<()>) -> Result<Data> {
    let (mut data, mut raw) = (Data::default(), vec![]);
    let base = Settings { slice: None, ..Settings::default() };
    let contenders = Choice::every(&plan.tile_queues).contenders(&base);
    for &(width, height) in &plan.sizes {
        for (name, text) in SCENES {
            stop()?;
            let size =
                Overrides { width: Some(width), height: Some(height), spp: Some(1), ..Overrides::default() };
            let scene = Scene::parse(text, Format::Toml, Path::new(name))?.with_overrides(&size)?;
            let timing = render::Plan { rounds: plan.rounds, frames: Some(plan.frames), effort: false };
            let (rows, end) = render::measure(device, &scene, &contenders, timing, stop, |_| ());
            end?;
            let group = format!("{name}, {width}x{height}");
            for row in &rows.rows {
                data.push(&group, &row.name, MRAYS, 0.0, row.mrays_per_s);
                data.push(&group, &row.name, MRAYS_TRACE, 0.0, row.mrays_per_s_trace);
            }
            raw.push(serde_json::json!({ "scene": name, "width": width, "height": height, "rows": rows.rows, "refused": rows.refused }));
        }
        data.commands.push(format!(
            "rayq bench render --device {} --sizes {width}x{height} --rounds {} --frames {} --queues {}",
            device.info().id,
            plan.rounds,
            plan.frames,
            list(&plan.tile_queues)
        ));
    }
    data.raw = raw.into();
    Ok(data)
}

/// Costs of queue operations, by the profiler or by the device's clock.
fn costs(device: &Arc<dyn Device>, plan: &Plan, wish: &Wish, stop: &dyn Fn() -> Result<()>) -> Result<Data> {
    let mut data = Data::default();
    let mut works = vec![];
    for &lanes in &plan.cost_lanes {
        for &queue in &plan.queues {
            stop()?;
            let case = plan.case(queue, Workload::Balanced { lanes }, plan.block);
            if device.is_wide() && most_lanes(device, &case)? < lanes {
                continue;
            }
            let (block, capacity, turns) = (plan.block, plan.capacity, plan.turns);
            let work = QueueWork { queue, producers: lanes, consumers: 0, block, capacity, turns };
            works.push(Work::Queue(work.fit(device, PASS)?));
        }
    }
    stop()?;
    let (measured, end) = profile::measure(device, wish, &works, &|| Ok(()), &|_, _| ());
    end?;
    for row in &measured.rows {
        let Work::Queue(work) = &row.work else { continue };
        let group = format!("balanced, {} lanes", work.lanes());
        let mut put =
            |quantity: &str, figure: f64| data.push_one(&group, work.queue.name(), quantity, 0.0, figure);
        if let Some(costs) = &row.costs {
            put("WAIT/op", costs.wait);
            put("VALU/op", costs.valu);
            put("atomics/op", costs.atomics);
            put("L2 B/op", costs.l2_bytes);
        }
        if let Some(clock) = &row.clock {
            put("cycles/op", clock.cycles);
            put("retries/op", clock.retries);
            put("spins/op", clock.spins);
            put("helps/op", clock.helps);
        }
        put("ns/op", row.ns);
    }
    data.notes.push(match (&measured.profiler, &measured.why_none) {
        (Some(profiler), _) => format!("Counted by {profiler}."),
        (None, why) => format!(
            "No counters of the hardware: {}. In their place, what the device's clock and the instrumented build tell.",
            why.as_deref().unwrap_or("no profiler")
        ),
    });
    data.notes.extend(measured.definitions.iter().map(|(column, meaning)| format!("{column}: {meaning}.")));
    let lanes = list(&plan.cost_lanes);
    data.commands.push(format!(
        "rayq profile queue --device {} --lanes {lanes} --capacity {} --turns {}",
        device.info().id,
        plan.capacity,
        plan.turns
    ));
    data.raw = serde_json::to_value(&measured).expect("plain data");
    Ok(data)
}
