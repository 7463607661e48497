"""Pictures: what is drawn for which rows, and what the axes say."""

from __future__ import annotations

import importlib
import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

from evenkeel._columns import columns_of  # noqa: E402
from evenkeel._style import PALETTE  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402

# Untyped: what matplotlib says of its own attributes is in the way of tests.
plots: Any = importlib.import_module("evenkeel.plots")


class Ours:
    """As a `Table` or a `Folder`: converts itself, by libraries that may not be there."""

    def __init__(self, rows: list[dict[str, Any]], missing: tuple[str, ...] = ()) -> None:
        self.rows, self.missing = rows, missing

    def to_polars(self) -> Any:
        return self._by("polars", polars.DataFrame)

    def to_arrow(self) -> Any:
        return self._by("pyarrow", lambda rows: polars.DataFrame(rows).to_arrow())

    def to_pandas(self) -> Any:
        return self._by("pandas", pandas.DataFrame)

    def _by(self, library: str, make: Callable[[Any], Any]) -> Any:
        if library in self.missing:
            raise ImportError(library)
        return make(self.rows)


TABLES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "polars, lazy": polars.LazyFrame,
    "pandas, columns of Arrow": lambda rows: (
        polars.DataFrame(rows).to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)
    ),
    "pyarrow": lambda rows: polars.DataFrame(rows).to_arrow(),
    "ours": Ours,
    "ours without polars": lambda rows: Ours(rows, ("polars",)),
    "ours with pandas alone": lambda rows: Ours(rows, ("polars", "pyarrow")),
}


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


# Tables.


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_case_counts_once_in_a_table_of_any_library(make: Callable[..., Any]) -> None:
    rows = [
        {"policy": "a", "app": 0, "energy_j": 2.0},
        {"policy": "a", "app": 1, "energy_j": 2.0},
        {"policy": "b", "app": 0, "energy_j": None},
        {"policy": "c", "app": None, "energy_j": None},
    ]
    assert columns_of(make(rows), ["policy", "energy_j", "stp"]) == {
        "policy": ["a", "b", "c"],
        "energy_j": [2.0, None, None],
    }


def test_what_is_no_table_is_named() -> None:
    with pytest.raises(TypeError, match="dict found, expected a table, a folder, or a frame"):
        plots.pareto({})


def test_a_table_without_any_library_says_what_to_install() -> None:
    with pytest.raises(ImportError, match="pip install polars"):
        plots.pareto(Ours([], ("polars", "pyarrow", "pandas")))


# Timeline.


def interval(thread: int, app: str, core: int, start: float, end: float) -> dict[str, Any]:
    kind = "big" if core >= 2 else "little"
    name = f"{app}{thread}"
    return dict(zip(plots._TIMELINE, (thread, app, core, kind, start, end)), name=name)


INTERVALS = [
    interval(1, "mcf", 2, 0.0, 0.5),
    interval(0, "gamess", 0, 0.0, 1.0),
    interval(2, "gamess", 2, 0.5, 2.0),
]


