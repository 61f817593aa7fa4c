//! Kernels that only the simulator compiles.

/// A compilation beyond those of `rayq::programs::PROGRAMS`.
#[derive(Debug)]
pub struct Extra {
    /// Name of the unit: a C identifier.
    pub unit: &'static str,
    /// Path under kernels/ of rayq or of the simulator.
    pub file: &'static str,
    /// Macros to define as 1.
    pub defines: &'static [&'static str],
    /// Entry points.
    pub kernels: &'static [&'static str],
}

/// Every extra unit.
pub static EXTRAS: &[Extra] =
    &[Extra { unit: "selftest", file: "selftest.cpp", defines: &[], kernels: &["selftest"] }];
