"""Leaves near a rank and cells far from it are those of all leaves, on every engine, and one statement finds them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, servers, shared

import discreet as dp
from discreet.mechanisms.ranks.sparse_counts import SparseCounts
from discreet.sql.lower import run
from discreet.sql.lower.uses import near_leaves_of
from discreet.sql.measures.near_leaves import NearLeaves
from discreet.sql.measures.ranks import Ranks

ROWS = 900
RNG = np.random.default_rng(8)
DATA = pa.table({
    "who": np.arange(ROWS) // 3,
    "x": pa.array(np.where(np.arange(ROWS) % 7 == 0, 50.0, RNG.lognormal(3, 2, ROWS)), mask=RNG.random(ROWS) < 0.1),
    "n": RNG.integers(-(10**9), 10**9, ROWS),
})  # fmt: skip
ASKED = {
    "MEDIAN(x)": (0.5,),
    "QUANTILE_CONT(n, 0.9)": (0.9,),
    "QUANTILE_CONT(x, 0.25), MEDIAN(x)": (0.25, 0.5),
}
POLICY = dp.Policy(
    budget=10**7,  # type: ignore[arg-type]
    tables={"nights": {  # type: ignore[dict-item]
        "privacy_unit": "who", "max_rows": 2,
        "columns": {"x": {"bounds": (0, 500)}, "n": {"bounds": (-(10**8), 10**9)}},
    }},
)  # fmt: skip


def counted(session: dp.Session, form: str, reach: int, width: int) -> tuple[SparseCounts, SparseCounts]:
    """The rows by leaf near some ranks, and by cell elsewhere; and by leaf everywhere."""
    (release,) = inside.plan_of(session, f"SELECT {form} FROM nights", Fraction(1)).releases
    (measure,) = release.measures
    assert isinstance(measure, Ranks)
    near = NearLeaves(width, tuple((q, reach) for q in measure.quantiles))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "near_leaves_of", lambda *_: near)
        found = run.exact_counts(release, measure, inside.engine_of(session), 7)
    return found, found.finer


def differs(some: SparseCounts, all_: SparseCounts, reach: int, quantiles: Sequence[float]) -> str:
    """What is wrong with the counts by leaf and by cell; nothing where all is right."""
    entry = np.searchsorted(some.leaf, all_.leaf, "right") - 1
    if (entry < 0).any() or (some.stops[entry] <= all_.leaf).any():
        return "a leaf is in no entry"
    if not np.array_equal(np.bincount(entry, all_.count, len(some.leaf)), some.count):
        return "an entry has other rows than its leaves"
    for q in quantiles:
        target = q * all_.rows_before[-1]
        wide = some.stops - some.leaf > 1
        if (
            wide & (some.rows_before[1:] >= target - reach) & (some.rows_before[:-1] <= target + reach)
        ).any():
            return "a cell near a rank is not split"
    return "" if wide.any() and not wide.all() else "no cell is wide, or all are"


def problems(
    session: dp.Session, cells: Sequence[tuple[int, int]] = ((3, 1 << 22), (40, 1 << 18))
) -> list[str]:
    """How the counts of questions differ from those of all leaves, for some reaches and widths of cells."""
    out = []
    for form, quantiles in ASKED.items() if len(cells) > 1 else [*ASKED.items()][-1:]:
        for reach, width in cells:
            why = differs(*counted(session, form, reach, width), reach, quantiles)
            out += [f"{form}, {reach}: {why}"] if why else []
    return out


@pytest.mark.parametrize("unit", ["who", "row"])
def test_duckdb_counts_near_leaves(unit: str) -> None:
    more: dict[str, Any] = {"max_rows": 2} if unit == "who" else {}
    bounds = {"x": (0, 500), "n": (-(10**8), 10**9)}
    with shared.protect({"nights": DATA}, privacy_unit=unit, bounds=bounds, budget=9, **more) as session:
        assert problems(session) == []


def test_postgres_counts_near_leaves() -> None:
    places = servers.load(servers.postgres(), "near_leaves", {"nights": DATA})
    with shared.protect(places, policy=POLICY, ledger=":memory:") as session:
        assert problems(session) == []


def test_clickhouse_counts_near_leaves() -> None:
    with servers.within_clickhouse("near_leaves", {"nights": DATA}) as database:
        assert problems(shared.protect(database, policy=POLICY, ledger=":memory:")) == []


def test_spark_counts_near_leaves() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = servers.spark().createDataFrame(DATA.to_pandas())
        assert problems(shared.protect({"nights": frame}, policy=POLICY), [(3, 1 << 22)]) == []


def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = NearLeaves.sql
    faults = {
        "a cell begins one leaf late": ("part * ", "1 + part * "),
        "cells at a rank stay whole": (" >= ", " > 9 + "),
        "rows of cells are lost": ("THEN 1 ELSE", "THEN 1 WHEN part % 2 = 0 THEN 0 ELSE"),
    }
    for right, wrong in faults.values():
        with shared.protect({"nights": DATA}, policy=POLICY) as session:
            monkeypatch.setattr(NearLeaves, "sql", lambda *of, a=right, b=wrong: honest(*of).replace(a, b))
            assert problems(session)


def test_whether_cells_are_counted_hangs_on_the_question_alone() -> None:
    """One group of many leaves has cells; several groups, and few leaves, have none."""
    bounds = {"x": (0, 500), "n": (0, 9)}
    with shared.protect({"nights": DATA}, privacy_unit="row", bounds=bounds, budget=9) as session:
        found = {
            form: near_leaves_of(inside.plan_of(session, sql, Fraction(1)).releases[0], 0)
            for form, sql in {
                "many": "SELECT MEDIAN(x) AS m FROM nights",
                "few": "SELECT MEDIAN(n) AS m FROM nights",
                "groups": "SELECT n, MEDIAN(x) AS m FROM nights GROUP BY n",
            }.items()
        }
        assert [form for form, near in found.items() if near] == ["many"]
