"""The classes of people of a whole policy: which table names them, and the declarations that they do not go with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.policy.personal import Personal
from discreet.policy.problems import Problem

if TYPE_CHECKING:
    from discreet.policy.declarations import Budget, TablePolicy


def personal_of(tables: Mapping[str, TablePolicy]) -> tuple[str, Personal] | None:
    """The table that names the classes of people, and the classes; None where everybody allows the same."""
    found = ((name, table.personal) for name, table in tables.items())
    return next(((name, personal) for name, personal in found if personal is not None), None)


def faults(tables: Mapping[str, TablePolicy], neighbours: str, budget: Budget) -> list[Problem]:
    """The reasons why people cannot have shares of epsilon under the rest of a policy."""
    named = [name for name, table in tables.items() if table.personal is not None]
    if not named:
        return []
    key = f"tables.{named[-1]}.personal"
    if len(named) > 1:
        return [
            (
                key,
                "Two tables name classes of people.",
                "Let one table name them: its classes hold everywhere.",
            )
        ]
    (name,) = named
    problems = []
    if tables[name].public:
        problems.append((key, "A public table holds nobody.", "Declare the classes in a private table."))
    if neighbours != "add_remove":
        problems.append(
            ("neighbours", "A person who is replaced by one of another class has no share of their own.",
             'Write neighbours = "add_remove", or remove personal.')
        )  # fmt: skip
    if budget.accountant != "pure":
        problems.append(
            ("budget.accountant", f"Shares of epsilon are no shares of a loss that {budget.accountant} composes.",
             'Write accountant = "pure", or remove personal.')
        )  # fmt: skip
    declared = tables[name].personal
    column = "" if declared is None else declared.column.lower()
    own = next((rule for given, rule in tables[name].columns.items() if given.lower() == column), None)
    if own is not None and own.bounds is not None:
        cause = "A class outside the bounds would be clamped to another one."
        problems.append(
            (f"tables.{name}.columns.{column}.bounds", cause, "Remove the bounds of this column.")
        )
    return problems
