//! Policies with their knobs, as they are written.

use evenkeel_policy::graph;

/// A policy as asked for: `acfs`, `acfs:uf=1.5,period=50`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySpec {
    /// The text as given.
    pub label: String,
    /// Name.
    pub name: String,
    /// Knobs given with the policy.
    pub set: Vec<(String, String)>,
}

/// A list of policies. A comma separates policies as well as the knobs of one: a part with a `=`
/// and no `:` is a knob.
///
/// # Errors
/// An empty item, a knob before any policy.
pub fn policies(text: &str) -> Result<Vec<PolicySpec>, String> {
    let mut specs: Vec<PolicySpec> = Vec::new();
    for item in text.split(',').map(str::trim) {
        let (head, knob) = match item.split_once(':') {
            Some((name, knob)) => (Some(name), Some(knob)),
            None if item.contains('=') => (None, Some(item)),
            None => (Some(item), None),
        };
        if let Some(name) = head {
            if name.is_empty() || name.contains('=') {
                return Err(format!("expected POLICY or POLICY:KNOB=VALUE, found '{item}'"));
            }
            // All names are in lower case: a test of the registry checks this.
            let name = name.to_ascii_lowercase();
            specs.push(PolicySpec { label: name.clone(), name, set: Vec::new() });
        }
        let Some(knob) = knob else { continue };
        let spec = specs.last_mut().ok_or_else(|| format!("knob '{knob}' before any policy"))?;
        let pair =
            knob.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
        let (name, value) = pair
            .ok_or_else(|| format!("expected KNOB=VALUE after '{}:', found '{knob}'", spec.name))?;
        spec.label.push(if spec.set.is_empty() { ':' } else { ',' });
        spec.label.push_str(knob);
        spec.set.push((name.into(), value.into()));
    }
    Ok(specs)
}

/// One policy, with its knobs.
///
/// # Errors
/// As [`policies`], and more than one.
pub fn policy(text: &str) -> Result<PolicySpec, String> {
    let mut all = policies(text)?;
    match all.pop() {
        Some(one) if all.is_empty() => Ok(one),
        _ => Err(format!("expected one policy, found '{text}'")),
    }
}

/// The policy of the operating system where a graph policy is named alone: one worker for each
/// core, which stays there.
const BESIDE_GRAPHS: &str = "pinned";

/// What a name stands for: a policy of the operating system, and one for task graphs. `heft` is the
/// latter beside `pinned`, `gts+heft` names both.
#[must_use]
pub fn parts(name: &str) -> (&str, Option<&'static str>) {
    if let Some(entry) = graph::find(name) {
        return (BESIDE_GRAPHS, Some(entry.name));
    }
    let both =
        name.rsplit_once('+').and_then(|(system, tasks)| Some((system, graph::find(tasks)?)));
    both.map_or((name, None), |(system, entry)| (system, Some(entry.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_policies_keeps_knobs_with_theirs() {
        let specs = policies("acfs:uf=1.5,period=50,linux,acfs:uf=2").unwrap();
        let labels: Vec<_> = specs.iter().map(|spec| spec.label.as_str()).collect();
        assert_eq!(labels, ["acfs:uf=1.5,period=50", "linux", "acfs:uf=2"]);
        assert_eq!(specs[0].set.len(), 2);
        for bad in ["", "a,,b", "uf=1", ":uf=1", "acfs:uf", "acfs:=1", "acfs:uf="] {
            assert!(policies(bad).is_err(), "{bad}");
        }
    }
}
