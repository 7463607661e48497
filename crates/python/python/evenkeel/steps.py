"""Steps: what a thread of an application does, one after another.

Functions here make the steps that need no object of the application. Locks, barriers, queues and
the like have methods that make steps (``objects.py``).
"""

from __future__ import annotations

from collections.abc import Iterable

from ._check import U32, U64, Whole, nanos, text, whole
from .objects import Phase, Step, phase_or_first
from .threads import SchedulingClass, affinity_data, class_data

__all__ = [
    "busy",
    "compute",
    "forever",
    "iteration_begins",
    "iteration_ends",
    "join_all",
    "loop",
    "milestone",
    "resume",
    "set_affinity",
    "set_clamps",
    "set_class",
    "set_nice",
    "sleep",
    "suspend",
    "yield_",
]


def compute(work: Whole, phase: Phase | None = None) -> Step:
    """Work in a phase, in instructions; it takes longer on a slow core.

    Without a phase it is in the application's first. In a phase of ``reference_time`` work is in
    nanoseconds on the reference core.

    >>> compute(2_000_000)
    Step({'compute': {'work': 2000000, 'phase': 0}})
    """
    return Step({"compute": {"work": whole("work", work), "phase": phase_or_first(phase)}})


def busy(
    phase: Phase | None = None,
    *,
    ns: float | None = None,
    us: float | None = None,
    ms: float | None = None,
    s: float | None = None,
) -> Step:
    """Busy for this long on any core, however fast it is.

    >>> busy(us=50)
    Step({'busy': {'time_ns': 50000, 'phase': 0}})
    """
    time = nanos(ns=ns, us=us, ms=ms, s=s)
    return Step({"busy": {"time_ns": time, "phase": phase_or_first(phase)}})


def sleep(
    *,
    ns: float | None = None,
    us: float | None = None,
    ms: float | None = None,
    s: float | None = None,
) -> Step:
    """Off the core for this long.

    >>> sleep(ms=4)
    Step({'sleep_ns': 4000000})
    """
    return Step({"sleep_ns": nanos(ns=ns, us=us, ms=ms, s=s)})


def loop(times: Whole, body: Iterable[Step]) -> Step:
    """Repeats its body so many times, at least once.

    >>> loop(360, [compute(1000), sleep(ms=1)]).data["loop"]["times"]
    360
    """
    return Step({"loop": {"times": whole("times", times, 1, U64), "body": Step.many(body)}})


def forever(body: Iterable[Step]) -> Step:
    """Repeats its body until a queue that it receives from is closed, or the run ends.

    >>> forever([compute(1000)]).data["loop"]["body"]
    (Step({'compute': {'work': 1000, 'phase': 0}}),)
    """
    return Step({"loop": {"body": Step.many(body)}})


def yield_() -> Step:
    """Lets other threads of the same queue go first.

    >>> yield_()
    Step('yield')
    """
    return Step("yield")


def join_all() -> Step:
    """Waits until all threads that this thread forked have ended.

    >>> join_all()
    Step('join_all')
    """
    return Step("join_all")


def suspend() -> Step:
    """Waits until a `resume` names this thread.

    >>> suspend()
    Step('suspend')
    """
    return Step("suspend")


def resume(name: str) -> Step:
    """Resumes the first thread of this name; no effect if that is not suspended.

    >>> resume("ui")
    Step({'resume': 'ui'})
    """
    return Step({"resume": text("name", name)})


def milestone() -> Step:
    """Declares a point at which the thread would wait for its peers.

    >>> milestone()
    Step('milestone')
    """
    return Step("milestone")


def iteration_begins() -> Step:
    """Reports that an iteration of a periodic task begins; nothing else.

    >>> iteration_begins()
    Step('iteration_begins')
    """
    return Step("iteration_begins")


def iteration_ends(part: Whole = 0, of: Whole = 1, loops: Whole | None = None) -> Step:
    """Reports that an iteration ends, of one part of a periodic task; nothing else.

    `part` is its number, `of` how many parts there are. `loops` is how many iterations the part
    has; ``None``: it never ends. rt-app calls these parts phases.

    >>> iteration_ends(0, 2, 10)
    Step({'iteration_ends': {'phase': 0, 'of': 2, 'loops': 10}})
    """
    data = {"phase": whole("part", part, 0, U32), "of": whole("of", of, 1, U32)}
    if loops is not None:
        data["loops"] = whole("loops", loops)
    return Step({"iteration_ends": data})


def set_class(class_: SchedulingClass | str) -> Step:
    """Changes the thread's scheduling class from here on.

    >>> set_class("idle")
    Step({'set_class': 'idle'})
    """
    return Step({"set_class": class_data(class_)})


def set_nice(nice: Whole) -> Step:
    """Changes the thread's nice value from here on, -20 to 19.

    >>> set_nice(5)
    Step({'set_nice': 5})
    """
    return Step({"set_nice": whole("nice", nice, -20, 19)})


def set_affinity(cores: Iterable[Whole] | None) -> Step:
    """Changes the cores that the thread may run on from here on; ``None``: all.

    >>> set_affinity([0, 1])
    Step({'set_affinity': [0, 1]})
    """
    return Step({"set_affinity": affinity_data(cores)})


def set_clamps(util_min: Whole | None = None, util_max: Whole | None = None) -> Step:
    """Changes the thread's utilisation clamps from here on, 0 to 1024; ``None``: stays as it is.

    >>> set_clamps(util_min=512)
    Step({'set_clamps': {'util_min': 512}})
    """
    given = {"util_min": util_min, "util_max": util_max}
    return Step(
        {"set_clamps": {k: whole(k, v, 0, 1024) for k, v in given.items() if v is not None}}
    )
