"""What a preview says of a function of a sum is what such an answer has, on the data that the preview assumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests import inside, shared
from tests.depth import DEEP, few

from discreet.errors import InvalidParameter
from discreet.sql.inspect import preview
from discreet.sql.intervals.simultaneous import Level
from discreet.sql.measures.measure import Moments
from discreet.sql.plan import planner
from discreet.sql.plan.plan import QueryPlan

ROWS = 1000
QUESTIONS = {
    "LN(SUM(x))": (0, 100),
    "1000 / SUM(x)": (0, 100),
    "SQRT(SUM(x))": (20, 60),
    "EXP(SUM(x) / 100000.0)": (-50, 90),
    "LN(SUM(x)) + COUNT(*)": (0, 100),
    "LN(COUNT(*))": (0, 100),
    "1000 / AVG(x)": (10, 30),
    "LN(VAR_POP(x))": (0, 100),
}


def ratio(expression: str, bounds: tuple[int, int]) -> float:
    """The half-width that was foretold, over the middle one of five answers to the same question; of eleven if deep."""
    many = 11 if DEEP else 5
    table = pa.table({"x": np.linspace(*bounds, ROWS)})
    query = f"SELECT {expression} AS v FROM data"
    with shared.protect(table, privacy_unit="row", bounds={"x": bounds}, budget=1000) as session:
        said = session.preview(query, epsilon=1)
        assert "spread over their bounds" in said.assumed
        answers = [session.sql(query, epsilon=1 + Fraction(at, 10**9)) for at in range(many)]
    widths = [(each.high["v"][0].as_py() - each.low["v"][0].as_py()) / 2 for each in answers]
    return float(said.errors["v"]) / float(np.median(widths))


# A deep run: of every expression.
@pytest.mark.parametrize("expression", few(QUESTIONS, 4))
def test_the_error_that_is_foretold_is_the_error_of_an_answer(expression: str) -> None:
    # At epsilon 1 the noise is below a hundredth of each quantity, and 4,000 draws put the ends of an interval right to
    # 3 % (standard deviation): 1/1.25 is eight of them away, and half the error is far beyond.
    assert 0.8 < ratio(expression, QUESTIONS[expression]) < 1.25


def test_the_fault_is_caught_that_a_sum_is_imagined_at_its_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    def invented(self: Moments, rows: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return np.full(self.entries, rows * self.row_sensitivity // self.entries, np.int64)

    monkeypatch.setattr(Moments, "invented", invented)
    assert ratio("LN(SUM(x))", (0, 100)) < 0.6


def test_a_column_that_is_infinite_has_an_unknown_error() -> None:
    """Warnings are errors here: the two ends, both infinite, are subtracted without one."""
    query = (
        "WITH x AS (SELECT a, COUNT(*) AS n FROM data GROUP BY a) SELECT a, SUM(1e400) OVER () AS r FROM x"
    )
    with shared.protect(pa.table({"a": [1]}), privacy_unit="row", bounds={"a": (0, 9)}, budget=1) as session:
        assert session.preview(query, epsilon=1).errors == {"r": float("inf")}


def test_an_error_that_no_epsilon_gives_is_told_with_the_rows_that_were_reckoned_with() -> None:
    data = pa.table({"pay": [1, 2]})
    with shared.protect(data, privacy_unit="row", bounds={"pay": (0, 200_000)}, budget=1) as session:
        for within in ({"m": 20}, {"m": "1e-9"}):
            with pytest.raises(
                InvalidParameter, match=r"No epsilon gives .* 1,000 rows .*another size with group_rows"
            ):
                session.preview("SELECT MEDIAN(pay) AS m FROM data", within=within)


def test_an_error_of_a_column_that_has_none_is_told() -> None:
    data = pa.table({"pay": [1, 2]})
    with shared.protect(data, privacy_unit="row", bounds={"pay": (0, 9)}, budget=1) as session:
        with pytest.raises(InvalidParameter, match=r"Name one of n\."):
            session.preview("SELECT COUNT(*) AS n FROM data", within={"m": 20})
        words = "SELECT CASE WHEN COUNT(*) > 1 THEN 'many' ELSE 'few' END AS n FROM data"
        with pytest.raises(InvalidParameter, match=r"n is not a column .* No column .* give an epsilon"):
            session.preview(words, within={"n": 20})


def test_a_preview_is_worked_out_once_and_tells_the_present_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    worked: list[int] = []
    errors = preview.expected_errors

    def counted(plan: QueryPlan, public: Mapping[str, pa.Table], level: Level, rows: int) -> object:
        worked.append(rows)
        return errors(plan, public, level, rows)

    monkeypatch.setattr(preview, "expected_errors", counted)
    query = "SELECT AVG(x) AS v FROM data"
    with shared.protect(
        pa.table({"x": [1, 2]}), privacy_unit="row", bounds={"x": (0, 9)}, budget=1
    ) as session:
        first = session.preview(query, epsilon="0.25")
        session.sql("SELECT COUNT(*) AS n FROM data", epsilon="0.5")
        again = session.preview(query, epsilon="0.25")
        assert worked == [1000]
        assert again == replace(first, available=Fraction(1, 2), left=Fraction(1, 4))
        others = [
            session.preview(query, epsilon="0.25", **more)
            for more in ({"confidence": 0.5}, {"group_rows": 9})
        ]
        assert worked == [1000, 1000, 9]
        assert len({each.errors["v"] for each in [first, *others]}) == 3


@pytest.mark.parametrize("query", ["SHOW TABLES", "SELECT 1 AS one"])
def test_what_has_no_error_has_no_confidence(query: str) -> None:
    with shared.protect(pa.table({"x": [0]}), privacy_unit="row", budget=1) as session:
        assert "expected at" in repr(session.preview("SELECT COUNT(*) FROM data", epsilon=1))
        assert "expected at" not in repr(session.preview(query, epsilon=1))


SHAPES = (
    "SELECT k, COUNT(*) AS n, AVG(x) AS m FROM data WHERE x < {0} GROUP BY k",
    "SELECT SUM(CASE WHEN x < {0} THEN 1 ELSE 0 END) AS n FROM data",
    "SELECT k, COUNT(*) AS n FROM data WHERE x < {0} GROUP BY k HAVING COUNT(*) > {0} ORDER BY n LIMIT 1",
    "SELECT x, SUM(x) AS s FROM data WHERE x < {0} GROUP BY x",
    "SELECT k, SUM(x) / COUNT(*) AS r FROM data WHERE x >= {0} GROUP BY k",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_error_of_a_statement_is_its_own_though_others_of_its_shape_were_looked_at(shape: str) -> None:
    table = pa.table({"x": np.arange(90), "k": ["A", "B", "C"] * 30})
    with shared.protect(
        table, privacy_unit="row", bounds={"x": (0, 100)}, keys={"k": ["A", "B", "C"]}, budget=1000
    ) as session:
        for literal in (5, 20, 50, 70.5):
            text = shape.format(literal)
            for confidence in (0.95, 0.8):
                said = session.preview(text, epsilon=1, confidence=confidence)
                plan = planner.plan(text, inside.catalog_of(session), Fraction(1))
                alone, _ = preview.expected_errors(plan, {}, Level(confidence), 1000)
                assert said.errors == alone, text
                assert isinstance(said.errors, dict)
                said.errors.clear()  # which is theirs who asked, and nobody else's
