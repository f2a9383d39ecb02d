"""The table of aggregates says what is answered, and how large its noise is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests import shared

from discreet.errors import QueryRefused
from discreet.mechanisms.ranks.quantiles_with_ends import WIDTH
from discreet.session import Session
from discreet.sql.functions import aggregates
from discreet.sql.functions.aggregates import AggregateFunction
from discreet.sql.measures.quantile_tree import quantile_of
from discreet.sql.measures.ranks import rank_variances

ROWS, EPSILON = 2**14, 0.25
W, V = 100.0, 50.0
ARGUMENTS = (
    "",
    "*",
    "x",
    "DISTINCT x",
    "DISTINCT patient_id",
    "c",
    "y, x",
    "x, 0.5",
    "0.5, x",
    "x, y, 2",
    "x, 2",
)


def even(share: float = 0.0) -> pa.Table:
    """Pairs spread evenly over their bounds; in that share of the rows y follows x."""
    number = np.arange(ROWS)
    x, y = (number + 0.5) / ROWS, number * (math.sqrt(5) - 1) / 2 % 1
    y = np.where(number % 8 < 8 * share, x, y)
    return pa.table({"patient_id": number, "x": W * x, "y": -10 + V * y, "c": x > 0.5})


def opened(share: float = 0.0) -> Session:
    bounds = {"x": (0, W), "y": (-10, -10 + V)}
    return shared.protect(
        {"t": even(share)}, privacy_unit="patient_id", max_rows=1, bounds=bounds, budget=10**6
    )


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with opened() as asked:
        yield asked


@pytest.fixture(scope="module")
def correlated() -> Iterator[Session]:
    with opened(0.5) as asked:
        yield asked


USAGES = [(line, usage) for line in aggregates.TABLE for usage in line.usages]


def honest(session: Session, line: AggregateFunction, usage: str) -> bool:
    """Whether the interval of 95 % of an answer is as long as the deviation that its line states."""
    if line.family == "tree":  # of an end 8 scales of the number
        error = session.preview(f"SELECT {usage} AS v FROM t", EPSILON, group_rows=ROWS).errors["v"]
        return 0 < float(error) / line.deviation(ROWS, EPSILON, w=W) < WIDTH
    release = session.sql(f"SELECT {usage} AS v FROM t", EPSILON)
    low, high = (ends["v"][0].as_py() for ends in (release.low, release.high))
    found = float(high - low) / 2 / line.deviation(ROWS, EPSILON, w=W, v=V, m=W, r=0.5)
    # 1.96 deviations of a normal variable, 2.12 of one Laplace variable. An end that is drawn, as the 100th of 4,000,
    # is off by some 2 %, so that a false alarm lies seven standard errors away. Of a correlation of 1/2 the pairs are
    # not spread evenly, which makes 2.4 of 2.1.
    return 1.75 < found < (2.8 if line.quantity == "r2" else 2.45)


@pytest.mark.parametrize(("line", "usage"), USAGES, ids=[usage for _, usage in USAGES])
def test_every_line_is_answered_with_the_error_that_it_states(
    session: Session, correlated: Session, line: AggregateFunction, usage: str
) -> None:
    assert honest(correlated if line.quantity == "r2" else session, line, usage)


@pytest.mark.parametrize(
    "quantity", ["rows", "sum", "avg", "stddev_samp", "covar_pop", "slope", "quantile 1/2"]
)
def test_a_line_that_states_too_small_an_error_is_found(session: Session, quantity: str) -> None:
    """Planted fault: half of the variance; of a quantile, whose error is a bound, a sixteenth."""
    line = aggregates.BY_QUANTITY[quantity]
    wrong = replace(line, relative=line.relative / (16 if line.family == "tree" else 2))
    assert not honest(session, wrong, line.usages[0])


@pytest.mark.parametrize("quantity", ["quantile 1/2", "quantile 9/10", "min", "max"])
def test_the_error_of_a_quantile_is_that_of_its_rank_alone(quantity: str) -> None:
    q = quantile_of(quantity)
    variance = 4 * rank_variances([q], ends=True)[q]
    assert aggregates.BY_QUANTITY[quantity].relative == pytest.approx(variance, rel=0.002)


def answered(session: Session) -> set[str]:
    """The names of DuckDB's aggregates that are answered with one of the arguments above."""
    known = duckdb.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
    )
    found = set()
    for (name,) in known.fetchall():
        for given in ARGUMENTS:
            with suppress(QueryRefused):
                session.preview(f"SELECT {name}({given}) AS v FROM t", 1)
                found.add(name)
                break
    return found


def test_every_aggregate_that_is_answered_has_a_line(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = answered(session)
    assert len(found) > 25
    assert found <= {name.lower() for name in aggregates.names()}
    # Planted fault: the table without one of its lines.
    monkeypatch.setattr(aggregates, "TABLE", tuple(one for one in aggregates.TABLE if one.quantity != "r2"))
    assert not found <= {name.lower() for name in aggregates.names()}


def test_every_line_with_bounds_refuses_an_argument_without(session: Session) -> None:
    for line, usage in USAGES:
        asked = usage.replace("x)", "x * patient_id)").replace("(x,", "(x * patient_id,")
        if line.bounded:
            with pytest.raises(QueryRefused, match="has no bounds"):
                session.preview(f"SELECT {asked} AS v FROM t", 1)
        else:
            session.preview(f"SELECT {usage} AS v FROM t", 1)


@pytest.mark.parametrize(
    ("asked", "cause"),
    [("MAX()", "MAX takes one argument"), ("MIN()", "MIN takes one argument"),
     ("CORR(x, y, 2)", "CORR takes two arguments")],
)  # fmt: skip
def test_a_wrong_number_of_arguments_is_refused(session: Session, asked: str, cause: str) -> None:
    with pytest.raises(QueryRefused, match=cause):
        session.preview(f"SELECT {asked} AS v FROM t", 1)


def test_the_refusal_of_an_aggregate_names_every_line(session: Session) -> None:
    with pytest.raises(QueryRefused) as refused:
        session.preview("SELECT APPROX_TOP_K(x, 3) AS v FROM t", 1)
    for line in aggregates.TABLE:
        assert line.usages[0].partition("(")[0] in str(refused.value)


def test_a_misspelt_name_is_mended_from_the_table() -> None:
    """Every name is found again when a letter of it is missing."""
    assert {"regr_r2", "regr_avgx", "count_if"} <= {name.lower() for name in aggregates.names()}
    with opened() as asked, pytest.raises(QueryRefused, match="REGR_INTERCEPT"):
        asked.preview("SELECT REGR_INTERCPT(y, x) AS v FROM t", 1)
