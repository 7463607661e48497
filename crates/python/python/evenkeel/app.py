"""Workloads built in code.

An `App` is one application. It makes phases, locks, barriers and the like; these and the functions
beside it make steps; threads carry out steps. What comes out is Evenkeel's own workload format.

>>> app = App("frames")
>>> shade = app.phase("shade", factor=3.0, ipc=1.2)
>>> lock = app.lock()
>>> frame = [compute(2_000_000, shade), lock.acquire(), compute(10_000, shade), lock.release()]
>>> app.thread("ui", [loop(360, frame)])
>>> app.thread("helper", [loop(360, frame)], count=3)
>>> app
App('frames', 4 threads)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from ._check import U32, Whole, nanos, text, whole
from .graphs import Graph, Task
from .objects import (
    Barrier,
    Channel,
    Condition,
    Device,
    Lock,
    Object,
    ParallelLoop,
    Phase,
    PrivateTimer,
    Semaphore,
    Step,
    Template,
    Timer,
    phase_number,
)
from .phases import Character, phase_data
from .programs import Programs
from .steps import (
    busy,
    compute,
    forever,
    iteration_begins,
    iteration_ends,
    join_all,
    loop,
    milestone,
    resume,
    set_affinity,
    set_clamps,
    set_class,
    set_nice,
    sleep,
    suspend,
    yield_,
)
from .threads import SchedulingClass, deadline, fifo, round_robin, thread_data

__all__ = [
    "App",
    "Barrier",
    "Channel",
    "Character",
    "Condition",
    "Device",
    "Graph",
    "Lock",
    "ParallelLoop",
    "Phase",
    "SchedulingClass",
    "Semaphore",
    "Step",
    "Task",
    "Template",
    "Timer",
    "busy",
    "compute",
    "deadline",
    "fifo",
    "forever",
    "iteration_begins",
    "iteration_ends",
    "join_all",
    "loop",
    "milestone",
    "nanos",
    "resume",
    "round_robin",
    "set_affinity",
    "set_clamps",
    "set_class",
    "set_nice",
    "sleep",
    "suspend",
    "yield_",
]

FORMAT = "evenkeel.workload/1"

Kind = TypeVar("Kind", bound=Object)


class App:
    """An application, built in code. `simulate` and the others take it where they take a workload.

    Equal programs are stored once. What cannot be is refused where it is said: by `ValueError`, or
    by `TypeError` if it is of the wrong type.

    >>> app = App("pair")
    >>> work, barrier = app.phase("work", factor=3.0), app.barrier(2)
    >>> program = [loop(100, [compute(3_000_000, work), barrier.wait()])]
    >>> app.thread("a", program)
    >>> app.thread("b", program, affinity=[1])
    >>> app.save("pair.json")  # doctest: +SKIP
    """

    def __init__(self, name: str = "app") -> None:
        self.name = text("name", name)
        self._phases: list[dict[str, Any]] = []
        self._programs = Programs(self)
        self._threads: list[dict[str, Any]] = []
        self._templates: list[dict[str, Any]] = []
        self._barriers: list[int] = []
        self._semaphores: list[int] = []
        self._channels: list[Any] = []
        self._loops: list[dict[str, Any]] = []
        self._graphs: list[Graph] = []
        self._counts: dict[str, int] = {}
        self._notes: list[str] = []
        self._ends: dict[str, int] = {}

    def __repr__(self) -> str:
        count = len(self._threads)
        return f"App({self.name!r}, {count} thread{'' if count == 1 else 's'})"

    # What threads share.

    def phase(
        self,
        name: str,
        factor: float | None = None,
        *,
        capacity_ratio: float | None = None,
        ipc: float = 1.0,
        bytes_per_instruction: float = 0.0,
        working_set_bytes: Whole = 0,
        activity: float = 1.0,
        reference_time: bool = False,
        reference_core: Whole | None = None,
        reference_capacity: float | None = None,
        character: Character | None = None,
    ) -> Phase:
        """A phase: the character of a piece of work. Threads start in the first.

        - `factor`: how much faster the machine's fastest kind is than its slowest. Absent: speed
          is proportional to capacity. With `capacity_ratio` the factor was measured on a machine
          whose capacities have that ratio, and carries over to others.
        - `ipc`: instructions per cycle on the slowest kind.
        - `bytes_per_instruction`: traffic to memory. `working_set_bytes`: what must be in the
          cache again after a move. `activity`: power, relative to the core's busy power.
        - `reference_time`: work is in nanoseconds on the fastest core, or on `reference_core` (a
          number), or on a core of `reference_capacity` (of 1024).
        - `character`: what it asks of a core, for machines that say how theirs are built.

        >>> app = App()
        >>> app.phase("shade", factor=3.0, ipc=1.2, bytes_per_instruction=0.1)
        phase 0 of 'app'
        """
        data = phase_data(
            text("name", name),
            factor=factor,
            capacity_ratio=capacity_ratio,
            ipc=ipc,
            bytes_per_instruction=bytes_per_instruction,
            working_set_bytes=working_set_bytes,
            activity=activity,
            reference_time=reference_time,
            reference_core=reference_core,
            reference_capacity=reference_capacity,
            character=character,
        )
        self._phases.append(data)
        return Phase(self, len(self._phases) - 1)

    def barrier(self, threads: Whole) -> Barrier:
        """A barrier for so many threads.

        >>> App().barrier(2)
        barrier 0 of 'app'
        """
        self._barriers.append(whole("threads", threads, 1, U32))
        return Barrier(self, len(self._barriers) - 1)

    def lock(self) -> Lock:
        """A mutex.

        >>> App().lock()
        lock 0 of 'app'
        """
        return self._next(Lock, "locks")

    def condition(self) -> Condition:
        """A condition variable.

        >>> App().condition()
        condition 0 of 'app'
        """
        return self._next(Condition, "conditions")

    def semaphore(self, count: Whole = 0) -> Semaphore:
        """A semaphore that starts at this count.

        >>> App().semaphore(1)
        semaphore 0 of 'app'
        """
        self._semaphores.append(whole("count", count, 0, U32))
        return Semaphore(self, len(self._semaphores) - 1)

    def channel(self, capacity: Whole) -> Channel:
        """A bounded queue that the program makes of a lock and condition variables.

        >>> App().channel(8)
        channel 0 of 'app'
        """
        self._channels.append(whole("capacity", capacity, 1, U32))
        return Channel(self, len(self._channels) - 1)

    def pipe(self, capacity: Whole) -> Channel:
        """A pipe or socket: a bounded queue whose wake-ups are synchronous.

        >>> App().pipe(8)
        channel 0 of 'app'
        """
        self._channels.append({"pipe": whole("capacity", capacity, 1, U32)})
        return Channel(self, len(self._channels) - 1)

    def timer(self) -> Timer:
        """A periodic timer that threads share: each use advances it for all.

        >>> App().timer()
        timer 0 of 'app'
        """
        return self._next(Timer, "timers")

    def private_timer(self) -> PrivateTimer:
        """A periodic timer that each thread has for itself.

        >>> App().private_timer()
        private timer 0 of 'app'
        """
        return self._next(PrivateTimer, "private_timers")

    @property
    def shared_timers(self) -> int:
        """How many timers threads share."""
        return self._counts.get("timers", 0)

    def device(self) -> Device:
        """A device that serves requests first come, first served.

        >>> App().device()
        device 0 of 'app'
        """
        return self._next(Device, "devices")

    def parallel_loop(
        self,
        iterations: Whole,
        work: Whole,
        phase: Phase | None = None,
        *,
        schedule: str = "static",
        workers: Whole | None = None,
        take_cost: Whole = 0,
    ) -> ParallelLoop:
        """A loop whose iterations, each of so much work, threads share.

        `schedule` is as OpenMP's: ``static``, ``dynamic,4``, ``guided``, ``aid-static`` and so on.
        `workers` is how many threads take part; absent: those whose program runs it are counted.
        `take_cost` is the work of taking a chunk.

        >>> App().parallel_loop(1080, 20_000, schedule="dynamic,4")
        parallel loop 0 of 'app'
        """
        data = {
            "iterations": whole("iterations", iterations),
            "work": whole("work", work),
            "phase": phase_number(self, phase),
            "schedule": text("schedule", schedule),
            "take_cost": whole("take_cost", take_cost),
        }
        if workers is not None:
            data["workers"] = whole("workers", workers, 1, U32)
        self._loops.append(data)
        return ParallelLoop(self, len(self._loops) - 1)

    def graph(self, *, create_cost: Whole = 0, take_cost: Whole = 0) -> Graph:
        """A task graph, to which tasks are added.

        `create_cost` is the work of creating a task; 0: all exist from the start. `take_cost` is
        the work of taking one.

        >>> App().graph()
        graph 0 of 'app'
        """
        costs = {
            "create_cost": whole("create_cost", create_cost),
            "take_cost": whole("take_cost", take_cost),
        }
        self._graphs.append(Graph(self, len(self._graphs), costs))
        return self._graphs[-1]

    def _next(self, kind: type[Kind], count: str) -> Kind:
        number = self._counts.get(count, 0)
        self._counts[count] = number + 1
        return kind(self, number)

    # Threads.

    def thread(
        self,
        name: str,
        steps: Iterable[Step],
        *,
        count: Whole | None = None,
        group: Whole = 0,
        nice: Whole = 0,
        class_: SchedulingClass | str = "normal",
        affinity: Iterable[Whole] | None = None,
        delay_ns: Whole = 0,
        util_min: Whole = 0,
        util_max: Whole = 1024,
    ) -> None:
        """A thread that exists from the start, or after a delay.

        With `count` so many equal threads: ``worker0``, ``worker1`` and so on. Threads of one
        `group` have the same role. `class_` is ``"normal"``, ``"idle"``, ``fifo(...)``,
        ``round_robin(...)`` or ``deadline(...)``. `affinity` lists cores by number; absent: all.

        >>> app = App()
        >>> app.thread("late", [compute(1000)], delay_ns=nanos(ms=3), nice=5)
        >>> app.thread("worker", [compute(1000)], count=4, group=1)
        """
        data = thread_data(group, nice, class_, affinity, delay_ns, util_min, util_max)
        names = [text("name", name)]
        if count is not None:
            names = [f"{name}{i}" for i in range(whole("count", count, 1, U32))]
        program = self._programs.add(steps)
        self._threads.extend({"name": it, "program": program, **data} for it in names)

    def template(
        self,
        name: str,
        steps: Iterable[Step],
        *,
        group: Whole = 0,
        nice: Whole = 0,
        class_: SchedulingClass | str = "normal",
        affinity: Iterable[Whole] | None = None,
        delay_ns: Whole = 0,
        util_min: Whole = 0,
        util_max: Whole = 1024,
    ) -> Template:
        """A thread that others start by ``fork()``. Arguments are as those of `thread`.

        >>> app = App()
        >>> child = app.template("child", [compute(1000)])
        >>> app.thread("main", [child.fork(), join_all()])
        """
        data = thread_data(group, nice, class_, affinity, delay_ns, util_min, util_max)
        named = {"name": text("name", name), "program": self._programs.add(steps)}
        self._templates.append({**named, **data})
        return Template(self, len(self._templates) - 1)

    # The application as a whole.

    def repeat(self, times: Whole = 3) -> None:
        """The application starts again until the longest of those that run together has ended so
        many times, as in the fairness studies.

        >>> App("mcf").repeat(3)
        """
        self._ends["repeat_until_longest_ended"] = whole("times", times, 1, U32)

    def duration(
        self,
        *,
        ns: float | None = None,
        us: float | None = None,
        ms: float | None = None,
        s: float | None = None,
    ) -> None:
        """The run ends this long after its start, whatever still runs.

        >>> App("server").duration(s=10)
        """
        self._ends["duration_ns"] = nanos(ns=ns, us=us, ms=ms, s=s)

    def note(self, note: str) -> None:
        """A sentence for those who run it: what the application leaves out.

        >>> App("server").note("requests have one length")
        """
        self._notes.append(text("note", note))

    def to_dict(self) -> dict[str, Any]:
        """The document as it stands in a file. What has its default is left out.

        >>> app = App("one")
        >>> app.thread("t", [compute(1000)])
        >>> app.to_dict()["applications"][0]["programs"]
        [[{'compute': {'work': 1000, 'phase': 0}}]]
        """
        if not self._threads:
            raise ValueError(f"application '{self.name}' has no thread")
        self._check_resumes()
        application: dict[str, Any] = {
            "name": self.name,
            "phases": self._phases or [{"name": "run", "scaling": "capacity"}],
            "programs": [program.steps for program in self._programs.all],
            "threads": self._threads,
        }
        lists: dict[str, list[Any]] = {
            "templates": self._templates,
            "barriers": self._barriers,
            "semaphores": self._semaphores,
            "channels": self._channels,
            "loops": [self._loop(number) for number in range(len(self._loops))],
            "graphs": [graph.to_dict() for graph in self._graphs],
            "notes": self._notes,
        }
        application.update({key: value for key, value in lists.items() if value})
        application.update(self._counts)
        application.update(self._ends)
        document = {"format": FORMAT, "applications": [application]}
        plain: dict[str, Any] = json.loads(json.dumps(document, default=_final, allow_nan=False))
        return plain

    def _loop(self, number: int) -> dict[str, Any]:
        data = self._loops[number]
        if "workers" in data:
            return data
        takes_part = [number in program.loops for program in self._programs.all]
        workers = sum(takes_part[thread["program"]] for thread in self._threads)
        if workers == 0:
            raise ValueError(f"application '{self.name}': no thread runs parallel loop {number}")
        return {**data, "workers": workers}

    def _check_resumes(self) -> None:
        names = {thread["name"] for thread in self._threads + self._templates}
        for program in self._programs.all:
            for name in sorted(program.resumes - names):
                raise ValueError(
                    f"application '{self.name}': resumes '{name}', and no thread has that name"
                )

    def __evenkeel__(self) -> str:
        """The document as JSON: this is how `simulate` and the others read it."""
        return json.dumps(self.to_dict(), separators=(",", ":")) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the document to a file that the command line reads, too.

        >>> app = App("one")
        >>> app.thread("t", [compute(1000)])
        >>> app.save("one.json")  # doctest: +SKIP
        """
        Path(path).write_text(self.__evenkeel__(), encoding="utf-8")


def _final(value: object) -> object:
    if isinstance(value, Step):
        return value.data
    assert isinstance(value, Object)
    return value.number
