"""Sweeps: in memory, in a folder, on Dask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import evenkeel as ek
import pytest
from evenkeel.app import App, compute

from common import MIX, SCHEMAS

GRID: dict[str, Any] = {
    "name": "a test",
    "machine": "quickia",
    "workload": ["2STH-2STL", MIX],
    "policy": ["linux", "acfs"],
    "acfs.swap": [200, 400],
    "size": 0.01,
    "seed": [1, 2],
}
ROWS = (4 + 2) * 3 * 2
"""Applications of both workloads, for linux and two of acfs, with two seeds."""


def test_a_sweep_in_memory_has_a_row_for_each_application_of_a_case() -> None:
    table = ek.sweep(GRID)
    assert len(table) == ROWS
    assert table.columns[:2] == ["machine", "policy"]
    schema = json.loads((SCHEMAS / "sweep.schema.json").read_text())
    assert {column["name"] for column in schema["columns"]} < set(table.columns)
    assert "acfs.swap" in table.columns


def in_order(frame: Any) -> Any:
    """Rows and columns of a frame of Polars in an order of their own."""
    return frame.select(sorted(frame.columns)).sort("case", "app")


def test_a_folder_has_the_rows_of_a_table_in_memory(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    from polars.testing import assert_frame_equal

    folder = ek.sweep(GRID, tmp_path / "out")
    in_memory = in_order(ek.sweep(GRID).to_polars())
    assert_frame_equal(in_memory, in_order(folder.to_polars()))
    read = polars.read_parquet(tmp_path / "out" / "results", hive_partitioning=True)
    assert_frame_equal(in_memory, in_order(read))


def test_all_libraries_read_the_same_folder(tmp_path: Path) -> None:
    polars, _ = pytest.importorskip("polars"), pytest.importorskip("pandas")
    from polars.testing import assert_frame_equal

    folder = ek.sweep(GRID, tmp_path / "out")
    expected = in_order(folder.to_polars())
    assert_frame_equal(in_order(polars.DataFrame(folder.to_arrow())), expected)
    assert folder.to_pandas()["makespan_s"].sum() == pytest.approx(expected["makespan_s"].sum())


def test_a_folder_is_read_again_and_has_its_manifest(tmp_path: Path) -> None:
    ek.sweep(GRID, tmp_path / "out")
    folder = ek.read(tmp_path / "out")
    assert folder.path == tmp_path / "out"
    assert "a test" in json.dumps(folder.manifest)


def test_a_folder_is_not_begun_twice_but_gone_on_with(tmp_path: Path) -> None:
    pytest.importorskip("polars")
    ek.sweep(GRID, tmp_path / "out")
    with pytest.raises(ek.Error, match="parts of this grid are there"):
        ek.sweep(GRID, tmp_path / "out")
    assert len(ek.sweep(GRID, tmp_path / "out", resume=True).to_polars()) == ROWS
    with pytest.raises(ek.Error, match="another sweep"):
        ek.sweep({**GRID, "seed": 3}, tmp_path / "out", resume=True)


def test_shares_make_up_the_whole(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    shares = [ek.sweep(GRID, tmp_path / "out", shard=shard) for shard in ("1/2", "2/2")]
    assert len(shares[-1].to_polars()) == ROWS
    several = [ek.sweep(GRID, shard=shard) for shard in ("1/2", "2/2")]
    frames = [share.to_polars() for share in several if len(share)]
    assert len(polars.concat(frames)) == ROWS


def test_a_range_is_said_in_several_ways() -> None:
    ways: list[Any] = [
        range(200, 401, 200),
        [200, 400],
        (200, 400),
        {"from": 200, "to": 400, "step": 200},
        dict(from_=200, to=400, step=200),
    ]
    tables = [ek.sweep({**GRID, "acfs.swap": way}) for way in ways]
    pytest.importorskip("polars")
    first = in_order(tables[0].to_polars())
    assert all(in_order(table.to_polars()).equals(first) for table in tables)


def test_axes_are_called_as_arguments_are_and_one_that_is_none_is_left_out() -> None:
    grid = {**GRID, "free_costs": [True, False], "duration": None, "zip": ["free_costs", "seed"]}
    assert len(ek.sweep(grid)) == len(ek.sweep(GRID)) == ROWS


def test_values_may_be_in_an_array_of_any_library() -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    for series in (polars.Series, pandas.Series):
        assert len(ek.sweep({**GRID, "seed": series([1, 2])})) == ROWS


@pytest.mark.parametrize(
    ("axis", "value", "text"),
    [
        ("policy", ek.Prototype(), "axis 'policy': Prototype found, expected a name or a Policy"),
        ("seed", {1, 2}, "axis 'seed': set found, expected a value, a list or a range"),
        ("size", (x for x in (1, 2)), "axis 'size': generator found, expected a value"),
    ],
)
def test_a_value_that_no_axis_can_have_is_named(axis: str, value: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        ek.sweep({**GRID, axis: value})


def test_axes_move_together_and_cases_are_left_out() -> None:
    zipped = {**GRID, "size": [0.01, 0.02], "zip": [["seed", "size"]]}
    assert len(ek.sweep(zipped)) == ROWS
    without = {**GRID, "exclude": [{"policy": "linux", "workload": [MIX]}]}
    assert len(ek.sweep(without)) == ROWS - 2 * 2


def test_seeds_replace_those_of_the_grid() -> None:
    assert len(ek.sweep(GRID, seeds=3)) == ROWS // 2 * 3


def test_a_grid_may_be_a_file(tmp_path: Path) -> None:
    text = '[axes]\nmachine = "quickia"\nworkload = [["mcf", "gobmk"]]\npolicy = "linux"\n'
    (tmp_path / "grid.toml").write_text(text + "size = 0.01\n")
    assert len(ek.sweep(tmp_path / "grid.toml")) == 2
    assert len(ek.sweep(str(tmp_path / "grid.toml"))) == 2


def test_a_grid_may_have_what_is_in_memory() -> None:
    app = App("mine")
    app.thread("t", [compute(1_000_000_000)])
    machine = ek.Machine.from_toml(ek.Machine("quickia").to_toml())
    grid = {"machine": [machine], "workload": [app, ["mcf", app]], "policy": [ek.Policy("acfs")]}
    assert len(ek.sweep({**grid, "size": 0.01})) == 3


def test_a_case_that_fails_is_a_row_with_its_reason() -> None:
    pytest.importorskip("polars")
    app = App("stuck")
    app.thread("t", [app.barrier(2).wait()])
    with pytest.warns(UserWarning, match="1 case failed.*barrier"):
        table = ek.sweep({"machine": "quickia", "workload": [app, "mcf"], "policy": "linux",
                          "size": 0.01})  # fmt: skip
    rows = table.to_polars().sort("workload")
    assert rows["error"].is_null().to_list() == [True, False]
    assert rows["makespan_s"].is_null().to_list() == [False, True]
