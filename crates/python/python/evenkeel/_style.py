"""How plots look: colours, words on axes, where labels stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito, "Color Universal Design", 2008, without black, which is for lines and text. They
# are told apart with any of the common colour vision deficiencies.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#999999")
HATCHES = ("", "////", "....", "xxxx")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", ":", "-.")
GREY = "#777777"

HIGHER_IS_BETTER = frozenset({"asp", "efficiency", "speedup", "stp"})
"""Measures of which more is better; of all others less is."""

_WORDS = {
    "antt": "average normalised turnaround time",
    "asp": "aggregate speedup",
    "edp_js": "energy-delay product (J s)",
    "slr": "schedule length ratio",
    "stp": "system throughput",
    "wakeup_p50_us": "wake-up latency, median (µs)",
    "wakeup_p99_us": "wake-up latency, 99th percentile (µs)",
    "wakeup_max_us": "wake-up latency, greatest (µs)",
}
_UNITS = {"s": "s", "us": "µs", "ms": "ms", "j": "J", "w": "W", "js": "J s"}


def colour(index: int) -> str:
    """The colour of the so-manieth thing.

    >>> colour(0) == colour(8)
    True
    """
    return PALETTE[index % len(PALETTE)]


def hatch(index: int) -> str:
    """The hatch of the so-manieth thing: none, until colours repeat.

    >>> [hatch(0), hatch(8)]
    ['', '////']
    """
    return HATCHES[index // len(PALETTE) % len(HATCHES)]


def line(index: int) -> dict[str, Any]:
    """Colour, marker and dashes of the so-manieth line.

    >>> line(9)["linestyle"]
    '--'
    """
    dashes = LINES[index // len(PALETTE) % len(LINES)]
    return {
        "color": colour(index),
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": dashes,
        "markersize": 5,
    }


def words(measure: str) -> str:
    """What a measure is called, without its unit.

    >>> words("makespan_s")
    'makespan'
    """
    return axis_label(measure).split(" (")[0]


def axis_label(measure: str) -> str:
    """What a measure is called, with its unit.

    >>> axis_label("mean_power_w"), axis_label("migrations")
    ('mean power (W)', 'migrations')
    """
    if measure in _WORDS:
        return _WORDS[measure]
    stem, _, unit = measure.rpartition("_")
    if stem and unit in _UNITS:
        return f"{stem.replace('_', ' ')} ({_UNITS[unit]})"
    return measure.replace("_", " ")


def axes(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """These axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install evenkeel[plots]") from error
    _, made = pyplot.subplots(figsize=(width, height), layout="constrained")
    return made


def quiet(ax: Axes, grid: str | None = "y") -> None:
    """Takes away the frame, and draws a faint grid behind the rest."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid == "x":
        ax.grid(axis="x", color="#e0e0e0", linewidth=0.8)
    elif grid == "y":
        ax.grid(axis="y", color="#e0e0e0", linewidth=0.8)
    elif grid == "both":
        ax.grid(axis="both", color="#e0e0e0", linewidth=0.8)


def legend_above(ax: Axes, handles: list[Any] | None = None, columns: int = 5) -> None:
    """A legend above the axes, where it hides nothing."""
    given = ax.get_legend_handles_labels()[0] if handles is None else handles
    ax.legend(
        handles=given,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=max(1, min(columns, len(given))),
        frameon=False,
        borderaxespad=0.3,
        handlelength=1.4,
        columnspacing=1.4,
    )


_PLACES = (
    (7, 0, "left", "center"),
    (-7, 0, "right", "center"),
    (0, 6, "center", "bottom"),
    (0, -6, "center", "top"),
    (5, 5, "left", "bottom"),
    (5, -5, "left", "top"),
    (-5, 5, "right", "bottom"),
    (-5, -5, "right", "top"),
    (14, 20, "left", "bottom"),
    (14, -20, "left", "top"),
    (-14, 20, "right", "bottom"),
    (-14, -20, "right", "top"),
    (14, 36, "left", "bottom"),
    (14, -36, "left", "top"),
)
"""Where a label may stand, in points from its point; far ones get a line to it."""


def label_points(ax: Axes, points: list[tuple[float, float, str]]) -> None:
    """Labels points of axes whose limits are final, none on another as far as there is room."""
    from matplotlib.transforms import Bbox

    ax.figure.canvas.draw()
    at = ax.transData.transform([(x, y) for x, y, _ in points])
    taken = [Bbox.from_bounds(x - 5, y - 5, 10, 10) for x, y in at]
    for own, (x, y, text) in enumerate(points):
        others = [box for place, box in enumerate(taken) if place != own]
        taken.append(_place_label(ax, x, y, text, others))


def _place_label(ax: Axes, x: float, y: float, text: str, taken: list[Any]) -> Any:
    """Puts a label at the first place that is free, or at the first. Returns where it stands."""
    from matplotlib.text import Text

    for place in (*_PLACES, None):
        dx, dy, across, along = place or _PLACES[0]
        far = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
        label = ax.annotate(
            text,
            (x, y),
            (dx, dy),
            textcoords="offset points",
            ha=across,
            va=along,
            fontsize=9,
            arrowprops=far if abs(dy) > 10 else None,
        )
        label.get_window_extent()
        box = Text.get_window_extent(label)  # That of an annotation has its line, too.
        inside = ax.bbox.x0 <= box.x0 and box.x1 <= ax.bbox.x1
        if place is None or (inside and not any(box.overlaps(it) for it in taken)):
            break
        label.remove()
    return box
