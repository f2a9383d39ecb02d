"""People written in several ways, and how many rows of them each question must keep: by type of the unit column.

A pool is a list of people; a person is a list of values that the engine holds equal but that need not be identical, and
that differ from those of the others by as little as the type allows. `None` as a person is nobody.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from tests.depth import DEEP

from discreet.engines.engine import Engine
from discreet.ledger import open_ledger
from discreet.policy import Policy
from discreet.session.session import Session
from discreet.sql.algebra import relation as rel
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.lower import relation_sql
from discreet.sql.lower.run import exact_integers
from discreet.sql.measures.measure import columns
from discreet.sql.plan.planner import plan

MOST = 2
"""Rows that are kept of a unit."""
Row = tuple[Any, int]
Table = list[Row]
Counts = dict[int, int]
QUESTIONS: dict[str, Callable[[Counts, set[int]], int]] = {
    "SELECT COUNT(*) FROM t": lambda n, s: _capped(n),
    "SELECT SUM(v) FROM t": lambda n, s: _capped(n),
    "SELECT COUNT(DISTINCT id) FROM t": lambda n, s: len(n),
    "SELECT COUNT(*) FROM (SELECT id, COUNT(*) AS c FROM t GROUP BY id)": lambda n, s: len(n),
    "SELECT COUNT(*) FROM (SELECT DISTINCT id FROM t)": lambda n, s: len(n),
    "SELECT COUNT(*) FROM (SELECT * FROM t QUALIFY row_number() OVER (PARTITION BY id ORDER BY v) = 1)":
        lambda n, s: len(n),
    "SELECT COUNT(*) FROM t JOIN s ON t.id = s.id": lambda n, s: _capped({u: c for u, c in n.items() if u in s}),
    "SELECT COUNT(*) FROM t JOIN s USING (id)": lambda n, s: _capped({u: c for u, c in n.items() if u in s}),
    "SELECT COUNT(s.v) FROM t LEFT JOIN s ON t.id = s.id":
        lambda n, s: _capped({u: c for u, c in n.items() if u in s}),
    "SELECT COUNT(*) FROM t WHERE id IN (SELECT id FROM s)":
        lambda n, s: _capped({u: c for u, c in n.items() if u in s}),
    "SELECT COUNT(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.id = t.id)":
        lambda n, s: _capped({u: c for u, c in n.items() if u not in s}),
    "SELECT COUNT(*) FROM t SEMI JOIN s ON t.id = s.id":
        lambda n, s: _capped({u: c for u, c in n.items() if u in s}),
    "SELECT COUNT(DISTINCT id) FROM (SELECT * FROM t UNION ALL SELECT * FROM s)": lambda n, s: len({*n, *s}),
    "SELECT COUNT(*) FROM (SELECT id FROM t UNION ALL SELECT id FROM t)":
        lambda n, s: sum(min(2 * MOST, 2 * c) for c in n.values()),
}  # fmt: skip
"""Each question with its exact answer, from the rows of each person in t and the people in s, who have one row each."""


def some_of(number: int) -> list[str]:
    """The questions for a type: each fifth, for the next type from another one on; in a deep run all."""
    return list(QUESTIONS) if DEEP else list(QUESTIONS)[number % 5 :: 5]


def _capped(counts: Counts) -> int:
    return sum(min(MOST, c) for c in counts.values())


def tables(
    pool: Sequence[Sequence[Any] | None], seed: int
) -> tuple[list[tuple[Table, Counts]], Table, set[int]]:
    """A table t with two neighbours, to which a person was added, and the table s; with who has how many rows."""
    rng = random.Random(seed)

    def rows(person: int, many: int) -> list[tuple[int, Any]]:
        spellings = pool[person]
        return [(person, None if spellings is None else spellings[at % len(spellings)]) for at in range(many)]

    people = list(range(len(pool)))
    rng.shuffle(people)
    base = [row for person in people[:-2] for row in rows(person, rng.randint(1, 5))]
    versions = [base, base + rows(people[-2], 5), base + rows(people[-1], 6)]
    made = []
    for version in versions:
        rng.shuffle(version)
        made.append(([(value, 1) for _, value in version], _who(pool, [person for person, _ in version])))
    second = people[::2]
    return made, [(rows(p, 3)[-1][1], 1) for p in second], set(_who(pool, second))


def _who(pool: Sequence[Sequence[Any] | None], people: list[int]) -> Counts:
    """Rows by person; nobody is not counted."""
    return dict(Counter(person for person in people if pool[person] is not None))


def policy() -> Policy:
    """Of the two tables."""
    one: dict[str, Any] = {"privacy_unit": "id", "max_rows": MOST, "columns": {"v": {"bounds": (0, 1)}}}
    declared: dict[str, Any] = {"budget": 1, "tables": {"t": one, "s": {**one, "max_rows": 1}}}
    return Policy(**declared)


def session(engine: Engine, declared: dict[str, Any]) -> Session:
    """A session with a ledger in memory, over tables that are declared so."""
    given: dict[str, Any] = {"budget": 100, "tables": declared}
    return Session(engine, Policy(**given), open_ledger(None))


def problems(
    engines: Sequence[Engine],
    counts: Sequence[Counts],
    second: set[int],
    questions: Sequence[str] = tuple(QUESTIONS),
) -> list[str]:
    """What is wrong when each engine holds one version of t: answers that are not exact, or too far from each other."""
    found = []
    schemas = [engine.schema() for engine in engines]
    assert all(one == schemas[0] for one in schemas)  # so that there is one plan for all
    catalog = Catalog.build(policy(), schemas[0], {})
    for question in questions:
        answers = []
        (release,) = plan(question, catalog, Fraction(1)).releases
        for engine, count in zip(engines, counts, strict=True):
            exact = exact_integers(release, engine, 7)
            answers.append((release, exact))
            value = int(exact.sum()) if exact.size else 0
            expected = QUESTIONS[question](count, second)
            if value != expected * _unit_of(release):
                found.append(f"{question}: {value} instead of {expected}")
        for release, other in answers[1:]:
            for measure, part in zip(release.measures, columns(release.measures), strict=True):
                moved = int(np.abs(other[:, part] - answers[0][1][:, part]).sum())
                if moved > release.sensitivity(measure):
                    found.append(f"{question}: moved by {moved}, allowed {release.sensitivity(measure)}")
    return found


def _unit_of(release: Any) -> int:
    """What a row with v = 1 adds to a sum; 1 to a count."""
    return int(release.measures[0].row_sensitivity)


def lossy() -> Any:
    """The planted fault: the unit is what queries see of its column."""
    plain = relation_sql._WRITERS[rel.Scan]

    def scan(relation: Any, needed: set[str], dialect: Dialect) -> str:
        unit = relation.table.unit
        if unit is None or unit.identity is None:
            return str(plain(relation, needed, dialect))
        return str(plain(relation, needed, dialect)).replace(f"{unit.identity.column}", unit.name)

    return mock.patch.dict(relation_sql._WRITERS, {rel.Scan: scan})
