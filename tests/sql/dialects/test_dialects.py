"""Each dialect is one value: it spells functions that exist, and nothing else in the code asks which engine it is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import discreet
from discreet.sql import functions as fn
from discreet.sql.dialects import DIALECTS, named
from discreet.sql.expressions.dialect import Dialect, typed
from discreet.sql.expressions.expression import LETTERS
from discreet.sql.functions.every_line import VARIADIC

SOURCE = Path(discreet.__file__).parent
BESIDE = {"scan": {"o", "f"}, "one_zero": {"f"}, "concat_all": {""}, "in": {""}, "concat_ws": {""}}
"""Calls that no line of the table makes, and the letters of their arguments."""
ASKING = re.compile(r"""["'](postgres|spark|clickhouse)["']""")
FACES = {"engines/registry.py", "engines/ibis.py", "pgwire/answers.py", "pgwire/catalogue_sql.py"}
"""Where urls and packages of others are told apart by their names, or clients speak the language of one."""


def unknown(dialect: Dialect) -> list[str]:
    """The spellings of a dialect that no function has."""
    found = []
    for name, lines in dialect.functions.items():
        known = {"".join(LETTERS[kind] for kind in line.takes) for line in fn.TABLE.get(name, ())}
        known |= BESIDE.get(name, set()) | ({""} if known or name in VARIADIC or name in BESIDE else set())
        found += [f"{name} {letters}" for letters in lines if letters not in known]
    return found + [name for name in dialect.writers if name not in {*fn.TABLE, *VARIADIC, *BESIDE}]


@pytest.mark.parametrize("name", DIALECTS)
def test_every_spelling_is_of_a_function(name: str) -> None:
    assert unknown(named(name)) == []


def test_a_spelling_of_nothing_is_found() -> None:
    for fault in ({"brand_new": {"": "{0}"}}, {"year": {"ff": "{0}"}}):
        assert unknown(replace(named("spark"), functions=fault)) != []


def asking(text: str) -> list[str]:
    """The lines of a module that name an engine."""
    return [line.strip() for line in text.splitlines() if ASKING.search(line)]


def test_nothing_else_asks_which_engine_it_is() -> None:
    found = {
        str(path.relative_to(SOURCE)): lines
        for path in SOURCE.rglob("*.py")
        if (lines := asking(path.read_text())) and "dialects" not in path.parts
    }
    own = {
        name for name in found if re.fullmatch(r"engines/\w+/(capabilities|engine|line|queries)\.py", name)
    }
    assert set(found) - own - FACES == set()


def test_a_switch_is_found() -> None:
    assert asking('    if dialect == "postgres":\n        pass') == ['if dialect == "postgres":']


@pytest.mark.parametrize(
    "beside", ["'x AS DOUBLE)'", "'it''s AS DOUBLE)'", '"o\'clock AS DOUBLE)"', "`o'clock`"]
)
def test_a_text_or_a_name_is_not_read_as_a_type(beside: str) -> None:
    """LIKE 'x AS DOUBLE)' looked for another text on ClickHouse."""
    types = Dialect(types={"DOUBLE": "Nullable(Float64)"})
    assert typed(f"CAST({beside} AS DOUBLE)", types) == f"CAST({beside} AS Nullable(Float64))"
