"""`compare`: workloads under several policies."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from html import escape
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _evenkeel
from ._evenkeel import Error, Policy, Run, Table
from ._progress import Progress, callback

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes
    from typing_extensions import Unpack

    from ._types import AnyMachine, AnyPolicy, AnyWorkload, CompareSettings

#: The policy that others are compared with, unless another is named.
BASELINE = "linux"


class Comparison:
    """Workloads under several policies: what `compare` gives.

    `print` shows the tables of the command line, `runs` has every run, `table` every seed. It has
    a length, an order and places, as a list of runs has.

    >>> import evenkeel as ek
    >>> both = ek.compare("quickia", [["mcf", "gobmk"]], ["linux", "acfs"], size=0.1)
    >>> len(both), both[1].policy, both.table.columns[:3]
    (2, 'acfs', ['machine', 'policy', 'case'])
    """

    def __init__(self, runs: list[Run], table: Table, baseline: Optional[str]) -> None:
        #: Means over seeds, workload by workload, in the order of policies.
        self.runs = runs
        #: One row for each seed and application, in the columns of a sweep.
        self.table = table
        self._baseline = baseline

    @property
    def verdict(self) -> Optional[str]:
        """The result in one sentence; None of a single policy.

        Where the 95 % intervals of two means overlap, neither policy is called better.
        """
        return _evenkeel.verdict(self.runs, self._baseline)

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __getitem__(self, index: int) -> Run:
        return self.runs[index]

    def to_polars(self) -> polars.DataFrame:
        """The table as a frame of Polars. Raises `ImportError` where that is not installed."""
        return self.table.to_polars()

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a frame of pandas. Raises `ImportError` where that is not installed."""
        return self.table.to_pandas()

    def to_arrow(self) -> pyarrow.Table:
        """The table as one of pyarrow. Raises `ImportError` where that is not installed."""
        return self.table.to_arrow()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def plot(self, measure: str = "makespan_s", ax: Optional[Axes] = None) -> Axes:
        """Bars of a measure, with 95 % intervals of means over seeds.

        The measure is a figure of `Run`, by name. Raises `ValueError` if no run has it.
        """
        from . import plots

        return plots.compare(self, measure, ax)

    def __str__(self) -> str:
        verdict = self.verdict
        tables = _evenkeel.tables(self.runs, get_terminal_size((100, 24)).columns)
        return f"{tables}\n{verdict}" if verdict else tables

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self), quote=False)}</pre>"

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.runs)} runs>"


def compare(
    machine: AnyMachine,
    workloads: Union[AnyWorkload, Sequence[AnyWorkload]],
    policies: Union[AnyPolicy, Sequence[AnyPolicy]],
    *,
    baseline: Optional[AnyPolicy] = None,
    progress: Progress = None,
    **settings: Unpack[CompareSettings],
) -> Comparison:
    """Runs workloads under several policies, each workload by itself.

    A list within `workloads` runs together. `seeds`: how many, from `seed` on; `jobs`: runs at a
    time, by default one per processor. `baseline`: the policy that the verdict compares with, by
    default linux. The other settings are those of `simulate`.

    A policy in Python is copied for each run, which may be beside others.

    `progress`: a function of how many runs are over, and of how many; True and False switch the
    line on stderr on and off.

    A run that fails has its `error`, is warned of, and the others go on. What cannot be begun raises `Error`.

    >>> import evenkeel as ek
    >>> both = ek.compare("quickia", [["mcf", "gobmk"]], ["linux", "acfs"], size=0.1)
    >>> [run.policy for run in both]
    ['linux', 'acfs']
    """
    if baseline is not None:
        baseline = _label(baseline)
        _check_baseline(baseline, _each(policies))
    report = callback(progress, "runs")
    runs, table = _evenkeel.compare(
        machine, _each(workloads), _each(policies), progress=report, **settings
    )
    failed = [run for run in runs if run.error is not None]
    if failed:
        said = f"{len(failed)} of {len(runs)} failed, the first: {failed[0].error}"
        warnings.warn(said, stacklevel=2)
    return Comparison(runs, table, baseline)


def _each(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _label(policy: AnyPolicy) -> str:
    if isinstance(policy, str):
        return policy
    return policy.label if isinstance(policy, Policy) else policy.name or type(policy).__name__


def _check_baseline(baseline: str, policies: Sequence[AnyPolicy]) -> None:
    labels = [_label(policy) for policy in policies]
    if baseline not in labels and all(baseline != label.split(":")[0] for label in labels):
        raise Error(f"baseline '{baseline}' found, expected one of {', '.join(labels)}")
