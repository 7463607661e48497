//! The study's programs, as they are generated from its counts.

/// Which part of its tables a program is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Of PARSEC, symmetric.
    Symmetric,
    /// Of PARSEC, asymmetric: assumed for these four.
    Asymmetric,
    /// Not of PARSEC: chosen for its asymmetry.
    Other,
}

impl Class {
    pub(super) const ALL: [Self; 3] = [Self::Symmetric, Self::Asymmetric, Self::Other];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Symmetric => "PARSEC, symmetric",
            Self::Asymmetric => "PARSEC, asymmetric",
            Self::Other => "other asymmetric",
        }
    }
}

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Its name in the study.
    pub(super) name: &'static str,
    pub(super) class: Class,
    /// True if it is in a quick look.
    quick: bool,
}

const fn program(name: &'static str, class: Class, quick: bool) -> Program {
    Program { name, class, quick }
}

/// In the order of the study's table. For a quick look programs of all classes that simulate fast.
const PROGRAMS: [Program; 25] = [
    program("blackscholes", Class::Symmetric, true),
    program("bodytrack", Class::Symmetric, true),
    program("canneal", Class::Symmetric, false),
    program("dedup", Class::Asymmetric, true),
    program("facesim", Class::Symmetric, false),
    program("ferret", Class::Asymmetric, false),
    program("fluidanimate", Class::Symmetric, false),
    program("freqmine", Class::Asymmetric, true),
    program("streamcluster", Class::Symmetric, false),
    program("swaptions", Class::Symmetric, true),
    program("vips", Class::Asymmetric, false),
    program("x264", Class::Symmetric, false),
    program("c_fft", Class::Other, false),
    program("c_fft6", Class::Other, false),
    program("c_qsort", Class::Other, true),
    program("cg20.cua", Class::Other, false),
    program("g4.rua", Class::Other, true),
    program("g5.rua", Class::Other, false),
    program("barnes", Class::Other, false),
    program("cholesky", Class::Other, false),
    program("fmm", Class::Other, false),
    program("lu_contiguous", Class::Other, false),
    program("lu_non_contiguous", Class::Other, false),
    program("radiosity", Class::Other, false),
    program("raytrace", Class::Other, true),
];

/// Programs with more than a thousand barrier entries: their rounds are shorter than the time
/// between two balances.
const MANY_ROUNDS: [&str; 3] = ["bodytrack", "fluidanimate", "streamcluster"];

impl Program {
    /// Its name among the built-in workloads.
    pub(super) fn workload(self) -> String {
        format!("sc09-{}", self.name)
    }

    pub(super) fn has_short_rounds(self) -> bool {
        MANY_ROUNDS.contains(&self.name)
    }
}

/// The programs that an experiment runs.
pub(super) fn programs(quick: bool) -> Vec<Program> {
    PROGRAMS.into_iter().filter(|program| program.quick || !quick).collect()
}
