//! "Age Based Scheduling for Asymmetric Multiprocessors": Lakshminarayana, Lee and Kim, SC 2009.

mod agreement;
mod alternatives;
mod idle;
mod machines;
mod measure;
mod programs;
mod schedulers;
mod symmetric;
mod table;

use crate::{Experiment, Study};

/// The study of age-based scheduling.
pub const STUDY: Study = Study {
    name: "age-based",
    title: "Age Based Scheduling for Asymmetric Multiprocessors",
    source: "SC 2009",
    about: "whether parallel programs end sooner where the thread with the longest way to its next \
            milestone has the fast core",
    experiments: &[
        Experiment {
            number: 1,
            title: "All fast, half and half, all slow",
            setting: "Eight fast cores, four fast and four slow ones, eight slow ones, clocks 8:1 \
                      (amp-8f, amp-4f4s, amp-8s), under lin, which knows nothing of cores, \
                      and age. Execution time of each program, all-fast under lin = 1. Programs \
                      are generated from the study's counts (sc09-*): 12 of PARSEC, 13 others \
                      for their asymmetry; what is assumed of them is in docs/simulate/workloads.md. Means \
                      are geometric. Time slice, balance and reassignment: 10 ms. \
                      --quick: eight of the programs.",
            carry_out: symmetric::carry_out,
        },
        Experiment {
            number: 2,
            title: "Execution time against scaled-load",
            setting: "amp-1f7s: one fast core and seven slow ones, clocks 8:1. Execution time \
                      under lin, rr, fca-age and age over that under scaled-load. age predicts \
                      equal distances \
                      for all threads; age profile has them in the ratios that a run at a tenth of \
                      the size has shown (same seed, so the same ratios of lengths: a good \
                      profile); age oracle knows the true ones. symmetric, asymmetric: the degree \
                      of symmetry assumed is 0.05 or 0.5 (x264: 0). The second table has \
                      a program of one's own, a billion instructions by eight workers, at other \
                      degrees; the third the programs with short rounds between barriers as they \
                      would be if context switches \
                      and migrations cost nothing (elsewhere 2 us, and 10 us within a cluster, 30 \
                      us between two). --quick: eight of the programs.",
            carry_out: schedulers::carry_out,
        },
        Experiment {
            number: 3,
            title: "Idle cycles per core",
            setting: "amp-1f7s, whose core 0 is the fast one. Cycles of a core at its own clock \
                      without a thread on it until the program ends. --quick: eight of the \
                      programs.",
            carry_out: idle::carry_out,
        },
        Experiment {
            number: 4,
            title: "Assignments that agree with the oracle's",
            setting: "amp-1f7s. Whenever age assigns (a thread starts, a core goes idle, every 10 \
                      ms), each runnable thread has a kind of core; so it would if the true \
                      distances were known. \
                      They agree where the kind is the same, or the true distance is within 5 % of \
                      that of some thread for which the oracle has that kind: then it makes no \
                      difference. Of what is on the fast core, too: most threads have a slow core \
                      either way. --quick: eight of the programs.",
            carry_out: agreement::carry_out,
        },
        Experiment {
            number: 5,
            title: "Longest or shortest first; idle or fast idle core at wake-up",
            setting: "amp-1f7s. age (longest first, age-sw-age) = 1; order=shortest gives fast \
                      cores to the shortest; age-iw-age wakes a thread on its previous core if \
                      that idles, else on \
                      an idle one of its kind, else on any, where sw looks for a fast one first. \
                      --quick: eight of the programs.",
            carry_out: alternatives::orders,
        },
        Experiment {
            number: 6,
            title: "Barriers and joins, or critical sections, too, as milestones",
            setting: "amp-1f7s. age with milestones=bt (barriers, joins, ends) = 1, and bcjt (also \
                      the ends of critical sections), for programs with locks. Locks come evenly \
                      along a \
                      thread's way, one in sixteen is shared (assumed). --quick: eight of the \
                      programs.",
            carry_out: alternatives::milestones,
        },
        Experiment {
            number: 7,
            title: "One, two and four fast cores, clocks 2:1, 4:1 and 8:1",
            setting: "amp-1f7s, amp-2f6s and amp-4f4s, each at 8:1, 4:1 (-4) and 2:1 (-2). Mean \
                      execution time over that under scaled-load on the same machine. Means are \
                      geometric. \
                      --quick: eight of the programs.",
            carry_out: machines::carry_out,
        },
    ],
};
