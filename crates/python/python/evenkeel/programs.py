"""The programs of an application: equal ones are stored once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .objects import Object, ParallelLoop, PrivateTimer, Step

if TYPE_CHECKING:
    from .app import App


@dataclass(frozen=True)
class Program:
    """Steps in order, and what in them the application as a whole has to know."""

    steps: tuple[Step, ...]
    loops: frozenset[int]
    """Parallel loops that it takes part in."""
    resumes: frozenset[str]
    """Names of threads that it resumes."""


class Programs:
    """The programs of an application, by number.

    >>> from evenkeel.app import App, sleep
    >>> programs = Programs(App("pair"))
    >>> [programs.add([sleep(ms=1)]), programs.add([sleep(us=1000)])]
    [0, 0]
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._numbers: dict[str, int] = {}
        self.all: list[Program] = []

    def add(self, steps: Iterable[Step]) -> int:
        """The number of this program.

        Programs are compared as JSON. The number of a private timer is not final before all timers
        are made, so it counts as a name here.
        """
        loops: set[int] = set()
        resumes: set[str] = set()

        def plain(value: object) -> object:
            if isinstance(value, Step):
                if isinstance(value.data, dict) and "resume" in value.data:
                    resumes.add(value.data["resume"])
                return value.data
            assert isinstance(value, Object)
            number = value.number_in(self._app)
            if isinstance(value, ParallelLoop):
                loops.add(number)
            return f"private {value.index}" if isinstance(value, PrivateTimer) else number

        kept = Step.many(steps)
        key = json.dumps(kept, default=plain)
        if key not in self._numbers:
            self._numbers[key] = len(self.all)
            self.all.append(Program(kept, frozenset(loops), frozenset(resumes)))
        return self._numbers[key]
