//! The paper's study on one's own device: every part measured in the paper's order, beside what was published, with
//! a sentence for each claim that says whether it holds here.
//!
//! A part is measured (`measure`) into [`Data`]: points, each a quantity of a series at some place. What is said
//! of a part ([`section`]) and whether the paper's claims hold ([`claims`]) follows from its points alone, by rules
//! that are written beside them; [`html`] and [`markdown`] give it form. Data are kept as files, whole or not at
//! all, with a key of everything that they depend on; a later run takes what it finds under the same key.

pub mod claims;
pub mod data;
pub mod html;
pub mod markdown;
mod measure;
pub mod published;
pub mod section;

pub use data::{Data, Point};

use crate::device::{Device, DeviceInfo};
use crate::error::{Error, Result};
use crate::film::Output;
use crate::profile::Wish;
use crate::queue::QueueKind;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Parts of the study, in the paper's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Throughput where each lane puts in and takes out.
    Balanced,
    /// Throughput where lanes do one of the two.
    Split,
    /// Throughput by block size.
    Blocks,
    /// Breadth-first search.
    Bfs,
    /// Rays, relative to stream compaction.
    Rays,
    /// Costs of each operation.
    Costs,
}

impl Part {
    /// All of them.
    pub const ALL: [Part; 6] =
        [Part::Balanced, Part::Split, Part::Blocks, Part::Bfs, Part::Rays, Part::Costs];

    /// Short name, also of its files.
    pub fn id(self) -> &'static str {
        match self {
            Part::Balanced => "balanced",
            Part::Split => "split",
            Part::Blocks => "blocks",
            Part::Bfs => "bfs",
            Part::Rays => "rays",
            Part::Costs => "costs",
        }
    }

    /// Heading.
    pub fn title(self) -> &'static str {
        match self {
            Part::Balanced => "Balanced throughput",
            Part::Split => "Producers and consumers apart",
            Part::Blocks => "Block size",
            Part::Bfs => "Breadth-first search",
            Part::Rays => "Ray tracing, relative to stream compaction",
            Part::Costs => "Costs of an operation",
        }
    }
}

/// How much is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Queues of the micro-benchmarks.
    pub queues: Vec<QueueKind>,
    /// Numbers of lanes; those that the device does not hold at once are left out.
    pub lanes: Vec<u32>,
    /// Percentages of producers in splits.
    pub producers: Vec<u32>,
    /// Lanes of a block but in the sweep of it.
    pub block: u32,
    /// Lanes of a block in the sweep.
    pub blocks: Vec<u32>,
    /// Values that a queue holds at least.
    pub capacity: u64,
    /// Milliseconds at the start of each launch that do not count.
    pub warmup_ms: u64,
    /// Milliseconds of each launch that count.
    pub interval_ms: u64,
    /// Launches for each figure of a queue.
    pub runs: u32,
    /// Graphs, as `rayq bfs` takes them; searches start at vertex 0.
    pub graphs: Vec<String>,
    /// Numbers of lanes of searches; none: as many as the device holds.
    pub bfs_lanes: Vec<Option<u32>>,
    /// Sizes of the pictures in pixels.
    pub sizes: Vec<(u32, u32)>,
    /// Queues of the tracer.
    pub tile_queues: Vec<QueueKind>,
    /// Interleaved rounds of all engines.
    pub rounds: u32,
    /// Pictures for each figure.
    pub frames: u32,
    /// Numbers of lanes whose costs are counted.
    pub cost_lanes: Vec<u32>,
    /// Values that each producer puts in while costs are counted.
    pub turns: u32,
}

impl Plan {
    /// The paper's plan on a GPU, or with `quick` a coarser one of a few minutes. On the CPU, where a lane is a thread,
    /// sizes that show little but that everything works.
    pub fn of(device: &dyn Device, quick: bool) -> Plan {
        let owned = |graphs: &[&str]| graphs.iter().map(|g| (*g).to_owned()).collect::<Vec<_>>();
        let wide = Plan {
            queues: QueueKind::ALL.to_vec(),
            lanes: (9..=15).map(|p| 1 << p).collect(),
            producers: vec![25, 50, 75],
            block: 256,
            blocks: vec![64, 128, 256, 512],
            capacity: 65536,
            warmup_ms: if quick { 5 } else { 20 },
            interval_ms: if quick { 20 } else { 100 },
            runs: if quick { 3 } else { 5 },
            graphs: if quick {
                owned(&["rmat:scale=18,degree=16", "grid:512x512"])
            } else {
                owned(&["rmat:scale=20,degree=16", "grid:1024x1024", "star:20", "path:14"])
            },
            bfs_lanes: if quick {
                vec![Some(1 << 9), Some(1 << 11), Some(1 << 13), None]
            } else {
                (9..=13).map(|p| Some(1 << p)).chain([None]).collect()
            },
            sizes: if quick { vec![(1280, 720)] } else { vec![(1280, 720), (3840, 2160)] },
            tile_queues: QueueKind::TILE_QUEUES.to_vec(),
            rounds: if quick { 3 } else { 5 },
            frames: if quick { 5 } else { 10 },
            cost_lanes: vec![1 << 12, 1 << 15],
            turns: 64,
        };
        if device.is_wide() {
            return wide;
        }
        Plan {
            lanes: if quick { vec![1, 2] } else { vec![1, 2, 4] },
            blocks: vec![],
            graphs: owned(if quick {
                &["rmat:scale=9,degree=8", "grid:24x24"]
            } else {
                &["rmat:scale=14,degree=16", "grid:128x128"]
            }),
            bfs_lanes: vec![None],
            capacity: 1024,
            warmup_ms: 1,
            interval_ms: if quick { 4 } else { 20 },
            sizes: vec![if quick { (96, 54) } else { (640, 360) }],
            frames: 1,
            cost_lanes: vec![4],
            turns: 1024,
            ..wide
        }
    }
}

