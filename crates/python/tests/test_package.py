"""The package as its users have it."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import evenkeel as ek
import pytest
from evenkeel.app import App, compute, loop
from everything import everything

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


# What there is.


def test_what_is_built_in_is_listed() -> None:
    assert {"odroid-xu3", "quickia", "pixel6"} <= set(ek.machines())
    assert {"ferret", "hackbench", "4STH"} <= {workload["name"] for workload in ek.workloads()}
    (acfs,) = [policy for policy in ek.policies() if policy["name"] == "acfs"]
    (swap,) = [knob for knob in acfs["knobs"] if knob["name"] == "swap"]
    assert swap["default"] > 0 and swap["about"]


def test_versions_are_stated() -> None:
    assert ek.__version__.count(".") == 2
    assert isinstance(ek.MODEL, int)


def test_all_names_are_there() -> None:
    assert [name for name in ek.__all__ if not hasattr(ek, name)] == []


# Runs.


def test_a_preset_is_simulated() -> None:
    run = ek.simulate("odroid-xu3-paper", "ferret", "gts", size=0.02)
    assert (run.machine, run.policy, run.workloads) == ("odroid-xu3-paper", "gts", ["ferret"])
    assert run.cores == "4big+4little" and run.seed == 1
    assert 0 < run.makespan_s and 1 < run.speedup and 0 < run.energy_j
    assert [app["name"] for app in run.apps] == ["ferret"]
    assert set(run.kinds) == {"big", "little"}
    assert run.error is None and run.seeds is None and run.timeline is None


def test_the_default_policy_is_linux() -> None:
    assert facts(ek.simulate("quickia", MIX, size=0.02)) == facts(quick("linux"))


def test_fields_say_what_the_record_says() -> None:
    run = quick("acfs")
    record = run.to_dict()
    names = [*FIGURES, "machine", "cores", "policy", "workloads", "seed", "seeds", "knobs"]
    for name in [*names, "apps", "kinds", "graph", "error"]:
        assert getattr(run, name) == record.get(name), name
    assert json.loads(run.to_json()) == record
    assert record["schema"] == "evenkeel.result/1"


def test_a_record_is_as_its_schema_says() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SCHEMAS / "result.schema.json").read_text())
    for run in (quick(), *ek.compare("quickia", [MIX], ["acfs"], seeds=2, size=0.02).runs):
        jsonschema.validate(run.to_dict(), schema)


def test_workloads_of_a_list_run_together() -> None:
    run = quick()
    assert run.workloads == MIX
    assert len(run.apps) == 2 and run.unfairness >= 1
    assert facts(run) == facts(quick(workload=ek.Workload("mcf") + ek.Workload("gobmk")))
    assert facts(run) == facts(quick(workload=[ek.Workload("mcf"), "gobmk"]))


def test_the_same_seed_gives_the_same_run_and_another_another() -> None:
    def run(seed: int) -> dict[str, Any]:
        return facts(quick(workload="sc09-ferret", size=0.001, seed=seed))

    assert run(1) == run(1)
    assert run(1)["makespan_s"] != run(2)["makespan_s"]


def test_settings_are_those_of_the_command_line() -> None:
    assert quick(cores="1big").cores == "1big"
    assert quick(size=0.04).makespan_s > quick(size=0.02).makespan_s
    for half in (0.5, "500ms"):
        cut = quick(workload="spin:threads=2,seconds=10", size=1, duration=half)
        assert cut.makespan_s == 0.5
    assert quick("acfs", estimator="modelled=0.5").to_dict()["estimator"] == "modelled=0.5"
    assert quick(workload="blackscholes", workers=3).apps[0]["threads"] in (3, 4)
    assert quick(free_costs=True).makespan_s < quick().makespan_s


def test_a_task_graph_has_measures_of_its_own() -> None:
    run = quick("heft", workload="stg-twelve", link="1GB/s")
    assert run.graph["tasks"] > 0 and run.graph["slr"] >= 1
    assert quick().graph is None


# Machines.


def test_a_machine_tells_its_kinds_and_has_parts() -> None:
    machine = ek.Machine("odroid-xu3")
    assert (machine.name, machine.cores) == ("odroid-xu3", "4big+4little")
    big, little = machine.kinds
    assert big == {"name": "big", "capacity": 1024, "cores": 4, "max_khz": 2_000_000}
    assert little["capacity"] < 1024
    part = machine.part("1big+2little")
    assert part.cores == ek.Machine("odroid-xu3", cores="1big+2little").cores == "1big+2little"
    assert ek.simulate(part, "ferret", size=0.01).cores == "1big+2little"


def test_a_part_runs_as_the_flag_for_it_does() -> None:
    part = ek.simulate(ek.Machine("odroid-xu3").part("1big+2little"), "ferret", size=0.01)
    flag = ek.simulate("odroid-xu3", "ferret", size=0.01, cores="1big+2little")
    assert facts(part) == facts(flag)


def test_a_machine_file_s_text_is_a_machine() -> None:
    text = ek.Machine("quickia").to_toml()
    machine = ek.Machine.from_toml(text)
    assert machine.to_toml() == text and machine.kinds == ek.Machine("quickia").kinds
    faster = ek.Machine.from_toml(text.replace('"quickia"', '"ours"', 1))
    assert ek.simulate(faster, MIX, size=0.02).makespan_s == quick().makespan_s


def test_a_machine_may_have_free_costs() -> None:
    free = ek.simulate(ek.Machine("quickia", free_costs=True), MIX, size=0.02)
    assert facts(free) == facts(quick(free_costs=True))


# Workloads.


def test_workloads_add_up() -> None:
    both = ek.Workload("mcf") + ek.Workload("gobmk")
    assert both.names == ek.Workload("mcf", "gobmk").names == ["mcf", "gobmk"]


def test_a_workload_s_text_is_the_same_workload() -> None:
    text = ek.Workload("blackscholes").to_json("quickia", size=0.01)
    assert json.loads(text)["format"] == "evenkeel.workload/1"
    again = quick("gts", ek.Workload.from_json(text, name="again"), size=None)
    assert again.makespan_s == quick("gts", "blackscholes", size=0.01).makespan_s
    assert again.workloads == ["again"]


def test_an_application_built_in_code_runs() -> None:
    app = App("pair")
    work, barrier = app.phase("work", factor=3.0), app.barrier(2)
    app.thread("both", [loop(100, [compute(3_000_000, work), barrier.wait()])], count=2)
    run = ek.simulate("odroid-xu3", app, "pinned", cores="1big+1little")
    assert run.workloads == ["pair"] and run.apps[0]["threads"] == 2
    little_ghz = 1.4
    assert run.makespan_s == pytest.approx(100 * 3e6 / (little_ghz * 1e9), rel=0.02)


def test_all_that_can_be_built_in_code_is_read_and_runs_to_its_end() -> None:
    app = everything()
    run = ek.simulate("odroid-xu3", app)
    assert "cut_at_s" not in run.apps[0] and run.makespan_s < 1
    assert run.notes == ["made for tests"] or "made for tests" in " ".join(run.notes)


def test_an_application_is_read_as_it_was_built() -> None:
    app = everything()
    written = json.loads(ek.Workload.from_json(app.__evenkeel__()).to_json("odroid-xu3"))
    assert written["applications"][0] == without_defaults(app.to_dict()["applications"][0])


def without_defaults(value: Any) -> Any:
    """A document without what the module leaves out: a first phase, and costs of nothing."""
    if isinstance(value, list):
        return [without_defaults(item) for item in value]
    if not isinstance(value, dict):
        return value
    ends = "of" in value
    return {
        key: without_defaults(item)
        for key, item in value.items()
        if ends or not (key in ("phase", "create_cost", "take_cost") and item == 0)
    }


def test_an_application_runs_beside_others() -> None:
    app = App("mine")
    app.thread("t", [compute(1_000_000_000)])
    assert quick(workload=["mcf", app]).workloads == ["mcf", "mine"]


# Policies.


def test_knobs_are_given_by_name() -> None:
    policy = ek.Policy("acfs", swap=200)
    assert policy.label == "acfs:swap=200"
    run = quick(policy)
    assert run.policy == "acfs" and run.knobs["swap"] == 200
    assert facts(run) == facts(quick("acfs:swap=200"))
    assert quick("acfs").knobs["swap"] != 200


# Errors.


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: quick("pined"), "no policy 'pined'.*pinned"),
        (lambda: quick(workload="ferrett"), "no workload 'ferrett'.*ferret"),
        (lambda: ek.simulate("odroid-xu4", MIX), "odroid-xu4.*odroid-xu3"),
        (lambda: ek.Machine("odroid-xu4"), "odroid-xu4.*odroid-xu3"),
        (lambda: ek.Workload("ferrett"), "ferrett.*ferret"),
        (lambda: ek.Policy("acfs", swop=1), "acfs has no knob 'swop'; it has .*swap"),
        (lambda: ek.Policy("acfs", swap="x"), "knob swap of acfs: 'x' found"),
        (lambda: quick(cores="9big"), "9big|big"),
        (lambda: quick(size=0.0), "size"),
        (lambda: quick(estimator="magic"), "magic"),
        (lambda: quick(governor="magic"), "magic"),
        (lambda: quick(duration="soon"), "soon"),
        (lambda: quick(workload=[]), "no workload"),
        (lambda: ek.Workload.from_json("{}"), "not a workload|expected"),
        (lambda: ek.Machine.from_toml("name = 3"), "name"),
        (lambda: ek.compare("quickia", [MIX], []), "no policy"),
        (lambda: ek.compare("quickia", [MIX], ["linux"], seeds=0), "seed"),
        (lambda: ek.sweep({"machine": "quickia", "workload": "mcf"}), "no axis 'policy'"),
        (lambda: ek.sweep({"machin": "quickia"}), "machin"),
        (lambda: ek.sweep("no-such-file.toml"), "no-such-file.toml"),
        (lambda: ek.read("no-such-folder"), "no-such-folder: no folder of a sweep"),
        (lambda: ek.reproduce("no-such-study"), "no study 'no-such-study'.*acfs"),
        (lambda: ek.reproduce("acfs", [99]), "no experiment 99"),
    ],
)
def test_what_is_wrong_is_said_as_the_command_line_does(
    call: Callable[[], Any], text: str
) -> None:
    with pytest.raises(ek.Error, match=text) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_thing_of_the_wrong_type_is_named() -> None:
    three: Any = 3
    with pytest.raises(TypeError, match="policy: int found, expected"):
        quick(three)
    with pytest.raises(TypeError, match="workload: int found, expected"):
        quick(workload=three)
    with pytest.raises(TypeError, match="machine: int found, expected"):
        ek.simulate(three, MIX)


def test_a_deadlock_says_what_each_thread_waits_for() -> None:
    app = App("stuck")
    app.thread("t", [app.barrier(2).wait()])
    with pytest.raises(ek.Error, match="barrier"):
        quick(workload=app)


# Timelines.


def test_a_timeline_has_a_row_for_each_stretch_on_a_core() -> None:
    run = quick("gts", workload="4STH", timeline=True)
    assert run.timeline.columns == ["thread", "name", "app", "core", "kind", "start_s", "end_s"]
    assert len(run.timeline) > 0
    assert facts(run) == facts(quick("gts", workload="4STH"))


def test_stretches_on_one_core_do_not_overlap() -> None:
    polars = pytest.importorskip("polars")
    run = quick("gts", workload="4STH", timeline=True)
    rows: Any = run.timeline.to_polars().sort("core", "start_s")
    assert rows["start_s"].min() < 1e-3 and rows["end_s"].max() <= run.makespan_s
    assert (rows["start_s"] < rows["end_s"]).all()
    gaps = rows["start_s"] - rows["end_s"].shift(1)
    same = rows["core"] == rows["core"].shift(1)
    assert gaps.filter(same.fill_null(False)).min() >= 0
    busy = rows.group_by("kind").agg(
        (polars.col("end_s") - polars.col("start_s")).sum().alias("busy")
    )
    for kind, seconds in busy.iter_rows():
        assert seconds == pytest.approx(run.kinds[kind]["busy_s"], rel=0.01)


# Comparisons.


def test_a_comparison_has_a_run_for_each_workload_and_policy() -> None:
    compared = ek.compare("quickia", ["mcf", MIX], ["linux", "acfs"], size=0.02)
    pairs = [(run.workloads, run.policy) for run in compared.runs]
    assert pairs == [(w, p) for w in (["mcf"], MIX) for p in ("linux", "acfs")]
    assert facts(compared.runs[3]) == facts(quick("acfs"))
    assert "linux" in str(compared) and "acfs" in str(compared)
    assert compared.verdict and compared.verdict in str(compared)


def test_means_over_seeds_have_intervals() -> None:
    compared = ek.compare("quickia", "sc09-ferret", ["linux", "acfs"], seeds=3, size=0.001)
    alone = [quick(workload="sc09-ferret", size=0.001, seed=seed) for seed in (1, 2, 3)]
    linux = compared.runs[0]
    assert linux.seeds["count"] == 3 and linux.seeds["ci95"]["makespan_s"] > 0
    assert linux.makespan_s == pytest.approx(statistics.mean(it.makespan_s for it in alone))


def test_a_comparison_is_the_same_for_any_number_of_jobs() -> None:
    one, two = (
        ek.compare("quickia", [MIX, "4STH"], ["linux", "acfs"], size=0.02, jobs=jobs)
        for jobs in (1, 2)
    )
    assert [facts(run) for run in one.runs] == [facts(run) for run in two.runs]


def test_a_comparison_s_table_has_its_runs() -> None:
    pytest.importorskip("polars")
    compared = ek.compare("quickia", [MIX], ["linux", "acfs"], size=0.02)
    rows = compared.to_polars().filter(app=0)
    assert rows["policy"].to_list() == ["linux", "acfs"]
    assert rows["makespan_s"].to_list() == [run.makespan_s for run in compared.runs]


def test_a_comparison_draws_itself() -> None:
    pytest.importorskip("matplotlib")
    ax = ek.compare("quickia", [MIX], ["linux", "acfs"], size=0.02).plot("unfairness")
    assert len(ax.patches) == 2


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    ek.compare(
        "quickia", [MIX], ["linux"], size=0.02, progress=lambda done, of: told.append((done, of))
    )
    assert told[-1] == (1, 1)


# Sweeps.

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


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_workers_of_dask_write_the_same_bytes(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    ek.sweep(GRID, tmp_path / "here")
    ek.sweep(GRID, tmp_path / "dask", on="dask", jobs=2)
    here, dask = (
        {path.relative_to(out): path.read_bytes() for path in out.rglob("*.parquet")}
        for out in (tmp_path / "here", tmp_path / "dask")
    )
    assert here and here == dask


# Tables.


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


# Prototypes.


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


def test_a_prototype_runs_to_its_end() -> None:
    run = quick(OneQueue(), workload="4STH")
    assert run.policy == "one-queue" and run.error is None
    assert facts(run) == facts(quick(OneQueue(), workload="4STH"))


def test_a_prototype_with_one_queue_keeps_all_cores_busy() -> None:
    run = quick(OneQueue(), workload="spin:threads=8,seconds=1", size=1)
    busy, idle = (
        sum(kind[what] for kind in run.kinds.values()) for what in ("busy_s", "idle_s")
    )
    # At the end a thread stays on the small core that it has.
    assert run.kinds["small"]["idle_s"] == 0 and idle < 0.3 * busy


def test_a_prototype_is_compared_with_others() -> None:
    compared = ek.compare("quickia", ["4STH"], ["linux", OneQueue()], size=0.02)
    assert [run.policy for run in compared.runs] == ["linux", "one-queue"]
    assert facts(compared.runs[1]) == facts(quick(OneQueue(), workload="4STH"))


class Watching(OneQueue):
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.seen: list[Any] = []

    def event(self, event: Any, view: Any, say: Any) -> None:
        self.told.append(event.kind)
        if event.kind == "started":
            self.seen.append(view)
        super().event(event, view, say)


def test_a_prototype_is_told_what_it_is_interested_in() -> None:
    alone = Watching()
    quick(alone, workload="sleepers")
    assert set(alone.told) <= {"started", "exited", "core_online"}
    curious = Watching()
    curious.interest = ("woke", "blocked", "picked", "core_idle")
    quick(curious, workload="sleepers")
    assert {"started", "exited", "woke", "blocked", "picked", "core_idle"} <= set(curious.told)
    assert curious.told.count("started") == alone.told.count("started")


def test_a_prototype_sees_threads_and_cores() -> None:
    policy = Watching()
    quick(policy, workload="4STH")
    view = policy.seen[0]
    assert view.now == 0 and len(view.cores) == 4 and view.online() == [0, 1, 2, 3]
    assert all(core.online for core in view.cores)
    assert set(view.runnable()) <= set(view.live)
    thread = view.threads[view.live[0]]
    assert thread.weight == 1024 and thread.app == 0
    assert len(thread.time_on) == len(thread.speedup) == 2
    assert thread.speedup[0] > thread.speedup[1] == 1
    assert view.allowed(view.live[0], 0)


def test_a_timer_is_told_at_its_period() -> None:
    class Ticking(OneQueue):
        times: list[int] = []

        def start(self, view: Any, say: Any) -> None:
            super().start(view, say)
            say.timer(10_000_000)

        def event(self, event: Any, view: Any, say: Any) -> None:
            super().event(event, view, say)
            if event.kind == "timer":
                self.times.append(view.now)

    policy = Ticking()
    quick(policy)
    assert len(policy.times) > 3
    assert {b - a for a, b in zip(policy.times, policy.times[1:])} == {10_000_000}


@pytest.mark.parametrize("method", ["start", "event"])
def test_an_exception_of_a_prototype_is_that_of_the_run(method: str) -> None:
    mine = ZeroDivisionError("mine")

    def fail(*_: Any) -> None:
        raise mine

    policy = OneQueue()
    setattr(policy, method, fail)
    with pytest.raises(ZeroDivisionError) as caught:
        quick(policy)
    assert caught.value is mine
    quick(OneQueue())


@pytest.mark.parametrize(
    "said",
    [
        lambda say, view: say.assign(0, 99),
        lambda say, view: say.serve(99, [[0]]),
        lambda say, view: say.charge(0, [1]),
        lambda say, view: say.make_queue(clock="mine"),
        lambda say, view: say.slice(0, 1_000_000, batch=0),
    ],
)
def test_a_directive_that_cannot_be_is_an_error_where_it_is_said(
    said: Callable[[Any, Any], Any],
) -> None:
    class Wrong(OneQueue):
        def event(self, event: Any, view: Any, say: Any) -> None:
            super().event(event, view, say)
            said(say, view)

    with pytest.raises((ValueError, IndexError), match="found|no "):
        quick(Wrong())


def test_an_interest_in_what_there_is_not_is_named() -> None:
    policy = OneQueue()
    policy.interest = ("woken",)
    with pytest.raises(ValueError, match="'woken' found, expected some of woke"):
        quick(policy)


# Studies.


def test_a_study_is_carried_out_again(tmp_path: Path) -> None:
    study = ek.reproduce("acfs", [1], quick=True)
    assert study.exhibits and all(it["title"] and it["rows"] for it in study.exhibits)
    assert study.exhibits[0]["title"] in str(study)
    study.html(tmp_path / "acfs.html")
    assert "<html" in (tmp_path / "acfs.html").read_text().lower()


# How it behaves as a module.


def cpu_time_of(script: str) -> float:
    """CPU seconds of a fresh process, the median of five."""
    script += "\nimport time; print(time.process_time())"

    def once() -> float:
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
        return float(ended.stdout)

    return statistics.median(once() for _ in range(5))


def test_importing_takes_less_than_0_3_seconds_of_cpu_time() -> None:
    assert cpu_time_of("import evenkeel") - cpu_time_of("pass") < 0.3


def test_importing_loads_no_library_for_frames_or_plots() -> None:
    script = (
        "import evenkeel, sys\n"
        "heavy = {'polars', 'pandas', 'pyarrow', 'numpy', 'matplotlib', 'dask', 'distributed'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_two_threads_at_once_get_what_one_gets() -> None:
    settings = [("linux", seed) for seed in range(1, 9)] + [("acfs", seed) for seed in range(1, 9)]

    def run(setting: tuple[str, int]) -> dict[str, Any]:
        policy, seed = setting
        return facts(quick(policy, workload="sc09-ferret", size=0.001, seed=seed))

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, settings)) == [run(setting) for setting in settings]


def test_prototypes_run_in_two_threads_at_once() -> None:
    expected = facts(quick(OneQueue(), workload="4STH"))
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: facts(quick(OneQueue(), workload="4STH")), range(4)))
    assert found == [expected] * 4


@pytest.fixture
def ticks() -> Iterator[list[float]]:
    """When another thread of Python ran, about each millisecond."""
    found: list[float] = []
    over = threading.Event()

    def tick() -> None:
        while not over.wait(0.001):
            found.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    yield found
    over.set()
    thread.join()


def test_other_threads_of_python_run_meanwhile(ticks: list[float]) -> None:
    seconds, size = 0.0, 0.01
    while seconds < 0.2 and size < 1000:
        size *= 4
        start = time.monotonic()
        quick(workload="sc09-ferret", size=min(size, 1000))
        end = time.monotonic()
        seconds = end - start
    within = [at for at in ticks if start + 0.01 < at < end - 0.01]
    assert len(within) > 5


INTERRUPTED = {
    "sweep": "ek.sweep({'machine': 'quickia', 'workload': '4STH', 'policy': 'linux'}, "
    "seeds=1_000_000)",
    "compare": "ek.compare('quickia', '4STH', ['linux'] * 40, seeds=10_000)",
    "simulate": "ek.simulate('quickia', 'barrier:rounds=100000', size=1000)",
}


@pytest.mark.parametrize("call", INTERRUPTED.values(), ids=INTERRUPTED)
def test_ctrl_c_ends_what_takes_long(call: str) -> None:
    script = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import evenkeel as ek
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    sys.exit(42)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(1)
        assert process.poll() is None, "it was over before it could be interrupted"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 42
    finally:
        process.kill()
        process.communicate()
