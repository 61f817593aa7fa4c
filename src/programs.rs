//! The kernel programs: which file, in which variants, with which entry points.
//!
//! The build script reads this table too, to compile every variant for the CPU; GPUs compile a variant when it
//! is first needed.

/// One way in which a program varies: the values exclude each other.
#[derive(Debug, PartialEq, Eq)]
pub struct Axis {
    /// Upper-case name; value `v` of axis `A` defines the macro `RQ_A_V` in the kernels.
    pub name: &'static str,
    /// Lower-case values.
    pub values: &'static [&'static str],
}

/// How light is carried: kernels/trace/integrator.h.
pub const INTEGRATOR: Axis = Axis { name: "INTEGRATOR", values: &["whitted", "shadowed", "path", "general"] };
/// The tile queue: one header a value under kernels/queue, see select.h.
pub const QUEUE: Axis = Axis { name: "QUEUE", values: &["glfq", "gwfq", "gwfq_ymc", "sfq"] };
/// Every queue, for programs that measure or judge them.
pub const EVERY_QUEUE: Axis = Axis {
    name: "QUEUE",
    values: &["glfq", "glfq_unbatched", "gwfq", "gwfq_ymc", "sfq", "sfq_waiting", "bwd", "faa"],
};

/// A source file with entry points.
#[derive(Debug)]
pub struct Program {
    /// Name, also the first part of each unit's name.
    pub name: &'static str,
    /// Path under kernels/.
    pub file: &'static str,
    /// In which ways it varies.
    pub axes: &'static [&'static Axis],
    /// Entry points.
    pub kernels: &'static [&'static str],
}

/// One lane per pixel, bounces in a loop.
pub static MEGAKERNEL: Program = Program {
    name: "megakernel",
    file: "engine/megakernel.cpp",
    axes: &[&INTEGRATOR],
    kernels: &["megakernel"],
};
/// Wavefront with double-buffered rays.
pub static COMPACTION: Program = Program {
    name: "compaction",
    file: "engine/compaction.cpp",
    axes: &[&INTEGRATOR],
    kernels: &["trace_append", "trace_flag", "scan_sums", "scatter"],
};
/// Tiles that each own a queue.
pub static TILE_QUEUE: Program = Program {
    name: "tile_queue",
    file: "engine/tile_queue.cpp",
    axes: &[&QUEUE, &INTEGRATOR],
    kernels: &[
        "queue_initialise",
        "paper_generate",
        "paper_trace",
        "adaptive_draw",
        "adaptive_slice",
        "adaptive_whole",
        "adaptive_park",
    ],
};
/// The instrumented build of the engines: kernels/platform/counted.h.
pub const COUNTED: Axis = Axis { name: "COUNTED", values: &["effort"] };
/// [`MEGAKERNEL`], counting.
pub static MEGAKERNEL_COUNTED: Program = Program {
    name: "megakernel_counted",
    file: MEGAKERNEL.file,
    axes: &[&COUNTED, &INTEGRATOR],
    kernels: MEGAKERNEL.kernels,
};
/// [`COMPACTION`], counting.
pub static COMPACTION_COUNTED: Program = Program {
    name: "compaction_counted",
    file: COMPACTION.file,
    axes: &[&COUNTED, &INTEGRATOR],
    kernels: COMPACTION.kernels,
};
/// [`TILE_QUEUE`], counting.
pub static TILE_QUEUE_COUNTED: Program = Program {
    name: "tile_queue_counted",
    file: TILE_QUEUE.file,
    axes: &[&COUNTED, &QUEUE, &INTEGRATOR],
    kernels: TILE_QUEUE.kernels,
};

/// Rays of each pixel, counted.
pub static RAY_COUNT: Program = Program {
    name: "ray_count",
    file: "engine/ray_count.cpp",
    axes: &[&INTEGRATOR],
    kernels: &["ray_count"],
};
/// A number that tells films apart.
pub static FILM_DIGEST: Program =
    Program { name: "film_digest", file: "engine/film_digest.cpp", axes: &[], kernels: &["film_digest"] };
