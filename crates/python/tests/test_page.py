"""The blocks of Python in the page of the book and in the package's README run, and print what the
page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

for library in ("matplotlib", "pandas", "polars", "pyarrow"):
    pytest.importorskip(library, reason=f"the page takes {library}")

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "docs/simulate/python.md", ROOT / "crates/python/README.md"]
#: A block of Python and what it prints, if the page shows that next.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The blocks of a page, and what they are to print; nothing: the page does not say."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def without_spaces_at_ends(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_of_a_page_run_one_after_another(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(page)
    assert found
    for code, shown in found:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        if shown:
            assert without_spaces_at_ends(printed.getvalue()) == without_spaces_at_ends(shown)
    pyplot.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_of_a_page_is_narrow(page: Path) -> None:
    lines = [line for code, shown in blocks(page) for line in (code + shown).splitlines()]
    assert max(map(len, lines)) <= 100
