"""A refusal speaks of the part of a date as the question spells it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests import shared

from discreet.errors import QueryRefused


@pytest.mark.parametrize(("written", "said"), [
    ("hour(age)", "hour(a) does not take an integer"),
    ("date_part('hour', age)", "date_part('hour', a) does not take"),
    ("EXTRACT(hour FROM age)", "extract(hour FROM a) does not take"),
    ("DayOfWeek(name)", "dayofweek(a) takes a time stamp, not a text"),
    ("abs(name)", "abs(a)"),
])  # fmt: skip
def test_it_is_told_as_it_was_written(written: str, said: str) -> None:
    data = pa.table({"age": [31], "name": ["a"]})
    with (
        shared.protect(data, privacy_unit="row", bounds={"age": (0, 120)}, budget=1) as session,
        pytest.raises(QueryRefused) as caught,
    ):
        session.preview(f"SELECT AVG({written}) AS n FROM data", 1)
    assert said in caught.value.cause
