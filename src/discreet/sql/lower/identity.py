"""The identity of a question to the ledger: the noisy integers that it is answered from.

Everything above those is post-processing, which is free: names of columns, an ORDER BY, arithmetic on aggregates, a
`split` or a `max_groups` that changes nothing. So the identity of a question is that of its releases: the SQL that the
engine runs, the public groups, how the integers of a measure are read, and the noise on them.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from typing import Any

from discreet.sql.algebra import keys as ks
from discreet.sql.dialects import named
from discreet.sql.expressions.dialect import Dialect
from discreet.sql.expressions.expression import Expression, spell
from discreet.sql.lower.compile import Compiled, compile_discovery, compile_part
from discreet.sql.lower.groups.key_lists import digest_of
from discreet.sql.lower.sequence import given_to
from discreet.sql.plan.generic.generic_plan import generic_release
from discreet.sql.plan.plan import JointWorkload, PlannedRelease, QueryPlan
from discreet.sql.syntax.parameters.parameter_node import ValueNeededError

SALT = 0
"""In the place of the secret of the data set, which decides no identity."""
NAMES = {"QuantileTree": "Tree", "JointMoments": "Joint", "Moments": "Measure", "ValueGrid": "Grid"}
"""The names of classes in the identities that ledgers keep, where they differ from those here."""


def identity(plan: QueryPlan, dialect: str) -> str:
    """A text that two plans share exactly when the same noisy integers answer both.

    Args:
        plan: of a question.
        dialect: the name of the engine's, in which the releases are written.

    Returns:
        A SHA-256, in hexadecimal; of a plan that asks for nothing private it is that of nothing.
    """
    state = hashlib.sha256()
    for release in plan.counted:
        for piece in _pieces(release, named(dialect)):
            state.update(b"%d:" % len(piece) + piece)
    for workload in plan.workloads:
        if workload.series is not None:
            own = workload.series
            state.update(
                b"series:" + _text((own.sizes, own.axis, own.order, own.factors.known_as), named(dialect))
            )
            state.update(_rhos(workload, named(dialect)))
            continue
        if workload.pieces is not None:
            parted = workload.pieces
            state.update(
                b"pieces:" + _text((parted.matrix.known_as, parted.series, parted.of), named(dialect))
            )
            state.update(_rhos(workload, named(dialect)))
            continue
        strategy = tuple((keys, marginal.shares) for keys, marginal in workload.marginals)
        state.update(b"marginals:" + _text((workload.sizes, strategy), named(dialect)))
    return state.hexdigest()


def _rhos(workload: JointWorkload, dialect: Dialect) -> bytes:
    """The Gaussian noise of weighted sums; nothing where it is Laplace noise."""
    ((_, measured),) = workload.marginals
    squares = tuple(measured.square(measure) for measure in measured.measures)
    return b"gaussian:" + _text((measured.rhos, squares), dialect) if measured.rhos else b""


def _pieces(release: PlannedRelease, dialect: Dialect) -> Iterator[bytes]:
    shape = release
    if release.discovery is not None:
        yield from _query(compile_discovery(release, dialect.name, SALT))
        found = release.discovery
        yield _text((found.part.cap, found.share, found.delta, found.measure), dialect)
        shape = replace(release, keys=ks.imagined(release.keys, 1))  # the groups are not known yet
    for number, part in enumerate(release.parts):
        yield from _query(compile_part(shape, number, dialect.name, SALT))
        yield _text((part.cap, part.rows.per_unit), dialect)
    yield from _read_as(release, shape.cells, dialect)


def _read_as(release: PlannedRelease, cells: int, dialect: Dialect) -> Iterable[bytes]:
    """How the integers are read, and their noise; written once for all arguments that it does not depend on."""
    generic = generic_release(release)
    known: dict[tuple[str, int], tuple[bytes, ...]] = generic.memo.setdefault("read as", {})
    if (dialect.name, cells) not in known:
        try:
            known[dialect.name, cells] = tuple(_written_as(generic, cells, dialect))
        except ValueNeededError:
            return _written_as(release, cells, dialect)
    return known[dialect.name, cells]


def _written_as(release: PlannedRelease, cells: int, dialect: Dialect) -> Iterator[bytes]:
    yield _text((dialect.name, cells, release.unit_factor, release.shares), dialect)
    if release.rhos:
        squares = tuple(release.square(measure) for measure in release.measures)
        yield _text(("gaussian", release.rhos, squares), dialect)
    if release.unit_factor > 1:
        yield _text(tuple(release.sensitivity(measure) for measure in release.measures), dialect)
    for name, table in sorted(given_to(release).items()):
        # The same noise, put to another use.
        yield _text((name, table.query.sql("duckdb", comments=False)), dialect)
    yield _text(tuple((key.public, key.expression.type) for key in release.keys), dialect)
    yield _text(release.measures, dialect)


def _query(compiled: Compiled) -> Iterator[bytes]:
    yield compiled.sql.encode()
    for name, table in sorted(compiled.tables.items()):
        yield name.encode()
        yield digest_of(table)


def _text(value: object, dialect: Dialect) -> bytes:
    return repr(_plain(value, dialect)).encode()


def _plain(value: object, dialect: Dialect) -> Any:
    """A value as tuples of numbers and texts, the same in every process."""
    if isinstance(value, Expression):
        span = value.span
        return (
            spell(value, dialect),
            value.type.name,
            _plain(span.lo, dialect),
            _plain(span.hi, dialect),
            span.nullable,
        )
    if value is None or isinstance(value, bool | int | str | float | Fraction):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, tuple | list):
        return tuple(_plain(part, dialect) for part in value)
    if dataclasses.is_dataclass(value):
        fields = (getattr(value, field.name) for field in dataclasses.fields(value))
        name = type(value).__name__
        return NAMES.get(name, name), *(_plain(part, dialect) for part in fields)
    raise TypeError(type(value).__name__)
