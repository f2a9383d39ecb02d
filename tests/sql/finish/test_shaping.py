"""Numbers above zero and whole counts: sums that stay, totals that stay the sums of their parts, intervals around."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import shared
from tests.depth import few

import discreet as dp
from discreet.errors import InvalidParameter
from discreet.sql.finish.shaping import above_zero, rounded

DAYS = 100
RANDOM = np.random.default_rng(3)
ROWS = pa.table(
    {"day": RANDOM.integers(0, DAYS, 90), "sex": RANDOM.integers(0, 2, 90), "pay": RANDOM.uniform(0, 9, 90)}
)
TABLES = "SELECT sex, day, COUNT(*) AS n, SUM(pay) AS s FROM data GROUP BY ROLLUP (sex, day) ORDER BY ALL"
SERIES = "SELECT day, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY day) AS total FROM data GROUP BY day ORDER BY day"
ALONE = "SELECT day, COUNT(*) AS n, SUM(pay) AS s FROM data GROUP BY day"


@pytest.fixture(scope="module")
def session() -> dp.Session:
    bounds = {"day": (0, DAYS - 1), "sex": (0, 1), "pay": (0, 9)}
    return shared.protect(ROWS, privacy_unit="row", bounds=bounds, budget=1000)


@pytest.mark.parametrize("seed", range(20))
def test_cells_above_zero_keep_their_sum_and_are_the_nearest_such(seed: int) -> None:
    cells = np.random.default_rng(seed).normal(1, 5, (2, 30, 3))
    out = above_zero(cells)
    total = np.maximum(cells.sum(axis=1), 0)
    assert (out >= 0).all()
    assert np.allclose(out.sum(axis=1), total)
    # Nearest: all cells that stay above zero were lowered by the same, and no other by less.
    lowered = np.where(out > 0, cells - out, np.nan)
    for at in np.argwhere(total > 0):
        own = lowered[at[0], :, at[1]]
        assert np.nanmax(own) - np.nanmin(own) < 1e-9
        assert (cells[at[0], :, at[1]][np.isnan(own)] <= np.nanmax(own) + 1e-9).all()


@pytest.mark.parametrize("unit", [1.0, 8.0])
def test_rounded_cells_add_up_side_by_side(unit: float) -> None:
    cells = np.random.default_rng(1).normal(1, 5, (2, 50, 2)) * unit
    out = rounded(cells, unit)
    assert (out == np.rint(out / unit) * unit).all()
    assert (np.abs(out - cells) <= unit + 1e-9).all()
    assert (np.abs(np.cumsum(out, axis=1) - np.cumsum(cells, axis=1)) <= unit / 2 + 1e-9).all()
    assert (rounded(np.abs(cells), unit) >= 0).all()
    assert (rounded(cells * 2.0**60, unit) % unit == 0).all()


@pytest.mark.parametrize(
    "shape",  # a deep run: whole numbers alone, too
    few([{"nonnegative": True}, {"integers": True}, {"nonnegative": True, "integers": True}], 2),
)
def test_totals_stay_the_sums_of_their_parts(session: dp.Session, shape: dict[str, Any]) -> None:
    answer = session.sql(TABLES, epsilon="0.3", **shape)
    table = answer.to_pandas()
    parts = table[table["day"].notna()]
    by_sex = table[table["day"].isna() & table["sex"].notna()]
    total = table[table["sex"].isna()].iloc[0]
    if "integers" in shape:
        assert table["n"].dtype == np.int64
        assert parts["n"].sum() == by_sex["n"].sum() == total["n"]
    assert np.allclose([parts["s"].sum(), by_sex["s"].sum()], total["s"])
    if "nonnegative" in shape:
        assert (table[["n", "s"]] >= 0).all().all()
    assert ((table["n_low"] <= table["n"]) & (table["n"] <= table["n_high"])).all()
    assert any("bias" in note for note in answer.notes)


@pytest.mark.parametrize(
    "shape", [{"nonnegative": True}, {"integers": True}, {"nonnegative": True, "integers": True}]
)
def test_running_totals_stay_the_sums_of_the_days(session: dp.Session, shape: dict[str, Any]) -> None:
    plain = session.sql(SERIES, epsilon="0.31").to_pandas()
    answer = session.sql(SERIES, epsilon="0.31", **shape)
    table = answer.to_pandas()
    assert answer.replayed
    assert np.allclose(np.cumsum(table["n"]), table["total"])
    # The total of all days moves by less than one, whatever becomes of single days.
    assert abs(table["total"].iloc[-1] - max(0, plain["total"].iloc[-1])) < 1 or "nonnegative" not in shape
    if "nonnegative" in shape:
        assert (table["n"] >= 0).all()
        assert (np.diff(table["total"]) >= 0).all()
    if "integers" in shape:
        assert (np.abs(table["total"] - plain["total"]) < 1).all() or "nonnegative" in shape
    for name in ("n", "total"):
        assert (table[f"{name}_low"] <= table[name]).all()
        assert (table[name] <= table[f"{name}_high"]).all()


def test_a_table_by_itself_is_raised_to_zero(session: dp.Session) -> None:
    plain = session.sql(ALONE, epsilon="0.2").to_pandas()
    shown = session.sql(ALONE, epsilon="0.2", nonnegative=True).to_pandas()
    assert (
        plain["s"] < 0
    ).any()  # a hundred days of noise of scale 45: none is below zero once in 10^9 releases
    assert np.allclose(shown["s"], np.maximum(plain["s"], 0))
    assert np.array_equal(plain["n_low"], shown["n_low"])


def test_a_sum_that_may_be_negative_is_left() -> None:
    session = shared.protect(pa.table({"x": [1.0]}), privacy_unit="row", bounds={"x": (-5, 5)}, budget=900)
    found = [
        session.sql("SELECT SUM(x) AS s FROM data", epsilon=f"0.0{k}", nonnegative=True)["s"]
        for k in range(100, 140)
    ]
    assert min(one[0] for one in found) < 0


def test_a_workload_is_shaped_as_one(session: dp.Session) -> None:
    answers = session.workload(
        {"all": "SELECT COUNT(*) AS n FROM data", "days": "SELECT day, COUNT(*) AS n FROM data GROUP BY day"},
        epsilon="0.4", nonnegative=True, integers=True,
    )  # fmt: skip
    assert all(isinstance(number, int) and number >= 0 for one in answers.values() for number in one["n"])
    assert any("bias" in note for one in answers.values() for note in one.notes)


def test_the_text_of_a_question_may_say_so(session: dp.Session) -> None:
    price = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2, nonnegative = {})"
    text = f"SELECT {price} day, COUNT(*) AS n FROM data GROUP BY day"
    assert min(session.sql(text.format("TRUE"))["n"]) >= 0
    assert min(session.sql(text.format("false"))["n"]) < 0
    with pytest.raises(InvalidParameter, match="neither TRUE nor FALSE"):
        session.sql(text.format("1"))


@pytest.mark.parametrize("name", ["nonnegative", "integers"])
def test_only_true_and_false_will_do(session: dp.Session, name: str) -> None:
    more: dict[str, Any] = {name: 1}
    with pytest.raises(InvalidParameter, match=name):
        session.sql("SELECT COUNT(*) AS n FROM data", epsilon=1, **more)
