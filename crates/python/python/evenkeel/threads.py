"""Threads: their scheduling classes, and what stands in a file of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ._check import U32, Whole, whole


@dataclass(frozen=True)
class SchedulingClass:
    """A scheduling class of Linux with its parameters: see `fifo`, `round_robin`, `deadline`.

    >>> fifo(50)
    SchedulingClass(data={'fifo': 50})
    """

    data: Mapping[str, Any]


def fifo(priority: Whole) -> SchedulingClass:
    """SCHED_FIFO with a priority of 1 to 99; 99 goes first.

    >>> fifo(50).data
    {'fifo': 50}
    """
    return SchedulingClass({"fifo": whole("real-time priority", priority, 1, 99)})


def round_robin(priority: Whole) -> SchedulingClass:
    """SCHED_RR: as `fifo`, and equal priorities take turns of 100 ms.

    >>> round_robin(50).data
    {'round_robin': 50}
    """
    return SchedulingClass({"round_robin": whole("real-time priority", priority, 1, 99)})


def deadline(
    *, runtime_ns: Whole, period_ns: Whole, deadline_ns: Whole | None = None
) -> SchedulingClass:
    """SCHED_DEADLINE: so much time in each period, by the deadline (the period unless given).

    >>> deadline(runtime_ns=2_000_000, period_ns=10_000_000).data["deadline"]["deadline_ns"]
    10000000
    """
    runtime = whole("runtime_ns", runtime_ns)
    period = whole("period_ns", period_ns)
    due = period if deadline_ns is None else whole("deadline_ns", deadline_ns)
    if not 0 < runtime <= due <= period:
        raise ValueError(
            f"runtime {runtime} ns, deadline {due} ns, period {period} ns found, "
            "expected 0 < runtime <= deadline <= period"
        )
    return SchedulingClass(
        {"deadline": {"runtime_ns": runtime, "period_ns": period, "deadline_ns": due}}
    )


def class_data(class_: SchedulingClass | str) -> Any:
    """A scheduling class as it stands in a file; ``"normal"`` and ``"idle"`` have no parameters.

    >>> class_data("idle")
    'idle'
    """
    if isinstance(class_, SchedulingClass):
        return class_.data
    if class_ in ("normal", "idle"):
        return class_
    raise ValueError(
        f"class {class_!r} found, expected 'normal', 'idle', fifo(...), round_robin(...) or "
        "deadline(...)"
    )


def affinity_data(cores: Iterable[Whole] | None) -> list[int] | None:
    """Cores by number as they stand in a file; ``None``: all.

    >>> affinity_data(range(2))
    [0, 1]
    """
    if cores is None:
        return None
    numbers = [whole("core", core, 0, U32) for core in cores]
    if not numbers:
        raise ValueError("no core found, expected at least one, or None for all")
    return numbers


def thread_data(
    group: Whole,
    nice: Whole,
    class_: SchedulingClass | str,
    affinity: Iterable[Whole] | None,
    delay_ns: Whole,
    util_min: Whole,
    util_max: Whole,
) -> dict[str, Any]:
    """What stands in a file of a thread, without what has its default."""
    least = whole("util_min", util_min, 0, 1024)
    most = whole("util_max", util_max, 0, 1024)
    if least > most:
        raise ValueError(f"util_min {least} found, expected at most util_max {most}")
    data = {
        "group": (whole("group", group, 0, U32), 0),
        "nice": (whole("nice", nice, -20, 19), 0),
        "class": (class_data(class_), "normal"),
        "affinity": (affinity_data(affinity), None),
        "delay_ns": (whole("delay_ns", delay_ns), 0),
        "util_min": (least, 0),
        "util_max": (most, 1024),
    }
    return {key: value for key, (value, default) in data.items() if value != default}
