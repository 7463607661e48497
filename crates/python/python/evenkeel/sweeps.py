"""`sweep`: a grid of runs, here or on Dask."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, TypeVar, Union, overload

from . import _evenkeel
from ._evenkeel import Error, Machine, Policy, Table, Workload
from ._progress import Callback, Progress, callback
from .folder import Folder

if TYPE_CHECKING:
    from distributed import Client

Content = TypeVar("Content", str, bytes)
Grid = Union[str, os.PathLike[str], Mapping[str, Any]]

#: What a dictionary may have beside axes.
_NAME, _ZIP, _EXCLUDE = "name", "zip", "exclude"
#: The start and the end of a range, as Python allows names of arguments: `dict(from_=1, to=9)`.
_RENAMED = {"from_": "from"}


class Described:
    """A grid's text, and what it names in memory: all that a worker elsewhere needs."""

    def __init__(self, grid: Grid, seeds: Optional[int]) -> None:
        self.seeds = seeds
        #: What has read it: workers must be of the same version.
        self.made_by = (_evenkeel.__version__, _evenkeel.MODEL)
        self.machines: dict[str, str] = {}
        self.workloads: dict[str, bytes] = {}
        #: SHA-256 of files that workers must have themselves: models of estimators.
        self._digests: dict[str, str] = {}
        #: Workloads that the grid names and that are not in memory.
        self._named: set[str] = set()
        if isinstance(grid, Mapping):
            self.file = "grid"
            self.text = _evenkeel.Sweep.grid_of(self._document(grid))
        elif not isinstance(grid, (str, os.PathLike)):
            raise TypeError(f"grid: {type(grid).__name__} found, expected a path or a dictionary")
        else:
            self.file = os.fspath(grid)
            try:
                self.text = Path(grid).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as wrong:
                what = getattr(wrong, "strerror", None) or wrong
                raise Error(f"{self.file}: {what}") from None

    def sweep(self) -> _evenkeel.Sweep:
        """The grid, checked and cut into parts."""
        sweep = _evenkeel.Sweep(
            self.text, self.file, self.seeds, self.machines or None, self.workloads or None
        )
        if self._digests:
            here = sweep.manifest["inputs"]
            for name, digest in self._digests.items():
                if here.get(name) != digest:
                    raise Error(f"{name}: a worker has another file of this name")
        return sweep

    def for_workers(self, manifest: Mapping[str, Any]) -> Described:
        """The same with the content of files, which workers elsewhere need not have."""
        carried = copy(self)
        axes = manifest["grid"]["axes"]
        for name in _names(axes.get("machine", ())) & manifest["inputs"].keys():
            carried.machines = {name: Path(name).read_text(encoding="utf-8"), **carried.machines}
        for name in _names(axes.get("workload", ())) & manifest["inputs"].keys():
            carried.workloads = {name: Path(name).read_bytes(), **carried.workloads}
        for name in _names(axes.get("estimator", ())) & manifest["inputs"].keys():
            carried._digests = {name: manifest["inputs"][name], **carried._digests}
        return carried

    def _document(self, grid: Mapping[str, Any]) -> dict[str, Any]:
        axes = {key: of for key, of in grid.items() if key not in (_NAME, _ZIP, _EXCLUDE)}
        document: dict[str, Any] = {"axes": self._axes(axes)}
        if grid.get(_NAME) is not None:
            document[_NAME] = grid[_NAME]
        if grid.get(_ZIP):
            zips = grid[_ZIP]
            if not isinstance(zips, (list, tuple)):
                raise TypeError(f"zip: {zips!r} found, expected a list of axes, or of such lists")
            several = zips if not isinstance(zips[0], str) else [zips]
            document[_ZIP] = [{"axes": [_axis_name(axis) for axis in axes]} for axes in several]
        if grid.get(_EXCLUDE):
            excluded = grid[_EXCLUDE]
            conditions: list[Any] = [excluded] if isinstance(excluded, Mapping) else list(excluded)
            if not all(isinstance(condition, Mapping) for condition in conditions):
                raise TypeError(f"exclude: {excluded!r} found, expected a dictionary, or a list")
            document[_EXCLUDE] = [self._axes(condition) for condition in conditions]
        for name in self.workloads:
            if name.casefold() in self._named:
                raise _two_things(name)
        return document

    def _axes(self, axes: Mapping[str, Any]) -> dict[str, Any]:
        return {
            _axis_name(axis): self._axis(axis, of) for axis, of in axes.items() if of is not None
        }

    def _axis(self, axis: str, of: Any) -> Any:
        if isinstance(of, Mapping):
            return {_RENAMED.get(key, key): self._value(axis, end) for key, end in of.items()}
        if isinstance(of, (list, tuple, range)):
            return [self._value(axis, value) for value in of]
        for way in ("tolist", "to_list"):
            if hasattr(of, way):
                return getattr(of, way)()
        return self._value(axis, of)

    def _value(self, axis: str, value: Any) -> Any:
        if axis == "machine" and isinstance(value, Machine):
            return self._machine(value)
        if axis == "workload" and isinstance(value, str):
            self._named.add(value.casefold())
        elif axis == "workload":
            names = [name for one in _several(value) for name in self._workload(one)]
            return names if len(names) > 1 else names[0]
        if axis == "policy" and isinstance(value, Policy):
            return value.label
        if hasattr(value, "__fspath__"):
            return os.fspath(value)
        if hasattr(value, "item"):
            return value.item()
        if not isinstance(value, (str, int, float)):
            expected = "a name or a Policy" if axis == "policy" else "a value, a list or a range"
            found = type(value).__name__
            raise TypeError(f"axis '{axis}': {found} found, expected {expected}")
        return value

    def _machine(self, machine: Machine) -> str:
        if machine.is_part:
            raise Error("axis 'machine': a part of a machine found; parts are the axis 'cores'")
        if (text := machine.in_memory()) is not None:
            self._keep(self.machines, machine.label, text)
        elif machine.to_toml() != Machine(machine.label).to_toml():
            raise _has_changed(machine.label)
        return machine.label

    def _workload(self, workload: Any) -> list[str]:
        names = []
        for name, content in Workload(workload).in_memory():
            if content is not None:
                self._keep(self.workloads, name, content)
            else:
                self._named.add(name.casefold())
            names.append(name)
        if not Workload(workload).is_as_read():
            raise _has_changed(" + ".join(names))
        return names

    @staticmethod
    def _keep(kept: dict[str, Content], name: str, content: Content) -> None:
        if kept.setdefault(name, content) != content:
            raise _two_things(name)


