"""The facts of a deployment, for the cards of its answers.

The policy gives most of them, and those that only people know in its table `[about]`; the plan of a question gives the
mechanisms, as the ledger keeps them. No data, no place of data and no exact number is among them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.accounting import event_text
from discreet.imports import load
from discreet.policy.classes import personal_of
from discreet.policy.path import unit_words
from discreet.release.exactly import exact, flavour

if TYPE_CHECKING:
    from discreet.policy import Policy
    from discreet.release.draw import Use

ACCOUNTING = {
    "pure": "sequential composition: the epsilons of all answers add up, exactly",
    "zcdp": "zero-concentrated differential privacy, for questions that depend on earlier answers",
    "pld": "privacy loss distributions, for questions that depend on earlier answers",
}
NEIGHBOURS = {"add_remove": "one unit added or removed", "replace_one": "one unit replaced by another"}
ABOUT = {"curator": "curator", "contact": "contact", "product": "product", "use": "intended_use", "region": "region",
         "dates": "dates", "sources": "sources", "rationale": "rationale"}  # fmt: skip
"""By key of `[about]`, the name in a card."""


def facts(policy: Policy) -> dict[str, Any]:
    """The part of a card that is the same for all answers under a policy."""
    given = policy.about.given()
    private = {name: table for name, table in policy.tables.items() if not table.public}
    public = [name for name, table in policy.tables.items() if table.public]
    return {
        **{name: given.get(key) for key, name in ABOUT.items()},
        "to_be_declared": [key for key in ABOUT if key not in given],
        "privacy_unit": [
            {"table": name, "unit": "row" if table.privacy_unit == "row" else unit_words(table),
             "max_rows": table.max_rows or 1}
            for name, table in private.items()
        ],
        "neighbours": NEIGHBOURS[policy.neighbours],
        **_people(policy),
        "flavour": flavour(policy.budget.delta),
        "model": "central: a trusted curator holds the data and adds the noise",
        "budget": {"epsilon": exact(policy.budget.epsilon), "delta": exact(policy.budget.delta)},
        "accounting": ACCOUNTING[policy.budget.accountant],
        "bounds_and_keys": [
            {"table": name, "column": column, "declared": declared.words() or "no bounds, no keys"}
            for name, table in private.items()
            for column, declared in table.columns.items()
        ],
        "not_protected": [
            "the declarations of the policy: names, bounds, keys and caps",
            *(f"the public table {name}" for name in public),
            "the time that an answer takes, beyond the slots of the service",
        ],
        "timing": "interactive: each question is charged and answered when it is asked",
        "implementation": {"name": "discreet", "version": load("discreet").__version__},
    }  # fmt: skip


def _people(policy: Policy) -> dict[str, Any]:
    """The classes of people who allow different epsilons; nothing where everybody allows the same."""
    found = personal_of(policy.tables)
    if found is None:
        return {}
    name, personal = found
    each = [
        {"class": label, "epsilon": exact(share * policy.budget.epsilon)}
        for label, share in personal.shares.items()
    ]
    return {"people": {"by": f"{name}.{personal.column}", "classes": each}}


def mechanisms(uses: Mapping[str, Use]) -> list[dict[str, Any]]:
    """The mechanisms of an answer, with the events that the ledger keeps."""
    return [
        {"name": type(use.mechanism).__name__, "values": use.values,
         **({"people": use.person} if use.person else {}),
         **({"sample": {name: float(keep) for name, keep in use.kept.items()}} if use.kept is not None else {}),
         "event": json.loads(event_text.written(use.mechanism.event(use.neighbours)))}
        for use in uses.values()
    ]  # fmt: skip
