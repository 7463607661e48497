//! The picture in ARCHITECTURE.md, as Graphviz reads it: crates with their arrows, and the way of a
//! thread from file to record.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::all_of;

/// Small crates that the picture leaves out.
const LEFT_OUT: [&str; 2] = ["evenkeel-hot-paths", "evenkeel-perfetto"];

/// The purpose of each crate, in a few words.
const WORDS: &[(&str, &str)] = &[
    ("evenkeel", "the command line"),
    ("evenkeel-apps", "nine mini-apps"),
    ("evenkeel-capi", "C and C++"),
    ("evenkeel-estimate", "speedup factors\\nfrom counters"),
    ("evenkeel-files", "machine files,\\nworkload readers, programs"),
    ("evenkeel-linux", "threads of a live Linux:\\naffinity, sched_ext"),
    ("evenkeel-machine", "kinds, cores, power;\\nfinds this machine"),
    ("evenkeel-mechanism", "what mechanisms share"),
    ("evenkeel-metrics", "from a run to numbers"),
    ("evenkeel-model", "threads, phases, task graphs"),
    ("evenkeel-openmp", "OpenMP programs,\\nas they are"),
    ("evenkeel-policy", "the contract,\\none file a policy"),
    ("evenkeel-python", "the package for Python"),
    ("evenkeel-report", "tables, pages, traces"),
    ("evenkeel-runtime", "tasks and loops"),
    ("evenkeel-sim", "the simulator"),
    ("evenkeel-studies", "published experiments"),
    ("evenkeel-sweep", "grids of runs"),
    ("evenkeel-vm", "the hybrid VM lab"),
];

/// Mechanisms carry policies out.
const MECHANISMS: [&str; 3] = ["evenkeel-linux", "evenkeel-runtime", "evenkeel-sim"];

/// From a file to a record: crates, and what goes from each to the next.
const WAY: &[(&str, &str, &str)] = &[
    ("evenkeel-files", "evenkeel-sim", "1  Application"),
    ("evenkeel-sim", "evenkeel-policy", "2  events, View"),
    ("evenkeel-policy", "evenkeel-sim", "3  directives"),
    ("evenkeel-sim", "evenkeel-metrics", "4  Outcome"),
    ("evenkeel-metrics", "evenkeel-report", "5  Record"),
];

/// The arrows without those that follow from others.
fn direct<'a>(
    arrows: &'a BTreeMap<String, BTreeSet<String>>,
    of: &'a str,
) -> impl Iterator<Item = &'a String> {
    let needed = &arrows[of];
    needed.iter().filter(move |&it| {
        !needed.iter().any(|other| other != it && all_of(arrows, other).contains(it))
    })
}

/// The picture's source.
pub fn of(arrows: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut out = String::from(
        "// Made by: EVENKEEL_UPDATE=1 cargo test -p evenkeel --test structure\n\
         digraph {\n\
         \x20   rankdir = BT; nodesep = 0.25; ranksep = 0.55; bgcolor = white;\n\
         \x20   node [shape = box, style = \"rounded,filled\", fillcolor = white, color = gray50, \
         fontname = \"sans-serif\", fontsize = 11];\n\
         \x20   edge [color = gray60, arrowsize = 0.6, fontname = \"sans-serif\", fontsize = \
         10];\n",
    );
    for (name, words) in WORDS {
        let short = name.strip_prefix("evenkeel-").unwrap_or("cli");
        let fill = if MECHANISMS.contains(name) { ", fillcolor = \"#dcebf7\"" } else { "" };
        let _ = writeln!(out, "    \"{name}\" [label = \"{short}\\n{words}\"{fill}];");
    }
    let shown = |name: &str| WORDS.iter().any(|(known, _)| *known == name);
    for name in arrows.keys() {
        assert!(shown(name) || LEFT_OUT.contains(&name.as_str()), "{name} is not in the picture");
    }
    for of in arrows.keys().filter(|name| shown(name)) {
        for to in direct(arrows, of).filter(|name| shown(name)) {
            let _ = writeln!(out, "    \"{of}\" -> \"{to}\";");
        }
    }
    for (from, to, what) in WAY {
        let look =
            "color = \"#c2410c\", fontcolor = \"#c2410c\", penwidth = 1.6, constraint = false";
        let _ = writeln!(out, "    \"{from}\" -> \"{to}\" [label = \"{what}\", {look}];");
    }
    out.push_str("}\n");
    out
}
