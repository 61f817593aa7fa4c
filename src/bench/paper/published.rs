//! What was published: the paper's own statements, and figures of its public artifact.
//!
//! The paper's text has no tables of throughput. Its authors' program (gosLp/gpu-concurrent-queue, MIT licence) comes
//! with CSV files of its runs on AMD's MI210 and MI300A; the figures here are medians of their rows with successful
//! operations, two runs for most.

use super::Part;
use super::section::Table;

/// Where the figures come from, for below a table.
pub const SOURCE: &str =
    "Published: medians over the CSV files of the paper's public artifact, gosLp/gpu-concurrent-queue.";

/// A published table.
struct Published {
    part: Part,
    caption: &'static str,
    head: &'static [&'static str],
    rows: &'static [&'static [&'static str]],
}

const TABLES: &[Published] = &[
    Published {
        part: Part::Balanced,
        caption: "Published: successful M ops/s at the peak over 2^9 .. 2^15 lanes (lanes of the peak)",
        head: &["", "G-LFQ", "G-WFQ", "SFQ", "BQ"],
        rows: &[
            &["MI210", "9894 (32768)", "3402 (16384)", "1522 (32768)", ""],
            &["MI300A", "1033 (16384)", "764 (16384)", "182", "99"],
        ],
    },
    Published {
        part: Part::Split,
        caption: "Published: successful M ops/s at the peak, by share of producers (lanes of the peak)",
        head: &["", "25%", "50%", "75%"],
        rows: &[
            &["MI210 G-LFQ", "471 (16384)", "7389 (32768)", "477 (16384)"],
            &["MI210 G-WFQ", "594 (16384)", "2418 (16384)", "595 (16384)"],
            &["MI210 SFQ", "0.6", "0.9", "0.7"],
            &["MI300A G-LFQ", "38", "937 (8192)", "40"],
            &["MI300A G-WFQ", "42", "683 (8192)", "38"],
            &["MI300A SFQ", "0.3", "0.3", "0.4"],
            &["MI300A BQ", "70", "103", "80"],
        ],
    },
    Published {
        part: Part::Bfs,
        caption: "Published: the best time in ms over 2^9 .. 2^13 lanes (other graphs than those above; Gunrock's times are \
                  not among the artifact's files, docs/gunrock.md tells how to measure them)",
        head: &["", "G-LFQ", "G-WFQ", "G-WFQ-YMC", "SFQ"],
        rows: &[
            &["MI210, road_usa", "462", "538", "1229", "11828"],
            &["MI300A, road_usa", "849", "452", "699", "39031"],
            &["MI210, hollywood", "12.9", "19.0", "80.7", "554"],
            &["MI210, kron_g500-logn21", "11.9", "17.5", "68.7", "1127"],
        ],
    },
    Published {
        part: Part::Rays,
        caption: "Published: MRays/s at 1280x720 with tiles of 160x90, the best over 512 .. 8192 lanes a tile; queues \
                  without ray generation, compaction with it",
        head: &["", "G-LFQ", "G-WFQ", "BQ", "compaction", "G-LFQ / compaction"],
        rows: &[
            &["MI210, Complex, 2 bounces", "2219", "1130", "2578", "989 .. 1135", "1.96 .. 2.24"],
            &["MI210, Cornell, 4 bounces", "3129", "1357", "", "1657 .. 1832", "1.71 .. 1.89"],
            &["MI300A, Complex, 2 bounces", "1198", "1102", "679", "1084 .. 1186", "1.01 .. 1.11"],
            &["MI300A, Cornell, 4 bounces", "1365", "1095", "", "2702", "0.51"],
        ],
    },
];

/// The published tables of a part.
pub fn tables(part: Part) -> Vec<Table> {
    let owned = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let table = |p: &Published| Table {
        caption: p.caption.into(),
        head: owned(p.head),
        rows: p.rows.iter().map(|row| owned(row)).collect(),
    };
    TABLES.iter().filter(|p| p.part == part).map(table).collect()
}
