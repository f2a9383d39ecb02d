"""People who allow different epsilons, and their visits: the tables that tests of classes share, with their policy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet.sql.plan.plan import PlannedRelease
from tests import shared
from tests.inside import plan_of

SHARES = {"careful": Fraction(1, 10), "normal": Fraction(1, 2), "open": Fraction(1)}
PEOPLE = pa.table(
    {
        "id": [1, 2, 3, 4, None, 5, 6, 6, 7, 7, 8],
        "consent": [
            "open",
            "careful",
            "normal",
            None,
            "open",
            "who?",
            "open",
            "careful",
            "open",
            None,
            "normal",
        ],
        "age": list(range(0, 110, 10)),
    }
)
"""4, 5 and 7 name no class in some row, 6 is careful by one of two; nobody has the fifth row."""
VISITS = pa.table(
    {"id": [1, 1, 2, 2, 3, 3, 3, 4, None, 5, 6, 7, 8], "x": list(range(13)), "ward": list("ababababababa")}
)
CLASS = {1: "open", 2: "careful", 3: "normal", 6: "careful", 8: "normal"}
"""Of those who have one."""


def declared(budget: Any = 1000, shares: Any = SHARES, oldest: int = 100, **more: Any) -> dp.Policy:
    """Their policy."""
    personal = {"column": "consent", "shares": shares}
    people = {
        "privacy_unit": "id",
        "max_rows": 3,
        "columns": {"age": {"bounds": [0, oldest]}},
        "personal": personal,
    }
    columns = {"x": {"bounds": [0, 20]}, "ward": {"keys": ["a", "b"]}}
    visits = {"privacy_unit": "id", "max_rows": 5, "columns": columns}
    tables: dict[str, Any] = {"people": people, "visits": visits}
    return dp.Policy(budget=budget, tables=tables, **more)


def protected(policy: dp.Policy | None = None, **tables: pa.Table) -> dp.Session:
    """A session over them."""
    found = {"people": PEOPLE, "visits": VISITS, **tables}
    return shared.protect(found, policy=policy or declared())


def release_of(session: dp.Session, sql: str, epsilon: Fraction = Fraction(1)) -> PlannedRelease:
    """The one release of a question."""
    (release,) = plan_of(session, sql, epsilon).releases
    return release
