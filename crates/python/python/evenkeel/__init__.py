"""Evenkeel: schedulers for uneven cores, simulated on models of real machines.

>>> import evenkeel as ek
>>> run = ek.simulate("quickia", ["mcf", "gobmk"], "acfs", size=0.1)
>>> f"{run.unfairness:.1f}"
'1.0'

`simulate` carries out one run, `compare` several policies, `sweep` a grid of runs, `reproduce` a
published study. Machines, workloads and policies are names, files, or objects: `Machine`,
`Workload`, `App`, `Policy`, `Prototype`. `machines()`, `workloads()`, `policies()` and `studies()`
list what is built in.

Libraries for frames and plots are loaded when something is first asked of them.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from . import app
from ._evenkeel import (
    MODEL,
    Error,
    Machine,
    Policy,
    Run,
    Study,
    Table,
    Workload,
    __version__,
    machines,
    policies,
    simulate,
    studies,
    workloads,
)
from .app import *  # noqa: F403
from .comparison import Comparison, compare
from .folder import Folder, read
from .prototype import Prototype
from .reproduction import reproduce
from .sweeps import sweep

if TYPE_CHECKING:
    from . import plots

__all__ = [
    "MODEL",
    "Comparison",
    "Error",
    "Folder",
    "Machine",
    "Policy",
    "Prototype",
    "Run",
    "Study",
    "Table",
    "Workload",
    "__version__",
    "compare",
    "machines",
    "plots",
    "policies",
    "read",
    "reproduce",
    "simulate",
    "studies",
    "sweep",
    "workloads",
    *app.__all__,
]


def __getattr__(name: str) -> ModuleType:
    if name == "plots":
        from importlib import import_module

        return import_module(".plots", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
