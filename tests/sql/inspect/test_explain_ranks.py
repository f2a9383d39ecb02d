"""The explanation of a quantile that is chosen by rank names the mechanism and where its epsilon goes."""

from __future__ import annotations

import pyarrow as pa
from tests import shared


def test_the_mechanism_and_its_shares_are_said() -> None:
    table = pa.table({"x": [1.0, 2.0], "who": [1, 2]})
    with shared.protect(table, privacy_unit="who", max_rows=3, bounds={"x": (0, 99)}, budget=1) as session:
        text = " ".join(
            str(session.explain("SELECT MEDIAN(x) AS m FROM data", epsilon=1)).replace("│", "").split()
        )
    assert "exponential mechanism on ranks" in text
    assert "so do the rows of one unit: 3" in text
    assert "all of it for number and interval in one draw, at a scale of 3 rows" in text
    assert "the narrowest around it that lie 9.5 rows beyond the quantile" in text
