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
    kernels: &["generate", "trace_append", "trace_flag", "scan_sums", "scatter"],
};
/// Tiles that each own a queue.
pub static TILE_QUEUE: Program = Program {
    name: "tile_queue",
    file: "engine/tile_queue.cpp",
    axes: &[&QUEUE, &INTEGRATOR],
    kernels: &["queue_initialise", "paper_generate", "paper_trace", "adaptive_trace"],
};
/// Rays of each pixel, counted.
pub static RAY_COUNT: Program = Program {
    name: "ray_count",
    file: "engine/ray_count.cpp",
    axes: &[&INTEGRATOR],
    kernels: &["ray_count"],
};
/// What each pixel's centre sees first.
pub static FIRST_HIT: Program = Program {
    name: "first_hit",
    file: "engine/first_hit.cpp",
    axes: &[&INTEGRATOR],
    kernels: &["first_hit"],
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

/// Every program.
pub static PROGRAMS: &[&Program] = &[
    &PROBE,
    &LIGHT_PROBE,
    &MEGAKERNEL,
    &COMPACTION,
    &TILE_QUEUE,
    &RAY_COUNT,
    &FIRST_HIT,
    &QUEUE_PROBE,
    &QUEUE_PROBE_OUTER,
    &QUEUE_BENCH,
    &QUEUE_BENCH_OUTER,
    &QUEUE_JUDGE,
    &QUEUE_JUDGE_OUTER,
];

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
