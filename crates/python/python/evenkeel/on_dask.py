"""Sweeps on Dask: parts of the grid are tasks, simulated inside the workers' processes.

A worker gives a part back as the bytes of its file, and the client writes them: workers need no
folder in common. A worker that dies costs its task, which another one does.

`evenkeel sweep --on dask` runs this module as a program.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _evenkeel
from ._evenkeel import MODEL, Error, __version__
from ._progress import Callback, Line, callback

if TYPE_CHECKING:
    from distributed import Client

    from .sweeps import Described

#: Cases of a task, at most: what it costs to hand out a task is small beside them. Ours.
_MOST_CASES = 500
#: Tasks for each thread of a worker, at least, so that all end at about the same time. Ours.
_LEAST_TASKS = 16
#: Seconds that a scheduler, and its first worker, are waited for. Ours.
_TIMEOUT_S = 10
#: Times in a row that tasks may be lost with their workers without any being done. Ours.
_MOST_LOST = 20
#: Tasks that may die with their workers before the scheduler gives one up, where it is our own:
#: we count for ourselves. Ours.
_ALLOWED_FAILURES = 1_000_000

#: The exit code by which the command line is told that something is not installed.
_NOT_INSTALLED = 97

#: The sweep that this worker has parts of, and what it is described by.
_last: Optional[tuple[Described, _evenkeel.Sweep]] = None


class Done(NamedTuple):
    """A part that a worker has carried out."""

    part: int
    file: bytes
    failed: int
    why: Optional[str]


def _carry_out(described: Described, parts: list[int]) -> list[Done]:
    """What a task does, in a worker."""
    global _last
    if described.made_by != _version():
        from distributed import get_worker

        raise Error(_other_version(get_worker().address, _version(), described.made_by))
    # Another thread of this worker may have parts of another sweep.
    last = _last
    if last is None or last[0] is not described:
        _last = last = (described, described.sweep())
    return [Done(part, *last[1].part(part)) for part in parts]


def _same(described: Described) -> Described:
    return described


def _version() -> tuple[str, int]:
    return (__version__, MODEL)


def _other_version(worker: str, there: tuple[str, int], here: tuple[str, int]) -> str:
    (theirs, their_model), (ours, our_model) = there, here
    return (
        f"worker {worker} has evenkeel {theirs}, model {their_model}; here it is {ours}, "
        f"model {our_model}"
    )


def _tasks(sweep: _evenkeel.Sweep, parts: list[int], threads: int) -> Iterator[list[int]]:
    """Parts put together, so that a task has hundreds of cases where there are enough."""
    enough = min(_MOST_CASES, sweep.cases_of(parts) // (_LEAST_TASKS * threads))
    task: list[int] = []
    cases = 0
    for part in parts:
        task.append(part)
        cases += sweep.cases_of([part])
        if cases >= enough:
            yield task
            task, cases = [], 0
    if task:
        yield task


def connected(on: Union[str, Client], jobs: Optional[int]) -> Connection:
    """A connection to a cluster, to be used by `with`.

    Raises `Error` where there is no scheduler, no worker, or one that is of another version.
    """
    try:
        import distributed  # noqa: F401
    except ImportError as missing:
        raise ImportError('this takes Dask: pip install "evenkeel[dask]"') from missing
    return Connection(on, jobs)


class Connection:
    """To a cluster of ours, to one with an address, or by a client that is there."""

    def __init__(self, on: Union[str, Client], jobs: Optional[int]) -> None:
        self._on, self._jobs = on, jobs
        self._close: list[Any] = []

    def __enter__(self) -> Connection:
        self._client = self._find()
        try:
            self._threads = _check_workers(self._client)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _find(self) -> Client:
        if not isinstance(self._on, str):
            return self._on
        name, _, address = self._on.partition("=")
        if name != "dask" or (address == "" and "=" in self._on):
            raise Error(f"on '{self._on}' found, expected dask or dask=ADDRESS")
        return self._at(address) if address else self._here()

    def _here(self) -> Client:
        import dask
        from distributed import Client, LocalCluster

        dask.config.set({"distributed.scheduler.allowed-failures": _ALLOWED_FAILURES})
        cluster = LocalCluster(
            n_workers=self._jobs or len(os.sched_getaffinity(0)),
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )
        client = Client(cluster)
        self._close = [client, cluster]
        return client

    def _at(self, address: str) -> Client:
        from distributed import Client

        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            _reach(address)
            client = Client(address, timeout=_TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as wrong:
            why = str(wrong).splitlines()[0] if str(wrong) else type(wrong).__name__
            raise Error(f"no scheduler of Dask at {address}: {why}") from None
        self._close = [client]
        return client

    def carry_out(
        self,
        described: Described,
        sweep: _evenkeel.Sweep,
        folder: _evenkeel.SweepFolder,
        parts: list[int],
        report: Optional[Callback] = None,
    ) -> tuple[int, Optional[str]]:
        """Carries parts of a sweep out into a folder.

        Gives how many cases failed, and why the first did.
        """
        if not parts:
            return 0, None
        # The result of a task is made again where the workers that had it are gone, scattered data
        # is not.
        shared = self._client.submit(_same, described.for_workers(sweep.manifest), pure=False)

        def submit(task: list[int]) -> Any:
            return self._client.submit(_carry_out, shared, task, pure=False)

        tasks = {submit(task): task for task in _tasks(sweep, parts, self._threads)}
        try:
            return self._gather(self._client, tasks, submit, sweep, folder, parts, report)
        finally:
            if self._client.status == "running":
                self._client.cancel(list(tasks))

    @staticmethod
    def _gather(
        client: Client,
        tasks: dict[Any, list[int]],
        submit: Callable[[list[int]], Any],
        sweep: _evenkeel.Sweep,
        folder: _evenkeel.SweepFolder,
        parts: list[int],
        report: Optional[Callback],
    ) -> tuple[int, Optional[str]]:
        from distributed import KilledWorker, as_completed

        done, all_of_it = 0, sweep.cases_of(parts)
        failed, why, lost = 0, None, 0
        finished = as_completed(tasks, loop=client.loop)
        for future in finished:
            task = tasks.pop(future)
            if future.status == "finished":
                lost = 0
                for part in future.result():
                    folder.write(part.part, part.file)
                    failed += part.failed
                    why = why or part.why
                done += sweep.cases_of(task)
                if report:
                    report(done, all_of_it)
                continue
            if client.status != "running":
                raise Error("the scheduler of Dask is gone; what is written stays")
            raised = future.exception() if future.status == "error" else None
            if raised is not None and not isinstance(raised, KilledWorker):
                raise raised
            lost += 1
            if lost > _MOST_LOST:
                raise Error(f"{lost} tasks in a row were lost with their workers")
            again = submit(task)
            tasks[again] = task
            finished.add(again)
        return failed, why

    def __exit__(self, *_: object) -> None:
        for it in self._close:
            it.close()


def _reach(address: str) -> None:
    """Raises OSError where nothing listens: Dask itself tries long, and clears up for longer."""
    from distributed.comm.addressing import get_address_host_port

    if "://" in address and not address.startswith(("tcp://", "tls://")):
        return
    host, port = get_address_host_port(address, strict=True)
    socket.create_connection((host, port), timeout=_TIMEOUT_S).close()


def _check_workers(client: Client) -> int:
    """How many threads those that are there have. All are of this version."""
    try:
        client.wait_for_workers(1, timeout=_TIMEOUT_S)
    except TimeoutError:
        raise Error(f"no worker of Dask within {_TIMEOUT_S} s: start one by `dask worker`") from None
    versions = client.run(_version, on_error="return")
    for worker, version in versions.items():
        if isinstance(version, BaseException):
            raise Error(f"worker {worker} has no evenkeel: {version}")
        if tuple(version) != _version():
            raise Error(_other_version(worker, tuple(version), _version()))
    return sum(client.nthreads().values())


def main() -> int:
    """What `evenkeel sweep --on dask` runs. Gives the exit code of the command line."""
    from .sweeps import into_folder

    parser = argparse.ArgumentParser("evenkeel.on_dask")
    parser.add_argument("--grid", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--address")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", type=int)
    args = parser.parse_args()
    on = f"dask={args.address}" if args.address else "dask"
    start = time.monotonic()
    cases = [0, 0]

    def count(done: int, of: int) -> None:
        cases[:] = done, of
        if line:
            line(done, of)

    line = callback(None, "cases")
    try:
        folder, failed, why = into_folder(
            args.grid, args.output, args.seeds, args.jobs, args.resume, None, on, count
        )
    except KeyboardInterrupt:
        _say("note", "parts that are written stay; --resume goes on")
        return 130
    except ImportError:
        return _NOT_INSTALLED
    except Error as wrong:
        _say("error", str(wrong))
        return 2
    finally:
        if isinstance(line, Line):
            line.close()
    if failed:
        _say("warning", f"{_plural(failed)} failed, the first: {why}")
    all_of_it, seconds = folder.manifest["cases"], time.monotonic() - start
    if args.json:
        report = {
            "folder": args.output,
            "cases": all_of_it,
            "carried_out": cases[1],
            "failed": failed,
            "parts": len(folder.parts),
            "seconds": seconds,
        }
        print(json.dumps(report, indent=2))
    else:
        before = f", {all_of_it - cases[1]} of them before" if cases[1] < all_of_it else ""
        print(f"{_plural(all_of_it)}{before}, in {seconds:.0f} s")
        print(f'read them, for instance, by polars.read_parquet("{folder.path / "results"}")')
    return 1 if failed and failed == cases[1] else 0


def _say(what: str, text: str) -> None:
    sys.stderr.write(f"{what}: {text}\n")


def _plural(cases: int) -> str:
    return "1 case" if cases == 1 else f"{cases} cases"


if __name__ == "__main__":
    sys.exit(main())
