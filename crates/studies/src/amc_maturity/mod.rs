//! "On the Maturity of Parallel Applications for Asymmetric Multi-Core Processors": Chronaki et
//! al., Journal of Parallel and Distributed Computing, 2019.

mod growing;
mod ideal;
pub mod live;
mod measure;
mod parts;
mod shapes;

use crate::{Experiment, Study};

/// The study of the maturity of parallel applications.
pub const STUDY: Study = Study {
    name: "amc-maturity",
    title: "On the Maturity of Parallel Applications for Asymmetric Multi-Core Processors",
    source: "Journal of Parallel and Distributed Computing, 2019",
    about: "what nine parallel programs make of big and little cores, as they are, with a \
            scheduler that knows the cores, and as tasks",
    experiments: &[
        Experiment {
            number: 1,
            title: "Ideal speedup over one little core",
            setting: "The speedup that a program would have if all cores were busy to its end with \
                      work that can be divided at will: B x ratio + L on B \
                      big and L little cores, the ratio being the measured speed of the program on \
                      one big core (1.6 GHz) over one little (0.8 GHz). Nothing \
                      is simulated for the first table. The second sets the ratio beside what a \
                      simulated run on one core of each kind comes to: a \
                      check of the model, which is given the ratios. --quick: inputs of a tenth of \
                      the size, swaptions' whole.",
            carry_out: ideal::carry_out,
        },
        Experiment {
            number: 2,
            title: "Four cores of one kind, or two of each",
            setting: "odroid-xu3-paper, big cores at 1.6 GHz, little at 0.8 GHz, of which 0+4, 2+2 \
                      or 4+0 (big+little) are there; the rest of the machine \
                      draws nothing. pinned: the program's threads, one for each core in use \
                      (dedup and ferret: in each pool), bound to it. gts: the same threads under \
                      global task \
                      scheduling. tasks: the task version, a worker bound to each core, tasks \
                      taken first come, first served. Speedup is over the threads \
                      of the program on one little core. Energy and EDP (energy x time) are those \
                      of cores and clusters, without memory and \
                      board, and are normalised to pinned on four little cores. Means of ratios \
                      over programs are geometric, that of power is \
                      arithmetic. --quick: inputs of a tenth of the size, swaptions' whole.",
            carry_out: parts::carry_out,
        },
        Experiment {
            number: 3,
            title: "Four big cores and none to four little ones",
            setting: "As experiment 2, on 4+0, 4+1, 4+2, 4+3 and 4+4 (big+little). Energy and EDP \
                      are normalised to pinned on four little cores, too. \
                      Means of ratios over programs are geometric, that of power is arithmetic. \
                      --quick: inputs of a tenth of the size, swaptions' whole.",
            carry_out: growing::carry_out,
        },
        Experiment {
            number: 4,
            title: "Threads, loops and tasks",
            setting: "As experiment 3, for the four programs that there are as loops, too. \
                      loop-static: parallel loops in equal blocks, a barrier after \
                      each. loop-dynamic: parallel loops handed out in chunks as threads ask for \
                      them, a barrier after each. Their threads \
                      are bound to a core each. Means of ratios are geometric. --quick: inputs of \
                      a tenth of the size, swaptions' whole.",
            carry_out: shapes::carry_out,
        },
    ],
};

/// The machine, as it was set for the study.
const MACHINE: &str = "odroid-xu3-paper";

/// PARSEC as the study runs it.
const PROGRAMS: [&str; 9] = [
    "blackscholes",
    "bodytrack",
    "canneal",
    "dedup",
    "facesim",
    "ferret",
    "fluidanimate",
    "streamcluster",
    "swaptions",
];
