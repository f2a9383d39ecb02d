"""Large tables are asked slice by slice of their units; the integers are those of all units at once, bit by bit."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import inside
from tests.depth import few

import discreet as dp
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.duckdb import connection as connections
from discreet.engines.duckdb import engine as engines
from discreet.engines.duckdb.connection import connect
from discreet.sql.conformance import QUESTIONS, tables
from discreet.sql.conformance.check import SALT, Case, some_questions
from discreet.sql.expressions.dialect import SATURATE
from discreet.sql.lower import run
from discreet.sql.lower.run import exact_integers
from discreet.sql.plan.plan import PlannedRelease


def by_unit(texts: Iterable[str]) -> tuple[Case, ...]:
    """Questions with a unit; planning them takes seconds, so no process does it that only collects this file."""
    return some_questions("questions by u, 3", tuple(texts))


@cache
def _sliced(slices: int) -> DuckDBEngine:
    engine = DuckDBEngine.open(tables())
    engine.__dict__["slices"] = slices
    return engine


def test_slices_add_up_to_the_integers_of_all_units() -> None:
    """No chance of a false alarm; the planted fault below is found by the same comparison."""
    whole, parts = _sliced(1), _sliced(3)
    for case in by_unit(few(QUESTIONS, len(QUESTIONS) // 12)):  # a deep run: all of them
        expected = exact_integers(case.release, whole, SALT)
        assert np.array_equal(exact_integers(case.release, parts, SALT), expected), case.names


def test_a_slice_that_is_left_out_and_values_that_are_counted_apart_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, parts = _sliced(1), _sliced(3)

    def differ(some: tuple[Case, ...]) -> int:
        return sum(
            not np.array_equal(
                exact_integers(case.release, whole, SALT), exact_integers(case.release, parts, SALT)
            )
            for case in some
        )

    distinct = tuple(
        case
        # A deep run: all of them.
        for case in by_unit(few([text for text in QUESTIONS if "COUNT(DISTINCT" in text], 6))
        if any(getattr(measure, "distinct", False) for measure in case.release.measures)
    )
    assert differ(distinct) == 0
    with monkeypatch.context() as patched:
        put = run.put

        def first(out: Any, release: PlannedRelease, number: int, result: pa.Table, more: bool) -> None:
            if not more:
                put(out, release, number, result, more)

        patched.setattr(run, "put", first)
        assert differ(by_unit(QUESTIONS[::16])) > 5
    with monkeypatch.context() as patched:  # a value may be in several slices
        patched.setattr(run, "adds_up", lambda release, number: True)
        assert differ(distinct) > 0


def test_sums_of_slices_saturate_and_never_wrap() -> None:
    options: dict[str, Any] = {"privacy_unit": "u", "max_rows": 1, "budget": 1}
    session = dp.protect(pa.table({"u": [1]}), **options)
    release = inside.plan_of(session, "SELECT COUNT(*) AS n FROM data", Fraction(1)).releases[0]
    for end in (SATURATE, -SATURATE):
        out = np.zeros((1, 1), dtype=np.int64)
        for at in range(4):
            run.put(out, release, 0, pa.table({"cell": [0], "m0": [end]}), more=at > 0)
            assert out[0, 0] == end


def test_as_many_rows_as_fit_into_half_of_the_memory() -> None:
    for limit, size in (("600KiB", 600 * 1024), ("4GiB", 4 * 1024**3), ("600MB", 600 * 1000**2)):
        connection = connect(memory_limit=limit)
        rows = connections.rows_at_once(connection)
        assert abs(rows - size / 2 / connections.ROW_BYTES) <= 0.02 * rows  # DuckDB shows it with one decimal


def test_how_many_slices_depends_on_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "rows_at_once", lambda connection: 100)
    sizes = {90: 1, 250: 3, 10**5: engines.MOST_SLICES}
    for rows, slices in sizes.items():
        assert DuckDBEngine.open({"t": pa.table({"u": range(rows)})}).slices == slices
    options: dict[str, Any] = {"privacy_unit": "u", "max_rows": 2, "budget": 90, "bounds": {"g": (0, 1)}}
    many = pa.table({"u": np.arange(1000) // 5, "g": np.arange(1000) % 2})
    answer = dp.protect(many, **options).sql("SELECT COUNT(*) AS n, MEDIAN(g) AS g FROM data", epsilon=80)
    # Noise of scale 1/20: a false alarm needs one of exp(-40).
    assert abs(answer.values.column("n").to_pylist()[0] - 400) <= 2


def test_what_is_shown_of_a_plan_does_not_tell_how_many_rows_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = set()
    for slices in (1, 7):
        monkeypatch.setattr(DuckDBEngine, "slices", slices)
        table = pa.table({"u": range(50)})
        session = dp.protect(table, privacy_unit="u", max_rows=2, budget=1)
        shown.add(str(session.explain("SELECT COUNT(*) AS n FROM data", epsilon=1, sql=True)))
    assert len(shown) == 1
