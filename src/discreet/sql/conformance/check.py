"""Runs the corpus on an engine and on DuckDB, and compares the integers bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Engine
from discreet.errors import EngineError, QueryRefused
from discreet.records import dataclass
from discreet.sql.algebra import keys as ks
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.algebra.relation import Select, scan, select
from discreet.sql.conformance.functions import expressions, measures
from discreet.sql.conformance.questions import QUESTIONS
from discreet.sql.conformance.tables import ROWS, policy, tables
from discreet.sql.expressions.expression import Column
from discreet.sql.lower.capabilities import lacking
from discreet.sql.lower.run import exact_integers
from discreet.sql.measures.measure import Moments
from discreet.sql.plan.plan import MeasuredRows, PlannedRelease
from discreet.sql.plan.planner import plan

SALT = 0x9E3779B97F4A7C15
BATCH = 24
"""How many expressions one query of the function table asks for."""
POLICIES = (("u", 3), ("row", None), ("u", 100))


@dataclass(frozen=True)
class Problem:
    """A question that an engine answers otherwise.

    Attributes:
        question: in SQL, or the line of the function table and its arguments.
        says: how many integers differ, or that the engine failed.
    """

    question: str
    says: str


@dataclass(frozen=True)
class Case:
    """One release, the subject of its integers, and which expressions of which case of the corpus these are."""

    names: tuple[str, ...]
    release: PlannedRelease
    origin: tuple[str, int]
    which: tuple[int, ...] = (0,)


def parts() -> tuple[str, ...]:
    """The parts of the corpus, which `check` can run one by one."""
    return ("functions", *(f"questions by {unit}, {most}" for unit, most in POLICIES))


def count() -> int:
    """How many questions the corpus has: in SQL, and expressions of the function table."""
    return sum(len(case.names) for part in parts() for case in cases(part))


def check(engine: Engine, only: Sequence[str] = (), every: int = 1) -> list[Problem]:
    """Ask an engine the corpus; questions that it declares to lack are passed over.

    Args:
        engine: holds the tables of `tables()`.
        only: parts of the corpus; all by default.
        every: ask only each second, third, … question of a part, to be done sooner; all by default.

    Returns:
        The answers that differ from those of DuckDB; empty when none does.
    """
    found: list[Problem] = []
    for part in only or parts():
        if every == 1 or part not in parts()[1:]:
            some = cases(part)[::every]
        else:
            some = some_questions(part, _texts(parts().index(part) - 1)[::every])
        for case in some:
            found += compare(engine, case)
    return found


def compare(engine: Engine, case: Case) -> list[Problem]:
    """The answers to a case that differ from those of DuckDB; expressions that an engine lacks are passed over."""
    return [problem for computed in computable(engine, case) for problem in _compare(engine, computed)]


def computable(engine: Engine, case: Case) -> Iterator[Case]:
    """The expressions of a case that use no function which an engine declares to lack, if there are any."""
    lacks: frozenset[str] = getattr(engine, "lacks", frozenset())
    if not lacking(case.release, lacks):
        yield case
    elif len(case.names) > 1:
        each = range(len(case.names))
        if there := [index for index in each if not lacking(_subset(case, [index]).release, lacks)]:
            yield _subset(case, there)


def _compare(engine: Engine, case: Case) -> list[Problem]:
    expected = _expected(case)
    try:
        got = exact_integers(case.release, engine, SALT, portable=True)
    except EngineError:
        # One of many expressions is at fault: find it.
        halves = [problem for half in _halves(case) for problem in _compare(engine, half)]
        return halves or [Problem(case.names[0], "the engine failed")]
    return [
        Problem(name, f"{np.count_nonzero(got[:, index] != expected[:, index])} integers differ")
        for name, index in zip(case.names, _places(case), strict=True)
        if (got[:, index] != expected[:, index]).any()
    ]


def _halves(case: Case) -> list[Case]:
    """Both halves of the expressions of a case; none of a single one."""
    half = len(case.names) // 2
    return [_subset(case, range(half)), _subset(case, range(half, len(case.names)))] if half else []


def _places(case: Case) -> list[slice]:
    """Where the integers of each question stand in a row of the result."""
    if len(case.names) == 1:
        return [slice(None)]
    sizes = [sum(m.entries for m in some) for some in _by_name(case)]
    ends = np.cumsum(sizes)
    return [slice(int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True)]


def _by_name(case: Case) -> list[list[Moments]]:
    """The measures of each expression: each begins with a count."""
    out: list[list[Moments]] = []
    for measure in case.release.measures:
        assert isinstance(measure, Moments)
        if measure.degree == 0:
            out.append([])
        out[-1].append(measure)
    return out


def _subset(case: Case, which: Sequence[int]) -> Case:
    """Some expressions of a case over rows that have these alone: where others stayed, an engine would lack all."""
    groups = _by_name(case)
    origin = tuple(case.which[index] for index in which)
    (part,), kept = case.release.parts, {"k", *(f"v{index}" for index in origin)}
    relation = part.rows.relation
    assert isinstance(relation, Select)
    assert relation.items is not None
    items = tuple((name, item) for name, item in relation.items if name in kept)
    rows = replace(
        part.rows,
        relation=replace(relation, items=items),
        columns={name: column for name, column in part.rows.columns.items() if name in kept},
        names=tuple(name for name in part.rows.names if name in kept),
    )
    chosen = tuple(measure for index in which for measure in groups[index])
    release = _release(replace(part, rows=rows), case.release.keys, chosen)
    return Case(tuple(case.names[index] for index in which), release, case.origin, origin)


def _release(part: MeasuredRows, keys: tuple[ks.Key, ...], chosen: tuple[Moments, ...]) -> PlannedRelease:
    return PlannedRelease("corpus", (part,), keys, chosen, (Fraction(1),) * len(chosen), (), 1)


_some: dict[str, frozenset[str]] = {}
_asked: dict[str, tuple[int, frozenset[str]]] = {}
"""Parts that are some questions of a part: its policy, and which."""


def some_functions(part: str, names: Collection[str]) -> tuple[Case, ...]:
    """A new part of the corpus: some of the expressions of the function table alone, as few queries as there can be."""
    _some[part] = frozenset(names)
    return cases(part)


def some_questions(part: str, texts: Collection[str]) -> tuple[Case, ...]:
    """A new part of the corpus: some of the questions of a part alone, as planning all of them takes seconds."""
    chosen = (parts().index(part) - 1, frozenset(texts))
    name = next((name for name, known in _asked.items() if known == chosen), f"{part}, {len(_asked)}")
    _asked[name] = chosen
    return cases(name)


@cache
def cases(part: str) -> tuple[Case, ...]:
    """The releases of a part of the corpus, from text and policy alone."""
    if part == "functions":
        return tuple(_functions(part))
    if part in _some:
        return tuple(_functions(part, _some[part].__contains__))
    if part in _asked:
        index, texts = _asked[part]
        return tuple(_questions(part, index, texts.__contains__))
    return tuple(_questions(part, parts().index(part) - 1))


def _catalog(unit: str, most: int | None) -> Catalog:
    duck = _duckdb()
    return Catalog.build(policy(unit, most), duck.schema(), {"pub": duck.public("pub")})


def _functions(part_name: str, asked: Callable[[str], bool] = bool) -> Iterator[Case]:
    catalog = _catalog("row", None)
    rows = scan(catalog.private["t"])
    number = rows.columns["k"]
    key = ks.Key(Column("k", number.type, number.span), tuple(range(ROWS)))
    listed = [(name, expression) for name, expression in expressions(catalog).items() if asked(name)]
    for index in range(0, len(listed), BATCH):
        some = listed[index : index + BATCH]
        # Each expression is computed beside the row once, and measured in several ways.
        items = [("k", number), *((f"v{i}", expression) for i, (_, expression) in enumerate(some))]
        shown = select(rows, items, None)
        part = MeasuredRows(shown, (key.expression,), 1)
        chosen = tuple(m for i in range(len(some)) for m in measures(shown.columns[f"v{i}"]))
        names = tuple(name for name, _ in some)
        yield Case(
            names, _release(part, (key,), chosen), (part_name, index // BATCH), tuple(range(len(some)))
        )


def _texts(index: int) -> Sequence[str]:
    """The questions by a policy: the third keeps nearly all rows, by sorting; a fifth of the questions will do there."""
    return QUESTIONS[:: 5 if index == 2 else 1]


def _questions(part_name: str, index: int, asked: Callable[[str], bool] = bool) -> Iterator[Case]:
    unit, most = POLICIES[index]
    catalog = _catalog(unit, most)
    found = 0
    for text in filter(asked, _texts(index)):
        try:
            planned = plan(text, catalog, Fraction(1))
        except QueryRefused:
            if unit != "row":
                raise
            continue  # it needs a unit
        for release in planned.releases:
            yield Case((text,), release, (part_name, found))
            found += 1


@cache
def _duckdb() -> DuckDBEngine:
    return DuckDBEngine.open(tables())


@cache
def _whole(part: str, index: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return exact_integers(cases(part)[index].release, _duckdb(), SALT, portable=True)


def _expected(case: Case) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The integers of DuckDB for a case, or for some expressions of one."""
    part, index = case.origin
    places = _places(cases(part)[index])
    return np.concatenate([_whole(part, index)[:, places[which]] for which in case.which], axis=1)
