"""What tests of the package have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import evenkeel as ek

SCHEMAS = Path(__file__).parents[3] / "schema"

MIX = ["mcf", "gobmk"]
"""Two applications that are quick to simulate."""

FIGURES = (
    "makespan_s energy_j mean_power_w edp_js unfairness stp antt asp speedup migrations swaps "
    "context_switches"
).split()


def quick(policy: Any = "linux", workload: Any = MIX, **settings: Any) -> ek.Run:
    """A run of some milliseconds."""
    return ek.simulate("quickia", workload, policy, **{"size": 0.02, **settings})


def facts(run: ek.Run) -> dict[str, Any]:
    """All of a run but how long the simulator took."""
    return {name: value for name, value in run.to_dict().items() if name != "wall_s"}


class OneQueue(ek.Prototype):
    """One queue that all cores serve, by virtual time."""

    name = "one-queue"

    def start(self, view: Any, say: Any) -> None:
        self.queue = say.make_queue(clock="shared")
        for core in view.online():
            say.serve(core, [[self.queue]])

    def event(self, event: Any, view: Any, say: Any) -> None:
        if event.kind == "started":
            weight = view.threads[event.thread].weight
            say.order_virtual_time(event.thread, weight, start="floor")
            say.slice(event.thread, 3_000_000)
            say.assign(event.thread, self.queue)
