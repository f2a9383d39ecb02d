"""Every engine gives the integers of DuckDB, bit by bit, and the corpus holds every line of the function table.

There is no chance of a false alarm. Power: the planted faults at the end are found by the same check.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from tests import servers
from tests.depth import DEEP, few

from discreet.engines.clickhouse import ClickHouseEngine
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Engine
from discreet.engines.postgres import PostgresEngine
from discreet.engines.spark import SparkEngine
from discreet.sql import conformance
from discreet.sql import functions as fn
from discreet.sql.dialects import named
from discreet.sql.dialects.postgres import POSTGRES
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import LETTERS
from discreet.sql.functions import calendar
from discreet.sql.functions.table import FunctionLines, Rule
from discreet.sql.lower import compile as compiling
from discreet.sql.lower.run import exact_integers

checking = importlib.import_module("discreet.sql.conformance.check")
_catalog, cases = checking._catalog, checking.cases

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
BY_ROW = "questions by row, None"
FEW = {"questions by u, 3": 8, BY_ROW: 6, "questions by u, 100": 4}
"""How many questions of each part ClickHouse is asked, and Spark half as many, as the least takes it a third of a
second; a deep run asks all of them."""
OTHERS = ("spark", "clickhouse")
SPARK = {"functions": 2, "questions by u, 3": 1, BY_ROW: 1, "questions by u, 100": 1}
"""By how many tests Spark is asked each part."""


@cache
def packed(part: str, dialect: str) -> tuple[Any, ...]:
    """What other engines are asked: PostgreSQL each line by one expression; the others each line of the functions that
    they spell in their own way by one, and of those that all spell alike Spark one half, ClickHouse the other one, each
    by one. A deep run asks every expression.

    They stand together in as few questions as there can be: the least takes Spark a third of a second.
    """
    if DEEP:
        return tuple(cases(part))
    if part != "functions":
        many = FEW[part] // (2 if dialect == "spark" else 1)
        return tuple(checking.some_questions(part, few(conformance.QUESTIONS[::5], many)))
    names = [name for case in cases(part) for name in case.names]
    return tuple(checking.some_functions(f"functions of {dialect}", one_each(names, dialect)))


def one_each(names: Sequence[str], dialect: str) -> set[str]:
    """One expression of each line that the dialect spells in its own way, and of its half of the other functions."""
    own = fn.TABLE if dialect == "postgres" else named(dialect).functions
    others = set(sorted(fn.TABLE)[dialect == "spark" :: 2]) - set(own)
    if dialect in OTHERS:
        others |= elsewhere(names, dialect)
    of = {}
    for name in reversed(names):
        line, function = name.partition(":")[0], name.partition(",")[0]
        if function not in others:
            of[line if function in own else function.partition(":")[0]] = name
    return set(of.values())


def elsewhere(names: Sequence[str], dialect: str) -> set[str]:
    """Functions and forms that the other one of Spark and ClickHouse is asked instead: each second of those alike.

    These are the forms of each type where the dialect has none of its own, and the differences in units of time: but
    for weeks, they have two ways, of months and of the clock, with a number from a table of all engines.
    """
    forms: dict[str, list[str]] = {}
    for name in names:
        if "," not in name and " of " in name:
            forms.setdefault(name.rpartition(" of ")[0], []).append(name)
    half, own = int(dialect == "spark"), named(dialect).functions
    out = {
        name
        for at, (form, listed) in enumerate(forms.items())
        for name in listed[(at + half) % 2 :: 2]
        if form not in own
    }
    for numbers in (calendar.MONTHS, calendar.CLOCK):
        units = [unit for unit in calendar.DATE_PARTS if unit in numbers][half::2]
        out |= {f"date_{word}_{unit}" for word in ("diff", "sub") for unit in units}
    return out


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Spark warns of the versions of others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def postgres() -> Engine:
    url = servers.postgres()
    servers.load(url, "corpus", conformance.tables())
    return PostgresEngine.open_all([(name, f"{url}#corpus.{name}") for name in conformance.tables()])


@cache
def spark() -> Engine:
    session = servers.spark()
    frames = [(name, session.createDataFrame(table)) for name, table in conformance.tables().items()]
    return SparkEngine.open_all(frames)


@cache
def clickhouse() -> Engine:
    servers.load_clickhouse("corpus", conformance.tables())
    return ClickHouseEngine.open_all(
        [(f"corpus.{name}", servers.clickhouse()) for name in conformance.tables()]
    )


def test_the_corpus_is_large_and_leaves_no_function_out() -> None:
    assert len(conformance.QUESTIONS) >= 150
    assert sum(len(case.names) for case in cases("functions")) >= 1000
    lines = {(name, at) for name, listed in fn.TABLE.items() for at in range(len(listed))}
    assert lines - conformance.covered(_catalog("row", None)) == set()


def test_a_new_function_without_an_entry_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = FunctionLines()
    monkeypatch.setitem(fn.TABLE, "brand_new", lines.functions)
    gives, bounds = fn.TABLE["not"][0].gives, fn.TABLE["and"][0].bounds
    lines.define("brand_new", "brand_new(a, b)", "bt", gives, bounds, "({0} = {1})")
    assert ("brand_new", 0) in conformance.covered(_catalog("row", None))
    # One that no value of the corpus fits.
    never = {1: Rule("never", "", lambda _: False, ())}
    lines.define("brand_new", "brand_new(a, b)", "tt", gives, bounds, "({0} = {1})", literals=never)
    assert ("brand_new", 1) not in conformance.covered(_catalog("row", None))


def for_postgresql(part: str) -> list[Any]:
    """The cases that PostgreSQL is asked: every line of the functions, and of the questions one of six by one of the
    two policies that differ; a deep run: each by each policy.
    """
    if DEEP or part == "functions":
        return list(packed(part, "postgres"))
    usual = few_of(conformance.QUESTIONS, 6)
    by_row = checking.some_questions(BY_ROW, usual)
    alone = {case.names[0] for case in by_row if conformance.QUESTIONS.index(case.names[0]) % 2}
    if part == BY_ROW:
        return [case for case in by_row if case.names[0] in alone]
    return list(checking.some_questions(part, usual - alone if part == conformance.parts()[1] else usual))


def few_of(texts: Sequence[str], every: int) -> set[str]:
    """One question of so many; in a deep run all."""
    return set(few(texts, len(texts) // every))


@pytest.mark.parametrize("part", conformance.parts())
def test_postgresql(part: str) -> None:
    assert [problem for case in for_postgresql(part) for problem in checking.compare(postgres(), case)] == []


def test_postgresql_is_asked_every_question_or_every_sixth() -> None:
    asked = {case.names[0] for part in conformance.parts()[1:] for case in for_postgresql(part)}
    assert asked == few_of(conformance.QUESTIONS, 6)


@pytest.mark.parametrize(("part", "at"), [(part, at) for part, many in SPARK.items() for at in range(many)])
def test_spark(part: str, at: int) -> None:
    asked = packed(part, "spark")[at :: SPARK[part]]
    assert asked
    assert [problem for case in asked for problem in checking.compare(spark(), case)] == []


def test_the_tests_of_spark_and_clickhouse_ask_every_function() -> None:
    names = {name for case in cases("functions") for name in case.names}
    lines = {name.partition(":")[0] for case in for_postgresql("functions") for name in case.names}
    assert lines == {name.partition(":")[0] for name in names}
    both = {
        name.partition(",")[0] for one in OTHERS for case in packed("functions", one) for name in case.names
    }
    assert both >= {*fn.TABLE, *(name for name in names if "," not in name)}
    for dialect in OTHERS:
        asked = {name for case in packed("functions", dialect) for name in case.names}
        kept = named(dialect).functions.keys() - (set() if DEEP else elsewhere(sorted(names), dialect))
        own = {name.partition(":")[0] for name in names if name.partition(",")[0] in kept}
        assert own <= {name.partition(":")[0] for name in asked}


def test_an_expression_that_an_engine_lacks_takes_no_other_one_along() -> None:
    """All that stood beside it were passed over: a part of a question had the columns of all."""
    lacking, names = SimpleNamespace(lacks=frozenset({"json_text"})), set[str]()
    for case in cases("functions"):
        names |= {*case.names}.difference(*(one.names for one in checking.computable(lacking, case)))
    assert names == {
        name for case in cases("functions") for name in case.names if name.startswith("json_text,")
    }
    assert names


def at_once(case: Any) -> Iterator[Any]:
    """The expressions of a case, a few at a time: all together take ClickHouse several times as long."""
    size = 6
    for start in range(0, len(case.names), size):
        yield (
            checking._subset(case, range(start, min(start + size, len(case.names))))
            if size < len(case.names)
            else case
        )


@pytest.mark.parametrize("part", conformance.parts())
def test_clickhouse(part: str) -> None:
    asked = [some for case in packed(part, "clickhouse") for some in at_once(case)]
    assert asked
    assert [problem for case in asked for problem in checking.compare(clickhouse(), case)] == []


def test_duckdb_from_a_file_of_its_own() -> None:
    engine = DuckDBEngine.open(conformance.tables())
    assert conformance.check(engine, ["questions by u, 3"], 1 if DEEP else 24) == []


@pytest.mark.parametrize(
    ("name", "at", "template"),
    few([
        ("round_whole", 0, "CAST(round({0}) AS BIGINT)"),  # half to even, and an error where it does not fit
        ("epoch_ms", 0, "CAST(extract(epoch FROM {0}) * 1000 AS BIGINT)"),  # rounded up
        ("divide", 0, "({0} / NULLIF({1}, 0))"),  # an error where the result is too large
        ("length", 0, "CAST(octet_length({0}) AS BIGINT)"),  # bytes
        ("lt", 3, "(({0} COLLATE \"unicode\") < {1})"),  # the order of a dictionary
    ], 3),  # a deep run: all of them
)  # fmt: skip
def test_a_spelling_with_another_meaning_is_found(name: str, at: int, template: str) -> None:
    letters = "".join(LETTERS[kind] for kind in fn.TABLE[name][at].takes)
    own = {**POSTGRES.functions, name: {**POSTGRES.functions.get(name, {}), letters: template}}
    asked = {n for case in cases("functions") for n in case.names if n.startswith(f"{name},")}
    with mock.patch.object(compiling, "named", planted(replace(POSTGRES, functions=own))):
        # A part of its own, which nothing was compiled of before.
        chosen = checking.some_functions(f"{name} with a fault", asked)
        found = [p.question for case in chosen for p in _problems(case)]
    assert any(question.startswith(f"{name},") for question in found)


def planted(fault: Dialect) -> Callable[[str], Dialect]:
    return lambda name: fault if name == fault.name else named(name)


def _problems(case: Any) -> Any:
    def expected(case: Any) -> object:
        return exact_integers(case.release, checking._duckdb(), checking.SALT, portable=True)

    with mock.patch.object(checking, "_expected", expected):
        return checking.compare(postgres(), case)
