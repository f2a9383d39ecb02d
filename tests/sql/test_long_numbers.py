"""A number in a question costs what its digits cost, and is refused by name where no engine holds it."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from tests import shared

import discreet as dp
from discreet.errors import DiscreetError, InvalidParameter, PolicyError, QueryRefused

NINES = "9" * 5000
TABLE = pa.table({"x": [1.0, 2.0], "d": [dt.date(2020, 1, 1)] * 2})
LITERALS = [
    "x > 1e20000000", "x > -1e20000000", f"x > {NINES}", f"x > {NINES}.5",
    f"d > DATE '2020-01-01' + INTERVAL '{NINES}' DAY",
    f"d > DATE '2020-01-01' + INTERVAL {NINES} DAY", f"d > DATE '2020-01-01' + INTERVAL '{NINES} months 2 days'",
]  # fmt: skip


@pytest.fixture(scope="module")
def session() -> dp.Session:
    return shared.protect(TABLE, privacy_unit="row", bounds={"x": (0, 10)}, budget=10)


@pytest.mark.parametrize("condition", LITERALS, ids=range(len(LITERALS)))
def test_literals_are_refused_by_name(session: dp.Session, condition: str) -> None:
    with pytest.raises(QueryRefused, match=r"too (large|long)"):
        session.preview(f"SELECT COUNT(*) AS n FROM data WHERE {condition}", epsilon=1)


def test_literals_next_to_nothing_are_zero(session: dp.Session) -> None:
    assert session.preview("SELECT COUNT(*) AS n FROM data WHERE x > 1e-20000000", epsilon=1).errors == {
        "n": 3
    }
    with pytest.raises(QueryRefused, match="between 0 and 1"):
        session.preview("SELECT QUANTILE_CONT(x, 1e-20000000) AS q FROM data", epsilon=1)


@pytest.mark.parametrize(
    "parameters",
    [{"epsilon": "1e20000000"}, {"epsilon": 1, "delta": "1e-20000000"}, {"epsilon": 1, "confidence": "1e-20000000"},
     {"epsilon": 1, "split": {"n": "1e20000000"}}, {"within": {"n": "1e20000000"}}, {"epsilon": "1_0"},
     {"epsilon": "\N{ARABIC-INDIC DIGIT THREE}"}],
    ids=range(7),
)  # fmt: skip
def test_parameters_are_refused_by_name_and_cost_nothing(
    session: dp.Session, parameters: dict[str, object]
) -> None:
    with pytest.raises(InvalidParameter):
        session.preview("SELECT COUNT(*) AS n FROM data", **parameters)  # type: ignore[arg-type]
    assert session.budget.spent == 0


@pytest.mark.parametrize("end", ["1e20000000", "1e400", "1e-400", 10**400])
def test_bounds_are_refused_when_the_policy_is_read(end: object) -> None:
    with pytest.raises(PolicyError, match="bounds"):
        shared.protect(TABLE, privacy_unit="row", bounds={"x": (0, end)}, budget=1)
    with pytest.raises(DiscreetError):
        shared.protect(TABLE, privacy_unit="row", budget=end if isinstance(end, str) else -1)


@pytest.mark.parametrize("sql", [
    "SELECT g, SUM(x) AS s FROM t GROUP BY g ORDER BY s DESC LIMIT 2",
    "SELECT MAX(s) AS m FROM (SELECT g, SUM(x) AS s FROM t GROUP BY g) AS i",
    "SELECT g, -17080318586768103 * COUNT(*) + COUNT(*) AS big FROM t GROUP BY g",
])  # fmt: skip
def test_a_whole_number_beyond_those_of_a_float_is_answered_with_its_interval(sql: str) -> None:
    """Its interval is of floats; that it is none of them must not lose an answer that was charged."""
    table = pa.table({"g": [1, 2, 3] * 50, "x": [2**54 + 1] * 150})
    with shared.protect(
        {"t": table},
        privacy_unit="row",
        budget=1,
        bounds={"x": (0, 2**62)},
        keys={"g": [1, 2, 3]},
        ledger=":memory:",
    ) as session:
        release = session.sql(sql, epsilon=1)
    assert len(release)
    for name in release.low:
        for value, low, high in zip(release[name], release.low[name], release.high[name], strict=True):
            assert low.as_py() <= float(value) <= high.as_py()
