"""Quantiles chosen by rank in SQL: what the engine counts, what is charged and drawn, and what is shown."""

from __future__ import annotations

import itertools
import random
from datetime import date
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests import inside, shared
from tests.depth import few

import discreet as dp
from discreet.accounting.pricing import loss_of
from discreet.engines.schema import Type
from discreet.errors import EngineError, QueryRefused
from discreet.mechanisms.ranks.quantiles_with_ends import QuantilesWithEnds
from discreet.release import gate
from discreet.sql.expressions.expression import Column
from discreet.sql.expressions.span import Span
from discreet.sql.finish import blockwise, many_groups
from discreet.sql.lower import run
from discreet.sql.lower.uses import uses_of
from discreet.sql.measures.ranks import Ranks, ranks_for
from discreet.sql.plan.plan import PlannedRelease

RNG = np.random.default_rng(4)
TABLE = pa.table({
    "who": np.arange(4000) // 2,
    "x": RNG.lognormal(3, 1, 4000),
    "n": pa.array(RNG.integers(-20, 300, 4000), mask=RNG.random(4000) < 0.1),
    "k": RNG.choice(["a", "b", "c"], 4000, p=[0.6, 0.3, 0.1]),
})  # fmt: skip
FORMS = ["MEDIAN(x)", "QUANTILE_CONT(n, 0.9)", "MAX(x)", "MIN(n)", "MEDIAN(x) FILTER (WHERE n > 50)"]


def protect(table: Any = TABLE, unit: str = "who", **more: Any) -> dp.Session:
    given = {"bounds": {"x": (0, 500), "n": (0, 200)}, "keys": {"k": ["a", "b", "zz"]}, "budget": 10_000}
    rows = {} if unit == "row" else {"max_rows": 2}
    return shared.protect(table, privacy_unit=unit, **{**given, **rows, **more})


def release_of(session: dp.Session, sql: str, epsilon: Fraction = Fraction(1)) -> PlannedRelease:
    (release,) = inside.plan_of(session, sql, epsilon).releases
    return release


# A deep run: each with each.
@pytest.mark.parametrize(
    ("form", "neighbours", "by"), few(itertools.product(FORMS, ["add_remove", "replace_one"], ["", "k"]), 6)
)
def test_a_charge_is_that_of_its_draws(form: str, neighbours: str, by: str) -> None:
    sql = f"SELECT {form} AS v, COUNT(*) AS c FROM data {'GROUP BY k' if by else ''}"
    with protect(neighbours=neighbours) as session:
        release = release_of(session, sql, Fraction(1, 3))
        (at,) = (at for at, one in enumerate(release.measures) if isinstance(one, Ranks))
        use = uses_of([release])[f"{release.name} {at}"]
        assert isinstance(use.mechanism, QuantilesWithEnds)
        assert use.mechanism.loss == release.shares[at]
        assert (use.mechanism.rows, use.mechanism.neighbours) == (2, neighbours)
        assert use.mechanism.groups == (2 if by else 1)
        assert use.values == (3 if by else 1)
        session.sql(sql, "1/3")
        assert session.budget.spent == Fraction(1, 3)


def test_a_measure_that_costs_less_than_its_draws_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # Planted fault: half of the epsilon is charged.
    with protect() as session:
        monkeypatch.setattr(QuantilesWithEnds, "loss", property(lambda self: 2 * self.epsilon))
        with pytest.raises(QueryRefused, match="add up"):
            session.sql("SELECT MEDIAN(x) AS m FROM data", 1)
        assert session.budget.spent == 0


@pytest.mark.parametrize("form", FORMS[:3])
def test_answers_are_near_and_replayed(form: str) -> None:
    with protect() as session:
        sql = f"SELECT k, {form} AS v FROM data GROUP BY k ORDER BY k"
        first = session.sql(sql, 2000)
        again, wider = session.sql(sql, 2000), session.sql(sql, 2000, confidence=0.999)
        assert again.replayed
        assert wider.replayed
        assert session.budget.spent == 2000
        assert first.to_arrow().select([0, 1]).equals(again.to_arrow().select([0, 1]))
        low, high = (ends["v"].to_pylist() for ends in (first.low, first.high))
        for value, a, b, c, d in zip(
            first.values.column("v").to_pylist(), low, high, wider.low["v"].to_pylist(),
            wider.high["v"].to_pylist(), strict=True,
        ):  # fmt: skip
            assert c <= a <= value <= b <= d
        assert near(first.values.column("v").to_pylist(), form)


