"""Pictures of runs, comparisons and sweeps, by matplotlib.

Each function draws into `ax`, or into a new figure, and returns the axes.

>>> import evenkeel as ek
>>> run = ek.simulate("odroid-xu3", "ferret", "gts", size=0.01, timeline=True)
>>> ek.plots.timeline(run).figure.savefig("ferret.png")  # doctest: +SKIP
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import exp, log
from typing import TYPE_CHECKING, Any

from ._columns import Columns, all_rows, columns_of, names_of
from ._style import (
    GREY,
    HIGHER_IS_BETTER,
    axes,
    axis_label,
    colour,
    hatch,
    label_points,
    legend_above,
    line,
    quiet,
    words,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["compare", "pareto", "sensitivity", "timeline"]


def mean(values: Iterable[float]) -> float:
    """The geometric mean; the arithmetic one where a value is 0 or less.

    >>> mean([1.0, 4.0]), mean([0, 4])
    (2.0, 2.0)
    """
    found = list(values)
    if all(value > 0 for value in found):
        return exp(sum(map(log, found)) / len(found))
    return sum(found) / len(found)


# Timeline.

_TIMELINE = ("thread", "app", "core", "kind", "start_s", "end_s")
_TINTS = (0.0, 0.22, 0.42)
"""How much white is mixed into an application's colour: its threads take turns with these."""
_NUMBER = re.compile(r"(?<=.)-?\d+$")
"""What tells threads of one name apart."""
_MOST_EDGES = 400
"""Beyond so many intervals, lines between them would hide their colours."""
_MOST_VECTORS = 20_000
"""Beyond so many intervals, a PDF or SVG gets a bitmap of them."""


def timeline(run: Any, ax: Axes | None = None, *, by: str = "app") -> Axes:
    """Which application had which core, over time.

    Rows are cores. A colour is an application, its shades are its threads; white is idle time.
    With ``by="name"`` a colour is a name of threads, without the number at its end: the tasks of
    an rt-app file, say. `run` is of `simulate` with ``timeline=True``, or a table with the columns
    of a timeline. Anything else raises `ValueError`.

    >>> import evenkeel as ek
    >>> run = ek.simulate("quickia", "2STH-2STL", "acfs", size=0.01, timeline=True)
    >>> ek.plots.timeline(run).get_xlabel()
    'time (s)'
    """
    if by not in ("app", "name"):
        raise ValueError(f"by '{by}' found, expected 'app' or 'name'")
    table = getattr(run, "timeline", run)
    if table is None:
        raise ValueError("the run has no timeline: simulate(..., timeline=True) keeps one")
    rows = all_rows(table, [*_TIMELINE, by])
    _needs(rows, [*_TIMELINE, by])
    if by == "name":
        rows["app"] = [_NUMBER.sub("", name) for name in rows["name"]]
    kinds = dict(zip(rows["core"], rows["kind"], strict=True))
    cores = max(_core_count(run), 1 + max(kinds, default=0))
    made = axes(ax, 8.0, 1.1 + 0.3 * cores)
    in_order = sorted(zip(rows["thread"], rows["app"], strict=True))
    apps = list(dict.fromkeys(app for _, app in in_order))
    patches = [_draw_app(made, rows, app, index) for index, app in enumerate(apps)]
    numbers = range(cores)
    made.set_yticks(numbers, [f"{kinds.get(core, '')} {core}".strip() for core in numbers])
    made.tick_params(axis="y", length=0)
    made.set(ylim=(cores - 0.5, -0.5), xlabel="time (s)", ylabel="core")
    made.set_xlim(0, max(rows["end_s"], default=1.0))
    quiet(made, "x")
    legend_above(made, patches)
    return made


def _core_count(run: Any) -> int:
    """How many cores a run used, from text as ``4big+4little``; 0 if it does not say."""
    cores = getattr(run, "cores", None)
    if not isinstance(cores, str):
        return 0
    return sum(int(count) for count in re.findall(r"(?:^|\+)(\d+)", cores))


