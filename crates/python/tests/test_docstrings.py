"""What is public says what it is, and the examples in it hold."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import evenkeel as ek
import pytest
from evenkeel import _evenkeel

MODULES = [module.name for module in pkgutil.iter_modules(ek.__path__)]
#: Libraries that examples of some modules take.
TAKES = {"_columns": ["pandas", "polars"], "folder": ["polars"], "plots": ["matplotlib", "polars"]}
#: What a policy in Python sees; `Prototype` is what users name.
OF_PROTOTYPES = ["Core", "Event", "Say", "Thread", "View"]
#: Text and numbers have no docstrings of their own.
CONSTANTS = ["MODEL", "__version__"]


def with_members(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """A thing, and if it is a class its public members that can have a docstring."""
    yield name, thing
    if isinstance(thing, type):
        for member, value in vars(thing).items():
            described = callable(value) or isinstance(value, (property, classmethod, staticmethod))
            of_rust = type(value).__name__ in ("getset_descriptor", "method_descriptor")
            if not member.startswith("_") and (described or of_rust):
                yield f"{name}.{member}", value


def native_examples() -> list[doctest.DocTest]:
    """The examples of the compiled module, in which doctest itself finds none."""
    parser = doctest.DocTestParser()
    return [
        parser.get_doctest(inspected.__doc__, {}, full, None, None)
        for name in _evenkeel.__all__
        for full, inspected in with_members(name, getattr(_evenkeel, name))
        if isinstance(inspected.__doc__, str) and ">>>" in inspected.__doc__
    ]


@pytest.mark.parametrize("module", ["evenkeel", *(f"evenkeel.{it}" for it in MODULES)])
def test_examples_in_docstrings_hold(module: str) -> None:
    for library in TAKES.get(module.removeprefix("evenkeel."), []):
        pytest.importorskip(library)
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_examples_in_docstrings_of_the_compiled_module_hold() -> None:
    examples = native_examples()
    assert {"Machine", "Policy", "Workload", "simulate"} <= {it.name for it in examples}
    runner = doctest.DocTestRunner()
    for example in examples:
        runner.run(example)
    assert runner.summarize().failed == 0


def test_what_is_public_has_a_docstring() -> None:
    of_package = [(name, getattr(ek, name)) for name in ek.__all__]
    of_prototypes = [(name, getattr(_evenkeel, name)) for name in OF_PROTOTYPES]
    things = [(name, it) for name, it in of_package + of_prototypes if name not in CONSTANTS]
    bare = [
        full
        for name, thing in things
        for full, inspected in with_members(name, thing)
        if not inspected.__doc__
    ]
    assert bare == []
