"""Groups get their numbers: a row is counted in the group of its key, on both sides of every threshold."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import examples, few
from tests.sql.test_sensitivity_written import broken

from discreet.engines.duckdb import DuckDBEngine
from discreet.sql.expressions.dialect import RowSelection
from discreet.sql.lower import compile as compiling
from discreet.sql.lower import contribution_bounding
from discreet.sql.lower.compile import compile_part
from discreet.sql.lower.groups import group_numbers
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.plan import PlannedRelease

TABLE = pa.table({
    "u": [at // 3 for at in range(300)],
    "c": [("x", "y", "z", None, "w")[at * at % 5] for at in range(300)],
    "d": [(True, False, None)[at % 3] for at in range(300)],
    "g": [at % 4 for at in range(300)],
    "a": [float(at % 11) for at in range(300)],
    "b": [float(at % 7) for at in range(300)],
})  # fmt: skip
FULL = ", COVAR_POP(a, b) AS p"
"""An aggregate whose integers leave no bits to the hash."""
LISTED = "c IN ('x', 'y', 'z')"
HALF = "NOT (a > 5 AND c NOT IN ('x', 'y', 'z'))"
KEYS = {
    "a text": ("c", LISTED, True),
    "two lists": ("c, d IS TRUE", LISTED, True),
    "a list and a range": ("c, g", LISTED, True),
    "NULL is listed": ("CASE WHEN a > 5 THEN c END", f"({HALF} OR c IS NULL)", False),
    "NULL is listed beside a list": ("CASE WHEN a > 5 THEN c END, c", LISTED, True),
    "a range alone": ("g", "TRUE", False),
    "no key": ("", "TRUE", False),
}
"""Keys, which rows have public ones, and whether rows carry the place of one of them."""


def planned(sql: str, max_rows: int) -> PlannedRelease:
    policy: dict[str, Any] = {
        "bounds": {"a": (0, 10), "b": (0, 6), "g": (0, 3)},
        "keys": {"c": ["z", "y", "x"]},
    }
    with shared.protect({"t": TABLE}, privacy_unit="u", max_rows=max_rows, budget=9, **policy) as session:
        (release,) = inside.plan_of(session, sql, Fraction(1)).releases
        return release


def question(keys: str, more: str = "") -> str:
    items = f"{keys}, " if keys else ""
    return f"SELECT {items}COUNT(*) AS n, SUM(a) AS s{more} FROM t{f' GROUP BY {keys}' if keys else ''}"


@cache
def opened() -> DuckDBEngine:
    """One for all questions, which change nothing of it."""
    return DuckDBEngine.open({"t": TABLE})


# Every list of keys, with half of the rest; a deep run: with all.
@pytest.mark.parametrize(("name", "more", "most"), few(itertools.product(KEYS, ["", FULL], [3, 100]), 5))
def test_counts_are_those_of_plain_sql_where_no_row_is_dropped(name: str, more: str, most: int) -> None:
    keys, public, numbered = KEYS[name]
    release = planned(question(keys, more), most)
    assert bool(group_numbers.numbered_axes(release)) == numbered
    count = next(at for at, one in enumerate(release.aggregates) if one.quantity == "rows")
    measure = release.measures[release.aggregates[count].measure]
    found = exact_integers(release, opened(), 5)[:, : measure.entries]
    weights = measure.weights("rows")
    assert weights is not None
    ours = sorted(round(n) for n in found @ weights if round(n))
    with shared.plain() as connection:
        connection.register("t", TABLE)
        by = f" GROUP BY {keys}" if keys else ""
        sql = f"SELECT COUNT(*) FROM t WHERE {public}{by}"
        assert ours == sorted(n for (n,) in connection.execute(sql).fetchall())


def test_texts_are_packed_where_bits_are_left() -> None:
    assert "struct_pack" not in compile_part(planned(question("c"), 3), 0, "duckdb", 5).sql
    assert (
        "struct_pack"
        not in compile_part(planned("SELECT c, MEDIAN(a) AS m FROM t GROUP BY c", 3), 0, "duckdb", 5).sql
    )
    assert "struct_pack" in compile_part(planned(question("c", FULL), 3), 0, "duckdb", 5).sql


def test_a_list_with_a_key_twice_breaks_no_bound_of_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are numbered before they are bounded; where they are not bounded, the same fault is found."""

    def in_every_group(release: PlannedRelease, axis: tuple[int, ...], of: str, name: str) -> str:
        return f"{of}k{axis[0]} IS NOT NULL"

    monkeypatch.setattr(group_numbers, "alike_in", in_every_group)
    monkeypatch.setattr(compiling, "short_axes", lambda *_: ())  # which are not joined
    sql = "SELECT c, COUNT(*) AS n, SUM(a) AS x FROM t GROUP BY c"
    assert broken(sql, True, examples(10, 40)) == []  # of rows that are not, the first shows it
    assert broken(sql, False, 40) != []


