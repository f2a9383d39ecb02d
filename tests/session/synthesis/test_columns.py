"""Each column gets public classes from the policy, or is left out with its reason."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests import shared
from tests.inside import synthesis_of

import discreet as dp
from discreet.errors import InvalidParameter

MOMENT = dt.datetime(2020, 1, 1, 5)
PEOPLE = pa.table(
    {
        "who": [1, 2], "age": [31.5, None], "kids": [1, 2], "pay": [10, 10**6], "county": ["a", "z"],
        "day": [MOMENT.date()] * 2, "at": [MOMENT] * 2, "ok": [True, None], "name": ["x", "y"],
        "small": pa.array([1, 2], pa.uint8()),
    }
)  # fmt: skip
COUNTIES = pa.table({"who": [1, 2], "county": ["Kent", "Ely"], "age": [3, 4]})
BOUNDS = {
    "age": (0, 120), "kids": (0, 5), "pay": (0, 1000), "day": (dt.date(2020, 1, 1), dt.date(2020, 12, 31)),
    "at": (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)),
}  # fmt: skip


def session(**more: Any) -> dp.Session:
    return shared.protect(
        PEOPLE, privacy_unit="who", max_rows=1, bounds=BOUNDS, keys={"county": ["a", "b"]}, budget=9, **more
    )


@pytest.fixture(scope="module")
def unspent() -> Iterator[dp.Session]:
    """One for all questions that are refused."""
    with session() as opened:
        yield opened


def test_classes() -> None:
    with session() as opened:
        asked = synthesis_of(opened, bins={"age": 4, "PAY": [100, 500, 5000], "day": 12})
        axes = {one.axis.name: one.axis for one in asked.columns}
        assert dict(asked.left_out) == {
            "who": "it names the privacy unit",
            "name": "it has no keys and no bounds",
        }
        assert axes["age"].edges == (0, 30, 60, 90, 120)
        assert axes["kids"].values == (0, 1, 2, 3, 4, 5)
        assert axes["pay"].edges == (0, 100, 500, 1001)
        assert axes["county"].values == ("a", "b")
        assert axes["ok"].values == (False, True)
        assert (axes["day"].edges[0], axes["day"].edges[-1], axes["day"].classes) == (18262, 18262 + 366, 12)
        assert (axes["at"].edges[-1] - axes["at"].edges[0], axes["at"].classes) == (86_400_000_001, 16)
        assert axes["small"].edges[-1] == 256
        for one in asked.columns:
            assert len(one.key.values) == one.axis.size


@pytest.mark.parametrize(
    "more",
    [
        {"columns": ["who"]}, {"columns": ["name"]}, {"columns": ["nobody"]}, {"columns": "age"}, {"columns": []},
        {"columns": ["age", "AGE"]}, {"bins": {"age": 0}}, {"bins": {"age": 257}}, {"bins": {"age": True}},
        {"bins": {"age": [3, 2]}}, {"bins": {"age": ["x"]}}, {"bins": {"nobody": 3}}, {"bins": 5},
        {"columns": 3}, {"degree": 2.0}, {"workload": 3}, {"workload": [3]}, {"workload": [(3,)]},
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(unspent: dp.Session, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter) as caught:
        unspent.synthesize(epsilon=1, **more)
    assert caught.value.fix
    assert unspent.budget.spent == 0


@pytest.mark.parametrize("ends", [(-(2**63), 2**63 - 1), (0, 10**30), (2**63 - 2, 2**63 - 1), (-(10**40), 9)])
def test_bounds_at_the_ends_of_64_bits(ends: tuple[int, int]) -> None:
    """An interval that ends behind the greatest number could be drawn from by nobody, after the charge."""
    table = pa.table({"n": [2**63 - 1, 0] * 50})
    with dp.protect(table, privacy_unit="row", bounds={"n": ends}, budget=9) as opened:
        values = opened.synthesize(epsilon=5).values.column("n").to_pylist()
        assert all(value is None or ends[0] <= value <= ends[1] for value in values)
        assert opened.synthesize(epsilon=5).replayed


def test_bounds_without_a_whole_number() -> None:
    table = pa.table({"n": [1], "ok": [True]})
    with dp.protect(table, privacy_unit="row", bounds={"n": ("0.2", "0.7")}, budget=9) as opened:
        for bins in (None, {"n": 3}):
            found = synthesis_of(opened, bins=bins)
            assert list(found.left_out) == ["n"]


def test_a_table_without_classes() -> None:
    texts = pa.table({"name": ["x"]})
    with (
        dp.protect(texts, privacy_unit="row", budget=1) as opened,
        pytest.raises(InvalidParameter, match="No column can be taken"),
    ):
        opened.synthesize(epsilon=1)


@pytest.mark.parametrize(
    ("name", "columns", "why"),
    [("county", None, "its values are its classes"), ("age", ["county"], "not among columns")],
)
def test_bins_of_a_column_without_intervals_are_refused(
    name: str, columns: list[str] | None, why: str
) -> None:
    with shared.protect(
        COUNTIES,
        privacy_unit="who",
        max_rows=1,
        bounds={"age": (0, 99)},
        keys={"county": ["Kent", "Ely"]},
        budget=1,
    ) as session:
        with pytest.raises(InvalidParameter, match=why):
            session.synthesize(epsilon=1, columns=columns, bins={name: 4})
        assert session.budget.spent == 0
        assert session.preview_synthesis(epsilon=1, bins={"AGE": 4}).columns["age"] == 5
