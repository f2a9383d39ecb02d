"""Values of pandas, NumPy and Enums in a policy: they are kept as the plain values that they are."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.errors import PolicyError
from discreet.policy import Budget, ColumnPolicy, Policy
from discreet.policy.values import type_of_values


class Sex(str, enum.Enum):  # noqa: UP042  the older form, which many have
    """Texts of a class of their own."""

    FEMALE = "f"
    MALE = "m"


class Level(enum.IntEnum):
    """Whole numbers of a class of their own."""

    LOW = 1
    HIGH = 2


NOON = dt.datetime(2024, 1, 1, 12)
DAYS = (dt.date(2024, 1, 1), dt.date(2025, 1, 1))


def policy(column: dict[str, Any]) -> Policy:
    declared: dict[str, Any] = {"t": {"privacy_unit": "row", "columns": {"x": column}}}
    return Policy(budget=Budget(epsilon=1), tables=declared)


@pytest.mark.parametrize(
    ("given", "plain", "kind"),
    [
        ({"keys": list(Sex)}, {"keys": ["f", "m"]}, "text"),
        ({"keys": Sex}, {"keys": ["f", "m"]}, "text"),
        ({"keys": list(Level)}, {"keys": [1, 2]}, "integer"),
        ({"keys": [np.str_("f"), "m"]}, {"keys": ["f", "m"]}, "text"),
        ({"keys": pd.Series(["f", pd.NA], dtype="string")}, {"keys": ["f"]}, "text"),
        ({"keys": [pd.Timestamp(day) for day in DAYS] + [pd.NaT]}, {"keys": DAYS}, "date"),
        ({"keys": np.array(DAYS, "datetime64[ns]")}, {"keys": DAYS}, "date"),
        ({"keys": list(np.array(DAYS, "datetime64[ns]"))}, {"keys": DAYS}, "date"),
        ({"bounds": tuple(Level)}, {"bounds": (1, 2)}, "float"),
        ({"bounds": (pd.Timestamp(NOON), pd.Timestamp("2025-01-01"))},
         {"bounds": (NOON, dt.datetime(2025, 1, 1))}, "timestamp"),
        ({"bounds": (pd.Timestamp(NOON, tz="UTC"), dt.datetime(2025, 1, 1))},
         {"bounds": (NOON, dt.datetime(2025, 1, 1))}, "timestamp"),
        ({"bounds": (NOON, pd.Timestamp("2025-01-01 00:00:00.000001999"))},
         {"bounds": (NOON, dt.datetime(2025, 1, 1, 0, 0, 0, 1))}, "timestamp"),
        ({"bounds": np.array(DAYS, "datetime64[D]")}, {"bounds": DAYS}, "date"),
        ({"bounds": np.array(DAYS, "datetime64[ns]")},
         {"bounds": [dt.datetime.combine(day, dt.time()) for day in DAYS]}, "timestamp"),
    ],
)  # fmt: skip
def test_a_value_of_another_class_is_the_plain_value(
    given: dict[str, Any], plain: dict[str, Any], kind: str
) -> None:
    found, meant = ColumnPolicy(**given), ColumnPolicy(**plain)
    for part in ("keys", "bounds"):
        one, other = getattr(found, part), getattr(meant, part)
        assert one == other
        assert [*map(type, one or ())] == [*map(type, other or ())]
    keys: Any = found.keys
    assert type_of_values(found.bounds, keys) == kind
    made, wanted = (policy(one) for one in (given, plain))
    assert (made.digest(), made.to_toml()) == (wanted.digest(), wanted.to_toml())


@pytest.mark.parametrize("missing", [None, pd.NaT, pd.NA, np.datetime64("NaT"), np.datetime64("NaT", "ns")])
def test_a_missing_bound_is_refused_as_missing(missing: object) -> None:
    for pair in ((missing, pd.Timestamp(NOON)), (pd.Timestamp(NOON), missing), (missing, missing)):
        with pytest.raises(PolicyError, match=r"A bound is missing \(None, NaT or NA\)\. Give both"):
            ColumnPolicy(bounds=pair)
