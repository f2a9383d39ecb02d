"""The declarations in which two nodes differ, in words. They are public: no data is read for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.escaping import name as one_line

if TYPE_CHECKING:
    from discreet.federation.nodes import Node

MOST = 3
"""So many differences are named; the rest is counted."""
NONE = "nothing"


def differences(first: Node, other: Node) -> list[str]:
    """The declarations of two policies that are not the same: unit, rows, bounds, keys, neighbours, public tables."""
    ours, theirs = _declared(first), _declared(other)
    found = [
        f"{subject}: {ours.get(subject, NONE)} in {first.name}, {theirs.get(subject, NONE)} in {other.name}"
        for subject in dict.fromkeys((*ours, *theirs))
        if ours.get(subject) != theirs.get(subject)
    ]
    named = {line.partition(":")[0] for line in found}
    mine, yours = first.session.policy.tables, other.session.policy.tables
    for table in (name for name in mine if name in yours):
        left, right = mine[table].columns, yours[table].columns
        found += [
            f"{table}.{column}: the lists of keys are not the same"
            for column in left
            if column in right and left[column].keys != right[column].keys
            if f"{table}.{column}" not in named
        ]
    return [*found, *public_differences(first, other)]


def public_differences(first: Node, other: Node) -> list[str]:
    """The public tables of two policies whose contents are not the same."""
    ours, theirs = first.queries.catalog.public, other.queries.catalog.public
    return [
        f"the public table {name} has another content in {other.name} than in {first.name}"
        for name in _public(first)
        if name not in theirs or not ours[name].equals(theirs[name])
    ]


def worded(found: list[str]) -> str:
    """Some of the differences, in one sentence without its end."""
    said = [one_line(line) for line in found[:MOST]]
    more = [f"{len(found) - MOST} more"] if len(found) > MOST else []
    return "; ".join([*said, *more])


def _declared(node: Node) -> dict[str, str]:
    return dict(node.session.policy.lines())


def _public(node: Node) -> list[str]:
    return [name.lower() for name, table in node.session.policy.tables.items() if table.public]