def near(values: list[float], form: str) -> bool:
    """Whether the answers of groups a and b lie within two rows of their quantile: all but once in 10^9 questions."""
    column, q = {"MEDIAN(x)": ("x", 0.5), "QUANTILE_CONT(n, 0.9)": ("n", 0.9), "MAX(x)": ("x", 0.99)}[form]
    found = []
    for group, value in zip("ab", values[:2], strict=True):
        rows = [row for row in TABLE.to_pylist() if row["k"] == group and row[column] is not None]
        ordered = sorted(min(max(row[column], 0), {"x": 500, "n": 200}[column]) for row in rows)
        at = int(q * len(ordered))
        found.append(ordered[at - 3] - 0.001 <= value <= ordered[at + 3] + 0.001)
    return all(found)


def neighbours(rng: random.Random) -> tuple[pa.Table, pa.Table]:
    """Two tables that differ by a unit of up to four rows."""
    rows = [(rng.randrange(4), rng.choice([1.0, 2.5, 9.0, -3.0, None]), rng.choice("abz")) for _ in range(12)]
    more = [
        (9, rng.choice([0.5, 9.0, float("nan"), None]), rng.choice("abz")) for _ in range(rng.randrange(1, 5))
    ]
    return tuple(
        pa.table({"who": [u for u, _, _ in some], "x": pa.array([x for _, x, _ in some], pa.float64()),
                  "k": [k for _, _, k in some]}) for some in (rows, rows + more)
    )  # fmt: skip


# A deep run: all.
@pytest.mark.parametrize("seed", few(range(12), 3))
def test_the_joint_loss_of_neighbouring_tables_is_within_epsilon(seed: int) -> None:
    # The law of the number in each group, on the counts that the engine gives: a unit of up to four rows, two of them
    # kept, in any groups. The ends have the same law, elsewhere.
    laws = []
    for table in neighbours(random.Random(seed)):
        with protect(table, bounds={"x": (0, 8)}, keys={"k": ["a", "b"]}) as session:
            release = release_of(session, "SELECT k, MEDIAN(x) AS m FROM data GROUP BY k")
            (measure,) = release.measures
            assert isinstance(measure, Ranks)
            counts = run.exact_counts(release, measure, inside.engine_of(session), 7)
            mechanism = uses_of([release])[f"{release.name} 0"].mechanism
            assert isinstance(mechanism, QuantilesWithEnds)
            number = mechanism.number(Fraction(1, 2))
            laws.append([spread(number, counts[at : at + 1]) for at in range(counts.groups)])
    worst = sum(float(np.abs(np.log(one) - np.log(other)).max()) for one, other in zip(*laws, strict=True))
    assert worst <= float(number.epsilon) * (1 + 1e-9)


