"""Checks of arguments: what was found, what is valid, in one line."""

from __future__ import annotations

import math
import operator

Whole = int | float
"""A whole number; ``2e9`` is one, too."""

U32 = 2**32 - 1
U64 = 2**64 - 1


def whole(what: str, value: Whole, least: int = 0, most: int = U64) -> int:
    """The value as an ``int``, if it is a whole number in this range.

    >>> whole("work", 2e9)
    2000000000
    >>> whole("nice", 20, -20, 19)
    Traceback (most recent call last):
    ValueError: nice 20 found, expected a whole number from -20 to 19
    """
    expected = f"a whole number, at least {least}"
    if most not in (U32, U64):
        expected = f"a whole number from {least} to {most}"
    found = _as_int(value)
    if found is None:
        raise TypeError(f"{what} {value!r} found, expected {expected}")
    if not least <= found <= most:
        raise ValueError(f"{what} {value!r} found, expected {expected}")
    return found


def _as_int(value: Whole) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    try:
        return operator.index(value)
    except TypeError:
        return None


def number(
    what: str,
    value: float,
    least: float = 0.0,
    most: float = math.inf,
    *,
    above: float | None = None,
) -> float:
    """The value as a ``float``, if it is finite and in this range.

    >>> number("activity", 2)
    2.0
    >>> number("ipc", 0, above=0)
    Traceback (most recent call last):
    ValueError: ipc 0 found, expected a number above 0
    """
    expected = f"a number, at least {least:g}"
    if above is not None:
        expected = f"a number above {above:g}"
    elif most != math.inf:
        expected = f"a number from {least:g} to {most:g}"
    if isinstance(value, (bool, str)):
        raise TypeError(f"{what} {value!r} found, expected {expected}")
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} {value!r} found, expected {expected}") from None
    inside = least <= found <= most if above is None else found > above
    if not (inside and math.isfinite(found)):
        raise ValueError(f"{what} {value!r} found, expected {expected}")
    return found


def text(what: str, value: str) -> str:
    """The value, if it is text.

    >>> text("name", 3)
    Traceback (most recent call last):
    TypeError: name 3 found, expected text
    """
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} found, expected text")
    return value


def nanos(
    *,
    ns: float | None = None,
    us: float | None = None,
    ms: float | None = None,
    s: float | None = None,
) -> int:
    """A time in nanoseconds, from exactly one of the four units.

    >>> nanos(ms=1.5)
    1500000
    >>> nanos(ms=1, s=1)
    Traceback (most recent call last):
    TypeError: ms and s found, expected one of ns, us, ms, s
    """
    units = {"ns": (ns, 1), "us": (us, 10**3), "ms": (ms, 10**6), "s": (s, 10**9)}
    given = [(unit, value, scale) for unit, (value, scale) in units.items() if value is not None]
    if len(given) != 1:
        found = " and ".join(unit for unit, _, _ in given) or "no time"
        raise TypeError(f"{found} found, expected one of ns, us, ms, s")
    unit, value, scale = given[0]
    number(unit, value)
    return whole(unit, round(value * scale))