def _draw_app(ax: Axes, rows: Columns, app: str, index: int) -> Any:
    """Draws an application's intervals. Returns what stands for it in the legend."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    mine = [row for row, of in enumerate(rows["app"]) if of == app]
    order: dict[Any, int] = {}
    boxes, shades = [], []
    for row in mine:
        thread = order.setdefault(rows["thread"][row], len(order))
        white = _TINTS[thread % len(_TINTS)]
        shades.append([part + (1 - part) * white for part in to_rgb(colour(index))])
        core, start, end = (rows[name][row] for name in ("core", "start_s", "end_s"))
        top, bottom = core - 0.4, core + 0.4
        boxes.append([(start, top), (end, top), (end, bottom), (start, bottom)])
    many = len(rows["app"]) > _MOST_EDGES
    drawn = PolyCollection(
        boxes,
        facecolors=shades,
        edgecolors="none" if many else "white",
        linewidths=0 if many else 0.5,
        hatch=hatch(index) or None,
    )
    drawn.set_rasterized(len(rows["app"]) > _MOST_VECTORS)
    ax.add_collection(drawn)
    return Patch(facecolor=colour(index), hatch=hatch(index), edgecolor="white", label=app)


# Comparison.

Bar = tuple[float | None, float | None]
"""A value, and half the width of its 95 % interval."""


def compare(comparison: Any, measure: str = "makespan_s", ax: Axes | None = None) -> Axes:
    """Bars of a measure by workload and policy.

    Lines on the bars are 95 % intervals, where runs are means over seeds. `comparison` may also be
    a list of runs, or a table: rows of a table that differ in nothing but other columns are
    averaged, and have no interval.

    >>> import evenkeel as ek
    >>> both = ek.compare("quickia", "sc09-ferret", ["linux", "acfs"], size=0.001, seeds=3)
    >>> compare(both, "speedup").get_ylabel()
    'speedup'
    """
    bars = _bars(comparison, measure)
    if all(value is None for value, _ in bars.values()):
        raise ValueError(f"no run has {measure}")
    workloads = list(dict.fromkeys(workload for workload, _ in bars))
    policies = list(dict.fromkeys(policy for _, policy in bars))
    alone = len(workloads) == 1
    made = axes(ax, min(16.0, max(6.4, 1.5 + 0.28 * len(workloads) * (len(policies) + 1))))
    width = 0.8 if alone else 0.8 / len(policies)
    for index, policy in enumerate(policies):
        of_policy = [bars.get((workload, policy), (None, None)) for workload in workloads]
        first = float(index) if alone else (index - (len(policies) - 1) / 2) * width
        places = [place + first for place in range(len(workloads))]
        _draw_bars(made, places, of_policy, width, policy, index)
    named = policies if alone else workloads
    long = len(named) > 1 and max(map(len, named)) * len(named) > 60
    made.set_xticks(range(len(named)), named, rotation=30 if long else 0)
    made.tick_params(axis="x", length=0)
    if long:
        for label in made.get_xticklabels():
            label.set(ha="right", rotation_mode="anchor")
    made.set_xlim(-0.6, len(named) - 0.4)
    made.set_ylim(bottom=min(0.0, *(value or 0.0 for value, _ in bars.values())))
    made.set_ylabel(axis_label(measure))
    quiet(made)
    if alone:
        made.set_xlabel(f"policy ({workloads[0]})")
    else:
        legend_above(made)
    return made


def _bars(comparison: Any, measure: str) -> dict[tuple[str, str], Bar]:
    """The bars by workload and policy, in the order of the runs."""
    runs = getattr(comparison, "runs", comparison)
    if not isinstance(runs, (list, tuple)):
        return _bars_of_table(comparison, measure)
    bars: dict[tuple[str, str], Bar] = {}
    for run, policy in zip(runs, _policies(runs), strict=True):
        seeds = getattr(run, "seeds", None) or {}
        half = seeds.get("ci95", {}).get(measure)
        bars[" + ".join(run.workloads), policy] = (getattr(run, measure), half)
    return bars


def _policies(runs: Iterable[Any]) -> list[str]:
    """The policy of each run, with those knobs by which runs of one policy differ."""
    pairs = [(run.policy, getattr(run, "knobs", None) or {}) for run in runs]
    values: dict[str, dict[str, list[Any]]] = {}
    for policy, knobs in pairs:
        of_policy = values.setdefault(policy, {})
        for name, value in knobs.items():
            of_policy.setdefault(name, []).append(value)
    return [
        _with_knobs(
            policy,
            {name: it for name, it in knobs.items() if len(set(values[policy][name])) > 1},
        )
        for policy, knobs in pairs
    ]


def _bars_of_table(table: Any, measure: str) -> dict[tuple[str, str], Bar]:
    rows = columns_of(table, ["machine", "workload", "policy", measure])
    _needs(rows, ["workload", "policy", measure])
    machines = rows.get("machine", [None] * len(rows["policy"]))
    several = len(set(machines)) > 1
    found: dict[tuple[str, str], list[float]] = {}
    cells = zip(machines, rows["workload"], rows["policy"], rows[measure], strict=True)
    for machine, workload, policy, value in cells:
        name = f"{workload}, {machine}" if several else workload
        found.setdefault((name, policy), []).extend([] if value is None else [value])
    # The arithmetic mean, as that over seeds is.
    return {
        key: (sum(values) / len(values) if values else None, None) for key, values in found.items()
    }


def _draw_bars(
    ax: Axes, places: list[float], bars: list[Bar], width: float, policy: str, index: int
) -> None:
    from matplotlib import rc_context

    heights = [value or 0.0 for value, _ in bars]
    halves = [half or 0.0 if value is not None else 0.0 for value, half in bars]
    with rc_context({"hatch.color": "white", "hatch.linewidth": 0.8}):
        ax.bar(
            places,
            heights,
            width * 0.92,
            color=colour(index),
            hatch=hatch(index),
            label=policy,
            yerr=halves if any(halves) else None,
            error_kw={"ecolor": "black", "elinewidth": 1.0, "capsize": min(3.0, 12 * width)},
        )
    for place, (value, _) in zip(places, bars, strict=True):
        if value is None:
            ax.text(place, 0, " none", rotation=90, ha="center", va="bottom", color=GREY, size=8)


# Sensitivity.

_BESIDE = 5
"""Points between lines that stand side by side."""
_DURATION = re.compile(r"([\d.]+)(ns|us|ms|s|min|h|d)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}


def sensitivity(
    table: Any, knob: str, measure: str = "makespan_s", ax: Axes | None = None
) -> Axes:
    """How much a knob, or any other axis of a sweep, matters for each policy.

    For each machine, workload and policy the measure is averaged over all other things, and
    divided by its best average over the values of the knob. So 1 is best. A line is the geometric
    mean over machines and workloads, its band their range. A measure that is 0 at best, as missed
    deadlines may be, has no ratios and raises `ValueError`.

    >>> import evenkeel as ek
    >>> grid = {"machine": "quickia", "workload": ["4STH", "2STH-2STL"], "policy": "acfs",
    ...         "acfs.swap": [200, 400, 800], "size": 0.02}
    >>> sensitivity(ek.sweep(grid), "acfs.swap", "unfairness").get_xlabel()
    'acfs.swap'
    """
    column = _column(table, knob)
    lines, failed = _ratios_by_knob(table, column, measure)
    values = _in_order(dict.fromkeys(value for points in lines.values() for value in points))
    numeric = all(_is_number(value) for value in values)
    several = any(len(found) > 1 for points in lines.values() for found in points.values())
    made = axes(ax)
    _knob_axis(made, values, numeric)
    for index, (policy, points) in enumerate(lines.items()):
        there = [value for value in values if value in points]
        x = there if numeric else [values.index(value) for value in there]
        _draw_line(made, x, [points[value] for value in there], policy, index, len(lines))
    made.set_xlabel(knob if failed == 0 else f"{knob}   ({failed} cases without a result left out)")
    best = "highest" if measure in HIGHER_IS_BETTER else "lowest"
    range_of = "\n(mean and range over workloads)" if several else ""
    made.set_ylabel(f"{words(measure)} / {best}{range_of}")
    quiet(made)
    legend_above(made)
    return made


def _draw_line(
    ax: Axes, x: list[Any], ratios: list[list[float]], policy: str, index: int, count: int
) -> None:
    """Means and ranges. One or two lines have bands; more have bars side by side, since bands
    would hide each other."""
    from matplotlib.transforms import ScaledTranslation

    style = line(index)
    means = [mean(found) for found in ratios]
    if count <= 2:
        ax.plot(x, means, label=policy, **style)
        if any(len(found) > 1 for found in ratios):
            low, high = list(map(min, ratios)), list(map(max, ratios))
            ax.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)
        return
    aside = (index - (count - 1) / 2) * _BESIDE / 72
    shift = ScaledTranslation(aside, 0, ax.figure.dpi_scale_trans)
    below = [middle - min(found) for middle, found in zip(means, ratios, strict=True)]
    above = [max(found) - middle for middle, found in zip(means, ratios, strict=True)]
    bars = ax.errorbar(x, means, [below, above], label=policy, elinewidth=1.0, **style)
    ax.margins(x=0.08)
    # Moved only now: the limits of axes follow what has the axes' own transform.
    for part in (bars[0], *bars[2]):
        part.set_transform(ax.transData + shift)


def _ratios_by_knob(
    table: Any, column: str, measure: str
) -> tuple[dict[str, dict[Any, list[float]]], int]:
    """By policy and value of the knob, the ratio to the best in each setting; and how many rows
    have no measure."""
    rows = columns_of(table, ["machine", "workload", "policy", column, measure])
    _needs(rows, ["policy", column, measure])
    count = len(rows["policy"])
    settings = zip(*(rows.get(name, [None] * count) for name in ("machine", "workload")))
    cells = zip(rows["policy"], settings, rows[column], rows[measure], strict=True)
    groups: dict[tuple[str, Any], dict[Any, list[float]]] = {}
    failed = 0
    for policy, setting, value, found in cells:
        if value is None:
            continue
        if found is None:
            failed += 1
            continue
        groups.setdefault((policy, setting), {}).setdefault(value, []).append(found)
    if not groups:
        raise ValueError(f"no row has both {column} and {measure}")
    lines: dict[str, dict[Any, list[float]]] = {}
    for (policy, _), by_value in groups.items():
        means = {value: mean(found) for value, found in by_value.items()}
        best = max(means.values()) if measure in HIGHER_IS_BETTER else min(means.values())
        if best == 0 and any(means.values()):
            raise ValueError(f"{measure} is 0 at best under {policy}: no ratios to it")
        for value, found in means.items():
            ratio = found / best if best else 1.0
            lines.setdefault(policy, {}).setdefault(value, []).append(ratio)
    return lines, failed


def _column(table: Any, knob: str) -> str:
    """The column of an axis: as it is called, or with ``_`` for ``-``."""
    there = names_of(table)
    found = "cores_asked" if knob == "cores" and "cores_asked" in there else knob
    for name in (found, found.replace("-", "_")):
        if name in there:
            return name
    knobs = [name for name in there if "." in name] or there
    raise ValueError(f"no column '{knob}' in the table; it has {', '.join(knobs)}")


def _knob_axis(ax: Axes, values: list[Any], numeric: bool) -> None:
    if not numeric:
        ax.set_xticks(range(len(values)), [str(value) for value in values])
        return
    if values[0] > 0 and values[-1] / values[0] >= 20:
        ax.set_xscale("log")
        ax.minorticks_off()
    if len(values) <= 12:
        ax.set_xticks(values, [f"{value:g}" for value in values])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _in_order(values: Iterable[Any]) -> list[Any]:
    """Numbers and times by size, other words as they come.

    >>> _in_order(["1ms", "50us"]), _in_order(["oracle", "modelled=0.2"])
    (['50us', '1ms'], ['oracle', 'modelled=0.2'])
    """
    found = list(values)
    if all(_is_number(value) for value in found):
        return sorted(found)
    times = [_DURATION.fullmatch(str(value)) for value in found]
    seconds = [float(it[1]) * _SECONDS[it[2]] for it in times if it]
    if len(seconds) < len(found):
        return found
    return [value for _, value in sorted(zip(seconds, found, strict=True))]


# Trade-off.

_SETTING = (
    "machine",
    "cores",
    "workload",
    "size",
    "seed",
    "workers",
    "duration",
    "link",
    "free_costs",
    "characters",
    "decision_latency",
    "governor",
)
"""Columns that say what a policy ran on: policies are compared where all of these are equal."""


def pareto(
    table: Any,
    x: str = "makespan_s",
    y: str = "energy_j",
    ax: Axes | None = None,
    *,
    baseline: str | None = None,
) -> Axes:
    """What policies trade for what.

    A point is a policy with its knobs: the geometric mean, over all settings, of the ratio to the
    baseline in the same setting. The baseline is ``linux`` if that is there, otherwise the first
    policy. The line is the front: no policy is better than one on it in both measures.

    >>> import evenkeel as ek
    >>> table = ek.sweep({"machine": "odroid-xu3", "workload": ["ferret", "dedup"],
    ...                   "policy": ["linux", "gts", "eas"], "size": 0.01})
    >>> pareto(table).get_xlabel()
    'makespan / that of linux (less is better)'
    """
    found = _by_policy(table, x, y)
    base = baseline or ("linux" if "linux" in found else next(iter(found)))
    if base not in found:
        raise ValueError(f"no policy '{base}' in the table; it has {', '.join(found)}")
    points = {name: _relative(settings, found[base]) for name, settings in found.items()}
    kept = {name: point for name, point in points.items() if point is not None}
    if base not in kept:
        raise ValueError(f"{base} has a measure of 0 in every setting: no ratios to it")
    made = axes(ax)
    signs = [-1 if measure in HIGHER_IS_BETTER else 1 for measure in (x, y)]
    front = _front(kept, signs)
    made.axvline(1, color="#bbbbbb", linewidth=0.8, zorder=0)
    made.axhline(1, color="#bbbbbb", linewidth=0.8, zorder=0)
    _draw_front(made, [kept[name] for name in front])
    for name, (across, along) in kept.items():
        best = name in front
        made.plot(
            across,
            along,
            "s" if name == base else "o",
            color=colour(0) if best else GREY,
            markerfacecolor=colour(0) if best else "white",
            markersize=7,
        )
    made.set_xlabel(_relative_label(x, base))
    made.set_ylabel(_relative_label(y, base))
    said = f"geometric means over {len(found[base])} settings; filled: on the front"
    if len(kept) < len(found):
        said += f"; no setting shared with {base}: {', '.join(found.keys() - kept.keys())}"
    made.set_title(said, fontsize=9, color=GREY)
    made.margins(0.15)
    quiet(made, "both")
    label_points(made, [(across, along, name) for name, (across, along) in kept.items()])
    return made


Settings = dict[tuple[Any, ...], tuple[float, float]]


def _by_policy(table: Any, x: str, y: str) -> dict[str, Settings]:
    """By policy with its knobs, both measures in each setting."""
    knobs = [name for name in names_of(table) if "." in name]
    rows = columns_of(table, ["policy", x, y, *_SETTING, *knobs])
    _needs(rows, ["policy", x, y])
    setting = [rows[name] for name in _SETTING if name in rows]
    found: dict[str, dict[tuple[Any, ...], list[tuple[float, float]]]] = {}
    for row, policy in enumerate(rows["policy"]):
        if rows[x][row] is None or rows[y][row] is None:
            continue
        own = {knob.split(".", 1)[1]: rows[knob][row] for knob in knobs}
        label = _with_knobs(policy, own)
        key = tuple(column[row] for column in setting)
        found.setdefault(label, {}).setdefault(key, []).append((rows[x][row], rows[y][row]))
    if not found:
        raise ValueError(f"no row has both {x} and {y}")
    return {label: _means(settings) for label, settings in found.items()}


def _means(settings: Mapping[tuple[Any, ...], list[tuple[float, float]]]) -> Settings:
    return {
        key: (mean(a for a, _ in pairs), mean(b for _, b in pairs))
        for key, pairs in settings.items()
    }


def _with_knobs(policy: str, knobs: Mapping[str, Any]) -> str:
    """A policy as the command line names it with these knobs.

    >>> _with_knobs("acfs", {"swap": 200.0, "tick": None})
    'acfs:swap=200'
    """
    said = ",".join(
        f"{name}={value:g}" if _is_number(value) else f"{name}={value}"
        for name, value in knobs.items()
        if value is not None
    )
    return f"{policy}{',' if ':' in policy else ':'}{said}" if said else policy


def _relative(own: Settings, base: Settings) -> tuple[float, float] | None:
    """The means of the ratios to the baseline where both ran; none where they never did."""
    both = [key for key in own if key in base and min(*base[key]) > 0]
    if not both:
        return None
    return (
        mean(own[key][0] / base[key][0] for key in both),
        mean(own[key][1] / base[key][1] for key in both),
    )


def _relative_label(measure: str, base: str) -> str:
    better = "more" if measure in HIGHER_IS_BETTER else "less"
    return f"{words(measure)} / that of {base} ({better} is better)"


def _front(points: Mapping[str, tuple[float, float]], signs: list[int]) -> list[str]:
    """Those that no other is better than in both, by the first measure.

    >>> _front({"a": (1.0, 1.0), "b": (0.9, 1.2), "c": (1.1, 1.1)}, [1, 1])
    ['b', 'a']
    """
    costs = {name: (a * signs[0], b * signs[1]) for name, (a, b) in points.items()}
    front: list[str] = []
    for name in sorted(costs, key=lambda it: costs[it]):
        if not front or costs[name][1] < costs[front[-1]][1]:
            front.append(name)
    return front


def _draw_front(ax: Axes, front: list[tuple[float, float]]) -> None:
    """Steps between the points of the front: what lies behind them is worse in both."""
    if len(front) > 1:
        x, y = zip(*front, strict=True)
        ax.plot(x, y, color=colour(0), linewidth=1.2, alpha=0.6, drawstyle="steps-post", zorder=1)


def _needs(rows: Columns, names: Iterable[str]) -> None:
    """Raises an error if a column is missing."""
    for name in names:
        if name not in rows:
            raise ValueError(f"no column '{name}' in the table")
