"""Sweeps on Dask: workers that die, and clusters that are not there.

With EVENKEEL_SWEEP_TEST=full the sweep has ten thousand cases (`make sweep-test`).
"""

from __future__ import annotations

import os
import random
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import evenkeel as ek
import pytest

distributed = pytest.importorskip("distributed")

SEEDS, KILLS = (313, 30) if os.environ.get("EVENKEEL_SWEEP_TEST") == "full" else (10, 3)

#: 32 cases a seed.
GRID = {
    "machine": ["quickia", "pixel6"],
    "workload": [["mcf", "gobmk"], "generated"],
    "policy": ["linux", "acfs"],
    "acfs.swap": [200, 300, 400],
    "size": [0.05, 0.1],
    "seed": range(1, SEEDS + 1),
}


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_sweep_whose_workers_are_killed_ends_with_the_bytes_of_one_undisturbed(
    tmp_path: Path, client: Any
) -> None:
    chance, kills, next_kill = random.Random(1), 0, 0.0

    def kill_one(done: int, of: int) -> None:
        nonlocal kills, next_kill
        if kills >= KILLS or not 0 < done < of or done < next_kill:
            return
        next_kill = done + chance.uniform(0, 2) * of / (KILLS + 1)
        pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
        if pids:
            kills += 1
            os.kill(chance.choice(pids), signal.SIGKILL)

    ek.sweep(GRID, tmp_path / "here")
    ek.sweep(GRID, tmp_path / "dask", on=client, progress=kill_one)
    assert kills > 0, "never killed while it ran"
    assert files(tmp_path / "dask") == files(tmp_path / "here")


def test_what_a_worker_lacks_of_the_clients_files_goes_with_the_task(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(ek.Machine("quickia").to_toml(), encoding="utf-8")
    Path("mine.json").write_text(ek.Workload("mcf").to_json("quickia"), encoding="utf-8")
    app = ek.App("built")
    app.thread("one", [ek.compute(1_000_000)])
    grid = {
        "machine": ["mine.toml", "pixel6"],
        "workload": ["mine.json", [app, "gobmk"]],
        "policy": "linux",
        "size": 0.01,
    }
    table = ek.sweep(grid, "out", on=client).to_polars()
    assert table["error"].is_null().all()
    assert sorted(set(table["workload"])) == ["built + gobmk", "mine.json"]


def test_a_cluster_of_this_machine_is_started_and_ended(tmp_path: Path) -> None:
    small = {**GRID, "seed": [1, 2]}
    ek.sweep(small, tmp_path / "here")
    ek.sweep(small, tmp_path / "dask", on="dask", jobs=2)
    assert files(tmp_path / "dask") == files(tmp_path / "here")


def test_a_worker_of_another_version_is_named(tmp_path: Path, client: Any) -> None:
    def other(dask_worker: Any) -> None:
        import evenkeel.on_dask

        evenkeel.on_dask._version = lambda: ("0.0.1", 1)

    client.run(other)
    with pytest.raises(ek.Error, match="worker .* has evenkeel 0.0.1, model 1; here it is"):
        ek.sweep(GRID, tmp_path / "out", on=client)
    assert not (tmp_path / "out").exists()


def test_a_scheduler_that_dies_is_told(tmp_path: Path, client: Any) -> None:
    ended: list[object] = []

    def end(done: int, of: int) -> None:
        if not ended:
            ended.append(client.cluster.close())

    with pytest.raises(ek.Error, match="the scheduler of Dask is gone"):
        ek.sweep(GRID, tmp_path / "out", on=client, progress=end)
    assert len(ek.read(tmp_path / "out").parts) > 0


def test_a_cluster_that_runs_is_found_by_its_address(tmp_path: Path, client: Any) -> None:
    small = {**GRID, "seed": [1, 2]}
    ek.sweep(small, tmp_path / "here")
    ek.sweep(small, tmp_path / "there", on=f"dask={client.scheduler.address}")
    assert files(tmp_path / "there") == files(tmp_path / "here")


def test_two_sweeps_by_a_worker_of_several_threads_have_parts_of_their_own(tmp_path: Path) -> None:
    grids = [{**GRID, "seed": [1, 2]}, {**GRID, "seed": [3, 4]}]
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
        ThreadPoolExecutor(2) as both,
    ):
        list(both.map(lambda n: ek.sweep(grids[n], tmp_path / f"dask{n}", on=client), (0, 1)))
    for number, grid in enumerate(grids):
        ek.sweep(grid, tmp_path / f"here{number}")
        assert files(tmp_path / f"dask{number}") == files(tmp_path / f"here{number}")


def test_a_cluster_that_is_not_there_is_one_line_and_no_folder(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ek.Error, match=f"no scheduler of Dask at {address}") as caught:
        ek.sweep(GRID, tmp_path / "out", on=f"dask={address}")
    assert "\n" not in str(caught.value)
    for wrong in ("dusk", "dask=", "dask=nowhere"):
        with pytest.raises(ek.Error):
            ek.sweep(GRID, tmp_path / "out", on=wrong)
    assert not (tmp_path / "out").exists()