/// What each pixel's centre sees first.
pub static FIRST_HIT: Program = Program {
    name: "first_hit",
    file: "engine/first_hit.cpp",
    axes: &[&INTEGRATOR],
    kernels: &["first_hit"],
};
/// The integrator for general scenes alone.
pub const GENERAL: Axis = Axis { name: "INTEGRATOR", values: &["general"] };
/// Given rays in general scenes: through the trees, the same with counts, and by testing everything.
pub static RAY_PROBE: Program = Program {
    name: "ray_probe",
    file: "probe/ray_probe.cpp",
    axes: &[&GENERAL],
    kernels: &["probe_rays", "probe_rays_counted", "probe_rays_everything"],
};
/// Scripted queue operations with a record of each, for the judges of histories.
pub static QUEUE_PROBE: Program = Program {
    name: "queue_probe",
    file: "bench/queue_probe.cpp",
    axes: &[&EVERY_QUEUE],
    kernels: &["probe_initialise", "probe"],
};

/// The rings of indices, of which two make a queue of payloads: kernels/queue/outer.h.
pub const INDEX_RINGS: Axis = Axis { name: "QUEUE", values: &["glfq", "glfq_unbatched", "gwfq"] };
/// The queue probe on queues of payloads, which can be full.
pub static QUEUE_PROBE_OUTER: Program = Program {
    name: "queue_probe_outer",
    file: "bench/queue_probe_outer.cpp",
    axes: &[&INDEX_RINGS],
    kernels: &["probe_initialise", "probe"],
};

/// The queues' micro-benchmarks: kernels/bench/workload.h.
pub static QUEUE_BENCH: Program = Program {
    name: "queue_bench",
    file: "bench/queue_bench.cpp",
    axes: &[&EVERY_QUEUE],
    kernels: &["bench_initialise", "bench_run", "bench_fixed", "bench_drain"],
};
/// The micro-benchmarks on queues of payloads.
pub static QUEUE_BENCH_OUTER: Program = Program {
    name: "queue_bench_outer",
    file: "bench/queue_bench_outer.cpp",
    axes: &[&INDEX_RINGS],
    kernels: QUEUE_BENCH.kernels,
};
/// The micro-benchmarks with counters, and launches that record histories.
pub static QUEUE_JUDGE: Program = Program {
    name: "queue_judge",
    file: "bench/queue_judge.cpp",
    axes: &[&EVERY_QUEUE],
    kernels: &[
        "bench_initialise",
        "bench_run",
        "bench_fixed",
        "bench_drain",
        "judge_run",
        "judge_drain",
        "judge_clock",
    ],
};
/// The same on queues of payloads.
pub static QUEUE_JUDGE_OUTER: Program = Program {
    name: "queue_judge_outer",
    file: "bench/queue_judge_outer.cpp",
    axes: &[&INDEX_RINGS],
    kernels: QUEUE_JUDGE.kernels,
};

/// The queues that a traversal can use for its frontiers.
pub const BFS_QUEUES: Axis =
    Axis { name: "QUEUE", values: &["glfq", "gwfq", "gwfq_ymc", "sfq", "sfq_waiting", "bwd"] };
/// Breadth-first search with two queues that alternate.
pub static BFS_QUEUE: Program = Program {
    name: "bfs_queue",
    file: "bfs/queue.cpp",
    axes: &[&BFS_QUEUES],
    kernels: &["bfs_initialise", "bfs_start", "bfs_run"],
};
/// Breadth-first search with an appended array, and levels from below.
pub static BFS_APPEND: Program = Program {
    name: "bfs_append",
    file: "bfs/append.cpp",
    axes: &[],
    kernels: &["bfs_start", "bfs_run", "bfs_pull", "bfs_gather"],
};

/// The platform's idioms one by one, for the tests of devices and compilers.
pub static PROBE: Program = Program {
    name: "probe",
    file: "probe/probe.cpp",
    axes: &[],
    kernels: &["probe_tickets", "probe_cas", "probe_arithmetic"],
};

/// What surfaces, textures and skies do, for the tests of light.
pub static LIGHT_PROBE: Program = Program {
    name: "light_probe",
    file: "probe/light_probe.cpp",
    axes: &[],
    kernels: &["probe_texture", "probe_albedo", "probe_sky", "probe_sky_sample"],
};

