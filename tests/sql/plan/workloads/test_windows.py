"""Which sums along a key a statement asks for."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from tests import shared
from tests.inside import plan_of

import discreet as dp
from discreet.planning.ranges.families import EACH, RUNNING, WindowFrame
from discreet.sql.plan.workloads.windows import families_of

PLAIN = "SELECT day, {} AS c FROM data GROUP BY day"
MOVING = PLAIN.format("AVG(COUNT(*)) OVER (ORDER BY day ROWS BETWEEN {})")
WITH = "WITH d AS (SELECT day, sex, COUNT(*) AS n, SUM(x) AS s FROM data GROUP BY day, sex) "
BACK = WindowFrame(0, None)


@pytest.fixture(scope="module")
def session() -> dp.Session:
    data = pa.table({"day": [1, 2], "sex": [0, 1], "x": [0.5, 0.2]})
    return shared.protect(
        data, privacy_unit="row", bounds={"day": (1, 60), "sex": (0, 1), "x": (0, 1)}, budget=9
    )


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (PLAIN.format("SUM(COUNT(*)) OVER (ORDER BY day)"), {0: (RUNNING,)}),
        (PLAIN.format("COUNT(*), SUM(COUNT(*)) OVER (ORDER BY day)"), {0: (EACH, RUNNING)}),
        (PLAIN.format("SUM(COUNT(*)) OVER (ORDER BY day DESC)"), {0: (BACK,)}),
        (PLAIN.format("SUM(COUNT(*)) OVER (ORDER BY day) / SUM(SUM(x)) OVER (ORDER BY day)"), {0: (RUNNING,)}),
        (PLAIN.format("COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY day)"), {}),
        (PLAIN.format("SUM(COUNT(*)) OVER ()"), {}),
        (MOVING.format("6 PRECEDING AND CURRENT ROW"), {0: (WindowFrame(6, 0),)}),
        (MOVING.format("3 PRECEDING AND 3 FOLLOWING"), {0: (WindowFrame(3, 3),)}),
        (PLAIN.format("SUM(COUNT(*)) OVER (ORDER BY day ROWS 9 PRECEDING)"), {0: (WindowFrame(9, 0),)}),
        (
            WITH + "SELECT SUM(n) OVER w AS t, AVG(s) OVER (w ROWS 2 PRECEDING) AS a FROM d WINDOW w AS (ORDER BY day)",
            {0: (WindowFrame(2, 0), RUNNING)},
        ),
        (WITH + "SELECT *, SUM(n) OVER (PARTITION BY sex ORDER BY day) AS t FROM d", {0: (EACH, RUNNING)}),
        (WITH + "SELECT t FROM (SELECT day, SUM(n) OVER (ORDER BY day) AS t FROM d) AS x WHERE t > 3", {0: (RUNNING,)}),
        (WITH + "SELECT day, SUM(n) OVER (ORDER BY day) AS t FROM d WHERE n > 3", {0: (EACH, RUNNING)}),
        (WITH + "SELECT day, SUM(n) OVER (ORDER BY day) AS t, (SELECT MAX(n) FROM d) FROM d", {0: (EACH, RUNNING)}),
        (WITH + "SELECT day, SUM(n) OVER (ORDER BY sex, day) AS t FROM d", {}),
        (WITH + "SELECT day, SUM(n) OVER (ORDER BY n) AS t FROM d", {}),
        (WITH + "SELECT sex, SUM(n) OVER (ORDER BY sex) AS t, SUM(s) OVER (ORDER BY day) AS u FROM d",
         {0: (RUNNING,), 1: (RUNNING,)}),
    ],
)  # fmt: skip
def test_the_sums_of_a_statement(session: dp.Session, sql: str, found: dict[int, object]) -> None:
    plan = plan_of(session, sql, Fraction(1))
    known = {key: set(frames) for key, frames in families_of(plan.post, plan.releases[0].name)}
    assert known == {key: set(frames) for key, frames in found.items()}  # type: ignore[call-overload]
