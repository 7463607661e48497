//! WfCommons' WfFormat, versions 1.3 to 1.6: executions of scientific workflows
//! (<https://github.com/wfcommons/WfFormat>; Coleman et al., Future Generation Computer Systems
//! 128, 2022).
//!
//! ```text
//! since 1.5  workflow.specification.tasks[]   id, parents[], children[], inputFiles[],
//!                                             outputFiles[]
//!            workflow.specification.files[]   id, sizeInBytes
//!            workflow.execution.tasks[]       id, runtimeInSeconds
//! before     workflow.tasks[]                 name, id, parents[], children[],
//!                                             runtimeInSeconds (1.3: runtime),
//!                                             files[] { name, link: input or output,
//!                                                       sizeInBytes (1.3: size) }
//! ```
//!
//! Parents are named by `name` before 1.5. The `size` of 1.3 is taken for bytes, as WfCommons' own
//! migration takes it, though the schema of 1.3 says KB.
//!
//! A task takes its `runtimeInSeconds`, whatever number of cores (`coreCount`) it had; an edge
//! hands over the files that the parent writes and the child reads. Parents and children state each
//! edge twice; stated once, it counts, too. Machines, memory, energy and commands are ignored.

use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::draft::{Draft, nanos};
use super::fault::{Fault, Place};
use crate::rtapp::has_object_member;
use crate::text::{cut, json_fault};

/// Values of `schemaVersion`: versions that specify and execute tasks apart, and older ones.
const VERSIONS: [&str; 2] = ["1.5", "1.6"];
const OLDER_VERSIONS: [&str; 2] = ["1.3", "1.4"];

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "schemaVersion")]
    schema_version: Option<String>,
}

#[derive(Deserialize)]
struct Instance {
    workflow: Workflow,
}

#[derive(Deserialize)]
struct Workflow {
    specification: Specification,
    execution: Execution,
}

