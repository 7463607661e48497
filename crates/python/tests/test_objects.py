"""Objects that are copied, sent to other processes, and told apart by what they are."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from pathlib import Path
from typing import Any

import evenkeel as ek
import pytest


def app(name: str, work: int = 1_000_000) -> ek.App:
    built = ek.App(name)
    built.thread("one", [ek.compute(work)])
    return built


@pytest.mark.parametrize("way", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
@pytest.mark.parametrize(
    "made",
    [
        ek.Machine("quickia", cores="1big+1small"),
        ek.Machine("quickia", free_costs=True),
        ek.Machine.from_toml(ek.Machine("pixel6").to_toml()),
        ek.Workload("mcf", "gobmk"),
        ek.Workload(app("mine")),
        ek.Policy("acfs", swap=200),
        ek.simulate("quickia", "mcf", size=0.01),
    ],
    ids=repr,
)
def test_an_object_is_the_same_in_another_process(made: Any, way: Any) -> None:
    other = way(made)
    assert repr(other) == repr(made)
    if isinstance(made, ek.Run):
        assert other.to_dict() == made.to_dict()
    if isinstance(made, ek.Machine):
        assert other.to_toml() == made.to_toml()
    if isinstance(made, ek.Workload):
        assert other.to_json("quickia") == made.to_json("quickia")


def test_two_things_of_one_name_are_refused_wherever_they_meet() -> None:
    machine = "quickia"
    both: list[Any] = [app("mcf"), ["mcf", "gobmk"]]
    with pytest.raises(ek.Error, match="'mcf' is the name of two different things"):
        ek.compare(machine, both, "linux", size=0.01)
    with pytest.raises(ek.Error, match="'mcf' is the name of two different things"):
        ek.simulate(machine, [app("mcf"), "MCF"], size=0.01)
    with pytest.raises(ek.Error, match="'mcf' is the name of two different things"):
        ek.sweep({"machine": machine, "workload": both, "policy": "linux", "size": 0.01})
    with pytest.raises(ek.Error, match="'a' is the name of two different things"):
        ek.simulate(machine, [app("a", 1), app("a", 2)])
    assert ek.simulate(machine, app("mcf")).makespan_s < 0.01
    # Its own name in another case is not the built-in program.
    assert ek.simulate(machine, app("MCF")).makespan_s < 0.01


def test_a_file_is_what_it_is_when_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "work.json"
    times = []
    for work in (1_000_000, 2_000_000):
        app("mine", work).save(file)
        times.append(ek.simulate("quickia", file).makespan_s)
    assert times[1] == pytest.approx(2 * times[0], rel=0.1)


def test_a_machine_in_memory_is_not_the_preset_of_its_name_in_another_case() -> None:
    slow = ek.Machine("quickia").to_toml().replace("quickia", "QuickIA", 1)
    other = ek.Machine.from_toml(slow).to_toml()
    assert "QuickIA" in other
    run = ek.simulate(ek.Machine.from_toml(other), "mcf", size=0.01)
    assert run.machine == "QuickIA"


def test_a_process_that_was_forked_after_a_run_can_run_others() -> None:
    ek.simulate("quickia", "mcf", size=0.01)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        forked = pool.apply_async(time_of, ("lbm",)).get(timeout=60)
    assert forked == time_of("lbm")


def time_of(workload: str) -> float:
    return ek.simulate("quickia", workload, size=0.011).makespan_s


def test_an_object_of_a_file_that_has_changed_is_no_axis(tmp_path: Path) -> None:
    file, work = tmp_path / "m.toml", tmp_path / "w.json"
    file.write_text(ek.Machine("quickia").to_toml(), encoding="utf-8")
    app("mine").save(work)
    machine, workload = ek.Machine(str(file)), ek.Workload(str(work))
    grid = {"machine": machine, "workload": workload, "policy": "linux"}
    assert len(ek.sweep(grid)) == 1
    file.write_text(ek.Machine("quickia", free_costs=True).to_toml(), encoding="utf-8")
    with pytest.raises(ek.Error, match="m.toml has changed since"):
        ek.sweep(grid)
    app("mine", 2_000_000).save(work)
    with pytest.raises(ek.Error, match="w.json has changed since"):
        ek.sweep({**grid, "machine": "quickia"})


def test_a_comparison_warns_of_runs_that_fail() -> None:
    with pytest.warns(UserWarning, match="1 of 2 failed, the first: eas goes by a power model"):
        runs = ek.compare("quickia", "mcf", ["linux", "eas"], size=0.01).runs
    assert [run.error is None for run in runs] == [True, False]


class Numbered(ek.Prototype):
    """Which run of this object it is, is what it decides by."""

    def __init__(self) -> None:
        self.runs = 0

    def start(self, view: Any, say: Any) -> None:
        self.runs += 1
        self.queue = say.make_queue()
        # A second run of the same object has one core.
        for core in view.online() if self.runs == 1 else view.online()[:1]:
            say.serve(core, [[self.queue]])

    def event(self, event: Any, view: Any, say: Any) -> None:
        if event.kind == "started":
            say.order_virtual_time(event.thread)
            say.slice(event.thread, ns=3e6)
            say.assign(event.thread, self.queue)


def test_a_prototype_is_another_object_in_each_run_of_a_comparison() -> None:
    workloads = [["mcf", "gobmk"], "4STH", ["lbm", "namd"], "mcf"]
    alone = [ek.simulate("quickia", one, Numbered(), size=0.01).makespan_s for one in workloads]
    for jobs in (1, 4):
        kept = Numbered()
        runs = ek.compare("quickia", workloads, kept, size=0.01, jobs=jobs).runs
        assert [run.makespan_s for run in runs] == alone
        assert kept.runs == 0


def test_a_prototype_that_is_simulated_can_be_looked_at_afterwards() -> None:
    kept = Numbered()
    ek.simulate("quickia", "mcf", kept, size=0.01)
    assert kept.runs == 1


@pytest.mark.parametrize("ns", [0, 10, -5, "3ms", [], [3e6], [3e6, 3e6, 3e6], float("nan")])
def test_a_slice_that_is_none_is_refused(ns: Any) -> None:
    class Wrong(Numbered):
        def event(self, event: Any, view: Any, say: Any) -> None:
            if event.kind == "started":
                say.slice(event.thread, ns)

    if ns == [3e6]:
        ek.simulate("odroid-xu3", "mcf", Wrong(), size=0.001, duration=0.1)
        return
    with pytest.raises(ValueError, match="slice"):
        ek.simulate("odroid-xu3", "mcf", Wrong(), size=0.001)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"seed": -1}, "seed -1 found, expected 0 or more"),
        ({"workers": 0}, "workers 0 found, expected 1 or more"),
        ({"size": float("nan")}, "size"),
        ({"duration": -1}, "duration -1 found"),
    ],
)
def test_a_number_out_of_range_is_named(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ek.Error, match=text):
        ek.simulate("quickia", "mcf", **settings)


def test_a_baseline_that_is_not_there_is_refused_before_anything_runs() -> None:
    with pytest.raises(ek.Error, match="baseline 'x' found, expected one of linux, acfs:swap=200"):
        ek.compare("quickia", "mcf", ["linux", ek.Policy("acfs", swap=200)], baseline="x")
    for baseline in ("acfs", ek.Policy("acfs")):
        named = ek.compare("quickia", "mcf", ["linux", "acfs"], baseline=baseline, size=0.01)
        assert named.verdict is not None and "from acfs" in named.verdict


def test_threads_have_rows_where_they_are_asked_for() -> None:
    assert ek.simulate("quickia", "mcf", size=0.01).threads is None
    rows = ek.simulate("quickia", ["mcf", "gobmk"], size=0.01, threads=True).threads
    assert rows is not None and [row["name"] for row in rows] == ["mcf", "gobmk"]


def test_a_share_without_parts_has_the_columns_of_the_others() -> None:
    grid = {"machine": "quickia", "workload": "mcf", "policy": "linux", "size": 0.01}
    none, all_of_it = ek.sweep(grid, shard="2/2"), ek.sweep(grid)
    assert len(none) == 0 and none.columns == all_of_it.columns
    assert none.to_polars().schema == all_of_it.to_polars().schema
