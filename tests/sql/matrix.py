"""Neighbouring tables by type: every physical type of an engine as a unit, as a key and as a value.

Where `harness` asks random questions of a few types, this asks listed questions of every type, with the worst values of
each and with the spellings that the engine holds equal. A case is a question, a mode (how much of a unit counts, and so
which SQL is written) and a set of tables; `faults` runs it on all of them. `cases` lists them all, `some` takes a part
in which every type stands in every role.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

from tests.sql import harness, matrix_reads, units
from tests.sql.matrix_tables import CHOSEN, Tables, kinds, of_units, wide
from tests.sql.physical import probes as physical
from tests.sql.physical.totality import HUGE, NARROW, TOP, WIDE, _of_row, bounds

from discreet.engines.schema import Type
from discreet.errors import DiscreetError, PolicyError, QueryRefused
from discreet.ledger import open_ledger
from discreet.mechanisms.numeric import threshold
from discreet.policy import Policy
from discreet.session.session import Session
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.dialects import duckdb as kept
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.planner import plan

SALT = 11
DELTA = Fraction(1, 100)


@dataclass(frozen=True)
class Mode:
    """How much of a unit counts.

    Attributes:
        unit: row, u, or id where the type is that of the unit.
        max_rows: rows kept of a unit.
        max_groups: as a question asks for it.
        many: beyond so many rows DuckDB sorts the rows of a unit instead of keeping the least in a heap.
        slices: into how many the units are split.
        replaced: whether neighbours replace a unit.
    """

    unit: str
    max_rows: int = 2
    max_groups: int | None = None
    many: int = kept.MANY
    slices: int = 1
    replaced: bool = False


AT = kept.MANY
"""The threshold in the code that writes SQL; both of its sides are asked, with few rows of a unit and with many."""
ROWS = [Mode("row"), Mode("row", replaced=True)]
PLAIN = [Mode("u"), Mode("u", 1), Mode("u", AT), Mode("u", AT + 1), Mode("u", 3, AT), Mode("u", 3, AT + 1),
         Mode("u", 1, replaced=True)]  # fmt: skip
SPLIT = [Mode("u", many=1), Mode("u", 1, many=0), Mode("u", 3, 2, many=1), Mode("u", slices=5),
         Mode("u", AT + 1, slices=5), Mode("u", 1, slices=3, many=0)]  # fmt: skip
"""Only DuckDB has heaps and slices."""


@dataclass(frozen=True)
class Case:
    """A question of neighbouring tables.

    Attributes:
        dialect: of the engine.
        role: unit, key, value, mixed (units of two types), read (from a frame or a file) or twin (of the unit's name).
        kind: the type that is tried.
        sql: the question.
        mode: how much of a unit counts.
        ends: which bounds the numbers have; None for none.
        other: the type of the other unit, where two are compared.
    """

    dialect: str
    role: str
    kind: str
    sql: str
    mode: Mode
    ends: str | None = None
    other: str = ""

    @property
    def tables(self) -> Tables:
        """The tables it is asked of."""
        if self.role == "read":
            return matrix_reads.tables(self.kind)
        if self.role == "twin":
            return matrix_reads.twins()
        if self.role in ("unit", "mixed"):
            return of_units(self.dialect, self.kind, self.other or self.kind)
        return wide(self.dialect, self.mode.unit == "row")


DOUBLED = "(SELECT * FROM t UNION ALL SELECT * FROM t) AS t"
KEYS = [
    "SELECT {x} AS k, COUNT(*) AS v FROM t GROUP BY 1",
    f"SELECT {{x}} AS k, COUNT(*) AS v FROM t WHERE id >= {CHOSEN} GROUP BY 1",
    f"SELECT {{x}} AS k, COUNT(*) AS v FROM {DOUBLED} GROUP BY 1",
    "SELECT {x} AS k, n AS l, SUM(n) AS v, AVG(n) AS w FROM t GROUP BY 1, 2",
    f"SELECT {{x}} AS k, COUNT(*) AS v FROM (SELECT * FROM t UNION ALL SELECT * FROM t WHERE id >= {CHOSEN}) AS t "
    "GROUP BY 1",
    "SELECT COUNT(DISTINCT {x}) AS v FROM t",
    f"SELECT COUNT(DISTINCT {{x}}) AS v FROM t WHERE id >= {CHOSEN}",
    "SELECT COUNT(*) AS v FROM (SELECT {x} FROM t GROUP BY {x} HAVING COUNT(*) = 1) AS t",
    "SELECT COUNT({x}) AS v FROM t WHERE {x} IS NOT NULL",
]  # fmt: skip
SIGNS = [
    f"SELECT CASE WHEN id >= {CHOSEN} THEN -{{x}} ELSE {{x}} END AS k, COUNT(*) AS v FROM t GROUP BY 1",
    f"SELECT ({{x}} - {{x}}) * CASE WHEN id >= {CHOSEN} THEN -1 ELSE 1 END AS k, COUNT(*) AS v FROM t GROUP BY 1",
    "SELECT {x} * -1 AS k, COUNT(*) AS v FROM t WHERE {x} = 0 GROUP BY 1",
]
"""Keys of numbers, whose zero may have the sign of one person."""
UNIT_KEYS = [
    "SELECT {x} AS k, COUNT(*) AS v FROM (SELECT u, MIN({x}) AS {x} FROM t GROUP BY u) AS t GROUP BY 1",
    "SELECT {x} AS k, COUNT(*) AS v FROM (SELECT DISTINCT u, {x} FROM t) AS t GROUP BY 1",
    "SELECT {x} AS k, COUNT(DISTINCT u) AS v FROM t GROUP BY 1",
    "SELECT t.{x} AS k, COUNT(*) AS v FROM t JOIN s ON t.u = s.u AND t.{x} = s.{x} GROUP BY 1",
    "SELECT COUNT(*) AS v FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.u = t.u AND s.{x} = t.{x})",
]
BY_NUMBER = "SELECT n, COUNT(*) AS v FROM t GROUP BY n"
OF_UNITS = [
    *units.QUESTIONS,
    BY_NUMBER,
    "SELECT n, COUNT(*) AS v, SUM(v) AS w FROM (SELECT * FROM t UNION ALL SELECT * FROM t) AS t GROUP BY n",
    "SELECT n, COUNT(*) AS v FROM t JOIN s ON t.id = s.id GROUP BY n",
    "SELECT n, COUNT(DISTINCT id) AS v FROM t GROUP BY n",
    "SELECT m AS k, COUNT(*) AS w FROM t GROUP BY 1",
    "SELECT m AS k, COUNT(DISTINCT id) AS w FROM (SELECT * FROM t UNION ALL SELECT * FROM t) AS t GROUP BY 1",
]
SLOW = ("CORR", "VARIANCE", "MEDIAN")
"""Their intervals are drawn, which takes a second each."""
COMPARING = [question for question in units.QUESTIONS if " s" in question]
PROBES = [probe for _, probe in physical.probes()]


@cache
def cases(dialect: str, rounds: int = 1) -> tuple[Case, ...]:
    """Every case of an engine, in a fixed order; each round has other modes."""
    made = [*_of_values(dialect, rounds), *of_units_alone(dialect, rounds), *of_two_types(dialect)]
    if dialect == "duckdb":
        made += [
            Case(dialect, "read", kind, sql, ROWS[0])
            for kind in matrix_reads.kinds()
            for sql in matrix_reads.QUESTIONS
        ]
    elif dialect == "postgres":
        asked = [question for question in OF_UNITS if "id" not in question]
        made += [
            Case(dialect, "twin", "twin", sql, Mode("ID", rows)) for sql in asked for rows in (1, 2, AT + 1)
        ]
    random.Random(5).shuffle(made)
    return tuple(made)


def some(dialect: str, many: int, rounds: int = 1) -> list[Case]:
    """Some of the cases: first each type once, then each in each role, then the others."""
    every = cases(dialect, rounds)
    kinds_: dict[str, Case] = {}
    both: dict[tuple[str, str], Case] = {}
    for case in every:
        kinds_.setdefault(case.kind, case)
        both.setdefault((case.role, case.kind), case)
    # Each once, in this order: a type, a type in a role, a case.
    chosen = list(dict.fromkeys([*kinds_.values(), *both.values(), *every]))[:many]
    return sorted(chosen, key=lambda case: (case.role in ("unit", "mixed"), case.kind, case.other))


def _of_values(dialect: str, rounds: int) -> Iterator[Case]:
    by_unit = PLAIN + (SPLIT if dialect == "duckdb" else [])
    modes = ROWS + by_unit
    tables = wide(dialect, True)
    for number, (column, kind) in enumerate(tables.columns.items()):
        logical = tables.logical[column]
        numeric = logical in (Type.INTEGER, Type.FLOAT)
        for turn in range(rounds):
            for at, question in enumerate([*KEYS, *(SIGNS if numeric else [])]):
                mode = modes[(at * 3 + number + turn * 5) % len(modes)]
                yield Case(dialect, "key", kind, question.format(x=column), mode)
                if numeric or at < 3:  # rows as units are where keys are found as they are met
                    yield Case(dialect, "key", kind, question.format(x=column), ROWS[(at + turn) % 2])
            for at, question in enumerate(UNIT_KEYS):
                mode = by_unit[(at * 3 + number + turn * 5) % len(by_unit)]
                yield Case(dialect, "key", kind, question.format(x=column), mode)
            for at, probe in enumerate(PROBES):
                if logical not in probe.takes:
                    continue
                allowed = modes if probe.unit == "row" else by_unit
                mode = allowed[(at * 5 + number + turn * 3) % len(allowed)]
                if probe.unit != "row" and probe.most > 3:
                    mode = replace(mode, max_rows=probe.most)
                sql = probe.write([column])
                ends = probe.ends or (NARROW, WIDE, None, TOP, HUGE)[(at + number + turn) % 5]
                yield Case(dialect, "value", kind, sql, mode, ends if numeric else None)
                yield Case(dialect, "value", kind, _of_row(sql, CHOSEN), mode, ends if numeric else None)


def of_units_alone(dialect: str, rounds: int = 1) -> Iterator[Case]:
    """Those that ask of a type as that of the unit."""
    modes = PLAIN + (SPLIT if dialect == "duckdb" else [])
    for number, kind in enumerate(kinds(dialect)):
        for turn in range(rounds):
            for at, question in enumerate(OF_UNITS):
                mode = replace(modes[(at * 3 + number + turn * 5) % len(modes)], unit="id")
                yield Case(dialect, "unit", kind, question, mode)
        # People who are taken for one keep one row together: whose row it is, the others tell by being there.
        yield Case(dialect, "unit", kind, BY_NUMBER, Mode("id", 1))


def of_two_types(dialect: str) -> Iterator[Case]:
    """Those that compare units of two types."""
    listed = list(kinds(dialect))
    for one, kind in enumerate(listed):
        for step in (1, 2, 5, 11):
            question = COMPARING[(one + step) % len(COMPARING)]
            yield Case(dialect, "mixed", kind, question, Mode("id"), other=listed[(one + step) % len(listed)])


@dataclass
class Tally:
    """What was compared: pairs of tables on which integers were, answers, and cases that were refused."""

    pairs: int = 0
    answers: int = 0
    refused: int = 0
    cases: int = 0


def _policy(case: Case, tables: Tables) -> Policy:
    mode = case.mode
    columns: dict[str, Any] = {"n": {"keys": list(range(10))}}
    if case.role in ("unit", "mixed", "twin"):
        columns.update(
            v={"bounds": (0, 1)}, n={"keys": list(range(100))}
        )  # each row its own, so that it is seen
    else:
        columns["n"] = {"bounds": (0, 9)}
        if case.ends is not None:
            for name, column in tables.schema["t"].items():
                if tables.columns.get(name) == case.kind:
                    columns[name] = {"bounds": bounds(column, case.ends)}
    table: dict[str, Any] = {"privacy_unit": mode.unit, "columns": columns}
    if mode.unit != "row":
        table["max_rows"] = mode.max_rows
    given: dict[str, Any] = {
        "budget": {"epsilon": 10**9, "delta": "0.9"},
        "neighbours": "replace_one" if mode.replaced else "add_remove",
        "tables": dict.fromkeys(tables.schema, table),
    }
    return Policy.model_validate(given)


def faults(case: Case, tally: Tally | None = None, answers: bool = False) -> list[str]:
    """What a case shows to be broken; empty when nothing is.

    Args:
        case: a question.
        tally: is added to.
        answers: whether the whole answer is compared as well, which takes longer.
    """
    return list(_faults(case, tally or Tally(), answers))


def faulty(case: Case) -> bool:
    """Whether a case shows anything to be broken: nothing is asked behind the first thing that does."""
    return any(_faults(case, Tally(), False))


def _faults(case: Case, tally: Tally, answers: bool) -> Iterator[str]:
    tally.cases += 1
    tables = case.tables
    if not tables.engines:
        return  # a source that there cannot be
    delta = DELTA if "GROUP BY 1" in case.sql else Fraction(0)
    limits = Limits(None, case.mode.max_groups)
    if any(engine.schema() != tables.schema for engine in tables.engines):
        yield "the columns or their types depend on the values"
        return
    try:
        policy = _policy(case, tables)
        policy.check(tables.schema)
        catalog = Catalog.build(policy, tables.schema, {})
        planned = plan(case.sql, catalog, Fraction(1), limits, delta)
    except (QueryRefused, PolicyError):
        tally.refused += 1  # by text, policy and types, which are the same for all of the tables
        return
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(kept, "MANY", case.mode.many))
        for base, *near in tables.neighbours(case.mode.replaced):
            here: Any = tables.at([base, *near], case.mode.slices)
            tally.pairs += len(near)
            try:
                found, whole = harness.found_groups(planned, here, 1 + len(near), SALT)
                yield from found
                first: list[Any] = []
                for at, version in enumerate([base, *near]):
                    here.use(at)
                    exact = [exact_integers(release, here, SALT) for release in whole.releases]
                    first = first or exact
                    yield from harness.compare(whole, first, exact, tables.names[version]) if at else ()
                    if version in tables.same and any(
                        (x != y).any() for x, y in zip(first, exact, strict=True)
                    ):
                        yield "the integers depend on the physical order"
            except DiscreetError as error:
                yield f"a value makes it fail: {type(error).__name__}"
                continue
            if answers and not any(slow in case.sql for slow in SLOW):
                seen = [_answer(here, at, policy, case, delta) for at in (0, 1, len(near))]
                tally.answers += 2
                for one in seen[1:]:
                    if _differ(seen[0], one):
                        yield f"answers differ: {seen[0]} / {one}"


def _answer(here: Any, at: int, policy: Policy, case: Case, delta: Fraction) -> dict[str, Any]:
    """All of an answer that may not depend on one unit: error or answer, columns, types, cost, intervals, keys."""
    here.use(at)
    # It stays open: with it the engine would be closed, which the next case asks.
    session = Session(here.engine, policy, open_ledger(None))
    with mock.patch.object(threshold, "add_laplace", harness.no_noise):
        given: dict[str, Any] = {"delta": delta} if delta else {}
        try:
            release = session.sql(case.sql, epsilon=100, max_groups=case.mode.max_groups, **given)
        except DiscreetError as error:
            return {"error": (type(error).__name__, str(error)), "cost": session.budget.spent, "keys": {}}
    keys = {}
    for name in set(release.columns) & {"k", "l", "n"}:
        keys.update({(name, key): repr(key) for key in release.to_dict()[name]})
    shape = None if delta else len(release)
    cost = (release.epsilon, session.budget.spent)
    return {"schema": release.values.schema, "rows": shape, "cost": cost, "intervals": sorted(release.low),
            "keys": keys, "notes": release.notes}  # fmt: skip


def _differ(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Keys that are found may come and go with several units, so only those are compared that both show."""
    if {**one, "keys": None} != {**other, "keys": None}:
        return True
    return any(one["keys"][key] != other["keys"][key] for key in one["keys"].keys() & other["keys"].keys())


@cache
def column_of(dialect: str, kind: str) -> str:
    """The column of a type in the wide tables."""
    return next(name for name, each in wide(dialect, True).columns.items() if each == kind)