def spread(mechanism: Any, counts: Any) -> Any:
    """The density at the ends of all candidates of both tables: at every multiple of 1/2 and beside it."""
    some, law = mechanism.probabilities(counts)
    leaves = mechanism.measure.leaves
    at = np.unique(
        np.clip(np.concatenate([np.arange(17) * leaves // 16 + d for d in (-1, 0, 1)]), 0, leaves - 1)
    )
    inside_ = some.start < some.stop
    start, weight = some.start[inside_], (law / np.maximum(some.weight, 1))[inside_]
    return weight[np.searchsorted(start, at, "right") - 1]


def test_each_group_is_drawn_once_whatever_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(many_groups, "IN_MEMORY", 2)
    monkeypatch.setattr(blockwise, "NUMBERS", 8)
    for rows in (4000, 1, 0):
        table, path = TABLE.slice(0, rows), tmp_path / f"{rows}.parquet"
        with protect(table) as session:
            sql = "SELECT k, MEDIAN(x) AS m FROM data GROUP BY k"
            answer = session.sql(sql, 1)
            session.write(sql.replace("MEDIAN(x)", "MAX(x)"), 1, path)
            assert len(answer) == parquet.read_table(path).num_rows == 3
            assert session.budget.spent == 2


def test_a_group_that_is_drawn_twice_or_not_at_all_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = run.blocks
    for planted in (lambda found: [*found, found[0]], lambda found: found[:-1]):
        with monkeypatch.context() as patch, protect() as session:
            patch.setattr(run, "blocks", lambda *args, then=planted: then(list(blocks(*args))))
            with pytest.raises(EngineError):
                session.sql("SELECT MEDIAN(x) AS m FROM data", 1)
            assert session.budget.spent == 1


def test_blocks_in_a_file_are_near(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(many_groups, "IN_MEMORY", 2)
    with protect() as session:
        sql = "SELECT k, MEDIAN(x) AS m, COUNT(*) AS c FROM data GROUP BY k ORDER BY k"
        session.write(sql, 500, path := tmp_path / "of.parquet")
        table = parquet.read_table(path)
        assert near(table.column("m").to_pylist(), "MEDIAN(x)")
        assert session.write(sql, 500, tmp_path / "again.parquet").replayed


def test_found_groups_are_drawn_too() -> None:
    with protect(keys={}, budget=dp.Budget(epsilon=10, delta=1e-6)) as session:
        found = session.sql("SELECT k, MEDIAN(x) AS m FROM data GROUP BY k", 5, delta=1e-7)
        assert set(found.values.column("k").to_pylist()) == {"a", "b", "c"}


def column(kind: Type, lo: Any, hi: Any) -> Column:
    return Column("x", kind, Span(Fraction(lo), Fraction(hi)))


def test_values_are_the_roundest_of_their_leaves() -> None:
    made = ranks_for(column(Type.FLOAT, 0, 500_000), [Fraction(1, 2)])
    leaf = np.array(
        [[0, 0, 0], [6000 * 2048, 0, 0], [6000 * 2048 + 1, 0, 0], [made.grid.levels - 1] * 3], float
    )
    values = made.estimate("quantile 1/2", leaf)
    assert values[:2].tolist() == [0, 6000]
    assert 6000 < values[2] < 6000.001
    assert np.all(np.diff(values) > 0)
    whole = ranks_for(column(Type.INTEGER, -5, 5), [Fraction(1, 2)])
    assert whole.estimate("quantile 1/2", np.array([[3.0, 0, 0]])).tolist() == [-2]


@pytest.mark.parametrize("kind", [Type.INTEGER, Type.FLOAT])
def test_an_interval_is_around_its_number(kind: Type) -> None:
    made = ranks_for(column(kind, -5, 5), [Fraction(1, 2)])
    last = made.grid.levels
    some = [-1, 0, last // 3, last // 2, last - 1, last]
    leaves = np.array(
        [(number, low, high) for number, low, high in itertools.product(some[1:-1], some[:-1], some[1:])],
        float,
    )
    value = made.estimate("quantile 1/2", leaves)
    before = None
    for confidence in (0.1, 0.5, 0.95, 0.999):
        low, high = made.interval("quantile 1/2", leaves, confidence)
        assert np.all((made.grid.lo <= low) & (low <= value) & (value <= high) & (high <= made.grid.hi))
        if before is not None:
            assert np.all((low <= before[0]) & (before[1] <= high))
        before = low, high
    drawn = made.again("quantile 1/2", leaves, 4000, np.random.default_rng(7))
    low, high = made.interval("quantile 1/2", leaves, 0.95)
    assert np.mean((low - 1e-9 <= drawn) & (drawn <= high + 1e-9), axis=0).min() > 0.9


def test_a_preview_reads_nothing_and_shrinks_with_epsilon() -> None:
    with protect() as session:
        errors = [
            session.preview("SELECT MEDIAN(x) AS m FROM data", e, group_rows=10_000).errors["m"]
            for e in ("1/16", "1/8", "1/2")
        ]
        assert errors == sorted(errors, reverse=True)
        assert errors[0] / errors[2] == pytest.approx(8, rel=0.1)
        assert session.budget.spent == 0


def test_the_gate_prices_every_draw() -> None:
    with protect(unit="row") as session:
        release = release_of(session, "SELECT MEDIAN(x) AS m, QUANTILE_CONT(x, 0.9) AS q FROM data")
        uses = uses_of([release])
        assert loss_of(gate.event_of(uses)).epsilon == release.epsilon
        (use,) = uses.values()
        made = use.mechanism
        assert isinstance(made, QuantilesWithEnds)
        assert len(made.quantiles) == 2
        each = [made.number(q).epsilon for q in made.quantiles]
        assert sum(each) == release.epsilon


NINE = ", ".join(f"QUANTILE_CONT(x, 0.{k}) AS q{k}" for k in range(1, 10))


@pytest.mark.parametrize("asked", ["MEDIAN(x) AS q5", NINE])
def test_without_intervals_all_of_epsilon_is_in_the_numbers(asked: str) -> None:
    sql = f"SELECT {asked} FROM data"
    with protect(unit="row") as session:
        with_ends = session.sql(sql, 100)
        answer = session.sql(sql, 100, intervals=False)
        assert not answer.replayed
        assert session.sql(sql, 100, intervals=False).replayed
        assert session.budget.spent == 200
        ends = [answer.low["q5"][0].as_py(), answer.high["q5"][0].as_py()]
        assert ends == [0, 500]
        assert any("err" in note and "rows at 95 %" in note for note in answer.notes)
        assert not any("rows at 95 %" in note for note in with_ends.notes)
        (use,) = uses_of(inside.plan_of(session, sql, Fraction(100), intervals=False).releases).values()
        made = use.mechanism
        assert isinstance(made, QuantilesWithEnds)
        assert loss_of(gate.event_of({"": use})).epsilon == 100
        levels = 1 if len(made.quantiles) == 1 else 4
        assert {made.number(q).epsilon for q in made.quantiles} == {Fraction(100, levels)}
        said = " ".join(str(session.explain(sql, epsilon=100, intervals=False)).replace("│", "").split())
        assert "all of it for the number" in said
        exact = sorted(TABLE.column("x").to_pylist())
        values = answer.values.to_pylist()[0]
        for name, value in values.items():
            at = len(exact) * int(name[1]) // 10
            assert exact[at - 9] <= value <= exact[at + 9]  # 20 scales of a number or more


TOGETHER = {
    "a date": ("SELECT MEDIAN(d) AS v FROM data", 1.5),
    "dates by text keys": ("SELECT k, MEDIAN(d) AS v FROM data WHERE k <> 'zz' GROUP BY k ORDER BY k", 1.5),
    "a list": ("SELECT QUANTILE_CONT(x, [0.25, 0.5, 0.75]) AS v FROM data", 0.3),
    "compared with a median": ("SELECT COUNT(*) AS v FROM data WHERE x > (SELECT MEDIAN(x) FROM data)", 4),
    "a median of rows above a mean": (
        "SELECT k, MEDIAN(x) AS v FROM data WHERE x > (SELECT AVG(x) FROM data) AND k <> 'zz' GROUP BY k ORDER BY k",
        2,
    ),
}


@cache
def dated() -> pa.Table:
    """The rows of two groups, with days."""
    day = np.datetime64("2024-01-01") + np.arange(4000) % 300
    return TABLE.append_column("d", pa.array(day.astype("datetime64[D]"))).filter(
        pa.array(np.isin(TABLE.column("k").to_pylist(), ["a", "b"]))
    )


# A deep run: each with each.
@pytest.mark.parametrize(("name", "streamed"), few(itertools.product(TOGETHER, [False, True]), 4))
def test_they_go_with_dates_lists_keys_and_released_numbers(
    name: str, streamed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:

    if streamed:
        monkeypatch.setattr(many_groups, "IN_MEMORY", 0)
        monkeypatch.setattr(blockwise, "NUMBERS", 8)
    sql, off = TOGETHER[name]
    table = dated()
    bounds = {"x": (0, 500), "d": (date(2024, 1, 1), date(2024, 12, 31))}
    with protect(table, bounds=bounds) as session:
        plan = inside.plan_of(session, sql, Fraction(2000))
        assert any(isinstance(one, Ranks) for release in plan.releases for one in release.measures)
        session.write(sql, 2000, path := tmp_path / "of.parquet")
        assert session.budget.spent == 2000
        found = parquet.read_table(path).column("v").to_pylist()
    exact = shared.plain().register("data", table).execute(sql).fetchall()
    assert len(found) == len(exact)
    for ours, (*_, theirs) in zip(found, exact, strict=True):
        pairs = zip(ours, theirs, strict=True) if isinstance(theirs, list) else [(ours, theirs)]
        assert all(abs(_number(a) - _number(b)) <= off for a, b in pairs)


def _number(value: Any) -> float:
    return value.toordinal() if isinstance(value, date) else float(value)