/// Who measured, where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Version of rayq.
    pub version: String,
    /// Commit that it was built from.
    pub commit: String,
    /// The device.
    pub device: DeviceInfo,
    /// How much was measured.
    pub plan: Plan,
}

impl Head {
    /// This program on this device.
    pub fn here(device: &DeviceInfo, plan: Plan) -> Head {
        let (version, commit) = (env!("CARGO_PKG_VERSION").into(), env!("RAYQ_COMMIT").into());
        Head { version, commit, device: device.clone(), plan }
    }
}

/// A part's file.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Grows when the meaning of what follows changes.
    schema_version: u32,
    part: Part,
    head: Head,
    /// Whether the figures were to come from a profiler.
    profiler: String,
    data: Data,
}

const SCHEMA_VERSION: u32 = 1;

/// A study in the making: its folder, and what it depends on.
pub struct Study {
    folder: PathBuf,
    head: Head,
    wish: Wish,
    device: Arc<dyn Device>,
}

impl Study {
    /// A study that reports to `folder`, which is made if it is missing.
    ///
    /// # Errors
    /// [`Error::Output`] if the folder cannot be made.
    pub fn new(device: &Arc<dyn Device>, folder: &Path, plan: Plan, wish: Wish) -> Result<Study> {
        for folder in [folder.to_owned(), folder.join("data"), folder.join("figures")] {
            std::fs::create_dir_all(&folder).map_err(|e| Error::output(folder, e))?;
        }
        let head = Head::here(device.info(), plan);
        Ok(Study { folder: folder.to_owned(), head, wish, device: device.clone() })
    }

    /// Measures what is missing, part by part, and writes the report anew after each. `tell` hears what is going on,
    /// `stop` is asked between two measurements.
    ///
    /// # Errors
    /// The device's and the output's; what `stop` says. Finished parts are kept.
    pub fn run(&self, tell: &dyn Fn(&str), stop: &dyn Fn() -> Result<()>) -> Result<()> {
        let mut done: Vec<(Part, Data)> = vec![];
        for (number, part) in Part::ALL.into_iter().enumerate() {
            let title = format!("{} of {}: {}", number + 1, Part::ALL.len(), part.title());
            let data = match self.find(part) {
                Some(data) => {
                    tell(&format!("{title}: kept from before"));
                    data
                }
                None => {
                    tell(&title);
                    let data = measure::measure(part, &self.device, &self.head.plan, &self.wish, stop)?;
                    self.keep(part, &data)?;
                    data
                }
            };
            done.push((part, data));
            self.write(&done)?;
        }
        Ok(())
    }

    fn file(&self, part: Part, ending: &str) -> PathBuf {
        self.folder.join("data").join(format!("{}.{ending}", part.id()))
    }

    fn profiler(&self) -> String {
        format!("{:?}", self.wish)
    }

    /// The part's data, if they were measured by this program on this device with this plan.
    fn find(&self, part: Part) -> Option<Data> {
        let kept: Kept = serde_json::from_slice(&std::fs::read(self.file(part, "json")).ok()?).ok()?;
        let same = kept.schema_version == SCHEMA_VERSION
            && kept.part == part
            && kept.head == self.head
            && kept.profiler == self.profiler();
        same.then_some(kept.data)
    }

    fn keep(&self, part: Part, data: &Data) -> Result<()> {
        Output::prepare(&self.file(part, "csv"))?.write(data.csv().as_bytes())?;
        let (head, profiler) = (self.head.clone(), self.profiler());
        let kept = Kept { schema_version: SCHEMA_VERSION, part, head, profiler, data: data.clone() };
        let text = serde_json::to_string_pretty(&kept).expect("plain data") + "\n";
        Output::prepare(&self.file(part, "json"))?.write(text.as_bytes())
    }

    fn write(&self, parts: &[(Part, Data)]) -> Result<()> {
        let sections = section::sections(&self.head, parts)?;
        for figure in sections.iter().flat_map(|section| &section.figures) {
            let file = self.folder.join("figures").join(format!("{}.svg", figure.id));
            Output::prepare(&file)?.write(figure.svg.as_bytes())?;
        }
        Output::prepare(&self.folder.join("report.md"))?
            .write(markdown::page(&self.head, &sections).as_bytes())?;
        Output::prepare(&self.folder.join("report.html"))?.write(html::page(&self.head, &sections).as_bytes())
    }
}
