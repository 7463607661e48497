"""Executes the notebooks of this folder anew, in place: `make notebooks`.

    python docs/notebooks/execute.py [NOTEBOOK ...]

Takes evenkeel, nbclient, ipykernel, matplotlib and polars. Nothing that differs from one execution
to the next is kept: no times, no versions, and no progress on stderr.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
#: Seconds that a cell may take: one, but for a machine that is at something else.
TIMEOUT = 600
#: What cells are told, whatever our own terminal is: how wide tables are, and that pictures go into
#: the notebook.
TOLD = {"COLUMNS": "100", "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def read(path: Path) -> Any:
    """The notebook in a file."""
    return nbformat.read(path, as_version=4)


def execute(notebook: Any) -> Any:
    """The notebook with the outputs of a new kernel, in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(
            notebook,
            timeout=TIMEOUT,
            record_timing=False,
            coalesce_streams=True,
            resources=resources,
        )
        # On its own stderr the kernel warns of TCP on this machine; that of cells is elsewhere.
        client.execute(env={**os.environ, **TOLD}, stderr=subprocess.DEVNULL)
    return without_chance(notebook)


def without_chance(notebook: Any) -> Any:
    """The notebook without what differs from one execution to the next."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell.id = {}, f"cell-{number}"
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                output.pop("transient", None)
                if "metadata" in output:
                    output.metadata = {}
    return notebook


def main() -> None:
    """Executes those that are named, or all."""
    paths = [Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.ipynb"))
    for path in paths:
        nbformat.write(execute(read(path)), path)
        print(f"{path.name}: {path.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
