"""The notebooks of the book print what their cells print today. Pictures are not compared."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

for library in ("nbclient", "nbformat", "ipykernel", "matplotlib", "polars"):
    pytest.importorskip(library, reason=f"notebooks take {library}")

FOLDER = Path(__file__).parents[3] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
#: Bytes of a notebook, at most: they are in the repository.
MOST_BYTES = 300_000


def load_execute() -> Any:
    """docs/notebooks/execute.py, which is of no package."""
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


execute = load_execute()


def texts(notebook: Any) -> list[list[str]]:
    """What each cell of code prints and shows as text."""
    return [
        [
            output["text"] if output.output_type == "stream" else output["data"]["text/plain"]
            for output in cell.outputs
        ]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_there_is_a_notebook_for_each_of_three_readers() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["hpc-programmer", "researcher", "scheduler-engineer"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_shows_what_its_cells_print(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, executed = execute.read(path), execute.read(path)
    monkeypatch.setenv("COLUMNS", "80")
    assert texts(execute.execute(executed)) == texts(kept), "make notebooks executes them anew"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_keeps_nothing_that_changes(path: Path) -> None:
    notebook = execute.read(path)
    assert path.stat().st_size < MOST_BYTES
    assert notebook.metadata == {
        "kernelspec": execute.KERNEL,
        "language_info": {"name": "python"},
    }
    assert all(cell.metadata == {} for cell in notebook.cells)
    said = "\n".join(text for cell in texts(notebook) for text in cell)
    assert " at 0x" not in said and "/tmp" not in said and str(Path.home()) not in said
    lines = [line for cell in notebook.cells for line in cell.source.splitlines()]
    assert max(map(len, lines)) <= 100
