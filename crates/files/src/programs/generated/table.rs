//! The programs of the age-based study (SC 2009): what it counted, and what is assumed.
//!
//! Counted: instructions of the whole run, lock acquisitions, barrier entries of all threads
//! together, threads, thread groups; with eight workers. Assumed, and not fitted to results:
//!
//! - the degree of symmetry: [`ASYMMETRIC`] for dedup, ferret, freqmine and vips and for all
//!   programs that are not of PARSEC (the study has them for their asymmetry), 0 for x264 by
//!   definition (each of its threads is a group of its own), [`SYMMETRIC`] for the other seven;
//! - the main thread works along where eight threads are counted, and waits for its eight or more
//!   workers where more are;
//! - all workers run at once, but in streamcluster, which makes a new group for each of its passes,
//!   and x264, which makes a thread for each frame: there eight do;
//! - the serial part: [`SERIAL`] of the instructions; [`MOSTLY_SERIAL`] in canneal, whose parallel
//!   section is very short.

use super::row::{Main, Manner, Row};

/// Degree of symmetry of a program that counts as symmetric (0.1 or less): the middle of what
/// counts. Assumption.
const SYMMETRIC: f64 = 0.05;

/// Degree of symmetry of one that does not. Assumption: clearly more than 0.1, and such that in a
/// group of eight the longest thread is about twice as long as the mean.
const ASYMMETRIC: f64 = 0.5;

/// Share of the instructions that the main thread retires alone, before and after its workers.
/// Assumption.
pub(super) const SERIAL: f64 = 0.05;

/// The same of canneal. Assumption.
const MOSTLY_SERIAL: f64 = 0.9;

const EVEN: Manner =
    Manner { symmetry: SYMMETRIC, serial: SERIAL, main: Main::Waits, at_once: u32::MAX };
const UNEVEN: Manner = Manner { symmetry: ASYMMETRIC, ..EVEN };

/// [`EVEN`] and [`UNEVEN`] where the main thread is the eighth worker.
const EVEN_8: Manner = Manner { main: Main::Works, ..EVEN };
const UNEVEN_8: Manner = Manner { main: Main::Works, ..UNEVEN };

/// A program of the table.
pub(super) struct Listed {
    /// Name here: that of the study, behind `sc09-`.
    pub(super) name: &'static str,
    /// Suite, and what it is.
    pub(super) about: &'static str,
    pub(super) row: Row,
    pub(super) manner: Manner,
}

macro_rules! listed {
    ($($name:literal, $about:literal: $counts:expr, $manner:expr;)*) => {
        [$(Listed { name: concat!("sc09-", $name), about: $about, row: Row::new($counts), manner: $manner }),*]
    };
}

/// In the table's order; counts in that of its columns.
#[rustfmt::skip]
pub(super) static TABLE: [Listed; 25] = listed![
    "blackscholes", "PARSEC, option pricing": [152_352_819, 39, 8, 9, 2], EVEN;
    "bodytrack", "PARSEC, particle filter": [670_415_058, 40_465, 1_192, 9, 2], EVEN;
    "canneal", "PARSEC, simulated annealing": [292_696_036, 50, 0, 9, 2], Manner { serial: MOSTLY_SERIAL, ..EVEN };
    "dedup", "PARSEC, deduplication": [1_065_257_131, 26_640, 0, 25, 4], UNEVEN;
    "facesim", "PARSEC, face simulation": [12_261_654_384, 14_580, 0, 8, 2], EVEN_8;
    "ferret", "PARSEC, similarity search": [799_250_302, 7_367_532, 0, 35, 5], UNEVEN;
    "fluidanimate", "PARSEC, fluid dynamics": [570_968_537, 4_168_875, 31_998, 9, 2], EVEN;
    "freqmine", "PARSEC, frequent itemsets": [3_435_161_189, 3_083, 0, 8, 2], UNEVEN_8;
    "streamcluster", "PARSEC, clustering": [837_572_613, 311, 103_984, 17, 3], Manner { at_once: 8, ..EVEN };
    "swaptions", "PARSEC, Monte Carlo pricing": [503_683_305, 39, 0, 9, 2], EVEN;
    "vips", "PARSEC, image processing": [1_886_383_414, 14_876, 0, 11, 3], UNEVEN;
    "x264", "PARSEC, video encoding": [482_957_580, 3_973, 0, 64, 64], Manner { symmetry: 0.0, at_once: 8, ..EVEN };
    "c_fft", "OmpSCR, Fourier transform": [1_809_116_600, 17, 0, 8, 3], UNEVEN_8;
    "c_fft6", "OmpSCR, Fourier transform in six steps": [2_963_158_985, 17, 0, 8, 3], UNEVEN_8;
    "c_qsort", "OmpSCR, sorting": [1_040_129_080, 17, 0, 8, 4], UNEVEN_8;
    "cg20.cua", "SuperLU, a sparse matrix": [2_933_192_658, 25_568, 0, 9, 7], UNEVEN;
    "g4.rua", "SuperLU, a sparse matrix": [992_345_600, 5_559, 0, 9, 9], UNEVEN;
    "g5.rua", "SuperLU, a sparse matrix": [1_517_742_541, 28_830, 0, 9, 8], UNEVEN;
    "barnes", "SPLASH-2, bodies by octree": [8_309_648_058, 1_098_755, 136, 8, 5], UNEVEN_8;
    "cholesky", "SPLASH-2, sparse factorisation": [12_888_835_049, 22_049, 32, 8, 7], UNEVEN_8;
    "fmm", "SPLASH-2, bodies by multipoles": [9_758_572_445, 637_614, 272, 8, 6], UNEVEN_8;
    "lu_contiguous", "SPLASH-2, dense factorisation": [3_117_508, 25, 88, 8, 8], UNEVEN_8;
    "lu_non_contiguous", "SPLASH-2, dense factorisation": [2_263_332, 25, 88, 8, 7], UNEVEN_8;
    "radiosity", "SPLASH-2, light between \
                  surfaces": [4_362_156_729, 1_657_844, 128, 8, 5], UNEVEN_8;
    "raytrace", "SPLASH-2, rays through a scene": [100_535_964, 74_380, 8, 8, 6], UNEVEN_8;
];
