"""Policies written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import evenkeel as ek
import pytest

from common import OneQueue, facts, quick


def test_a_prototype_runs_to_its_end() -> None:
    run = quick(OneQueue(), workload="4STH")
    assert run.policy == "one-queue" and run.error is None
    assert facts(run) == facts(quick(OneQueue(), workload="4STH"))


def test_a_prototype_with_one_queue_keeps_all_cores_busy() -> None:
    run = quick(OneQueue(), workload="spin:threads=8,seconds=1", size=1)
    busy, idle = (sum(kind[what] for kind in run.kinds.values()) for what in ("busy_s", "idle_s"))
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
