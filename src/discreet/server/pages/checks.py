"""Checks of a policy for its steward: the comparison made on opening, and declarations worth a second look.

All of it is read from the policy and from names and types of columns; no data is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.policy import Policy
from discreet.rational import show

MUCH = 10
"""From about this epsilon on, the promise says little about one person."""


class Check(NamedTuple):
    """One check.

    Attributes:
        fine: whether nothing is left to do.
        words: the finding.
        fix: the thing to do; empty where there is none.
    """

    fine: bool
    words: str
    fix: str = ""


def checks(
    policy: Policy, tables: Sequence[Mapping[str, Any]], granted: Sequence[Fraction]
) -> Iterator[Check]:
    """All checks of a policy.

    Args:
        policy: of an open data set.
        tables: as `DataSet.schema` describes them.
        granted: the budgets of the analysts.
    """
    yield Check(True, "Every table and column that the policy names is in the data, with a type that fits.")
    whole, together = policy.budget.epsilon, sum(granted, Fraction(0))
    if whole > MUCH:
        yield Check(
            False,
            f"The budget is epsilon {show(whole)}: from about {MUCH} on, it promises little to one person.",
            "Lower it, unless the data are coarse or old.",
        )
    else:
        yield Check(True, f"The budget is epsilon {show(whole)}.")
    more = "more than" if together > whole else "within"
    yield Check(
        True, f"Analysts were granted {show(together)} together, {more} that; the data set's budget holds."
    )
    for table in tables:
        if table["kind"] == "private":
            yield from _table(table)
    missing = [key for key in type(policy.about).model_fields if key not in policy.about.given()]
    if missing:
        yield Check(
            False,
            f"Cards of answers lack {', '.join(missing)}.",
            "Write them under [about]: only people know them.",
        )
    else:
        yield Check(True, "Cards of answers are complete.")


def _table(table: Mapping[str, Any]) -> Iterator[Check]:
    name = table["table_name"]
    plain = [
        column["column_name"]
        for column in table["columns"]
        if not column["declared"].startswith("privacy unit")
        and not {"GROUP BY", "GROUP BY of parts", "MEDIAN"} & set(column["answers"].split(", "))
    ]
    if plain:
        yield Check(
            False,
            f"{name}: {', '.join(plain)} can be counted and filtered only.",
            "Declare bounds or keys, from knowledge and not from the data.",
        )
    else:
        yield Check(True, f"{name}: every column has bounds or keys.")
