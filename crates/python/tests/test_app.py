"""Workloads built in code: what stands in the file, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evenkeel.app import (
    App,
    Character,
    busy,
    compute,
    deadline,
    fifo,
    forever,
    iteration_ends,
    loop,
    nanos,
    resume,
    round_robin,
    set_affinity,
    set_clamps,
    set_class,
    set_nice,
    sleep,
)

from everything import everything


def application(app: App) -> dict[str, Any]:
    """What stands in the file of this application."""
    document = app.to_dict()
    assert document["format"] == "evenkeel.workload/1"
    (found,) = document["applications"]
    return dict(found)


def program(app: App) -> list[Any]:
    """The only program of this application."""
    (found,) = application(app)["programs"]
    return list(found)


@pytest.fixture
def app() -> App:
    return App("test")


def test_the_example_of_the_guide_comes_out_as_it_stands_there(app: App) -> None:
    app = App("pair")
    work, barrier = app.phase("work", factor=3.0), app.barrier(2)
    steps = [loop(100, [compute(3_000_000, work), barrier.wait()])]
    app.thread("a", steps)
    app.thread("b", steps, affinity=[1])
    body = [{"compute": {"work": 3000000, "phase": 0}}, {"barrier": 0}]
    assert application(app) == {
        "name": "pair",
        "phases": [{"name": "work", "scaling": {"factor": 3.0}}],
        "programs": [[{"loop": {"times": 100, "body": body}}]],
        "threads": [{"name": "a", "program": 0}, {"name": "b", "program": 0, "affinity": [1]}],
        "barriers": [2],
    }


def test_an_application_without_a_phase_has_one_that_scales_with_capacity(app: App) -> None:
    app.thread("t", [compute(1)])
    assert application(app)["phases"] == [{"name": "run", "scaling": "capacity"}]


def test_what_has_its_default_is_left_out(app: App) -> None:
    app.thread("t", [sleep(ms=1)], group=0, nice=0, class_="normal", affinity=None, delay_ns=0)
    app.phase("plain", ipc=1.0, activity=1, working_set_bytes=0)
    found = application(app)
    assert sorted(found) == ["name", "phases", "programs", "threads"]
    assert found["threads"] == [{"name": "t", "program": 0}]
    assert found["phases"] == [{"name": "plain", "scaling": "capacity"}]


def test_equal_programs_are_stored_once(app: App) -> None:
    lock = app.lock()

    def steps() -> list[Any]:
        return [loop(2, [lock.acquire(), compute(5), lock.release()])]

    app.thread("a", steps())
    app.thread("b", steps())
    app.thread("other", [lock.acquire(), lock.release()])
    app.thread("c", steps(), count=2)
    found = application(app)
    assert len(found["programs"]) == 2
    assert [thread["program"] for thread in found["threads"]] == [0, 0, 1, 0, 0]


def test_programs_that_differ_in_a_timer_alone_are_two(app: App) -> None:
    own, shared = app.private_timer(), app.timer()
    app.thread("own", [own.wait(ms=1)])
    app.thread("shared", [shared.wait(ms=1)])
    assert len(application(app)["programs"]) == 2


def test_private_timers_are_numbered_after_shared_ones_made_later(app: App) -> None:
    own = app.private_timer()
    app.thread("t", [own.wait(ms=1)])
    app.timer()
    app.timer()
    assert program(app) == [{"timer": {"timer": 2, "period_ns": 1_000_000}}]
    found = application(app)
    assert (found["timers"], found["private_timers"]) == (2, 1)


def test_a_program_keeps_what_it_was_made_of(app: App) -> None:
    steps = [compute(1)]
    app.thread("t", steps)
    steps.append(compute(2))
    assert program(app) == [{"compute": {"work": 1, "phase": 0}}]


def test_so_many_threads_have_numbers_in_their_names(app: App) -> None:
    app.thread("worker", [compute(1)], count=3)
    assert [it["name"] for it in application(app)["threads"]] == ["worker0", "worker1", "worker2"]


def test_workers_of_a_parallel_loop_are_the_threads_that_run_it(app: App) -> None:
    rows = app.parallel_loop(100, 10, schedule="guided")
    app.thread("main", [compute(1), loop(2, [rows.run()])])
    app.thread("helper", [rows.run()], count=3)
    app.thread("other", [compute(1)])
    assert application(app)["loops"] == [
        {
            "iterations": 100,
            "work": 10,
            "phase": 0,
            "schedule": "guided",
            "take_cost": 0,
            "workers": 4,
        }
    ]


def test_a_parallel_loop_that_no_thread_runs_is_named(app: App) -> None:
    app.parallel_loop(100, 10)
    app.thread("t", [compute(1)])
    with pytest.raises(ValueError, match="'test': no thread runs parallel loop 0"):
        app.to_dict()


def test_tasks_come_after_those_before_them_with_or_without_volumes(app: App) -> None:
    phase = app.phase("p")
    graph = app.graph(take_cost=7)
    first = graph.task(10, phase)
    second = graph.task(20, after=[first])
    third = graph.task(30, after={first: 100, second: 0})
    app.thread("t", [graph.run()])
    assert application(app)["graphs"] == [
        {
            "tasks": [{"work": 10, "phase": 0}, {"work": 20, "phase": 0}, {"work": 30, "phase": 0}],
            "edges": [[0, 1], [0, 2], [1, 2]],
            "volumes": [0, 100, 0],
            "create_cost": 0,
            "take_cost": 7,
        }
    ]
    assert repr(third) == "task 2"


def test_a_graph_without_volumes_says_none(app: App) -> None:
    graph = app.graph()
    graph.task(20, after=[graph.task(10)])
    app.thread("t", [graph.run()])
    assert "volumes" not in application(app)["graphs"][0]


def test_a_task_of_another_graph_is_refused_and_adds_nothing(app: App) -> None:
    graph, other = app.graph(), app.graph()
    task = other.task(1)
    with pytest.raises(ValueError, match="task 0 is of graph 1 of 'test', not of graph 0"):
        graph.task(1, after=[task])
    assert graph.tasks == []


def test_a_channel_may_be_a_pipe(app: App) -> None:
    app.channel(4)
    pipe = app.pipe(8)
    app.thread("t", [pipe.send(), pipe.close(senders=2)])
    assert application(app)["channels"] == [4, {"pipe": 8}]
    assert program(app) == [{"send": 1}, {"close": {"channel": 1, "senders": 2}}]


def test_a_thread_that_is_forked_is_a_template(app: App) -> None:
    child = app.template("child", [compute(1)], nice=5)
    app.thread("main", [child.fork()])
    found = application(app)
    assert found["templates"] == [{"name": "child", "program": 0, "nice": 5}]
    assert found["programs"][1] == [{"fork": 0}]


def test_phases_state_their_speed_in_four_ways(app: App) -> None:
    app.phase("capacity")
    app.phase("factor", 3)
    app.phase("measured", 2.5, capacity_ratio=3.1)
    app.phase("fastest", reference_time=True)
    app.phase("numbered", reference_core=4)
    app.phase("of capacity", reference_capacity=446)
    app.thread("t", [sleep(s=1)])
    found = application(app)["phases"]
    assert [phase["scaling"] for phase in found[:3]] == [
        "capacity",
        {"factor": 3.0},
        {"measured_at": {"factor": 2.5, "capacity_ratio": 3.1}},
    ]
    assert [phase.get("reference") for phase in found[3:]] == [
        None,
        {"core": 4},
        {"capacity": 446.0},
    ]
    assert all(phase["reference_time"] for phase in found[3:])


def test_a_character_has_each_figure_and_the_curves_given() -> None:
    character = Character(1.5, 0.5, latency=2, data_misses=iter([(1024, 5), (4096, 1)]))
    expected = {
        "parallelism": {"coefficient": 1.5, "exponent": 0.5},
        "latency": 2,
        "branches": 0.0,
        "branch_misses": 0.0,
        "memory_parallelism": 1.0,
        "data_misses": ((1024, 5.0), (4096, 1.0)),
    }
    assert character.to_dict() == expected == character.to_dict()


def test_a_whole_number_may_be_written_as_a_float(app: App) -> None:
    app.thread("t", [compute(2e9)])
    assert program(app) == [{"compute": {"work": 2_000_000_000, "phase": 0}}]


def test_the_end_of_a_run_and_notes_stand_in_the_file(app: App) -> None:
    app.thread("t", [compute(1)])
    app.repeat(3)
    app.duration(s=1.5)
    app.note("no input")
    found = application(app)
    assert found["repeat_until_longest_ended"] == 3
    assert found["duration_ns"] == 1_500_000_000
    assert found["notes"] == ["no input"]


def test_everything_of_the_format_can_be_said() -> None:
    text = everything().__evenkeel__()
    keys = (
        "activity affinity barrier barriers branch_misses branches broadcast busy "
        "bytes_per_instruction capacity capacity_ratio channel channels character class close "
        "code_misses code_tlb_misses coefficient compute condition conditions core create_cost "
        "data_misses data_tlb_misses deadline deadline_ns delay_ns device devices duration_ns "
        "edges exponent factor fifo fork graphs group idle io ipc iteration_begins iteration_ends "
        "iterations join_all latency lock locks loop loops measured_at memory_parallelism "
        "milestone nice notes of parallel_for parallelism period_ns pipe private_timers receive "
        "reference reference_time resume round_robin run_tasks runtime_ns schedule "
        "semaphore_post semaphore_wait semaphores send senders set_affinity set_clamps set_class "
        "set_nice signal signal_and_wait sleep_ns suspend take_cost tasks templates times timer "
        "timers unlock util_max util_min volumes wait workers working_set_bytes yield"
    )
    assert [key for key in keys.split() if f'"{key}"' not in text] == []


def test_the_text_is_one_line_of_json_and_the_same_each_time() -> None:
    app = everything()
    text = app.__evenkeel__()
    assert text.endswith("}\n") and text.count("\n") == 1
    assert json.loads(text) == app.to_dict()
    assert text == everything().__evenkeel__() == app.__evenkeel__()


def test_a_saved_file_holds_the_text(app: App, tmp_path: Path) -> None:
    app.thread("Fäden", [compute(1)])
    app.save(tmp_path / "app.json")
    assert (tmp_path / "app.json").read_text() == app.__evenkeel__()


def test_one_unit_of_time_is_taken() -> None:
    assert nanos(ns=3) == 3
    assert nanos(us=1.5) == 1_500
    assert nanos(ms=0.1) == 100_000
    assert nanos(s=10**9) == 10**18
    for wrong, found in [({}, "no time found"), ({"ns": 1, "s": 1}, "ns and s found")]:
        with pytest.raises(TypeError, match=f"{found}, expected one of ns, us, ms, s"):
            nanos(**wrong)


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf")])
def test_a_time_is_finite_and_not_negative(wrong: float) -> None:
    with pytest.raises(ValueError, match="expected a number, at least 0"):
        sleep(ms=wrong)


REFUSED: list[tuple[Callable[[App], Any], type[Exception], str]] = [
    (lambda _: compute(-1), ValueError, "work -1 found, expected a whole number, at least 0"),
    (lambda _: compute(1.5), TypeError, "work 1.5 found"),
    (lambda _: compute(True), TypeError, "work True found"),
    (lambda _: compute("1"), TypeError, "work '1' found"),  # type: ignore[arg-type]
    (lambda _: compute(2**64), ValueError, "work 18446744073709551616 found"),
    (lambda app: compute(1, app.lock()), TypeError, "what App.phase"),  # type: ignore[arg-type]
    (lambda _: busy(), TypeError, "no time found"),
    (lambda _: loop(0, []), ValueError, "times 0 found, expected a whole number, at least 1"),
    (lambda _: loop(2, ["yield"]), TypeError, "step 0: 'yield' found"),  # type: ignore[list-item]
    (lambda _: forever(compute(1)), TypeError, "one step found"),  # type: ignore[arg-type]
    (lambda _: fifo(100), ValueError, "priority 100 found, expected a whole number from 1 to 99"),
    (lambda _: round_robin(0), ValueError, "priority 0 found"),
    (lambda _: deadline(runtime_ns=3, period_ns=2), ValueError, "expected 0 < runtime <= deadline"),
    (lambda _: set_class("batch"), ValueError, "class 'batch' found, expected 'normal', 'idle'"),
    (lambda _: set_nice(20), ValueError, "nice 20 found, expected a whole number from -20 to 19"),
    (lambda _: set_affinity([]), ValueError, "no core found"),
    (lambda _: set_clamps(util_max=1025), ValueError, "util_max 1025 found"),
    (lambda _: iteration_ends(0, 0), ValueError, "of 0 found"),
    (lambda _: resume(3), TypeError, "name 3 found, expected text"),  # type: ignore[arg-type]
    (lambda app: app.barrier(0), ValueError, "threads 0 found"),
    (lambda app: app.channel(0), ValueError, "capacity 0 found"),
    (lambda app: app.semaphore(-1), ValueError, "count -1 found"),
    (lambda app: app.condition().wait(1), TypeError, "what App.lock"),  # type: ignore[arg-type]
    (lambda app: app.channel(1).close(0), ValueError, "senders 0 found"),
    (lambda app: app.phase("p", 0.5), ValueError, "factor 0.5 found, expected a number, at least"),
    (lambda app: app.phase("p", capacity_ratio=2), TypeError, "capacity_ratio without factor"),
    (lambda app: app.phase("p", 2, capacity_ratio=1), ValueError, "expected a number above 1"),
    (lambda app: app.phase("p", ipc=0), ValueError, "ipc 0 found, expected a number above 0"),
    (lambda app: app.phase("p", activity=-1), ValueError, "activity -1 found"),
    (lambda app: app.phase("p", ipc="1"), TypeError, "ipc '1' found"),  # type: ignore[arg-type]
    (
        lambda app: app.phase("p", reference_core=1, reference_capacity=2),
        TypeError,
        "reference_core and reference_capacity found, expected one",
    ),
    (
        lambda app: app.phase("p", reference_time=True, character=Character(1, 0)),
        ValueError,
        "a character beside reference_time",
    ),
    (lambda _: Character(0, 0), ValueError, "coefficient 0 found, expected a number from 0.01"),
    (lambda _: Character(1, 0, latency=0.5), ValueError, "latency 0.5 found"),
    (
        lambda _: Character(1, 0, code_misses=[(2, 1), (2, 1)]),
        ValueError,
        "code_misses: size 2 found, expected a whole number, at least 3",
    ),
    (
        lambda _: Character(1, 0, data_misses=[(2, 1), (4, 2)]),
        ValueError,
        "data_misses: misses 2 found, expected a number from 0 to 1",
    ),
    (lambda app: app.thread("t", [compute]), TypeError, "step 0: <f"),  # type: ignore[list-item]
    (lambda app: app.thread("t", [], nice=-21), ValueError, "nice -21 found"),
    (lambda app: app.thread("t", [], count=0), ValueError, "count 0 found"),
    (
        lambda app: app.thread("t", [], util_min=3, util_max=2),
        ValueError,
        "util_min 3 found, expected at most util_max 2",
    ),
    (lambda app: app.repeat(0), ValueError, "times 0 found"),
    (lambda app: app.to_dict(), ValueError, "application 'test' has no thread"),
]


@pytest.mark.parametrize(("make", "kind", "text"), REFUSED, ids=[text for *_, text in REFUSED])
def test_what_cannot_be_is_refused_in_one_line(
    app: App, make: Callable[[App], Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind) as caught:
        make(app)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_thread_that_is_refused_leaves_nothing_behind(app: App) -> None:
    app.thread("t", [compute(1)])
    before = app.to_dict()
    with pytest.raises(ValueError):
        app.thread("bad", [compute(2)], nice=99)
    with pytest.raises(TypeError):
        app.template(3, [compute(3)])  # type: ignore[arg-type]
    assert app.to_dict() == before


def test_an_object_of_another_application_is_refused_where_it_is_used(app: App) -> None:
    other = App("other")
    for step in (other.lock().acquire(), compute(1, other.phase("p")), other.timer().wait(s=1)):
        with pytest.raises(ValueError, match="0 is of application 'other', not of 'test'"):
            app.thread("t", [loop(2, [step])])
    with pytest.raises(ValueError, match="phase 1 is of application 'other', not of 'test'"):
        app.parallel_loop(1, 1, other.phase("q"))


def test_a_resume_of_a_name_that_no_thread_has_is_refused(app: App) -> None:
    app.thread("a", [loop(2, [resume("b")])])
    with pytest.raises(ValueError, match="'test': resumes 'b', and no thread has that name"):
        app.to_dict()
    app.thread("b", [sleep(ms=1)])
    app.to_dict()
