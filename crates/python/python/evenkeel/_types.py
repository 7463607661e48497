"""Types that have no other place: what arguments may be, and what dictionaries hold.

Only type checkers read this module. schema/result.schema.json says what each member means.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol, TypedDict, Union

from ._evenkeel import Machine, Policy, Workload
from .prototype import Prototype


class BuiltInCode(Protocol):
    """A workload that is built in code, as `App`: it gives the text of a workload file."""

    def __evenkeel__(self) -> str: ...


Path = Union[str, "os.PathLike[str]"]
AnyMachine = Union[Path, Machine]
OneWorkload = Union[Path, Workload, BuiltInCode]
#: The members of a list run together.
AnyWorkload = Union[OneWorkload, Sequence[OneWorkload]]
AnyPolicy = Union[str, Policy, Prototype]
#: Seconds, or text as "200ms".
Time = Union[float, str]
#: None where there is none. Type checkers let both pass, as with figures of a `Run`.
Figure = Union[float, Any]


class Settings(TypedDict, total=False):
    """Settings of runs beside machine, workload, policy and seed: see `simulate`."""

    size: float | None
    workers: int | None
    cores: str | None
    free_costs: bool
    estimator: str | None
    governor: str | None
    duration: Time | None
    decision_latency: Time | None
    link: str | None
    characters: bool


class CompareSettings(Settings, total=False):
    """Settings of `compare` beside machine, workloads and policies."""

    seeds: int
    seed: int
    jobs: int | None


class KindOfMachine(TypedDict):
    """A kind of core of a machine. Capacity is of 1024, the highest clock in kHz."""

    name: str
    capacity: int
    cores: int
    max_khz: int


class KnobOfWorkload(TypedDict):
    """A knob of a workload that is built in."""

    name: str
    default: str
    about: str


class WorkloadInfo(TypedDict):
    """A workload that is built in."""

    name: str
    summary: str
    source: str
    shapes: list[str]
    knobs: list[KnobOfWorkload]


class _KnobOfPolicy(TypedDict):
    name: str
    default: float | Any
    about: str


class KnobOfPolicy(_KnobOfPolicy, total=False):
    """A knob of a policy: a number with unit and bounds, or one of some words.

    The default is of the same type: type checkers let both pass.
    """

    unit: str
    bounds: list[float]
    words: list[str]


class PolicyInfo(TypedDict):
    """A policy that is built in. Its level is "threads", or "tasks" of graphs."""

    name: str
    summary: str
    source: str
    level: str
    knobs: list[KnobOfPolicy]


class ExperimentInfo(TypedDict):
    """An experiment of a study."""

    number: int
    title: str
    setting: str


class StudyInfo(TypedDict):
    """A published study that can be carried out again."""

    name: str
    title: str
    source: str
    about: str
    experiments: list[ExperimentInfo]


class Timers(TypedDict):
    """How threads kept the periods of timers, in microseconds."""

    waits: int
    missed: int
    least_slack_us: float
    mean_slack_us: float
    mean_latency_us: Figure
    greatest_latency_us: Figure


class Latency(TypedDict):
    """Times from wake-up to running, in microseconds."""

    p50: float
    p99: float
    max: float
    least: float
    mean: float


class WakeupLatency(Latency):
    """The same, with those by kind of core."""

    kinds: dict[str, Latency]


class _App(TypedDict):
    name: str
    threads: int
    completion_s: float
    slowdown: float
    alone_fast_s: float
    alone_slow_s: float
    time_on_kind_s: dict[str, float]
    wait_s: float
    blocked_s: float
    migrations: int


class AppOfRun(_App, total=False):
    """An application of a run. `cut_at_s`: it was ended by a duration. Times in seconds."""

    cut_at_s: float
    timers: Timers


class KindOfRun(TypedDict):
    """What cores of one kind did. Power and energy are None without a power model."""

    busy_s: float
    idle_s: float
    energy_j: Figure
    mean_power_w: Figure


class GraphOfRun(TypedDict):
    """How the tasks of a graph fared. Times in seconds."""

    policy: str
    tasks: int
    edges: int
    critical_path_s: float
    bound_s: float
    serial_s: float
    slr: Figure
    speedup: Figure
    efficiency: Figure


class Seeds(TypedDict):
    """Of a mean over seeds: how many, and half the width of the 95 % interval by measure."""

    count: int
    ci95: dict[str, float]


class ColumnOfExhibit(TypedDict):
    """A column of a study's table."""

    name: str
    unit: str


class Exhibit(TypedDict, total=False):
    """A table of a study. `ci95` has intervals in the places of rows, if there are seeds."""

    experiment: int
    title: str
    columns: list[ColumnOfExhibit]
    rows: list[list[Any]]
    ci95: list[list[float]]
    figures: list[dict[str, Any]]
    remarks: list[str]
