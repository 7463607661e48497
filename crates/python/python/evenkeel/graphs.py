"""Task graphs: tasks, and which of them come after which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._check import Whole, whole
from .objects import Object, Phase, Step, phase_number

if TYPE_CHECKING:
    from .app import App


class Task:
    """A task of a `Graph`, at an index; others may come after it.

    >>> from evenkeel.app import App
    >>> App("build").graph().task(1000)
    task 0
    """

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def __repr__(self) -> str:
        return f"task {self.index}"


class Graph(Object):
    """A task graph: tasks, and which come after which, as edges with bytes or None.

    >>> from evenkeel.app import App
    >>> app = App("build")
    >>> graph = app.graph()
    >>> parts = [graph.task(1_000_000) for _ in range(3)]
    >>> link = graph.task(500_000, after={part: 4096 for part in parts})
    >>> app.thread("worker", [graph.run()], count=2)
    """

    __slots__ = ("costs", "edges", "tasks")
    kind = "graph"

    def __init__(self, app: App, index: int, costs: dict[str, int]) -> None:
        super().__init__(app, index)
        self.costs = costs
        self.tasks: list[dict[str, int]] = []
        self.edges: list[tuple[int, int, int | None]] = []

    def task(
        self,
        work: Whole,
        phase: Phase | None = None,
        after: Iterable[Task] | Mapping[Task, Whole] = (),
    ) -> Task:
        """Adds a task of so much work, which starts once those before it have ended.

        `after` is a list of tasks, or a dict with the bytes that each of them hands over.
        """
        task = Task(self, len(self.tasks))
        amount = whole("work", work)
        number = phase_number(self.app, phase)
        edges = [self._edge(before, task, after) for before in after]
        self.tasks.append({"work": amount, "phase": number})
        self.edges.extend(edges)
        return task

    def _edge(
        self, before: Task, task: Task, after: Iterable[Task] | Mapping[Task, Whole]
    ) -> tuple[int, int, int | None]:
        if not isinstance(before, Task):
            raise TypeError(f"after: {before!r} found, expected what Graph.task returns")
        if before.graph is not self:
            raise ValueError(f"after: {before!r} is of {before.graph!r}, not of {self!r}")
        volume = whole("bytes", after[before]) if isinstance(after, Mapping) else None
        return (before.index, task.index, volume)

    def run(self) -> Step:
        """Runs tasks until all are done; waits while none is ready."""
        return Step({"run_tasks": self})

    def to_dict(self) -> dict[str, Any]:
        """What stands in a file. If one edge has a volume, those without one have 0."""
        data: dict[str, Any] = {
            "tasks": self.tasks,
            "edges": [[before, after] for before, after, _ in self.edges],
        }
        if any(volume is not None for _, _, volume in self.edges):
            data["volumes"] = [volume or 0 for _, _, volume in self.edges]
        return {**data, **self.costs}
