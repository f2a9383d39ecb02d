"""The declarations in which two nodes differ, in words. They are public: no data is read for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.escaping import name as one_line
from discreet.records import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.session.session import Session

MOST = 3
"""So many differences are named; the rest is counted."""
NONE = "nothing"


@dataclass(frozen=True)
class NodeDeclarations:
    """The public declarations of a node.

    Attributes:
        words: by subject, such as `neighbours`, a table or a column of it.
        keys: by column, a digest of its list of keys, of which the words show the first only.
        public: by public table, a digest of its content.
    """

    words: Mapping[str, str]
    keys: Mapping[str, str]
    public: Mapping[str, str]


def declared(session: Session) -> NodeDeclarations:
    """The public declarations of a session."""
    policy, public = session.policy, session._catalog.public
    keys = {
        f"{table}.{name}": hashlib.sha256(repr(column.keys).encode()).hexdigest()
        for table, declarations in policy.tables.items()
        for name, column in declarations.columns.items()
    }
    shown = {name: _digest(public[name.lower()]) for name, table in policy.tables.items() if table.public}
    return NodeDeclarations(dict(policy.lines()), keys, shown)


def _digest(table: pa.Table) -> str:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


def differences(first: str, ours: NodeDeclarations, other: str, theirs: NodeDeclarations) -> list[str]:
    """The declarations that are not the same: unit, rows, bounds, keys, neighbours, public tables.

    Args:
        first: the name of a node.
        ours: its declarations.
        other: the name of the other one.
        theirs: its declarations.
    """
    subjects = [
        subject
        for subject in dict.fromkeys((*ours.words, *theirs.words))
        if ours.words.get(subject) != theirs.words.get(subject)
    ]
    found = [
        f"{subject}: {ours.words.get(subject, NONE)} in {first}, {theirs.words.get(subject, NONE)} in {other}"
        for subject in subjects
    ]
    found += [
        f"{column}: the lists of keys are not the same"
        for column, digest in ours.keys.items()
        if column not in subjects and theirs.keys.get(column, digest) != digest
    ]
    return [*found, *public_differences(first, ours, other, theirs)]


def public_differences(first: str, ours: NodeDeclarations, other: str, theirs: NodeDeclarations) -> list[str]:
    """The public tables whose contents are not the same; the arguments are those of `differences`."""
    return [
        f"the public table {name} has another content in {other} than in {first}"
        for name, digest in ours.public.items()
        if theirs.public.get(name) != digest
    ]


def worded(found: list[str]) -> str:
    """Some of the differences, in one sentence without its end."""
    said = [one_line(line) for line in found[:MOST]]
    more = [f"{len(found) - MOST} more"] if len(found) > MOST else []
    return "; ".join([*said, *more])
