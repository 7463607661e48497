"""Types: the package is whole in the eyes of a type checker, and its stubs are what is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import evenkeel
import pytest

HERE = Path(__file__).parent
PACKAGE = Path(evenkeel.__file__).parent


def checked(*arguments: str) -> None:
    pytest.importorskip("mypy")
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    ended = subprocess.run(
        [sys.executable, "-m", *arguments, "--cache-dir", os.devnull]
        if arguments[0] == "mypy"
        else [sys.executable, "-m", *arguments],
        env=environment,
        cwd=HERE.parent,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_package_and_its_tests_have_no_error_of_types() -> None:
    checked("mypy", str(PACKAGE), str(HERE))


def test_the_stubs_say_what_the_module_has() -> None:
    allowed = ["--allowlist", str(HERE / "stubtest.allow")]
    checked("mypy.stubtest", "evenkeel._evenkeel", "--mypy-config-file", "pyproject.toml", *allowed)
