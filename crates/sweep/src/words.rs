//! Policies, estimators and governors, as they are written.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use evenkeel_estimate::Model;
use evenkeel_files::factors::parse_model;
use evenkeel_policy::graph;
use evenkeel_sim::{Estimator, Governor};

/// The policy of the operating system where a graph policy is named alone: one worker for each
/// core, which stays there.
const BESIDE_GRAPHS: &str = "pinned";
/// The greatest file of a model.
const MOST_MODEL_BYTES: u64 = 64 << 20;

/// A policy with its knobs: `acfs:uf=1.2,swap=400`, `heft`, `gts+heft`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// As it is called, without knobs.
    pub name: String,
    /// The policy of the operating system.
    pub system: String,
    /// The policy by which workers choose tasks of graphs.
    pub graph: Option<&'static str>,
    /// Knobs, and their values.
    pub set: Vec<(String, String)>,
}

impl Policy {
    /// One policy.
    ///
    /// # Errors
    /// What would do instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, knobs) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
        let mut set = Vec::new();
        for knob in knobs.into_iter().flat_map(|knobs| knobs.split(',')) {
            let pair = knob.split_once('=').filter(|(a, b)| !a.is_empty() && !b.is_empty());
            let (knob, value) =
                pair.ok_or_else(|| format!("'{text}' found, expected POLICY:KNOB=VALUE"))?;
            set.push((knob.trim().to_owned(), value.trim().to_owned()));
        }
        let name = name.trim().to_ascii_lowercase();
        let (system, graph) = parts(&name);
        Ok(Self { system: system.to_owned(), graph, name, set })
    }
}

/// What a name stands for: a policy of the operating system, and one for task graphs.
fn parts(name: &str) -> (&str, Option<&'static str>) {
    if let Some(entry) = graph::find(name) {
        return (BESIDE_GRAPHS, Some(entry.name));
    }
    let both =
        name.rsplit_once('+').and_then(|(system, tasks)| Some((system, graph::find(tasks)?)));
    both.map_or((name, None), |(system, entry)| (system, Some(entry.name)))
}

/// `oracle`, `offline`, `sampled`, `modelled=0.1`, or the file of a model.
///
/// # Errors
/// What would do instead.
pub fn estimator(text: &str) -> Result<Estimator, String> {
    const EXPECTED: &str = "expected oracle, offline, sampled, modelled=ERROR with a relative \
                            error of 0 or more, as modelled=0.1, or the file of a model \
                            (`evenkeel train`)";
    match text {
        "oracle" => Ok(Estimator::Oracle),
        "offline" => Ok(Estimator::Offline),
        "sampled" => Ok(Estimator::Sampled),
        _ => {
            let error = text.strip_prefix("modelled=").and_then(|error| error.parse::<f64>().ok());
            match error {
                Some(error) if error.is_finite() && error >= 0.0 => {
                    Ok(Estimator::Modelled { error })
                }
                // A file, there or not.
                _ if text.contains('/') || text.ends_with(".json") || Path::new(text).exists() => {
                    model(text).map(Estimator::Trained)
                }
                _ => Err(EXPECTED.into()),
            }
        }
    }
}

/// The model in a file.
///
/// # Errors
/// It cannot be read, or is not one.
pub fn model(path: &str) -> Result<Arc<Model>, String> {
    let unread = |error: std::io::Error| format!("{path}: {error}");
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unread)?;
    file.take(MOST_MODEL_BYTES + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > MOST_MODEL_BYTES {
        return Err(format!("{path}: more than {} MiB found", MOST_MODEL_BYTES >> 20));
    }
    parse_model(&bytes, path).map(Arc::new).map_err(|error| error.to_string())
}

/// `performance`, `schedutil`, `fixed=800` (MHz).
///
/// # Errors
/// What would do instead.
pub fn governor(text: &str) -> Result<Governor, String> {
    match text {
        "performance" => Ok(Governor::Performance),
        "schedutil" => Ok(Governor::Schedutil),
        _ => {
            let mhz = text.strip_prefix("fixed=").and_then(|mhz| mhz.parse::<f64>().ok());
            match mhz {
                Some(mhz) if mhz > 0.0 && mhz < 1e9 => {
                    Ok(Governor::Fixed { khz: (mhz * 1e3).round() as u64 })
                }
                _ => Err("expected performance, schedutil or fixed=MHZ, as fixed=800".into()),
            }
        }
    }
}
