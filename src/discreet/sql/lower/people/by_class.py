"""Runs a release to people who allow different epsilons: the integers of each class, with noise of their own.

All classes are counted by one statement: it sees the data at one moment, so that nobody is of two classes in it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from discreet import arrow
from discreet.engines.engine import NO_TABLES, Engine
from discreet.release.draw import Draw
from discreet.sql.algebra.released import filled
from discreet.sql.expressions.dialect import SATURATE
from discreet.sql.lower.compile import compile_part
from discreet.sql.lower.contribution_bounding import Units
from discreet.sql.lower.run import (
    EVERY,
    NoisyIntegers,
    blocks,
    exact_counts,
    exact_integers,
    put,
    slices_of,
)
from discreet.sql.lower.uses import use_of, use_of_class
from discreet.sql.measures.measure import columns
from discreet.sql.measures.ranks import Ranks
from discreet.sql.plan.people.by_class import ANY, ByClass
from discreet.sql.plan.people.class_plan import of_class
from discreet.sql.plan.people.sampled import sample
from discreet.sql.plan.plan import PlannedRelease

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


def noisy_by_class(
    release: PlannedRelease,
    people: ByClass,
    engine: Engine,
    salt: int,
    draw: Draw,
    given: Mapping[str, pa.Table],
) -> NoisyIntegers:
    """The integers of each class of people with noise of their own, added up over the classes.

    Privacy: each person has the part of `release.epsilon` that their class allows, as `plan.people.by_class` says; the
    sums are post-processing. Every class gets its noise, also where its integers are shown nowhere.
    """
    exact = exact_by_class(release, people, engine, salt, given)
    groups = people.of_groups(release.keys, release.cells)
    out = np.zeros_like(exact[0])
    for index, part in enumerate(columns(release.measures)):
        if index in people.sampled:
            _sampled(out, release, index, engine, salt, draw, given)
            continue
        for number, name in enumerate(people.classes.names):
            noisy = draw(use_of_class(release, index, name), exact[number][:, part])
            inside = [group for group in {ANY, *range(len(exact))} if number in people.shown(index, group)]
            mask = np.isin(groups, inside)
            # All are within 2^62 then, and with one less the sum of two does not wrap.
            found = np.clip(noisy[mask], -SATURATE, SATURATE - 1) + np.clip(
                out[mask, part], -SATURATE, SATURATE - 1
            )
            out[mask, part] = np.clip(found, -SATURATE, SATURATE)
    return NoisyIntegers(release, out)


def _sampled(
    out: Integers,
    release: PlannedRelease,
    index: int,
    engine: Engine,
    salt: int,
    draw: Draw,
    given: Mapping[str, pa.Table],
) -> None:
    """The integers of a measure of a sample of the people, with noise, into their place."""
    measure, part = release.measures[index], columns(release.measures)[index]
    own = sample(release, index, secrets.token_hex(32), engine.dialect)
    others = [other for other in range(len(own.measures)) if other != index]
    if isinstance(measure, Ranks):
        counts = exact_counts(own, measure, engine, salt, given)
        for here, _ in blocks(EVERY, own.cells):
            out[here, part] = draw(use_of(release, index), counts[here])
    else:
        exact = exact_integers(own, engine, salt, others, given=given)
        for here, _ in blocks(EVERY, own.cells):
            out[here, part] = draw(use_of(release, index), exact[here, part])


def exact_by_class(
    release: PlannedRelease,
    people: ByClass,
    engine: Engine,
    salt: int,
    given: Mapping[str, pa.Table] = NO_TABLES,
) -> list[Integers]:
    """The integers of each class of people before any noise. Never shown, logged or raised.

    All classes are counted by one statement, which sees the data at one moment: nobody is of two classes in it.

    Privacy: as for `exact_integers`, and a unit moves those of its own class alone.
    """
    shape = release.cells, sum(measure.entries for measure in release.measures)
    out = [np.zeros(shape, dtype=np.int64, order="F") for _ in people.classes.names]
    for part in range(len(release.parts) if release.cells else 0):
        if any(
            measure.part == part for index, measure in enumerate(release.measures) if index in people.sampled
        ):
            continue  # such a measure is alone in its part
        for index, (sql, tables) in enumerate(queries_by_class(release, people, part, engine.dialect, salt,
                                                               slices_of(release, part, engine))):  # fmt: skip
            tables = filled(tables, release.parts[part].rows.relation, given)
            found = engine.integers(sql, tables)
            of = arrow.numbers(found.column("person"))
            for number, own in enumerate(out):
                put(own, release, part, found.take(np.flatnonzero(of == number)), more=index > 0)
    return out


def queries_by_class(
    release: PlannedRelease, people: ByClass, number: int, dialect: str, salt: int, slices: int = 1
) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """The query of a part that counts its classes of people, in a column `person`, for each slice of the units."""
    read = {
        class_
        for index, m in enumerate(release.measures)
        if m.part == number
        for class_ in people.shown(index)
    }
    for index in range(slices):
        texts, tables = [], {}
        for class_ in sorted(read):
            made = compile_part(of_class(release, class_), number, dialect, salt, units=Units(index, slices))
            texts.append(
                f"SELECT CAST({class_} AS BIGINT) AS person, c{class_}.* FROM ({made.sql}) AS c{class_}"
            )
            tables.update(made.tables)
        yield " UNION ALL ".join(texts), tables


def all_queries(
    release: PlannedRelease, people: ByClass, dialect: str, salt: int
) -> Iterator[tuple[str, dict[str, pa.Table]]]:
    """The queries of a release with zeros in the place of keys and salt, which an engine may be asked about."""
    for index in sorted(people.sampled):
        own = sample(release, index, "0" * 64, dialect)
        made = compile_part(own, own.measures[index].part, dialect, salt)
        yield made.sql, made.tables
    sampled = {release.measures[index].part for index in people.sampled}
    for number in set(range(len(release.parts))) - sampled:
        yield from queries_by_class(release, people, number, dialect, salt)
