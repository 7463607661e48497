"""Phases: what a piece of work asks of a core."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from ._check import U32, Whole, number, whole

Curve = Iterable[tuple[Whole, float]]
"""Sizes in bytes, ascending, each with misses per 1,000 instructions, which never grow."""


@dataclass(frozen=True)
class Character:
    """What a phase asks of a core, for the interval model (Karkhanis and Smith, ISCA 2004).

    - `coefficient` and `exponent`: instructions that can begin in a cycle, in a window of n, are
      coefficient x n ^ exponent.
    - `latency`: mean of an instruction, in cycles.
    - `branches`: of all instructions, 0 to 1. `branch_misses`: of all branches.
    - `memory_parallelism`: misses outstanding at once, in a window of 128.
    - `data_misses`, `code_misses`: by size of the cache. `data_tlb_misses`, `code_tlb_misses`: by
      what the TLB maps.

    >>> solver = Character(1.5, 0.5, latency=2, branches=0.1, branch_misses=0.02,
    ...                    memory_parallelism=2, data_misses=[(32768, 20), (2097152, 2)])
    """

    coefficient: float
    exponent: float
    latency: float = 1.0
    branches: float = 0.0
    branch_misses: float = 0.0
    memory_parallelism: float = 1.0
    data_misses: Curve = ()
    code_misses: Curve = ()
    data_tlb_misses: Curve = ()
    code_tlb_misses: Curve = ()

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            number(name, getattr(self, name), least, most)
        for field in fields(self):
            if field.name.endswith("_misses") and field.name not in _RANGES:
                # A frozen class sets its own fields by way of `object`: the checked copy is kept,
                # since the argument may be an iterator.
                curve = _curve(field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, curve)

    def to_dict(self) -> dict[str, Any]:
        """What stands in a file.

        >>> Character(1.5, 0.5).to_dict()["parallelism"]
        {'coefficient': 1.5, 'exponent': 0.5}
        """
        names = [field.name for field in fields(self)[2:]]
        data = {name: getattr(self, name) for name in names}
        parallelism = {"coefficient": self.coefficient, "exponent": self.exponent}
        return {"parallelism": parallelism, **{k: v for k, v in data.items() if v != ()}}


_RANGES = {
    "coefficient": (0.01, 100.0),
    "exponent": (0.0, 1.0),
    "latency": (1.0, 1e3),
    "branches": (0.0, 1.0),
    "branch_misses": (0.0, 1.0),
    "memory_parallelism": (1.0, 1e3),
}


def _curve(what: str, points: Curve) -> tuple[tuple[int, float], ...]:
    """The points, if they are a curve of misses."""
    curve: list[tuple[int, float]] = []
    for size, misses in points:
        before, most = curve[-1] if curve else (0, 1000.0)
        found = number(f"{what}: misses", misses, 0.0, most)
        curve.append((whole(f"{what}: size", size, before + 1), found))
    return tuple(curve)


def phase_data(
    name: str,
    *,
    factor: float | None,
    capacity_ratio: float | None,
    ipc: float,
    bytes_per_instruction: float,
    working_set_bytes: Whole,
    activity: float,
    reference_time: bool,
    reference_core: Whole | None,
    reference_capacity: float | None,
    character: Character | None,
) -> dict[str, Any]:
    """What stands in a file of a phase, without what has its default."""
    data = {
        "ipc": (number("ipc", ipc, above=0.0), 1.0),
        "bytes_per_instruction": (number("bytes_per_instruction", bytes_per_instruction), 0.0),
        "working_set_bytes": (whole("working_set_bytes", working_set_bytes), 0),
        "activity": (number("activity", activity), 1.0),
    }
    phase: dict[str, Any] = {"name": name, "scaling": _scaling(factor, capacity_ratio)}
    phase.update({key: value for key, (value, default) in data.items() if value != default})
    phase.update(_reference(reference_time, reference_core, reference_capacity))
    if character is not None:
        if "reference_time" in phase:
            raise ValueError("a character beside reference_time found, expected one of them")
        phase["character"] = _character(character)
    return phase


def _scaling(factor: float | None, capacity_ratio: float | None) -> Any:
    if factor is None:
        if capacity_ratio is not None:
            raise TypeError("capacity_ratio without factor found, expected both")
        return "capacity"
    if capacity_ratio is None:
        return {"factor": number("factor", factor, 1.0)}
    measured = number("factor", factor, above=0.0)
    ratio = number("capacity_ratio", capacity_ratio, above=1.0)
    return {"measured_at": {"factor": measured, "capacity_ratio": ratio}}


def _reference(
    reference_time: bool, core: Whole | None, capacity: float | None
) -> dict[str, Any]:
    if core is not None and capacity is not None:
        raise TypeError("reference_core and reference_capacity found, expected one of them")
    if core is not None:
        reference: dict[str, Any] = {"core": whole("reference_core", core, 0, U32)}
    elif capacity is not None:
        reference = {"capacity": number("reference_capacity", capacity, above=0.0)}
    else:
        return {"reference_time": True} if reference_time else {}
    return {"reference_time": True, "reference": reference}


def _character(character: Character) -> dict[str, Any]:
    if not isinstance(character, Character):
        raise TypeError(f"character {character!r} found, expected a Character")
    return character.to_dict()
