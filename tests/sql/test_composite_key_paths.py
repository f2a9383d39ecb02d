"""Keys of two columns on every step of a path: each row has the owner that it has where a key is one column.

Each key of the data of `paths` is split in two, and its halves stand under other names and in another order where they
are held than where they are made. Neither half tells an owner by itself. A key that is missing lacks one half or both.
"""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest
from tests import servers, shared
from tests.depth import few
from tests.sql import paths
from tests.sql.test_key_paths_engines import data_of, expected, silence

import discreet as dp
from discreet.errors import QueryRefused
from discreet.sql.lower import owners

LETTERS = {"keys": ["x", "y"]}
ON_ORDERS = "lines.a_letter = orders.z_letter AND lines.z_number = orders.a_number"
ON_PEOPLE = "orders.who = people.pid AND orders.which = people.plot"
LOOKED_AT = [
    "SELECT c, COUNT(*) AS n, SUM(v) AS s FROM lines GROUP BY c ORDER BY c",
    f"SELECT kind, COUNT(*) AS n FROM lines JOIN orders ON {ON_ORDERS} GROUP BY kind ORDER BY kind",
    f"SELECT kind, COUNT(*) AS n FROM people, lines, orders WHERE {ON_ORDERS} AND {ON_PEOPLE} GROUP BY kind "
    "ORDER BY kind",
    f"SELECT kind, COUNT(*) AS n FROM orders WHERE NOT EXISTS (SELECT 1 FROM lines WHERE {ON_ORDERS} "
    "AND lines.c = orders.kind) GROUP BY kind ORDER BY kind",
]
COLUMNS = {
    "people": {"pid": pa.int64(), "plot": pa.string(), "home": pa.int64(), "age": pa.int64()},
    "orders": {"z_letter": pa.string(), "a_number": pa.int64(), "which": pa.string(), "who": pa.int64(),
               "kind": pa.string()},
    "lines": {"a_letter": pa.string(), "z_number": pa.int64(), "v": pa.int64(), "c": pa.string()},
}  # fmt: skip
STEPS = {
    "orders": {"which": "people.plot", "who": "people.pid"},
    "lines": {"z_number": "orders.a_number", "a_letter": "orders.z_letter"},
}


def policy(caps: tuple[int, int, int] = (1_000, 1_000, 10_000)) -> dp.Policy:
    declared: Any = {"people": {"privacy_unit": "home", "columns": {"age": {"bounds": (0, 9)}}},
                     "orders": {"columns": {"kind": LETTERS}},
                     "lines": {"columns": {"c": LETTERS, "v": {"bounds": (0, 5)}}}}  # fmt: skip
    for table, cap in zip(declared, caps, strict=True):
        declared[table]["max_rows"] = cap
        if table in STEPS:
            declared[table] |= {"privacy_unit": "people.home", "through": STEPS[table]}
    return dp.Policy(budget=dp.Budget(epsilon=10**6), tables=declared)


def split(key: int | None, missing: itertools.count[int]) -> tuple[int | None, str | None]:
    """The halves of a key: neither tells it by itself."""
    if key is None:
        return ((None, None), (0, None), (None, "b"))[next(missing) % 3]
    return key // 2, "ab"[key % 2]


def tables_of(data: paths.Data) -> dict[str, pa.Table]:
    """The rows with both halves of each key."""
    missing = itertools.count()
    rows: dict[str, list[tuple[Any, ...]]] = {}
    rows["people"] = [(*split(key, missing), home, age) for key, home, age in data["people"]]
    rows["orders"] = [
        (*split(key, missing)[::-1], *split(who, missing)[::-1], kind) for key, who, kind in data["orders"]
    ]
    rows["lines"] = [(*split(key, missing)[::-1], v, c) for key, v, c in data["lines"]]
    return {
        name: pa.table(
            [
                pa.array(values, kind)
                for kind, values in zip(kinds.values(), zip(*rows[name], strict=True), strict=True)
            ],
            list(kinds),
        )
        for name, kinds in COLUMNS.items()
    }


def answers(session: dp.Session) -> list[list[tuple[Any, ...]]]:
    with silence():
        found = [session.sql(sql, epsilon=100).to_arrow() for sql in LOOKED_AT]
    names = (("c", "n", "s"), *[("kind", "n")] * 3)
    columns = [[table[name].to_pylist() for name in own] for table, own in zip(found, names, strict=True)]
    return [
        [tuple(v if isinstance(v, str) else round(v) for v in row) for row in zip(*lists, strict=True)]
        for lists in columns
    ]


