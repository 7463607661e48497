"""Columns of whatever holds a table: ours, a folder, or a frame of polars, pandas or pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Columns = dict[str, list[Any]]
"""Values by column; ``None`` where there is none."""


def names_of(table: Any) -> list[str]:
    """Names of its columns.

    >>> import pandas
    >>> names_of(pandas.DataFrame({"app": [0], "seed": [1]}))
    ['app', 'seed']
    """
    return _names(_frame(table))


def columns_of(table: Any, wanted: Iterable[str]) -> Columns:
    """Those of the columns that it has, for the rows that stand for a case.

    A case has a row for each application, in which the measures of the case repeat. The row of
    the first counts, and that of a case that failed, which has no application.

    >>> import pandas
    >>> rows = pandas.DataFrame({"app": [0, 1, None], "makespan_s": [2.0, 2.0, None]})
    >>> columns_of(rows, ["makespan_s", "energy_j"])
    {'makespan_s': [2.0, None]}
    """
    columns = all_rows(table, [*wanted, "app"])
    apps = columns.pop("app", None)
    if apps is None:
        return columns
    kept = [row for row, app in enumerate(apps) if app is None or app == 0]
    return {name: [values[row] for row in kept] for name, values in columns.items()}


def all_rows(table: Any, wanted: Iterable[str]) -> Columns:
    """Those of the columns that it has, for all rows.

    >>> import polars
    >>> all_rows(polars.DataFrame({"core": [0, 1]}), ["core", "kind"])
    {'core': [0, 1]}
    """
    frame = _frame(table)
    there = set(_names(frame))
    return {name: _values(frame, name) for name in dict.fromkeys(wanted) if name in there}


def _library(table: Any) -> str:
    return type(table).__module__.split(".")[0]


def _frame(table: Any) -> Any:
    """A frame of a library that is there, preferably one that copies nothing."""
    if _library(table) == "polars" and hasattr(table, "collect"):
        return table.collect()
    if _library(table) in ("polars", "pandas", "pyarrow"):
        return table
    ways = [way for way in ("to_polars", "to_arrow", "to_pandas") if hasattr(table, way)]
    if not ways:
        raise TypeError(
            f"{type(table).__name__} found, expected a table, a folder, or a frame of polars or "
            "pandas"
        )
    for way in ways:
        try:
            return getattr(table, way)()
        except ImportError:
            continue
    raise ImportError("plots of tables need polars, pyarrow or pandas: pip install polars")


def _names(frame: Any) -> list[str]:
    names: Sequence[Any] = frame.column_names if _library(frame) == "pyarrow" else frame.columns
    return [str(name) for name in names]


def _values(frame: Any, name: str) -> list[Any]:
    library, column = _library(frame), frame[name]
    if library == "polars":
        values = column.to_list()
    elif library == "pyarrow":
        values = column.to_pylist()
    else:
        values = column.astype(object).where(column.notna(), None).tolist()
    return [None if value != value else value for value in values]
