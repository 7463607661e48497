"""What the package costs: the time to load it, a run beside the bare engine, Dask beside as many
jobs of one process. Writes a page; `make bench-python` runs it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import evenkeel as ek

ROUNDS = 15
RUNS = 150
JOBS = 2
#: Seeds of a sweep, and how many rounds it is measured.
SWEEPS = [(500, 3), (5000, 1)]

#: Machine, policy, size, workloads that run together.
SMALL = [
    ("quickia", "acfs", 0.02, ["mcf", "gobmk", "namd", "lbm", "astar", "povray"]),
    ("pixel6", "linux", 0.02, ["mcf", "gobmk", "namd", "lbm", "astar", "povray"]),
    ("odroid-xu3", "gts", 0.02, ["wfcommons-mosaic"]),
]

#: 216 cases a seed, of 0.2 ms in the mean: those of `make bench-sweep`.
GRID = {
    "machine": ["odroid-xu3", "quickia", "pixel6"],
    "workload": [SMALL[0][3], "4STH", "generated", "wfcommons-mosaic"],
    "policy": ["linux", "gts", "acfs", "hsp", "mclas"],
    "acfs.swap": range(200, 1001, 200),
    "size": [0.01, 0.02],
}


def engine_of(cargo: str) -> str:
    """The benchmark that runs the engine by itself."""
    built = subprocess.run(
        [cargo, "bench", "--no-run", "-p", "evenkeel-sweep", "--bench", "sweep"]
        + ["--message-format=json"],
        capture_output=True,
        text=True,
        check=True,
    )
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    programs = [message["executable"] for message in messages if message.get("executable")]
    return programs[-1]


def runs(engine: str) -> list[tuple[str, float, float, float]]:
    """By case: microseconds of the engine, of a run by names, and by objects."""
    rows = []
    for machine, policy, size, names in SMALL:
        by_name = lambda: ek.simulate(machine, names, policy, size=size)  # noqa: B023, E731
        objects = (ek.Machine(machine), ek.Workload(*names), ek.Policy(policy))
        by_object = lambda: ek.simulate(*objects, size=size)  # noqa: B023, E731
        all_of_them = []
        for _ in range(ROUNDS):
            said = subprocess.run(
                [engine, "--engine", machine, policy, str(size), *names],
                capture_output=True,
                text=True,
                check=True,
            )
            all_of_them.append((float(said.stdout), microseconds(by_name), microseconds(by_object)))
        bare, named, made = (median(column) for column in zip(*all_of_them))
        rows.append((f"{machine}, {policy}, {' + '.join(names)}", bare, named, made))
    return rows


def microseconds(run: Callable[[], object]) -> float:
    # Whatever ran before has left the caches and the clock to its liking.
    for _ in range(RUNS // 3):
        run()
    start = time.perf_counter()
    for _ in range(RUNS):
        run()
    return (time.perf_counter() - start) / RUNS * 1e6


def import_ms() -> float:
    """Wall time that loading the package adds to a process that has nothing else to do."""

    def of(text: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", text], check=True)
        return (time.perf_counter() - start) * 1e3

    return median(of("import evenkeel") - of("pass") for _ in range(20))


def sweeps(seeds: int, rounds: int) -> tuple[int, float, float]:
    """Cases, and cases in a second: in this process, and on Dask."""
    grid = GRID | {"seed": range(1, seeds + 1)}
    here, dask = [], []
    with tempfile.TemporaryDirectory() as home:
        for _ in range(rounds):
            for rates, on in ((here, None), (dask, "dask")):
                out = Path(home) / "out"
                start = time.perf_counter()
                folder = ek.sweep(grid, out, jobs=JOBS, on=on, progress=False)
                cases = folder.manifest["cases"]
                rates.append(cases / (time.perf_counter() - start))
                shutil.rmtree(out)
    return cases, median(here), median(dask)


def main() -> None:
    cargo, page = sys.argv[1:]
    lines = [
        "# The package for Python: what it costs",
        "",
        "`make bench-python` writes this page. A run by `evenkeel.simulate` is beside the bare "
        "engine, in turn,",
        f"medians of {ROUNDS} rounds of {RUNS}; runs alone, which slowdowns need, are known then. "
        "Dask is a cluster of",
        f"{JOBS} workers on this machine, its start and its end included, beside `jobs={JOBS}`.",
        "",
        "| case | engine | by names | by objects |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, bare, named, made in runs(engine_of(cargo)):
        lines.append(f"| {name} | {bare:.0f} µs | {named / bare:.2f} | {made / bare:.2f} |")
    lines += [
        "",
        f"Loading the package takes {import_ms():.0f} ms.",
        "",
        f'| cases of a sweep | rounds | jobs={JOBS}, cases/s | on="dask", cases/s | Dask / jobs |',
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for seeds, rounds in SWEEPS:
        cases, here, dask = sweeps(seeds, rounds)
        lines.append(f"| {cases} | {rounds} | {here:.0f} | {dask:.0f} | {dask / here:.2f} |")
    text = "\n".join(lines) + "\n"
    print(text)
    Path(page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
