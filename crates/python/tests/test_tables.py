"""Tables, as libraries for frames take them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from common import quick


@pytest.fixture(scope="module")
def table() -> Any:
    return quick("gts", workload="4STH", timeline=True).timeline


def address(array: Any) -> int:
    """Where the values of an array of Arrow lie."""
    return int(array.buffers()[1].address)


def test_frames_share_the_memory_of_a_table(table: Any) -> None:
    pyarrow, pandas = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = table.to_polars()
    assert isinstance(frame, polars.DataFrame)
    for name in ("thread", "core", "start_s", "end_s"):
        (chunk,) = table.to_arrow()[name].chunks
        assert address(frame[name].to_arrow()) == address(chunk)
        assert address(polars.DataFrame(table)[name].to_arrow()) == address(chunk)
        (again,) = pyarrow.table(table)[name].chunks
        assert address(again) == address(chunk)
    column = pandas.DataFrame(table.to_pandas())["start_s"].array.__arrow_array__()
    column = column.chunk(0) if isinstance(column, pyarrow.ChunkedArray) else column
    assert address(column) == address(table.to_arrow()["start_s"].chunk(0))


def test_memory_outlives_its_table() -> None:
    pytest.importorskip("polars")
    frame = quick("gts", workload="4STH", timeline=True).timeline.to_polars()
    total = frame["end_s"].sum()
    assert total == quick("gts", workload="4STH", timeline=True).timeline.to_polars()["end_s"].sum()


def test_all_libraries_see_the_same_rows(table: Any) -> None:
    pytest.importorskip("pyarrow"), pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows = table.to_arrow().to_pylist()
    assert len(rows) == len(table)
    assert table.to_polars().to_dicts() == rows
    assert table.to_pandas().to_dict("records") == rows


def test_a_table_says_what_to_install_where_a_library_is_missing() -> None:
    script = (
        "import sys; sys.modules['polars'] = None\n"
        "import evenkeel as ek\n"
        "ek.sweep({'machine': 'quickia', 'workload': 'mcf', 'policy': 'linux', 'size': 0.01})"
        ".to_polars()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "ImportError" in ended.stderr and "pip install polars" in ended.stderr
