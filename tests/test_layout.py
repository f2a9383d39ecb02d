"""A test has the path of the module that it tests: `ledger/turn.py` is tested by `tests/ledger/test_turn.py`.

A file may add what it is about, as `test_entropy_fork.py`. What a room promises as a whole is listed with its reason.
The list of modules without a file of their own only shortens: a new module comes with its tests.

A class has a name of its own, so that whoever searches for it finds one thing.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "discreet"
ROOMS = {
    "client": "",
    "dbapi": "",
    "mcp": "",
    "pgwire": "",
    "server": "",
    "server/api": "",
    "server/pages": "site",
    "federation": "",
    "accounting": "atoms events homogeneous sampling zcdp",
    "ledger": "store",
    "ledger/chain": "verify",
    "ledger/sqlite": "store",
    "local": "messages remote",
    "noise": "lanes staircase",
    "planning": "",
    "plots": "catalogue examples height_curve laplace means page precision release_rows render theme",
    "policy": "check declarations problems",
    "release": "account answer_file plan",
    "session": "base budget previewing queries vouching",
    "sql/analyze": "from_clause private_select release_scope row_scope scope_tree",
    "sql/analyze/aggregates": "aggregate quantile_syntax unmatched_rows",
    "sql/analyze/binding": "binder clamped_moments comparisons opaque_columns",
    "sql/analyze/joins": "joins outer_joins released same_units",
    "sql/analyze/subqueries": "correlated_release lookups",
    "sql/analyze/units": "columns windows",
    "sql/expressions": "canonical dialect expression",
    "sql/finish": "serialisation",
    "sql/functions": "casts dates logic names portable shifts texts",
    "sql/inspect": "column_rules cut_joins diagram explain_rows wording",
    "sql/intervals": "query_parts row_identity row_mapping simulated_quantiles",
    "sql/lower": "capabilities common_subexpressions compile owners relation_sql uses",
    "sql/measures": "tree_leaves",
    "sql/plan": "canonical_aggregates measure_choice plan planner strategies",
    "sql/syntax": "looking priced select_lists",
}
"""By room, the modules that are tested by the files of others: through the room's own face, or a neighbour's."""
WHOLE = {
    "accounting/test_adaptive.py": "rules and filters against the worst analyst",
    "accounting/test_reference.py": "the public names of the room",
    "ledger/test_crash.py": "processes that are killed",
    "ledger/test_damage.py": "what a damaged disk does to all files of a ledger",
    "ledger/test_disk.py": "disks that are full or gone",
    "server/test_exploits.py": "ways around the budgets of other services, each tried",
    "server/test_full_disk.py": "a disk that is full while analysts ask",
    "server/test_fuzz.py": "requests and statements that nobody would write",
    "server/test_memory.py": "the memory of the service under huge statements",
    "server/test_refused_ledger.py": "one data set of several whose ledger is refused",
    "server/test_shared.py": "several server processes on one ledger, and one of them killed",
    "server/pages/test_browser.py": "journeys through the pages in a real browser",
    "sql/syntax/test_compiled_parser.py": "sqlglot where its compiled part is installed",
    "pgwire/test_fuzz.py": "conversations that no client would have",
    "pgwire/test_jdbc.py": "Java's own driver, through all of it",
    "pgwire/test_r.py": "R's driver, through all of it",
    "ledger/test_large.py": "large answers, through all layers",
    "ledger/test_model.py": "random histories against a model of a few lines",
    "ledger/test_race.py": "processes that charge at once",
    "ledger/test_rules.py": "the rules of composition, as a ledger keeps them",
    "ledger/test_share.py": "threads and forks",
    "ledger/test_tamper.py": "other tools that change the file",
    "local/test_choices.py": "messages and federation together",
    "planning/test_planning.py": "what no plan takes",
    "plots/test_figures.py": "every picture of the catalogue",
    "release/test_one_gate.py": "what the source of all rooms calls",
}
"""Files about a room as a whole, and the reason."""


def _modules(room: str) -> set[str]:
    return {path.stem for path in (SOURCE / room).glob("*.py")} - {"__init__"}


def _tests(room: str) -> set[str]:
    return {path.stem.removeprefix("test_") for path in (TESTS / room).glob("test_*.py")}


def _about(test: str, module: str) -> bool:
    return test == module or test.startswith(f"{module}_")


def strangers(tests: set[str], modules: set[str], room: str) -> set[str]:
    """The files of a room's tests that are named after none of its modules, and after no promise of the room."""
    return {
        test
        for test in tests
        if f"{room}/test_{test}.py" not in WHOLE and not any(_about(test, one) for one in modules)
    }


