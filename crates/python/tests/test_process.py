"""The package in a process: loading it, threads, Ctrl-C."""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from common import OneQueue, facts, quick


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


ENDLESS = """
class Endless(ek.Prototype):
    def start(self, view, say):
        self.queue = say.make_queue()
        for core in view.online():
            say.serve(core, [[self.queue]])
    def event(self, event, view, say):
        if event.kind == "started":
            say.assign(event.thread, self.queue)
            say.slice(event.thread, 2_000)
"""
SLEEPS = """
app = ek.App("sleeper")
app.thread("one", [ek.loop(10**10, [ek.sleep(ns=10)])])
"""
INTERRUPTED = {
    "sweep": "ek.sweep({'machine': 'quickia', 'workload': '4STH', 'policy': 'linux'}, "
    "seeds=1_000_000)",
    "compare": "ek.compare('quickia', '4STH', ['linux'] * 40, seeds=10_000)",
    "few events": "ek.simulate('quickia', app, 'pinned')",
    "short slices": "ek.simulate('quickia', '4STH', Endless(), size=1000)",
    "study": "ek.reproduce('mclas')",
    "simulate": "ek.simulate('quickia', 'barrier:rounds=100000', size=1000)",
}


@pytest.mark.parametrize("call", INTERRUPTED.values(), ids=INTERRUPTED)
def test_ctrl_c_ends_what_takes_long(call: str) -> None:
    script = f"""
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import evenkeel as ek
{ENDLESS}
{SLEEPS}
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    # What has ended goes on nowhere: a study ends with the runs that are under way.
    for _ in range(15):
        before = time.process_time()
        time.sleep(1)
        if time.process_time() - before < 0.2:
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
