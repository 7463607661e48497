"""Comparisons of policies, and published studies."""

from __future__ import annotations

import statistics
from pathlib import Path

import evenkeel as ek
import pytest

from common import MIX, facts, quick


def test_a_comparison_has_a_run_for_each_workload_and_policy() -> None:
    compared = ek.compare("quickia", ["mcf", MIX], ["linux", "acfs"], size=0.02)
    pairs = [(run.workloads, run.policy) for run in compared.runs]
    assert pairs == [(w, p) for w in (["mcf"], MIX) for p in ("linux", "acfs")]
    assert facts(compared.runs[3]) == facts(quick("acfs"))
    assert "linux" in str(compared) and "acfs" in str(compared)
    assert compared.verdict and compared.verdict in str(compared)


def test_means_over_seeds_have_intervals() -> None:
    compared = ek.compare("quickia", "sc09-ferret", ["linux", "acfs"], seeds=3, size=0.001)
    alone = [quick(workload="sc09-ferret", size=0.001, seed=seed) for seed in (1, 2, 3)]
    linux = compared.runs[0]
    assert linux.seeds["count"] == 3 and linux.seeds["ci95"]["makespan_s"] > 0
    assert linux.makespan_s == pytest.approx(statistics.mean(it.makespan_s for it in alone))


def test_a_comparison_is_the_same_for_any_number_of_jobs() -> None:
    one, two = (
        ek.compare("quickia", [MIX, "4STH"], ["linux", "acfs"], size=0.02, jobs=jobs)
        for jobs in (1, 2)
    )
    assert [facts(run) for run in one.runs] == [facts(run) for run in two.runs]


def test_a_comparison_s_table_has_its_runs() -> None:
    pytest.importorskip("polars")
    compared = ek.compare("quickia", [MIX], ["linux", "acfs"], size=0.02)
    rows = compared.to_polars().filter(app=0)
    assert rows["policy"].to_list() == ["linux", "acfs"]
    assert rows["makespan_s"].to_list() == [run.makespan_s for run in compared.runs]


def test_a_comparison_draws_itself() -> None:
    pytest.importorskip("matplotlib")
    ax = ek.compare("quickia", [MIX], ["linux", "acfs"], size=0.02).plot("unfairness")
    assert len(ax.patches) == 2


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    ek.compare(
        "quickia", [MIX], ["linux"], size=0.02, progress=lambda done, of: told.append((done, of))
    )
    assert told[-1] == (1, 1)


def test_a_study_is_carried_out_again(tmp_path: Path) -> None:
    study = ek.reproduce("acfs", [1], quick=True)
    assert study.exhibits and all(it["title"] and it["rows"] for it in study.exhibits)
    assert study.exhibits[0]["title"] in str(study)
    study.html(tmp_path / "acfs.html")
    assert "<html" in (tmp_path / "acfs.html").read_text().lower()
