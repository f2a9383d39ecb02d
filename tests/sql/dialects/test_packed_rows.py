"""Rows packed into one integer: what goes in comes out, nothing makes it fail, and the hash decides who is kept."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
from tests import inside, shared

from discreet.sql.algebra.relation import UNIT
from discreet.sql.dialects.duckdb import DUCKDB
from discreet.sql.dialects.packed_rows import BITS, HASH_BITS, fits, pack, unpack
from discreet.sql.lower.compile import compile_part
from discreet.sql.lower.contribution_bounding import kept_sql
from discreet.sql.plan.planner import plan

SPANS = {"a": (-5, 9), "b": (1, 1), "c": (0, 2**20)}
EXTREMES = [None, -(2**63), -6, -5, 0, 1, 9, 10, 2**20, 2**20 + 1, 2**63 - 1]


def test_what_goes_in_comes_out_moved_into_its_span() -> None:
    cells = [(a, b, c) for a in EXTREMES for b in EXTREMES for c in EXTREMES]
    rows = pa.table(
        {name: pa.array([cell[at] for cell in cells], pa.int64()) for at, name in enumerate("abc")}
    )
    names = list(SPANS)
    with shared.plain() as connection:
        connection.register("rows", rows)
        for key in ("0::UBIGINT", "18446744073709551615::UBIGINT"):  # the least and the greatest hash
            packed = f"SELECT a AS x, b AS y, c AS z, {pack(names, SPANS, key)} AS s FROM rows"
            told = connection.execute(
                f"SELECT x, y, z, s, {unpack(names, SPANS, 's')} FROM ({packed})"
            ).fetchall()
            assert len(told) == len(cells)
            for *values, s, a, b, c in told:
                assert 0 <= s < 2**BITS
                expected = [
                    None if value is None else min(max(value, lo), hi)
                    for value, (lo, hi) in zip(values, SPANS.values(), strict=True)
                ]
                assert [a, b, c] == expected


def test_only_integers_that_leave_enough_bits_to_the_hash_are_packed() -> None:
    assert fits(["a", "c"], SPANS)
    assert fits([], {})
    assert not fits(["a"], None)
    assert not fits(["a", "text"], SPANS)
    widest = BITS - HASH_BITS
    assert fits(["w"], {"w": (1, 2**widest - 1)})
    assert not fits(["w"], {"w": (0, 2**widest - 1)})  # one more value, and NULL is one, too


def _kept(rows: pa.Table, salt: int, spans: dict[str, tuple[int, int]] | None) -> Counter[tuple[object, ...]]:
    with shared.plain() as connection:
        connection.register("rows", rows)
        sql = kept_sql("SELECT * FROM rows", "a < 9", ["a", "b"], 2, salt, DUCKDB, spans=spans)
        return Counter(connection.execute(sql).fetchall())


def _people(count: int) -> pa.Table:
    rng = np.random.default_rng(5)
    who = rng.integers(0, count // 4, count)
    return pa.table({UNIT: who, "a": rng.integers(-5, 12, count), "b": pa.array([1] * count, pa.int64())})


def test_as_many_rows_of_each_unit_are_kept_as_without_packing() -> None:
    rows = _people(4000)
    packed, plain = _kept(rows, 3, SPANS), _kept(rows, 3, None)
    assert packed.total() == plain.total() < 4000
    assert max(int(str(a)) for a, _ in packed) <= 8  # what may not be kept at all is not kept
    assert packed == _kept(rows.take(np.random.default_rng(1).permutation(4000)), 3, SPANS)
    assert packed != _kept(rows, 4, SPANS)


def test_other_units_do_not_change_which_rows_of_a_unit_are_kept() -> None:
    rows = _people(4000)
    one = rows.filter(pa.array(rows[UNIT].to_numpy() == 7))
    others = rows.filter(pa.array(rows[UNIT].to_numpy() != 7))
    assert _kept(rows, 3, SPANS) == _kept(one, 3, SPANS) + _kept(others, 3, SPANS)


def test_no_value_is_favoured() -> None:
    # 20,000 units with the rows a = 0, …, 7 keep two each: each value is kept 5,000 times, with a deviation of
    # sqrt(20,000 * 1/4 * 3/4) = 61. 400 is 6.5 deviations, 1e-10 for each of eight values; a hash that left the
    # choice to the values would keep 20,000 of the least.
    units = np.repeat(np.arange(20_000), 8)
    rows = pa.table({UNIT: units, "a": np.tile(np.arange(8), 20_000), "b": np.ones(160_000, np.int64)})
    counts = _kept(rows, 11, SPANS)
    assert all(abs(counts[a, 1] - 5000) < 400 for a in range(8)), counts


def test_the_question_that_is_asked_most_is_packed() -> None:
    table = pa.table({"who": [1, 1, 2], "g": [0, 1, 1], "x": [1.0, None, 3.0]})
    bounds = {"x": (0, 9), "g": (0, 3)}
    with shared.protect(table, privacy_unit="who", max_rows=2, bounds=bounds, budget=1) as session:
        planned = plan(
            "SELECT g, COUNT(*) AS n, AVG(x) AS x FROM data GROUP BY g",
            inside.catalog_of(session),
            Fraction(1),
        )
        packed = compile_part(planned.releases[0], 0, "duckdb", 5).sql
        assert "struct_pack" not in packed
        assert "min(((hash(" in packed
        assert "row_number" in compile_part(planned.releases[0], 0, "postgres", 5).sql
