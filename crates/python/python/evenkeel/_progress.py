"""How far long work is, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Optional, Union

#: Called with how much is done, and how much there is.
Callback = Callable[[int, int], object]
#: None: a line on a terminal or in a notebook. True: always. False: nothing.
Progress = Union[None, bool, Callback]

#: Seconds before the first line, so that short work has none; and between two.
_FIRST, _EVERY = 0.5, 0.2


class Line:
    """One line that says how far it is and about how long the rest takes."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = time.monotonic()
        self._said = self._start + _FIRST - _EVERY
        self._is_open = False

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if done >= of:
            self.close()
        elif now - self._said >= _EVERY:
            self._said = now
            left = (now - self._start) / done * (of - done) if done else None
            rest = "" if left is None else f", about {left:.0f} s left"
            sys.stderr.write(f"\r{done} of {of} {self._what}{rest}\x1b[K")
            sys.stderr.flush()
            self._is_open = True

    def close(self) -> None:
        """Takes the line away."""
        if self._is_open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_open = False


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def callback(progress: Progress, what: str) -> Optional[Callback]:
    """What is to be called with the progress, or None."""
    if callable(progress):
        return progress
    if progress is None:
        progress = _is_watched()
    return Line(what) if progress else None