#[derive(Deserialize)]
struct Specification {
    tasks: Vec<Specified>,
    #[serde(default)]
    files: Vec<DataFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Specified {
    id: String,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    children: Vec<String>,
    #[serde(default)]
    input_files: Vec<String>,
    #[serde(default)]
    output_files: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataFile {
    id: String,
    size_in_bytes: u64,
}

#[derive(Deserialize)]
struct Execution {
    tasks: Vec<Executed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Executed {
    id: String,
    runtime_in_seconds: f64,
    core_count: Option<f64>,
}

#[derive(Deserialize)]
struct OlderInstance {
    workflow: OlderWorkflow,
}

#[derive(Deserialize)]
struct OlderWorkflow {
    tasks: Vec<OlderTask>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OlderTask {
    name: String,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    children: Vec<String>,
    #[serde(default)]
    files: Vec<OlderFile>,
    // Files of either version have either name, and some have both.
    runtime_in_seconds: Option<f64>,
    runtime: Option<f64>,
    cores: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OlderFile {
    name: String,
    link: Link,
    size_in_bytes: Option<u64>,
    size: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Link {
    Input,
    Output,
}

/// The keys under which tasks are specified and under which their times stand.
struct Paths {
    specified: &'static str,
    executed: &'static str,
}

const PATHS: Paths =
    Paths { specified: "workflow.specification.tasks", executed: "workflow.execution.tasks" };
const OLDER_PATHS: Paths = Paths { specified: "workflow.tasks", executed: "workflow.tasks" };

/// Splits an older version's tasks into specification and execution, as WfCommons' own migration
/// does.
fn apart(older: OlderWorkflow) -> Result<Workflow, Fault> {
    let mut specification = Specification { tasks: Vec::new(), files: Vec::new() };
    let mut execution = Execution { tasks: Vec::new() };
    let mut sized = HashSet::new();
    for (index, task) in older.tasks.into_iter().enumerate() {
        let runtime_in_seconds = task.runtime_in_seconds.or(task.runtime).ok_or_else(|| {
            Fault::of(format!(
                "{}[{index}]: neither 'runtimeInSeconds' nor 'runtime' found",
                OLDER_PATHS.executed
            ))
        })?;
        let linked = |link| {
            task.files
                .iter()
                .filter(move |file| file.link == link)
                .map(|file| file.name.clone())
                .collect()
        };
        let (input_files, output_files) = (linked(Link::Input), linked(Link::Output));
        execution.tasks.push(Executed {
            id: task.name.clone(),
            runtime_in_seconds,
            core_count: task.cores,
        });
        specification.tasks.push(Specified {
            id: task.name,
            parents: task.parents,
            children: task.children,
            input_files,
            output_files,
        });
        for file in task.files {
            let size_in_bytes = file.size_in_bytes.or(file.size).unwrap_or(0);
            if sized.insert(file.name.clone()) {
                specification.files.push(DataFile { id: file.name, size_in_bytes });
            }
        }
    }
    Ok(Workflow { specification, execution })
}

/// True if a text is an object with a member `workflow` that is an object.
pub fn looks_like(text: &str) -> bool {
    has_object_member(text, "workflow")
}

/// Reads a file.
///
/// # Errors
/// The first fault: with line and column where the JSON is at fault, with the path of the key where
/// its content is.
pub fn read(text: &str) -> Result<Draft, Fault> {
    let syntax = |error: serde_json::Error| {
        let (line, column, what) = json_fault(&error);
        Place::new(line, column).error(what)
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let head: Head = serde_json::from_str(text).map_err(syntax)?;
    // The version is checked first: a file of another version has its parts elsewhere.
    let (paths, workflow) = match head.schema_version.as_deref() {
        Some(version) if VERSIONS.contains(&version) => {
            (PATHS, serde_json::from_str::<Instance>(text).map_err(syntax)?.workflow)
        }
        Some(version) if OLDER_VERSIONS.contains(&version) => (
            OLDER_PATHS,
            apart(serde_json::from_str::<OlderInstance>(text).map_err(syntax)?.workflow)?,
        ),
        found => {
            let found = found.map_or("nothing".to_owned(), |found| format!("'{}'", cut(found)));
            return Err(Fault::of(format!(
                "schemaVersion: {found} found, expected 1.3, 1.4, 1.5 or 1.6"
            )));
        }
    };
    let Workflow { specification, execution } = workflow;
    let mut times: HashMap<&str, u64> = HashMap::with_capacity(execution.tasks.len());
    for (index, task) in execution.tasks.iter().enumerate() {
        let place = format!("{}[{index}]", paths.executed);
        let time = nanos(task.runtime_in_seconds, 1e9).ok_or_else(|| {
            Fault::of(format!(
                "{place}.runtimeInSeconds: {} found, expected 0 to 1e9",
                cut(&task.runtime_in_seconds.to_string())
            ))
        })?;
        if times.insert(&task.id, time).is_some() {
            return Err(Fault::of(format!("{place}.id: '{}' found twice", cut(&task.id))));
        }
    }
    let mut draft = tasks(&specification, &times, &paths)?;
    if execution.tasks.iter().any(|task| task.core_count.is_some_and(|cores| cores > 1.0)) {
        draft.notes.push(
            "WfFormat: a task that had several cores (coreCount) has one here, for as long"
                .to_owned(),
        );
    }
    edges(&specification, &mut draft, &paths)?;
    Ok(draft)
}

fn tasks(
    specification: &Specification,
    times: &HashMap<&str, u64>,
    paths: &Paths,
) -> Result<Draft, Fault> {
    let mut draft = Draft { volumes: !specification.files.is_empty(), ..Draft::default() };
    for (index, task) in specification.tasks.iter().enumerate() {
        let time = times.get(task.id.as_str()).ok_or_else(|| {
            Fault::of(format!(
                "{}[{index}].id: '{}' found, expected one of {}",
                paths.specified,
                cut(&task.id),
                paths.executed
            ))
        })?;
        draft.tasks.push((task.id.clone(), *time));
    }
    Ok(draft)
}

fn edges(specification: &Specification, draft: &mut Draft, paths: &Paths) -> Result<(), Fault> {
    let mut numbers: HashMap<&str, usize> = HashMap::with_capacity(specification.tasks.len());
    for (index, task) in specification.tasks.iter().enumerate() {
        if numbers.insert(&task.id, index).is_some() {
            let what = format!("{}[{index}].id: '{}' found twice", paths.specified, cut(&task.id));
            return Err(Fault::of(what));
        }
    }
    let sizes: HashMap<&str, u64> =
        specification.files.iter().map(|it| (it.id.as_str(), it.size_in_bytes)).collect();
    let number = |index: usize, key: &str, place: usize, id: &str| {
        numbers.get(id).copied().ok_or_else(|| {
            let key = format!("{}[{index}].{key}[{place}]", paths.specified);
            Fault::of(format!("{key}: '{}' found, expected the id of a task", cut(id)))
        })
    };
    let mut edges = Vec::new();
    for (index, task) in specification.tasks.iter().enumerate() {
        for (place, parent) in task.parents.iter().enumerate() {
            edges.push((number(index, "parents", place, parent)?, index));
        }
        for (place, child) in task.children.iter().enumerate() {
            edges.push((index, number(index, "children", place, child)?));
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let mut volumes: HashMap<(usize, usize), u64> = edges.iter().map(|&edge| (edge, 0)).collect();
    let mut makers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, task) in specification.tasks.iter().enumerate() {
        let files: HashSet<&str> = task.output_files.iter().map(String::as_str).collect();
        files.into_iter().for_each(|file| makers.entry(file).or_default().push(index));
    }
    for (index, task) in specification.tasks.iter().enumerate() {
        let files: HashSet<&str> = task.input_files.iter().map(String::as_str).collect();
        for file in files {
            let size = sizes.get(file).copied().unwrap_or(0);
            for &maker in makers.get(file).into_iter().flatten() {
                if let Some(bytes) = volumes.get_mut(&(maker, index)) {
                    *bytes = bytes.saturating_add(size);
                }
            }
        }
    }
    draft.edges = edges.into_iter().map(|edge| (edge.0, edge.1, volumes[&edge])).collect();
    Ok(())
}
