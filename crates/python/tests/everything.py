"""An application that uses all of the native workload format, for the tests."""

from __future__ import annotations

from evenkeel.app import (
    App,
    Character,
    busy,
    compute,
    deadline,
    fifo,
    forever,
    iteration_begins,
    iteration_ends,
    join_all,
    loop,
    milestone,
    nanos,
    resume,
    round_robin,
    set_affinity,
    set_clamps,
    set_class,
    set_nice,
    sleep,
    suspend,
    yield_,
)


def everything() -> App:
    """Each step, object, class and option at least once, in an application that runs to its end
    on two cores or more."""
    app = App("everything")
    _synchronise(app)
    _share_work(app)
    _change_threads(app)
    _wait_for_time(app)
    app.duration(s=1)
    app.note("made for tests")
    return app


def _synchronise(app: App) -> None:
    shade = app.phase("shade", factor=3.0, ipc=1.2, bytes_per_instruction=0.1, activity=0.9)
    lock, condition, barrier = app.lock(), app.condition(), app.barrier(2)
    tickets, pipe, semaphore = app.channel(8), app.pipe(2), app.semaphore(1)
    critical = [lock.acquire(), compute(10_000, shade), lock.release()]
    # Both signal before they wait, with a sleep between: neither waits for ever.
    meet = [lock.acquire(), condition.broadcast(), condition.signal(), lock.release()]
    app.thread(
        "maker",
        [
            loop(4, [compute(200_000, shade), *critical, tickets.send(), pipe.send()]),
            tickets.close(),
            pipe.close(senders=1),
            *meet,
            barrier.wait(),
            sleep(ms=20),
            condition.signal_and_wait(),
        ],
    )
    app.thread(
        "taker",
        [
            forever([tickets.receive(), pipe.receive(), *critical]),
            semaphore.wait(),
            semaphore.post(),
            barrier.wait(),
            lock.acquire(),
            condition.wait(lock),
            lock.release(),
            sleep(ms=20),
            condition.signal(),
        ],
        group=1,
    )


def _share_work(app: App) -> None:
    measured = app.phase("measured", factor=2.5, capacity_ratio=3.1, working_set_bytes=65536)
    built = app.phase(
        "built",
        character=Character(
            1.5,
            0.5,
            latency=2,
            branches=0.1,
            branch_misses=0.02,
            memory_parallelism=2,
            data_misses=[(32768, 20), (2097152, 2)],
            code_misses=[(32768, 1)],
            data_tlb_misses=[(1048576, 1)],
            code_tlb_misses=[(1048576, 0.1)],
        ),
    )
    rows = app.parallel_loop(64, 20_000, measured, schedule="dynamic,4", take_cost=100)
    pinned = app.parallel_loop(8, 20_000, workers=2)
    plain = app.graph()
    first = plain.task(100_000)
    plain.task(100_000, built, after=[first])
    volumes = app.graph(create_cost=10, take_cost=20)
    parts = [volumes.task(50_000, built) for _ in range(3)]
    volumes.task(50_000, after={part: 4096 for part in parts})
    steps = [rows.run(), pinned.run(), plain.run(), volumes.run(), milestone()]
    app.thread("worker", steps, count=2, group=2)


def _change_threads(app: App) -> None:
    child = app.template("child", [compute(10_000), yield_()], nice=5, delay_ns=nanos(us=10))
    app.thread("main", [child.fork(), child.fork(), join_all(), sleep(ms=1), resume("sleeper")])
    app.thread("sleeper", [suspend(), compute(1000)])
    app.thread(
        "changed",
        [
            set_class(fifo(10)),
            compute(1000),
            set_class(deadline(runtime_ns=1e6, period_ns=1e7, deadline_ns=5e6)),
            compute(1000),
            set_class("normal"),
            set_nice(-5),
            set_affinity([0]),
            set_affinity(None),
            set_clamps(util_min=100, util_max=900),
            compute(1000),
        ],
        nice=3,
        affinity=[0, 1],
        delay_ns=nanos(ms=2),
        util_min=10,
        util_max=1000,
    )
    app.thread("fifo", [busy(us=10)], class_=fifo(50))
    app.thread("turns", [busy(us=10)], class_=round_robin(50))
    app.thread("due", [busy(us=10)], class_=deadline(runtime_ns=1e6, period_ns=1e7))
    app.thread("idle", [busy(us=10)], class_="idle")


def _wait_for_time(app: App) -> None:
    fastest = app.phase("fastest", reference_time=True)
    numbered = app.phase("numbered", reference_core=0)
    capacity = app.phase("capacity", reference_capacity=446.0)
    own, shared, disk = app.private_timer(), app.timer(), app.device()
    frame = [
        iteration_begins(),
        busy(numbered, us=50),
        compute(1000, fastest),
        compute(1000, capacity),
        disk.request(us=80),
        own.wait(ms=2),
        shared.wait(ms=2, absolute=True),
        iteration_ends(0, 1, 3),
    ]
    app.thread("frames", [loop(3, frame)])
