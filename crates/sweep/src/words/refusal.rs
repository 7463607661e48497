//! Why things do not go together, in the same sentence for grids, the command line and Python.

/// A policy for the tasks of a graph, where no workload has one.
#[must_use]
pub fn no_task_graph(policy: &str, graph: &str, workloads: &[String]) -> String {
    format!(
        "policy {policy}: {graph} chooses among the tasks of a graph, and {} has none; expected a \
         task graph (WfFormat, STG or DOT, or a program as blackscholes:tasks) or a policy for \
         threads, as gts",
        workloads.join(" + ")
    )
}

/// Characters are asked for, and a machine does not say how its cores are built.
#[must_use]
pub fn no_microarchitecture(machine: &str) -> String {
    format!(
        "machine {machine}: not all kinds say how they are built ([kinds.core]), by which \
         characters are chosen; evenkeel show machine NAME tells which do"
    )
}