SEEDS = (0, 4, 5, 9)


def test_duckdb_finds_the_owner_by_both_halves() -> None:
    for seed in few(SEEDS, 2):  # a deep run: all
        data = data_of(seed)
        assert answers(shared.protect(tables_of(data), policy=policy())) == expected(data)


def test_postgres_finds_the_owner_by_both_halves() -> None:
    for seed in few(SEEDS, 2):
        data = data_of(seed)
        places = servers.load(servers.postgres(), "composite", tables_of(data))
        with shared.protect(places, policy=policy(), ledger=":memory:") as session:
            assert answers(session) == expected(data)


def test_an_owner_that_is_found_by_one_half_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = owners.source_of

    def by_one_half(*given: Any) -> str:
        table, on, both = whole(*given).rpartition(" ON ")
        return table + on + both.partition(" AND ")[0]

    monkeypatch.setattr(owners, "source_of", by_one_half)
    assert any(
        answers(shared.protect(tables_of(data_of(seed)), policy=policy())) != expected(data_of(seed))
        for seed in SEEDS
    )


LOOKUP = "SELECT kind, COUNT(*) AS n FROM orders WHERE {} GROUP BY kind"


@pytest.mark.parametrize(
    ("half", "advice", "whole"),
    [
        ("SELECT COUNT(*) AS n FROM lines JOIN orders ON lines.a_letter = orders.z_letter",
         "Add ON lines.z_number = orders.a_number AND lines.a_letter = orders.z_letter.",
         f"SELECT COUNT(*) AS n FROM lines JOIN orders ON {ON_ORDERS}"),
        ("SELECT COUNT(*) AS n FROM lines JOIN orders ON lines.a_letter = orders.which AND lines.z_number = orders.who",
         "Add ON lines.z_number = orders.a_number AND lines.a_letter = orders.z_letter.",
         f"SELECT COUNT(*) AS n FROM lines JOIN orders ON {ON_ORDERS}"),
        ("SELECT COUNT(*) AS n FROM people JOIN orders ON orders.who = people.pid",
         "Add ON people.pid = orders.who AND people.plot = orders.which.",
         f"SELECT COUNT(*) AS n FROM people JOIN orders ON {ON_PEOPLE}"),
        (LOOKUP.format("a_number IN (SELECT z_number FROM lines)"),
         "Add WHERE orders.a_number = lines.z_number AND orders.z_letter = lines.a_letter.",
         LOOKUP.format("(a_number, z_letter) IN (SELECT z_number, a_letter FROM lines)")),
        (LOOKUP.format("EXISTS (SELECT 1 FROM lines WHERE a_number = z_number)"),
         "Add WHERE orders.a_number = lines.z_number AND orders.z_letter = lines.a_letter.",
         LOOKUP.format(f"EXISTS (SELECT 1 FROM lines WHERE {ON_ORDERS})")),
        (LOOKUP.format("a_number IN (SELECT a_number FROM orders WHERE kind = 'x')"),
         "FROM orders AS other WHERE orders.a_number = other.a_number AND orders.z_letter = other.z_letter.",
         LOOKUP.format("EXISTS (SELECT 1 FROM orders AS other WHERE orders.a_number = other.a_number AND "
                       "orders.z_letter = other.z_letter AND other.kind = 'x')")),
    ],
)  # fmt: skip
def test_half_a_key_is_refused_and_the_fix_works(half: str, advice: str, whole: str) -> None:
    session = shared.protect(tables_of(data_of(5)), policy=policy())
    with pytest.raises(QueryRefused) as caught:
        session.preview(half, epsilon=1)
    assert advice in str(caught.value)
    session.preview(whole, epsilon=1)


def test_a_whole_key_groups_and_half_of_it_does_not() -> None:
    session = shared.protect(tables_of(data_of(5)), policy=policy())
    grouped = "SELECT AVG(clamp(n, 0, 4)) AS a FROM (SELECT COUNT(*) AS n FROM lines GROUP BY {}) AS o"
    session.preview(grouped.format("z_number, a_letter"), epsilon=1)
    with pytest.raises(QueryRefused, match="The groups of z_number are not public"):
        session.preview(grouped.format("z_number"), epsilon=1)