def _has_changed(name: str) -> Error:
    return Error(f"{name} has changed since the object was made of it: make it anew")


def _two_things(name: str) -> Error:
    return Error(f"'{name}' is the name of two different things: expected one for each")


def _axis_name(axis: str) -> str:
    """As a grid's file has it: columns and arguments have ``_`` for ``-``.

    >>> _axis_name("free_costs"), _axis_name("acfs.swap")
    ('free-costs', 'acfs.swap')
    """
    return axis if "." in axis else axis.replace("_", "-")


def _names(values: Sequence[Any]) -> set[str]:
    return {name for value in values for name in _several(value)}


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


@overload
def sweep(
    grid: Grid,
    out: None = None,
    *,
    seeds: Optional[int] = None,
    jobs: Optional[int] = None,
    shard: Optional[str] = None,
    progress: Progress = None,
) -> Table: ...
@overload
def sweep(
    grid: Grid,
    out: Union[str, os.PathLike[str]],
    *,
    seeds: Optional[int] = None,
    jobs: Optional[int] = None,
    resume: bool = False,
    shard: Optional[str] = None,
    on: Union[None, str, Client] = None,
    progress: Progress = None,
) -> Folder: ...
def sweep(
    grid: Grid,
    out: Union[str, os.PathLike[str], None] = None,
    *,
    seeds: Optional[int] = None,
    jobs: Optional[int] = None,
    resume: bool = False,
    shard: Optional[str] = None,
    on: Union[None, str, Client] = None,
    progress: Progress = None,
) -> Union[Table, Folder]:
    """Carries out a grid of runs.

    `grid`: the path of a TOML file, or a dictionary of axes, called as the arguments of `simulate`:
    `machine`, `workload`, `policy`, `size`, and knobs as `acfs.swap`. An axis has one value, a
    list, an array, a `range`, or `{"from": 1, "to": 9, "step": 2}` (`count` in place of `step`, and
    `log`). In a list of workloads those of a list within run together. `zip` has lists of axes that
    move together, `exclude` what is left out. `seeds`: 1 to that number.

    Without `out` all results are in memory, as a `Table`. With it they are Parquet in that folder,
    a part as soon as its cases are over: what is written is not lost, and `resume` goes on.

    `jobs`: cases at a time, by default one per processor. `shard`: a share, "2/10". A case that
    fails is a row with its `error`, and a warning says how many did. What cannot be begun, as a
    misspelt axis, raises `Error`, and nothing is written.

    `on`: "dask" for a cluster of Dask on this machine, "dask=ADDRESS" for one that runs, or its
    client. Results are the same bytes. A script that has Dask start workers needs
    `if __name__ == "__main__":`. Slurm: `evenkeel sweep --on slurm`.

    >>> import evenkeel as ek
    >>> table = ek.sweep({"machine": "quickia", "workload": [["mcf", "gobmk"]], "size": 0.1,
    ...                   "policy": ["linux", "acfs"], "acfs.swap": range(200, 500, 100)})
    >>> len(table)
    8
    """
    if out is not None:
        folder, failed, why = into_folder(
            grid, out, seeds, jobs, resume, shard, on, callback(progress, "cases")
        )
        _warn(failed, why)
        return folder
    if resume:
        raise Error("resume: there is no folder to go on with; expected out")
    if on is not None:
        raise Error("on: expected out, the folder that results go to")
    parts = Described(grid, seeds).sweep()
    report = callback(progress, "cases")
    table, failed, why = parts.to_memory(parts.share(shard), jobs, report)
    _warn(failed, why)
    return table


def into_folder(
    grid: Grid,
    out: Union[str, os.PathLike[str]],
    seeds: Optional[int],
    jobs: Optional[int],
    resume: bool,
    shard: Optional[str],
    on: Union[None, str, Client],
    report: Optional[Callback],
) -> tuple[Folder, int, Optional[str]]:
    """What `sweep` does with a folder. Gives how many cases failed, and why the first did."""
    described = Described(grid, seeds)
    parts = described.sweep()
    chosen = parts.share(shard)
    path = os.fspath(out)
    # Shards are begun side by side, and one of them is first.
    goes_on = resume or shard is not None
    if on is None:
        folder = parts.begin(path, goes_on)
        failed, why = folder.carry_out(folder.lacking(chosen), jobs, report)
    else:
        from .on_dask import connected

        # The folder is begun only where there is something to carry it out.
        with connected(on, jobs) as cluster:
            folder = parts.begin(path, goes_on)
            lacking = folder.lacking(chosen)
            failed, why = cluster.carry_out(described, parts, folder, lacking, report)
    return Folder(path), failed, why


def _warn(failed: int, why: Optional[str]) -> None:
    if failed:
        cases = "1 case" if failed == 1 else f"{failed} cases"
        warnings.warn(f"{cases} failed, the first: {why}", stacklevel=3)