/// The platform's operations one by one, for checks of what compilers make of them.
pub static OPERATIONS: Program = Program {
    name: "operations",
    file: "probe/operations.cpp",
    axes: &[],
    kernels: &[
        "op_load_relaxed",
        "op_load_acquire",
        "op_store_relaxed",
        "op_store_release",
        "op_add_relaxed",
        "op_add_acquire",
        "op_add_release",
        "op_add_acq_rel",
        "op_or_acq_rel",
        "op_and_acq_rel",
        "op_max_acq_rel",
        "op_exchange_acq_rel",
        "op_cas_relaxed",
        "op_cas_acquire",
        "op_cas_release",
        "op_cas_acq_rel",
        "op_reduce_add",
        "op_reduce_or",
        "op_reduce_max",
        "op_fence_acquire",
        "op_fence_release",
        "op_fence_acq_rel",
        "op_fence_seq_cst",
        "op_plain_load",
        "op_plain_store",
        "op_publish_payload",
        "op_acquire_payload",
        "op_tickets",
    ],
};
/// Races that show what memory orders are worth on a device.
pub static LITMUS: Program =
    Program { name: "litmus", file: "probe/litmus.cpp", axes: &[], kernels: &["litmus"] };

/// What a device can do at most, a ceiling a kernel.
pub static LIMITS: Program = Program {
    name: "limits",
    file: "bench/limits.cpp",
    axes: &[],
    kernels: &[
        "limit_fill",
        "limit_copy",
        "limit_check_copy",
        "limit_fma",
        "limit_tickets",
        "limit_cas",
        "limit_cas_on_chip",
    ],
};

/// Every program that is for speed, or judged by the simulator.
pub static PROGRAMS: &[&Program] = &[
    &PROBE,
    &LIGHT_PROBE,
    &OPERATIONS,
    &LITMUS,
    &MEGAKERNEL,
    &COMPACTION,
    &TILE_QUEUE,
    &RAY_COUNT,
    &FILM_DIGEST,
    &LIMITS,
    &FIRST_HIT,
    &RAY_PROBE,
    &QUEUE_PROBE,
    &QUEUE_PROBE_OUTER,
    &QUEUE_BENCH,
    &QUEUE_BENCH_OUTER,
    &QUEUE_JUDGE,
    &QUEUE_JUDGE_OUTER,
    &BFS_QUEUE,
    &BFS_APPEND,
];

/// Programs whose speed is of no account: the CPU has one build of these for all processors, the simulator none.
pub static COUNTED_PROGRAMS: &[&Program] = &[&MEGAKERNEL_COUNTED, &COMPACTION_COUNTED, &TILE_QUEUE_COUNTED];

/// One variant of a program: what a compiler is given.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The program.
    pub program: &'static Program,
    /// One value for each axis, in the program's order.
    pub choice: Vec<&'static str>,
}

impl PartialEq for Unit {
    fn eq(&self, other: &Self) -> bool {
        self.program.name == other.program.name && self.choice == other.choice
    }
}
impl Eq for Unit {}
impl std::hash::Hash for Unit {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl Unit {
    /// `program`_`value`_`value`..., unique among all units and a C identifier.
    pub fn name(&self) -> String {
        std::iter::once(self.program.name).chain(self.choice.iter().copied()).collect::<Vec<_>>().join("_")
    }

    /// The macros that the kernels test, each to be defined as 1.
    pub fn defines(&self) -> Vec<String> {
        let one = |(axis, value): (&&Axis, &&str)| format!("RQ_{}_{}", axis.name, value.to_uppercase());
        self.program.axes.iter().zip(&self.choice).map(one).collect()
    }
}

impl Program {
    /// Every variant.
    pub fn units(&'static self) -> Vec<Unit> {
        let mut units = vec![Unit { program: self, choice: vec![] }];
        for axis in self.axes {
            units = units
                .iter()
                .flat_map(|u| {
                    axis.values.iter().map(|v| Unit {
                        program: self,
                        choice: u.choice.iter().copied().chain([*v]).collect(),
                    })
                })
                .collect();
        }
        units
    }

    /// The variant with the given value for each axis, in the program's order.
    ///
    /// # Panics
    /// If there is no such variant: values come from our own enums, never from the user.
    pub fn unit(&'static self, choice: &[&str]) -> Unit {
        let found = self.units().into_iter().find(|u| u.choice == choice);
        found.unwrap_or_else(|| panic!("program {} has no variant {choice:?}", self.name))
    }
}
