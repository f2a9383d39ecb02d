"""Neighbouring data sets whose units stand at the end of a path of keys, broken in every way that keys can be.

Three tables: households have people, people have orders, orders have lines. Keys are drawn from small pools, so that
rows of several units share one, keys lead nowhere, and keys and units are missing. A neighbour lacks one household: its
people are gone, and every row whose key is a key of a row that is gone; rows that nobody else's key leads to may stay
behind. Where one household is exchanged for another, each of the two data sets lacks one of them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow as pa
from tests.sql import harness

from discreet.engines.schema import ColumnSchema, Type
from discreet.policy import Budget, Policy
from discreet.sql.algebra.catalog import Catalog
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.limits import Limits
from discreet.sql.plan.planner import plan

Row = tuple[Any, ...]
Data = Mapping[str, Sequence[Row]]
COLUMNS: dict[str, list[str]] = {
    "people": ["pid", "home", "age"],
    "orders": ["oid", "pid", "kind"],
    "lines": ["oid", "v", "c"],
}
_TYPES = {"kind": Type.TEXT, "c": Type.TEXT}
SCHEMAS = {
    table: {name: ColumnSchema(name, _TYPES.get(name, Type.INTEGER), None, None) for name in names}
    for table, names in COLUMNS.items()
}
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM lines",
    "SELECT c, COUNT(*) AS n, SUM(v) AS s FROM lines GROUP BY c",
    "SELECT kind, AVG(v) AS a FROM lines JOIN orders ON lines.oid = orders.oid GROUP BY kind",
    "SELECT kind, c, COUNT(*) AS n FROM orders, lines, people WHERE orders.oid = lines.oid AND people.pid = orders.pid "
    "AND age > 3 GROUP BY kind, c",
    "SELECT COUNT(*) AS n FROM lines AS a JOIN lines AS b ON a.oid = b.oid AND a.v < b.v",
    "SELECT kind, COUNT(*) AS n FROM orders LEFT JOIN lines ON orders.oid = lines.oid GROUP BY kind",
    "SELECT COUNT(*) AS n, SUM(v) AS s FROM lines LEFT JOIN orders ON lines.oid = orders.oid AND kind = 'x'",
    "SELECT kind, COUNT(*) AS n FROM orders WHERE EXISTS (SELECT 1 FROM lines WHERE lines.oid = orders.oid AND v > 3 "
    "AND c = kind) GROUP BY kind",
    "SELECT kind, COUNT(*) AS n FROM orders WHERE oid NOT IN (SELECT oid FROM lines WHERE v > 2) GROUP BY kind",
    "SELECT AVG(clamp(n, 0, 4)) AS a FROM (SELECT oid, COUNT(*) AS n FROM lines GROUP BY oid) AS o",
    "SELECT c, COUNT(*) AS n FROM lines AS a WHERE NOT EXISTS (SELECT 1 FROM lines AS b WHERE b.oid = a.oid "
    "AND b.v > a.v) GROUP BY c",
    "SELECT COUNT(*) AS n FROM (SELECT oid FROM lines UNION ALL SELECT oid FROM orders) AS u",
    "SELECT c, VAR_POP(v) AS w FROM lines WHERE oid IN (SELECT oid FROM orders WHERE kind = 'x') GROUP BY c",
    "SELECT COUNT(*) AS n FROM people WHERE pid IN (SELECT pid FROM orders WHERE oid IN (SELECT oid FROM lines))",
    "SELECT COUNT(*) AS n FROM orders JOIN (SELECT oid, SUM(v) AS s FROM lines GROUP BY oid HAVING COUNT(*) > 1) AS l "
    "ON orders.oid = l.oid WHERE s > 2",
]


def policy(replace_one: bool = False, caps: Sequence[int] = (2, 3, 3)) -> Policy:
    """The policy of the three tables."""
    letters = {"keys": ["x", "y"]}
    tables: Any = {
        "people": {"privacy_unit": "home", "max_rows": caps[0], "columns": {"age": {"bounds": (0, 9)}}},
        "orders": {"privacy_unit": "people.home", "through": {"pid": "people.pid"}, "max_rows": caps[1],
                   "columns": {"kind": letters}},
        "lines": {"privacy_unit": "people.home", "through": {"oid": "orders.oid"}, "max_rows": caps[2],
                  "columns": {"c": letters, "v": {"bounds": (0, 5)}}},
    }  # fmt: skip
    return Policy(
        budget=Budget(epsilon=1), tables=tables, neighbours="replace_one" if replace_one else "add_remove"
    )


def random_data(rng: random.Random) -> dict[str, list[Row]]:
    """Tables of a few units, whose keys are shared, missing or lead nowhere, rarely or often."""
    broken = rng.choice([0, 0.15, 0.15, 0.3])
    homes, people, orders, lines = (
        rng.randint(2, 5),
        rng.choice([1, 1, 2]),
        rng.choice([1, 1, 2]),
        rng.choice([1, 2]),
    )
    persons = list(range(homes * people))
    sold = list(range(len(persons) * orders))

    def key(at: int, pool: Sequence[int]) -> int | None:
        if rng.random() >= broken:
            return at
        return rng.choice([None, 30, *(rng.choice(pool) for _ in range(6))])

    return {
        "people": [
            (key(at, persons), key(at // people, range(homes)), rng.randrange(-2, 12)) for at in persons
        ],
        "orders": [
            (key(at, sold), key(at // orders, persons), rng.choice(["x", "y", "z", None])) for at in sold
        ],
        "lines": [
            (key(at // lines, sold), rng.choice([None, -9, 0, 1, 2, 3, 4, 5, 99]), rng.choice(["x", "y"]))
            for at in range(len(sold) * lines)
        ],
    }


def without(data: Data, home: int, rng: random.Random, behind: bool = True) -> dict[str, list[Row]]:
    """The tables without one household; with `behind`, rows to which no key of others leads may stay."""
    out: dict[str, list[Row]] = {"people": [row for row in data["people"] if row[1] != home]}
    gone = [row for row in data["people"] if row[1] == home]
    for parent, child, at in (("people", "orders", 1), ("orders", "lines", 0)):
        keys = {row[0] for row in gone} - {None}
        others = {row[0] for row in out[parent]}
        leave = {k for k in keys - others if behind and rng.random() < 0.3}
        gone = [row for row in data[child] if row[at] in keys - leave]
        out[child] = [row for row in data[child] if row[at] not in keys - leave]
    return out


def neighbours(data: Data, rng: random.Random, replace_one: bool) -> list[tuple[Data, Data]]:
    """Pairs of neighbouring data sets."""
    homes = sorted({row[1] for row in data["people"]} - {None})
    if not replace_one:
        return [(data, without(data, home, rng)) for home in homes]
    return [
        (without(data, one, rng, False), without(data, two, rng, False))
        for one in homes
        for two in homes
        if one < two
    ]


class Tables(harness.Versions):
    """An engine whose three tables are exchanged; a query is prepared once for all their contents."""

    def __init__(self) -> None:
        super().__init__()
        self._streams = {name: harness.Stream(_arrow(name, [])) for name in COLUMNS}
        for name, stream in self._streams.items():
            self.connection.register(name, stream)

    def hold(self, data: Data, rng: random.Random) -> None:
        """Put other rows into the tables, in another order."""
        for name, stream in self._streams.items():
            rows = list(data[name])
            rng.shuffle(rows)
            stream.now = _arrow(name, rows)


def _arrow(table: str, rows: Sequence[Row]) -> pa.Table:
    names = COLUMNS[table]
    lists = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    kinds = [pa.string() if name in _TYPES else pa.int64() for name in names]
    return pa.table([pa.array(values, kind) for values, kind in zip(lists, kinds, strict=True)], names)


@cache
def engine() -> Tables:
    """One engine for all cases of a process."""
    return Tables()


def moved(sql: str, declared: Policy, pairs: Sequence[tuple[Data, Data]], rng: random.Random) -> list[str]:
    """The pairs of data sets whose integers are further apart than the plan of a question allows."""
    limits = Limits(None, None)
    planned = plan(sql, Catalog.build(declared, SCHEMAS, {}), Fraction(1), limits, Fraction(0))
    held: Any = engine()
    problems = []
    for pair in pairs:
        exact = []
        for data in pair:
            held.hold(data, rng)
            exact.append([exact_integers(release, held, 7) for release in planned.releases])
        problems += [
            f"{sql}: {found} in {pair}" for found in harness.compare(planned, exact[0], exact[1], "it")
        ]
    return problems


def violations(seed: int, cases: int) -> list[str]:
    """What some random cases show to be broken; empty when nothing is."""
    rng, problems = random.Random(seed), []
    for _ in range(cases):
        replace_one = rng.random() < 0.3
        caps = rng.choice([(1, 1, 1), (1, 1, 1), (1, 2, 2), (2, 3, 3)])
        pairs = neighbours(random_data(rng), rng, replace_one)
        problems += moved(rng.choice(QUESTIONS), policy(replace_one, caps), pairs, rng)
    return problems