def test_a_row_is_a_core_and_a_colour_an_application() -> None:
    run = SimpleNamespace(timeline=polars.DataFrame(INTERVALS), cores="2big+2little")
    ax = plots.timeline(run)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["little 0", "1", "big 2", "3"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["gamess", "mcf"]
    assert ax.get_xlabel() == "time (s)" and ax.get_xlim() == (0, 2)
    gamess, mcf = ax.collections
    assert [len(drawn.get_paths()) for drawn in (gamess, mcf)] == [2, 1]
    (box,) = mcf.get_paths()
    assert (box.get_extents().x0, box.get_extents().x1) == (0.0, 0.5)
    assert (box.get_extents().y0 + box.get_extents().y1) / 2 == 2


def test_threads_of_an_application_are_shades_of_its_colour() -> None:
    ax = plots.timeline(polars.DataFrame(INTERVALS))
    gamess, mcf = ax.collections
    shades = [to_hex(shade) for shade in gamess.get_facecolors()]
    assert shades[0].upper() == PALETTE[0] and len(set(shades)) == 2
    assert to_hex(mcf.get_facecolors()[0]).upper() == PALETTE[1]


def test_colours_may_be_names_of_threads_without_their_numbers() -> None:
    rows = [
        {**interval(n, "phone", n % 2, n, n + 1), "name": name}
        for n, name in enumerate(["frame-0", "audio-1", "batch-2", "batch-3", "7"])
    ]
    ax = plots.timeline(pandas.DataFrame(rows), by="name")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["frame", "audio", "batch", "7"]
    with pytest.raises(ValueError, match="by 'thread' found, expected 'app' or 'name'"):
        plots.timeline(pandas.DataFrame(rows), by="thread")


def test_a_run_without_a_timeline_says_how_to_keep_one() -> None:
    with pytest.raises(ValueError, match="timeline=True"):
        plots.timeline(SimpleNamespace(timeline=None))


def test_many_applications_have_hatches_once_colours_repeat() -> None:
    rows = [interval(n, f"app{n}", 0, n, n + 1) for n in range(len(PALETTE) + 1)]
    ax = plots.timeline(pandas.DataFrame(rows))
    assert ax.collections[0].get_hatch() is None
    assert ax.collections[-1].get_hatch() is not None


# Comparison.


def runs(workloads: list[str], half: float | None = None) -> list[SimpleNamespace]:
    seeds = None if half is None else {"count": 10, "ci95": {"makespan_s": half}}
    pairs = itertools.product(workloads, ["linux", "acfs"])
    return [
        SimpleNamespace(
            workloads=[workload], policy=policy, makespan_s=1.0 + n, energy_j=None, seeds=seeds
        )
        for n, (workload, policy) in enumerate(pairs)
    ]


def test_bars_stand_by_workload_and_policy() -> None:
    ax = plots.compare(SimpleNamespace(runs=runs(["ferret", "dedup"])))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["ferret", "dedup"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["linux", "acfs"]
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert heights == [[1.0, 3.0], [2.0, 4.0]]
    assert ax.get_ylabel() == "makespan (s)" and ax.get_ylim()[0] == 0


def test_policies_stand_on_the_axis_where_there_is_one_workload() -> None:
    ax = plots.compare(runs(["ferret"]))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["linux", "acfs"]
    assert ax.get_xlabel() == "policy (ferret)" and ax.get_legend() is None


def test_means_over_seeds_have_their_intervals() -> None:
    ax = plots.compare(runs(["ferret", "dedup"], half=0.25))
    spans = [
        path.vertices[:, 1].tolist() for part in ax.collections for path in part.get_paths()
    ]
    assert [0.75, 1.25] in spans and [3.75, 4.25] in spans
    assert len(plots.compare(runs(["ferret"])).collections) == 0


def test_policies_that_differ_in_knobs_have_bars_of_their_own() -> None:
    knobs = [{"swap": 200.0, "uf": 1.0}, {"swap": 400.0, "uf": 1.0}]
    some = [
        SimpleNamespace(workloads=["w"], policy="acfs", makespan_s=1.0, knobs=of) for of in knobs
    ]
    ax = plots.compare(some)
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert ticks == ["acfs:swap=200", "acfs:swap=400"]


def test_a_run_that_failed_has_no_bar_but_a_word() -> None:
    some = runs(["ferret", "dedup"], half=0.1)
    some[1].makespan_s = None
    ax = plots.compare(some)
    assert [text.get_text().strip() for text in ax.texts] == ["none"]
    assert ax.get_ylim()[0] == 0


def test_a_measure_that_no_run_has_is_named() -> None:
    with pytest.raises(ValueError, match="no run has energy_j"):
        plots.compare(runs(["ferret"]), "energy_j")


def test_bars_of_a_table_are_means_over_its_rows() -> None:
    rows = [
        {"machine": "m", "workload": "ferret", "policy": "p", "app": app, "makespan_s": float(s)}
        for s in (1, 3)
        for app in (0, 1)
    ]
    assert plots.compare(polars.DataFrame(rows)).containers[0][0].get_height() == 2.0


def test_colours_are_told_apart_and_repeat_with_hatches() -> None:
    many = [
        SimpleNamespace(workloads=[w], policy=f"p{n}", makespan_s=1.0, seeds=None)
        for w in "ab"
        for n in range(10)
    ]
    bars = [container[0] for container in plots.compare(many).containers]
    assert len({(to_hex(bar.get_facecolor()), bar.get_hatch()) for bar in bars}) == 10


# Sensitivity.


def swept(**axes: list[Any]) -> list[dict[str, Any]]:
    """Rows of a sweep of two applications each: the makespan grows with the knob."""
    rows: list[dict[str, Any]] = []
    for values in itertools.product(*axes.values()):
        row = dict(zip(axes, values))
        swap = row["acfs.swap"]
        length = {"4STH": 10.0, "ferret": 1.0}[row["workload"]]
        slope = {"4STH": 1.0, "ferret": 2.0}[row["workload"]]
        row["makespan_s"] = length * (1 + slope * (swap - 200) / 200)
        row["stp"] = 1 / row["makespan_s"]
        rows.extend({"machine": "quickia", "policy": "acfs", **row, "app": app} for app in (0, 1))
    return rows


AXES: dict[str, list[Any]] = {
    "workload": ["4STH", "ferret"],
    "acfs.swap": [200, 400, 600],
    "seed": [1, 2],
}


def test_a_line_is_the_geometric_mean_of_ratios_to_the_best() -> None:
    rows = swept(**AXES)
    ax = plots.sensitivity(polars.DataFrame(rows), "acfs.swap")
    (line,) = ax.lines
    assert line.get_xdata().tolist() == [200, 400, 600]
    expected = [1.0, (2 * 3) ** 0.5, (3 * 5) ** 0.5]
    assert line.get_ydata().tolist() == pytest.approx(expected)
    assert ax.get_xlabel() == "acfs.swap"
    assert ax.get_ylabel() == "makespan / lowest\n(mean and range over workloads)"


def test_the_band_is_the_range_over_workloads() -> None:
    ax = plots.sensitivity(pandas.DataFrame(swept(**AXES)), "acfs.swap")
    (band,) = ax.collections
    box = band.get_paths()[0].get_extents()
    assert (box.y0, box.y1) == pytest.approx((1.0, 5.0))


def test_of_some_measures_the_highest_is_best() -> None:
    ax = plots.sensitivity(polars.DataFrame(swept(**AXES)), "acfs.swap", "stp")
    assert ax.lines[0].get_ydata()[0] == 1.0 > ax.lines[0].get_ydata()[1]
    assert ax.get_ylabel().startswith("system throughput / highest")


def test_policies_without_the_knob_have_no_line() -> None:
    rows = swept(**AXES)
    rows += [{**row, "policy": "linux", "acfs.swap": None} for row in rows[:2]]
    ax = plots.sensitivity(polars.DataFrame(rows, infer_schema_length=None), "acfs.swap")
    assert [line.get_label() for line in ax.lines] == ["acfs"]


def test_three_policies_or_more_have_ranges_side_by_side() -> None:
    rows = [{**row, "policy": policy} for policy in "abc" for row in swept(**AXES)]
    ax = plots.sensitivity(polars.DataFrame(rows), "acfs.swap")
    assert [bars.get_label() for bars in ax.containers] == ["a", "b", "c"]
    low, high = ax.get_xlim()
    assert low < 200 < 600 < high


def test_cases_that_failed_are_counted_on_the_axis() -> None:
    rows = swept(**AXES)
    rows.append({**rows[0], "makespan_s": None, "app": None})
    ax = plots.sensitivity(polars.DataFrame(rows), "acfs.swap")
    assert ax.get_xlabel() == "acfs.swap   (1 cases without a result left out)"


def test_an_axis_of_words_is_in_order_of_time() -> None:
    rows = [
        {**row, "decision_latency": latency}
        for latency in ("1ms", "50us")
        for row in swept(**AXES)
    ]
    ax = plots.sensitivity(polars.DataFrame(rows), "decision-latency")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["50us", "1ms"]


def test_a_measure_that_is_0_at_best_has_no_ratios() -> None:
    rows = [{**row, "missed": row["acfs.swap"] - 200} for row in swept(**AXES)]
    with pytest.raises(ValueError, match="missed is 0 at best under acfs: no ratios to it"):
        plots.sensitivity(polars.DataFrame(rows), "acfs.swap", "missed")
    ax = plots.sensitivity(
        polars.DataFrame([{**row, "missed": 0} for row in rows]), "acfs.swap", "missed"
    )
    assert ax.lines[0].get_ydata().tolist() == [1, 1, 1]


def test_a_knob_that_is_no_column_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no column 'acfs.swop' in the table; it has acfs.swap"):
        plots.sensitivity(polars.DataFrame(swept(**AXES)), "acfs.swop")


# Trade-off.


def traded() -> list[dict[str, Any]]:
    """Rows of three workloads of very different lengths; what policies cost relative to linux."""
    ratios = {"gts": (1.1, 1.1), "linux": (1.0, 1.0), "eas": (1.2, 0.8), "hsp": (0.5, 2.0)}
    return [
        {
            "machine": "m",
            "workload": f"w{length}",
            "policy": policy,
            "seed": seed,
            "app": app,
            "makespan_s": time * length,
            "energy_j": energy * length * seed,
        }
        for policy, (time, energy) in ratios.items()
        for length in (1, 10, 1000)
        for seed in (1, 2)
        for app in (0, 1)
    ]


def points(ax: Any) -> dict[str, tuple[float, float]]:
    """Where the labelled points of a picture stand."""
    return {text.get_text(): text.xy for text in ax.texts}


def test_a_point_is_the_mean_ratio_to_the_baseline_over_settings() -> None:
    ax = plots.pareto(polars.DataFrame(traded()))
    found = points(ax)
    assert found["linux"] == pytest.approx((1.0, 1.0))
    assert found["eas"] == pytest.approx((1.2, 0.8))
    assert found["hsp"] == pytest.approx((0.5, 2.0))
    assert ax.get_xlabel() == "makespan / that of linux (less is better)"
    assert "6 settings" in ax.get_title()


def test_the_front_leaves_out_what_another_is_better_than_in_both() -> None:
    ax = plots.pareto(pandas.DataFrame(traded()))
    (front,) = [line for line in ax.lines if line.get_drawstyle() == "steps-post"]
    assert front.get_xdata() == pytest.approx((0.5, 1.0, 1.2))
    filled = [line for line in ax.lines if line.get_markerfacecolor() == PALETTE[0]]
    assert len([line for line in filled if line.get_marker() in "os"]) == 3


def test_another_baseline_is_taken_where_it_is_asked_for() -> None:
    found = points(plots.pareto(polars.DataFrame(traded()), baseline="hsp"))
    assert found["hsp"] == pytest.approx((1.0, 1.0))
    assert found["linux"] == pytest.approx((2.0, 0.5))


def test_a_policy_with_a_knob_is_a_point_for_each_value() -> None:
    rows = [{**row, "acfs.swap": None} for row in traded()]
    for swap in (200, 400):
        rows += [
            {**row, "policy": "acfs", "acfs.swap": swap} for row in rows if row["policy"] == "gts"
        ]
    found = points(plots.pareto(polars.DataFrame(rows, infer_schema_length=None)))
    assert {"acfs:swap=200", "acfs:swap=400"} < set(found)


def test_a_baseline_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="no policy 'cfs' in the table; it has gts, linux"):
        plots.pareto(polars.DataFrame(traded()), baseline="cfs")


def test_a_machine_without_a_power_model_has_no_such_picture() -> None:
    rows = [{**row, "energy_j": None} for row in traded()]
    with pytest.raises(ValueError, match="no row has both makespan_s and energy_j"):
        plots.pareto(polars.DataFrame(rows))


def test_labels_do_not_hide_each_other() -> None:
    rows = [
        {"policy": f"policy{n}", "makespan_s": 1 + n / 100, "energy_j": 1 + n % 3 / 50, "app": 0}
        for n in range(9)
    ]
    ax = plots.pareto(polars.DataFrame(rows))
    from matplotlib.text import Text

    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    assert len(boxes) == 9
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


# All of them.


def test_each_draws_into_given_axes_and_returns_them() -> None:
    sweep = polars.DataFrame(swept(**AXES))
    draws: list[Callable[[Any], Any]] = [
        lambda ax: plots.timeline(polars.DataFrame(INTERVALS), ax),
        lambda ax: plots.compare(runs(["ferret"]), ax=ax),
        lambda ax: plots.sensitivity(sweep, "acfs.swap", ax=ax),
        lambda ax: plots.pareto(polars.DataFrame(traded()), ax=ax),
    ]
    for draw in draws:
        _, ax = pyplot.subplots()
        assert draw(ax) is ax


def test_without_matplotlib_the_error_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from types import SimpleNamespace as R\n"
        "from evenkeel import plots\n"
        "plots.compare([R(workloads=['w'], policy='p', makespan_s=1.0, seeds=None)])\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.stderr.strip().endswith(
        "ImportError: plots need matplotlib: pip install evenkeel[plots]"
    )


def test_importing_the_module_does_not_import_matplotlib() -> None:
    script = "import sys; from evenkeel import plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)
