"""No module of sql imports itself by way of others, not even inside a function or for its types."""

from __future__ import annotations

from collections.abc import Mapping, Set
from graphlib import CycleError, TopologicalSorter

import grimp


def cycle(imports: Mapping[str, Set[str]]) -> list[str]:
    """One cycle of modules that import each other; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_there_is_no_cycle_of_imports() -> None:
    graph = grimp.build_graph("discreet", cache_dir=None)
    imports = {
        module: set(graph.find_modules_directly_imported_by(module)) - {"discreet.sql"}
        for module in graph.modules
        if module.startswith("discreet.sql.")
    }
    assert len(imports) > 100
    assert cycle(imports) == []
    # Planted fault: a low module imports one that stands on it.
    low, high = "discreet.sql.analyze.scope_tree", "discreet.sql.analyze.classify"
    assert low in imports[high]
    assert cycle({**imports, low: imports[low] | {high}}) != []