@pytest.mark.parametrize("name", ["a text", "two lists", "NULL is listed", "a range alone"])
def test_few_texts_are_numbered_by_case_and_keep_the_same_rows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys, _, _ = KEYS[name]
    release = planned(question(keys), 1)
    plain, quick = (compile_part(release, 0, "duckdb", 5, quick=way) for way in (False, True))
    with monkeypatch.context() as patched:  # no other way to choose the rows: nothing but the numbers differs
        patched.setattr(contribution_bounding, "RowSelection", lambda *of: RowSelection(*of[:-1]))
        numbered = compile_part(planned(question(keys), 1), 0, "duckdb", 5, quick=True)
    assert (plain.sql != numbered.sql) == ("CASE d.k" in numbered.sql) == ("CASE d.k" in quick.sql)
    assert ("CASE d.k" in quick.sql) == (len(quick.tables) < len(plain.tables))
    assert ("CASE d.k" in quick.sql) == (name in ("a text", "two lists"))
    with shared.plain() as connection:
        connection.register("t", TABLE)
        for table, content in plain.tables.items():
            connection.register(table, content)
        # The place of a key is the number of its group: another place is found.
        wrong = quick.sql.replace("THEN 2", "THEN 1")
        one, other, moved = (
            sorted(connection.execute(sql).fetchall()) for sql in (plain.sql, quick.sql, wrong)
        )
    assert one == other
    assert (one != moved) == ("CASE d.k" in quick.sql)


def test_quotes_in_a_key_stay_in_it() -> None:
    odd = ["it's", "", "a;b", "\\", "é"]
    table = pa.table({"u": list(range(10)), "c": odd * 2})
    with shared.protect({"t": table}, privacy_unit="u", max_rows=2, budget=9, keys={"c": odd}) as session:
        (release,) = inside.plan_of(
            session, "SELECT c, COUNT(*) AS n FROM t GROUP BY c", Fraction(1)
        ).releases
    found = exact_integers(release, DuckDBEngine.open({"t": table}), 5)
    assert found.tolist() == [[2]] * 5


def asked_again(key: str) -> list[float]:
    """The counts of two keys, asked with one literal after the other; 28, 21 and 14 rows are counted."""
    table = pa.table({"u": list(range(70)), "c": [key, "z"] * 35, "x": [at // 2 % 5 for at in range(70)]})
    bounds = {"x": (0, 4)}
    with shared.protect(
        {"t": table}, privacy_unit="u", max_rows=2, budget=10**7, bounds=bounds, keys={"c": [key, "z"]}
    ) as session:
        text = "SELECT c, COUNT(*) AS n FROM t WHERE x > {} GROUP BY c"
        return [
            round(n) for at in (0, 1, 2) for n in session.sql(text.format(at), epsilon=1000).to_pandas()["n"]
        ]


@pytest.mark.parametrize("key", ["x", "x\x000\x00y", "x\x009\x00y"])
def test_no_literal_is_put_into_a_key(key: str) -> None:
    assert asked_again(key) == [28, 28, 21, 21, 14, 14]


def test_a_key_that_looks_like_a_mark_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_numbers, "EDGE", "no edge")
    assert asked_again("x\x000\x00y") != [28, 28, 21, 21, 14, 14]
