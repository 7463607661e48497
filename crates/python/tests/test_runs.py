"""Runs, and what they are made of: machines, workloads, policies."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import evenkeel as ek
import pytest
from evenkeel.app import App, compute, loop

from common import FIGURES, MIX, SCHEMAS, facts, quick
from everything import everything

# What there is.


def test_what_is_built_in_is_listed() -> None:
    assert {"odroid-xu3", "quickia", "pixel6"} <= set(ek.machines())
    assert {"ferret", "hackbench", "4STH"} <= {workload["name"] for workload in ek.workloads()}
    (acfs,) = [policy for policy in ek.policies() if policy["name"] == "acfs"]
    (swap,) = [knob for knob in acfs["knobs"] if knob["name"] == "swap"]
    assert swap["default"] > 0 and swap["about"]


def test_versions_are_stated() -> None:
    assert ek.__version__.count(".") == 2
    assert isinstance(ek.MODEL, int)


def test_all_names_are_there() -> None:
    assert [name for name in ek.__all__ if not hasattr(ek, name)] == []


# Runs.


def test_a_preset_is_simulated() -> None:
    run = ek.simulate("odroid-xu3-paper", "ferret", "gts", size=0.02)
    assert (run.machine, run.policy, run.workloads) == ("odroid-xu3-paper", "gts", ["ferret"])
    assert run.cores == "4big+4little" and run.seed == 1
    assert 0 < run.makespan_s and 1 < run.speedup and 0 < run.energy_j
    assert [app["name"] for app in run.apps] == ["ferret"]
    assert set(run.kinds) == {"big", "little"}
    assert run.error is None and run.seeds is None and run.timeline is None


def test_the_default_policy_is_linux() -> None:
    assert facts(ek.simulate("quickia", MIX, size=0.02)) == facts(quick("linux"))


def test_fields_say_what_the_record_says() -> None:
    run = quick("acfs")
    record = run.to_dict()
    names = [*FIGURES, "machine", "cores", "policy", "workloads", "seed", "seeds", "knobs"]
    for name in [*names, "apps", "kinds", "graph", "error"]:
        assert getattr(run, name) == record.get(name), name
    assert json.loads(run.to_json()) == record
    assert record["schema"] == "evenkeel.result/1"


def test_a_record_is_as_its_schema_says() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SCHEMAS / "result.schema.json").read_text())
    for run in (quick(), *ek.compare("quickia", [MIX], ["acfs"], seeds=2, size=0.02).runs):
        jsonschema.validate(run.to_dict(), schema)


def test_workloads_of_a_list_run_together() -> None:
    run = quick()
    assert run.workloads == MIX
    assert len(run.apps) == 2 and run.unfairness >= 1
    assert facts(run) == facts(quick(workload=ek.Workload("mcf") + ek.Workload("gobmk")))
    assert facts(run) == facts(quick(workload=[ek.Workload("mcf"), "gobmk"]))


def test_the_same_seed_gives_the_same_run_and_another_another() -> None:
    def run(seed: int) -> dict[str, Any]:
        return facts(quick(workload="sc09-ferret", size=0.001, seed=seed))

    assert run(1) == run(1)
    assert run(1)["makespan_s"] != run(2)["makespan_s"]


def test_settings_are_those_of_the_command_line() -> None:
    assert quick(cores="1big").cores == "1big"
    assert quick(size=0.04).makespan_s > quick(size=0.02).makespan_s
    for half in (0.5, "500ms"):
        cut = quick(workload="spin:threads=2,seconds=10", size=1, duration=half)
        assert cut.makespan_s == 0.5
    assert quick("acfs", estimator="modelled=0.5").to_dict()["estimator"] == "modelled=0.5"
    assert quick(workload="blackscholes", workers=3).apps[0]["threads"] in (3, 4)
    assert quick(free_costs=True).makespan_s < quick().makespan_s


def test_a_task_graph_has_measures_of_its_own() -> None:
    run = quick("heft", workload="stg-twelve", link="1GB/s")
    assert run.graph["tasks"] > 0 and run.graph["slr"] >= 1
    assert quick().graph is None


# Machines.


def test_a_machine_tells_its_kinds_and_has_parts() -> None:
    machine = ek.Machine("odroid-xu3")
    assert (machine.name, machine.cores) == ("odroid-xu3", "4big+4little")
    big, little = machine.kinds
    assert big == {"name": "big", "capacity": 1024, "cores": 4, "max_khz": 2_000_000}
    assert little["capacity"] < 1024
    part = machine.part("1big+2little")
    assert part.cores == ek.Machine("odroid-xu3", cores="1big+2little").cores == "1big+2little"
    assert ek.simulate(part, "ferret", size=0.01).cores == "1big+2little"


def test_a_part_runs_as_the_flag_for_it_does() -> None:
    part = ek.simulate(ek.Machine("odroid-xu3").part("1big+2little"), "ferret", size=0.01)
    flag = ek.simulate("odroid-xu3", "ferret", size=0.01, cores="1big+2little")
    assert facts(part) == facts(flag)


def test_a_machine_file_s_text_is_a_machine() -> None:
    text = ek.Machine("quickia").to_toml()
    machine = ek.Machine.from_toml(text)
    assert machine.to_toml() == text and machine.kinds == ek.Machine("quickia").kinds
    faster = ek.Machine.from_toml(text.replace('"quickia"', '"ours"', 1))
    assert ek.simulate(faster, MIX, size=0.02).makespan_s == quick().makespan_s


def test_a_machine_may_have_free_costs() -> None:
    free = ek.simulate(ek.Machine("quickia", free_costs=True), MIX, size=0.02)
    assert facts(free) == facts(quick(free_costs=True))


# Workloads.


def test_workloads_add_up() -> None:
    both = ek.Workload("mcf") + ek.Workload("gobmk")
    assert both.names == ek.Workload("mcf", "gobmk").names == ["mcf", "gobmk"]


def test_a_workload_s_text_is_the_same_workload() -> None:
    text = ek.Workload("blackscholes").to_json("quickia", size=0.01)
    assert json.loads(text)["format"] == "evenkeel.workload/1"
    again = quick("gts", ek.Workload.from_json(text, name="again"), size=None)
    assert again.makespan_s == quick("gts", "blackscholes", size=0.01).makespan_s
    assert again.workloads == ["again"]


def test_an_application_built_in_code_runs() -> None:
    app = App("pair")
    work, barrier = app.phase("work", factor=3.0), app.barrier(2)
    app.thread("both", [loop(100, [compute(3_000_000, work), barrier.wait()])], count=2)
    run = ek.simulate("odroid-xu3", app, "pinned", cores="1big+1little")
    assert run.workloads == ["pair"] and run.apps[0]["threads"] == 2
    little_ghz = 1.4
    assert run.makespan_s == pytest.approx(100 * 3e6 / (little_ghz * 1e9), rel=0.02)


def test_all_that_can_be_built_in_code_is_read_and_runs_to_its_end() -> None:
    app = everything()
    run = ek.simulate("odroid-xu3", app)
    assert "cut_at_s" not in run.apps[0] and run.makespan_s < 1
    assert run.notes == ["made for tests"] or "made for tests" in " ".join(run.notes)


def test_an_application_is_read_as_it_was_built() -> None:
    app = everything()
    written = json.loads(ek.Workload.from_json(app.__evenkeel__()).to_json("odroid-xu3"))
    assert written["applications"][0] == without_defaults(app.to_dict()["applications"][0])


def without_defaults(value: Any) -> Any:
    """A document without what the module leaves out: a first phase, and costs of nothing."""
    if isinstance(value, list):
        return [without_defaults(item) for item in value]
    if not isinstance(value, dict):
        return value
    ends = "of" in value
    return {
        key: without_defaults(item)
        for key, item in value.items()
        if ends or not (key in ("phase", "create_cost", "take_cost") and item == 0)
    }


def test_an_application_runs_beside_others() -> None:
    app = App("mine")
    app.thread("t", [compute(1_000_000_000)])
    assert quick(workload=["mcf", app]).workloads == ["mcf", "mine"]


# Policies.


def test_knobs_are_given_by_name() -> None:
    policy = ek.Policy("acfs", swap=200)
    assert policy.label == "acfs:swap=200"
    run = quick(policy)
    assert run.policy == "acfs" and run.knobs["swap"] == 200
    assert facts(run) == facts(quick("acfs:swap=200"))
    assert quick("acfs").knobs["swap"] != 200


# Errors.


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: quick("pined"), "no policy 'pined'.*pinned"),
        (lambda: quick(workload="ferrett"), "no workload 'ferrett'.*ferret"),
        (lambda: ek.simulate("odroid-xu4", MIX), "odroid-xu4.*odroid-xu3"),
        (lambda: ek.Machine("odroid-xu4"), "odroid-xu4.*odroid-xu3"),
        (lambda: ek.Workload("ferrett"), "ferrett.*ferret"),
        (lambda: ek.Policy("acfs", swop=1), "acfs has no knob 'swop'; it has .*swap"),
        (lambda: ek.Policy("acfs", swap="x"), "knob swap of acfs: 'x' found"),
        (lambda: quick(cores="9big"), "9big|big"),
        (lambda: quick(size=0.0), "size"),
        (lambda: quick(estimator="magic"), "magic"),
        (lambda: quick(governor="magic"), "magic"),
        (lambda: quick(duration="soon"), "soon"),
        (lambda: quick(workload=[]), "no workload"),
        (lambda: ek.Workload.from_json("{}"), "not a workload|expected"),
        (lambda: ek.Machine.from_toml("name = 3"), "name"),
        (lambda: ek.compare("quickia", [MIX], []), "no policy"),
        (lambda: ek.compare("quickia", [MIX], ["linux"], seeds=0), "seed"),
        (lambda: ek.sweep({"machine": "quickia", "workload": "mcf"}), "no axis 'policy'"),
        (lambda: ek.sweep({"machin": "quickia"}), "machin"),
        (lambda: ek.sweep("no-such-file.toml"), "no-such-file.toml"),
        (lambda: ek.read("no-such-folder"), "no-such-folder: no folder of a sweep"),
        (lambda: ek.reproduce("no-such-study"), "no study 'no-such-study'.*acfs"),
        (lambda: ek.reproduce("acfs", [99]), "no experiment 99"),
    ],
)
def test_what_is_wrong_is_said_as_the_command_line_does(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ek.Error, match=text) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_thing_of_the_wrong_type_is_named() -> None:
    three: Any = 3
    with pytest.raises(TypeError, match="policy: int found, expected"):
        quick(three)
    with pytest.raises(TypeError, match="workload: int found, expected"):
        quick(workload=three)
    with pytest.raises(TypeError, match="machine: int found, expected"):
        ek.simulate(three, MIX)


def test_a_deadlock_says_what_each_thread_waits_for() -> None:
    app = App("stuck")
    app.thread("t", [app.barrier(2).wait()])
    with pytest.raises(ek.Error, match="barrier"):
        quick(workload=app)


# Timelines.


def test_a_timeline_has_a_row_for_each_stretch_on_a_core() -> None:
    run = quick("gts", workload="4STH", timeline=True)
    assert run.timeline.columns == ["thread", "name", "app", "core", "kind", "start_s", "end_s"]
    assert len(run.timeline) > 0
    assert facts(run) == facts(quick("gts", workload="4STH"))


def test_stretches_on_one_core_do_not_overlap() -> None:
    polars = pytest.importorskip("polars")
    run = quick("gts", workload="4STH", timeline=True)
    rows: Any = run.timeline.to_polars().sort("core", "start_s")
    assert rows["start_s"].min() < 1e-3 and rows["end_s"].max() <= run.makespan_s
    assert (rows["start_s"] < rows["end_s"]).all()
    gaps = rows["start_s"] - rows["end_s"].shift(1)
    same = rows["core"] == rows["core"].shift(1)
    assert gaps.filter(same.fill_null(False)).min() >= 0
    busy = rows.group_by("kind").agg(
        (polars.col("end_s") - polars.col("start_s")).sum().alias("busy")
    )
    for kind, seconds in busy.iter_rows():
        assert seconds == pytest.approx(run.kinds[kind]["busy_s"], rel=0.01)
