//! The nine apps by name.

use crate::app::App;
use crate::blackscholes::Blackscholes;
use crate::bodytrack::Bodytrack;
use crate::canneal::Canneal;
use crate::dedup::Dedup;
use crate::facesim::Facesim;
use crate::ferret::Ferret;
use crate::fluidanimate::Fluidanimate;
use crate::run::{phases, stages};
use crate::setting::Version;
use crate::streamcluster::Streamcluster;
use crate::swaptions::Swaptions;

const PHASES: &[Version] =
    &[Version::Serial, Version::Pinned, Version::LoopStatic, Version::LoopDynamic, Version::Tasks];
const STAGES: &[Version] = &[Version::Serial, Version::Pinned, Version::Tasks];

/// All of them, in the order of their names.
pub const APPS: &[App] = &[
    App {
        name: "blackscholes",
        about: "prices of options by the formula of Black and Scholes",
        shape: "100 runs, each of equal blocks and a barrier",
        versions: PHASES,
        run: phases::<Blackscholes>,
    },
    App {
        name: "bodytrack",
        about: "a walking figure followed through a film by a particle filter",
        shape: "per frame two filters in tickets of rows, five layers in tickets of particles, \
                serial parts between",
        versions: PHASES,
        run: phases::<Bodytrack>,
    },
    App {
        name: "canneal",
        about: "placement of a chip's elements by simulated annealing",
        shape: "lock-free swaps, a barrier per temperature step, memory-bound",
        versions: PHASES,
        run: phases::<Canneal>,
    },
    App {
        name: "dedup",
        about: "a stream packed so that what comes again is written once",
        shape: "a pipeline of five stages, the first and the last serial",
        versions: STAGES,
        run: stages::<Dedup>,
    },
    App {
        name: "facesim",
        about: "a beam of finite elements that muscle fibres bend, by conjugate gradients",
        shape: "four phases per iteration, each with a barrier",
        versions: PHASES,
        run: phases::<Facesim>,
    },
    App {
        name: "ferret",
        about: "the most similar pictures of a collection",
        shape: "a pipeline of six stages, the first and the last serial",
        versions: STAGES,
        run: stages::<Ferret>,
    },
    App {
        name: "fluidanimate",
        about: "a breaking dam by smoothed-particle hydrodynamics",
        shape: "ten phases per frame, each with a barrier, and borders between slabs",
        versions: PHASES,
        run: phases::<Fluidanimate>,
    },
    App {
        name: "streamcluster",
        about: "clusters of a stream of points",
        shape: "nine short phases per gain computation, each with a barrier",
        versions: PHASES,
        run: phases::<Streamcluster>,
    },
    App {
        name: "swaptions",
        about: "prices of swaptions by Monte Carlo simulation of the forward curve",
        shape: "equal blocks, a single join",
        versions: PHASES,
        run: phases::<Swaptions>,
    },
];

/// The app of this name.
pub fn find(name: &str) -> Option<&'static App> {
    APPS.iter().find(|app| app.name == name)
}
