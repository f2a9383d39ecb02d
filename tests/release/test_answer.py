"""The rows and the columns of an answer by number and by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared

from discreet.errors import InvalidParameter, NotInAnswer
from discreet.release import shown
from discreet.release.answer import Release


@pytest.fixture(scope="module")
def release() -> Release:
    table = pa.table({"county": ["Kent", "Essex", "Kent"]})
    with shared.protect(table, privacy_unit="row", keys={"county": ["Essex", "Kent"]}, budget=1) as session:
        return session.sql("SELECT county, COUNT(*) AS n FROM data GROUP BY county ORDER BY county", 1)


def test_rows_and_columns_that_are_there(release: Release) -> None:
    assert release["county"] == ["Essex", "Kent"]
    assert release[0] == release[np.int64(0)] == release[-2]
    assert [release[1]["county"], release[-1]["n"]] == ["Kent", release["n"][1]]


@pytest.mark.parametrize("name", ["nn", "", "COUNTY"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(release: Release, name: str) -> None:
    with pytest.raises(NotInAnswer, match="It has county, n, n_low, n_high") as caught:
        release[name]
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize("place", [2, 99, -3])
def test_a_row_that_is_not_there(release: Release, place: int) -> None:
    with pytest.raises(NotInAnswer, match=f"no row {place}") as caught:
        release[place]
    assert isinstance(caught.value, IndexError)


@pytest.mark.parametrize("at", [1.0, None, slice(0, 1), b"n"])
def test_what_is_neither_a_number_nor_a_name(release: Release, at: Any) -> None:
    with pytest.raises(InvalidParameter, match="by its number"):
        release[at]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0031281234, "0.00312812 ± 0"),
        (0.28, "0.280000 ± 0"),
        (27.979775, "27.9798 ± 0"),
        (1234567.891, "1,234,567.89 ± 0"),
        (0.0, "0.00 ± 0"),
        (-1e-300, "-1e-300 ± 0"),
        (41, "41 ± 0"),
    ],
)
def test_a_number_that_no_error_limits_keeps_six_digits(value: float, text: str) -> None:
    assert shown.with_interval(value, value, value) == text
