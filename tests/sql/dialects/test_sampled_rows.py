"""Every sample of a unit's rows is as likely: the draws are enumerated, and the condition is asked of each row."""

from __future__ import annotations

import duckdb
import pytest

from discreet.sql.dialects import sampled_rows
from discreet.sql.dialects.sampled_rows import COUNT, FEW, SEED, sampled
from discreet.sql.expressions.dialect import NUMBER, RowSelection

SIZES = [(size, rows) for size in range(1, FEW + 1) for rows in range(size, min(size + 4, 10))]


def samples(size: int, rows: int) -> list[tuple[int, int]]:
    """For each sample that some draws give, the bits of its numbers and how many of all draws give it."""
    draws = ", ".join(f"range({rows - size + j}) AS r{j}(d{j})" for j in range(1, size + 1))
    each = ", ".join(f"d{j}" for j in range(1, size + 1))
    numbers = f"range({rows}) AS n({NUMBER}), (SELECT {rows} AS {COUNT})"
    taken = f"FROM {draws}, {numbers} WHERE {sampled_rows._taken(size)} GROUP BY {each}"
    return duckdb.execute(
        f"SELECT CAST(bits AS INTEGER), COUNT(*) FROM (SELECT SUM(1 << {NUMBER}) AS bits {taken}) GROUP BY 1"
    ).fetchall()


def fair(size: int, rows: int) -> bool:
    found = samples(size, rows)
    sets = {bits for bits in range(1 << rows) if bits.bit_count() == size}
    return {bits for bits, _ in found} == sets and len({times for _, times in found}) == 1


@pytest.mark.parametrize(("size", "rows"), SIZES)
def test_each_sample_is_given_by_as_many_draws(size: int, rows: int) -> None:
    assert fair(size, rows)


def test_a_draw_that_nothing_stands_in_for_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sampled_rows._taken
    monkeypatch.setattr(sampled_rows, "_taken", lambda size: whole(size).partition(" OR (")[0])
    assert not fair(2, 4)


def test_larger_samples_and_rows_that_need_no_number_are_ranked() -> None:
    def selection(size: int, numbered: bool = True) -> RowSelection:
        return RowSelection("rows", "u", ["a"], size, 2**64 - 1, None, numbered, "INTEGER")

    assert sampled(selection(FEW + 1)) is None
    assert sampled(selection(1, numbered=False)) is None
    assert f"hashint8extended(u, CAST(-1 AS BIGINT)) AS {SEED}" in str(sampled(selection(FEW)))