def untested(tests: set[str], modules: set[str]) -> set[str]:
    """The modules of a room without a file of their name."""
    return {module for module in modules if not any(_about(test, module) for test in tests)}


@pytest.mark.parametrize("room", ROOMS)
def test_the_tests_of_a_module_are_where_its_name_says(room: str) -> None:
    modules = {*_modules(room), *(path.name for path in (SOURCE / room).iterdir() if path.is_dir())}
    assert strangers(_tests(room), modules, room) == set(), "name it after a module, or list it in WHOLE"
    later = set(ROOMS[room].split())
    assert later - _modules(room) == set(), "strike off a module that is not there"
    assert untested(_tests(room), _modules(room)) - later == set(), "a new module comes with its tests"
    assert later & (_modules(room) - untested(_tests(room), _modules(room))) == set(), (
        "strike it off the list"
    )


def test_a_file_with_another_name_and_a_module_without_tests_are_found() -> None:
    assert strangers({"turn", "turn_again", "return"}, {"turn", "head"}, "ledger") == {"return"}
    assert untested({"turn_again", "return"}, {"turn", "head"}) == {"head"}


def peeks(source: str) -> list[int]:
    """The lines that read a private attribute of a session."""
    return [at for at, line in enumerate(source.splitlines(), 1) if re.search(r"\bsession\._[a-z]+\b", line)]


def test_private_attributes_of_a_session_are_read_in_one_place() -> None:
    found = {
        path.relative_to(TESTS).as_posix(): peeks(path.read_text("utf-8")) for path in TESTS.rglob("*.py")
    }
    assert {path for path, lines in found.items() if lines} - {"test_layout.py"} == {"inside.py"}, (
        "see inside.py"
    )


def test_a_private_attribute_that_is_read_is_found() -> None:
    assert peeks("plan = inside.plan_of(session, sql)\nplan = session._queries.plan(sql)\n") == [2]


def shared_names(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """The names that classes of several modules have, and these modules."""
    written: defaultdict[str, set[str]] = defaultdict(set)
    for module, source in sources.items():
        for name in re.findall(r"\bclass\s+(\w+)", source):
            written[name].add(module)
    # To read all trees takes seconds: those where the words stand twice, in a docstring or not.
    several = {module for found in written.values() if len(found) > 1 for module in found}
    modules: defaultdict[str, set[str]] = defaultdict(set)
    for module in sorted(several):
        for node in ast.walk(ast.parse(sources[module])):
            if isinstance(node, ast.ClassDef):
                modules[node.name].add(module)
    return {name: found for name, found in modules.items() if len(found) > 1}


def test_no_class_has_the_name_of_another() -> None:
    sources = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    assert len(sources) > 800
    assert shared_names(sources) == {}, "find a noun of its own for the less public one"


def test_a_class_with_the_name_of_another_is_found() -> None:
    nested = "def made():\n    class Turn:\n        pass\n"
    sources = {
        "a.py": "class Turn:\n    pass\n",
        "b.py": nested,
        "c.py": "class Head: ...\nclass Head: ...\n",
    }
    assert shared_names(sources) == {"Turn": {"a.py", "b.py"}}
