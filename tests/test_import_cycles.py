"""No module imports itself, by however many others: the graph of imports has no cycle.

Imports inside functions and those for types alone count too: a cycle of names is one that a reader has to hold at once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

grimp = pytest.importorskip("grimp")  # which import-linter brings


def cycles(imports: Mapping[str, set[str]]) -> Iterator[frozenset[str]]:
    """The largest sets of modules of which each leads to each other (Tarjan 1972)."""
    number: dict[str, int] = {}
    least: dict[str, int] = {}
    stack: list[str] = []

    def visit(module: str) -> Iterator[frozenset[str]]:
        number[module] = least[module] = len(number)
        stack.append(module)
        for other in imports[module]:
            if other not in number:
                yield from visit(other)
                least[module] = min(least[module], least[other])
            elif other in stack:
                least[module] = min(least[module], number[other])
        if least[module] == number[module]:
            at = stack.index(module)
            found = frozenset(stack[at:])
            del stack[at:]
            if len(found) > 1:
                yield found

    for module in imports:
        if module not in number:
            yield from visit(module)


def graph(package: str) -> dict[str, set[str]]:
    built = grimp.build_graph(package, cache_dir=None)
    return {module: set(built.find_modules_directly_imported_by(module)) for module in built.modules}


def test_no_modules_import_each_other() -> None:
    assert list(cycles(graph("discreet"))) == []


def test_a_cycle_is_found_through_a_function_and_through_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "planted_cycle"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("from planted_cycle import two")
    (package / "two.py").write_text("def late():\n    from planted_cycle import three")
    (package / "three.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from planted_cycle import one"
    )
    (package / "four.py").write_text("from planted_cycle import one")
    monkeypatch.syspath_prepend(tmp_path)
    assert "planted_cycle" not in sys.modules
    (found,) = cycles(graph("planted_cycle"))
    assert found == {"planted_cycle.one", "planted_cycle.two", "planted_cycle.three"}
