from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dp

ROWS = {"sex": [0, 1, None] * 40, "ward": [1, 2, 3, None] * 30}
BOTH = "SELECT sex, ward, COUNT(*) AS n FROM data GROUP BY sex, ward"
BY_SEX = "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex"
HELD = BY_SEX.replace("GROUP", "WHERE ward {} GROUP")


@pytest.mark.parametrize(
    ("more", "said", "condition"),
    [
        ({"keys": {"sex": [0, 1], "ward": [1, 2]}}, "ward is NULL or not listed", "IN (1, 2)"),
        ({"keys": {"sex": [0, 1]}, "bounds": {"ward": (1, 3)}}, "ward is NULL:", "IS NOT NULL"),
    ],
)
def test_the_reason_and_the_fix_are_said_and_the_fix_is_one(
    more: dict[str, object], said: str, condition: str
) -> None:
    with dp.protect(pa.table(ROWS), privacy_unit="row", budget=9, **more) as session:  # type: ignore[arg-type]
        assert session.preview(BY_SEX, epsilon="0.1", reuse=True).known == ""  # nothing was asked yet
        session.sql(BOTH, epsilon=1)
        seen = session.preview(BY_SEX, within={"n": 30}).known
        assert seen.startswith("not made of question 1, ")
        assert said in seen
        assert session.preview(BY_SEX, epsilon="0.1").known == ""  # reuse is not asked for
        answer = session.sql(BY_SEX, epsilon="0.1", reuse=True)
        assert answer.epsilon == Fraction("0.1")
        assert answer.warnings == (seen,)
        assert session.sql(HELD.format(condition), epsilon="0.1", reuse=True).epsilon == 0
